"""The cases of a profile, the chips that it is of, and whether it is of a prefill; without a workbook."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from planner.compare.comparison_sheet import find
from planner.compare.prediction import hardware
from planner.compare.runs_table import read as read_runs
from planner.errors import UserError
from planner.fit.runs_to_fit import runs_of_workbook
from planner.ingest import first_page, profile_text
from planner.ingest.chips import Chip, Chips, chip_of, chips_of
from planner.ingest.decode_steps import no_decode_step
from planner.ingest.first_page import PlannedStep
from planner.ingest.into_workbook import ingested
from planner.ingest.operation_rows import Peaks, peaks_of
from planner.ingest.profiled_cases import cases_of
from planner.profiles.profile import ALL_CORES, RANKS, Shape
from planner.profiles.reading import read as read_profile
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import with_values
from tests.commands import printed_by, refusal
from tests.made_profiles import V5P, core, of, operation
from tests.measure_traces import TRACES, real
from tests.test_ingest import ingest
from tests.test_profiles_kinds import served
from tests.test_profiles_torch import MM, torch_event, torch_kernel
from tests.workbooks import write_small, write_small_plan
from tests.written_profiles import in_json


def test_a_capture_of_a_server_lands_its_decode_steps_when_asked(tmp_path: Path) -> None:
    """Prefill takes most of the time: the refusal says how to take decode, which then lands as a decode step."""
    path = write_small(tmp_path / "serving.xlsx", ["llama3-8b"], ["h100-sxm"], ["inference"], n_chips=1, batch=8)
    trace = tmp_path / "a.json"
    marks, lasts = ["step[EXTEND bs=1]", *["step[DECODE bs=8]"] * 3], [400, 20, 30, 40]
    trace.write_text(json.dumps(served(marks, lasts)))
    said = refusal(ingest(trace, path, "--device", "h100-sxm"))
    assert "no decode steps: they are called step[EXTEND bs=#]; take those, --steps decode, or say what" in said
    said = printed_by(ingest(trace, path, "--device", "h100-sxm", "--steps", "decode"))
    assert "step[DECODE bs=#] x 3 is taken, not prefill step[EXTEND bs=#] x 1: --steps prefill" in said
    (run,) = read_runs(find(Package.read(path)))
    assert (run.row, run.measured) == ("decode_step_time_expected", pytest.approx(30e-6))


def test_matmuls_of_no_step_tell_nothing_of_steps() -> None:
    """A prefill that was launched beside decode steps has the tokens of most of the time, and none of a step's."""
    shape = {
        "result": (Shape("bf16", (8192, 4096)),),
        "operands": (Shape("bf16", (8192, 64)), Shape("bf16", (64, 4096))),
    }
    found = of(operation("dot.1", opcode="dot", flops=2.0 * 8192 * 4096 * 64, **shape))
    one = found.devices[0].operations[0]
    apart = replace(found.devices[0], operations=(replace(one, step_time=0.0),))
    assert "4,096 tokens" in no_decode_step(found, {"batch": 8.0})
    assert no_decode_step(replace(found, devices=(apart,)), {"batch": 8.0}) == ""


@pytest.mark.parametrize(
    ("name", "tells"),
    [
        ("jit_prefill", True), ("jit_decode", False), ("jit_step", False), ("forward_extend", True),
        ("execute_context_#(#)_generation_0(0)", True), ("execute_context_#(#)_generation_#(#)", False),
        ("execute_context_0(0)_generation_#(#)", False), ("execute_new_#_cached_0", True),
        ("execute_model_prefill_and_decode", False),
    ],
)  # fmt: skip
def test_names_tell_a_prefill(name: str, tells: bool) -> None:
    """A program or mark that is called a prefill, or counts no request that generates; one of both isn't told."""
    device = of(operation()).devices[0]
    steps = tuple(replace(step, found="marker", name=name) for step in device.steps)
    found = of(operation(), devices=(replace(device, steps=steps),))
    assert bool(no_decode_step(found, {"batch": 8.0})) == tells


@pytest.mark.parametrize("seconds", [(0.0, 0.0), (0.0, 2e-6)])
def test_what_ran_for_no_time_is_no_case(tmp_path: Path, seconds: tuple[float, float]) -> None:
    """Two matmuls, of which one or both have a duration of 0: no row that backfill refuses, and no division by it."""
    events = []
    for at, each in enumerate(seconds):
        place, shapes = {"External id": at + 1}, {**MM, "Input Dims": [[64 + at, 32], [32, 16]]}
        events.append(torch_event("cpu_op", "aten::mm", 20 * at, 5, **place, **shapes))
        events.append(torch_event("cuda_runtime", "cudaLaunchKernel", 20 * at + 1, 1, correlation=at + 1, **place))
        events.append(torch_kernel("sm90_gemm", 20 * at + 3, each * 1e6, correlation=at + 1))
    path = in_json(tmp_path, {"deviceProperties": [{"name": "NVIDIA H100"}], "traceEvents": events}, "zero.trace.json")
    found = ingested([path], "h100-sxm", None, "")
    assert [row.t_median for row in found.cases.rows] == [pytest.approx(each) for each in seconds if each]
    assert list(profile_text.lines(found))


def test_a_device_goes_by_its_name_in_the_file() -> None:
    """The name as the hardware table has it; another's --device is refused, and an unknown name has the
    closest, by the id that --device takes."""
    table = hardware()
    assert chip_of(of(operation(), kind="TPU v5"), "", table).id == "tpu-v5p"
    assert chip_of(of(operation(), kind="TPU v6 Lite"), "", table).id == "tpu-v6e"
    assert chip_of(of(operation(), kind="TPU v5p"), "", table).id == "tpu-v5p"  # as its row is called
    with pytest.raises(UserError, match="is of TPU v5, which is tpu-v5p"):
        chip_of(of(operation()), "tpu-v6e", table)
    unknown = chip_of(of(operation(), kind="AMD Instinct MI300X VF"), "", table)
    assert (unknown.id, "the closest: mi300x, AMD Instinct MI300X; say" in unknown.said) == ("", True)
    assert chip_of(of(operation(), kind="AMD Instinct MI300X VF"), "mi300x", table).id == "mi300x"


def test_attention_needs_to_know_its_mask() -> None:
    """Causal or not is told by the FLOPs; a single query has none to tell; without FLOPs there is no case."""
    arrays = tuple(Shape("bf16", (2, 8, 512, 128)) for _ in range(3))
    whole = 4.0 * 2 * 8 * 512 * 512 * 128
    attention = operation("flash_attention", category="custom-call", opcode="custom-call", operands=arrays)
    for flops, causal in ((whole, "is_causal=0"), (whole / 2, "is_causal=1")):
        (row,) = cases_of(of(replace(attention, flops=flops)), V5P).rows
        assert causal in row.case_key
    assert cases_of(of(attention), V5P).rows == ()
    assert cases_of(of(attention), V5P).share == 1.0


def test_halves_of_a_collective_are_no_case() -> None:
    """The time of a start or a done is not that of the collective; one without a known group has no size."""
    array = (Shape("f32", (1024, 1024)),)
    reduce = operation("all-reduce.1", category="all-reduce", opcode="all-reduce", part="communication",
                       result=array, operands=array, group_size=4)  # fmt: skip
    (row,) = cases_of(of(reduce), V5P).rows
    assert "array_bytes=4194304,axis_size=4,collective=all_reduce" in row.case_key
    done = replace(reduce, name="all-reduce-done.1", opcode="all-reduce-done")
    assert cases_of(of(done), V5P).rows == ()
    assert cases_of(of(replace(reduce, group_size=None)), V5P).rows == ()


def test_a_kernel_that_starts_a_collective_is_all_of_it() -> None:
    """A GPU's `all-reduce-start` is NCCL's kernel, of all its arrays; a copy beside it isn't the collective."""
    arrays = Shape("bf16", (1024, 1024)), Shape("bf16", (512,))
    start = operation("all-reduce-start.1", category="all-reduce-start", opcode="all-reduce-start",
                      part="communication", result=arrays, operands=arrays, group_size=8,
                      expression="ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage)")  # fmt: skip
    (row,) = cases_of(of(start), V5P).rows
    assert f"array_bytes={2 * (1024 * 1024 + 512)},axis_size=8,collective=all_reduce" in row.case_key
    assert cases_of(of(replace(start, expression="MemcpyD2D")), V5P).rows == ()
    assert cases_of(of(replace(start, expression="%all-reduce-start.1 = all-reduce-start(%p)")), V5P).rows == ()


def test_a_core_is_told_from_its_chip() -> None:
    """Where the profile's device has half of the chip's peak, its cases are flagged: the row predicts a chip."""
    matmul = operation(flops=2.0 * 512**3, result=(Shape("bf16", (512, 512)),),
                       operands=(Shape("bf16", (512, 512)), Shape("bf16", (512, 512))))  # fmt: skip
    found = of(matmul)
    core = replace(found.devices[0], peak_flops=2.3e14, peak_bandwidth=1.3e12)
    (row,) = cases_of(replace(found, devices=(core,)), V5P).rows
    assert row.flags == "part_of_chip"
    assert cases_of(found, V5P).rows[0].flags == ""


def test_cores_are_told_from_chips() -> None:
    """Two cores say that they lie on one chip, or have half its peak, or a tool counts them; else it isn't guessed."""
    table = hardware()
    placed = [core(n, host, chip=f"{n // 2}") for host in ("a", "b") for n in range(8)]
    found = chips_of(of(devices=tuple(placed)), Chip("", "unknown"))
    assert (found.count, found.cores_each, found.why) == (8, 2, "16 cores are 8 chips")
    alone = tuple(replace(each, facts={"chip": each.name}) for each in placed[:8])
    assert chips_of(of(devices=alone), Chip("", "unknown")) == Chips(8)
    halves = tuple(replace(each, facts={}, peak_flops=2.334e14) for each in placed[:8])
    assert chips_of(of(devices=halves), V5P).count == 4
    counted = of(devices=(replace(core(0), facts={}),), facts={"cores": "8"})
    assert chips_of(counted, Chip("tpu-v2", "TPU v2", row=dict(table.rows["tpu-v2"]))).count == 4
    summed = of(devices=(replace(core(0), name=ALL_CORES, facts={}),))
    for name, cores in (("tpu-v5p", 2), ("tpu-v5e", 1), ("h100-sxm", 1)):
        found = chips_of(summed, Chip(name, "", row=dict(table.rows[name])))
        assert (found.count, found.cores_each) == (None, cores)
    bare = tuple(replace(each, facts={}) for each in placed[:8])
    assert chips_of(of(devices=bare), Chip("tpu-v5e", "TPU v5 lite", row=dict(table.rows["tpu-v5e"]))).count == 8
    assert chips_of(of(devices=bare), V5P).count is None
    assert "a tpu-v5p has 2 cores" in chips_of(of(devices=bare), V5P).why
    assert chips_of(of(devices=bare), Chip("h100-sxm", "H100", row=dict(table.rows["h100-sxm"]))).count == 8


@pytest.mark.parametrize(("chip", "memory", "each"), [("mi250x", 68_702_699_520, 2), ("mi300x", 25_753_026_560, 8),
                                                      ("mi300x", 205_571_227_648, 1)])  # fmt: skip
def test_a_part_of_a_gpu_is_told_by_its_memory(chip: str, memory: int, each: int) -> None:
    """An MI250X is two devices of 64 GiB, an MI300X in eight partitions eight of 24 GB: a peak is that of the part.

    So in ranks: of a run of 16, of which eight are in the profile.
    """
    row = dict(hardware().rows[chip])
    devices = tuple(replace(core(n), facts={"totalGlobalMem": str(memory)}) for n in range(8))
    found = chips_of(of(devices=devices), Chip(chip, "", row=row))
    assert (found.count, found.cores_each) == (8 // each, each)
    peaks = peaks_of(devices[0], Chip(chip, "", row=row), found)
    assert peaks.flops == pytest.approx(float(str(row["peak_bf16"])) / each)
    assert peaks.bandwidth == pytest.approx(float(str(row["hbm_bandwidth"])) / each)
    ranks = of(devices=devices, facts={RANKS: "16"})
    assert chips_of(ranks, Chip(chip, "", row=row)).count == 16 // each


@real
def test_a_tools_table_is_of_cores() -> None:
    """Without roofline_model, which tells a core's peaks, they are half of those of a v5p: its waste is the same.

    6.1 ms, 2.7 % of its roofline by the peaks of the file itself; the data sheet's differ by 2 %.
    """
    files = [next((TRACES / "golden").glob(f"*{tool}*")) for tool in ("hlo_stats", "overview_page", "roofline_model")]
    own, sheet = (ingested(paths, "", None, "") for paths in (files, files[:2]))
    assert own.peaks.source == "the profile's own"
    assert sheet.peaks.source == "the data sheet of tpu-v5p, of which a device is one of 2 parts"
    assert sheet.peaks.flops == pytest.approx(own.peaks.flops, rel=0.02)
    assert sheet.peaks.bandwidth == pytest.approx(own.peaks.bandwidth, rel=0.08)


def test_cores_land_as_chips_beside_those_of_the_plan() -> None:
    """Eight cores beside a plan of eight chips are told to be four; so do their cases say, which are flagged."""
    matmul = operation(flops=2.0 * 512**3, result=(Shape("bf16", (512, 512)),),
                       operands=(Shape("bf16", (512, 512)), Shape("bf16", (512, 512))))  # fmt: skip
    devices = tuple(replace(core(n, chip=f"{n // 2}"), operations=(matmul,)) for n in range(8))
    found = of(devices=devices)
    (row,) = cases_of(found, V5P).rows
    assert (row.n_devices, row.flags) == (4, "part_of_chip")
    plan = PlannedStep("Step", 2.0, chips=8.0)
    (line,) = (
        each for each in first_page.lines(found, plan, Peaks(None, None), chips_of(found, V5P)) if each.label == "Chips"
    )
    assert (line.measured, line.plan) == (4.0, 8.0)
    assert line.note == "8 cores are 4 chips; a part of the plan's chips, or another run"


def test_ranks_that_were_not_traced_count(tmp_path: Path) -> None:
    """One rank's trace of a run of eight is of eight chips, and says so."""
    event = {"ph": "X", "cat": "kernel", "name": "k", "ts": 1.0, "dur": 2, "pid": 0, "args": {"device": 0}}
    path = in_json(tmp_path, {"distributedInfo": {"rank": 0, "world_size": 8}, "traceEvents": [event]}, "rank0.json")
    found = chips_of(read_profile(path), Chip("", "unknown"))
    assert (found.count, found.why) == (8, "1 of 8 ranks is in the profile")


@pytest.mark.parametrize(
    ("n_chips", "told"),
    [
        (4, "more than the plan has: is it that run?"),
        (16, "a part of the plan's chips, or another run"),
        (8, ""),
    ],
)
def test_a_profile_of_other_chips_than_the_plan_is_left_out_of_fits(tmp_path: Path, n_chips: int, told: str) -> None:
    """What the sheet says of another number of chips is a warning on the terminal too, the run is flagged, and a fit
    leaves it out until the flag is deleted; of the plan's number there is none.
    """
    events = [torch_event("user_annotation", f"ProfilerStep#{at}", 1e6 * at, 1e6) for at in range(4)]
    events += [torch_kernel("k", 1e6 * at + 1, 9e5) for at in range(4)]
    trace, path = tmp_path / "rank0.json", tmp_path / "plan.xlsx"
    trace.write_text(json.dumps({"distributedInfo": {"rank": 0, "world_size": 8}, "traceEvents": events}))
    sizes = {"n_chips": n_chips, "batch_tokens": 32768, "seq_len": 8192}
    plan = write_small_plan(path, ["llama3-8b"], ["h100-sxm"], ["training"], **sizes)
    done = ingest(trace, path, "--device", "h100-sxm")
    assert done.exit_code == 0
    flagged = "flagged other_chip_count, so that planner fit leaves it out; delete the flag if it is that run"
    expected = f"Warning: the profile is of 8 chips and llama3-8b on h100-sxm of {n_chips}: {told}; {flagged}\n"
    assert [line for line in done.stderr.splitlines(keepends=True) if "Warning" in line] == ([expected] if told else [])

    def faults() -> list[str]:
        runs, _ = runs_of_workbook(find(Package.read(path)), plan.databases, plan.databases.models)
        return [run.fault for run in runs]

    assert faults() == ["flagged: other_chip_count" if told else ""]
    package = Package.read(path)
    sheet = find(package)
    cells = [cell.ref for cell in sheet.xml.row(sheet.run_rows[0]).values() if cell.value == "other_chip_count"]
    assert bool(cells) == bool(told)
    package.replace(sheet.part, with_values(sheet.xml, dict.fromkeys(cells)))
    package.write(path)
    assert faults() == [""]


def test_a_whole_profile_without_steps_is_left_out_of_fits(tmp_path: Path) -> None:
    """Nothing tells how many steps it has: it is recorded as one with a flag, of which a warning tells."""
    events = [torch_kernel("k", 1e6 * at + 1, 9e5) for at in range(4)]
    trace, path = tmp_path / "rank0.json", tmp_path / "plan.xlsx"
    trace.write_text(json.dumps({"distributedInfo": {"rank": 0, "world_size": 8}, "traceEvents": events}))
    plan = write_small_plan(
        path, ["llama3-8b"], ["h100-sxm"], ["training"], n_chips=8, batch_tokens=32768, seq_len=8192
    )
    done = ingest(trace, path, "--device", "h100-sxm")
    assert "all of the profile is recorded as one step; flagged no_steps, so that planner fit leaves" in done.stderr
    runs, _ = runs_of_workbook(find(Package.read(path)), plan.databases, plan.databases.models)
    assert [run.fault for run in runs] == ["flagged: no_steps"]


@pytest.mark.parametrize(
    ("joined", "group", "n_chips", "is_of"),
    [(None, None, 1, True), (None, None, 16, False), (16, 4, 16, True), (32, 4, 16, False), (None, 16, 16, True),
     (None, 8, 16, False), (1, 1, 0.5, False)],
)  # fmt: skip
def test_a_chip_is_of_the_pod_that_its_collectives_join(
    joined: int | None, group: int | None, n_chips: float, is_of: bool
) -> None:
    """One chip's profile is of a run on as many chips as its collectives have in all groups, or in one if the file
    tells of no more; without any it is of one chip.
    """
    reduce = operation("all-reduce", part="communication", group_size=group, joined=joined)
    chips = chips_of(of(reduce), replace(V5P, row={**(V5P.row or {}), "kind": "gpu", "n_cores": 1}))
    assert (chips.count, chips.is_of(n_chips)) == (1, is_of)

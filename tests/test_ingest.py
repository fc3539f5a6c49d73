"""A profile in the workbook of its plan: the run, recognised cases, the sheet Profile; and what it says by itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from math import isnan
from pathlib import Path

import openpyxl
import pytest
from click.testing import CliRunner, Result

from planner.cli import group
from planner.compare.checked_measurements import checked_measurements
from planner.compare.comparison_sheet import find
from planner.compare.prediction import hardware
from planner.compare.runs_table import read as read_runs
from planner.errors import UserError
from planner.formulas.library import load
from planner.ingest import first_page, operation_rows, profile_sheet, profile_text
from planner.ingest.chips import Chip, Chips, chip_of, chips_of
from planner.ingest.first_page import PlannedStep
from planner.ingest.into_workbook import ingested
from planner.ingest.operation_rows import Peaks, peaks_of
from planner.ingest.profiled_cases import cases_of
from planner.ingest.step_kind import no_decode_step
from planner.measure.records import case_key
from planner.profiles import reading
from planner.profiles.profile import Device, Operation, Parts, Profile, Program, Shape, Step
from planner.profiles.reading import read as read_profile
from planner.report.gather import gather
from planner.update.update import update_file
from planner.xlsx.address import address
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import with_values
from tests import sample_profile
from tests.backfills import backfill, measurement, rows
from tests.measure_traces import TRACES, real
from tests.test_profiles_kinds import served
from tests.test_profiles_torch import MM, torch_event, torch_kernel
from tests.workbooks import write_small

ID = "llama3_8b_on_tpu_v5p"
V5P = Chip("tpu-v5p", "TPU v5", row=dict(hardware().rows["tpu-v5p"]))


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample profile."""
    return sample_profile.write(tmp_path_factory.mktemp("profile"))


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """The plan of its run."""
    path = tmp_path / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["training"], n_chips=8, batch_tokens=65536, seq_len=8192)
    return path


@pytest.fixture
def light(tmp_path: Path) -> Path:
    """The smallest plan that a run may be of: a matmul on its chip."""
    path = tmp_path / "light.xlsx"
    write_small(path, [], ["tpu-v5p"], ["matmul"], tokens=8192, d_in=4096, d_out=14336)
    return path


@pytest.fixture(scope="module")
def once(profile: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Result]:
    """The plan with the profile in it, and what was said, for all that look at it."""
    path = tmp_path_factory.mktemp("once") / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["training"], n_chips=8, batch_tokens=65536, seq_len=8192)
    done = ingest(profile, path, "--device", "tpu-v5p", "--note", "the first pod")
    return path.read_bytes(), done


@pytest.fixture
def landed(once: tuple[bytes, Result], tmp_path: Path) -> Path:
    """A copy of that plan."""
    path = tmp_path / "plan.xlsx"
    path.write_bytes(once[0])
    return path


@pytest.fixture(scope="module", autouse=True)
def profiles_read_once() -> Iterator[None]:
    """The sample profile is read once: what is asserted is what is made of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "read", cache(read_profile))
        yield


def command(*words: object) -> Result:
    """Run planner with these words."""
    return CliRunner().invoke(group, [str(word) for word in words])


def ingest(profile: Path, plan: Path, *more: str) -> Result:
    """Put the profile into the plan."""
    return command("ingest", profile, "--into", plan, *more)


def lines(path: Path) -> dict[str, tuple[object, ...]]:
    """The first lines of the sheet Profile by their label: measured, unit, plan's, what that is, note."""
    sheet = openpyxl.load_workbook(path, read_only=True)["Profile"]
    found = {}
    for row in sheet.iter_rows(min_row=6, max_col=6, values_only=True):
        if row[0] is None:
            break
        found[row[0]] = row[1:]
    return found


def operation(name: str = "fusion.1", **columns: object) -> Operation:
    """An operation that took a millisecond, ten times."""
    made = Operation(name, "jit_f", "convolution fusion", "fusion", "compute", 10, 0.01, 0.001, 0.01)
    return replace(made, **columns)  # type: ignore[arg-type]


def of(*operations: Operation, kind: str | None = "TPU v5", **columns: object) -> Profile:
    """A profile of one device and one step with these operations."""
    busy = sum(each.self_time for each in operations)
    parts = Parts(compute=busy)
    device = Device("/device:TPU:0", "host", kind, {}, 0.0, busy, busy, parts, (Step(0, 0.0, busy, "whole", parts),),
                    operations=operations)  # fmt: skip
    return replace(Profile(("p.xplane.pb",), "xplane", kind, ("host",), (device,)), **columns)  # type: ignore[arg-type]


def test_a_step_lands_beside_what_is_expected(landed: Path, once: tuple[bytes, Result]) -> None:
    """The median step of the slowest host is a run of the scenario, with its spread, number and chip."""
    (run,) = read_runs(find(Package.read(landed)))
    times = sorted(sample_profile.step_time(step) for step in range(sample_profile.STEPS))
    assert run.measured == pytest.approx((times[1] + times[2]) / 2, rel=1e-9)
    assert (run.scenario, run.row, run.samples, run.flags) == (ID, "step_time_expected", sample_profile.STEPS, "")
    assert (run.note, run.method) == ("the first pod", "profile")
    assert "within its range" in once[1].output


def test_recognised_operations_are_rows_with_a_prediction(plan: Path, once: tuple[bytes, Result]) -> None:
    """The matmuls and the collective of the sample, each shape once, with all its runs and what is predicted of it."""
    n_cases = len(rows(plan))
    plan.write_bytes(once[0])
    new = {(row.text("template"), row.number_in("d_out")): row for row in rows(plan)[n_cases:]}
    assert set(new) == {("matmul", 14336), ("matmul", 4096), ("matmul", 128256), ("collective", None)}
    matmul = new["matmul", 14336]
    assert matmul.number_in("measured_time") == pytest.approx(4.3e-3, rel=1e-6)
    assert matmul.number_in("n_samples") == 288 * sample_profile.STEPS * sample_profile.HOSTS
    assert matmul.number_in("flops") == 2 * 8192 * 4096 * 14336
    assert (matmul.text("hardware_id"), matmul.text("device")) == ("tpu-v5p", "tpu-v5p")
    gathered = new["collective", None]
    assert gathered.inputs["array_bytes"] == 14336 * 4096 * 2
    assert gathered.inputs["axis_size"] == 8
    assert gathered.number_in("measured_time") == pytest.approx(4.8e-3, rel=1e-6)


def test_each_first_line_stands_beside_the_plans_own_part(landed: Path) -> None:
    """The step, MFU on the plan's FLOPs, exposed communication, idle and the largest waste, counted by hand."""
    found = lines(landed)
    (run,) = read_runs(find(Package.read(landed)))
    assert run.expected is not None
    step = run.measured * 1e3
    assert found["Step time"][:3] == pytest.approx((step, "ms", run.expected * 1e3))
    measured, unit, planned = found["MFU on the plan's FLOPs"][:3]
    assert unit == "%"
    assert measured == pytest.approx(planned * run.expected / run.measured)  # type: ignore[operator]
    assert found["Exposed communication"][0] == pytest.approx(32 * 4.8)
    assert found["Exposed communication"][3] == "Communication that no work hides"
    assert found["Idle"][0] == pytest.approx(25.0)
    assert found["Gap 1"][0] == pytest.approx(25.0)
    efficiency = 2 * 8192 * 4096 * 14336 / 4.59e14 / 4.3e-3
    assert found["Largest waste"][0] == pytest.approx(288 * 4.3 * (1 - efficiency), rel=1e-3)
    assert "fusion.1" in str(found["Largest waste"][4])
    parts = {
        row[0].value: row[1].value
        for row in openpyxl.load_workbook(landed, read_only=True)["Profile"].iter_rows(max_col=2)
    }
    names = [name.capitalize() for name, _ in profile_sheet.PARTS]
    assert sum(parts[name] for name in names) == pytest.approx(parts["All of them"])
    assert parts["All of them"] == pytest.approx(step, rel=1e-3)


def test_a_profile_that_is_ingested_again_changes_its_sheet_alone(profile: Path, landed: Path) -> None:
    """No second run, no second row, no second sheet."""
    before = Package.read(landed)
    done = ingest(profile, landed, "--device", "tpu-v5p")
    after = Package.read(landed)
    assert "0 updated, 0 appended, 4 unchanged" in done.output
    assert list(after.sheets()) == list(before.sheets())
    assert len(read_runs(find(after))) == 1
    part = after.sheets()["Comparison"]
    assert after.parts[part] == before.parts[part]


def test_the_row_of_a_run_is_told_where_it_is_once_operations_have_come(profile: Path, light: Path) -> None:
    """In a Comparison that is full up to the runs, operations move them down; a run whose time was cleared counts."""
    command("record", light, "--scenario", "tpu_v5p", "--time", "9ms")
    before = find(Package.read(light))
    sizes = range(64, 64 + before.runs_title_row - before.rows[-1].number - 3)
    case = load("matmul").inputs({"tokens": 8.0, "d_out": 8.0, "d_in": 8.0})
    keys = (case_key("matmul", {**case, "d_in": float(size)}) for size in sizes)
    backfill(light, *(measurement(key, 1e-3, hardware_id="tpu-v5p") for key in keys))
    package = Package.read(light)
    sheet = find(package)
    assert sheet.run_rows == before.run_rows
    measured = next(column for column, cell in sheet.xml.row(sheet.runs_header).items() if cell.value == "run_measured")
    package.replace(sheet.part, with_values(sheet.xml, {address(sheet.run_rows[0], measured): None}))
    package.write(light)
    for _ in range(2):
        done = ingest(profile, light, "--device", "tpu-v5p")
        after = find(Package.read(light))
        assert after.run_rows[0] > before.run_rows[0]
        assert f"Comparison row {after.run_rows[1]}: " in done.output, done.output
        assert len(after.run_rows) == 2


def test_an_unknown_device_is_never_guessed(profile: Path, light: Path) -> None:
    """Without --device its run is marked and its operations stay out of the Comparison, whose rows predict a chip."""
    n_cases = len(rows(light))
    done = ingest(profile, light)
    (run,) = read_runs(find(Package.read(light)))
    assert run.flags == "unknown_device"
    assert len(rows(light)) == n_cases
    assert "say it with --device" in done.output


def test_another_chip_than_the_scenarios_is_marked(profile: Path, light: Path) -> None:
    """Its run is flagged, and its cases predict the chip that they ran on; the workbook keeps the rules."""
    n_cases = len(rows(light))
    ingest(profile, light, "--device", "tpu-v6e")
    (run,) = read_runs(find(Package.read(light)))
    assert "other_hardware" in run.flags
    measured, *_, note = lines(light)["MFU on the plan's FLOPs"]
    assert (measured, note) == (None, "the profile is of another chip than the plan, whose peak it would be of")
    assert {row.text("hardware_id") for row in rows(light)[n_cases:]} == {"tpu-v6e"}
    assert command("check", light).exit_code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--device", "tpu-v5q"), "tpu-v5p"),
        (("--scenario", "llama3_8b_on_tpu_v5"), f"did you mean {ID}"),
        (("--of", "decode_step_time"), "plans no decode_step_time"),
    ],
)
def test_what_is_wrong_is_one_line_and_writes_nothing(
    profile: Path, plan: Path, words: tuple[str, ...], message: str
) -> None:
    """An unknown chip, scenario or row: code 2, and the workbook as it was."""
    before = plan.read_bytes()
    done = ingest(profile, plan, *words)
    assert (done.exit_code, done.output.count("\n")) == (2, 1), done.output
    assert message in done.output
    assert plan.read_bytes() == before


def test_a_prefill_is_no_decode_step(profile: Path, tmp_path: Path) -> None:
    """Steps of 8,192 tokens where the plan decodes 8 sequences are refused in one line until --of says what they are.

    Nothing is written before. Of a plan that decodes 1,024 together nothing tells that they are none.
    """
    path = tmp_path / "serving.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["inference"], n_chips=8, batch=8)
    before = path.read_bytes()
    done = ingest(profile, path, "--device", "tpu-v5p")
    assert (done.exit_code, done.output.count("\n")) == (2, 1), done.output
    assert "no decode steps: their matmuls are of 8,192 tokens or more, and the plan decodes 8 " in done.output
    assert "--of prefill_time" in done.output
    assert path.read_bytes() == before
    assert no_decode_step(read_profile(profile), {"batch": 1024.0}) == ""
    assert ingest(profile, path, "--device", "tpu-v5p", "--of", "prefill_time").exit_code == 0
    assert [run.row for run in read_runs(find(Package.read(path)))] == ["prefill_time_expected"]


def test_a_capture_of_a_server_lands_its_decode_steps_when_asked(tmp_path: Path) -> None:
    """Prefill takes most of the time: the refusal says how to take decode, which then lands as a decode step."""
    path = tmp_path / "serving.xlsx"
    write_small(path, ["llama3-8b"], ["h100-sxm"], ["inference"], n_chips=1, batch=8)
    trace = tmp_path / "a.json"
    marks, lasts = ["step[EXTEND bs=1]", *["step[DECODE bs=8]"] * 3], [400, 20, 30, 40]
    trace.write_text(json.dumps(served(marks, lasts)))
    done = ingest(trace, path, "--device", "h100-sxm")
    assert (done.exit_code, done.output.count("\n")) == (2, 1), done.output
    assert "no decode steps: they are called step[EXTEND bs=#]; take those, --steps decode, or say what" in done.output
    done = ingest(trace, path, "--device", "h100-sxm", "--steps", "decode")
    assert done.exit_code == 0, done.output
    assert "step[DECODE bs=#] x 3 is taken, not prefill step[EXTEND bs=#] x 1: --steps prefill" in done.output
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


def test_settings_of_a_workbook_want_one(profile: Path) -> None:
    """--scenario without --into is refused in one line."""
    done = command("ingest", profile, "--scenario", ID)
    assert (done.exit_code, done.output.count("\n")) == (2, 1)
    assert "--into plan.xlsx" in done.output


def test_a_write_that_fails_leaves_the_workbook_as_it_was(
    profile: Path, light: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of a profile lands in one write: where the sheet can't be made, neither run nor cases are there."""
    before = light.read_bytes()

    def fail(*_: object) -> None:
        raise UserError("no room")

    monkeypatch.setattr("planner.workbook.added_sheet.put", fail)
    assert ingest(profile, light, "--device", "tpu-v5p").exit_code == 2
    assert light.read_bytes() == before


def test_cases_go_into_a_csv_that_backfill_takes(profile: Path, tmp_path: Path) -> None:
    """Four rows with key, chip, median and count; without --device they are flagged, so that no fit uses them."""
    csv = tmp_path / "m.csv"
    command("ingest", profile, "--csv", csv, "--device", "tpu-v5p")
    found = checked_measurements(csv)
    assert {row.template for row in found} == {"matmul", "collective"}
    assert all(row.hardware_id == "tpu-v5p" and row.n_samples and not isnan(row.t_mad) for row in found)
    assert not any(row.flags for row in found)
    csv.unlink()
    command("ingest", profile, "--csv", csv)
    assert {row.flags for row in checked_measurements(csv)} == {"unknown_device"}


@pytest.mark.parametrize("seconds", [(0.0, 0.0), (0.0, 2e-6)])
def test_what_ran_for_no_time_is_no_case(tmp_path: Path, seconds: tuple[float, float]) -> None:
    """Two matmuls, of which one or both have a duration of 0: no row that backfill refuses, and no division by it."""
    events = []
    for at, each in enumerate(seconds):
        place, shapes = {"External id": at + 1}, {**MM, "Input Dims": [[64 + at, 32], [32, 16]]}
        events.append(torch_event("cpu_op", "aten::mm", 20 * at, 5, **place, **shapes))
        events.append(torch_event("cuda_runtime", "cudaLaunchKernel", 20 * at + 1, 1, correlation=at + 1, **place))
        events.append(torch_kernel("sm90_gemm", 20 * at + 3, each * 1e6, correlation=at + 1))
    path = tmp_path / "zero.trace.json"
    path.write_text(json.dumps({"deviceProperties": [{"name": "NVIDIA H100"}], "traceEvents": events}))
    found = ingested([path], "h100-sxm", None, "")
    assert [row.t_median for row in found.cases.rows] == [pytest.approx(each) for each in seconds if each]
    assert list(profile_text.lines(found))


def test_the_report_has_a_section_of_the_profile(landed: Path) -> None:
    """Its lines are those of the sheet, in the units that people say; an empty one says why."""
    runs, table = gather(landed).own
    assert (runs.title, table.title) == ("Your runs", "Profile")
    said = {row[0].text: row for row in table.rows}
    assert said["Exposed communication"][1].text == "154 ms"
    assert said["Steps"][1].text == "4"
    assert json.dumps(said["MFU on the plan's FLOPs"][1].text).endswith(' %"')


def test_what_is_printed_of_the_sheet_is_what_a_page_can_hold(landed: Path) -> None:
    """The columns that only a screen has room for are on no page, with a roofline or not; counts have no decimals."""
    names = Package.read(landed).parts["xl/workbook.xml"].decode()
    assert re.search(r"""_xlnm.Print_Area"[^>]*>'?Profile'?!\$A\$1:\$N\$\d+<""", names)
    sheet = openpyxl.load_workbook(landed, read_only=True)["Profile"]
    (chips,) = (row for row in sheet.iter_rows(max_row=40, max_col=4) if row[0].value == "Chips")
    assert {cell.number_format for cell in chips if isinstance(cell.value, int | float)} == {"#,##0"}
    assert chips[3].value == 8


@pytest.mark.parametrize("is_merge", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_sheet_survives_an_update(profile: Path, light: Path, is_merge: bool) -> None:
    """All is laid out anew, or sheets of a workload come: the sheet Profile, the run and the measured rows stay."""
    assert ingest(profile, light, "--device", "tpu-v5p").exit_code == 0
    before = lines(light), [row.number_in("measured_time") for row in rows(light)]
    if is_merge:
        assert command("scenario", "add", light, "serving", "--workload", "inference").exit_code == 0
    else:
        updated, _ = update_file(light)
        assert updated.is_needed
    assert (lines(light), [row.number_in("measured_time") for row in rows(light)]) == before
    assert len(read_runs(find(Package.read(light)))) == 1
    assert command("check", light).exit_code == 0


def test_a_device_goes_by_its_name_in_the_file() -> None:
    """The name as the hardware table has it; another's --device is refused, and an unknown name has the closest."""
    table = hardware()
    assert chip_of(of(operation(), kind="TPU v5"), "", table).id == "tpu-v5p"
    assert chip_of(of(operation(), kind="TPU v6 Lite"), "", table).id == "tpu-v6e"
    assert chip_of(of(operation(), kind="TPU v5p"), "", table).id == "tpu-v5p"  # as its row is called
    with pytest.raises(UserError, match="is of TPU v5, which is tpu-v5p"):
        chip_of(of(operation()), "tpu-v6e", table)
    unknown = chip_of(of(operation(), kind="AMD Instinct MI300X VF"), "", table)
    assert (unknown.id, "the closest: AMD Instinct MI300X" in unknown.said) == ("", True)
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


def core(n: int, host: str = "host", **facts: str) -> Device:
    """A core with a step and an operation, as the profiler of a TPU has it."""
    one = operation()
    step = (Step(0, 0.0, 0.01, "whole", Parts(compute=0.01)),)
    return Device(f"/device:TPU:{n}", host, None, facts, 0.0, 0.01, 0.01, Parts(compute=0.01), step, operations=(one,))


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
    bare = tuple(replace(each, facts={}) for each in placed[:8])
    assert chips_of(of(devices=bare), V5P).count is None
    assert "a tpu-v5p has 2 cores" in chips_of(of(devices=bare), V5P).why
    assert chips_of(of(devices=bare), Chip("h100-sxm", "H100", row=dict(table.rows["h100-sxm"]))).count == 8


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
    path = tmp_path / "rank0.json"
    path.write_text(json.dumps({"distributedInfo": {"rank": 0, "world_size": 8}, "traceEvents": [event]}))
    found = chips_of(read_profile(path), Chip("", "unknown"))
    assert (found.count, found.why) == (8, "1 of 8 ranks is in the profile")


def test_the_step_and_its_parts_say_what_each_is() -> None:
    """The step is the median of the slowest device, the parts are of the mean one, whose time stands beside it."""
    times = [(0.010, 0.012), (0.011, 0.013), (0.020, 0.014)]
    devices = []
    for n in range(2):
        steps = tuple(Step(at, 0.0, both[n], "marker", Parts(compute=both[n])) for at, both in enumerate(times))
        devices.append(replace(core(n), steps=steps))
    found = {each.label: each for each in first_page.lines(of(devices=tuple(devices)), None, Peaks(None, None))}
    assert found["Step time"].measured == 0.013
    assert found["Step time"].note.startswith("median of 3 steps, on the device that takes longest for it")
    assert found["Step time: mean"].measured == pytest.approx(sum(map(sum, times)) / 6)
    assert found["Idle"].note == "of the mean step, nothing runs"
    one = {each.label: each for each in first_page.lines(of(operation()), None, Peaks(None, None))}
    assert "Step time: mean" not in one
    assert one["Idle"].note == "of the step, nothing runs"


def test_peaks_are_the_files_own_else_the_data_sheets() -> None:
    """And their source is said; without a chip there are none, with the reason."""
    device = of(operation()).devices[0]
    assert peaks_of(replace(device, peak_flops=1e14, peak_bandwidth=1e12), V5P).source == "the profile's own"
    assert peaks_of(device, V5P).flops == pytest.approx(4.59e14)
    assert peaks_of(device, Chip("", "unknown", "nothing names it")).why == "no peaks: nothing names it"


def test_facts_that_are_missing_have_a_reason() -> None:
    """No step, no idle time, no peaks: N/A with what the profile says of it."""
    bare = of(operation(), lacks={"steps": "no step is marked", "gap": "the table has no idle time"})
    device = replace(bare.devices[0], steps=(), parts=Parts(compute=0.01, gap=None))
    peaks = Peaks(None, None, why="no peaks: unknown")
    found = {line.label: line for line in first_page.lines(replace(bare, devices=(device,)), None, peaks)}
    assert (found["Step time"].said, found["Step time"].note) == ("N/A", "no step is marked")
    assert (found["Idle"].said, found["Idle"].note) == ("N/A", "the table has no idle time")
    assert (found["Largest waste"].said, found["Largest waste"].note) == ("N/A", "no peaks: unknown")
    assert found["MFU on the plan's FLOPs"].note.startswith("no plan")


def test_one_step_has_no_spread() -> None:
    """n = 1 is said, and no spread is made up."""
    found = {line.label: line for line in first_page.lines(of(operation()), None, Peaks(None, None))}
    assert "n = 1" in found["Step time"].note
    assert found["Step time: spread"].said == "N/A"


def test_scenarios_of_long_names_have_a_sheet_each(profile: Path, light: Path) -> None:
    """Names alike in the characters that a tab shows, or with some that it can't have, are kept apart."""
    names = ("llama3-70b on tpu-v5e bs32 a", "llama3-70b on tpu-v5e bs32 b", "v5p/16")
    for name in names:
        assert command("scenario", "add", light, name).exit_code == 0
    for scenario in ("tpu_v5p", *names, *names):
        done = ingest(profile, light, "--device", "tpu-v5p", "--scenario", scenario)
        assert done.exit_code == 0, done.output
    assert len([name for name in Package.read(light).sheets() if name.startswith("Profile")]) == 4


def test_mfu_follows_the_time() -> None:
    """A step twice as long as expected has half of the expected MFU."""
    step = PlannedStep("Step", 2.0, mfu=0.4)
    assert step.utilisation(4.0) == pytest.approx(0.2)
    assert replace(step, mfu=None).utilisation(4.0) is None


def test_many_operations_are_told_by_what_they_share() -> None:
    """Of more than have room those that differ in their number alone are one row, and no time is lost."""
    many = [operation(f"fusion.{number}") for number in range(operation_rows.MOST + 1)]
    (row,) = operation_rows.rows(of(*many), Peaks(None, None))
    assert row.name == f"fusion ({len(many)} alike)"
    assert row.one.self_time == pytest.approx(0.01 * len(many))
    assert len(operation_rows.rows(of(*many[:3]), Peaks(None, None))) == 3


def test_each_scenario_has_a_sheet_of_its_own(profile: Path, light: Path) -> None:
    """The second scenario's profile leaves the first one's; a newer one of it replaces its own."""
    assert command("scenario", "add", light, "again").exit_code == 0
    assert "it has 2 scenarios, and none is named" in ingest(profile, light, "--device", "tpu-v5p").output
    for scenario in ("tpu_v5p", "again", "again"):
        ingest(profile, light, "--device", "tpu-v5p", "--scenario", scenario)
    assert [name for name in Package.read(light).sheets() if name.startswith("Profile")] == ["Profile", "Profile_again"]
    assert [table.title for table in gather(light).own] == ["Your runs", "Profile", "Profile of again"]


def test_a_kernel_whose_flops_nobody_told_has_no_roofline() -> None:
    """A custom call's bytes alone say nothing of what it computes: no efficiency, and no waste that isn't one."""
    peaks = peaks_of(of(operation()).devices[0], V5P)
    kernel = operation("splash", category="custom-call", opcode="custom-call", bytes=1e6)
    (row,) = operation_rows.rows(of(kernel), peaks)
    assert (row.efficiency, row.bound) == (None, "")
    assert row.lacking.startswith("flops: ")
    assert operation_rows.rows(of(replace(kernel, flops=1e9)), peaks)[0].efficiency is not None


@real
def test_the_tools_of_a_capture_waste_a_step_of_one_core() -> None:
    """Tools add operations up over eight cores and four steps; what a step loses is of one of them."""
    profile = read_profile(TRACES / "golden")
    found = {line.label: line for line in first_page.lines(profile, None, peaks_of(profile.devices[0], V5P))}
    told = found["Largest waste"]
    assert told.measured == pytest.approx(0.20004287218 * (1 - 0.027179702909725004) / 4 / 8, rel=1e-3)
    assert "dynamic-update-slice.33" in told.note


@real
def test_an_overview_alone_tells_no_communication() -> None:
    """It counts it as compute: the cell is empty, and says so, in place of none at all."""
    (path,) = (TRACES / "golden").glob("*overview_page*")
    profile = read_profile(path)
    found = {line.label: line for line in first_page.lines(profile, None, Peaks(None, None))}
    for label in ("Exposed communication", "Exposed communication, of the step"):
        assert found[label].measured is None
        assert "counts it as compute" in found[label].note


def test_the_largest_waste_is_of_the_operations_as_they_are_listed() -> None:
    """Of many operations the layers' are one: 500 that lose little are more than one that loses some."""
    bytes_, peaks = 1e6, Peaks(1e12, 1e12, source="ours")
    alike = [
        operation(f"fusion.{number}", count=1, total=2e-6, median=2e-6, self_time=2e-6, bytes=bytes_)
        for number in range(500)
    ]
    one = operation("reduce.1", category="reduce", count=1, total=1e-4, median=1e-4, self_time=1e-4, bytes=bytes_)
    profile = of(*alike, one)
    found = {line.label: line for line in first_page.lines(profile, None, peaks)}["Largest waste"]
    assert found.measured == pytest.approx(500 * (2e-6 - 1e-6))
    assert "fusion (500 alike)" in found.note


def test_the_largest_waste_is_of_the_program_whose_runs_are_the_steps() -> None:
    """A long operation of another program, as a prefill between decode steps, is no part of a step."""
    made = of(
        operation("decode", bytes=1e9), operation("prefill", program="jit_g(3)", total=0.03, self_time=0.03, bytes=1e9)
    )
    steps = tuple(Step(at, at, at + 0.001, "module", Parts(compute=0.001), "jit_f") for at in range(10))
    programs = (Program("jit_f", "", 10, 0.01, 0.001), Program("jit_g", "3", 1, 0.009, 0.009))
    device = replace(made.devices[0], steps=steps, programs=programs)
    found = {line.label: line for line in first_page.lines(replace(made, devices=(device,)), None, Peaks(1e12, 2e12))}
    told = found["Largest waste"]
    assert told.note.startswith("of the mean step: decode")
    assert told.measured == pytest.approx((0.01 - 10 * 1e9 / 2e12) / 10)


def test_the_program_whose_runs_are_the_steps_is_named() -> None:
    """Of a server's programs prefill may take more time than decode: a reader sees which of them the step is."""
    device = of(operation()).devices[0]
    steps = tuple(Step(at, at, at + 0.001, "module", Parts(compute=0.001), "jit_decode(7)") for at in range(3))
    programs = Program("jit_decode", "7", 3, 0.003, 0.001), Program("jit_prefill", "8", 1, 0.002, 0.002)
    profile = of(devices=(replace(device, steps=steps, programs=programs),))
    first = first_page.lines(profile, None, Peaks(None, None))[0]
    assert first.note.endswith("the program that takes the most time of those that repeat, jit_decode(7)")


def test_the_largest_waste_is_of_the_kernels_of_steps(tmp_path: Path) -> None:
    """Of a matmul's three runs one is launched after the only step: two of them are lost in it."""
    events = [torch_event("user_annotation", "ProfilerStep#3", 0, 50)]
    for n, launched in enumerate((10, 20, 80)):
        events += [
            torch_event("cpu_op", "aten::mm", launched, 5, **{"External id": n}, **MM),
            torch_event("cuda_runtime", "cudaLaunchKernel", launched + 1, 1, correlation=n, **{"External id": n}),
            torch_kernel("gemm", 100 + 20 * n, 10, correlation=n, **{"External id": n}),
        ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"traceEvents": events}))
    found = {each.label: each for each in first_page.lines(read_profile(path), None, Peaks(1e12, 1e12))}
    flops = 2 * 64 * 32 * 16
    assert found["Largest waste"].measured == pytest.approx(2 * (10e-6 - flops / 1e12))


def test_a_name_prints_no_control_characters() -> None:
    """What a kernel is called can't move a terminal's cursor, nor break a line."""
    assert first_page.short("void ker\x1b[2Jnel\r\nof\x9bmine") == "ker [2Jnel  of mine"

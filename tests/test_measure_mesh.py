"""Cases over a mesh: what is asked for, what is predicted and counted, and runs on devices that a CPU stands for."""

from __future__ import annotations

import json
import socket
import subprocess
from dataclasses import replace
from pathlib import Path

import jax  # noqa: F401  before a command joins this process with others, which it does without JAX alone
import pytest

from planner.compare import mesh_cases
from planner.compare.comparison_cases import label_of
from planner.compare.landing import backfill
from planner.compare.prediction import judge, predict
from planner.errors import UserError
from planner.measure import clock
from planner.measure.measurements_csv import read_measurements
from planner.measure.mesh import MeshSpec, extents, group_size, varying
from planner.measure.records import Measurement, case_key
from planner.measure.timing import Timing, summarize
from tests.backfills import measurement, rows
from tests.commands import refused, run, untouched
from tests.mesh_runs import command, environment

MESH = MeshSpec.parse("data=2,tensor=4")
KINDS = ("all_gather", "reduce_scatter", "all_reduce", "all_to_all", "permute")


@pytest.mark.parametrize(
    ("mesh", "order", "said"),
    [
        ("data", "", "'data' is no axis with a size"),
        ("data=two", "", "'data=two' is no axis with a size"),
        ("dta=2", "", "no axis is called 'dta'; did you mean data?"),
        ("data=2,data=4", "", "the axis data stands there twice"),
        ("data=1,tensor=8", "", "the axis data has 1 device; leave it out"),
        ("data=2", "0,x", "'x' is no device's id"),
        ("data=2", "0,0", "the device 0 stands there twice"),
        ("data=1000,tensor=1000", "", "the mesh data=1000,tensor=1000 has 1000000 devices, and there are"),
        ("data=2", "0,987", "there is no device 987; there are 0"),
        ("data=2", "0", "the mesh data=2 has 2 devices, and the order names 1"),
    ],
)
def test_a_mesh_that_cannot_be_is_one_line(mesh: str, order: str, said: str, tmp_path: Path) -> None:
    """What is wrong with the axes, the order or their number is said, and no file is written."""
    words = ["measure", "--suite", "quick", "--csv", str(tmp_path / "m.csv"), "--mesh", mesh, "--device-order", order]
    done = refused(*words)
    assert said in done
    assert not list(tmp_path.iterdir())


def test_an_order_needs_a_mesh() -> None:
    """Alone it would mean nothing, and is a matter of usage."""
    done = run("measure", "--suite", "quick", "--csv", "m.csv", "--device-order", "1,0")
    assert done.exit_code == 2
    assert "--device-order is of a --mesh" in done.output


def test_axes_groups_and_strides() -> None:
    """Of 2 x 4 devices in rows: groups along an axis, the step between a group's devices, an axis by its size."""
    assert list(MESH.groups("data")) == [(0, 4), (1, 5), (2, 6), (3, 7)]
    assert list(MESH.groups("tensor")) == [(0, 1, 2, 3), (4, 5, 6, 7)]
    assert list(MESH.groups("data+tensor")) == [tuple(range(8))]
    assert (MESH.stride("data"), MESH.stride("tensor")) == (4, 1)
    assert [MESH.axis_of(ways, 1) for ways in (2, 4, 8, 3)] == ["data", "tensor", "data+tensor", ""]
    square = MeshSpec.parse("data=2,tensor=2")
    assert [square.axis_of(2, stride) for stride in (2, 1)] == ["data", "tensor"]


def test_a_group_of_a_torus_is_a_ring_or_a_line() -> None:
    """On a v5e slice of 4 x 8 no axis wraps; on one of 16 x 16 both do, and a group over both uses two axes."""
    line = [(x, y, 0) for x in range(4) for y in range(8)]
    assert (varying(line), extents(line)) == ([0, 1], [4, 8, 1])
    cases = mesh_cases.cases_of(MeshSpec.parse("data=4,tensor=8"), "quick", "accelerator", line, "tpu-v5e")
    lies = {(case.axis, case.inputs["n_axes"], case.inputs["has_wraparound"]) for case in cases if case.axis}
    assert lies == {("data", 1, 0), ("tensor", 1, 0)}
    pod = [(x, y, 0) for x in range(16) for y in range(16)]
    (case, *_) = mesh_cases.cases_of(MeshSpec.parse("data=256"), "quick", "accelerator", pod, "tpu-v5e")
    assert (case.inputs["axis_size"], case.inputs["n_axes"], case.inputs["has_wraparound"]) == (16, 2, 1)


@pytest.mark.parametrize("chip", ["tpu-v5e", "h100-sxm"])
@pytest.mark.parametrize("suite", ["quick", "full"])
def test_every_case_of_a_mesh_is_predicted(chip: str, suite: str) -> None:
    """Keys differ, times are known, those of the quick suite in the full one, and payloads reach from 4 KiB to 256 MiB,
    both ends first."""
    cases, full = (mesh_cases.cases_of(MESH, each, "accelerator") for each in (suite, "full"))
    assert len({case.key for case in cases}) == len(cases)
    assert {case.key for case in cases} <= {case.key for case in full}
    for case in cases if suite == "full" else ():
        expected = predict(case.template.name, case.inputs, chip)
        assert 0 < expected.value("lower_bound_time") <= expected.value("expected_time")  # type: ignore[operator]
    gathers = [case for case in cases if case.inputs.get("collective") == "all_reduce" and case.axis == "data"]
    sizes = [case.inputs["array_bytes"] for case in gathers]
    assert set(sizes[:2]) == {4 << 10, 256 << 20}
    assert len(sizes) == {"quick": 5, "full": 9}[suite]


def test_odd_ways_share_evenly() -> None:
    """Over three devices payloads and dimensions are rounded up to what three can share."""
    for case in mesh_cases.cases_of(MeshSpec.parse("tensor=3"), "quick", "cpu"):
        for name in ("array_bytes", "tokens", "n_heads", "n_kv_heads", "d_ff"):
            assert float(case.inputs.get(name) or 0) % 3 == 0, (case.label, name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "array", "algorithm", "bus"),
    [
        ("all_gather", 4e6, 4e9, 3e9), ("reduce_scatter", 4e6, 4e9, 3e9), ("all_reduce", 4e6, 4e9, 6e9),
        ("all_to_all", 16e6, 4e9, 3e9), ("permute", 4e6, 4e9, 4e9),
    ],
)  # fmt: skip
def test_bandwidths_are_counted_as_nccl_tests_count_them(kind: str, array: float, algorithm: float, bus: float) -> None:
    """Four devices, 4 MB each in 1 ms: 4 GB/s of the algorithm, times 3/4, 2 x 3/4 or 1 of the bus."""
    inputs = {"collective": kind, "array_bytes": array, "axis_size": 4.0}
    judged = judge(predict("collective", inputs, "h100-sxm"), 1e-3)
    assert judged["achieved_algorithm_bandwidth"] == pytest.approx(algorithm)
    assert judged["achieved_bus_bandwidth"] == pytest.approx(bus)
    assert judged["bound"] == "network"
    assert "mfu" not in judged


HLO = """HloModule jit_repeated

%inner.1 (x: f32[4]) -> f32[8] {
  ROOT %g = f32[8] all-gather(%x), dimensions={0}
}

%body.2 (state: (s32[], f32[4])) -> (s32[], f32[4]) {
  %c = f32[8] call(%x), to_apply=%inner.1
}

%condition.3 (state: (s32[], f32[4])) -> pred[] {
  ROOT %less = pred[] compare(%a, %b)
}

ENTRY %main.4 (n: s32[], x: f32[4]) -> f32[4] {
  %r = f32[4] all-reduce-start(%x), to_apply=%add
  %w = (s32[], f32[4]) while(%t), condition=%condition.3, body=%body.2
}
"""


def test_what_a_loop_holds_is_read_from_hlo() -> None:
    """A collective in a computation that the loop calls is in it; one before the loop, or none, is missing."""
    assert clock.missing_operations(["all-gather", "all-reduce"], HLO) == []
    assert clock.missing_operations(["all-gather", "all-reduce"], clock.in_loop(HLO)) == ["all-reduce"]
    assert clock.missing_operations(["all-to-all"], HLO) == ["all-to-all"]


def test_a_collective_that_was_taken_out_is_flagged() -> None:
    """And what a CPU's devices can't tell, a profile and a call beside the dispatch, is no flag of a mesh."""
    steady = summarize([1e-4] * 9)
    timing = Timing("cpu", wall=steady, drift=1.0, dispatch_s=1e-4, is_spread=True, is_kept=True)
    assert timing.flags == ("dispatch_bound", "no_loop_time")
    assert "collective_elided" in replace(timing, is_kept=False).flags


def of_mesh(seconds: float = 1e-3, **columns: object) -> Measurement:
    """A measured collective over the axis `tensor`."""
    inputs = {"collective": "all_reduce", "array_bytes": 65536.0, "axis_size": 4.0, "n_axes": 1.0}
    place = {"mesh": "data=2,tensor=4", "axis": "tensor", "group_size": 4, "device_order": "0 1 2 3 4 5 6 7"}
    return measurement(case_key("collective", inputs), seconds, **place | columns)


def test_a_collective_gets_a_row_beside_its_prediction(plan: Path) -> None:
    """Values where the sheet had no such row: predicted, measured as shown, bandwidths, axis; found again as it is."""
    landed = backfill(plan, [of_mesh()])
    assert len(landed.unplaced) == 1
    row = rows(plan)[-1]
    typed = {name: value for name, value in row.inputs.items() if value is not None}
    expected = predict("collective", typed, "tpu-v5e").value("expected_time")
    assert row.number_in("predicted_time") == pytest.approx(expected)
    assert row.number_in("measured_time.shown") == pytest.approx(1000)
    assert row.number_in("achieved_bus_bandwidth") == pytest.approx(65536 * 1.5 / 1e-3)
    assert [row.text(name) for name in ("case_label", "mesh", "mesh_axis", "device_order")] == [
        "All-reduce 64 KiB over 4", "data=2,tensor=4", "tensor", "0 1 2 3 4 5 6 7",
    ]  # fmt: skip
    with untouched(plan):
        assert backfill(plan, [of_mesh()]).unchanged == 1


def test_another_order_of_devices_is_another_experiment(plan: Path) -> None:
    """Two orders of one mesh have a row each, and keep it when they are measured again."""
    other = of_mesh(seconds=2e-3, device_order="0 1 2 3 4 5 7 6")
    backfill(plan, [of_mesh(), other])
    backfill(plan, [replace(other, t_median=3e-3), replace(of_mesh(), t_median=4e-3)])
    times = {row.text("device_order"): row.number_in("measured_time") for row in rows(plan)[-2:]}
    assert times == {"0 1 2 3 4 5 6 7": 4e-3, "0 1 2 3 4 5 7 6": 3e-3}


def test_a_chip_without_a_network_predicts_nothing_and_says_so(plan: Path) -> None:
    """A CPU host has no links: the time lands, the prediction is blank and the note gives the reason."""
    backfill(plan, [of_mesh(hardware_id="cpu-generic")])
    row = rows(plan)[-1]
    assert row.number_in("predicted_time") is None
    assert row.number_in("measured_time") == 1e-3
    assert "no prediction: cpu-generic has no network" in row.text("note")


@pytest.mark.slow
def test_a_workbook_with_a_mesh_has_live_rows(tmp_path: Path) -> None:
    """`planner build --mesh` lists the cases with formulas, which hold by the rules; a time lands in its row."""
    path = tmp_path / "plan.xlsx"
    words = ["build", "llama3-8b", "-H", "tpu-v5e", "--mesh", "data=2,tensor=4", "-o", str(path)]
    assert run(*words).exit_code == 0
    assert run("check", path).exit_code == 0
    (case, *_) = mesh_cases.cases_of(MESH, "quick", "accelerator")
    landed = backfill(path, [measurement(case.key, 1e-3, mesh=str(MESH), axis=case.axis)])
    assert (len(landed.values), len(landed.unplaced)) == (1, 0)
    (row,) = (row for row in rows(path) if row.text("mesh"))
    assert row.number_in("achieved_bus_bandwidth") == pytest.approx(4096 / 2 / 1e-3)
    predicted = predict("collective", case.inputs, "tpu-v5e").value("expected_time")
    assert row.number_in("time_ratio") == pytest.approx(1e-3 / predicted)  # type: ignore[operator]
    listed = run("measure", path, "--list", "--mesh", "data=2")
    assert "the mesh data=2" not in listed.output
    assert len(listed.output.splitlines()) == len(mesh_cases.cases_of(MESH, "quick", "accelerator"))


def test_a_workbook_without_such_cases_says_how_they_come(plan: Path) -> None:
    """--mesh on a Comparison without a collective or a sharded case is one line with the way to some."""
    done = refused("measure", plan, "--list", "--mesh", "data=2")
    assert "lists no collective and no sharded case; planner build --mesh" in done


@pytest.mark.slow
def test_sharded_cases_compute_what_one_device_computes() -> None:
    """Each matmul and step over data, FSDP and tensor ways equals the same arrays on one device."""
    meshes = ["data=2,tensor=4", "fsdp=2,tensor=2,data=2"]
    done = subprocess.run(
        command("numbers", *meshes), env=environment(8), capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = dict(line.split() for line in done.stdout.splitlines())
    assert list(found) == meshes
    assert all(float(off) < 1e-5 for off in found.values()), found


@pytest.mark.slow
def test_every_case_runs_on_eight_devices_and_fills_the_comparison(plan: Path, tmp_path: Path) -> None:
    """All collectives, matmuls and steps, in an order of devices that is recorded, and each has its row."""
    csv, order = tmp_path / "m.csv", "0,1,2,3,7,6,5,4"
    words = ["measure", "--suite", "quick", "--mesh", str(MESH), "--device-order", order, "--csv", str(csv)]
    done = subprocess.run(
        command("measure", *words, "-H", "cpu-generic"), env=environment(8), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = read_measurements(csv)
    assert {row.status for row in found} == {"measured"}, [row.reason for row in found]
    axes = {(name, row.axis) for row in found for name in KINDS if f"collective={name}" in row.case_key}
    assert axes == {(name, axis) for name in KINDS for axis in ("data", "tensor")}
    assert {row.device_order for row in found} == {order.replace(",", " ")}
    assert {(row.axis, row.group_size) for row in found} == {("data", 2), ("tensor", 4), ("data+tensor", 8)}
    assert not [row.case_key for row in found if "collective_elided" in row.flags]
    reduced = next(row for row in found if label_of(row.template, _inputs(row)) == "All-reduce 64 KiB over 4")
    assert reduced.bus_bandwidth == pytest.approx(1.5 * 65536 / reduced.t_median)
    assert len(backfill(plan, found).unplaced) == len(found)
    assert sum(row.text("mesh") == str(MESH) for row in rows(plan)) == len(found)


@pytest.mark.slow
def test_two_processes_measure_together(plan: Path, tmp_path: Path) -> None:
    """Over two processes of two devices every case runs, the first alone writes, and one row says two processes."""
    csv = tmp_path / "m.csv"
    words = ["measure", "--suite", "quick", "--mesh", "data=2,tensor=2", "--csv", str(csv)]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    started = [
        subprocess.Popen(
            command("measure", *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=environment(
                2, JAX_COORDINATOR_ADDRESS=address, JAX_NUM_PROCESSES="2", JAX_PROCESS_ID=str(index)
            ),
        )
        for index in range(2)
    ]  # fmt: skip
    said = [process.communicate(timeout=600) for process in started]
    assert [process.returncode for process in started] == [0, 0], said
    found = read_measurements(csv)
    assert {row.status for row in found} == {"measured"}, [row.reason for row in found]
    assert {row.n_processes for row in found} == {2}
    assert {name for row in found for name in KINDS if f"collective={name}" in row.case_key} == set(KINDS)
    assert "measured" in said[0][0]
    assert "measured" not in said[1][0]
    assert len(backfill(plan, found).unplaced) == len(found)


def _inputs(row: Measurement) -> dict[str, float | str | None]:
    return dict(json.loads(row.inputs))


@pytest.mark.parametrize(
    ("sizes", "group"), [((2.0, 3.0), 8.0), ((1000.0, 200.0), None), ((-2.0, 0.5), None), ((0.0, -1.0), None)]
)
def test_the_devices_of_a_group(sizes: tuple[float, float], group: float | None) -> None:
    """What is no number of devices is none, and no error."""
    assert group_size(*sizes) == group


def test_an_axis_of_endless_digits_is_refused() -> None:
    """As any other text that is no size."""
    with pytest.raises(UserError, match="is no axis with a size"):
        MeshSpec.parse(f"data={'9' * 5000}")

"""A measurements.csv from elsewhere: what can't be right is refused by line and column, and nothing of it is kept."""

from __future__ import annotations

import re
from dataclasses import replace
from math import inf, nan
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.compare.checked_measurements import FLAGS, METHODS, checked_measurements
from planner.compare.comparison_cases import load
from planner.compare.mesh_cases import cases_of
from planner.compare.recorded_time import METHOD as RECORDED
from planner.errors import UserError
from planner.ingest.profiled_cases import METHOD
from planner.measure.measurements_csv import write_measurements
from planner.measure.mesh import MeshSpec
from planner.measure.records import LONGEST, Measurement, case_key, inputs_json
from planner.measure.timing import Timing, summarize
from tests.backfills import backfill, keys, measurement
from tests.commands import refusal

OVER_MESH = [
    case for mesh in ("data=2,tensor=4", "fsdp=4") for case in cases_of(MeshSpec.parse(mesh), "full", "cpu")
]  # fmt: skip
CASES = {case.key: case for case in [*load("full"), *OVER_MESH]}
SIZES = {"tokens": 64.0, "d_in": 32.0, "d_out": 16.0}
GOOD = measurement(case_key("matmul", SIZES), 1e-3)


def fault_of(tmp_path: Path, *rows: Measurement) -> str:
    """What is said of a file of a good row and these; blank where nothing is."""
    path = tmp_path / "m.csv"
    write_measurements(path, [GOOD, *rows])
    try:
        checked_measurements(path)
    except UserError as error:
        return str(error)
    return ""


@given(st.sampled_from(sorted(CASES)), st.floats(1e-9, LONGEST, exclude_max=True))
@settings(deadline=None)
def test_every_case_of_ours_is_taken(tmp_path_factory: pytest.TempPathFactory, key: str, seconds: float) -> None:
    """Each shipped case with its inputs, over a mesh too, whatever it took."""
    case = CASES[key]
    row = measurement(key, seconds, template=case.template.name, inputs=inputs_json(case.inputs))
    assert fault_of(tmp_path_factory.mktemp("good"), row) == ""


@given(
    st.sampled_from(sorted(SIZES)),
    st.one_of(
        st.floats(max_value=0), st.floats(0, 1, exclude_min=True, exclude_max=True), st.sampled_from([nan, inf, 2.5]),
        st.floats(min_value=1e31),
    ),
)  # fmt: skip
@settings(deadline=None)
def test_a_size_that_cannot_be_run_is_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, value: float
) -> None:
    """Below 1, broken, infinite, absurd or no number, in a key or in the inputs beside it: line and column are told."""
    folder, inputs = tmp_path_factory.mktemp("bad"), SIZES | {name: value}
    key = "matmul|" + ",".join(f"{known}={inputs[known]!r}" for known in sorted(inputs))
    said = fault_of(folder, measurement(key))
    assert "m.csv, line 3, column case_key: " in said
    assert f"{name}=" in said
    beside = measurement(case_key("matmul", SIZES), template="matmul", inputs=repr(inputs).replace("'", '"'))
    assert "m.csv, line 3, column " in fault_of(folder, beside)


@given(st.one_of(st.floats(max_value=0), st.floats(min_value=LONGEST, exclude_min=True), st.sampled_from([1e308, inf])))
@settings(deadline=None)
def test_a_time_that_nothing_takes_is_refused(tmp_path_factory: pytest.TempPathFactory, seconds: float) -> None:
    """0, negative, infinite, or above a year."""
    path = tmp_path_factory.mktemp("time") / "m.csv"
    path.write_text(f"case_key,hardware_id,t_median\nk,h,0.001\nk,h,{seconds!r}\n")
    with pytest.raises(UserError, match=r"m\.csv, line 3, column t_median: "):
        checked_measurements(path)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (measurement("matmul|tokens=abc"), "column case_key: tokens=abc: "),
        (measurement("matmul|tokens=8k"), "column case_key: tokens=8k: a number is wanted"),
        (measurement("matmul|tokens=1,widht=2"), "column case_key: matmul has no input 'widht'"),
        (measurement("matmull|tokens=1"), "column case_key: there is no template 'matmull'; did you mean matmul"),
        (measurement("matmul|compute_dtype=bf61|tokens=1"), "column case_key: compute_dtype=bf61: "),
        (measurement("attention|is_causal=2"), "column case_key: is_causal=2: 1 is yes and 0 is no"),
        (
            measurement("matmul|tokens=1", template="mlp"),
            "column case_key: it is no key of the template beside it",
        ),
        (measurement("matmul|tokens=1", template="matmul", inputs='{"tokens": 1e999}'), "column inputs: tokens=inf"),
        (measurement("matmul|tokens=1", template="matmul", inputs='{"tokens": ' + "9" * 400 + "}"), "column inputs: "),
        (measurement("matmul|tokens=1", n_samples=10**300), "column n_samples: 1e+300 is too large for 1"),
        (measurement("matmul|tokens=1", t_min=-1e308), "column t_min: -1e+308 is too large for s"),
        (measurement("matmul|tokens=1", flops=1e308), "column flops: 1e+308 is too large for FLOP"),
    ],
)
def test_a_fault_is_told_with_its_place(tmp_path: Path, row: Measurement, said: str) -> None:
    """A key that is no case's, or that contradicts the columns beside it, and numbers that nothing has."""
    assert f"m.csv, line 3, {said}" in fault_of(tmp_path, row)


@pytest.mark.parametrize(
    "row",
    [
        measurement("mine"),
        measurement("matmul|x"),
        measurement("attention|batch=1,head_dim=64,kv_len=100.5,n_heads=2,n_kv_heads=2,query_len=1"),
        measurement("matmul|d_in=8,d_out=8,n_chips=0.5,tokens=8"),
        measurement("step|d_ff=8,d_model=8,kv_len=8,n_heads=1,n_kv_heads=1,qk_nope_dim=8,query_len=8,vocab=0"),
    ],
)
def test_what_may_be_is_taken(tmp_path: Path, row: Measurement) -> None:
    """A key of an analyst's own; a mean of keys over layers, a core of a chip, and a step without its head."""
    assert fault_of(tmp_path, row) == ""


def test_an_input_that_the_template_sets_now_is_left_out(tmp_path: Path) -> None:
    """Rows of an older planner name an input that an include sets since: of the value that it sets they are the case
    of today, of another one no case.
    """
    inputs = {"batch": 1, "head_dim": 64, "kv_len": 128, "n_heads": 2, "n_kv_heads": 2, "query_len": 1}
    key, path = case_key("attention", inputs), tmp_path / "older.csv"
    older = inputs | {"has_narrow_weights": 0}
    row = measurement(case_key("attention", older), template="attention", inputs=inputs_json(older))
    write_measurements(path, [row, replace(row, inputs="", hardware_id="tpu-v5p")])
    assert [each.case_key for each in checked_measurements(path)] == [key, key]
    other = case_key("attention", inputs | {"has_narrow_weights": 1})
    assert "attention has no input 'has_narrow_weights'" in fault_of(tmp_path, measurement(other))


def test_nothing_of_a_file_with_a_fault_is_written(plan: Path, built: bytes) -> None:
    """The good row above it neither: exit code 2 and the workbook as it was."""
    said = refusal(backfill(plan, measurement(keys(plan)[0]), measurement("matmul|d_in=8,d_out=8,tokens=-5")))
    assert "line 3, column case_key: tokens=-5: a number of at least 1 is wanted" in said
    assert plan.read_bytes() == built


@pytest.mark.parametrize(
    ("column", "text", "said"),
    [
        ("t_median", "1e-300", "1e-300 s is less than any profiler counts"),
        ("t_median", "9e-13", "9e-13 s is less than any profiler counts, 1e-12 s"),
        ("n_samples", "-3", "'-3' is negative; write 0 or more, or leave it blank"),
        ("drift", "-1", "-1 is not above 0"),
        ("drift", "0", "0 is not above 0"),
        ("t_min", "-1", "-1 is below 0 by more than t_median, 0.001"),
        ("ci95_low", "-0.002", "-0.002 is below 0 by more than t_median"),
        ("flags", "noysy", "unknown flag 'noysy'; did you mean noisy?"),
        ("flags", "noisy,drift", "unknown flag 'noisy,drift'; did you mean noisy? several are joined by a semicolon"),
        ("flags", "loop/walls=0.5", "unknown flag 'loop/walls=0.5'; did you mean loop/wall?"),
        ("method", "proflier", "unknown method 'proflier'; did you mean profiler?"),
        ("method", "Wall", "unknown method 'Wall'; did you mean wall?"),
        ("method", "loops, extrapolated from 3 of 80 layers", "unknown method 'loops'; did you mean loop?"),
    ],
)
def test_what_is_typed_and_cannot_be_is_refused(tmp_path: Path, column: str, text: str, said: str) -> None:
    """As a person types it and planner never writes it: a count or a drift below 0, a word like a flag or a method."""
    path = tmp_path / "m.csv"
    path.write_text(f'case_key,hardware_id,{"" if column == "t_median" else "t_median,"}{column}\n'
                    f'k,h,{"" if column == "t_median" else "0.001,"}"{text}"\n')  # fmt: skip
    with pytest.raises(UserError) as error:
        checked_measurements(path)
    assert f"m.csv, line 2, column {column}: {said}" in str(error.value)


def test_a_least_may_be_a_little_below_zero_and_a_flag_ones_own(tmp_path: Path) -> None:
    """A time by differences of a noisy loop, guards with their numbers, and a word that is like none of them."""
    row = measurement("mine", t_min=-2e-4, flags="loop/wall=0.50;loop/device=-1.20; noisy;another job ran")
    assert fault_of(tmp_path, row) == ""


@pytest.mark.parametrize("method", ["", *METHODS, "loop, extrapolated from 3 of 80 layers", "a stopwatch", "nsys"])
def test_a_method_may_be_ones_own(tmp_path: Path, method: str) -> None:
    """Those that planner writes, and a text that is like none of them."""
    assert fault_of(tmp_path, measurement("mine", method=method)) == ""


def test_a_case_that_could_not_be_run_is_no_fault(tmp_path: Path) -> None:
    """A row without a time may have inputs that nothing runs: it says so itself, and the other rows are read."""
    assert fault_of(tmp_path, measurement("matmul|tokens=-5", nan, t_mad=nan, status="failed", reason="no size")) == ""


def test_every_flag_and_method_is_known() -> None:
    """Those that a timing can have, and those of the page's table, are the ones that a typed one is held to."""
    page = (Path(__file__).parent.parent / "docs" / "measurements.md").read_text(encoding="utf-8")
    table = page.partition("| flag | the guard that failed |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = {name for cell in cells for name in re.findall("`([a-z_/]+)(?:=...)?`", cell)}
    assert named == {*FLAGS, "loop/wall", "loop/device"}
    timing = Timing("cpu", summarize([1.0] * 7), 1.0, 1e-5)
    elided = replace(timing, wall=summarize([1.0]), drift=3.0, dispatch_s=1.0, floor_s=9.0, is_kept=False)
    assert {*timing.flags, *elided.flags} <= named
    assert {timing.method, METHOD, RECORDED} <= set(METHODS)


MESH = {"mesh": "data=2,tensor=4", "axis": "tensor", "group_size": 4, "device_order": "0 1 2 3 4 5 6 7"}
GATHER = "collective|array_bytes=4096,axis_size=4,collective=all_gather"


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"mesh": "data=-2"}, "column mesh: 'data=-2' is no axis with a size"),
        ({"mesh": "data=1,tensor=4"}, "column mesh: the axis data has 1 device"),
        ({"axis": "expert"}, "column axis: 'expert' is no axis of the mesh data=2,tensor=4"),
        ({"mesh": "", "group_size": 0}, "column axis: 'tensor' is of a mesh, and the row names none"),
        ({"group_size": 3}, "column group_size: 3 is not the size of the axis tensor, 4"),
        ({"axis": "data", "group_size": 2}, "column group_size: 2 is not the size of the case's group, 4"),
        ({"device_order": "0 1 2"}, "column device_order: 3 devices are named, and the mesh data=2,tensor=4 has 8"),
        ({"device_order": "0 1 2 3 4 5 6 6"}, "column device_order: the device 6 stands there twice"),
        ({"coords": "1e308"}, "column coords: '1e308' is no place in a torus"),
        ({"timestamp": "yesterday"}, "column timestamp: 'yesterday' is no date"),
        ({"bus_bandwidth": 1e30}, "column bus_bandwidth: 1e+30 is too large for byte/s"),
        ({"bus_bandwidth": 3e12}, "column bus_bandwidth: 3e+12 is not the case's bytes over t_median, some 3.07e+06"),
        ({"bus_bandwidth": -1.0}, "column bus_bandwidth: -1 is not above 0"),
        ({"t_min": 9e-4, "t_mad": 1.0}, "column t_mad: 1 is above t_median"),
        ({"t_min": 9e-4, "t_mean": 8e-4}, "column t_mean: 0.0008 is below t_min"),
        ({"ci95_low": 2e-3}, "column t_median: 0.001 is not between ci95_low and ci95_high"),
        ({"flops": 1e20}, "column flops: no device does 1e+20 in 0.001 s"),
        ({"n_samples": 10**12}, "column n_samples: 1e+12 is too large for 1"),
        ({"t_device": 0.0}, "column t_device: 0 is not above 0"),
    ],
)  # fmt: skip
def test_a_place_a_date_and_a_rate_that_cannot_be_are_told(
    tmp_path: Path, columns: dict[str, object], said: str
) -> None:
    """A mesh, an axis, a group, an order, a date or a rate that contradicts the row or the world."""
    good = measurement(GATHER, **MESH, bus_bandwidth=3072e3)  # 4096 bytes x 3/4 in 1 ms
    assert fault_of(tmp_path, good) == ""
    assert f"m.csv, line 3, {said}" in fault_of(tmp_path, measurement(GATHER, **{**MESH, **columns}))


def test_a_group_is_of_whole_devices(tmp_path: Path) -> None:
    """One and a half chips share nothing; over two axes of a torus 2.83 by 2.83 are eight."""
    said = fault_of(tmp_path, measurement("collective|array_bytes=4096,axis_size=1.5,collective=all_gather"))
    assert "line 3, column case_key: a group of 1.5 devices is none" in said
    root = 8**0.5
    over_two = f"collective|array_bytes=4096,axis_size={root!r},collective=all_gather,n_axes=2"
    assert fault_of(tmp_path, measurement(over_two)) == ""

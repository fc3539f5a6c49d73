"""The first page of a profile: the step, its parts, MFU and the largest waste, each with its reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from planner.ingest import first_page, operation_rows
from planner.ingest.chips import Chip
from planner.ingest.first_page import PlannedStep
from planner.ingest.operation_rows import Peaks, peaks_of
from planner.profiles.profile import Parts, Program, Step
from planner.profiles.reading import read as read_profile
from tests.made_profiles import V5P, core, of, operation
from tests.measure_traces import TRACES, real
from tests.test_profiles_torch import MM, torch_event, torch_kernel
from tests.written_profiles import in_json


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


def test_the_largest_waste_says_of_how_much_time_a_waste_is_known() -> None:
    """Beside matmuls whose sizes nobody told, a small fill is the only one that wastes anything: 1 of 10 ms."""
    peaks, fill = Peaks(1e12, 1e12), operation("fill", count=1, total=1e-3, median=1e-3, self_time=1e-3, bytes=1e6)
    gemm = replace(fill, name="gemm", total=9e-3, median=9e-3, self_time=9e-3, bytes=None, flops=None)
    sent = replace(gemm, name="all-reduce.1", part="communication")
    for operations, said in (((fill, gemm, sent), "; known of 10.0 % of the time that computes"), ((fill, sent), "")):
        found = {line.label: line for line in first_page.lines(of(*operations), None, peaks)}["Largest waste"]
        assert found.note.partition("(1 - efficiency)")[2] == said


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
    path = in_json(tmp_path, {"traceEvents": events})
    found = {each.label: each for each in first_page.lines(read_profile(path), None, Peaks(1e12, 1e12))}
    flops = 2 * 64 * 32 * 16
    assert found["Largest waste"].measured == pytest.approx(2 * (10e-6 - flops / 1e12))


def test_a_name_prints_no_control_characters() -> None:
    """What a kernel is called can't move a terminal's cursor, nor break a line."""
    assert first_page.short("void ker\x1b[2Jnel\r\nof\x9bmine") == "ker [2Jnel  of mine"

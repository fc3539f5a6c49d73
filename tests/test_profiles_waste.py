"""The waste rule against an op-profile table that is published, and its edges."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from planner.compare.prediction import hardware
from planner.ingest.chips import Chip
from planner.ingest.operation_rows import Peaks, largest, lost_by, peaks_of, rows
from planner.profiles.profile import Device, Operation, Parts, Profile, Shape

CASES = Path(__file__).parent / "cases" / "course_slides.csv"


def published() -> dict[str, tuple[dict[str, float], float]]:
    """The rows of the course's op profile (session 8): shares of time and of the peaks, and the share that is lost."""
    with CASES.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if row[0].startswith("s08.xprof_") and "wasted_share" in row]
    found = {}
    for row in rows:
        shares = dict(part.split("=") for part in next(cell for cell in row if "time_share=" in cell).split(";"))
        expected = row[row.index("wasted_share") + 2]
        found[row[0]] = {name: float(share) for name, share in shares.items()}, float(expected)
    return found


PUBLISHED = published()


def test_the_table_is_there():
    """The whole, the all-gather and three more categories, one of them beyond its peak bandwidth."""
    assert len(PUBLISHED) == 5
    assert max(shares.get("hbm_utilization_share", 0) for shares, _ in PUBLISHED.values()) > 1


@pytest.mark.parametrize("case", PUBLISHED)
def test_the_table_from_operations(case):
    """An operation with these shares of time and of the peaks loses as much; a rate beyond its peak counts as it."""
    shares, lost = PUBLISHED[case]
    flops, moved = (shares.get(f"{unit}_utilization_share", 0.0) * shares["time_share"] for unit in ("flops", "hbm"))
    found = lost_by(op("it", shares["time_share"], flops * 275e12, moved * 1.2e12), Peaks(275e12, 1.2e12))
    assert found
    assert found.wasted == pytest.approx(lost, abs=1e-9)


def op(name, seconds, flops=None, moved=None, count=1):
    """An operation of this category and time, and the work of one run."""
    return Operation(name, "f", name, "", "compute", count, seconds, seconds, seconds, flops, moved)


def test_unknown_work_is_not_called_lost():
    """Without FLOPs and bytes nothing is said to be lost, nor without peaks; with one of them the other is none."""
    known = lost_by(op("a", 2.0, 1e12), Peaks(1e12, 1e12))
    assert known
    assert (known.name, known.efficiency, known.wasted, known.bound) == ("a", 0.5, 1.0, "compute")
    moved = lost_by(op("c", 4.0, None, 1e12), Peaks(1e12, 1e12))
    assert moved
    assert (moved.efficiency, moved.wasted, moved.bound) == (0.25, 3.0, "memory")
    assert lost_by(op("b", 3.0), Peaks(1e12, 1e12)) is None
    assert lost_by(op("a", 2.0, 1e12), Peaks(None, None)) is None


def test_the_work_of_all_runs_is_held_against_their_time():
    """FLOPs and bytes are of one run, and the time is of all; the bound is the larger share of a peak."""
    found = lost_by(op("fusion", 4.0, 2e11, 5.01e11, count=2), Peaks(1e12, 1e12))
    assert found
    assert (found.seconds, found.efficiency, found.bound) == (4.0, pytest.approx(1.002 / 4), "memory")


@pytest.mark.parametrize(
    ("left", "result", "tflops", "efficiency"),
    [
        ("f8e4m3fn", "bf16", 990, 0.5), ("s8", "s32", 990, 0.5), ("bf16", "bf16", 990, 1.0),
        ("f32", "f32", 247.35, 0.5), ("f32", "f32", 33.5, 0.5),
    ],
)  # fmt: skip
def test_the_peak_is_that_of_what_is_multiplied(left, result, tflops, efficiency):
    """At 990 TFLOP/s a matmul in fp8 or int8 reaches half of an H100's peak, whatever the type of its result.

    One in fp32 that is faster than fp32's 67 TFLOP/s was multiplied as TF32.
    """
    chip = Chip("h100-sxm", "NVIDIA H100 80GB HBM3", row=dict(hardware().rows["h100-sxm"]))
    m = n = k = 8192
    shapes = (Shape(result, (m, n)),), (Shape(left, (m, k)), Shape(left, (k, n)))
    one = replace(op("gemm", 2 * m * n * k / (tflops * 1e12), 2.0 * m * n * k), category="aten::_scaled_mm",
                  dtype=result, result=shapes[0], operands=shapes[1])  # fmt: skip
    found = lost_by(one, peaks_of(None, chip))
    assert found
    assert found.efficiency == pytest.approx(efficiency, abs=1e-3)


def test_what_communicates_has_no_roofline():
    """A collective beside a matmul loses nothing of it, and the memory's bandwidth isn't what it reaches."""
    gather = replace(op("ncclDevKernel_AllGather", 2.0, None, 1e9), part="communication")
    matmul = op("gemm", 1.0, 5e11, 1e9)
    device = Device("GPU 0", "h", None, {}, 0, 2, 2, Parts(compute=1.0, communication=1.0), operations=(gather, matmul))
    found = Profile(("p.json",), "kineto", None, ("h",), (device,))
    peaks = Peaks(1e12, 1e12)
    most = largest(found, found.operations, peaks)
    assert most
    assert (most.name, most.wasted) == ("gemm", 0.5)
    (first, _) = rows(found, peaks)
    assert (first.one.name, first.efficiency, first.bound) == ("ncclDevKernel_AllGather", None, "")
    assert first.lacking == "roofline: of what computes alone"


def test_the_estimate_of_a_kernel_that_no_chip_does_is_no_share_of_the_roofline():
    """A Pallas kernel whose author counts what its mask leaves out: 3.3 times the peak, which isn't 100 % of it."""
    one = replace(op("splash_mha", 1.0, 3.3e12, 1e11), category="custom-call")
    peaks = Peaks(1e12, 1e12)
    assert lost_by(one, peaks) is None
    assert lost_by(replace(one, flops=0.9e12), peaks)
    device = Device("TPU:0", "host", None, {}, 0.0, 1.0, 1.0, Parts(1.0), operations=(one,))
    (row,) = rows(Profile(("p",), "xplane", None, ("host",), (device,)), peaks)
    assert row.lacking.endswith("roofline: its FLOPs, an estimate, are more than the chip does")

"""The waste rule against an op-profile table that is published, and its edges."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from planner.profiles.profile import Operation
from planner.profiles.waste import by_category, by_operation, wasted

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
def test_the_published_table(case):
    """Time x (1 - the larger share of a peak), where a bandwidth beyond its peak counts as the peak."""
    shares, lost = PUBLISHED[case]
    flops, bandwidth = shares.get("flops_utilization_share", 0.0), shares.get("hbm_utilization_share", 0.0)
    assert wasted(shares["time_share"], flops, bandwidth) == pytest.approx(lost, abs=1e-9)


@pytest.mark.parametrize("case", PUBLISHED)
def test_the_table_from_operations(case):
    """Operations with these shares of time and of the peaks lose as much by category."""
    shares, lost = PUBLISHED[case]
    flops, moved = (shares.get(f"{unit}_utilization_share", 0.0) * shares["time_share"] for unit in ("flops", "hbm"))
    made = [op("it", shares["time_share"], flops * 275e12, moved * 1.2e12), op("rest", 1 - shares["time_share"])]
    found = {each.name: each.wasted_share for each in by_category(made, 275e12, 1.2e12)}
    assert found["it"] == pytest.approx(lost, abs=1e-9)


def op(name, seconds, flops=None, moved=None, count=1):
    """An operation of this category and time, and the work of one run."""
    return Operation(name, "f", name, "", "compute", count, seconds, seconds, seconds, flops, moved)


def test_unknown_work_is_not_called_lost():
    """Without FLOPs and bytes nothing is said to be lost; with one of them the other counts as none."""
    known, unknown = by_operation([op("a", 2.0, 1e12), op("b", 3.0)], 1e12, None)
    assert (known.name, known.efficiency, known.wasted, known.bound) == ("a", 0.5, 1.0, "compute")
    assert (unknown.name, unknown.efficiency, unknown.wasted, unknown.bound) == ("b", None, 0.0, "")
    assert by_operation([op("a", 2.0, 1e12)], None, None)[0].efficiency is None


def test_a_category_is_judged_by_its_whole_work():
    """FLOPs and bytes of all runs over the time of all of them; the bound is the larger share of a peak."""
    members = [op("fusion", 1.0, 2e11, 1e9, count=2), op("fusion", 3.0, 0.0, 1e12)]
    (found,) = by_category(members, 1e12, 1e12)
    assert (found.seconds, found.efficiency, found.bound) == (4.0, pytest.approx(1.002 / 4), "memory")

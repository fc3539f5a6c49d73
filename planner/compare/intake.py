"""measurements.csv as backfill takes it: read, and refused where its units or its keys can't be right."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import isclose, isfinite, isnan
from pathlib import Path
from sys import float_info

from planner.errors import Place, UserError
from planner.measure.keys import case_key
from planner.measure.records import Measurement, numbered_measurements

ROUNDING = 1e-6
SI = "write seconds, FLOP/s and byte/s"


def read(path: Path) -> list[Measurement]:
    """The rows of a measurements.csv.

    Raises UserError with the line: wrong columns or values, numbers that contradict each other (as they do where one
    was converted to another unit), or a key that is not that of the case beside it.
    """
    rows = numbered_measurements(path)
    if not rows:
        raise UserError("there are no rows below the header", place=Place(path), remedy="planner measure writes some")
    for line, row in rows:
        for column, what, remedy in _faults(row):
            raise UserError(what, place=Place(path, line, column), remedy=remedy)
    return [row for _, row in rows]


def _faults(row: Measurement) -> Iterator[tuple[str, str, str]]:
    """Column, fault and remedy of what can't be right."""
    if not row.case_key.strip():
        yield "case_key", "the key is empty", "every row names its case"
    if row.template and row.inputs and row.inputs != "{}":
        own = _own_key(row)
        if own is None:
            yield "inputs", "it is no JSON of inputs", 'write {"name": value, ...}, or leave it blank'
        elif own != row.case_key:
            yield "case_key", "it is not the key of the template and inputs beside it", f"it would be {own}"
    if row.status == "measured":
        yield from _unit_faults(row)


def _own_key(row: Measurement) -> str | None:
    try:
        return case_key(row.template, json.loads(row.inputs))
    except (ValueError, AttributeError, TypeError, RecursionError):  # of many brackets
        return None


def _unit_faults(row: Measurement) -> Iterator[tuple[str, str, str]]:
    if not (isfinite(row.t_median) and row.t_median >= float_info.min):  # below it a cell holds 0
        yield "t_median", "a measured row needs a time above 0", "write seconds, or another status"
        return
    same = {"wall": row.t_wall_call, "loop": row.t_loop, "profiler": row.t_device}.get(row.method, row.t_median)
    if not _agree(same, row.t_median):
        yield "t_median", f"{row.t_median:g} is not the time by {row.method}, {same:g}", SI
    if row.t_min > row.t_median * (1 + ROUNDING) or row.t_p90 < row.t_median * (1 - ROUNDING):
        yield "t_median", f"{row.t_median:g} is not between t_min and t_p90", SI
    for column, work in (("achieved_flops", row.flops), ("achieved_bandwidth", row.memory_bytes)):
        achieved = getattr(row, column)
        if not _agree(achieved, work / row.t_median):
            yield column, f"{achieved:g} is not the work over t_median, {work / row.t_median:g}", SI


def _agree(one: float, other: float) -> bool:
    """Whether two numbers are the same, or one is unknown."""
    return isnan(one) or isnan(other) or isclose(one, other, rel_tol=ROUNDING)

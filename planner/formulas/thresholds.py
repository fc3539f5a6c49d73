"""Thresholds for what is shown and drawn, as data: templates/thresholds.csv. Each has a cell on Inputs."""

from __future__ import annotations

from functools import cache

from planner import data
from planner.errors import Place
from planner.formulas.template import Row

COLUMNS = ("used_on", "name", "label", "unit", "value", "source", "note")


def used_on(*sheets: str) -> list[Row]:
    """The thresholds that formulas of these sheets read, as constants."""
    return [row for where, row in _rows().values() if not where.isdisjoint(sheets)]


def number(name: str) -> float:
    """The value of a threshold."""
    value = _rows()[name][1].default
    assert isinstance(value, float)
    return value


@cache
def _rows() -> dict[str, tuple[frozenset[str], Row]]:
    """The sheets and the row of each threshold, by name."""
    sheet = data.table("thresholds", COLUMNS)
    return {
        cells["name"]: (frozenset(cells["used_on"].split()), Row(
            cells["name"], cells["label"], cells["unit"], "constant", cells["value"], cells["source"], cells["note"],
            "thresholds", Place(sheet.path, line),
        ))
        for line, cells in sheet.records()
    }  # fmt: skip

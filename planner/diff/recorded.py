"""Recorded runs that two workbooks don't share, or that have another number: one change each, in place of its cells."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from planner.book.plan import Plan
from planner.book.rowkeys import unique
from planner.compare.comparison_sheet import RUN_HEAD, found_in
from planner.compare.runs_table import COLUMNS, TITLE, RecordedRun, measured_cell, numbered
from planner.diff.differences import InputChange, RunChange, Structure
from planner.xlsx.address import coordinates
from planner.xlsx.cellvalue import same_value

HEADS = (TITLE, COLUMNS[RUN_HEAD].label, RUN_HEAD)
"""How the rows above the runs begin, which come with the first of them."""


class _Found(NamedTuple):
    """A run, and the cell of its measured number."""

    run: RecordedRun
    cell: str


def runs(old: Plan, new: Plan, agree: float) -> Iterator[RunChange]:
    """The runs that were recorded, removed or typed over; numbers that agree to `agree` are equal."""
    before, after = _runs(old), _runs(new)
    for key in (*before, *(key for key in after if key not in before)):
        was, now = before.get(key), after.get(key)
        run, cell = now or was or before[key]
        first, second = (None if found is None else found.run.measured for found in (was, now))
        if not same_value(first, second, agree):
            yield RunChange(run.name or run.scenario, run.quantity, run.on, run.said_in, cell, first, second)


def _runs(plan: Plan) -> dict[str, _Found]:
    """The runs of a workbook by what identifies each: its id, else scenario, quantity and time."""
    sheet = found_in(plan.book.package, plan.book.parsed)
    if sheet is None:
        return {}
    found = dict(numbered(sheet))
    keys = unique({row: run.id or "|".join((run.scenario, run.row, run.on)) for row, run in found.items()})
    return {keys[row]: _Found(run, f"{sheet.name}!{measured_cell(sheet, row)}") for row, run in found.items()}


def untold(structure: Collection[Structure], told: Collection[RunChange]) -> list[Structure]:
    """The changes of structure without the rows of these runs, and without the title rows of their table."""
    rows = {(change.how, *_row(change)) for change in told}
    sheets = {sheet for _, sheet, _ in rows}

    def is_told(change: Structure) -> bool:
        is_head = change.sheet in sheets and change.name in HEADS
        return change.what == "row" and (is_head or (change.how, change.sheet, change.at) in rows)

    return [change for change in structure if not is_told(change)]


def typed_elsewhere(inputs: Collection[InputChange], told: Collection[RunChange]) -> list[InputChange]:
    """The changed inputs without the measured numbers of these runs."""
    cells = {change.cell for change in told}
    return [change for change in inputs if change.cell not in cells]


def _row(change: RunChange) -> tuple[str, str]:
    sheet, _, ref = change.cell.rpartition("!")
    return sheet, str(coordinates(ref)[0])

"""What a plan rests on: its inputs, the overrides in force, what was looked up, the constants."""

from __future__ import annotations

from planner.book.plan import Quantity
from planner.report.cells import Cells
from planner.report.data import Figure, Line, Section

LOOKED_UP = ("models[", "hardware[", "dtypes[")


def sections(cells: Cells) -> tuple[Section, ...]:
    """The sections that have lines; rows that are 0 or blank everywhere are left out of what was looked up."""
    plan = cells.plan
    typed = [row for row in plan.overrides if any(not entry.is_blank for entry in row.cells.values())]
    looked_up: dict[str, Quantity] = {}
    for table in plan.tables.values():
        for row in table:
            if row.text.removeprefix("override or ").startswith(LOOKED_UP) and _says_something(row):
                looked_up.setdefault(row.name, row)
    constants = tuple(_constant(cells, row) for row in plan.constants)
    found = (
        Section("Inputs", tuple(_input(cells, row) for row in plan.inputs)),
        Section("Overrides in force", tuple(_override(cells, row) for row in typed)),
        Section("Looked up: chip and model", cells.lines(list(looked_up.values())), is_detail=True),
        Section("Constants", constants, is_detail=True),
    )
    return tuple(section for section in found if section.lines)


def _input(cells: Cells, row: Quantity) -> Line:
    source = row.source if row.source != "the plan's choice" else ""
    return cells.line(row, "; ".join(text for text in (row.text, source) if text) or " ")


def _override(cells: Cells, row: Quantity) -> Line:
    """A blank override is no missing number: the looked-up one holds."""
    figures = tuple(
        Figure(None, row.unit, "looked up", str(row.cells[key].spot)) if row.cells[key].is_blank else cells.of(row, key)
        for key in cells.keys if key in row.cells
    )  # fmt: skip
    return Line(row.name, row.title, row.unit, figures, "typed in place of the looked-up or calculated number")


def _constant(cells: Cells, row: Quantity) -> Line:
    figure = cells.entry(row.cells[""], row.unit)
    return Line(row.name, row.title, row.unit, (figure,), row.source)


def _says_something(row: Quantity) -> bool:
    return any(entry.value not in (0, 0.0, None, "") for entry in row.cells.values())

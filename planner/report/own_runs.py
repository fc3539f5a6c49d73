"""The workbook's own runs in a report: the table of runs on Comparison, and the first lines of the sheet Profile."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, takewhile

from planner.book.added import added
from planner.book.sheet import Sheet
from planner.compare.comparison_sheet import find
from planner.compare.runs_table import Run, read
from planner.errors import UserError
from planner.report.contents import Figure, FigureColumn, FigureTable
from planner.report.figures import CellFigures, as_said
from planner.scaled_units import factor
from planner.spoken import shown, spoken
from planner.xlsx.address import Spot
from planner.xlsx.cellvalue import is_number

RUNS, PROFILE = "Your runs", "Profile"
HEADS = ("What", "Measured")  # how the first lines of the sheet Profile begin
MEASURED, PLANNED = 2, 4  # their columns of numbers
LINES = (
    FigureColumn("what", "What", "text"), FigureColumn("measured", "Measured"), FigureColumn("plan", "Plan"),
    FigureColumn("of_plan", "Of the plan", "text"), FigureColumn("note", "Note", "text"),
)  # fmt: skip
SHARE = "%"
COLUMNS = (
    FigureColumn("run_on", "Run", "text"), FigureColumn("run_name", "Scenario", "text"),
    FigureColumn("run_quantity", "What", "text"), FigureColumn("run_measured", "Measured"),
    FigureColumn("run_expected", "Expected then"), FigureColumn("run_range", "80 % of published runs", "text"),
    FigureColumn("run_bound", "Bound"), FigureColumn("run_ratio", "Measured over expected", "1"),
    FigureColumn("run_facts", "Chip, stack, note", "text"),
)  # fmt: skip


def tables(cells: CellFigures) -> tuple[FigureTable, ...]:
    """The table of runs, and one of each scenario's profile; none where nothing is recorded."""
    return *_runs(cells), *_profile(cells)


def _runs(cells: CellFigures) -> Iterator[FigureTable]:
    try:
        sheet = find(cells.plan.book.package, cells.plan.book.parsed)
    except UserError:
        return
    if rows := tuple(tuple(_figures(run, sheet.name)) for run in read(sheet)):
        yield FigureTable(COLUMNS, rows, title=RUNS)


def _profile(cells: CellFigures) -> Iterator[FigureTable]:
    """The first lines of the newest sheet of each kind: from its heads to the first blank row."""
    newest = {each.kind: each.sheet for each in added(cells.plan.book.sheets.values()) if each.kind.startswith(PROFILE)}
    for kind, sheet in newest.items():
        if rows := tuple(_lines(sheet)):
            yield FigureTable(LINES, rows, title=kind.replace("_", " of ", 1))


def _lines(sheet: Sheet) -> Iterator[tuple[Figure, ...]]:
    head = next((row for row in sheet.filled if sheet.text(row, 1) == HEADS[0] and sheet.text(row, 2) == HEADS[1]), 0)
    for row in takewhile(lambda row: head and sheet.text(row, 1), count(head + 1)):
        yield tuple(_line(sheet, row))


def _line(sheet: Sheet, row: int) -> Iterator[Figure]:
    """A line of the sheet: texts as they stand, numbers as people say them in the unit of the third column."""
    told = sheet.text(row, 3)
    unit = SHARE if told == SHARE else "s" if told else "1"
    size = factor(told, "s" if unit == "s" else "1") if told else 1.0
    why, numbers = sheet.text(row, 6), []
    for column in (MEASURED, PLANNED):
        value, cell = sheet.value(row, column), str(Spot(sheet.name, row, column))
        number = float(value) * size if is_number(value) else None
        said = "" if number is None else spoken(number, unit) if told else shown(number, unit)
        missing = _text("") if column == PLANNED else Figure(None, unit, "N/A", cell, why)
        numbers.append(missing if number is None else Figure(number, unit, said, cell))
    yield _text(sheet.text(row, 1))
    yield from numbers
    yield _text(sheet.text(row, 5))
    yield _text(why)


def _figures(run: Run, sheet: str) -> Iterator[Figure]:
    unit = run.unit if run.unit == SHARE else "s" if run.row.endswith("time_expected") else "1"

    def number(value: float | None) -> Figure:
        figure = Figure(value, unit, "N/A", sheet, "" if value is not None else "the plan had no number for it")
        return as_said(figure, run.measured)

    yield _text(run.on)
    yield _text(run.name)
    yield _text(run.quantity)  # its numbers are said in SI, and a rate's name says what it is of
    measured, expected, low, high, bound = map(number, (run.measured, run.expected, run.low, run.high, run.bound))
    yield measured
    yield expected
    yield _text("" if low.is_missing or high.is_missing else f"{low.text} to {high.text}")
    yield bound
    ratio = run.ratio
    yield Figure(ratio, "1", "N/A" if ratio is None else shown(ratio, "1"), sheet, is_derived=True)
    yield _text(", ".join(filter(None, (run.chip, run.stack, run.flags and f"flagged {run.flags}", run.note))))


def _text(words: str) -> Figure:
    return Figure(words, "text", words)

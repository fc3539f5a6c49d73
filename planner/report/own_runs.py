"""The workbook's own runs in a report: those of the table of runs on Comparison, each beside what was expected then."""

from __future__ import annotations

from collections.abc import Iterator

from planner.compare.comparison_sheet import find
from planner.compare.runs_table import Run, read
from planner.errors import UserError
from planner.report.contents import Figure, FigureColumn, FigureTable
from planner.report.figures import CellFigures, as_said
from planner.spoken import shown

RUNS = "Your runs"
SHARE = "%"
COLUMNS = (
    FigureColumn("run_on", "Run", "text"), FigureColumn("run_name", "Scenario", "text"),
    FigureColumn("run_quantity", "What", "text"), FigureColumn("run_measured", "Measured"),
    FigureColumn("run_expected", "Expected then"), FigureColumn("run_range", "80 % of published runs", "text"),
    FigureColumn("run_bound", "Bound"), FigureColumn("run_ratio", "Measured over expected", "1"),
    FigureColumn("run_facts", "Chip, stack, note", "text"),
)  # fmt: skip


def tables(cells: CellFigures) -> tuple[FigureTable, ...]:
    """The table of runs; none where nothing is recorded."""
    try:
        sheet = find(cells.plan.book.package, cells.plan.book.parsed)
    except UserError:
        return ()
    rows = tuple(tuple(_figures(run, sheet.name)) for run in read(sheet))
    return (FigureTable(COLUMNS, rows, title=RUNS),) if rows else ()


def _figures(run: Run, sheet: str) -> Iterator[Figure]:
    unit = run.unit if run.unit == SHARE else "s" if run.row.endswith("time_expected") else "1"

    def number(value: float | None) -> Figure:
        figure = Figure(value, unit, "N/A", sheet, "" if value is not None else "the plan had no number for it")
        return as_said(figure, run.measured)

    yield _text(run.on)
    yield _text(run.name)
    yield _text(f"{run.quantity} ({run.unit})" if unit == "1" else run.quantity)
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

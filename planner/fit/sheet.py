"""The sheet Fit of a workbook: what a fit to its runs moved, and of each run whether it was used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.catalog.calibration_columns import BY_NAME
from planner.fit.stack import OwnCalibration, OwnRun
from planner.fit.written import Provenance
from planner.workbook.added_sheet import FIRST_ROW
from planner.workbook.page import Page
from planner.xlsx.cellvalue import Value

KIND = "Fit"
PURPOSE = "Your runs as a stack of your own: what they moved, and which of them were used (1) and which not (0)."
PARAMETERS = ("stack", "parameter", "what it is", "unit", "as shipped", "fitted", "runs", "error, each left out")
RUNS = ("run", "chip", "measured, in SI", "expected before", "expected now", "used", "why not")
WIDTHS = (42, 26, 44, 18, 18, 16, 10, 40)
SHORT = "[<0.001]0.000E+00;[<1000]0.####;#,##0"  # four digits are read; the cell holds them all


def write(page: Page, found: Sequence[OwnCalibration], skipped: Sequence[OwnRun], origin: Provenance) -> None:
    """Fill the page: the parameters that moved, then all runs."""
    at = FIRST_ROW
    page.put(at - 1, 1, f"Fitted on {origin.date}: {origin.versions}", "plan_note")
    at = _table(page, at, PARAMETERS, _parameters(found))
    _table(page, at + 2, RUNS, _runs([*(each for own in found for each in own.runs), *skipped]))
    page.widths(*WIDTHS)


def _table(page: Page, at: int, titles: Sequence[str], rows: Iterator[Sequence[Value]]) -> int:
    """A table with its titles at a row; returns the row below it."""
    for column, title in enumerate(titles, 1):
        page.put(at, column, title, "plan_header_text")
    last = at
    for last, row in enumerate(rows, at + 1):
        for column, value in enumerate(row, 1):
            form = SHORT if isinstance(value, float) and not value.is_integer() else "General"  # 1, and not 1.
            if value is not None:
                page.put(last, column, value, "plan_data_text" if isinstance(value, str) else "plan_data", form)
    return last + 1


def _parameters(found: Sequence[OwnCalibration]) -> Iterator[Sequence[Value]]:
    for own in found:
        for each in own.parameters:
            if each.rows:
                known = BY_NAME[each.name]
                yield own.id, each.name, known.label, known.unit, each.before, each.value, float(each.rows), each.error


def _runs(runs: Sequence[OwnRun]) -> Iterator[Sequence[Value]]:
    for each in runs:
        run = each.run
        before, after = (None if ratio is None else _expected(each, ratio) for ratio in (each.before, each.after))
        yield run.id, run.hardware, run.measured, before, after, float(each.is_used), each.why_not


def _expected(each: OwnRun, ratio: float) -> float:
    """What is expected of a run, by its expected time over the measured one: of a rate it is the inverse."""
    return each.run.measured / ratio if each.is_rate else each.run.measured * ratio

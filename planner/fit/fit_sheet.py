"""The sheet Fit of a workbook: the parameters that a fit moved, and for each run whether it was used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from planner.book.added_sheets import AddedSheet, added, is_as_written_but
from planner.book.sheet import Sheet
from planner.catalog.calibrations import BY_NAME
from planner.fit.fit_output import Provenance
from planner.fit.runs_to_fit import COUNTS_HALF
from planner.fit.stack import OwnCalibration, OwnRun
from planner.workbook.added_sheet import FIRST_ROW
from planner.workbook.page import Page
from planner.xlsx.address import Position
from planner.xlsx.cellvalue import Value, is_number

KIND = "Fit"
PURPOSE = "Your runs as a stack of your own: what they moved, and which of them were used (1) and which not (0)."
PARAMETERS = ("stack", "parameter", "what it is", "unit", "as shipped", "fitted", "runs", "error, each left out")
RUNS = ("run", "chip", "measured, in SI", "expected before", "expected now", "used", "why not")
NUMBERS = {*PARAMETERS[4:], *RUNS[2:6]}  # titles of numeric columns
WIDTHS = (42, 26, 56, 18, 18, 16, 10, 20)
SHORT = "[<0.001]0.000E+00;[<1000]0.####;#,##0"  # shows four digits; the cell holds all of them


BY_HAND = "you set used to 0"
Key = tuple[str, float]  # identifies a run: its name without its row, and the measured number


def key_of(name: str, measured: float) -> Key:
    """The key of a run in a workbook, independent of its row."""
    begin, separator, rest = name.partition(": ")
    return (rest if separator else begin), float(f"{measured:.12g}")


def set_aside(sheets: Iterable[Sheet]) -> set[Key]:
    """The runs that the user set to 0 in the column `used` of sheets Fit."""
    return {
        key_of(name, measured)
        for each in added(sheets)
        if each.kind == KIND
        for _, name, measured, used, why in _used(each.sheet)
        if used == 0 and (why == BY_HAND or _was_used(why))
    }


def may_replace(each: AddedSheet) -> bool:
    """Whether the user typed nothing on a sheet Fit except numbers in its column `used`."""
    return is_as_written_but(each, {at: float(_was_used(why)) for at, _, _, _, why in _used(each.sheet)})


def _used(sheet: Sheet) -> Iterator[tuple[Position, str, float, object, str]]:
    """For each run on a sheet Fit: the cell of `used`, the run's name, the measured number, `used`, and the reason."""
    heads = [at for at, value in sheet.values.items() if value == RUNS[0] and sheet.value(at[0], at[1] + 5) == "used"]
    for row, column in heads:
        at = row + 1
        while isinstance(name := sheet.value(at, column), str):
            measured, used, why = (sheet.value(at, column + RUNS.index(title)) for title in (RUNS[2], "used", RUNS[6]))
            if is_number(measured):
                yield (at, column + RUNS.index("used")), name, float(str(measured)), used, str(why or "")
            at += 1


def _was_used(why: str) -> bool:
    """Whether planner wrote 1 into `used`, judging by the reason that it wrote."""
    return not why or why.endswith(COUNTS_HALF)


def write(page: Page, found: Sequence[OwnCalibration], skipped: Sequence[OwnRun], origin: Provenance) -> None:
    """Fill the page: the moved parameters, then all runs."""
    at = FIRST_ROW
    page.put(at - 1, 1, f"Fitted on {origin.date}: {origin.versions}", "plan_text")  # overflows into the next cells
    at = _table(page, at, PARAMETERS, _parameters(found))
    _table(page, at + 2, RUNS, _runs([*(each for own in found for each in own.runs), *skipped]))
    page.widths(*WIDTHS)


def _table(page: Page, at: int, titles: Sequence[str], rows: Iterator[Sequence[Value]]) -> int:
    """Write a table with its titles in row `at`; returns the next free row."""
    for column, title in enumerate(titles, 1):
        page.put(at, column, title, "plan_header_right" if title in NUMBERS else "plan_header_text")
    last = at
    for last, row in enumerate(rows, at + 1):
        for column, value in enumerate(row, 1):
            form = SHORT if isinstance(value, float) and not value.is_integer() else "General"  # shows 1 rather than 1.
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
    """The expected number of a run, from the ratio of expected to measured time (inverse for a rate)."""
    return each.run.measured / ratio if each.is_rate else each.run.measured * ratio

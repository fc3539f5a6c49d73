"""The sheet Fit of a workbook: what a fit to its runs moved, and of each run whether it was used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from planner.book.added import AddedSheet, added, is_as_written_but
from planner.book.sheet import Sheet
from planner.catalog.calibrations import BY_NAME
from planner.fit.runs_to_fit import COUNTS_HALF
from planner.fit.stack import OwnCalibration, OwnRun
from planner.fit.written import Provenance
from planner.workbook.added_sheet import FIRST_ROW
from planner.workbook.page import Page
from planner.xlsx.address import Position
from planner.xlsx.cellvalue import Value, is_number

KIND = "Fit"
PURPOSE = "Your runs as a stack of your own: what they moved, and which of them were used (1) and which not (0)."
PARAMETERS = ("stack", "parameter", "what it is", "unit", "as shipped", "fitted", "runs", "error, each left out")
RUNS = ("run", "chip", "measured, in SI", "expected before", "expected now", "used", "why not")
NUMBERS = {*PARAMETERS[4:], *RUNS[2:6]}  # titles of columns of numbers
WIDTHS = (42, 26, 56, 18, 18, 16, 10, 20)
SHORT = "[<0.001]0.000E+00;[<1000]0.####;#,##0"  # four digits are read; the cell holds them all


BY_HAND = "you set used to 0"
Key = tuple[str, float]  # a run as it is known again: its name without the row that it stood in, and what was measured


def key_of(name: str, measured: float) -> Key:
    """A run of a workbook, whichever row it stands in."""
    begin, separator, rest = name.partition(": ")
    return (rest if separator else begin), float(f"{measured:.12g}")


def set_aside(sheets: Iterable[Sheet]) -> set[Key]:
    """The runs that a person set to 0 in the column `used` of the sheets Fit."""
    return {
        key_of(name, measured)
        for each in added(sheets)
        if each.kind == KIND
        for _, name, measured, used, why in _used(each.sheet)
        if used == 0 and (why == BY_HAND or _was_used(why))
    }


def may_replace(each: AddedSheet) -> bool:
    """Whether a person typed nothing on a sheet Fit but numbers in its column `used`."""
    return is_as_written_but(each, {at: float(_was_used(why)) for at, _, _, _, why in _used(each.sheet)})


def _used(sheet: Sheet) -> Iterator[tuple[Position, str, float, object, str]]:
    """Of each run of a sheet Fit the place of `used`, its name, what was measured, what `used` says and why not."""
    heads = [at for at, value in sheet.values.items() if value == RUNS[0] and sheet.value(at[0], at[1] + 5) == "used"]
    for row, column in heads:
        at = row + 1
        while isinstance(name := sheet.value(at, column), str):
            measured, used, why = (sheet.value(at, column + RUNS.index(title)) for title in (RUNS[2], "used", RUNS[6]))
            if is_number(measured):
                yield (at, column + RUNS.index("used")), name, float(str(measured)), used, str(why or "")
            at += 1


def _was_used(why: str) -> bool:
    """Whether planner wrote 1 into `used`, by what it wrote beside it."""
    return not why or why.endswith(COUNTS_HALF)


def write(page: Page, found: Sequence[OwnCalibration], skipped: Sequence[OwnRun], origin: Provenance) -> None:
    """Fill the page: the parameters that moved, then all runs."""
    at = FIRST_ROW
    page.put(at - 1, 1, f"Fitted on {origin.date}: {origin.versions}", "plan_text")  # which goes on over the next cells
    at = _table(page, at, PARAMETERS, _parameters(found))
    _table(page, at + 2, RUNS, _runs([*(each for own in found for each in own.runs), *skipped]))
    page.widths(*WIDTHS)


def _table(page: Page, at: int, titles: Sequence[str], rows: Iterator[Sequence[Value]]) -> int:
    """A table with its titles at a row; returns the row below it."""
    for column, title in enumerate(titles, 1):
        page.put(at, column, title, "plan_header_right" if title in NUMBERS else "plan_header_text")
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

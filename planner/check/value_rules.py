"""Rules about values: cached ones are there, without unexplained errors, and equal to an independent recalculation (22,
23); no measured one is so far from its expectation that it must be in another unit (37).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from planner.book.workbook import Book
from planner.check.findings import Fault, rule
from planner.check.precedents import Readers, origins
from planner.compare import likely_unit, runs_table
from planner.compare.comparison_sheet import CaseRow, ComparisonSheet, found_in
from planner.compare.row_of_measurement import EXPLAINED
from planner.recalc.engine import EngineError
from planner.recalc.evidence import CLOCK_OR_DICE
from planner.terminal_table import counted
from planner.xlsx.address import Spot, address
from planner.xlsx.cellvalue import NA, CellError, exact_text, is_number

RECALCULATE = "run planner recalc on the file, or save it in a spreadsheet program"
OPEN = "open the file in a spreadsheet program and save it: planner recalc can't compute it"


@rule(
    22,
    "Every formula cell has a cached value. No error but #N/A, and each #N/A traces to a blank database cell or "
    "a formula's NA(), or stands in chart data.",
)
def cached_values(book: Book) -> Iterator[Fault]:
    """Formulas without a value, and the first cell of every chain of errors that no missing number explains."""
    for sheet in book.sheets.values():
        blank = [at for at in sheet.patterns if at not in sheet.values]
        known, unknown = (
            [at for at in blank if (Spot(sheet.name, *at) in book.fresh) is is_known] for is_known in (True, False)
        )
        for found, remedy in ((known, RECALCULATE), (unknown, OPEN)):
            if found:
                what, cells = "the formula has no cached value", tuple(address(*at) for at in found)
                after = book.value(sheet.name, *found[0])
                yield Fault(sheet.name, cells[0], what, remedy, kind="stale_value", after=after, cells=cells)
    errors = _errors(book)
    unexplained = [cell for cell in origins(book, errors) if not _is_explained(book, cell, errors[cell])]
    readers = Readers(book, errors)
    for cell in unexplained:
        formula, error = book.formula(cell), errors[cell]
        what = f"{error} comes from here: ={formula.at(cell.row, cell.column)}" if formula else f"{error} is typed"
        if others := len(readers.reached(cell)) - 1:
            what += f", and reaches {counted(others, 'more cell')}"
        remedy = "is what it looks up there?" if error == NA else "correct the formula, or what it reads"
        alike = f"{error} {'comes from here' if formula else 'is typed'}"
        yield Fault(cell.sheet, cell.ref, what, remedy, kind="error_value", after=error, alike=alike)


def _errors(book: Book) -> dict[Spot, CellError]:
    """The cells with an error, by sheet order: recalculated, or else cached."""
    fresh = book.fresh
    errors = {spot: value for spot, value in fresh.items() if isinstance(value, CellError)}
    for name, sheet in book.sheets.items():
        saved = {Spot(name, *at): value for at, value in sheet.values.items() if isinstance(value, CellError)}
        errors |= {spot: value for spot, value in saved.items() if spot not in fresh}
    order = {name: sheet.position for name, sheet in book.sheets.items()}
    return dict(sorted(errors.items(), key=lambda each: (order[each[0].sheet], *each[0][1:])))


def _is_explained(book: Book, cell: Spot, error: CellError) -> bool:
    """Whether an error stems from a missing number, or from a broken reference, which is another rule's."""
    formula = book.formula(cell)
    if formula is not None and formula.is_broken:
        return True
    if any(sheet not in book.sheets for sheet, _ in book.areas(cell)):
        return True
    return error == NA and _is_missing(book, cell)


def _is_missing(book: Book, cell: Spot) -> bool:
    """Whether #N/A stands for a missing number here: typed, pasted, from NA(), or from a lookup by a blank cell."""
    formula = book.formula(cell)
    if formula is None or "NA" in formula.functions or formula.is_pasted:
        return True
    return any(
        area.is_cell and book.sheets[sheet].value(*area[:2]) in (None, "")
        for sheet, area in book.areas(cell)
        if sheet in book.sheets
    )


@rule(
    23,
    "Cached values equal an independent recalculation (1e-12 relative; any error equals any other; strip the "
    "cached values first, since LibreOffice trusts them).",
)
def recalculated(book: Book) -> Iterator[Fault]:
    """Cells whose cached value isn't the recalculated one, and how many could not be computed."""
    try:
        verdict = book.computed
    except EngineError as error:
        yield Fault("", "", f"nothing was recalculated: {error}", "recalculate in a spreadsheet program", "note")
        return
    fresh = book.fresh
    saved = [cell for cell, value in fresh.items() if not book.is_current(cell, value) and _has_value(book, cell)]
    clocks = [cell for cell in saved if _has_clock(book, cell)]
    moving = Readers(book, saved).reached(*clocks)  # dependents of clocks and random numbers
    stale = [cell for cell in saved if cell not in moving]
    first = origins(book, stale)
    rest = Counter(name for name, *_ in stale) - Counter(name for name, *_ in first)
    for cell in first:
        old, new = book.sheets[cell.sheet].value(cell.row, cell.column), fresh[cell]
        what = f"the saved value is {exact_text(old)}, the formula gives {exact_text(new)}"
        alike = "the saved value is not what the formula gives"
        yield Fault(cell.sheet, cell.ref, what, RECALCULATE, kind="stale_value", before=old, after=new, alike=alike)
    if rest:
        also = ", ".join(f"{count:,} on {name}" for name, count in rest.items())
        yield Fault("", "", f"further stale cells depend on these: {also}", "", "note")
    if left := verdict.doubts | verdict.kept:
        (name, ref), reason = next(iter(left.items()))
        were = "was" if len(left) == 1 else "were"
        what = f"{counted(len(left), 'cell')} {were} not recalculated, such as {name}!{ref}: {reason}"
        yield Fault("", "", what, "recalculate in a spreadsheet program", "note")


def _has_value(book: Book, cell: Spot) -> bool:
    """Whether a cell has a cached value; one without is rule 22's."""
    return book.sheets[cell.sheet].value(cell.row, cell.column) is not None


def _has_clock(book: Book, cell: Spot) -> bool:
    formula = book.formula(cell)
    return formula is not None and not formula.functions.isdisjoint(CLOCK_OR_DICE)


TIME, PREDICTED = "measured_time", "predicted_time"


@rule(37, "A measured number is less than 100 times off what is expected.")
def measured_numbers(book: Book) -> Iterator[Fault]:
    """Measured times of cases and numbers of recorded runs that are likely in another unit, or none; just notes."""
    sheet = found_in(book.package, book.parsed)
    if sheet is None:
        return
    for row in sheet.rows:
        yield from _case(book, sheet, row)
    for number, run in runs_table.numbered(sheet):
        if run.expected and (what := likely_unit.remark(run.measured, run.expected, run.said_in)):
            yield _doubted(sheet, runs_table.measured_cell(sheet, number), f"{run.quantity}: {what}")
    for number in runs_table.unreadable_rows(sheet):
        what = f"the run in row {number} is in no report and no fit: {runs_table.UNREADABLE}"
        yield Fault(sheet.name, runs_table.measured_cell(sheet, number), what, "type them again", "note", "note")


def _case(book: Book, sheet: ComparisonSheet, row: CaseRow) -> Iterator[Fault]:
    """The remark on a case's measured time, if it is far from the predicted one."""
    if any(flag in row.text("flags") for flag in EXPLAINED) or not {TIME, PREDICTED} <= row.columns.keys():
        return
    measured, predicted = (book.value(sheet.name, row.number, row.columns[name]) for name in (TIME, PREDICTED))
    if not (is_number(measured) and is_number(predicted) and predicted > 0):
        return
    if what := likely_unit.remark(float(measured), float(predicted), "s"):
        yield _doubted(sheet, address(row.number, row.columns[TIME]), f"{row.text('case_label')}: {what}")


def _doubted(sheet: ComparisonSheet, cell: str, what: str) -> Fault:
    return Fault(sheet.name, cell, what, "look at its unit", "note", "note", alike=likely_unit.far_off())

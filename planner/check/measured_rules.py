"""The rule about measured numbers: none is so far from its expectation that it must be in another unit (37)."""

from __future__ import annotations

from collections.abc import Iterator

from planner.book.workbook import Book
from planner.check.findings import Fault, rule
from planner.compare import likely_unit, runs_table
from planner.compare.comparison_sheet import CaseRow, ComparisonSheet, found_in
from planner.compare.row_of_measurement import EXPLAINED
from planner.xlsx.address import address
from planner.xlsx.cellvalue import is_number

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

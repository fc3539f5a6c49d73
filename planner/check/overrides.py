"""Rule of what an analyst puts in a formula's place (14): a number typed over it, or its override cell filled."""

from __future__ import annotations

from collections.abc import Iterator

from planner.book.row_formulas import calculated_columns, usual_formula, usual_of
from planner.book.sheet import Sheet
from planner.book.workbook import Book
from planner.check.findings import Fault, rule, shown
from planner.xlsx.address import Position, address
from planner.xlsx.pattern import Pattern

OVERRIDES = "Overrides"
"""How the headings of Inputs begin below which the cells take the place of looked-up or calculated numbers."""


@rule(14, "Inputs has no formulas; calculation sheets have no typed numbers (an override is typed on Inputs, or is "
          "reported as one).")  # fmt: skip
def typed_numbers(book: Book) -> Iterator[Fault]:
    """A formula among the inputs, a value typed over a formula, and an override in the cell that is there for it."""
    inputs = book.inputs
    for line in inputs.lines:
        for at in ((line.row, column) for column in (inputs.head.fourth, *inputs.columns)):
            if at in inputs.sheet.patterns:
                remedy = "type the number; calculate on a sheet of your own"
                yield Fault(inputs.sheet.name, address(*at), f"{line.name} is a formula, not a typed value", remedy)
    for table in book.lines:
        for line in table.lines:
            row = [(line.row, column) for column in table.columns]
            usual = usual_of(book, table, line)
            if usual or line.name:  # a row of an analyst's own on Dashboard has no formula to type over
                yield from _typed_over(book, table.sheet, row, usual)
    for cases in book.cases:
        for column in calculated_columns(cases):
            yield from _typed_over(book, cases.sheet, column, usual_formula(cases.sheet, column))
    yield from _filled(book)


def _typed_over(book: Book, sheet: Sheet, positions: list[Position], usual: Pattern | None) -> Iterator[Fault]:
    for at in positions:
        found = sheet.patterns.get(at)
        if found.is_pasted if found else sheet.is_typed(*at):
            formula = f"={book.numbers.shown(sheet.name, at, usual)}" if usual else None
            what = f"{shown(sheet.value(*at))} is typed over {formula or 'a formula'}"
            remedy = "type it on Inputs, in the row's override cell where it has one; copy the formula back"
            yield Fault(sheet.name, address(*at), what, remedy, "override", "override",
                        before=formula, after=sheet.value(*at))  # fmt: skip


def _filled(book: Book) -> Iterator[Fault]:
    """The override cells of Inputs that hold something: what they are there for, and so only worth knowing."""
    inputs = book.inputs
    for line in (line for line in inputs.lines if line.section.startswith(OVERRIDES)):
        for at in ((line.row, column) for column in inputs.columns):
            if inputs.sheet.value(*at) not in (None, ""):
                value = inputs.sheet.value(*at)
                _, scenario = book.owner(inputs.sheet.name, *at)
                what = f"{line.name} of {scenario} is overridden by {shown(value)}"
                remedy = "empty the cell to take the database's or the calculated number again"
                yield Fault(inputs.sheet.name, address(*at), what, remedy, "note", "override", after=value)

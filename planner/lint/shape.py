"""Rules of a table's shape: one formula for each row or column, and nothing typed in its place (12, 14)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from planner.lint.book import Book, Sheet
from planner.lint.findings import Fault, rule
from planner.lint.pattern import Pattern, Position, Reference
from planner.lint.tables import FOURTH, CaseTable
from planner.xlsx.address import address


def usual_formula(sheet: Sheet, positions: Iterable[Position]) -> Pattern | None:
    """The formula that most of these cells have, the first of equals; None where none has one."""
    found = Counter(sheet.patterns[at] for at in positions if at in sheet.patterns)
    return found.most_common(1)[0][0] if found else None


@rule(
    12,
    "Down a sheet, one formula per row: each scenario column is the first one, translated. In a table, one per column.",
)
def one_formula(book: Book) -> Iterator[Fault]:
    """A cell whose formula is another than its row's, or its column's in a table of cases."""
    for table in book.lines:
        for line in table.lines:
            row = [(line.row, column) for column in table.columns]
            usual = usual_formula(table.sheet, row)
            if usual or table.kind != "dashboard":  # a choice on Dashboard has no formulas
                yield from _deviations(table.sheet, row, usual, "row")
    for cases in book.cases:
        for column in _calculated_columns(cases):
            usual = usual_formula(cases.sheet, column)
            if usual and _reads_its_row(usual):
                yield from _deviations(cases.sheet, column, usual, "column")


def _deviations(sheet: Sheet, positions: list[Position], usual: Pattern | None, along: str) -> Iterator[Fault]:
    for at in positions:
        own = sheet.patterns.get(at)
        wanted = f"={usual.at(*at)}" if usual else "a formula"
        if own is None and not sheet.is_typed(*at):
            yield Fault(
                sheet.name,
                address(*at),
                f"the cell is blank where its {along} has {wanted}",
                f"copy the {along}'s formula",
            )
        elif own is not None and own is not usual:
            what = f"the formula ={own.at(*at)} is not its {along}'s, which is {wanted}"
            remedy = f"copy the {along}'s formula, or change the whole {along}"
            yield Fault(sheet.name, address(*at), what, remedy)


def _calculated_columns(cases: CaseTable) -> Iterator[list[Position]]:
    """The cells of each column that formulas fill, or did before some were overtyped, for each template's cases."""
    for group in cases.groups:
        for column in cases.columns:
            cells = [(row, column) for row in group]
            live = sum(at in cases.sheet.patterns for at in cells)
            if live and live >= sum(cases.sheet.is_typed(*at) for at in cells):
                yield cells


def _reads_its_row(formula: Pattern) -> bool:
    """Whether a formula calculates with its own case, and not by an input of it that is bound case by case."""

    def is_own(reference: Reference) -> bool:
        return not (reference.sheet or reference.first.row_fixed) and reference.first.row == 0 == reference.last.row

    def is_fixed(reference: Reference) -> bool:
        return reference.first.row_fixed and reference.last.row_fixed

    references = formula.references
    return any(map(is_own, references)) and all(is_own(reference) or is_fixed(reference) for reference in references)


@rule(14, "Inputs has no formulas; calculation sheets have no typed numbers (an override is typed on Inputs, or is "
          "reported as one).")  # fmt: skip
def typed_numbers(book: Book) -> Iterator[Fault]:
    """A formula among the inputs, and a value typed over a formula."""
    inputs = book.inputs
    for line in inputs.lines:
        for at in ((line.row, column) for column in (FOURTH, *inputs.columns)):
            if at in inputs.sheet.patterns:
                remedy = "type the number; calculate on a sheet of your own"
                yield Fault(inputs.sheet.name, address(*at), f"{line.name} is a formula, not a typed value", remedy)
    for table in book.lines:
        for line in table.lines:
            yield from _overrides(table.sheet, [(line.row, column) for column in table.columns])
    for cases in book.cases:
        for column in _calculated_columns(cases):
            yield from _overrides(cases.sheet, column)


def _overrides(sheet: Sheet, positions: list[Position]) -> Iterator[Fault]:
    usual = usual_formula(sheet, positions)
    for at in positions:
        if at not in sheet.patterns and sheet.is_typed(*at):
            formula = f" over ={usual.at(*at)}" if usual else " where a formula stood"
            remedy = "type it on Inputs, in the row's override cell where it has one; copy the formula back"
            yield Fault(sheet.name, address(*at), f"{sheet.value(*at)} is typed{formula}", remedy, "override")

"""Rules of a table's shape: its header, one formula for each row or column, nothing typed in its place (6, 12, 14)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from planner.lint.book import Book, Sheet
from planner.lint.findings import Fault, rule, shown
from planner.lint.pattern import Pattern, Position, Reference
from planner.lint.tables import FIRST_ROW, FOURTH, HEADER_ROW, ID_ROW, CaseTable
from planner.xlsx.address import Area, address


def usual_formula(sheet: Sheet, positions: Iterable[Position]) -> Pattern | None:
    """The formula that most of these cells have, the first of equals; None where none has one."""
    found = Counter(sheet.patterns[at] for at in positions if at in sheet.patterns)
    return found.most_common(1)[0][0] if found else None


@rule(6, "Header rows are the same on every calculation sheet; a scenario keeps its column letter everywhere.")
def headers(book: Book) -> Iterator[Fault]:
    """A sheet whose header is gone, a scenario that a sheet lacks, and a header that names another column's."""
    for name in sorted(book.read - {sheet.name for sheet in book.our_sheets}):
        if name in book.sheets:
            what, remedy = "the titles of the header are not a calculation sheet's", "copy row 3 from another sheet"
            yield Fault(name, address(HEADER_ROW, 1), what, remedy)
    for table in (*book.calculations, book.checks, book.dashboard):
        for column in sorted(set(book.inputs.columns) ^ set(table.columns)):
            here, there = (book.inputs, table) if column in book.inputs.columns else (table, book.inputs)
            what = f"a scenario stands in this column, and none on {there.sheet.name}"
            yield Fault(here.sheet.name, address(ID_ROW, column), what, "copy a scenario's column on every sheet")
        for at in ((line.row, column) for line in table.lines if line.row < FIRST_ROW for column in table.columns):
            formula = table.sheet.patterns.get(at)
            if formula and {reference.area(*at) for reference in formula.references} != {Area(*at, *at)}:
                what = f"the header reads another cell of Inputs than this one: ={formula.at(*at)}"
                yield Fault(table.sheet.name, address(*at), what, "copy the header of another sheet")


@rule(12, "Down a sheet, one formula per row: each scenario column is the first one, translated. In a table, one per "
          "column.")  # fmt: skip
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
        if (own and own is usual) or (own is None and sheet.is_typed(*at)):
            continue
        wanted = f"={usual.at(*at)}" if usual else "a formula"
        found = f"the formula ={own.at(*at)} is not" if own else "the cell is blank, and not"
        remedy = f"copy the {along}'s formula, or change the whole {along}"
        yield Fault(sheet.name, address(*at), f"{found} its {along}'s, which is {wanted}", remedy)


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
            yield Fault(sheet.name, address(*at), f"{shown(sheet.value(*at))} is typed{formula}", remedy, "override")

"""Rules of a table's shape: its header, one formula for each row or column, as built or another (6, 12)."""

from __future__ import annotations

from collections.abc import Iterator

from planner.book.line_tables import HEADER, Head, LineTable
from planner.book.row_formulas import calculated_columns, usual_formula, usual_of
from planner.book.sheet import Sheet
from planner.book.workbook import Book
from planner.check.findings import Fault, rule
from planner.xlsx.address import Area, Position, address
from planner.xlsx.pattern import Pattern, RelativeReference

UNNAMED = "scenario_name"
"""The row of the header that reads a scenario's model and chip too: they are its name where none is given."""


@rule(6, "Header rows are the same on every calculation sheet; a scenario keeps its column letter everywhere.")
def headers(book: Book) -> Iterator[Fault]:
    """A sheet whose header is gone, a scenario that a sheet lacks, and a header that names another column's."""
    for name in sorted(book.read - {sheet.name for sheet in book.our_sheets}):
        if name in book.sheets:
            what, remedy = "the titles of the header are not a calculation sheet's", "copy row 3 from another sheet"
            yield Fault(name, address(Head().row, Head().label), what, remedy)
    for table in book.by_scenario[1:]:
        yield from _scenarios_lacking(book, table)
        yield from _misread(book, table)
    if moved := [name for name in book.numbers.sheets if name in {table.sheet.name for table in book.by_scenario}]:
        what = f"columns were inserted or moved on {', '.join(moved)}: a scenario's column is not the same everywhere"
        yield Fault(moved[0], "", what, "its formulas follow; move them back if you copy columns", "note")


def _scenarios_lacking(book: Book, table: LineTable) -> Iterator[Fault]:
    """The columns of Inputs without one in another table, and the reverse."""
    inputs, known = book.inputs, {}
    for each in (inputs, table):
        known[id(each)] = {book.numbers.standard(each.sheet.name, column): column for column in each.columns}
    here, there = known[id(inputs)], known[id(table)]
    for number in sorted(here.keys() ^ there.keys()):
        one, other = (inputs, table) if number in here else (table, inputs)
        column = here[number] if number in here else there[number]
        what = f"a scenario stands in this column, and none on {other.sheet.name}"
        yield Fault(one.sheet.name, address(one.id_row, column), what, "copy a scenario's column on every sheet")


def _misread(book: Book, table: LineTable) -> Iterator[Fault]:
    """The cells of a header that read another cell of Inputs than the scenario's own."""
    for line in (line for line in table.lines if line.name in HEADER):
        for at in ((line.row, column) for column in table.columns):
            formula, wanted = table.sheet.numbered.get(at), book.inputs.by_name.get(line.name)
            if formula is None or wanted is None:
                continue
            number = book.numbers.standard(table.sheet.name, at[1])
            areas = {name: Area(found.row, number, found.row, number)
                     for name, found in book.inputs.by_name.items() if name in HEADER}  # fmt: skip
            read, own = {reference.area(at[0], number) for reference in formula.references}, areas[line.name]
            if own not in read or not read <= (set(areas.values()) if line.name == UNNAMED else {own}):
                shown_formula = table.sheet.patterns[at].at(*at)
                what = f"the header reads another cell of Inputs than this one: ={shown_formula}"
                yield Fault(table.sheet.name, address(*at), what, "copy the header of another sheet")


@rule(12, "Down a sheet, one formula per row: each scenario column is the first one, translated. In a table, one per "
          "column.")  # fmt: skip
def one_formula(book: Book) -> Iterator[Fault]:
    """A cell whose formula is another than its row's, or its column's in a table of cases."""
    for table in book.lines:
        for line in table.lines:
            row = [(line.row, column) for column in table.columns]
            usual = usual_of(book, table, line)
            if usual or (line.name and table.kind != "dashboard"):  # a choice on Dashboard has no formulas
                yield from _deviations(book, table.sheet, row, usual, "row")
    for cases in book.cases:
        for column in calculated_columns(cases):
            usual = usual_formula(cases.sheet, column)
            if usual and _reads_its_row(usual):
                yield from _deviations(book, cases.sheet, column, usual, "column")


def _deviations(
    book: Book, sheet: Sheet, positions: list[Position], usual: Pattern | None, along: str
) -> Iterator[Fault]:
    for at in positions:
        own = sheet.numbered.get(at)
        if (own and (own is usual or own.is_broken or own.is_pasted)) or (own is None and sheet.is_typed(*at)):
            continue  # rule 15 reports a broken one, rule 14 a typed value
        wanted = f"={book.numbers.shown(sheet.name, at, usual)}" if usual else "a formula"
        remedy = f"copy the {along}'s formula, or change the whole {along}"
        if own is None:
            yield Fault(sheet.name, address(*at), f"the cell is blank, and not its {along}'s {wanted}", remedy)
        else:
            what = f"the formula ={sheet.patterns[at].at(*at)} is not its {along}'s, which is {wanted}"
            yield Fault(sheet.name, address(*at), what, remedy, "override", "override",
                        before=wanted if usual else None, after=f"={sheet.patterns[at].at(*at)}")  # fmt: skip


def _reads_its_row(formula: Pattern) -> bool:
    """Whether a formula calculates with its own case, and not by an input of it that is bound case by case."""

    def is_own(reference: RelativeReference) -> bool:
        return not (reference.sheet or reference.first.row_fixed) and reference.first.row == 0 == reference.last.row

    def is_fixed(reference: RelativeReference) -> bool:
        return reference.first.row_fixed and reference.last.row_fixed

    references = formula.references
    return any(map(is_own, references)) and all(is_own(reference) or is_fixed(reference) for reference in references)

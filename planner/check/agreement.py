"""Rule 21: a row's formula in names and its live formula say the same."""

from __future__ import annotations

from collections.abc import Iterator

from planner.book.formulas_in_names import CALLED_UP, WRITERS, UnreadableError, Writer
from planner.book.line_tables import LineItem, LineTable
from planner.book.row_formulas import usual_formula, usual_of
from planner.book.workbook import Book
from planner.check.findings import Fault, rule
from planner.xlsx.address import address
from planner.xlsx.pattern import pattern

MISSING = "missing."
"""How Checks names a row that asks whether a number is missing."""
GUARD = "topology"
"""What decides whether some numbers can be missing: only a switch has nodes, only a torus axes."""


@rule(21, "The formula-in-names text equals the live formula after substitution; a lookup reads "
          "`hardware[hardware_id].hbm_bytes`.")  # fmt: skip
def names_agree(book: Book) -> Iterator[Fault]:
    """A row whose names say one thing and whose cells another, and a link to another row than it is named for."""
    for table in (*book.named, *book.constraints):
        for line in table.lines:
            if line.names and (table.kind != "constraints" or CALLED_UP.fullmatch(line.names)):
                yield from _calculated(book, table, line)
    for table in (book.dashboard, book.checks):
        for line in table.lines:
            yield from _linked(book, table, line)


def _calculated(book: Book, table: LineTable, line: LineItem) -> Iterator[Fault]:
    formula = usual_of(book, table, line)
    if formula is None:
        return
    column = next(column for column in table.columns if table.sheet.numbered.get((line.row, column)) is formula)
    number = book.numbers.standard(table.sheet.name, column)
    make = WRITERS.get(table.kind, Writer)
    cell, remedy = address(line.row, column), "correct the one or the other"
    try:
        expected = make(book, table, line, number, formula).write(line.names)
    except UnreadableError as error:
        what = f"{line.name} in names, {line.names}, can't be told in cells: {error}"
        yield Fault(table.sheet.name, cell, what, remedy)
        return
    wanted = pattern(expected, line.row, number)
    if wanted is not formula:
        own = table.sheet.patterns[line.row, column].at(line.row, column)
        meant = book.numbers.shown(table.sheet.name, (line.row, column), wanted)
        what = f"{line.name} is ={own}, but {line.names} in names, which is ={meant}"
        yield Fault(table.sheet.name, cell, what, remedy)


def _linked(book: Book, table: LineTable, line: LineItem) -> Iterator[Fault]:
    """A line of Dashboard or Checks that reads another row than the one of its name, or says another formula of it."""
    formula = usual_formula(table.sheet, ((line.row, column) for column in table.columns))
    if formula is None or not line.name:
        return
    name = line.name.rpartition(".")[2]
    for reference in formula.references:
        source = next((found for found in book.calculations if found.sheet.name == reference.sheet), None)
        if source is None:
            continue
        row, named = reference.area(line.row, table.columns[0]).top, source.by_name.get(name)
        guard = source.by_name.get(GUARD)
        if line.name.startswith(MISSING) and guard is not None and row == guard.row:
            continue  # it asks whether this topology has such a number at all
        if named is None or row != named.row:
            what = f"{line.name} reads row {row} of {source.sheet.name}, which is not the row {name}"
            yield Fault(table.sheet.name, address(line.row, table.columns[0]), what, "point it at the row of that name")
        elif table.kind == "checks" and not line.name.startswith(MISSING) and line.names != named.names:
            what = f"{line.name} is {named.names} on {source.sheet.name}, not {line.names}"
            yield Fault(table.sheet.name, address(line.row, table.head.fourth), what, "copy the text from there")

"""Rules about a row's description: its label, unit, source and id (9, 10, 11, 38)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planner.book.tables import MACHINE_NAME, CaseTable
from planner.book.workbook import Book
from planner.check.findings import Fault, rule
from planner.formulas.units import parse_unit
from planner.scaled_units import is_unit
from planner.workbook.memory import kept_rows
from planner.xlsx.address import address

MEASURED = ("run_id", "device", "measured_on", "n_samples")
"""The columns with the origin of a measured time."""
_UNIT_OF_TITLE = re.compile(r"\(([^()]*)\)$")


@rule(9, "Every row has a label, unique in its sheet.")
def labels(book: Book) -> Iterator[Fault]:
    """Rows without a label, or with another row's."""
    kept = kept_rows(book)
    for table in (book.inputs, *book.lines):
        seen: dict[str, int] = {}
        for line in (line for line in table.lines if (table.sheet.name, line.row) not in kept):
            cell = address(line.row, table.head.label)
            if not line.label:
                yield Fault(table.sheet.name, cell, f"{line.name} has no label", "write what a reader calls it")
            elif line.label in seen:
                what = f"the label {line.label!r} stands in row {seen[line.label]} already"
                yield Fault(table.sheet.name, cell, what, "say what tells the two rows apart")
            seen.setdefault(line.label, line.row)


@rule(
    10,
    "Every row has a unit from the closed list: 1, text, bit, byte, FLOP, s, h, USD, chip, W and their products "
    "and quotients.",
)
def units(book: Book) -> Iterator[Fault]:
    """Missing or unknown units of rows and columns."""
    as_said = {book.dashboard.sheet.name, *(cases.sheet.name for cases in book.cases)}
    for sheet, cell, name, unit in _units(book):
        if not unit:
            yield Fault(sheet, cell, f"{name} has no unit", "write its unit; 1 where it has none, text for a text")
            continue
        try:
            if not (sheet in as_said and is_unit(unit)):
                parse_unit(unit)
        except ValueError as error:
            yield Fault(sheet, cell, f"{name}: {error}", "write a unit from the closed list")


def _units(book: Book) -> Iterator[tuple[str, str, str, str]]:
    """Yields sheet, cell, machine name and unit of every row and column."""
    for table in (book.inputs, *book.lines):
        for line in table.lines:
            yield table.sheet.name, address(line.row, table.head.unit), line.name or line.label, line.unit
    for database in book.databases.values():
        for name, column in database.columns.items():
            if MACHINE_NAME.fullmatch(name) and column > database.id_column:
                at = database.header_row - 1, column
                yield database.sheet.name, address(*at), name, database.sheet.text(*at)
    for cases in book.cases:
        for column, name in cases.columns.items():
            title = _UNIT_OF_TITLE.search(cases.sheet.text(cases.header_row - 1, column))
            if title and MACHINE_NAME.fullmatch(name):
                yield cases.sheet.name, address(cases.header_row - 1, column), name, title[1]


@rule(
    11,
    "Every typed number has a source (a database row: one per group of columns); a measured row also has run id, "
    "device, date, number of samples.",
)
def sources(book: Book) -> Iterator[Fault]:
    """Constants, database rows and measured rows without a source."""
    for line in book.inputs.section("Constants").values():
        if not line.note:
            cell = address(line.row, book.inputs.head.texts[-1])
            yield Fault(book.inputs.sheet.name, cell, f"{line.name} has no source", "name one")
    for database in book.databases.values():
        named = [column for name, column in database.columns.items() if name.startswith("source")]
        at = database.id_column
        for row in database.rows:
            if database.sheet.text(row, at) and not any(database.sheet.text(row, column) for column in named):
                what = f"{database.sheet.text(row, at)} has no source"
                cell = address(row, min(named)) if named else address(row, at)
                remedy, alike = "name where its numbers are from", "the row has no source"
                yield Fault(database.sheet.name, cell, what, remedy, alike=alike)
    for table in book.cases:
        yield from _measured(table)


@rule(38, "Every id stands in one row of its database.")
def ids(book: Book) -> Iterator[Fault]:
    """Rows of a database with the id of a row above."""
    for database in book.databases.values():
        for row, first, identifier in database.repeated():
            cell = address(row, database.id_column)
            what = f"the id {identifier!r} stands in row {first} already: row {first} counts, row {row} never does"
            remedy = f"give row {row} an id of its own, or delete one of the two rows"
            alike = "the id stands in a row above already, which counts"
            yield Fault(database.sheet.name, cell, what, remedy, alike=alike)


def _measured(table: CaseTable) -> Iterator[Fault]:
    column = {name: at for at, name in table.columns.items()}
    if "measured_time" not in column:
        return
    for row in table.rows:
        if table.sheet.value(row, column["measured_time"]) in (None, ""):
            continue
        missing = [name for name in MEASURED if name in column and table.sheet.value(row, column[name]) in (None, "")]
        if missing:
            cell = address(row, column[missing[0]])
            what = f"a measured time without {', '.join(missing)}"
            yield Fault(table.sheet.name, cell, what, "measure it again, or fill it in")

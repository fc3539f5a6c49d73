"""Links of planner's within a workbook that don't lead where they should any more.

A spreadsheet program leads formulas along where rows are put in or a sheet is renamed, but not links.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planner.book.sheet import Sheet
from planner.book.tables import Database, LineTable
from planner.book.workbook import Book
from planner.xlsx.address import Position, Spot, coordinates
from planner.xlsx.references import Reference, reference, references
from planner.xlsx.xmltree import link_id


class Astray(NamedTuple):
    """A cell with a link, and the place to which that leads."""

    spot: Spot
    leads: str


def astray(book: Book) -> Iterator[Astray]:
    """The links of a sheet's title, of Cover's names of sheets, and of lines that say what they read.

    Links in other cells are a person's, who alone knows where they should lead.
    """
    tables = {table.sheet.name: table for table in (book.dashboard, *book.calculations)}
    for sheet in book.designed.values():
        name = sheet.name
        for (row, column), text, to in _links(sheet):
            if to.sheet not in book.sheets:
                is_ours = (row, column) == sheet.title_at or sheet.text(row, column) == to.sheet
                is_lost = is_ours or (name in tables and _is_of_line(tables[name], row, column))
            else:
                is_lost = name in tables and _is_lost(book, tables[name], row, column, to)
            if is_lost:
                yield Astray(Spot(name, row, column), text)


def _links(sheet: Sheet) -> Iterator[tuple[Position, str, Reference]]:
    """The links to cells of the workbook: where they stand, and where to, as text and read."""
    for link in sheet.elements("hyperlink"):
        text = link.get("location", "")
        if not link_id(link) and (to := reference(text)) is not None and to.prefix:
            yield coordinates(link.get("ref", "A1").partition(":")[0]), text, to


def _is_of_line(table: LineTable, row: int, column: int) -> bool:
    """Whether a cell is the name of a line, or what it says of where it reads."""
    is_ours = column in (table.head.name, table.head.fourth)
    return is_ours and any(line.row == row for line in table.lines)


def _is_lost(book: Book, table: LineTable, row: int, column: int, to: Reference) -> bool:
    """Whether the link of a line leads to another row, or another column of a database, than the line names."""
    line = next((line for line in table.lines if line.row == row), None)
    if line is None:
        return False
    if column == table.head.fourth:
        formula = table.sheet.patterns.get((row, column))  # it counts the row that it should lead to
        counted = references(formula.at(row, column)) if formula else []
        return [each.sheet for each in counted] == [to.sheet] and counted[0].first.row != to.first.row
    if column != table.head.name:
        return False
    database = next((each for each in book.databases.values() if each.sheet.name == to.sheet), None)
    if database is not None:
        return _is_beside(database, line.names.rpartition(".")[2], to)
    read = [
        other.row
        for each in (book.inputs, *book.calculations) if each.sheet.name == to.sheet
        for other in each.lines if other.name == line.name
    ]  # fmt: skip
    return bool(read) and to.first.row not in read


def _is_beside(database: Database, title: str, to: Reference) -> bool:
    """Whether a link leads to another cell of a database's sheet than the title of a column."""
    column = database.columns.get(title)
    return column is not None and (to.first.row, to.first.column) != (database.header_row, column)

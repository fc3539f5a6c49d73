"""Planner's hyperlinks within a workbook that lead to the wrong cell.

Spreadsheet programs adjust formulas when rows are inserted or sheets renamed, but not the targets of hyperlinks.
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


class WrongLink(NamedTuple):
    """A cell with a wrong link, and the link's target."""

    spot: Spot
    leads: str


def wrong_links(book: Book) -> Iterator[WrongLink]:
    """The wrong links among those of sheet titles, of sheet names on Cover, and of lines that name their precedent.

    Links in other cells are the user's, and nobody else knows where they should lead.
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
                yield WrongLink(Spot(name, row, column), text)


def _links(sheet: Sheet) -> Iterator[tuple[Position, str, Reference]]:
    """Yields each link to a cell of the workbook: its cell, its target as text, and the target parsed."""
    for link in sheet.elements("hyperlink"):
        text = link.get("location", "")
        if not link_id(link) and (to := reference(text)) is not None and to.prefix:
            yield coordinates(link.get("ref", "A1").partition(":")[0]), text, to


def _is_of_line(table: LineTable, row: int, column: int) -> bool:
    """Whether a cell is a line's name, or names the line's precedent."""
    is_ours = column in (table.head.name, table.head.fourth)
    return is_ours and any(line.row == row for line in table.lines)


def _is_lost(book: Book, table: LineTable, row: int, column: int, to: Reference) -> bool:
    """Whether a line's link leads to another row, or to another column of a database, than the line names."""
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
        return _misses_title(database, line.names.rpartition(".")[2], to)
    read = [
        other.row
        for each in (book.inputs, *book.calculations)
        if each.sheet.name == to.sheet
        for other in each.lines
        if other.name == line.name
    ]
    return bool(read) and to.first.row not in read


def _misses_title(database: Database, title: str, to: Reference) -> bool:
    """Whether a link to a database's sheet leads to another cell than the title of the named column."""
    column = database.columns.get(title)
    return column is not None and (to.first.row, to.first.column) != (database.header_row, column)

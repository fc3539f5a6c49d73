"""The rows of planner's tables that planner didn't write: those of a person's, and those that an update kept."""

from __future__ import annotations

from collections.abc import Iterator

from planner.book.tables import LineTable
from planner.book.workbook import Book
from planner.workbook.memory import remembered


def kept_rows(book: Book) -> set[tuple[str, int]]:
    """Sheet and row of each line that the Cover's record of what planner wrote hasn't; none where there is no record.

    An update keeps a row that its template has no more where a person did something there: it is theirs then.
    """
    memory = remembered(book.designed.get("Cover"))
    if memory is None:
        return set()
    known = {kind: built.row_of for kind, built in memory.sheets.items()}
    lines = ((table, line, known[kind]) for kind, table in _kinds(book) if kind in known for line in table.lines)
    return {(table.sheet.name, line.row) for table, line, rows in lines if line.name and line.name not in rows}


def _kinds(book: Book) -> Iterator[tuple[str, LineTable]]:
    """The tables of lines by the kinds of sheets that the record names."""
    yield from ((table.kind, table) for table in (book.inputs, book.dashboard, book.checks, *book.constraints))
    yield from ((f"calculation {book.templates[table.sheet.name]}", table) for table in book.calculations)

"""Another name for a scenario of a workbook. Its id, by which all else knows it, stays."""

from __future__ import annotations

from pathlib import Path

from planner.book.workbook import Book
from planner.errors import Place, UserError
from planner.recalc import Recalculated, edit
from planner.scenario.which import ID, NAME, column_of, refuse_taken
from planner.xlsx.address import address
from planner.xlsx.opc import in_place


def rename_in_file(path: Path, scenario: str, name: str) -> tuple[str, Recalculated]:
    """Give a scenario of the workbook at `path` another name; blank lets it follow its model and chip again.

    Returns its id, and what was computed. Raises UserError for a scenario that isn't there, for a name that is another
    one's or too long, and as reading and writing do.
    """
    with in_place(path) as package:
        book = Book(package)
        column = column_of(book, scenario)
        if name.strip():
            refuse_taken(book, name, "", (other for other in book.inputs.columns if other != column))
        if (line := book.inputs.by_name.get(NAME)) is None:
            what = f"{book.inputs.sheet.name} has no row {NAME}"
            raise UserError(what, place=Place(path), remedy="planner update brings it back")
        cell = address(line.row, column)
        recalculated = edit(package, book.parsed, book.inputs.sheet.name, {cell: name.strip() or None})
    return book.said(ID, column), recalculated

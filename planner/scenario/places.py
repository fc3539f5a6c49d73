"""Where a workbook's scenarios stand: their columns on each sheet, and the one in which another can."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planner.book.line_tables import HEADER, LineTable
from planner.book.workbook import Book
from planner.errors import Place, UserError, nearest
from planner.xlsx.address import address, column_letters

ID, NAME, MODEL, CHIP = HEADER


def source_column(book: Book, like: str | None) -> int:
    """The column on Inputs of the scenario that is copied."""
    if not book.inputs.columns:
        raise UserError("there is no scenario to copy", place=Place(book.package.name), remedy="build a new workbook")
    if like is None:
        return book.inputs.columns[-1]
    known = {text.lower(): column for column in reversed(book.inputs.columns) for name in (NAME, ID)
             if (text := said(book, name, column))}  # fmt: skip
    if like.strip().lower() not in known:
        raise UserError(f"no scenario {like!r}", place=Place(book.package.name), remedy=nearest(like, known))
    return known[like.strip().lower()]


def said(book: Book, name: str, column: int) -> str:
    """What is typed in a header row of Inputs for a scenario: its id, name, model or chip; blank for nothing."""
    line = book.inputs.by_name.get(name)
    value = book.inputs.sheet.value(line.row, column) if line else None
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value).strip()


def new_identifier(book: Book, name: str) -> str:
    """The new id, from the name. Raises UserError for a name that is empty, too long, or a scenario's already."""
    identifier = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    if not identifier or len(name) > 80:
        raise UserError(
            f"{name!r} is no name for a scenario", remedy="give 1 to 80 characters with a letter or a digit"
        )
    place = Place(book.package.name)
    for column in book.inputs.columns:
        for taken in (said(book, ID, column), said(book, NAME, column)):
            if taken.lower() in (identifier, name.strip().lower()):
                raise UserError(f"there is a scenario {taken!r} already", place=place, remedy="give another name")
    return identifier


def own_column(book: Book, table: LineTable, source: int) -> int:
    """The column of a table that shows the scenario of a column of Inputs."""
    if table is book.inputs:
        return source
    for column in table.columns:
        formula = table.sheet.patterns.get((table.id_row, column))
        for reference in formula.references if formula else ():
            if reference.sheet == book.inputs.sheet.name and reference.area(table.id_row, column).left == source:
                return column
    what = f"no column shows the scenario {said(book, ID, source) or column_letters(source)}"
    raise UserError(what, place=Place(book.package.name, sheet=table.sheet.name),
                    remedy="copy a scenario's column on every sheet, or delete it on Inputs")  # fmt: skip


def scenario_of(book: Book, table: LineTable, column: int) -> int:
    """The column of Inputs that a table's column shows."""
    formula = table.sheet.patterns.get((table.id_row, column))
    read = [reference.area(table.id_row, column).left for reference in formula.references] if formula else []
    return read[0] if read and table is not book.inputs else column


def new_column(book: Book, table: LineTable) -> int:
    """The column right of a table's last scenario.

    Raises UserError where something stands in it, or where the ranges over all scenarios don't reach it.
    """
    column = (table.columns or (0,))[-1] + 1
    if len(table.columns) != len(book.inputs.columns):
        what = f"{len(table.columns)} scenarios stand here and {len(book.inputs.columns)} on {book.inputs.sheet.name}"
        raise UserError(what, place=Place(book.package.name, sheet=table.sheet.name),
                        remedy="copy a scenario's column on every sheet, or delete it on all")  # fmt: skip
    letters = column_letters(column)
    for row, at in sorted(table.sheet.cells):
        if at == column and (table.sheet.value(row, at) not in (None, "") or (row, at) in table.sheet.patterns):
            what = f"{table.sheet.name}!{address(row, at)} stands where the next scenario would"
            remedy = f"insert a column before {letters} on {table.sheet.name}, so that {letters} is empty"
            raise UserError(what, place=Place(book.package.name), remedy=remedy)
    reach = min(_reaches(book, table), default=column)
    if column > reach:
        what = (
            f"no spare column is left: the ranges over all scenarios end at {table.sheet.name}!{column_letters(reach)}"
        )
        raise UserError(what, place=Place(book.package.name),
                        remedy="planner update gives it more, or planner export-inputs and build anew")  # fmt: skip
    return column


def _reaches(book: Book, table: LineTable) -> Iterator[int]:
    """Where the ranges over all scenarios of a table end: those whose columns are fixed and hold every scenario."""
    first, last = table.columns[0], table.columns[-1]
    for (sheet, row, column), formula in book.formulas.items():
        for reference in formula.references:
            if (reference.sheet or sheet) == table.sheet.name and reference.first.column_fixed:
                area = reference.area(row, column)
                if area.left <= first and area.right >= last and area.right > area.left:
                    yield area.right

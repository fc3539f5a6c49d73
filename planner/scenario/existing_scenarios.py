"""The scenarios that a workbook has: what they are called, and their columns on each sheet."""

from __future__ import annotations

import re

from planner.book.line_tables import HEADER, LineTable
from planner.book.scenario_columns import inputs_column
from planner.book.workbook import Book
from planner.errors import Place, UserError, nearest
from planner.xlsx.address import column_letters

ID, NAME, MODEL, CHIP = HEADER


def source_column(book: Book, like: str | None) -> int:
    """The column on Inputs of the scenario that is copied."""
    if not book.inputs.columns:
        raise UserError("there is no scenario to copy", place=Place(book.package.name), remedy="build a new workbook")
    if like is None:
        return book.inputs.columns[-1]
    columns = reversed(book.inputs.columns)
    known = {book.said(name, column).lower(): column for column in columns for name in (NAME, ID)}
    known.pop("", None)
    if like.strip().lower() not in known:
        raise UserError(f"no scenario {like!r}", place=Place(book.package.name), remedy=nearest(like, known))
    return known[like.strip().lower()]


def new_identifier(book: Book, name: str) -> str:
    """The new id, from the name. Raises UserError for a name that is empty, too long, or a scenario's already."""
    identifier = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    if not identifier or len(name) > 80:
        raise UserError(
            f"{name!r} is no name for a scenario", remedy="give 1 to 80 characters with a letter or a digit"
        )
    place = Place(book.package.name)
    for column in book.inputs.columns:
        for taken in (book.said(ID, column), book.said(NAME, column)):
            if taken.lower() in (identifier, name.strip().lower()):
                raise UserError(f"there is a scenario {taken!r} already", place=place, remedy="give another name")
    return identifier


def own_column(book: Book, table: LineTable, source: int) -> int:
    """The column of a table that shows the scenario of a column of Inputs. Raises UserError where none does."""
    found = next((column for column in table.columns if inputs_column(book.inputs, table, column) == source), None)
    if found is None:
        what = f"no column shows the scenario {book.said(ID, source) or column_letters(source)}"
        remedy = "copy a scenario's column on every sheet, or delete it on Inputs"
        raise UserError(what, place=Place(book.package.name, sheet=table.sheet.name), remedy=remedy)
    return found

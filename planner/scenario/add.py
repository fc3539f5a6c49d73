"""A scenario more in a workbook: the column of another one copied to the right, as the Cover tells a person to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from planner import progress
from planner.book.scenario_columns import inputs_column
from planner.book.tables import LineTable
from planner.book.workbook import Book
from planner.collector import still
from planner.errors import Place, UserError, nearest
from planner.recalc import Recalculated, add_columns
from planner.scenario import ranges_over_scenarios as ranges
from planner.scenario.new_column import ID, NAME, Column, Request
from planner.xlsx.address import column_letters
from planner.xlsx.atomic import locked
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import Content
from planner.xlsx.worksheet import as_wide

__all__ = ["Added", "Request", "add", "add_to_file"]


@dataclass
class Added:
    """What was done: the new scenario's id, the one it is like, its column on each sheet, what a person should know."""

    id: str
    like: str
    columns: dict[str, str]
    remarks: list[str]
    recalculated: Recalculated | None = None

    @property
    def where(self) -> str:
        """`column H of Inputs, Dashboard; column I of Inference`."""
        sheets: dict[str, list[str]] = {}
        for sheet, column in self.columns.items():
            sheets.setdefault(column, []).append(sheet)
        return "; ".join(f"column {column} of {', '.join(names)}" for column, names in sheets.items())


def add_to_file(path: Path, request: Request) -> Added:
    """Add a scenario to the workbook at `path`, which is replaced whole or not at all.

    Raises UserError for what the workbook can't take, with the cell in the way, and as reading and writing do.
    """
    with locked(path), still():
        package = Package.read(path)
        added = add(package, request)
        package.write(path)
    return added


def add(package: Package, request: Request) -> Added:
    """Add a scenario to a package, in place. Raises UserError as `add_to_file` does, and then nothing is changed."""
    progress.step("reading the workbook")
    book = Book(package)
    source = source_column(book, request.like)
    columns = ranges.free_columns(book)
    identifier = new_identifier(book, request.name)
    letters = {sheet: column_letters(column) for sheet, column in columns.items()}
    added = Added(identifier, book.said(ID, source), letters, [])
    contents: dict[str, Mapping[str, Content]] = {}
    likes: dict[str, Mapping[str, str]] = {}
    for table in book.by_scenario:
        name = table.sheet.name
        new = Column(book, table, own_column(book, table, source), columns[name], added.remarks)
        contents[name] = new.inputs(request, identifier) if table is book.inputs else new.formulas()
        likes[name] = new.like()
    added.remarks += ranges.left_out(book)
    progress.step("computing what is new")
    added.recalculated = add_columns(package, book.parsed, contents, likes)
    parts = package.sheets()
    for table in book.by_scenario:
        part, column = parts[table.sheet.name], columns[table.sheet.name]
        xml = as_wide(package.parts[part], own_column(book, table, source), column)
        package.replace(part, ranges.ruled(xml, table, column))
    ranges.print_wider(package, book, columns)
    progress.clear()
    return added


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

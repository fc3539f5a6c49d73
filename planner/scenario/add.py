"""A scenario more in a workbook: the column of another one copied to the right, as the Cover tells a person to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from planner import progress
from planner.book.workbook import Book
from planner.collector import still
from planner.recalc import Recalculated, add_columns
from planner.scenario import ranges_over_scenarios as ranges
from planner.scenario.existing_scenarios import ID, new_identifier, own_column, source_column
from planner.scenario.new_column import Column, Request
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

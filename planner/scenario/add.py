"""A scenario more in a workbook: the column of another one copied to the right, as the Cover tells a person to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from planner import progress
from planner.book.workbook import Book
from planner.recalc import Recalculated, recalculate
from planner.scenario import reach
from planner.scenario.column import Column, Request
from planner.scenario.places import ID, new_column, new_identifier, own_column, said, source_column
from planner.xlsx.address import column_letters
from planner.xlsx.columns import as_wide
from planner.xlsx.locked import locked
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import with_values

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
    with locked(path):
        package = Package.read(path)
        added = add(package, request)
        package.write(path)
    return added


def add(package: Package, request: Request) -> Added:
    """Add a scenario to a package, in place. Raises UserError as `add_to_file` does, and then nothing is changed."""
    progress.step("reading the workbook")
    book = Book(package)
    source = source_column(book, request.like)
    columns = {table.sheet.name: new_column(book, table) for table in book.by_scenario}
    identifier = new_identifier(book, request.name)
    letters = {sheet: column_letters(column) for sheet, column in columns.items()}
    added = Added(identifier, said(book, ID, source), letters, [])
    before = replace(package, parts=dict(package.parts))
    parts = package.sheets()
    fresh: dict[str, bytes] = {}
    tables = {table.sheet.name: table for table in book.by_scenario}
    for table in book.by_scenario:
        column = columns[table.sheet.name]
        copied = Column(book, table, own_column(book, table, source), column, added.remarks)
        contents = copied.inputs(request, identifier) if table is book.inputs else copied.formulas()
        xml = with_values(table.sheet.xml, contents, copied.like())
        fresh[parts[table.sheet.name]] = reach.ruled(as_wide(xml, copied.source, column), table, column)
    added.remarks += reach.left_out(book, tables)
    for part, xml in fresh.items():
        package.replace(part, xml)
    reach.print_wider(package, tables, columns)
    progress.step("computing what is new")
    added.recalculated = recalculate(package, before=before)
    progress.clear()
    return added

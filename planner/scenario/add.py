"""A scenario more in a workbook: the column of another one copied to the right, as the Cover tells a person to.

What reaches over all scenarios of a sheet reaches the next one too: its printed area, its formats, its validations.
Ranges of planner's formulas are sized ahead. A person's own formulas and charts stay as they are, and are named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from planner import progress
from planner.book.scenario_columns import inputs_column
from planner.book.sheet import Sheet
from planner.book.tables import LineTable
from planner.book.workbook import Book
from planner.collector import still
from planner.errors import Place, UserError, nearest
from planner.recalc import Recalculated, add_columns
from planner.scenario.new_column import ID, NAME, Column, Request
from planner.xlsx.address import Area, Spot, address, column_letters
from planner.xlsx.atomic import locked
from planner.xlsx.named_ranges import reshape_names
from planner.xlsx.opc import Package
from planner.xlsx.references import Reference, references
from planner.xlsx.sheet_rules import reshape, rules
from planner.xlsx.sheetedit import Content
from planner.xlsx.worksheet import Worksheet, as_wide
from planner.xlsx.xmltree import every, local_name

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
    columns = free_columns(book)
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
    added.remarks += left_out(book)
    progress.step("computing what is new")
    added.recalculated = add_columns(package, book.parsed, contents, likes)
    parts = package.sheets()
    for table in book.by_scenario:
        part, column = parts[table.sheet.name], columns[table.sheet.name]
        xml = as_wide(package.parts[part], own_column(book, table, source), column)
        package.replace(part, ruled(xml, table, column))
    print_wider(package, book, columns)
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


_PRINTED = "_xlnm.Print_Area"
_CHART = re.compile(r"/(charts|chartex)/chart[^/]*\.xml$", re.IGNORECASE)


def grown(area: Area, table: LineTable, column: int) -> Area:
    """The area with one more column, where it ends at the last scenario of a table and holds them all."""
    first, last = table.columns[0], table.columns[-1]
    holds_all = area.left <= first and area.right == last
    return Area(area.top, area.left, area.bottom, column) if holds_all else area


def print_wider(package: Package, book: Book, columns: Mapping[str, int]) -> None:
    """Let the printed areas grow; `columns` are by the sheet's name."""
    tables = _tables(book)

    def wide(name: str, sheet: str, area: Area) -> Area:
        is_meant = name == _PRINTED and sheet in tables
        return grown(area, tables[sheet], columns[sheet]) if is_meant else area

    reshape_names(package, wide)


def ruled(xml: bytes, table: LineTable, column: int) -> bytes:
    """A sheet's XML whose conditional formats and validations over all scenarios are for one more."""
    sheet = Worksheet(xml)
    for rule in rules(sheet.root):
        reshape(rule, lambda area: grown(area, table, column), local_name(rule))
    return sheet.xml()


def free_columns(book: Book) -> dict[str, int]:
    """The column right of the last scenario on each sheet, by the sheet's name.

    Raises UserError where something stands in it, or where the ranges over all scenarios don't reach it.
    """
    ends = _ends_of_ranges(book)
    return {table.sheet.name: _free_column(book, table, ends.get(table.sheet.name)) for table in book.by_scenario}


def _free_column(book: Book, table: LineTable, end: int | None) -> int:
    sheet, column, place = table.sheet, (table.columns or (0,))[-1] + 1, Place(book.package.name)
    if len(table.columns) != len(book.inputs.columns):
        what = f"{len(table.columns)} scenarios stand here and {len(book.inputs.columns)} on {book.inputs.sheet.name}"
        remedy = "copy a scenario's column on every sheet, or delete it on all"
        raise UserError(what, place=Place(book.package.name, sheet=sheet.name), remedy=remedy)
    letters = column_letters(column)
    filled = (at for at in sorted(sheet.cells) if at[1] == column
              and (sheet.value(*at) not in (None, "") or at in sheet.patterns))  # fmt: skip
    for at in filled:
        what = f"{sheet.name}!{address(*at)} stands where the next scenario would"
        remedy = f"insert a column before {letters} on {sheet.name}, so that {letters} is empty"
        raise UserError(what, place=place, remedy=remedy)
    if end is not None and column > end:
        what = f"no spare column is left: the ranges over all scenarios end at {sheet.name}!{column_letters(end)}"
        remedy = "planner update gives it more, or planner export-inputs and build anew"
        raise UserError(what, place=place, remedy=remedy)
    return column


def _ends_of_ranges(book: Book) -> dict[str, int]:
    """Where the ranges over all scenarios end, by sheet: those whose columns are fixed and hold every scenario."""
    tables = _tables(book)
    ends: dict[str, int] = {}
    for (name, row, column), formula in book.formulas.items():
        for reference in formula.references:
            read = reference.sheet or name
            if reference.first != reference.last and reference.first.column_fixed and read in tables:
                area = reference.area(row, column)
                if area.left <= tables[read].columns[0] and area.left < area.right >= tables[read].columns[-1]:
                    ends[read] = min(area.right, ends.get(read, area.right))
    return ends


def own_rows(book: Book, sheet: Sheet) -> set[int]:
    """The rows of a person: all of a sheet of theirs, and those between planner's rows of a table by scenario."""
    rows = {row for row, _ in sheet.patterns}
    if all(sheet is not designed for designed in book.designed.values()):
        return rows
    table = next((table for table in book.by_scenario if table.sheet is sheet), None)
    return {row for row in rows if row > table.head.row} - {line.row for line in table.lines} if table else set()


def _tables(book: Book) -> dict[str, LineTable]:
    return {table.sheet.name: table for table in book.by_scenario}


def left_out(book: Book) -> Iterator[str]:
    """A person's own formulas and charts over all scenarios, which end at the last of before."""
    tables = _tables(book)
    for name, sheet in book.sheets.items():
        rows = own_rows(book, sheet)
        for row, column in sheet.patterns if rows else ():
            if row not in rows:
                continue
            cell = Spot(name, row, column)
            if any(known in tables and _ends(area, tables[known]) for known, area in book.areas(cell)):
                yield f"{cell} reads the scenarios of before, not the new one: widen its range"
    for name in every(book.package.tree(book.package.workbook_part()), "definedName"):
        if name.get("localSheetId") is None and _of_before(name.text or "", tables):
            yield f"the name {name.get('name')} stands for the scenarios of before, not the new one: widen its range"
    for part in book.package.parts:
        ranges = every(book.package.tree(part), "f") if _CHART.search(part) else ()
        if found := next((read for one in ranges for read in _of_before(one.text or "", tables)), None):
            yield f"a chart draws {found}, the scenarios of before: widen its ranges"


def _of_before(formula: str, tables: Mapping[str, LineTable]) -> list[Reference]:
    """The references of a formula, with their sheets, that go over all scenarios of before."""
    return [one for one in references(formula) if one.sheet in tables and _ends(one.area, tables[one.sheet])]


def _ends(area: Area, table: LineTable) -> bool:
    """Whether an area goes over all scenarios, more than one, and ends at the last."""
    return area.left <= table.columns[0] < area.right == table.columns[-1]

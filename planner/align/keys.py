"""Keys that identify the rows and columns of planner's sheets in every version, wherever they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from planner.book import rowkeys
from planner.book.problem_book import GIVEN_COLUMN, problem_of
from planner.book.rowkeys import COVER, DATABASES, TEXTS, Keyed
from planner.book.sheet import Sheet
from planner.book.tables import BESIDE, Database, LineTable
from planner.book.workbook import Book
from planner.workbook import layout
from planner.workbook.memory import memory_rows
from planner.xlsx.cell import Cell

COMPARISON, CALCULATION = "comparison", "calculation "
SCENARIO = "scenario "
PUT_IN = "above own "  # prefix of the keys of rows that the user inserted below a sheet's title
MEMORY = "memory "  # prefix of the keys of rows on Cover that record what planner wrote


@dataclass(frozen=True)
class KeyedSheet(Keyed):
    """One of planner's sheets with the keys of its rows and columns.

    `kind` is such as `inputs`, `calculation inference` or `hardware`. `groups` has the template of each row of cases.
    """

    kind: str
    sheet: Sheet
    rows: Mapping[int, str]
    columns: Mapping[int, str]
    groups: Mapping[int, str] = field(default_factory=dict)
    line_table: LineTable | None = None

    @cached_property
    def first_row(self) -> int:
        """The first row of a database; 0 on another sheet."""
        titles = self.row_of.get("above 0")
        return titles + 1 if titles and self.kind in DATABASES else 0

    @cached_property
    def scenario_columns(self) -> dict[int, str]:
        """The columns of the scenarios from left to right, with their keys."""
        return {column: key for column, key in self.columns.items() if key.startswith(SCENARIO)}

    @cached_property
    def columns_by_row(self) -> dict[int, list[int]]:
        """The columns in which each row has a cell."""
        found: dict[int, list[int]] = {}
        for row, column in self.sheet.cells:
            found.setdefault(row, []).append(column)
        return found


def keyed(book: Book) -> dict[str, KeyedSheet]:
    """The sheets that planner built, with their keys, by kind."""
    fixed = (book.inputs, book.dashboard, book.checks, *_constraints(book))
    tables = [(table.kind, table) for table in fixed]
    tables += [(f"{CALCULATION}{book.templates[table.sheet.name]}", table) for table in book.calculations]
    found = {kind: keyed_lines(book, table, kind) for kind, table in tables if table.lines}
    found |= {kind: keyed_records(kind, database) for kind, database in book.databases.items()}
    case = _comparison(book)
    if case is not None:
        found[COMPARISON] = case
    known = {each.sheet.name for each in found.values()}
    for name, sheet in book.designed.items():
        if sheet.name not in known and name.lower() not in found:
            found[name.lower()] = plain_sheet(name.lower(), sheet)
    return found


def _constraints(book: Book) -> list[LineTable]:
    """The table of constraints, also if no other sheet reads it; at most one."""
    kind = "constraints"
    tables = book.constraints or [table for table in book.tables if table.kind == kind]
    return sorted(tables, key=lambda table: table.sheet.name.lower() != kind)[:1]


def _typed(sheet: Sheet, columns: Iterable[int] | None = None) -> dict[int, dict[int, str | None]]:
    """The typed text of each cell, by row and column (all or some): "" for a blank, None for a number or a formula."""
    found: dict[int, dict[int, str | None]] = {row: {} for row in _rows(sheet)}
    if columns is None:
        wanted = sorted(sheet.cells)
    else:
        wanted = [(row, column) for row in found for column in columns if (row, column) in sheet.cells]
    for row, column in wanted:
        found[row][column] = _text(sheet.cells[row, column])
    return found


def _rows(sheet: Sheet) -> list[int]:
    return sorted({row for row, _ in sheet.cells})


def _text(cell: Cell) -> str | None:
    if cell.kind:
        return None
    return "" if cell.value is None else cell.value if isinstance(cell.value, str) else None


def keyed_lines(book: Book, table: LineTable, kind: str) -> KeyedSheet:
    """A table of line items, with rows keyed by machine name and columns by their role or scenario."""
    head = table.head
    columns: dict[int, str] = dict(zip(head.texts, TEXTS, strict=False))  # the fifth may be deleted
    if table.kind == "problem":  # several stand on a sheet
        rows = {line.row: f"{problem_of(line)}.{line.name}" for line in table.lines}
        columns[GIVEN_COLUMN] = "given"
        return KeyedSheet(kind, table.sheet, rows, columns, line_table=table)
    for column in table.columns if table.kind not in BESIDE else ():
        columns[column] = f"{SCENARIO}{book.numbers.standard(table.sheet.name, column)}"
    rows = rowkeys.line_keys(_typed(table.sheet, (head.label, head.name)), head.row, head.label, head.name)
    rows = _put_in_above(kind, table.sheet, rows, head.row, layout.HEADER_ROW)
    return KeyedSheet(kind, table.sheet, rows, columns, line_table=table)


def _put_in_above(kind: str, sheet: Sheet, rows: dict[int, str], head: int, built: int) -> dict[int, str]:
    """The keys of rows if the user inserted some between the sheet's own title and its table's titles.

    The table's titles are in row `head`, and were built in row `built`. Rows above `head` are keyed by their distance
    from it; those of the sheet's title and purpose as if no rows had been inserted.
    """
    template = kind.removeprefix(CALCULATION)
    title = layout.sheet_name(template) if template != kind else kind.capitalize()
    texts = {row: {sheet.text(row, column) for column in sheet.filled.get(row, ())} for row in range(1, head)}
    first = next((row for row, found in texts.items() if title in found), 0)
    more = head - first - (built - 1) if first else 0
    if more <= 0:
        return rows
    top = first + rowkeys.TOP
    blank = 0  # of the rows between labels and titles, where none was built
    while built == layout.TABLE_HEADER_ROW and blank < more and not any(texts[head - 1 - blank]):
        blank += 1
    put_in = {*range(top, top + more - blank), *range(head - blank, head)}
    stay = [row for row in range(first, head) if row not in put_in]
    above = {row: f"above {len(stay) - at}" for at, row in enumerate(stay) if row in rows}
    return rows | above | {row: f"{PUT_IN}{row}" for row in rows if row in put_in}


def keyed_records(kind: str, database: Database) -> KeyedSheet:
    """A database, with rows keyed by id and columns by machine name."""
    sheet, at = database.sheet, database.id_column
    ids = {row: {at: str(sheet.values.get((row, at), ""))} for row in _rows(sheet)}
    rows = rowkeys.database_keys(ids, database.header_row, at)
    rows = _put_in_above(kind, sheet, rows, database.header_row, layout.TABLE_HEADER_ROW)
    return KeyedSheet(kind, sheet, rows, {column: name for name, column in database.columns.items()})


def _comparison(book: Book) -> KeyedSheet | None:
    from planner.compare.comparison_sheet import found_in  # here, for it loads the templates

    found = found_in(book.package, book.parsed)
    if found is None:
        return None
    sheet = book.sheets[found.name]
    columns: dict[int, str] = {}
    for name, column in found.columns.items():
        columns.setdefault(column, name)
    names = {row: f"above {found.header - row}" for row, _ in sheet.cells if row <= found.header}
    names = _put_in_above(COMPARISON, sheet, names, found.header, layout.TABLE_HEADER_ROW)
    groups: dict[int, str] = {}
    known = [row for row in found.rows if row.template is not None]
    for at, case in enumerate(known):
        names[case.number] = f"case {at}"
        groups[case.number] = case.text("template")
    return KeyedSheet(COMPARISON, sheet, names, columns, groups)


def plain_sheet(kind: str, sheet: Sheet) -> KeyedSheet:
    """A sheet with rows keyed by their first text, below the titles of each table, such as Cover, Log and Roofline."""
    width = max((column for _, column in sheet.cells), default=1)
    columns = {column: str(column) for column in range(1, width + 1)}
    rows = rowkeys.plain_keys(_typed(sheet), kind)
    if kind == COVER:
        rows |= {row: f"{MEMORY}{at}" for at, row in enumerate(memory_rows(sheet, rows))}
    return KeyedSheet(kind, sheet, rows, columns)

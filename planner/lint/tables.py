"""Where planner's tables stand on a sheet, told by their headers: line items, databases, and cases."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from planner.lint.pattern import Pattern, Position

if TYPE_CHECKING:
    from planner.lint.book import Sheet

LABEL, UNIT, NAME, FOURTH, FIFTH, FIRST_SCENARIO = 1, 2, 3, 4, 5, 6
HEADER_ROW, ID_ROW, FIRST_ROW = 3, 4, 9
TABLE_UNIT_ROW, TABLE_HEADER_ROW = 4, 5  # of a database
TITLES = ("Quantity", "Unit", "Name")
KINDS = {"Note": "inputs", "Formula in names": "calculation", "Check in names": "checks", "From": "dashboard",
         "Value": "working"}  # fmt: skip
"""What a table of line items is, by the title of its fourth column."""

MACHINE_NAME = re.compile(r"[a-z][a-z0-9_.]*")


@dataclass(frozen=True)
class Line:
    """A row that describes one quantity; `section` is the heading above it."""

    row: int
    label: str
    unit: str
    name: str
    names: str
    section: str
    note: str = ""


@dataclass(frozen=True)
class LineTable:
    """A sheet of line items; `columns` hold the values, one for each scenario."""

    sheet: Sheet
    kind: str
    columns: tuple[int, ...]
    lines: tuple[Line, ...]

    @cached_property
    def by_name(self) -> dict[str, Line]:
        """The first line of each machine name."""
        return {line.name: line for line in reversed(self.lines) if line.name}

    def positions(self) -> Iterator[Position]:
        """Every value's row and column."""
        return ((line.row, column) for line in self.lines for column in self.columns)

    def section(self, title: str) -> dict[str, Line]:
        """The lines below the headings that begin with `title`, by name."""
        return {line.name: line for line in self.lines if line.section.startswith(title)}


@dataclass(frozen=True)
class Database:
    """A sheet with a row per id, and the machine name and the unit of each column."""

    sheet: Sheet
    columns: dict[str, int]
    last_row: int


@dataclass(frozen=True)
class CaseTable:
    """A table with a case per row below a row of texts. Cases of one template are a group."""

    sheet: Sheet
    header_row: int
    columns: dict[int, str]
    rows: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...] = field(default=())

    def positions(self) -> Iterator[Position]:
        """Every cell of every case."""
        return ((row, column) for row in self.rows for column in self.columns)


def line_table(sheet: Sheet) -> LineTable | None:
    """The line items of a sheet with their header in row 3; None where the header is another."""
    titles = tuple(sheet.text(HEADER_ROW, column) for column in (LABEL, UNIT, NAME))
    kind = KINDS.get(sheet.text(HEADER_ROW, FOURTH))
    if titles != TITLES or kind is None:
        return None
    lines: list[Line] = []
    section = ""
    for row in sorted({row for row, column in sheet.cells if column <= FIFTH and row > HEADER_ROW}):
        if kind == "working" and lines and row > lines[-1].row + 1:
            break  # below it are tables of cases
        label, unit, name, fourth = (sheet.text(row, column) for column in (LABEL, UNIT, NAME, FOURTH))
        if MACHINE_NAME.fullmatch(name) or (kind == "dashboard" and unit and fourth):
            names = sheet.text(row, FIFTH) if kind == "working" else fourth
            lines.append(Line(row, label, unit, name, names, section, sheet.text(row, FIFTH)))
        elif label and not (unit or name or fourth):
            section = label
    return LineTable(sheet, kind, (FOURTH,) if kind == "working" else _scenario_columns(sheet), tuple(lines))


def _scenario_columns(sheet: Sheet) -> tuple[int, ...]:
    """The columns side by side that have a scenario's id, or the formula that fetches it."""
    column = FIRST_SCENARIO
    while (ID_ROW, column) in sheet.patterns or sheet.value(ID_ROW, column) not in (None, ""):
        column += 1
    return tuple(range(FIRST_SCENARIO, column))


def database(sheet: Sheet) -> Database | None:
    """The database on a sheet: machine names in row 5, ids in column A; None without an `id` there."""
    if sheet.text(TABLE_HEADER_ROW, 1) != "id":
        return None
    columns = {sheet.text(row, column): column for row, column in sheet.cells if row == TABLE_HEADER_ROW}
    ids = (row for row, column in sheet.cells if column == 1 and sheet.value(row, 1) not in (None, ""))
    return Database(sheet, columns, max(ids))


def case_tables(sheet: Sheet) -> list[CaseTable]:
    """The tables whose header is a row of texts with formulas in the row below it, as far as the next blank row."""
    rows: dict[int, dict[int, bool]] = defaultdict(dict)
    for row, column in sheet.cells:
        if (row, column) in sheet.patterns or sheet.value(row, column) not in (None, ""):
            rows[row][column] = (row, column) in sheet.patterns
    return [_case_table(sheet, row, rows) for row, filled in rows.items()
            if len(filled) >= len(TITLES) and 1 in filled and not any(filled.values())
            and all(sheet.text(row, column) for column in filled) and any(rows.get(row + 1, {}).values())]  # fmt: skip


def _case_table(sheet: Sheet, header_row: int, filled: dict[int, dict[int, bool]]) -> CaseTable:
    columns = {column: sheet.text(header_row, column) for column in filled[header_row]}
    rows, row = [], header_row + 1
    while row in filled:
        if not any(_is_total(sheet.patterns[row, column]) for column, live in filled[row].items() if live):
            rows.append(row)
        row += 1
    chooses = next((column for column, title in columns.items() if title == "template"), None)
    groups: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        groups[sheet.text(row, chooses) if chooses else ""].append(row)
    return CaseTable(sheet, header_row, columns, tuple(rows), tuple(tuple(group) for group in groups.values()))


def _is_total(formula: Pattern) -> bool:
    """Whether a formula sums up the rows above it, and is no case's."""
    return any(not reference.sheet and reference.first.row != reference.last.row
               and not reference.last.row_fixed for reference in formula.references)  # fmt: skip

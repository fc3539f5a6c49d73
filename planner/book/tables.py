"""Where planner's tables stand on a sheet, told by their headers: line items, databases, and cases."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from planner.xlsx.address import Position
from planner.xlsx.pattern import Pattern

if TYPE_CHECKING:
    from planner.book.book import Sheet

SEARCHED = 40
"""The rows among which a header is looked for: built ones stand in row 3 or 5, below rows that an analyst puts in."""

HEADER = ("scenario_id", "scenario_name", "model_id", "hardware_id")
"""The machine names of the rows that say who each scenario's column is."""

TITLES = ("Quantity", "Unit", "Name")
KINDS = {"Note": "inputs", "Formula in names": "calculation", "Check in names": "checks", "From": "dashboard",
         "Value": "working", "Read from": "constraints", "Constant": "constants"}  # fmt: skip
"""What a table of line items is, by the title of its fourth column."""
BESIDE = ("working", "problem")
"""The kinds whose formulas in names stand beside the value, and not in the fourth column."""

SECTIONS = {"inputs": ("Plan", "Overrides", "Constants"), "checks": ("Checks", "Missing", "Summary")}
"""How the headings begin where they tell what the rows are; a text of an analyst's own is none."""

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
class Head:
    """Where a table of line items has its titles: the row, and the columns of the texts that describe a line."""

    row: int = 3
    label: int = 1
    unit: int = 2
    name: int = 3
    fourth: int = 4
    fifth: int = 5

    @property
    def texts(self) -> tuple[int, ...]:
        """The columns of the texts, from left to right."""
        return self.label, self.unit, self.name, self.fourth, self.fifth


@dataclass(frozen=True)
class LineTable:
    """A sheet of line items; `columns` hold the values, one for each scenario."""

    sheet: Sheet
    kind: str
    columns: tuple[int, ...]
    lines: tuple[Line, ...]
    head: Head = Head()

    @property
    def id_row(self) -> int:
        """The row of the scenarios' ids."""
        line = self.by_name.get(HEADER[0])
        return line.row if line else self.head.row + 1

    @property
    def corner(self) -> Position:
        """The first scenario's cell below the header rows, where panes are frozen."""
        rows = [line.row for line in self.lines if line.name in HEADER]
        return max(rows, default=self.head.row) + 1, self.columns[0] if self.columns else self.head.fifth + 1

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
    header_row: int = 5
    id_column: int = 1

    @property
    def first_row(self) -> int:
        """The first row with an id."""
        return self.header_row + 1


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
    """The line items of a sheet below the row of their titles; None where no row has these titles."""
    found = _head(sheet)
    if found is None:
        return None
    kind, head = found
    lines: list[Line] = []
    section = ""
    for row in sorted({row for row, column in sheet.cells if column <= head.fifth and row > head.row}):
        if kind == "working" and lines and row > lines[-1].row + 1 and _is_titles(sheet, row):
            break  # below it are tables of cases
        label, unit, name, fourth, fifth = (sheet.text(row, column) for column in head.texts)
        if MACHINE_NAME.fullmatch(name) or (kind == "dashboard" and unit and fourth):
            lines.append(Line(row, label, unit, name, fifth if kind == "working" else fourth, section, fifth))
        elif label and not (unit or name or fourth) and label.startswith(SECTIONS.get(kind, "")):
            section = label
    first = next((line.row for line in lines if line.name == HEADER[0]), head.row + 1)
    columns = (head.fourth,) if kind == "working" else _scenario_columns(sheet, first, head.fifth + 1)
    return LineTable(sheet, kind, columns, tuple(lines), head)


def _head(sheet: Sheet) -> tuple[str, Head] | None:
    """What the table of a sheet is and where its titles stand; columns that an analyst put between them are skipped."""
    rows: dict[int, list[int]] = defaultdict(list)
    for row, column in sheet.cells:
        if row <= SEARCHED and sheet.text(row, column):
            rows[row].append(column)
    for row, columns in sorted(rows.items()):
        at = {sheet.text(row, column): column for column in sorted(columns, reverse=True)}
        title = min((title for title in KINDS if title in at), key=at.__getitem__, default=None)
        if title is None or not all(known in at for known in TITLES):
            continue
        described = [*(at[known] for known in TITLES), at[title]]
        fifth = min((column for column in columns if column > at[title]), default=at[title] + 1)
        if described == sorted(described):
            label, unit, name, fourth = described
            return KINDS[title], Head(row, label, unit, name, fourth, fifth)
    return None


def _is_titles(sheet: Sheet, row: int) -> bool:
    """Whether the row is text all along, as the titles of a table of cases are."""
    filled = [at for at in sheet.cells if at[0] == row and sheet.value(*at) not in (None, "")]
    return len(filled) >= len(TITLES) and all(sheet.text(*at) for at in filled)


def _scenario_columns(sheet: Sheet, row: int, first: int) -> tuple[int, ...]:
    """The columns that have a scenario's id, or the formula that fetches it, in this row.

    They stand side by side. Beyond a gap only a column counts that names a model and a chip too, as it does
    where an analyst has put a column of notes between two scenarios.
    """

    def is_filled(at: Position) -> bool:
        return at in sheet.patterns or sheet.value(*at) not in (None, "")

    columns: list[int] = []
    for column in sorted(column for found, column in sheet.cells if found == row and column >= first):
        beside = not columns or column == columns[-1] + 1
        model_and_chip = ((row + HEADER.index(name), column) for name in HEADER[2:])
        if is_filled((row, column)) and (beside or all(map(is_filled, model_and_chip))):
            columns.append(column)
    return tuple(columns)


def database(sheet: Sheet) -> Database | None:
    """The database on a sheet: a row of machine names that begins with `id`, below it the ids; None without one."""
    starts = ((row, column) for row, column in sheet.cells if row <= SEARCHED and sheet.text(row, column) == "id")
    start = min(starts, default=None)
    if start is None:
        return None
    header, first = start
    columns = {sheet.text(row, column): column for row, column in sheet.cells
               if row == header and column >= first and sheet.text(row, column)}  # fmt: skip
    ids = (row for row, column in sheet.cells
           if column == first and row >= header and sheet.value(row, first) not in (None, ""))  # fmt: skip
    return Database(sheet, columns, max(ids), header, first)


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

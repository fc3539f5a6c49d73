"""A sheet whose rows and columns have tokens: those of the other workbook's that match have the same."""

from __future__ import annotations

from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from planner.book.sheet import Sheet
from planner.book.tables import LineItem, LineTable
from planner.workbook.memory import memory_rows

Token = Hashable
BEYOND = ("beyond",)
"""The token of every row or column beyond the last non-empty one."""


class Within(NamedTuple):
    """The token of a column that belongs to one of several tables on a sheet."""

    table: str
    title: str


@dataclass
class Matched:
    """A sheet of one workbook; matching rows and columns of the other workbook have the same tokens.

    By column:
    - `scenarios`: the key of the scenario;
    - `texts`: the role of a line's text, such as its label;
    - `titles`: the title in a database or a table of cases.

    By row:
    - `names`: what the row is called;
    - `lines`: planner's line items, each with its table;
    - `cases`: the table of cases, or the database, that the row belongs to;
    - `columns_within`: the columns of that table where a sheet has several tables.

    `filled` are the non-empty cells, except rows of the record of what planner wrote and the spilled cells of array
    formulas (`results`), which a program may save or not.
    """

    sheet: Sheet
    rows: dict[int, Token] = field(default_factory=dict)
    columns: dict[int, Token] = field(default_factory=dict)
    scenarios: dict[int, str] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    titles: dict[int, str] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    lines: dict[int, tuple[LineTable, LineItem]] = field(default_factory=dict)
    cases: dict[int, Token] = field(default_factory=dict)
    columns_within: dict[int, Mapping[int, Within]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sheet, patterns, values = self.sheet, self.sheet.patterns, self.sheet.values
        cells = {at: None for at in sheet.cells if at in patterns or values.get(at, "") != ""}
        memory = frozenset(memory_rows(sheet, (row for row, column in cells if column == 1)))
        self.arrays = sorted(sheet.xml.arrays.values())
        filled_in = (at for at in cells if at not in patterns and any(area.covers(*at) for area in self.arrays))
        self.results = frozenset(filled_in if self.arrays else ())
        without = bool(memory or self.results)
        self.filled = {at: None for at in cells if at[0] not in memory and at not in self.results} if without else cells
        self.filled_rows = sorted({row for row, _ in self.filled}.union(*(area.rows for area in self.arrays)))
        self.filled_columns = sorted(
            {column for _, column in self.filled}.union(*(each.columns for each in self.arrays))
        )
        self.last_row = max(self.filled_rows, default=0)
        self.last_column = max(self.filled_columns, default=0)

    def row(self, number: int) -> Token:
        """The token of a row."""
        return self.rows.get(number, BEYOND if number > self.last_row else ("blank row",))

    def column(self, number: int, row: int) -> Token:
        """The token of a column in a row."""
        known = self.columns_of(row)
        return known.get(number, BEYOND if number > self.last_column else ("blank column",))

    def columns_of(self, row: int) -> Mapping[int, Token]:
        """The tokens of a row's columns: those of its table if it has its own, else of the sheet."""
        within = self.columns_within.get(row)
        return {**self.columns, **within} if within else self.columns

    def title(self, row: int, column: int) -> str | None:
        """The title of a column in a row of a database or a table of cases; None elsewhere."""
        within = self.columns_within.get(row, {}).get(column)
        return within.title if within else self.titles.get(column)

    def exact_row(self, number: int) -> Token:
        """The token of a row; for a blank row, its distance below the last row with a token."""
        return _token(self.rows, self._known_rows, number)

    def exact_column(self, number: int, row: int) -> Token:
        """The same for a column in a row."""
        within = self.columns_within.get(row, {}).get(number)
        return within or _token(self.columns, self._known_columns, number)

    @cached_property
    def _known_rows(self) -> list[int]:
        return sorted(self.rows)

    @cached_property
    def _known_columns(self) -> list[int]:
        return sorted(self.columns)

    def is_users_cell(self, row: int, column: int) -> bool:
        """Whether a cell is in a line's row but in a column without a role or scenario, and so the user's."""
        return row in self.lines and column not in self.texts and column not in self.scenarios

    def has_same_positions(self, other: Matched) -> bool:
        """Whether every row and column is where it is in the other workbook."""
        return (self.rows, self.columns, self.columns_within) == (other.rows, other.columns, other.columns_within)

    @cached_property
    def place_of_case(self) -> dict[int, int]:
        """The index of each row's case in its table, from 0 at the top."""
        seen: Counter[Token] = Counter()
        places: dict[int, int] = {}
        for row in sorted(self.cases):
            places[row] = seen[self.cases[row]]
            seen[self.cases[row]] += 1
        return places

    @cached_property
    def ends_of_cases(self) -> dict[int, int]:
        """First row -> last row of each table of cases."""
        rows: dict[Token, list[int]] = defaultdict(list)
        for row in sorted(self.cases):
            rows[self.cases[row]].append(row)
        return {having[0]: having[-1] for having in rows.values()}


def _token(known: Mapping[int, Token], numbers: list[int], number: int) -> Token:
    at = bisect(numbers, number)
    last = numbers[at - 1] if at else 0
    return known[number] if last == number else ("blank", known.get(last), number - last)

"""Planner's tables with a record in each row: databases, a row for each id, and tables of cases."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from planner.book.sheet import SEARCHED, Sheet
from planner.xlsx.pattern import Pattern

LEAST_TITLES = 3
"""A row of fewer texts is no row of titles of a table of cases."""


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


def database(sheet: Sheet) -> Database | None:
    """The database on a sheet: a row of machine names that begins with `id`, below it the ids; None without one."""
    start = min((at for at, value in sheet.values.items() if value == "id" and at[0] <= SEARCHED), default=None)
    if start is None:
        return None
    header, first = start
    titles = ((sheet.text(header, column), column) for column in sheet.filled[header] if column >= first)
    columns = {title: column for title, column in titles if title}
    last = max(row for row, filled in sheet.filled.items() if first in filled)
    return Database(sheet, columns, last, header, first)


def case_tables(sheet: Sheet) -> list[CaseTable]:
    """The tables whose header is a row of texts with formulas in the row below it, as far as the next blank row."""
    return [_case_table(sheet, row) for row, columns in sheet.filled.items() if _has_cases_below(sheet, row, columns)]


def _has_cases_below(sheet: Sheet, row: int, columns: list[int]) -> bool:
    """Whether a row has the titles of a table of cases: texts from column A on, and formulas below them."""
    if len(columns) < LEAST_TITLES or columns[0] != 1:
        return False
    is_text = all(sheet.text(row, column) and (row, column) not in sheet.patterns for column in columns)
    return is_text and any((row + 1, column) in sheet.patterns for column in sheet.filled.get(row + 1, []))


def _case_table(sheet: Sheet, header_row: int) -> CaseTable:
    columns = {column: sheet.text(header_row, column) for column in sheet.filled[header_row]}
    rows, row = [], header_row + 1
    while row in sheet.filled:
        live = (sheet.patterns.get((row, column)) for column in sheet.filled[row])
        if not any(formula is not None and _is_total(formula) for formula in live):
            rows.append(row)
        row += 1
    chooses = next((column for column, title in columns.items() if title == "template"), None)
    groups: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        groups[sheet.text(row, chooses) if chooses else ""].append(row)
    return CaseTable(sheet, header_row, columns, tuple(rows), tuple(tuple(group) for group in groups.values()))


def _is_total(formula: Pattern) -> bool:
    """Whether a formula sums up the rows above it, and is no case's."""
    return any(
        not reference.sheet and reference.first.row != reference.last.row and not reference.last.row_fixed
        for reference in formula.references
    )

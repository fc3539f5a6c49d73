"""Planner's tables on a sheet, found by their titles: line items (a quantity per row), databases, tables of cases."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile

from planner.book.sheet import SEARCHED, Sheet
from planner.xlsx.address import Position
from planner.xlsx.pattern import Pattern

HEADER = ("scenario_id", "scenario_name", "model_id", "hardware_id")
"""The machine names of the rows that identify the scenario of each column."""

TITLES = ("Quantity", "Unit", "Name")
KINDS = {
    "Note": "inputs",
    "Formula in names": "calculation",
    "Check in names": "checks",
    "From": "dashboard",
    "Value": "working",
    "Read from": "constraints",
    "Constant": "constants",
}
"""What a table of line items is, by the title of its fourth column."""
BESIDE = ("working", "problem")
"""The kinds whose formulas in names are right of the value, and not in the fourth column."""

SECTIONS = {
    "inputs": ("Plan", "Overrides", "Constants"),
    "checks": ("Checks", "Missing", "Working", "Summary", "What fails"),
}
"""How planner's headings of sections begin, by kind of table; other texts are an analyst's own."""

MACHINE_NAME = re.compile(r"[a-z][a-z0-9_.]*")


@dataclass(frozen=True)
class LineItem:
    """A row that describes one quantity.

    `names` is its formula in names (on Inputs its note), `section` the heading above it, `note` the text of the next
    column.
    """

    row: int
    label: str
    unit: str
    name: str
    names: str
    section: str
    note: str = ""


@dataclass(frozen=True)
class Head:
    """The position of a line table's titles: the row, and the columns of the texts that describe a line.

    The fifth is 0 if the user deleted it.
    """

    row: int = 3
    label: int = 1
    unit: int = 2
    name: int = 3
    fourth: int = 4
    fifth: int = 5

    @property
    def texts(self) -> tuple[int, ...]:
        """The columns of the texts, from left to right."""
        return self.label, self.unit, self.name, self.fourth, *filter(None, [self.fifth])


@dataclass(frozen=True)
class LineTable:
    """A table of line items; `columns` hold the values, one for each scenario."""

    sheet: Sheet
    kind: str
    columns: tuple[int, ...]
    lines: tuple[LineItem, ...]
    head: Head = Head()

    @property
    def id_row(self) -> int:
        """The row of scenario ids."""
        line = self.by_name.get(HEADER[0])
        return line.row if line else self.head.row + 1

    @cached_property
    def by_name(self) -> dict[str, LineItem]:
        """The first line of each machine name."""
        return {line.name: line for line in reversed(self.lines) if line.name}

    def cells(self, line: LineItem) -> list[Position]:
        """The cells of a line's values."""
        return [(line.row, column) for column in self.columns]

    def section(self, title: str) -> dict[str, LineItem]:
        """The lines below headings that begin with `title`, by name."""
        return {line.name: line for line in self.lines if line.section.startswith(title)}


def line_table(sheet: Sheet) -> LineTable | None:
    """The line items of a sheet; None if no row has their titles."""
    found = _head(sheet)
    if found is None:
        return None
    kind, head = found
    ids = (row for row in sheet.filled if row > head.row and sheet.text(row, head.name) == HEADER[0])
    columns = (
        (head.fourth,) if kind == "working" else _scenario_columns(sheet, next(ids, head.row + 1), head.fourth + 1)
    )
    head = replace(head, fifth=0) if head.fifth in columns else head
    lines: list[LineItem] = []
    section = ""
    for row in sorted({row for row, column in sheet.values if column <= head.texts[-1] and row > head.row}):
        is_below = kind == "working" and bool(lines) and row > lines[-1].row + 1
        if is_below and are_titles(sheet.text(row, column) or None for column in sheet.filled.get(row, ())):
            break  # tables of cases begin here
        label, unit, name, fourth, fifth = (
            sheet.text(row, column) for column in (head.label, head.unit, head.name, head.fourth, head.fifth)
        )
        formula = sheet.patterns.get(
            (row, head.fourth)
        )  # its cached text may be missing; a link has a formula with ROW
        is_headline = bool(unit) and ("ROW" in formula.functions if formula else bool(fourth))
        if MACHINE_NAME.fullmatch(name) or (kind == "dashboard" and is_headline):
            lines.append(LineItem(row, label, unit, name, fifth if kind == "working" else fourth, section, fifth))
        elif label and not (unit or name or fourth) and label.startswith(SECTIONS.get(kind, "")):
            section = label
    return LineTable(sheet, kind, columns, tuple(lines), head)


def _head(sheet: Sheet) -> tuple[str, Head] | None:
    """The kind of a sheet's line table and its title row, skipping columns that an analyst inserted among them."""
    rows: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for (row, column), value in takewhile(lambda each: each[0][0] <= SEARCHED, sheet.values.items()):
        if value and isinstance(value, str):
            rows[row].append((column, value))
    for row, texts in sorted(rows.items()):
        if KINDS.keys().isdisjoint(text for _, text in texts):
            continue  # of nearly all rows no more need be known
        at = {text: column for column, text in sorted(texts, reverse=True)}
        title = min((title for title in KINDS if title in at), key=at.__getitem__, default=None)
        if title is None or not all(known in at for known in TITLES):
            continue
        described = [*(at[known] for known in TITLES), at[title]]
        fifth = min((column for column, _ in texts if column > at[title]), default=at[title] + 1)
        if described == sorted(described):
            label, unit, name, fourth = described
            return KINDS[title], Head(row, label, unit, name, fourth, fifth)
    return None


def are_titles(texts: Iterable[str | None]) -> bool:
    """Whether the cells of a row are texts, as the titles of a table are: "" is a blank cell, None no text."""
    filled = [text for text in texts if text != ""]
    return len(filled) >= len(TITLES) and None not in filled


def _scenario_columns(sheet: Sheet, row: int, first: int) -> tuple[int, ...]:
    """The columns with a scenario's id in this row, typed or as a formula.

    Scenarios are adjacent. After a gap, only a column with a model and a chip counts, as after a column of notes that
    an analyst inserted. A column without name, model and chip isn't a scenario if others have a model or a chip.
    """
    columns: list[int] = []
    filled = [column for column in sheet.filled.get(row, []) if column >= first]
    names, models, chips = (sheet.filled.get(row + at, []) for at in range(1, len(HEADER)))
    have_models = any(column in models or column in chips for column in filled)
    scenarios = {*names, *models, *chips} if have_models else {*filled}
    for column in (column for column in filled if column in scenarios):
        is_adjacent = not columns or column == columns[-1] + 1
        if is_adjacent or (column in models and column in chips):
            columns.append(column)
    return tuple(columns)


RUN_NAME = "run_name"  # the column of the table of runs that names a run's scenario
LEAST_TITLES = 3
"""The fewest texts of a table of cases' row of titles."""


@dataclass(frozen=True)
class Database:
    """A sheet with a row per id; `columns` maps machine names to columns."""

    sheet: Sheet
    columns: dict[str, int]
    last_row: int
    header_row: int = 5
    id_column: int = 1

    @property
    def first_row(self) -> int:
        """The first row with an id."""
        return self.header_row + 1

    @property
    def rows(self) -> range:
        """The rows with ids."""
        return range(self.first_row, self.last_row + 1)

    def repeated(self, places: Callable[[int], int] = int) -> Iterator[tuple[int, int, str]]:
        """Rows with the id of a row above, which lookups never reach: the row, the one above, the id as it is there.

        As in lookups, capitals don't count. `places` gives the row where a row will be.
        """
        seen: dict[str, int] = {}
        for at, row in sorted((places(row), row) for row in self.rows):
            identifier = self.sheet.text(row, self.id_column)
            first = seen.setdefault(identifier.lower(), at) if identifier else at
            if first != at:
                yield at, first, identifier


@dataclass(frozen=True)
class CaseTable:
    """A table with a case per row below a row of titles. Cases of the same template form a group."""

    sheet: Sheet
    header_row: int
    columns: dict[int, str]
    rows: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...] = field(default=())

    @property
    def is_of_runs(self) -> bool:
        """Whether it is the table of runs of the plan, whose rows name the scenario that was run."""
        return RUN_NAME in self.columns.values()


def database(sheet: Sheet) -> Database | None:
    """The database on a sheet, whose header row of machine names begins with `id`; None if there is none."""
    start = min((at for at, value in sheet.values.items() if value == "id" and at[0] <= SEARCHED), default=None)
    if start is None:
        return None
    header, first = start
    titles = ((sheet.text(header, column), column) for column in sheet.filled[header] if column >= first)
    columns = {title: column for title, column in titles if title}
    last = max(row for row, filled in sheet.filled.items() if first in filled)
    return Database(sheet, columns, last, header, first)


def case_tables(sheet: Sheet) -> list[CaseTable]:
    """The tables whose header is a row of texts with formulas in the row below it, or of machine names below labels.

    A table ends at a blank row, unless a row with the same formulas follows: then the blank row only separates cases.
    """
    return [_case_table(sheet, row) for row, columns in sheet.filled.items() if _heads_cases(sheet, row, columns)]


def _heads_cases(sheet: Sheet, row: int, columns: list[int]) -> bool:
    """Whether a row has the titles of a table of cases: texts from column A on, above formulas or below labels."""
    if len(columns) < LEAST_TITLES or columns[0] != 1:
        return False
    if not all(sheet.text(row, column) and (row, column) not in sheet.patterns for column in columns):
        return False
    if any((row + 1, column) in sheet.patterns for column in sheet.filled.get(row + 1, [])):
        return True
    is_machine_named = all(MACHINE_NAME.fullmatch(sheet.text(row, column)) for column in columns)
    return is_machine_named and sheet.filled.get(row - 1) == columns  # a table whose rows were all removed


def _case_table(sheet: Sheet, header_row: int) -> CaseTable:
    columns = {column: sheet.text(header_row, column) for column in sheet.filled[header_row]}
    rows, row = [], header_row + 1
    while row in sheet.filled or (row := _beyond_blanks(sheet, header_row + 1, row)):
        live = ((sheet.patterns.get((row, column)), column) for column in sheet.filled[row])
        if not any(formula is not None and _is_total(formula, header_row, row, column) for formula, column in live):
            rows.append(row)
        row += 1
    chooses = next((column for column, title in columns.items() if title == "template"), None)
    groups: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        groups[sheet.text(row, chooses) if chooses else ""].append(row)
    return CaseTable(sheet, header_row, columns, tuple(rows), tuple(tuple(group) for group in groups.values()))


def _beyond_blanks(sheet: Sheet, first: int, row: int) -> int:
    """The row after the blank ones from `row` on if it shares a formula with the table's first row; else 0."""
    last = max(sheet.filled)
    while row <= last and row not in sheet.filled:
        row += 1
    alike = ((sheet.patterns.get((first, column)), column) for column in sheet.filled.get(row, ()))
    return row if any(formula and formula is sheet.patterns.get((row, column)) for formula, column in alike) else 0


def _is_total(formula: Pattern, header_row: int, row: int, column: int) -> bool:
    """Whether a formula at `row` and `column` sums the rows above it, as that of a totals row.

    One that counts from the header's row on, as the number of a run does, belongs to a case.
    """
    return any(
        not reference.sheet
        and reference.first.row != reference.last.row
        and not reference.last.row_fixed
        and reference.area(row, column).top != header_row
        for reference in formula.references
    )

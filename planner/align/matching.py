"""Gives the rows and columns of one sheet of two workbooks common tokens, so that equal ones have equal tokens.

A quantity's row and a column have their key (`planner.align.keys`) as token, a database's row its id, a case its name.
Headings and rows without a name are aligned by content, as the lines of two texts in a diff.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from typing import NamedTuple

from planner.align.keys import SCENARIO, keyed_lines, keyed_records
from planner.book.plan import Plan
from planner.book.rowkeys import unique
from planner.book.sheet import Sheet
from planner.book.tables import RUN_NAME, CaseTable, Database, LineItem, LineTable
from planner.workbook.memory import memory_rows
from planner.xlsx.cellvalue import Value, is_number

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


def matched(old: Plan, new: Plan, sheet: Sheet, other: Sheet, scenarios: Mapping[str, str]) -> tuple[Matched, Matched]:
    """The sheet in both workbooks, with common tokens; `scenarios` maps old scenario keys to new ones.

    A table whose row of titles one of them has lost is compared by content.
    """
    one, two = Matched(sheet), Matched(other)
    tables, others = _tables(old, sheet), _tables(new, other)
    if tables.keys() - others.keys() and others.keys() - tables.keys():
        tables, others = _titled_alike(tables, others)
    kinds = _kinds(old, sheet) & _kinds(new, other)
    fewest = min(filter(None, (tables, others)), key=len, default={})
    _name(one, old, {key: key for key in old.by_key}, kinds, tables, fewest)
    _name(two, new, {there: here for here, there in scenarios.items()}, kinds, others, fewest)
    if not (one.rows and two.rows):
        one, two = Matched(sheet), Matched(other)
    _align(one, two, by_row=True)
    _align(one, two, by_row=False)
    return one, two


def alone(plan: Plan, sheet: Sheet) -> Matched:
    """A sheet without a counterpart, with tokens of its own."""
    found = Matched(sheet)
    tables = _tables(plan, sheet)
    _name(found, plan, {key: key for key in plan.by_key}, _kinds(plan, sheet), tables, tables)
    for number in found.filled_rows:
        found.rows.setdefault(number, ("own", number))
    for number in found.filled_columns:
        found.columns.setdefault(number, ("own", number))
    return found


Cases = Mapping[str, CaseTable]
"""The tables of cases, and of runs, on a sheet, each by the title of its first column."""


def _tables(plan: Plan, sheet: Sheet) -> Cases:
    """The tables of cases, and of runs, on a sheet, each by the title of its first column."""
    tables = [table for table in plan.book.cases if table.sheet is sheet]
    keys = unique(dict(enumerate(table.columns[min(table.columns)] for table in tables)))
    return {keys[number]: table for number, table in enumerate(tables)}


def _titled_alike(tables: Cases, others: Cases) -> tuple[Cases, Cases]:
    """The tables of cases that have equal titles in both workbooks, each under its key in the old one."""
    by_titles = {tuple(each.columns.values()): each for each in others.values()}
    titles = {key: tuple(each.columns.values()) for key, each in tables.items()}
    both = [key for key in tables if titles[key] in by_titles]
    return {key: tables[key] for key in both}, {key: by_titles[titles[key]] for key in both}


def _kinds(plan: Plan, sheet: Sheet) -> set[str]:
    """The kinds of the tables of lines and of the database on a sheet."""
    book = plan.book
    lines = {table.kind for table in (book.inputs, *book.lines) if table.sheet is sheet}
    return lines | {kind for kind, database in book.databases.items() if database.sheet is sheet}


def _name(
    found: Matched, plan: Plan, keys: Mapping[str, str], kinds: Collection[str], tables: Cases, fewest: Collection[str]
) -> None:
    """Give rows and columns of planner's tables their tokens; `keys` maps a scenario's key to its old one.

    `kinds` are those of the tables of lines and of the database that count, `tables` the tables of cases. `fewest` are
    the tables of cases on the sheet in the workbook that has fewer of them, if any. If there is only one, its columns
    are the sheet's in both workbooks, even if another table, such as that of runs, was added or removed.
    """
    book, sheet = plan.book, found.sheet
    for table in (book.inputs, *book.lines):
        if table.sheet is sheet and table.kind in kinds:
            _name_lines(found, plan, table, keys)
    for kind, database in book.databases.items():
        if database.sheet is sheet and kind in kinds:
            _name_records(found, kind, database)
    for key, cases in tables.items():
        _name_cases(found, plan, cases, key, is_alone=[key] == list(fewest))


def _name_lines(found: Matched, plan: Plan, table: LineTable, keys: Mapping[str, str]) -> None:
    known = keyed_lines(plan.book, table, table.kind)
    inputs, standard = plan.book.inputs, plan.book.numbers.standard
    for line in table.lines:
        found.names[line.row] = known.rows[line.row] if table.kind == "problem" else line.name or line.label
        found.lines[line.row] = table, line
    found.rows |= {row: key for row, key in known.rows.items() if row in found.lines}
    found.rows[table.head.row] = "titles"
    found.texts |= {column: key for column, key in known.columns.items() if column not in known.scenario_columns}
    found.columns |= found.texts
    scenarios = {f"{SCENARIO}{standard(inputs.sheet.name, each.column)}": each.key for each in plan.scenarios}
    for column, number in known.scenario_columns.items():
        if key := scenarios.get(number):
            found.columns[column] = ("scenario", keys.get(key, f"new {key}"))
            found.scenarios[column] = keys.get(key, key)


def _name_records(found: Matched, kind: str, database: Database) -> None:
    known = keyed_records(kind, database)
    for row, key in known.rows.items():
        if row > database.header_row:
            found.rows[row], found.names[row] = key, str(found.sheet.value(row, database.id_column))
            found.cases[row] = kind
    found.rows[database.header_row] = "titles"
    found.titles |= known.columns
    found.columns |= known.columns


def _name_cases(found: Matched, plan: Plan, cases: CaseTable, table: str, *, is_alone: bool) -> None:
    """Name the rows of a table of cases, and its columns by their titles.

    `table` distinguishes it from other tables of the sheet; a single table names the sheet's columns unless lines do.
    """
    titles, sheet = cases.columns, found.sheet
    at = {name: column for column, name in titles.items()}
    label = at.get("case_label", min(titles))
    names = {row: _called(titles[label], plan.at(sheet.name, row, label)) for row in cases.rows}
    found.names |= _told_apart(plan, cases, at, names)
    run = {row: sheet.text(row, at["run_id"]) for row in cases.rows} if cases.is_of_runs and "run_id" in at else {}
    found.rows |= unique({row: f"case {table} {name}{run.get(row, '')}" for row, name in names.items()})
    found.cases |= dict.fromkeys(cases.rows, table)
    found.rows[cases.header_row] = f"titles of cases {table}"
    if is_alone and not found.texts:
        found.titles = titles | found.titles
        found.columns = titles | found.columns
        return
    labels = cases.header_row - 1
    heads = [cases.header_row]
    if labels not in found.rows and _has_labels(cases):
        found.rows[labels] = f"labels of cases {table}"
        heads.append(labels)
    within = {column: Within(table, title) for column, title in unique(titles).items()}
    found.columns_within |= dict.fromkeys((*heads, *cases.rows), within)


def _told_apart(plan: Plan, cases: CaseTable, at: Mapping[str, int], names: dict[int, str]) -> dict[int, str]:
    """The names of cases for readers: one that several have with the chip, a run's with the scenario."""

    def text(row: int, title: str) -> str:
        return str(plan.at(cases.sheet.name, row, at[title]) or "") if title in at else ""

    if cases.is_of_runs:
        return unique({row: ", ".join(filter(None, (text(row, RUN_NAME), name))) for row, name in names.items()})
    having = Counter(names.values())
    chips = {row: text(row, "hardware_id") for row, name in names.items() if having[name] > 1}
    return {row: f"{name} on {chips[row]}" if chips.get(row) else name for row, name in names.items()}


def _called(title: str, value: Value) -> str:
    """The name of a case: its text, or its number with the column's title."""
    return f"{title} {value:.15g}" if is_number(value) else "" if value is None else str(value)


def _has_labels(cases: CaseTable) -> bool:
    """Whether the row above a table's titles has only labels, each above a title."""
    row = cases.header_row - 1
    filled = cases.sheet.filled.get(row, ())
    return len(filled) > 1 and all(column in cases.columns and cases.sheet.text(row, column) for column in filled)


def _align(one: Matched, two: Matched, *, by_row: bool) -> None:
    """Give unnamed rows (or columns) equal tokens on both sides where their contents match."""
    ours, theirs = (list(_unnamed(side, by_row=by_row)) for side in (one, two))
    known, also = (side.rows if by_row else side.columns for side in (one, two))
    known.update({number: ("own", number) for number, _ in ours})
    added: Numbered = []
    for here, there, is_paired in _blocks(ours, theirs):
        if is_paired:
            also.update({other: ("own", number) for (number, _), (other, _) in zip(here, there, strict=True)})
        else:
            _pair(here, there, also)
            added += ((other, text) for other, text in there if other not in also)
    kept = set(also.values())
    _pair_moved([each for each in ours if known[each[0]] not in kept], added, also)
    also.update({other: ("added", other) for other, _ in added if other not in also})


Numbered = list[tuple[int, str]]
"""Rows or columns: number and content as one text."""


def _blocks(ours: Numbered, theirs: Numbered) -> Iterator[tuple[Numbered, Numbered, bool]]:
    """Both lists cut into the blocks of a diff, with whether the entries of a block pair up one to one."""
    texts, others = ([text for _, text in numbered] for numbered in (ours, theirs))
    if texts == others:
        yield ours, theirs, True
        return
    matcher = SequenceMatcher(None, texts, others, autojunk=False)
    for how, start, stop, other_start, other_stop in matcher.get_opcodes():
        here, there = ours[start:stop], theirs[other_start:other_stop]
        yield here, there, how == "equal" or (how == "replace" and len(here) == len(there))


def _pair(here: Numbered, there: Numbered, also: dict[int, Token]) -> None:
    """Pair rows of two blocks of different lengths whose first cell is equal: lines of which a number changed."""
    waiting: dict[str, list[int]] = defaultdict(list)
    for number, text in here:
        waiting[text.split("\t")[0]].append(number)
    for other, text in there:
        if numbers := waiting.get(text.split("\t")[0]):
            also[other] = ("own", numbers.pop(0))


def _pair_moved(gone: Numbered, added: Numbered, also: dict[int, Token]) -> None:
    """Pair removed and added rows of equal content, where it is unique on both sides: such a row was moved."""
    counts = [Counter(text for _, text in each) for each in (gone, added)]
    before = {text: number for number, text in gone if counts[0][text] == counts[1][text] == 1}
    also.update({number: ("own", before[text]) for number, text in added if text in before})


def _unnamed(side: Matched, *, by_row: bool) -> Iterator[tuple[int, str]]:
    """Yields each row (or column) that has content but no token, with its content as one text."""
    sheet, known = side.sheet, side.rows if by_row else side.columns
    if all(number in known for number in (side.filled_rows if by_row else side.filled_columns)):
        return
    contents: dict[int, list[str]] = defaultdict(list)
    for at in sorted(side.filled):
        number = at[0] if by_row else at[1]
        if number not in known and (by_row or at[1] not in side.columns_within.get(at[0], ())):
            contents[number].append("=" if at in sheet.patterns else str(sheet.value(*at)))
    for area in side.arrays:
        numbers = area.rows if by_row else area.columns
        for number in (number for number in numbers if number not in known):
            contents[number].append(f"={number - numbers[0]}")
    for number in sorted(contents):
        yield number, "\t".join(contents[number])

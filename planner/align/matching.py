"""A sheet of two workbooks, with the rows and columns of both under the same tokens.

The token of a quantity's row or of a column is its key (`planner.align.keys`), that of a database's
row its id, that of a case what it is called. A heading and what has no name are aligned by what they
hold, as the lines of two texts are.
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
from planner.book.tables import CaseTable, Database, LineItem, LineTable
from planner.workbook.memory import memory_rows
from planner.xlsx.cellvalue import Value, is_number

Token = Hashable
BEYOND = ("beyond",)
"""The token of every row or column behind the last one that holds something."""


class Within(NamedTuple):
    """The token of a column of one of several tables of a sheet."""

    table: str
    title: str


@dataclass
class Matched:
    """A sheet of one workbook with the tokens of its rows and columns, which are the same in the other workbook.

    By column, `scenarios` are those of scenarios, `texts` say which text of a line stands there, and
    `titles` are those of a database or of cases. By row, `names` are what it is called, `lines`
    planner's own with their tables, and `cases` the table of cases, or the database, that it belongs to;
    `columns_within` are the columns of that table, where its sheet has others with other columns.
    `filled` are the cells that hold something; rows in which a workbook remembers what planner wrote
    are not among them, nor what a formula of another cell filled in, `results`: a program may have saved it or not.
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
        """A row's token."""
        return self.rows.get(number, BEYOND if number > self.last_row else ("blank row",))

    def column(self, number: int, row: int) -> Token:
        """The token of a column as a row has it."""
        known = self.columns_of(row)
        return known.get(number, BEYOND if number > self.last_column else ("blank column",))

    def columns_of(self, row: int) -> Mapping[int, Token]:
        """The tokens of a row's columns: those of its table, and of the sheet where that has none."""
        within = self.columns_within.get(row)
        return {**self.columns, **within} if within else self.columns

    def title(self, row: int, column: int) -> str | None:
        """The title of a database's or a table's column in one of its rows; None elsewhere."""
        within = self.columns_within.get(row, {}).get(column)
        return within.title if within else self.titles.get(column)

    def exact_row(self, number: int) -> Token:
        """A row's token; of a blank row, how far it is below the last one that has one."""
        return _token(self.rows, self._known_rows, number)

    def exact_column(self, number: int, row: int) -> Token:
        """The same of a column as a row has it."""
        within = self.columns_within.get(row, {}).get(number)
        return within or _token(self.columns, self._known_columns, number)

    @cached_property
    def _known_rows(self) -> list[int]:
        return sorted(self.rows)

    @cached_property
    def _known_columns(self) -> list[int]:
        return sorted(self.columns)

    def is_beside(self, row: int, column: int) -> bool:
        """Whether a cell is beside planner's lines, in a column that has no title or scenario: a person's."""
        return row in self.lines and column not in self.texts and column not in self.scenarios

    def stands_as(self, other: Matched) -> bool:
        """Whether every row and every column is where it is in the other workbook."""
        return (self.rows, self.columns, self.columns_within) == (other.rows, other.columns, other.columns_within)

    @cached_property
    def place_of_case(self) -> dict[int, int]:
        """Which case of its table each row with a case is, counted from the top."""
        seen: Counter[Token] = Counter()
        places: dict[int, int] = {}
        for row in sorted(self.cases):
            places[row] = seen[self.cases[row]]
            seen[self.cases[row]] += 1
        return places

    @cached_property
    def ends_of_cases(self) -> dict[int, int]:
        """The first row of each table of cases, with its last one."""
        rows: dict[Token, list[int]] = defaultdict(list)
        for row in sorted(self.cases):
            rows[self.cases[row]].append(row)
        return {having[0]: having[-1] for having in rows.values()}


def _token(known: Mapping[int, Token], numbers: list[int], number: int) -> Token:
    at = bisect(numbers, number)
    last = numbers[at - 1] if at else 0
    return known[number] if last == number else ("blank", known.get(last), number - last)


def matched(old: Plan, new: Plan, sheet: Sheet, other: Sheet, scenarios: Mapping[str, str]) -> tuple[Matched, Matched]:
    """A sheet that both workbooks have, of each; `scenarios` maps the old keys of scenarios to the new."""
    one, two = Matched(sheet), Matched(other)
    fewest = min(filter(None, (_tables(old, sheet), _tables(new, other))), key=len, default={})
    _name(one, old, {key: key for key in old.by_key}, fewest)
    _name(two, new, {there: here for here, there in scenarios.items()}, fewest)
    _align(one, two, by_row=True)
    _align(one, two, by_row=False)
    return one, two


def alone(plan: Plan, sheet: Sheet) -> Matched:
    """A sheet of a workbook that is compared with none."""
    found = Matched(sheet)
    _name(found, plan, {key: key for key in plan.by_key}, _tables(plan, sheet))
    for number in found.filled_rows:
        found.rows.setdefault(number, ("own", number))
    for number in found.filled_columns:
        found.columns.setdefault(number, ("own", number))
    return found


def _tables(plan: Plan, sheet: Sheet) -> dict[str, CaseTable]:
    """The tables of cases, and of runs, on a sheet, each by the title of its first column."""
    tables = [table for table in plan.book.cases if table.sheet is sheet]
    keys = unique(dict(enumerate(table.columns[min(table.columns)] for table in tables)))
    return {keys[number]: table for number, table in enumerate(tables)}


def _name(found: Matched, plan: Plan, keys: Mapping[str, str], fewest: Collection[str]) -> None:
    """The tokens that planner's own tables give; `keys` says what a scenario was called before.

    `fewest` are the tables of cases on the sheet in the workbook that has fewer of them, if any: the columns of one
    that is alone there are the sheet's in both, also beside a table that came or went, as that of runs.
    """
    book, sheet = plan.book, found.sheet
    for table in (book.inputs, *book.lines):
        if table.sheet is sheet:
            _name_lines(found, plan, table, keys)
    for kind, database in book.databases.items():
        if database.sheet is sheet:
            _name_records(found, kind, database)
    for key, cases in _tables(plan, sheet).items():
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
    """A case is called by the first text of its row, or the first title and its number; columns by their titles.

    `table` tells it from others of the sheet; a table alone gives the sheet's columns their tokens, if lines don't.
    """
    titles, sheet = cases.columns, found.sheet
    label = next((column for column, name in titles.items() if name == "case_label"), min(titles))
    names = {row: _called(titles[label], plan.at(sheet.name, row, label)) for row in cases.rows}
    found.names |= names
    found.rows |= unique({row: f"case {table} {name}" for row, name in names.items()})
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


def _called(title: str, value: Value) -> str:
    """What a case is called: its text; a number with what it is of."""
    return f"{title} {value:.15g}" if is_number(value) else "" if value is None else str(value)


def _has_labels(cases: CaseTable) -> bool:
    """Whether the row above the titles of a table has a text for some of its columns and nothing else."""
    row = cases.header_row - 1
    filled = cases.sheet.filled.get(row, ())
    return len(filled) > 1 and all(column in cases.columns and cases.sheet.text(row, column) for column in filled)


def _align(one: Matched, two: Matched, *, by_row: bool) -> None:
    """Give rows or columns without a name the same token on both sides where they hold the same."""
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
"""Rows or columns by number, each with what it holds as one text."""


def _blocks(ours: Numbered, theirs: Numbered) -> Iterator[tuple[Numbered, Numbered, bool]]:
    """Both lists cut where they begin and cease to be alike, and whether the rows of a block are pairs."""
    texts, others = ([text for _, text in numbered] for numbered in (ours, theirs))
    if texts == others:
        yield ours, theirs, True
        return
    matcher = SequenceMatcher(None, texts, others, autojunk=False)
    for how, start, stop, other_start, other_stop in matcher.get_opcodes():
        here, there = ours[start:stop], theirs[other_start:other_stop]
        yield here, there, how == "equal" or (how == "replace" and len(here) == len(there))


def _pair(here: Numbered, there: Numbered, also: dict[int, Token]) -> None:
    """Pair rows of two blocks of different length that begin alike: a line whose number was changed."""
    waiting: dict[str, list[int]] = defaultdict(list)
    for number, text in here:
        waiting[text.split("\t")[0]].append(number)
    for other, text in there:
        if numbers := waiting.get(text.split("\t")[0]):
            also[other] = ("own", numbers.pop(0))


def _pair_moved(gone: Numbered, added: Numbered, also: dict[int, Token]) -> None:
    """Pair what is gone with what came elsewhere and holds the same, where that is in no other: it was moved."""
    counts = [Counter(text for _, text in each) for each in (gone, added)]
    before = {text: number for number, text in gone if counts[0][text] == counts[1][text] == 1}
    also.update({number: ("own", before[text]) for number, text in added if text in before})


def _unnamed(side: Matched, *, by_row: bool) -> Iterator[tuple[int, str]]:
    """Each row or column without a token that holds something, and what it holds as one text."""
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

"""Rows and columns of a sheet in two workbooks under the same tokens, wherever they stand in each.

A row of planner's tables has its machine name for a token, a scenario's column the scenario, a database's row its id.
What has no name is aligned by what it holds, as the lines of two texts are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property

from planner.align.keys import memory_rows
from planner.book.line_tables import BESIDE, LineItem, LineTable
from planner.book.plan import Plan
from planner.book.problem_book import GIVEN_COLUMN, problem_of
from planner.book.record_tables import CaseTable
from planner.book.sheet import Sheet

Token = Hashable
BEYOND = ("beyond",)
"""The token of every row or column behind the last one that holds something."""


@dataclass
class Matched:
    """A sheet of one workbook with the tokens of its rows and columns, which are the same in the other workbook.

    `scenarios` are the tokens of scenario columns, `names` what rows are called, `lines` planner's own lines by row,
    each with its table, and `cases` the number of the table of cases that a row belongs to. `filled` are the cells that
    hold something; rows in which a workbook remembers what planner wrote are not among them.
    """

    sheet: Sheet
    rows: dict[int, Token] = field(default_factory=dict)
    columns: dict[int, Token] = field(default_factory=dict)
    scenarios: dict[int, str] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    lines: dict[int, tuple[LineTable, LineItem]] = field(default_factory=dict)
    cases: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sheet, patterns = self.sheet, self.sheet.patterns
        cells = {at: None for at, cell in sheet.cells.items() if at in patterns or cell.value not in (None, "")}
        memory = frozenset(memory_rows(sheet, (row for row, column in cells if column == 1)))
        self.filled = {at: None for at in cells if at[0] not in memory} if memory else cells
        self.filled_rows = sorted({row for row, _ in self.filled})
        self.filled_columns = sorted({column for _, column in self.filled})
        self.last_row = max(self.filled_rows, default=0)
        self.last_column = max(self.filled_columns, default=0)

    def row(self, number: int) -> Token:
        """A row's token."""
        return self.rows.get(number, BEYOND if number > self.last_row else ("blank row",))

    def column(self, number: int) -> Token:
        """A column's token."""
        return self.columns.get(number, BEYOND if number > self.last_column else ("blank column",))

    def stands_as(self, other: Matched) -> bool:
        """Whether every row and every column is where it is in the other workbook."""
        return (self.rows, self.columns) == (other.rows, other.columns)

    @cached_property
    def place_of_case(self) -> dict[int, int]:
        """Which case of its table each row with a case is, counted from the top."""
        seen: Counter[int] = Counter()
        places: dict[int, int] = {}
        for row in sorted(self.cases):
            places[row] = seen[self.cases[row]]
            seen[self.cases[row]] += 1
        return places

    def put(self, tokens: Iterable[tuple[int, tuple[str, str]]]) -> None:
        """Tokens of rows, each with the row's name behind; the second of the same token is numbered."""
        seen: Counter[tuple[str, str]] = Counter()
        for row, token in tokens:
            seen[token] += 1
            self.rows[row] = (*token, seen[token])
            self.names[row] = token[1]


def matched(old: Plan, new: Plan, sheet: Sheet, other: Sheet, scenarios: Mapping[str, str]) -> tuple[Matched, Matched]:
    """A sheet that both workbooks have, of each; `scenarios` maps the old keys of scenarios to the new."""
    one, two = Matched(sheet), Matched(other)
    _name(one, old, {key: key for key in old.by_key})
    _name(two, new, {there: here for here, there in scenarios.items()})
    _align(one, two, by_row=True)
    _align(one, two, by_row=False)
    return one, two


def alone(plan: Plan, sheet: Sheet) -> Matched:
    """A sheet of a workbook that is compared with none."""
    found = Matched(sheet)
    _name(found, plan, {key: key for key in plan.by_key})
    for number in found.filled_rows:
        found.rows.setdefault(number, ("own", number))
    for number in found.filled_columns:
        found.columns.setdefault(number, ("own", number))
    return found


def _name(found: Matched, plan: Plan, keys: Mapping[str, str]) -> None:
    """The tokens that planner's own tables give; `keys` says what a scenario was called before."""
    book, sheet = plan.book, found.sheet
    for table in (book.inputs, *book.lines):
        if table.sheet is sheet:
            _name_lines(found, table)
            if table.kind not in BESIDE:
                _name_scenarios(found, plan, table, keys)
    for title, database in book.databases.items():
        if database.sheet is sheet:
            found.columns |= {column: ("column", name) for name, column in database.columns.items()}
            ids = ((row, sheet.value(row, database.id_column))
                   for row in range(database.first_row, database.last_row + 1))  # fmt: skip
            found.put((row, ("id", str(known))) for row, known in ids if known not in (None, ""))
            found.rows[database.header_row] = ("titles", title)
    for number, cases in enumerate(table for table in book.cases if table.sheet is sheet):
        _name_cases(found, plan, cases, number)


def _name_lines(found: Matched, table: LineTable) -> None:
    is_problem = table.kind == "problem"
    called = {line.row: f"{problem_of(line)}.{line.name}" if is_problem else line.name or line.label
              for line in table.lines}  # fmt: skip
    found.put((row, ("line", name)) for row, name in called.items())
    found.lines |= {line.row: (table, line) for line in table.lines}
    found.rows[table.head.row] = ("titles", table.kind)
    texts = ("label", "unit", "name", "fourth", "fifth")
    found.columns |= {column: ("text", text) for column, text in zip(table.head.texts, texts, strict=True)}
    if is_problem:
        found.columns[GIVEN_COLUMN] = ("text", "given")


def _name_scenarios(found: Matched, plan: Plan, table: LineTable, keys: Mapping[str, str]) -> None:
    inputs, standard = plan.book.inputs.sheet.name, plan.book.numbers.standard
    key_of = {standard(inputs, scenario.column): scenario.key for scenario in plan.scenarios}
    for column in table.columns:
        key = key_of.get(standard(table.sheet.name, column), "")
        if key:
            found.columns[column] = ("scenario", keys.get(key, f"new {key}"))
            found.scenarios[column] = keys.get(key, key)


def _name_cases(found: Matched, plan: Plan, cases: CaseTable, number: int) -> None:
    """A case is called by the first text of its row; a sheet with one such table has columns by their titles."""
    titles, sheet = cases.columns, found.sheet
    label = next((column for column, name in titles.items() if name == "case_label"), min(titles))
    labels = ((row, plan.at(sheet.name, row, label)) for row in cases.rows)
    found.put((row, (f"case {number}", "" if value is None else str(value))) for row, value in labels)
    found.cases |= dict.fromkeys(cases.rows, number)
    found.rows[cases.header_row] = ("titles", f"cases {number}")
    if not any(token[0] == "text" for token in found.columns.values() if isinstance(token, tuple)):
        for column, name in titles.items():
            found.columns.setdefault(column, ("column", name))


def _align(one: Matched, two: Matched, *, by_row: bool) -> None:
    """Give rows or columns without a name the same token on both sides where they hold the same."""
    ours, theirs = (list(_unnamed(side, by_row=by_row)) for side in (one, two))
    known, also = (side.rows if by_row else side.columns for side in (one, two))
    for here, there, is_paired in _blocks(ours, theirs):
        for number, _ in here:
            known[number] = ("own", number)
        if is_paired:
            also.update({other: ("own", number) for (number, _), (other, _) in zip(here, there, strict=True)})
        else:
            _pair(here, there, also)
            for other, _ in there:
                also.setdefault(other, ("added", other))


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


def _unnamed(side: Matched, *, by_row: bool) -> Iterator[tuple[int, str]]:
    """Each row or column without a token that holds something, and what it holds as one text."""
    sheet, known = side.sheet, side.rows if by_row else side.columns
    if all(number in known for number in (side.filled_rows if by_row else side.filled_columns)):
        return
    contents: dict[int, list[str]] = defaultdict(list)
    for at in sorted(side.filled):
        number = at[0] if by_row else at[1]
        if number not in known:
            contents[number].append("=" if at in sheet.patterns else str(sheet.value(*at)))
    for number in sorted(contents):
        yield number, "\t".join(contents[number])

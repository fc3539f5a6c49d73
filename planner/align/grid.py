"""Rows and columns of a sheet in two workbooks under the same tokens, wherever they stand in each.

A row of planner's tables has its machine name for a token, a scenario's column the scenario, a database's row its id.
What has no name is aligned by what it holds, as the lines of two texts are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from planner.book.line_tables import BESIDE, LineItem, LineTable
from planner.book.plan import Plan
from planner.book.problem_book import GIVEN_COLUMN, problem_of
from planner.book.record_tables import CaseTable
from planner.book.sheet import Sheet
from planner.book.workbook import Book
from planner.xlsx.cellvalue import Value

Token = Hashable
BEYOND = ("beyond",)
"""The token of every row or column behind the last one that holds something."""


@dataclass
class Side:
    """One workbook's tokens of a sheet: by row and by column; `scenarios` are the tokens of scenario columns.

    `lines` are planner's own lines by row, each with its table.
    """

    sheet: Sheet
    rows: dict[int, Token] = field(default_factory=dict)
    columns: dict[int, Token] = field(default_factory=dict)
    scenarios: dict[int, str] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    lines: dict[int, tuple[LineTable, LineItem]] = field(default_factory=dict)

    def row(self, number: int) -> Token:
        """A row's token."""
        return self.rows.get(number, BEYOND if number > self.last_row else ("blank row",))

    def column(self, number: int) -> Token:
        """A column's token."""
        return self.columns.get(number, BEYOND if number > self.last_column else ("blank column",))

    def place_of_case(self, number: int) -> int | None:
        """Which case of its table a row is, counted from the top; None for a row that is no case."""
        table = self._table(number)
        return sum(other < number and self._table(other) == table for other in self.rows) if table else None

    def _table(self, number: int) -> str:
        token = self.rows.get(number)
        is_case = isinstance(token, tuple) and str(token[0]).startswith("case ")
        return str(token[0]) if isinstance(token, tuple) and is_case else ""

    def __post_init__(self) -> None:
        filled = [at for at in self.sheet.cells if is_filled(self.sheet, *at)]
        self.filled_rows = sorted({row for row, _ in filled})
        self.filled_columns = sorted({column for _, column in filled})
        self.last_row = max(self.filled_rows, default=0)
        self.last_column = max(self.filled_columns, default=0)


def is_filled(sheet: Sheet, row: int, column: int) -> bool:
    """Whether a cell holds a formula or a value."""
    return (row, column) in sheet.patterns or sheet.value(row, column) not in (None, "")


def sides(old: Plan, new: Plan, sheet: Sheet, other: Sheet, scenarios: Mapping[str, str]) -> tuple[Side, Side]:
    """The two sides of a sheet that both workbooks have; `scenarios` maps the old keys of scenarios to the new."""
    one, two = Side(sheet), Side(other)
    _name(one, old, {key: key for key in old.by_key})
    _name(two, new, {there: here for here, there in scenarios.items()})
    _align(one, two, by_row=True)
    _align(one, two, by_row=False)
    return one, two


def alone(plan: Plan, sheet: Sheet) -> Side:
    """The side of a sheet that only one workbook has."""
    side = Side(sheet)
    _name(side, plan, {key: key for key in plan.by_key})
    for number in side.filled_rows:
        side.rows.setdefault(number, ("own", number))
    for number in side.filled_columns:
        side.columns.setdefault(number, ("own", number))
    return side


def _name(side: Side, plan: Plan, keys: Mapping[str, str]) -> None:
    """The tokens that planner's own tables give; `keys` says what a scenario was called before."""
    book, sheet = plan.book, side.sheet
    for table in (book.inputs, *book.lines):
        if table.sheet is sheet:
            _name_lines(side, plan, table, keys)
    for title, database in book.databases.items():
        if database.sheet is sheet:
            side.columns |= {column: ("column", name) for name, column in database.columns.items()}
            ids = {
                row: sheet.value(row, database.id_column) for row in range(database.first_row, database.last_row + 1)
            }
            _put(side, ((row, ("id", str(found))) for row, found in ids.items() if found not in (None, "")))
            side.rows[database.header_row] = ("titles", title)
    for number, cases in enumerate(found for found in book.cases if found.sheet is sheet):
        _name_cases(side, book, cases, number)


def _put(side: Side, tokens: Iterable[tuple[int, tuple[str, str]]]) -> None:
    """Tokens of rows, of which the second of the same name is numbered."""
    seen: Counter[tuple[str, str]] = Counter()
    for row, token in tokens:
        seen[token] += 1
        side.rows[row] = (*token, seen[token])
        side.names[row] = token[1]


def _name_lines(side: Side, plan: Plan, table: LineTable, keys: Mapping[str, str]) -> None:
    called = _in_problem if table.kind == "problem" else _in_table
    _put(side, ((line.row, ("line", called(line))) for line in table.lines))
    side.lines |= {line.row: (table, line) for line in table.lines}
    side.rows[table.head.row] = ("titles", table.kind)
    texts = ("label", "unit", "name", "fourth", "fifth")
    side.columns |= {column: ("text", text) for column, text in zip(table.head.texts, texts, strict=True)}
    if table.kind == "problem":
        side.columns[GIVEN_COLUMN] = ("text", "given")
    if table.kind in BESIDE:
        return
    names = {scenario.column: scenario.key for scenario in plan.scenarios}
    inputs = plan.book.inputs
    back = {plan.book.numbers.standard(inputs.sheet.name, column): key for column, key in names.items()}
    for column in table.columns:
        key = back.get(plan.book.numbers.standard(table.sheet.name, column), "")
        if key:
            side.columns[column] = ("scenario", keys.get(key, f"new {key}"))
            side.scenarios[column] = keys.get(key, key)


def _in_table(line: LineItem) -> str:
    return line.name or line.label


def _in_problem(line: LineItem) -> str:
    return f"{problem_of(line)}.{line.name}"


def _name_cases(side: Side, book: Book, cases: CaseTable, number: int) -> None:
    """A case is called by the first text of its row; a sheet with one such table has columns by their titles."""
    sheet = side.sheet
    first = min(cases.columns)
    titles = cases.columns
    label = next((column for column, name in titles.items() if name == "case_label"), first)

    def called(row: int) -> str:
        value: Value = book.value(sheet.name, row, label)
        return "" if value is None else str(value)

    _put(side, ((row, (f"case {number}", called(row))) for row in cases.rows))
    side.rows[cases.header_row] = ("titles", f"cases {number}")
    if not any(token[0] == "text" for token in side.columns.values() if isinstance(token, tuple)):
        for column, name in titles.items():
            side.columns.setdefault(column, ("column", name))


def _align(one: Side, two: Side, *, by_row: bool) -> None:
    """Give rows or columns without a name the same token on both sides where they hold the same."""
    ours, theirs = (list(_unnamed(side, by_row=by_row)) for side in (one, two))
    known, also = (side.rows if by_row else side.columns for side in (one, two))
    matcher = SequenceMatcher(None, [text for _, text in ours], [text for _, text in theirs], autojunk=False)
    for how, start, stop, other_start, other_stop in matcher.get_opcodes():
        here, there = ours[start:stop], theirs[other_start:other_stop]
        for number, _ in here:
            known[number] = ("own", number)
        if how == "equal" or (how == "replace" and len(here) == len(there)):
            for (number, _), (other, _) in zip(here, there, strict=True):
                also[other] = ("own", number)
        else:
            _pair(here, there, also)
            for other, _ in there:
                also.setdefault(other, ("added", other))


def _pair(here: list[tuple[int, str]], there: list[tuple[int, str]], also: dict[int, Token]) -> None:
    """Pair rows of two blocks of different length that begin alike: a line whose number was changed."""
    waiting: dict[str, list[int]] = defaultdict(list)
    for number, text in here:
        waiting[text.split("\t")[0]].append(number)
    for other, text in there:
        if numbers := waiting.get(text.split("\t")[0]):
            also[other] = ("own", numbers.pop(0))


def _unnamed(side: Side, *, by_row: bool) -> Iterator[tuple[int, str]]:
    """Each row or column without a token that holds something, and what it holds as one text."""
    sheet, known = side.sheet, side.rows if by_row else side.columns
    contents: dict[int, list[str]] = defaultdict(list)
    for row, column in sorted(sheet.cells):
        number = row if by_row else column
        if number not in known and is_filled(sheet, row, column):
            formula = sheet.patterns.get((row, column))
            contents[number].append("=" if formula else str(sheet.value(row, column)))
    for number in sorted(contents):
        yield number, "\t".join(contents[number])

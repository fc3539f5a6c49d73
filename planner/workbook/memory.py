"""The record of what planner wrote into a workbook, kept on its Cover: the base of the merge of `planner update`.

For each sheet it has the key and the position of every row and column, and for every cell a short digest of its content
and the number of its style. Formulas filled across a row share one digest, for any number of scenarios. Cells that
users type into have none. Rows that aren't in the record are the user's, or were kept by an update.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

from planner.book.rowkeys import Keyed
from planner.book.sheet import Sheet
from planner.book.tables import LineTable
from planner.book.workbook import Book
from planner.workbook.layout import FIRST_SCENARIO
from planner.xlsx.address import Position
from planner.xlsx.cellvalue import Value, exact_text, is_number

FORMAT = 1  # version of the record; others aren't read
HEADING = "What planner wrote, for planner update"
UNREAD = ("cover", "log")  # sheets that differ with every build
CHUNK = 20_000  # characters of a cell; the most that programs keep are 32,767
PACKED = "eJ"  # the beginning of every packed text
SCENARIOS = 0  # `across` of a formula in every scenario's column
NOTHING = 0  # the digest of an empty cell, and of one for the user to fill
_SPELLING = re.compile(
    r"""(?P<text>"(?:[^"]|"")*") | (?P<space>\s+) | '(?P<sheet>(?:[^']|'')*)'(?=!)
      | (?<![\w.$])(?P<number>(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)""",
    re.VERBOSE,
)
_PLAIN_SHEET = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


class FilledCells(NamedTuple):
    """A run of cells that planner filled, given by its first cell, with that cell's content."""

    row: int
    column: int
    down: int  # rows
    across: int  # columns; SCENARIOS: as many as there are scenarios
    look: int  # the number of their look in `looks`
    digest: int  # of the first cell's content


class Remembered(NamedTuple):
    """A cell that planner filled: the digest of its content as it reads in the cell `first`, and its look."""

    first: Position
    look: int
    digest: int


@dataclass(frozen=True)
class BuiltSheet(Keyed):
    """A sheet as it was built: its rows and columns by key, and their content. Scenario columns have no key."""

    kind: str
    name: str
    rows: Mapping[int, str]
    columns: Mapping[int, str]
    filled: Sequence[FilledCells]
    rules: frozenset[int] = frozenset()  # digests of its rules
    end: int = 0  # the last row of ranges over a database or over the Comparison's runs

    @cached_property
    def _cells(self) -> dict[Position, Remembered]:
        found: dict[Position, Remembered] = {}
        for each in sorted(
            self.filled, key=lambda each: each.down, reverse=True
        ):  # a single cell within a run takes precedence
            wrote = Remembered((each.row, each.column), each.look, each.digest)
            for row in range(each.row, each.row + each.down):
                for column in range(each.column, each.column + max(each.across, 1)):
                    found[row, column] = wrote
        return found

    @cached_property
    def _scenarios(self) -> frozenset[int]:
        return frozenset(each.row for each in self.filled if each.across == SCENARIOS)

    def cell(self, row: int, column: int) -> Remembered | None:
        """What planner wrote into a cell; None if nothing."""
        if column > FIRST_SCENARIO and row in self._scenarios:
            column = FIRST_SCENARIO
        return self._cells.get((row, column))

    def is_same(self, other: BuiltSheet) -> bool:
        """Whether planner wrote the same on two sheets. Of cases, those of templates that both have count."""
        if self.kind == "comparison":
            cases = self._by_case(other) == other._by_case(self)
            return cases and (self.columns, self.rules) == (other.columns, other.rules)
        if (self.rows, self.columns, self.rules) != (other.rows, other.columns, other.rules):
            return False
        return self._without_defaults() == other._without_defaults()

    def _by_case(self, other: BuiltSheet) -> list[tuple[str, list[tuple[int, ...]]]]:
        """The content of the rows that another sheet has too; cases of a template may be anywhere."""
        found: dict[str, list[tuple[int, ...]]] = {}
        for each in self.filled:
            key = self.rows.get(each.row, "")
            if key in other.row_of:
                same = each.row == other.row_of[key]
                found.setdefault(key, []).append((each.column, each.look, each.digest if same else NOTHING))
        return sorted(found.items())

    def _without_defaults(self) -> list[FilledCells]:
        is_open = self.kind == "inputs"
        return [each._replace(digest=NOTHING) if is_open and each.across == SCENARIOS else each for each in self.filled]

    def cells(self) -> Iterator[tuple[Position, Remembered]]:
        """Every cell; of the scenarios' only the first."""
        return iter(self._cells.items())


@dataclass(frozen=True)
class Memory:
    """What planner wrote into a workbook."""

    sheets: Mapping[str, BuiltSheet]  # by kind
    looks: Sequence[int]  # digests, by the number of the look
    axes: Mapping[str, Sequence[float]] = field(default_factory=dict)  # the values of sweeps, by template and input
    last_scenario: int = 0  # the last column that ranges over scenarios reach

    def texts(self) -> Iterator[tuple[str, list[str]]]:
        """The lines of the record on Cover: each a name and the texts of its cells."""
        common = [FORMAT, self.last_scenario, dict(self.axes), _packed(self.looks, 4)]
        yield "all sheets", _chunks(common)
        for sheet in self.sheets.values():
            yield sheet.name, _chunks([sheet.kind, *_plain(sheet)])

    def is_same(self, other: Memory) -> bool:
        """Whether planner would write the same, except for Cover, Log, users' typed values and cases added since."""
        if self.sheets.keys() != other.sheets.keys() or list(self.looks) != list(other.looks):
            return False
        return all(sheet.is_same(other.sheets[kind]) for kind, sheet in self.sheets.items() if kind not in UNREAD)

    @classmethod
    def of_texts(cls, lines: Iterable[tuple[str, str]]) -> Memory | None:
        """The record in the lines of a Cover, each a name and a text; None if there is none or it is damaged."""
        try:
            (_, first), *rest = ((name, _unpacked_text(text)) for name, text in lines)
            if first[0] != FORMAT:
                return None
            sheets = [_sheet(name, *plain) for name, plain in rest]
            return cls({sheet.kind: sheet for sheet in sheets}, _unpacked(first[3], 4), first[2], first[1])
        except (ValueError, TypeError, IndexError, KeyError, zlib.error):
            return None


def is_packed(text: str) -> bool:
    """Whether a text begins like a packed record."""
    return text.startswith(PACKED)


def memory_rows(sheet: Sheet, rows: Iterable[int]) -> list[int]:
    """The rows of the record on a Cover: a heading, and a row of texts for each sheet."""
    start = next((row for row in rows if sheet.text(row, 1) == HEADING), 0)
    stop = start + 1
    while start and is_packed(sheet.text(stop, 2)):
        stop += 1
    return list(range(start, stop)) if start else []


def remembered(cover: Sheet | None) -> Memory | None:
    """The record on a workbook's Cover; None if it has none, or a damaged one."""
    lines: list[tuple[str, str]] = []
    for row in memory_rows(cover, cover.filled) if cover else ():
        assert cover is not None, "its rows were read"
        if text := "".join(cover.text(row, column) for column in cover.filled.get(row, ()) if column > 1):
            lines.append((cover.text(row, 1), text))
    return _of_lines(tuple(lines))


@lru_cache(maxsize=2)  # several rules of `check` ask for that of one workbook
def _of_lines(lines: tuple[tuple[str, str], ...]) -> Memory | None:
    return Memory.of_texts(lines)


@lru_cache(maxsize=1 << 14)
def of_formula(text: str) -> int:
    """The digest of a formula, without its `=`, regardless of blanks and of how numbers and sheets are spelt."""
    return zlib.crc32(f"={_SPELLING.sub(_spelt, text)}".encode()) & 0xFFFFFF or 1


@lru_cache(maxsize=1 << 14, typed=True)
def of_value(value: Value) -> int:
    """The digest of a typed value."""
    if value is None or value == "":
        return NOTHING
    text = f"{value:.15g}" if is_number(value) else f"'{value}"  # programs save 15 digits
    return zlib.crc32(text.encode()) & 0xFFFFFF or 1


def of_text(text: str) -> int:
    """A digest of four bytes, for a look or a rule."""
    return zlib.crc32(text.encode())


def _spelt(match: re.Match[str]) -> str:
    if match["text"]:
        return match[0]
    if match["number"]:
        return exact_text(float(match[0]))
    name = match["sheet"]
    return "" if name is None else name if _PLAIN_SHEET.fullmatch(name) else match[0]


def _plain(sheet: BuiltSheet) -> list[object]:
    """A sheet as lists of numbers and texts. Positions are relative to the previous one, so that they compress well."""
    numbers: list[int] = []
    row = column = 0
    for each in sheet.filled:
        numbers += (each.row - row, each.column - column, each.down, each.across, each.look)
        row, column = each.row, each.column
    parts = [numbers[at::5] for at in range(5)]
    digests = _packed([each.digest for each in sheet.filled], 3)
    return [
        list(sheet.rows),
        list(sheet.rows.values()),
        list(sheet.columns),
        list(sheet.columns.values()),
        *parts,
        digests,
        _packed(sorted(sheet.rules), 4),
        sheet.end,
    ]


def _sheet(
    name: str, kind: str, rows: list[int], keys: list[str], columns: list[int], names: list[str],
    downs: list[int], rights: list[int], down: list[int], across: list[int], looks: list[int],
    digests: str, rules: str, end: int,
) -> BuiltSheet:  # fmt: skip
    filled: list[FilledCells] = []
    row = column = 0
    several = zip(downs, rights, down, across, looks, _unpacked(digests, 3), strict=True)
    for by_row, by_column, *rest in several:
        row, column = row + by_row, column + by_column
        filled.append(FilledCells(row, column, *rest))
    by_row_key, by_column_key = dict(zip(rows, keys, strict=True)), dict(zip(columns, names, strict=True))
    return BuiltSheet(kind, name, by_row_key, by_column_key, filled, frozenset(_unpacked(rules, 4)), end)


def _chunks(plain: object) -> list[str]:
    packed = zlib.compress(json.dumps(plain, separators=(",", ":")).encode(), 6)
    text = base64.b64encode(packed).decode()
    return [text[at : at + CHUNK] for at in range(0, len(text), CHUNK)]


def _unpacked_text(text: str) -> list:  # type: ignore[type-arg]  # whatever JSON holds
    plain = json.loads(zlib.decompress(base64.b64decode(text, validate=True)))
    if not isinstance(plain, list):
        raise ValueError("not a list")
    return plain


def _packed(numbers: Iterable[int], size: int) -> str:
    return base64.b64encode(b"".join(number.to_bytes(size, "big") for number in numbers)).decode()


def _unpacked(text: str, size: int) -> list[int]:
    data = base64.b64decode(text, validate=True)
    return [int.from_bytes(data[at : at + size], "big") for at in range(0, len(data), size)]


def kept_rows(book: Book) -> set[tuple[str, int]]:
    """Sheet and row of each line that isn't in the record; empty if there is no record.

    An update keeps a row that its template no longer has if the user did something there: it counts as theirs then.
    """
    memory = remembered(book.designed.get("Cover"))
    if memory is None:
        return set()
    known = {kind: built.row_of for kind, built in memory.sheets.items()}
    lines = ((table, line, known[kind]) for kind, table in _kinds(book) if kind in known for line in table.lines)
    return {(table.sheet.name, line.row) for table, line, rows in lines if line.name and line.name not in rows}


def _kinds(book: Book) -> Iterator[tuple[str, LineTable]]:
    """The tables of lines, by the kinds of sheets in the record."""
    yield from ((table.kind, table) for table in (book.inputs, book.dashboard, book.checks, *book.constraints))
    yield from ((f"calculation {book.templates[table.sheet.name]}", table) for table in book.calculations)

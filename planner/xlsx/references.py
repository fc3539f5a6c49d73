"""The formula of a cell cut into pieces: the one reader and writer of references.

It knows what Excel, LibreOffice and Google Sheets write: `B5`, `$B$5:C7`, `B:C`, `5:7`, `Inputs!B5`, `'My sheet'!B5`,
`Jan:Dec!B5` over several sheets, `[1]Other!B5` in another file, and `Table1[[#This Row],[time]]`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from planner.xlsx.address import (
    MAX_COLUMN,
    MAX_ROW,
    Area,
    column_letters,
    column_number,
    coordinates,
    quoted,
    unquoted,
)
from planner.xlsx.markup import escaped

Kind = Literal["text", "number", "logical", "error", "name", "function", "reference", "table", "space", "operator"]
BROKEN = "#REF!"
OWN_ROW = "\1"  # in a formula that is copied down: the number of the row that it stands in; no XML holds it

_COLUMN, _ROW = r"\$?[A-Z]{1,3}", r"\$?[1-9][0-9]{0,6}"
_CELL = _COLUMN + _ROW
_WORD = r"[^\W\d][\w.?\\]*"
_SHEET = r"[\w.]+"  # without quotes; a digit may begin it, as programs other than Excel write it
_SHEETS = rf"(?:(?!{_CELL}:){_SHEET}:)?{_SHEET}"  # one that is called as a cell is has quotes: `A1:In!B2` is a range
_ENDS = r"(?![\w.$?\\(!\[])"  # what goes on so is a name, a sheet, a function or a table that only begins like a cell
_PIECE = re.compile(
    rf"""(?P<text>"(?:[^"]|"")*")
       | (?P<prefix>(?:'(?:[^']|'')*'|(?:\[[^\[\]]*\])?{_SHEETS})!)?
         (?:(?P<reference>{_CELL}(?::{_CELL})?|{_COLUMN}:{_COLUMN}|{_ROW}:{_ROW}){_ENDS}|(?P<broken>\#REF!))
       | (?P<table>(?:{_WORD})?\[(?:[^\[\]]|\[(?:[^\[\]']|'.)*\])*\])
       | (?P<function>{_WORD})\(
       | (?P<logical>(?:TRUE|FALSE)\b(?![.(!]))
       | (?P<name>(?:(?:'(?:[^']|'')*'|(?:\[[^\[\]]*\])?{_SHEET})!)?\\?{_WORD})
       | (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
       | (?P<error>\#(?:N/A|[A-Z][A-Z0/_]*[!?]?))
       | (?P<space>\s+)
       | (?P<operator><>|<=|>=|.)""",
    re.VERBOSE | re.DOTALL,
)
# The same, for references alone: what may hold something that only looks like one is found whole and left alone.
_LOOSE = re.compile(
    rf"""((?:'(?:[^']|'')*'!|(?<![\w.$?\\\]])(?:\[[^\[\]]*\])?{_SHEETS}!|(?<![\w.$!\\?]))
          (?:{_CELL}(?::{_CELL})?|{_COLUMN}:{_COLUMN}|{_ROW}:{_ROW}){_ENDS}
       | "(?:[^"]|"")*" | '(?:[^']|'')*' | \#N/A | \[(?:[^\[\]]|\[(?:[^\[\]']|'.)*\])*\])""",
    re.VERBOSE | re.DOTALL,
)
_CELLS = re.compile(rf"{_CELL}(?::{_CELL})?|{_COLUMN}:{_COLUMN}|{_ROW}:{_ROW}")
_END = re.compile(r"(\$?)([A-Z]*)(\$?)([0-9]*)")


class Corner(NamedTuple):
    """An end of a reference as it is written: row and column, counted from 1, and which of the two `$` fixes.

    A whole column has row 0 and a whole row column 0; `Reference.area` gives them the edges of the sheet.
    """

    row: int
    column: int
    row_fixed: bool
    column_fixed: bool

    def __str__(self) -> str:
        letters = "$" * self.column_fixed + column_letters(self.column) if self.column else ""
        return letters + ("$" * self.row_fixed + str(self.row) if self.row else "")


class Reference(NamedTuple):
    """A cell, a range, whole rows or whole columns. `last` is `first` of a single cell.

    `prefix` is what stands before it, with its `!`; blank for the formula's own sheet.
    """

    prefix: str
    first: Corner
    last: Corner
    is_range: bool

    @property
    def sheet(self) -> str:
        """The sheet that it names, without quotes: blank for its own; of several, or in another file, as written."""
        return unquoted(self.prefix)

    @property
    def is_foreign(self) -> bool:
        """Whether it leads to another file, or over several sheets."""
        return "[" in self.prefix or ":" in self.prefix

    @property
    def area(self) -> Area:
        """The cells that it covers, whichever corner is written first."""
        top, bottom = sorted((self.first.row or 1, self.last.row or MAX_ROW))
        left, right = sorted((self.first.column or 1, self.last.column or MAX_COLUMN))
        return Area(top, left, bottom, right)

    def in_order(self) -> Reference:
        """The same cells from their first corner to their last, as `A9:$A$1` is `$A$1:A9`."""
        ends = self.first, self.last
        (top, top_fixed), (bottom, bottom_fixed) = sorted((end.row, end.row_fixed) for end in ends)
        (left, left_fixed), (right, right_fixed) = sorted((end.column, end.column_fixed) for end in ends)
        return self.to(Corner(top, left, top_fixed, left_fixed), Corner(bottom, right, bottom_fixed, right_fixed))

    def to(self, first: Corner, last: Corner, sheet: str | None = None) -> Reference:
        """The same way of writing with other corners, and on another sheet (None: as it is)."""
        prefix = self.prefix if sheet is None else f"{quoted(sheet)}!" if sheet else ""
        return Reference(prefix, first, last, self.is_range)

    def over(self, area: Area) -> Reference:
        """A range with these corners, which `$` fixes, on the same sheet."""
        return Reference(self.prefix, Corner(*area[:2], True, True), Corner(*area[2:], True, True), True)

    def __str__(self) -> str:
        return self.prefix + (f"{self.first}:{self.last}" if self.is_range else str(self.first))


class Piece(NamedTuple):
    """A piece of a formula: what it is, its text, and what it refers to where it is a reference.

    A function's text ends in its bracket. A reference whose cells are gone is an error, with its sheet: `Inputs!#REF!`.
    """

    kind: Kind
    text: str
    reference: Reference | None = None


@lru_cache(maxsize=1 << 16)
def pieces(formula: str) -> tuple[Piece, ...]:
    """A formula, without its `=`, from left to right. Joined, the texts are the formula again."""
    found: list[Piece] = []
    for match in _PIECE.finditer(formula):
        kind, text = match.lastgroup or "operator", match[0]
        if match["reference"]:
            found.append(Piece("reference", text, _reference(match["prefix"] or "", match["reference"])))
        elif match["broken"]:
            found.append(Piece("error", text))
        else:
            found.append(Piece(kind, text))  # type: ignore[arg-type]  # the groups are named for the kinds
    return tuple(found)


def split(formula: str) -> list[str]:
    """A formula cut at what `reference` reads: every second text is that, those between them are all else.

    A text in quotes and the columns of a table stand there as well, and `reference` gives None for them.
    """
    return _LOOSE.split(formula)


@lru_cache(maxsize=1 << 16)
def reference(text: str) -> Reference | None:
    """The reference that is written so; None for a text that is none."""
    prefix, mark, cells = text.rpartition("!")
    if text.startswith('"') or not _CELLS.fullmatch(cells):
        return None
    return _reference(prefix + mark, cells)


def references(formula: str) -> list[Reference]:
    """What a formula refers to, from left to right."""
    return [found for found in map(reference, split(formula)[1::2]) if found is not None]


def calls_around(formula: str) -> list[tuple[str, int]]:
    """For each of a formula's references the function, in capitals, of which it is in an argument, and of which one,
    counted from 0; blank outside of all.
    """
    around, found = [("", 0)], list[tuple[str, int]]()
    for piece in pieces(formula):
        if piece.kind == "function":
            around.append((piece.text[:-1].upper(), 0))
        elif piece.text in ("(", "{"):
            around.append(around[-1])
        elif piece.text in (")", "}"):
            del around[max(len(around) - 1, 1) :]
        elif piece.text == ",":
            around[-1] = around[-1][0], around[-1][1] + 1
        elif piece.reference is not None:
            found.append(around[-1])
    return found


def rewritten(formula: str, change: Callable[[Reference], Reference | str]) -> str:
    """The formula with each reference as `change` has it: another one, or a text such as `#REF!`. All else stays."""
    texts = split(formula)
    for at in range(1, len(texts), 2):
        found = reference(texts[at])
        if found is not None and (new := change(found)) is not found:
            texts[at] = str(new)
    return "".join(texts)


def copied(formula: str, down: int, right: int) -> str:
    """The formula as it reads so many rows further down and columns to the right: `$` holds, the rest moves along.

    What would leave the sheet is `#REF!`.
    """

    def moved(reference: Reference) -> Reference | str:
        first, last = (_shifted(corner, down, right) for corner in (reference.first, reference.last))
        return BROKEN if first is None or last is None else reference.to(first, last)

    return rewritten(formula, moved)


def _shifted(corner: Corner, down: int, right: int) -> Corner | None:
    row = corner.row if corner.row_fixed or not corner.row else corner.row + down
    column = corner.column if corner.column_fixed or not corner.column else corner.column + right
    if (corner.row and not 1 <= row <= MAX_ROW) or (corner.column and not 1 <= column <= MAX_COLUMN):
        return None
    return corner._replace(row=row, column=column)


def copied_to(formula: str, origin: str, target: str) -> str:
    """The formula of the cell `origin` as it reads in `target`, as `copied` has it."""
    (row, column), (to_row, to_column) = coordinates(origin), coordinates(target)
    return copied(formula, to_row - row, to_column - column) if origin != target else formula


class DownwardFormula(NamedTuple):
    """A formula of a cell in this row that is copied down its column, into thousands of rows.

    `pattern` is the formula with OWN_ROW wherever the row's number moves along, and `xml` is that as a file has it;
    blank where other numbers move too.
    """

    text: str
    row: int
    pattern: str
    xml: bytes

    @classmethod
    def of(cls, text: str, row: int) -> DownwardFormula:
        """The formula, without its =, of a cell in this row."""
        ends = [each for found in references(text) for each in (found.first, found.last)]
        is_own = all(each.row_fixed or each.row == row for each in ends)
        pattern = rewritten(text, _with_own_row) if is_own else ""
        return cls(text, row, pattern, escaped(pattern).encode())

    def at(self, row: int) -> str:
        """The formula as it reads in another row."""
        return self.pattern.replace(OWN_ROW, str(row)) if self.pattern else copied(self.text, row - self.row, 0)

    def xml_at(self, row: int) -> bytes:
        """The same as a file has it."""
        return self.xml.replace(OWN_ROW.encode(), b"%d" % row) if self.xml else escaped(self.at(row)).encode()


def _with_own_row(found: Reference) -> str:
    ends = (str(end) if end.row_fixed else f"{end._replace(row=0)}{OWN_ROW}" for end in (found.first, found.last))
    return found.prefix + (":".join(ends) if found.is_range else next(ends))


@cache
def _reference(prefix: str, text: str) -> Reference:
    first, colon, last = text.partition(":")
    one = corner(first)
    return Reference(prefix, one, corner(last) if colon else one, bool(colon))


@cache
def corner(text: str) -> Corner:
    """An end of a reference: `$B5`, `B` of whole columns, `$5` of whole rows. Raises ValueError for anything else."""
    match = _END.fullmatch(text)
    if match is None or not text:
        raise ValueError(f"{text!r} is no end of a reference")
    one, letters, other, digits = match.groups()
    if not letters:
        return Corner(int(digits), 0, bool(one or other), False)
    return Corner(int(digits or 0), column_number(letters), bool(other), bool(one))

"""Splits a cell's formula into tokens; the only module that parses and writes references.

It supports what Excel, LibreOffice and Google Sheets write: `B5`, `$B$5:C7`, `B:C`, `5:7`, `Inputs!B5`, `'My
sheet'!B5`, the 3-D reference `Jan:Dec!B5`, `[1]Other!B5` in another file, and `Table1[[#This Row],[time]]`.
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
OWN_ROW = "\1"  # in a formula that is copied down: the row number of its cell; XML doesn't allow this character

_COLUMN, _ROW = r"\$?[A-Z]{1,3}", r"\$?[1-9][0-9]{0,6}"
_CELL = _COLUMN + _ROW
_WORD = r"[^\W\d][\w.?\\]*"
_SHEET = r"[\w.]+"  # unquoted; programs other than Excel write names that begin with a digit so
_SHEETS = rf"(?:(?!{_CELL}:){_SHEET}:)?{_SHEET}"  # a name like a cell's address is quoted: `A1:In!B2` is a range
_ENDS = r"(?![\w.$?\\(!\[])"  # otherwise it is a name, sheet, function or table that begins like an address
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
# The same for references only: quoted texts and the like are matched whole, so that nothing in them is taken for one.
_LOOSE = re.compile(
    rf"""((?:'(?:[^']|'')*'!|(?<![\w.$?\\\]])(?:\[[^\[\]]*\])?{_SHEETS}!|(?<![\w.$!\\?]))
          (?:{_CELL}(?::{_CELL})?|{_COLUMN}:{_COLUMN}|{_ROW}:{_ROW}){_ENDS}
       | "(?:[^"]|"")*" | '(?:[^']|'')*' | \#N/A | \[(?:[^\[\]]|\[(?:[^\[\]']|'.)*\])*\])""",
    re.VERBOSE | re.DOTALL,
)
_CELLS = re.compile(rf"{_CELL}(?::{_CELL})?|{_COLUMN}:{_COLUMN}|{_ROW}:{_ROW}")
_END = re.compile(r"(\$?)([A-Z]*)(\$?)([0-9]*)")


class Corner(NamedTuple):
    """A corner of a reference as written: row and column, from 1, and which of them `$` fixes.

    A whole column has row 0 and a whole row column 0; `Reference.area` replaces these by the sheet's edges.
    """

    row: int
    column: int
    row_fixed: bool
    column_fixed: bool

    def __str__(self) -> str:
        letters = "$" * self.column_fixed + column_letters(self.column) if self.column else ""
        return letters + ("$" * self.row_fixed + str(self.row) if self.row else "")


class Reference(NamedTuple):
    """A cell, a range, whole rows or whole columns; `last` equals `first` for a single cell.

    `prefix` is its prefix with the `!`; blank for the formula's own sheet.
    """

    prefix: str
    first: Corner
    last: Corner
    is_range: bool

    @property
    def sheet(self) -> str:
        """The sheet that it names, without quotes: blank for its own; for several, or in another file, as written."""
        return unquoted(self.prefix)

    @property
    def is_foreign(self) -> bool:
        """Whether it refers to another file or to several sheets."""
        return "[" in self.prefix or ":" in self.prefix

    @property
    def area(self) -> Area:
        """The cells that it covers, whichever corner is written first."""
        top, bottom = sorted((self.first.row or 1, self.last.row or MAX_ROW))
        left, right = sorted((self.first.column or 1, self.last.column or MAX_COLUMN))
        return Area(top, left, bottom, right)

    def in_order(self) -> Reference:
        """The same cells from top left to bottom right: `A9:$A$1` becomes `$A$1:A9`."""
        ends = self.first, self.last
        (top, top_fixed), (bottom, bottom_fixed) = sorted((end.row, end.row_fixed) for end in ends)
        (left, left_fixed), (right, right_fixed) = sorted((end.column, end.column_fixed) for end in ends)
        return self.to(Corner(top, left, top_fixed, left_fixed), Corner(bottom, right, bottom_fixed, right_fixed))

    def to(self, first: Corner, last: Corner, sheet: str | None = None) -> Reference:
        """A reference of the same form with other corners, and on another sheet (None: unchanged)."""
        prefix = self.prefix if sheet is None else f"{quoted(sheet)}!" if sheet else ""
        return Reference(prefix, first, last, self.is_range)

    def over(self, area: Area) -> Reference:
        """A range with these fixed corners, on the same sheet."""
        return Reference(self.prefix, Corner(*area[:2], True, True), Corner(*area[2:], True, True), True)

    def __str__(self) -> str:
        return self.prefix + (f"{self.first}:{self.last}" if self.is_range else str(self.first))


class Piece(NamedTuple):
    """A token of a formula: its kind, its text, and the reference if it is one.

    A function's text includes its opening bracket. A reference with deleted cells is an error, with its sheet:
    `Inputs!#REF!`.
    """

    kind: Kind
    text: str
    reference: Reference | None = None


@lru_cache(maxsize=1 << 16)
def pieces(formula: str) -> tuple[Piece, ...]:
    """The tokens of a formula, without its `=`. Their joined texts are the formula."""
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
    """A formula split at possible references: every second text is one, for `reference` to parse.

    Quoted texts and structured references are among them, and `reference` gives None for these.
    """
    return _LOOSE.split(formula)


@lru_cache(maxsize=1 << 16)
def reference(text: str) -> Reference | None:
    """The reference that a text spells; None if it is no reference."""
    prefix, mark, cells = text.rpartition("!")
    if text.startswith('"') or not _CELLS.fullmatch(cells):
        return None
    return _reference(prefix + mark, cells)


def references(formula: str) -> list[Reference]:
    """A formula's references, from left to right."""
    return [found for found in map(reference, split(formula)[1::2]) if found is not None]


def calls_around(formula: str) -> list[tuple[str, int]]:
    """For each reference of a formula, the innermost function around it, in upper case, and the argument's index.

    ("", 0) outside of all.
    """
    open_calls, found = [("", 0)], list[tuple[str, int]]()
    for piece in pieces(formula):
        if piece.kind == "function":
            open_calls.append((piece.text[:-1].upper(), 0))
        elif piece.text in ("(", "{"):
            open_calls.append(open_calls[-1])
        elif piece.text in (")", "}"):
            del open_calls[max(len(open_calls) - 1, 1) :]
        elif piece.text == ",":
            open_calls[-1] = open_calls[-1][0], open_calls[-1][1] + 1
        elif piece.reference is not None:
            found.append(open_calls[-1])
    return found


def rewritten(formula: str, change: Callable[[Reference], Reference | str]) -> str:
    """The formula with each reference replaced by `change(reference)`, a reference or a text such as `#REF!`."""
    texts = split(formula)
    for at in range(1, len(texts), 2):
        found = reference(texts[at])
        if found is not None and (new := change(found)) is not found:
            texts[at] = str(new)
    return "".join(texts)


def copied(formula: str, down: int, right: int) -> str:
    """The formula as copied `down` rows down and `right` columns to the right: only parts without `$` move.

    References beyond the sheet's edges become `#REF!`.
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
    """The formula of the cell `origin` as copied to `target`."""
    (row, column), (to_row, to_column) = coordinates(origin), coordinates(target)
    return copied(formula, to_row - row, to_column - column) if origin != target else formula


class DownwardFormula(NamedTuple):
    """A formula in `row` that is to be copied down its column, into thousands of rows.

    `pattern` is the formula with OWN_ROW for the relative row numbers, and `xml` the same escaped for XML; both are
    blank if a relative reference is to another row.
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
        """The formula as copied to another row."""
        return self.pattern.replace(OWN_ROW, str(row)) if self.pattern else copied(self.text, row - self.row, 0)

    def xml_at(self, row: int) -> bytes:
        """The same, escaped for XML."""
        return self.xml.replace(OWN_ROW.encode(), b"%d" % row) if self.xml else escaped(self.at(row)).encode()


def _with_own_row(found: Reference) -> str:
    ends = (str(end) if end.row_fixed else f"{end._replace(row=0)}{OWN_ROW}" for end in (found.first, found.last))
    return found.prefix + (":".join(ends) if found.is_range else next(ends))


@cache
def _reference(prefix: str, text: str) -> Reference:
    first, colon, last = text.partition(":")
    one = _corner(first)
    return Reference(prefix, one, _corner(last) if colon else one, bool(colon))


@cache
def _corner(text: str) -> Corner:
    """Parses a corner of a reference: `$B5`, `B` of whole columns, `$5` of whole rows."""
    match = _END.fullmatch(text)
    assert match is not None, "the reference has been matched"
    one, letters, other, digits = match.groups()
    if not letters:
        return Corner(int(digits), 0, bool(one or other), False)
    return Corner(int(digits or 0), column_number(letters), bool(other), bool(one))

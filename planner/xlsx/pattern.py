"""A live formula seen from its cell: what cells filled from one another have in common.

`F10*F$9` in F11 and `G10*G$9` in G11 are one pattern, `R[-1]C[0]*R9C[0]`. Spaces don't count, nor how a number is
spelt.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from planner.xlsx.address import MAX_COLUMN, MAX_ROW, Area, column_letters, column_number
from planner.xlsx.sheetname import unquoted

Position = tuple[int, int]
"""A row and a column."""

_COLUMN, _ROW = r"\$?[A-Z]{1,3}", r"\$?[1-9][0-9]{0,6}"
_CELL = _COLUMN + _ROW
_A1 = re.compile(
    rf"""(?P<kept>"(?:[^"]|"")*" | '(?:[^']|'')*'! | \#(?:N/A|[A-Z0/]+[!?]))
       | (?P<space>\s+)
       | (?<![\w.$])(?P<reference>{_CELL}(?::{_CELL})? | {_COLUMN}:{_COLUMN} | {_ROW}:{_ROW})(?![\w.(!\[])
       | (?<![\w.$])(?P<number>(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)""",
    re.VERBOSE,
)
_END = r"(R(?:\[-?[0-9]+\]|[0-9]+))(C(?:\[-?[0-9]+\]|[0-9]+))"
_R1C1 = re.compile(
    rf"""(?P<text>"(?:[^"]|"")*")
       | (?P<sheet>'(?:[^']|'')*'!|[\w.\[\]]+(?::[\w.]+)?!)?(?P<reference>{_END}(?::{_END})?)(?![\w.(])
       | (?P<function>[^\W\d][\w.]*)\(
       | (?P<broken>\#REF!)
       | \#(?:N/A|[A-Z0/]+[!?])
       | (?P<name>[^\W\d][\w.]*)(?![\w.!\[])""",
    re.VERBOSE,
)
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
CELL_NAME = re.compile(r"[A-Za-z]{1,3}[0-9]+|[Rr][0-9]*[Cc][0-9]*|[Rr]|[Cc]")
"""A sheet's name that needs no quotes in a reference, unless it reads as a cell."""

_PLACE_OF = re.compile(r"\b(?:ROWS?|COLUMNS?)\([^()]*\)")
"""A call that asks where cells are and reads none: `ROW(A5)` in A5 is no circle."""
_CORNER = re.compile(r"(\$?)([A-Z]*)(\$?)([0-9]*)")


class Corner(NamedTuple):
    """A row and a column, each a distance from the formula's cell unless it is fixed with `$`."""

    row: int
    column: int
    row_fixed: bool
    column_fixed: bool

    def seen_from(self, row: int, column: int) -> Position:
        """The cell that the formula in this row and column means."""
        seen_row = self.row if self.row_fixed else row + self.row
        seen_column = self.column if self.column_fixed else column + self.column
        return seen_row, seen_column

    def __str__(self) -> str:
        row = f"R{self.row}" if self.row_fixed else f"R[{self.row}]"
        return row + (f"C{self.column}" if self.column_fixed else f"C[{self.column}]")


class Reference(NamedTuple):
    """A cell or a range that a formula reads; `sheet` is blank for the formula's own."""

    sheet: str
    first: Corner
    last: Corner

    def area(self, row: int, column: int) -> Area:
        """The cells that the formula in this row and column reads."""
        (top, left), (bottom, right) = self.first.seen_from(row, column), self.last.seen_from(row, column)
        return Area(min(top, bottom), min(left, right), max(top, bottom), max(left, right))


@dataclass(frozen=True, eq=False)
class Pattern:
    """A formula relative to its cell, and what it is made of. Patterns of one text are one object."""

    text: str
    references: tuple[Reference, ...]
    functions: frozenset[str]
    names: frozenset[str]
    is_broken: bool

    @property
    def is_pasted(self) -> bool:
        """Whether it is `=#N/A`, as which LibreOffice keeps a value that was pasted."""
        return self.text == "#N/A"

    def at(self, row: int, column: int) -> str:
        """The formula as the cell in this row and column shows it."""
        return _R1C1.sub(lambda match: _shown(match, row, column) if match["reference"] else match[0], self.text)


def pattern(formula: str, row: int, column: int) -> Pattern:
    """The pattern of a formula that stands in this row and column."""

    def relative(match: re.Match[str]) -> str:
        kind = match.lastgroup
        if kind == "reference":
            return ":".join(str(corner) for corner in _corners(match[0], row, column))
        if kind == "number":
            return repr(float(match[0])).removesuffix(".0")
        return "" if kind == "space" else match[0]

    return _parsed(_A1.sub(relative, formula))


Ends = Callable[[str, Corner, Corner], tuple[Corner, Corner]]
"""What becomes of a reference: its sheet, blank for the formula's own, and its two corners."""


def rewritten(formula: Pattern, ends: Ends) -> Pattern:
    """A formula with other corners in its references; each keeps its sheet."""

    def changed(match: re.Match[str]) -> str:
        if not match["reference"]:
            return match[0]
        reference = _reference(match)
        first, last = ends(reference.sheet, reference.first, reference.last)
        return (match["sheet"] or "") + (f"{first}:{last}" if ":" in match["reference"] else f"{first}")

    return _parsed(_R1C1.sub(changed, formula.text))


def renamed(formula: Pattern, told: Callable[[Reference], str]) -> str:
    """A formula's text with every reference, its sheet included, as `told` has it."""
    return _R1C1.sub(lambda match: told(_reference(match)) if match["reference"] else match[0], formula.text)


@cache
def _parsed(text: str) -> Pattern:
    matches = list(_R1C1.finditer(text))
    words = frozenset(match["name"] for match in matches if match["name"]) - {"TRUE", "FALSE"}
    functions = frozenset(match["function"].upper() for match in matches if match["function"])
    reading = _R1C1.finditer(_PLACE_OF.sub("", text))
    references = tuple(_reference(match) for match in reading if match["reference"])
    return Pattern(text, references, functions, words, any(match["broken"] for match in matches))


def _reference(match: re.Match[str]) -> Reference:
    sheet = unquoted(match["sheet"] or "")
    first, last = _ends(match)
    return Reference(sheet, first, last)


def _ends(match: re.Match[str]) -> tuple[Corner, Corner]:
    ends = [_end(part) for part in match["reference"].split(":")]
    return ends[0], ends[-1]


def _end(text: str) -> Corner:
    row, column = text[1:].split("C")
    fixed = not row.startswith("["), not column.startswith("[")
    return Corner(int(row.strip("[]")), int(column.strip("[]")), *fixed)


def _shown(match: re.Match[str], row: int, column: int) -> str:
    def corner(end: Corner) -> str:
        at_row, at_column = end.seen_from(row, column)
        return f"{'$' * end.column_fixed}{column_letters(at_column)}{'$' * end.row_fixed}{at_row}"

    ends = _ends(match)
    shown = [corner(end) for end in (ends if ":" in match["reference"] else ends[:1])]
    return (match["sheet"] or "") + ":".join(shown)


def _corners(text: str, row: int, column: int) -> list[Corner]:
    """The corners of `B5`, `B5:C7`, `B:C` or `5:7`, seen from a cell."""
    first, colon, last = text.partition(":")
    ends = [_written(first, False)] + ([_written(last, True)] if colon else [])
    return [
        Corner(r if row_fixed else r - row, c if column_fixed else c - column, row_fixed, column_fixed)
        for r, c, row_fixed, column_fixed in ends
    ]


@cache
def _written(text: str, is_last: bool) -> Corner:
    """A corner as it is written; a whole column or row ends at the sheet's edge."""
    match = _CORNER.fullmatch(text)
    assert match is not None, "the expression for a reference holds nothing else"
    column_fixed, letters, row_fixed, digits = match.groups()
    row = int(digits) if digits else (MAX_ROW if is_last else 1)
    column = column_number(letters) if letters else (MAX_COLUMN if is_last else 1)
    if not letters:  # `5:7`: the only `$` belongs to the row
        return Corner(row, column, bool(column_fixed), True)
    return Corner(row, column, bool(row_fixed) or not digits, bool(column_fixed))

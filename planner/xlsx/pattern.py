"""A live formula seen from its cell: what cells filled from one another have in common.

`F10*F$9` in F11 and `G10*G$9` in G11 are one pattern, `R[-1]C[0]*R9C[0]`. Spaces don't count, but for the operator in
`F:F 5:5`, nor how a number is spelt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from planner.xlsx.address import MAX_COLUMN, MAX_ROW, Area, Position, column_letters, unquoted
from planner.xlsx.cellvalue import exact_text
from planner.xlsx.references import BROKEN, Corner, Piece, pieces, reference, split

_LOOSE = re.compile(
    r"(?P<operator>^\s+(?=[\w($\[]|$)|(?<=[\w)\]#])\s+(?:(?=[\w$\[])|$)|(?<=[)\]#])\s+(?=\())"  # ^ and $: a reference
    r"|\s+|(?<![\w.$])(?:(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)"
)
_PLACE_OF = frozenset({"ROW(", "ROWS(", "COLUMN(", "COLUMNS("})
"""Calls that ask where cells are and read none: `ROW(A5)` in A5 is no circle."""


class RelativeCorner(NamedTuple):
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

    def written(self, row: int, column: int) -> str:
        """The corner as the formula in this row and column has it: `$B5`, or `#REF!` beyond the sheet's edges."""
        return _spelt(*self.seen_from(row, column), self.row_fixed, self.column_fixed)

    def __str__(self) -> str:
        row = f"R{self.row}" if self.row_fixed else f"R[{self.row}]"
        return row + (f"C{self.column}" if self.column_fixed else f"C[{self.column}]")


@lru_cache(maxsize=1 << 16)  # most cells are read by several others
def _spelt(row: int, column: int, row_fixed: bool, column_fixed: bool) -> str:
    if not (0 < row <= MAX_ROW and 0 < column <= MAX_COLUMN):
        return BROKEN
    return f"{'$' * column_fixed}{column_letters(column)}{'$' * row_fixed}{row}"


class RelativeReference(NamedTuple):
    """A cell or a range that a formula reads.

    `prefix` is what stands before it, and `sheet` the sheet that it names; both are blank for the formula's own.
    """

    prefix: str
    sheet: str
    first: RelativeCorner
    last: RelativeCorner
    is_range: bool

    def area(self, row: int, column: int) -> Area:
        """The cells that the formula in this row and column reads."""
        (top, left), (bottom, right) = self.first.seen_from(row, column), self.last.seen_from(row, column)
        return Area(min(top, bottom), min(left, right), max(top, bottom), max(left, right))

    def written(self, row: int, column: int) -> str:
        """The reference as the formula in this row and column has it."""
        first = self.first.written(row, column)
        if not self.is_range:
            return self.prefix + first
        last = self.last.written(row, column)
        return self.prefix + (BROKEN if BROKEN in (first, last) else f"{first}:{last}")

    def __str__(self) -> str:
        return self.prefix + (f"{self.first}:{self.last}" if self.is_range else str(self.first))


Parts = tuple[str | RelativeReference, ...]


@dataclass(frozen=True, eq=False)
class Pattern:
    """A formula relative to its cell, and what it is made of. Patterns of one text are one object.

    `parts` are its references and what stands between them; `formula` is spelt as in one of its cells; that
    of a rewritten one has the references of before.
    """

    text: str
    parts: Parts
    formula: str

    @cached_property
    def references(self) -> tuple[RelativeReference, ...]:
        """The references whose cells it reads, and does not only ask for their place."""
        found = tuple(part for part in self.parts if not isinstance(part, str))
        if not any(call in self.text for call in _PLACE_OF):
            return found
        return tuple(part for part, counts in zip(found, _read(pieces(self.formula)), strict=True) if counts)

    @cached_property
    def functions(self) -> frozenset[str]:
        """The functions that it calls, in capitals."""
        return frozenset(piece.text[:-1].upper() for piece in pieces(self.formula) if piece.kind == "function")

    @cached_property
    def names(self) -> frozenset[str]:
        """The names that it reads."""
        return frozenset(piece.text.rpartition("!")[2] for piece in pieces(self.formula) if piece.kind == "name")

    @cached_property
    def texts(self) -> frozenset[str]:
        """The texts that it has in quotes."""
        quoted = (piece.text for piece in pieces(self.formula) if piece.kind == "text")
        return frozenset(text[1:-1].replace('""', '"') for text in quoted)

    @cached_property
    def is_broken(self) -> bool:
        """Whether a reference in it has lost its cells."""
        return any(piece.text.endswith(BROKEN) for piece in pieces(self.formula))

    @property
    def is_pasted(self) -> bool:
        """Whether it is `=#N/A`, as which LibreOffice keeps a value that was pasted."""
        return self.text == "#N/A"

    def at(self, row: int, column: int) -> str:
        """The formula as the cell in this row and column shows it."""
        return "".join([part if isinstance(part, str) else part.written(row, column) for part in self.parts])


_known: dict[str, Pattern] = {}


@lru_cache(maxsize=1 << 16)  # of two workbooks that are compared, or of one before and after an edit
def pattern(formula: str, row: int, column: int) -> Pattern:
    """The pattern of a formula that stands in this row and column."""
    parts = _parts(formula, row, column)
    text = "".join(map(str, parts))
    return _known.get(text) or _known.setdefault(text, Pattern(text, parts, formula))


def _parts(formula: str, row: int, column: int) -> Parts:
    """A formula's references seen from its cell, and what stands between them."""

    def seen(corner: Corner, at_row: int, at_column: int) -> RelativeCorner:
        """A corner from here; a whole column's and a whole row's is at the sheet's edge."""
        row_fixed, column_fixed = corner.row_fixed or not corner.row, corner.column_fixed or not corner.column
        at_row, at_column = corner.row or at_row, corner.column or at_column
        return RelativeCorner(
            at_row - row * (not row_fixed), at_column - column * (not column_fixed), row_fixed, column_fixed
        )

    parts: list[str | RelativeReference] = []
    for at, text in enumerate(split(formula.strip())):
        found = reference(text) if at % 2 else None
        if found is None:
            parts.append(_plainly(text))
        else:
            ends = seen(found.first, 1, 1), seen(found.last, MAX_ROW, MAX_COLUMN)
            parts.append(RelativeReference(found.prefix, unquoted(found.prefix), *ends, found.is_range))
    return tuple(parts)


@lru_cache(maxsize=1 << 14)
def _plainly(text: str) -> str:
    """What stands between references, without spaces and with its numbers spelt one way; a text in quotes as it is."""
    if text.startswith(('"', "'")):
        return text
    return _LOOSE.sub(
        lambda found: exact_text(float(found[0])) if found[0].strip() else " " if found["operator"] else "", text
    )


def _read(formula: tuple[Piece, ...]) -> list[bool]:
    """Of each reference whether its cells are read, and not only asked for their place."""
    found: list[bool] = []
    asked = False
    for piece in formula:
        if piece.reference is not None:
            found.append(not asked)
        elif piece.kind == "function" or piece.text in ("(", ")"):
            asked = piece.text in _PLACE_OF
    return found


Ends = Callable[[str, RelativeCorner, RelativeCorner], tuple[RelativeCorner, RelativeCorner]]
"""What becomes of a reference: its sheet, blank for the formula's own, and its two corners."""


def rewritten(formula: Pattern, ends: Ends) -> Pattern:
    """A formula with other corners in its references; each keeps its sheet."""

    def changed(part: RelativeReference) -> RelativeReference:
        first, last = ends(part.sheet, part.first, part.last)
        return part._replace(first=first, last=last)

    parts = tuple(part if isinstance(part, str) else changed(part) for part in formula.parts)
    text = "".join(map(str, parts))
    return _known.get(text) or _known.setdefault(text, Pattern(text, parts, formula.formula))


def with_a_range(formula: Pattern) -> Iterator[Pattern]:
    """The formula with each of its cells in turn as a range of one: Gnumeric saves `SUM(D5:D5)` as `SUM(D5)`."""
    for at, part in enumerate(formula.parts):
        if not isinstance(part, str) and not part.is_range:
            parts = (*formula.parts[:at], part._replace(is_range=True), *formula.parts[at + 1 :])
            yield Pattern("".join(map(str, parts)), parts, formula.formula)


def renamed(formula: Pattern, told: Callable[[RelativeReference], str]) -> str:
    """A formula's text with every reference, its sheet included, as `told` has it."""
    return "".join([part if isinstance(part, str) else told(part) for part in formula.parts])

"""Formulas relative to their cell, so that cells filled from one another have the same pattern.

`F10*F$9` in F11 and `G10*G$9` in G11 are one pattern, `R[-1]C[0]*R9C[0]`. Spaces, except the intersection operator in
`F:F 5:5`, and the spelling of numbers make no difference.
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
"""Functions of a reference's position, which read no cell: `ROW(A5)` in A5 isn't circular."""


class RelativeCorner(NamedTuple):
    """A row and a column, each relative to the formula's cell, or absolute if fixed with `$`."""

    row: int
    column: int
    row_fixed: bool
    column_fixed: bool

    def seen_from(self, row: int, column: int) -> Position:
        """The cell that it means in a formula at `row` and `column`."""
        seen_row = self.row if self.row_fixed else row + self.row
        seen_column = self.column if self.column_fixed else column + self.column
        return seen_row, seen_column

    def written(self, row: int, column: int) -> str:
        """The corner as written in a formula at `row` and `column`: `$B5`, or `#REF!` beyond the sheet's edges."""
        return _spelt(*self.seen_from(row, column), self.row_fixed, self.column_fixed)

    def __str__(self) -> str:
        row = f"R{self.row}" if self.row_fixed else f"R[{self.row}]"
        return row + (f"C{self.column}" if self.column_fixed else f"C[{self.column}]")


@lru_cache(maxsize=1 << 16)  # most cells have several dependents
def _spelt(row: int, column: int, row_fixed: bool, column_fixed: bool) -> str:
    if not (0 < row <= MAX_ROW and 0 < column <= MAX_COLUMN):
        return BROKEN
    return f"{'$' * column_fixed}{column_letters(column)}{'$' * row_fixed}{row}"


class RelativeReference(NamedTuple):
    """A cell or range that a formula reads.

    `prefix` is its prefix as written, and `sheet` the sheet that it names; both are blank for the formula's own sheet.
    """

    prefix: str
    sheet: str
    first: RelativeCorner
    last: RelativeCorner
    is_range: bool

    def area(self, row: int, column: int) -> Area:
        """The cells that it covers in a formula at `row` and `column`."""
        (top, left), (bottom, right) = self.first.seen_from(row, column), self.last.seen_from(row, column)
        return Area(min(top, bottom), min(left, right), max(top, bottom), max(left, right))

    def written(self, row: int, column: int) -> str:
        """The reference as written in a formula at `row` and `column`."""
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
    """A formula relative to its cell. Patterns with the same text are one object.

    `parts` are its references and the texts between them; `formula` is its spelling in one of its cells (a rewritten
    pattern keeps the original one).
    """

    text: str
    parts: Parts
    formula: str

    @cached_property
    def references(self) -> tuple[RelativeReference, ...]:
        """The references whose cells it reads, without arguments of ROW and the like, which only use a position."""
        found = tuple(part for part in self.parts if not isinstance(part, str))
        if not any(call in self.text for call in _PLACE_OF):
            return found
        return tuple(part for part, counts in zip(found, _read(pieces(self.formula)), strict=True) if counts)

    @cached_property
    def functions(self) -> frozenset[str]:
        """The functions that it calls, in upper case."""
        return frozenset(piece.text[:-1].upper() for piece in pieces(self.formula) if piece.kind == "function")

    @cached_property
    def names(self) -> frozenset[str]:
        """The defined names that it reads."""
        return frozenset(piece.text.rpartition("!")[2] for piece in pieces(self.formula) if piece.kind == "name")

    @cached_property
    def texts(self) -> frozenset[str]:
        """Its text literals."""
        quoted = (piece.text for piece in pieces(self.formula) if piece.kind == "text")
        return frozenset(text[1:-1].replace('""', '"') for text in quoted)

    @cached_property
    def is_broken(self) -> bool:
        """Whether it contains #REF!."""
        return BROKEN in self.text and any(piece.text.endswith(BROKEN) for piece in pieces(self.formula))

    @property
    def is_pasted(self) -> bool:
        """Whether it is `=#N/A`, as LibreOffice stores a pasted value."""
        return self.text == "#N/A"

    def has_ends_of(self, formula: str) -> bool:
        """Whether a formula begins as this one up to its first reference and ends as after its last; a quick test."""
        return formula.startswith(str(self.parts[0])) and formula.endswith(str(self.parts[-1]))

    def at(self, row: int, column: int) -> str:
        """The formula in the cell at `row` and `column`."""
        return "".join([part if isinstance(part, str) else part.written(row, column) for part in self.parts])


_known: dict[str, Pattern] = {}


@lru_cache(maxsize=1 << 16)  # hit by two compared workbooks, or one before and after an edit
def pattern(formula: str, row: int, column: int) -> Pattern:
    """The pattern of a formula in the cell at `row` and `column`."""
    parts = _parts(formula, row, column)
    text = "".join(map(str, parts))
    return _known.get(text) or _known.setdefault(text, Pattern(text, parts, formula))


def _parts(formula: str, row: int, column: int) -> Parts:
    """A formula's references relative to its cell, and the texts between them."""

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
    """The text between references without spaces and with uniform numbers; a quoted text is unchanged."""
    if text.startswith(('"', "'")):
        return text
    return _LOOSE.sub(
        lambda found: exact_text(float(found[0])) if found[0].strip() else " " if found["operator"] else "", text
    )


def _read(formula: tuple[Piece, ...]) -> list[bool]:
    """For each reference, whether its cells are read, rather than only its position."""
    found: list[bool] = []
    asked = False
    for piece in formula:
        if piece.reference is not None:
            found.append(not asked)
        elif piece.kind == "function" or piece.text in ("(", ")"):
            asked = piece.text in _PLACE_OF
    return found


Ends = Callable[[str, RelativeCorner, RelativeCorner], tuple[RelativeCorner, RelativeCorner]]
"""A function from a reference's sheet (blank for the formula's own) and corners to its new corners."""


def rewritten(formula: Pattern, ends: Ends) -> Pattern:
    """A formula with other corners in its references; each keeps its sheet."""

    def changed(part: RelativeReference) -> RelativeReference:
        first, last = ends(part.sheet, part.first, part.last)
        return part._replace(first=first, last=last)

    parts = tuple(part if isinstance(part, str) else changed(part) for part in formula.parts)
    text = "".join(map(str, parts))
    return _known.get(text) or _known.setdefault(text, Pattern(text, parts, formula.formula))


def with_a_range(formula: Pattern) -> Iterator[Pattern]:
    """The formula with each single cell in turn as a range of one: Gnumeric saves `SUM(D5:D5)` as `SUM(D5)`."""
    for at, part in enumerate(formula.parts):
        if not isinstance(part, str) and not part.is_range:
            parts = (*formula.parts[:at], part._replace(is_range=True), *formula.parts[at + 1 :])
            yield Pattern("".join(map(str, parts)), parts, formula.formula)


def renamed(formula: Pattern, text_of: Callable[[RelativeReference], str]) -> str:
    """A formula's text with every reference, including its sheet, replaced by `text_of(reference)`."""
    return "".join([part if isinstance(part, str) else text_of(part) for part in formula.parts])

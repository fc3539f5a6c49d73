"""Cell addresses (`B5` is row 5, column 2), areas, and sheet names as they are written in references."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

MAX_ROW, MAX_COLUMN = 1_048_576, 16_384
MAX_DIGITS = 7
_LETTERS = re.compile(r"[A-Z]{1,3}")
_PLAIN = re.compile(r"[^\W\d][\w.]*")  # letters of any alphabet, as Excel and LibreOffice write names
_LIKE_CELL = re.compile(r"[A-Za-z]{1,3}[0-9]+|[Rr][0-9]*[Cc][0-9]*|[Rr]|[Cc]|TRUE|FALSE", re.IGNORECASE)

Position = tuple[int, int]
"""A cell of a sheet: its row and its column, counted from 1."""


class Spot(NamedTuple):
    """A cell of the workbook: its sheet, row and column."""

    sheet: str
    row: int
    column: int

    @property
    def ref(self) -> str:
        """Its address on the sheet, such as `F12`."""
        return address(self.row, self.column)

    def __str__(self) -> str:
        return f"{self.sheet}!{self.ref}"


class Area(NamedTuple):
    """A rectangle of cells, corners included."""

    top: int
    left: int
    bottom: int
    right: int

    @classmethod
    def parse(cls, text: str) -> Area:
        """The area of `A1:C5`, or of a single cell. Raises ValueError for anything else."""
        first, _, last = text.replace("$", "").partition(":")
        return cls(*coordinates(first), *coordinates(last or first))

    @classmethod
    def tried(cls, text: str) -> Area | None:
        """Like `parse`, but None for a text that is no area, such as a whole column."""
        try:
            return cls.parse(text)
        except ValueError:
            return None

    @property
    def rows(self) -> range:
        """Its rows."""
        return range(self.top, self.bottom + 1)

    @property
    def columns(self) -> range:
        """Its columns."""
        return range(self.left, self.right + 1)

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return len(self.rows) * len(self.columns)

    @property
    def is_cell(self) -> bool:
        """Whether it is a single cell."""
        return self.top == self.bottom and self.left == self.right

    def covers(self, row: int, column: int) -> bool:
        """Whether it contains the cell."""
        return self.top <= row <= self.bottom and self.left <= column <= self.right

    def meets(self, other: Area) -> bool:
        """Whether the two overlap."""
        in_rows = self.top <= other.bottom and other.top <= self.bottom
        return in_rows and self.left <= other.right and other.left <= self.right

    def including(self, other: Area) -> Area:
        """The smallest area that contains both."""
        return Area(*map(min, self[:2], other[:2]), *map(max, self[2:], other[2:]))

    def without(self, other: Area) -> list[Area]:
        """Its cells outside another area, as areas above, left, right and below."""
        if not self.meets(other):
            return [self]
        top, bottom = max(self.top, other.top), min(self.bottom, other.bottom)
        parts = (
            self._replace(bottom=top - 1),
            Area(top, self.left, bottom, other.left - 1),
            Area(top, other.right + 1, bottom, self.right),
            self._replace(top=bottom + 1),
        )
        return [part for part in parts if part.top <= part.bottom and part.left <= part.right]

    def __str__(self) -> str:
        return f"{address(self.top, self.left)}:{address(self.bottom, self.right)}"


@cache
def column_number(letters: str) -> int:
    """The number of a column: A is 1, XFD is 16,384."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


@cache
def column_letters(number: int) -> str:
    """The letters of a column: 1 is A."""
    before, last = divmod(number - 1, 26)
    return (column_letters(before) if before else "") + chr(65 + last)


def column_of(ref: str) -> str:
    """The letters of a cell's column: `B` of `B5`."""
    return ref.rstrip("0123456789")


@lru_cache(maxsize=1 << 16)  # the same addresses occur on every sheet
def coordinates(ref: str) -> tuple[int, int]:
    """Row and column of `B5`. Raises ValueError when that is no cell of a sheet."""
    letters = column_of(ref)
    digits = ref[len(letters) :]
    if not digits or digits[0] == "0" or len(digits) > MAX_DIGITS:
        raise ValueError(f"{ref!r} is not a cell")
    row, column = int(digits), _checked_column(letters)
    if row > MAX_ROW or column > MAX_COLUMN:
        raise ValueError(f"{ref!r} lies outside the sheet")
    return row, column


@cache
def _checked_column(letters: str) -> int:
    if not _LETTERS.fullmatch(letters):
        raise ValueError(f"{letters!r} is no column")
    return column_number(letters)


def address(row: int, column: int) -> str:
    """The address of a row and column: 5 and 2 are `B5`."""
    return f"{column_letters(column)}{row}"


def quoted(sheet: str) -> str:
    """A sheet's name as in a reference, with quotes if needed."""
    plain = _PLAIN.fullmatch(sheet) and not _LIKE_CELL.fullmatch(sheet)
    return sheet if plain else f"'{in_quotes(sheet)}'"


def in_quotes(sheet: str) -> str:
    """A sheet's name as written between the quotes of a reference, with apostrophes doubled."""
    return sheet.replace("'", "''")


def unquoted(prefix: str) -> str:
    """The sheet that a reference's prefix names, with or without the !: `Inputs!`, `'My sheet'!`."""
    name = prefix.removesuffix("!")
    return name[1:-1].replace("''", "'") if name.startswith("'") else name


def folded(text: str) -> str:
    """A name, or a text with names, case-folded for comparison."""
    return text.casefold()

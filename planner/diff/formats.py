"""The formats of two workbooks' cells, reduced to the properties that are compared."""

from __future__ import annotations

import re
from typing import NamedTuple

from planner.book.sheet import Sheet
from planner.xlsx.address import Position
from planner.xlsx.opc import Package
from planner.xlsx.styles import Look, looks_of

_CELL_TAG = re.compile(rb"<(?:\w+:)?c\s[^>]*>")
_TYPE = re.compile(rb"""\st=["'][a-zA-Z]*["']""")  # of the value
_LOCALE = re.compile(r"\[\$-?[0-9A-Fa-f-]*\]|_-|\s+$")
_DATE = "built-in 14"


class Format(NamedTuple):
    """A cell's format; blank properties are unset."""

    number: str
    bold: bool
    italic: bool
    ink: str
    fill: str

    @classmethod
    def of(cls, look: Look) -> Format:
        """The compared properties of a look."""
        number = _LOCALE.sub("", "yyyy-mm-dd" if look.number_format == _DATE else look.number_format)
        return cls(number, look.is_bold, look.is_italic, look.ink, look.ground)

    def __str__(self) -> str:
        said = [
            self.number,
            "bold" * self.bold,
            "italic" * self.italic,
            self.ink and f"ink {self.ink}",
            self.fill and f"fill {self.fill}",
        ]
        return ", ".join(part for part in said if part)


class Formats:
    """The formats of a workbook's cells."""

    def __init__(self, package: Package) -> None:
        self._known = [Format.of(look) for look in looks_of(package)]

    def all_same(self, sheet: Sheet, other: Formats, its: Sheet) -> bool:
        """Whether every cell of `sheet` has the same tag, and so style, as in the other workbook's sheet `its`."""
        if self._known != other._known:
            return False
        tags, others = (_CELL_TAG.findall(each.xml.xml) for each in (sheet, its))
        return len(tags) == len(others) and all(
            tag == also or _TYPE.sub(b"", tag) == _TYPE.sub(b"", also) for tag, also in zip(tags, others, strict=True)
        )

    def of(self, sheet: Sheet, at: Position) -> Format:
        """A cell's format."""
        number = sheet.cells[at].style or 0
        return self._known[number] if number < len(self._known) else Format.of(Look())

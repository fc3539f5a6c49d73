"""The cells of a sheet whose XML is written as every spreadsheet program writes it: one regular expression.

Many times as quick as expat, which a sheet in any other form is left to: comments, prefixes, white space between
elements, rich text. A row is matched as a whole; its cells are found when they are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from planner.xlsx.address import MAX_ROW
from planner.xlsx.cell import OWN_ATTRIBUTES, Cell, Span, cell_pattern

_COLUMN, _ROW_NUMBER = rb"(?:[A-W]?[A-Z]{1,2}|X[A-E][A-Z]|XF[A-D])", rb"[1-9][0-9]{0,6}"
CELL = re.compile(cell_pattern(_COLUMN + _ROW_NUMBER, keep=True))
_ROW = re.compile(
    b'<row r="(' + _ROW_NUMBER + b')"' + OWN_ATTRIBUTES
    + b"(?:/>|>(?:" + cell_pattern(_COLUMN + rb"\1", keep=False) + b")*+(</row>))"
)  # fmt: skip
_CONTROL = bytes({*range(32)} - {9, 10})
_REFS = re.compile(rb'<c r="([A-Z]+[0-9]+)"')
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_OPEN = b"<sheetData>"


class Row(NamedTuple):
    """A row; its cells begin at `first` in the list of all cells."""

    number: int
    span: Span
    first: int


class Body:
    """What stands between `<sheetData>` and `</sheetData>`, which begin at `start` and at `end`."""

    def __init__(self, xml: bytes, strings: Sequence[str], start: int, end: int, rows: list[Row]) -> None:
        self.xml, self.strings, self.start, self.end, self.rows = xml, strings, start, end, rows
        self.has_arrays = b't="array"' in xml or b't="dataTable"' in xml  # or may have some
        self._places = {b"%d" % row.number: row.span for row in rows}

    @cached_property
    def cells(self) -> list[Cell]:
        """Every cell, in the order of the file."""
        return self._found(CELL, self.start, self.end)

    def columns(self, letters: Iterable[str]) -> dict[str, Cell]:
        """The cells of some columns by address, at once."""
        column = b"(?:" + b"|".join(each.encode() for each in letters) + b")"
        pattern = re.compile(cell_pattern(column + _ROW_NUMBER, keep=True))
        return {cell.ref: cell for cell in self._found(pattern, self.start, self.end)}

    def cells_of_row(self, row: Row) -> list[Cell]:
        """The cells of a row, from left to right as a rule."""
        return self._found(CELL, *row.span)

    @property
    def has_twins(self) -> bool:
        """Whether a cell stands there twice."""
        refs = _REFS.findall(self.xml, self.start, self.end)
        return len(set(refs)) != len(refs)

    def cell(self, ref: str) -> Cell | None:
        """One cell; None where the sheet hasn't it."""
        coded = ref.encode()
        place = self._places.get(coded.lstrip(_LETTERS))
        at = -1 if place is None else self.xml.find(b'<c r="' + coded + b'"', *place)
        match = CELL.match(self.xml, at) if at >= 0 else None
        return None if match is None else Cell(match, self.strings)

    def _found(self, pattern: re.Pattern[bytes], start: int, end: int) -> list[Cell]:
        return [Cell(match, self.strings) for match in pattern.finditer(self.xml, start, end)]


def body(xml: bytes, strings: Sequence[str]) -> Body | None:
    """The cells and rows of a sheet; None where its XML is for expat."""
    start, end = xml.find(_OPEN), xml.rfind(b"</sheetData>")
    if start < 0 or end < start or b"<!" in xml or len(xml.translate(None, _CONTROL)) != len(xml):
        return None
    try:
        xml.decode("utf-8")
    except UnicodeDecodeError:
        return None
    rows = _rows(xml, start + len(_OPEN), end)
    return None if rows is None else Body(xml, strings, start, end, rows)


def _rows(xml: bytes, start: int, end: int) -> list[Row] | None:
    """The rows, if there is nothing but rows of cells, one after the other."""
    rows: list[Row] = []
    at, number, first = start, 0, 0
    for match in iter(_ROW.scanner(xml, start, end).match, None):  # type: ignore[attr-defined]
        begin, at = match.span()
        if not number < (number := int(match[1])) <= MAX_ROW:
            return None
        rows.append(Row(number, (begin, at if match[2] is None else at - len(match[2])), first))
        first += xml.count(b'<c r="', begin, at)
    return rows if at == end else None

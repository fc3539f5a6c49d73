"""Cells that go elsewhere in a workbook: every reference to them rewritten, in formulas and wherever else one stands.

A formula keeps its spelling; only the references that lead elsewhere now are written anew.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from planner.xlsx.address import MAX_COLUMN, MAX_ROW, Area, column_letters, column_number, coordinates
from planner.xlsx.sheetname import folded, quoted, unquoted

_COLUMN, _ROW = r"\$?[A-Z]{1,3}", r"\$?[1-9][0-9]{0,6}"
_CELL = _COLUMN + _ROW
_REFERENCE = re.compile(
    rf"""(?P<kept>"(?:[^"]|"")*" | \#(?:N/A|[A-Z0/]+[!?]))
       | (?:(?P<sheet>'(?:[^']|'')*'! | (?<![\w.$'\]:])[^\W\d][\w.]*!) | (?<![\w.$!]))
         (?P<reference>{_CELL}(?::{_CELL})? | {_COLUMN}:{_COLUMN} | {_ROW}:{_ROW})(?![\w.(!\[])""",
    re.VERBOSE,
)
_END = re.compile(r"(\$?)([A-Z]*)(\$?)([0-9]*)")


@dataclass(frozen=True)
class Track:
    """Where the rows of a sheet go, or its columns: each to its place, and one that has none along with the one before.
    """  # fmt: skip

    known: Mapping[int, int] = field(default_factory=dict)

    @cached_property
    def _numbers(self) -> list[int]:
        return sorted(self.known)

    def __call__(self, number: int) -> int:
        at = bisect_right(self._numbers, number)
        if at == 0:
            return number
        before = self._numbers[at - 1]
        return self.known[before] + number - before

    @property
    def is_idle(self) -> bool:
        """Whether everything stays."""
        return all(old == new for old, new in self.known.items())


@dataclass(frozen=True)
class SheetMoves:
    """Where a sheet's cells go: its name then, its rows and columns; and rows that go to another sheet.

    `elsewhere` (row -> sheet and row) counts for a reference to a single cell, which can lead anywhere; `there` says
    by the sheet where this one's columns stand on it. `tops` (row -> row) counts for a range of several rows that
    begins there: whatever becomes of its first row, it begins where all of them do.
    """

    name: str
    rows: Track = field(default_factory=Track)
    columns: Track = field(default_factory=Track)
    elsewhere: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    there: Mapping[str, Track] = field(default_factory=dict)
    tops: Mapping[int, int] = field(default_factory=dict)

    def cell(self, row: int, column: int) -> tuple[int, int]:
        """Where a cell of the sheet stands then, on the same sheet."""
        return self.rows(row), self.columns(column)

    def area(self, area: Area) -> Area:
        """The cells from one corner to the other then; a whole row or column stays whole."""
        (top, left), (bottom, right) = self.cell(area.top, area.left), self.cell(area.bottom, area.right)
        if area.bottom > area.top:
            top = self.tops.get(area.top, top)
        if area.bottom >= MAX_ROW:
            top, bottom = area.top, area.bottom
        if area.right >= MAX_COLUMN:
            left, right = area.left, area.right
        return Area(min(top, bottom), min(left, right), min(max(top, bottom), MAX_ROW), max(left, right))

    def ref(self, ref: str) -> str:
        """`F8`, `F8:AC8` or a list of such, as sqref has it."""
        return " ".join(self._one(part) for part in ref.split())

    def _one(self, ref: str) -> str:
        try:
            moved = self.area(Area.parse(ref))
        except ValueError:
            return ref
        first, colon, _ = str(moved).partition(":")
        return str(moved) if ":" in ref else first if colon else str(moved)

    @property
    def is_idle(self) -> bool:
        """Whether every cell stays."""
        return self.rows.is_idle and self.columns.is_idle and not self.elsewhere


class Moves:
    """What moves in a workbook, sheet by sheet under the names of before; what isn't named stays."""

    def __init__(self, sheets: Mapping[str, SheetMoves]) -> None:
        self._sheets = {folded(name): found for name, found in sheets.items()}
        self.is_idle = all(found.is_idle and found.name == name for name, found in sheets.items())

    def of(self, sheet: str) -> SheetMoves:
        """What moves on a sheet."""
        return self._sheets.get(folded(sheet), SheetMoves(sheet))

    def formula(self, text: str, sheet: str, *, to: str | None = None) -> str:
        """A formula of `sheet`, without its =, with every reference led to where its cells are then.

        It stands on the sheet `to` then, where that is another. References to other files stay.
        """
        home = to or self.of(sheet).name

        def moved(match: re.Match[str]) -> str:
            if match["kept"]:
                return match[0]
            own = match["sheet"] is None
            name = sheet if own else unquoted(match["sheet"])
            if folded(name) not in self._sheets:
                return match[0] if not own or home == sheet else f"{quoted(sheet)}!{match['reference']}"
            return self._reference(match["reference"], self.of(name), home, own)

        return _REFERENCE.sub(moved, text)

    def _reference(self, text: str, sheet: SheetMoves, home: str, own: bool) -> str:
        first, colon, last = text.partition(":")
        if not colon:
            row, column = coordinates(first.replace("$", ""))
            if row in sheet.elsewhere:
                name, new_row = sheet.elsewhere[row]
                return _prefix(name, home, own) + _written(first, new_row, sheet.there.get(name, sheet.columns)(column))
            return _prefix(sheet.name, home, own) + _written(first, *sheet.cell(row, column))
        corners = Area(*_corner(first, 1), *_corner(last, MAX_ROW))
        moved = sheet.area(corners)
        ends = _written(first, moved.top, moved.left), _written(last, moved.bottom, moved.right)
        return _prefix(sheet.name, home, own) + ":".join(ends)


def _prefix(sheet: str, home: str, own: bool) -> str:
    return "" if own and sheet == home else f"{quoted(sheet)}!"


def _corner(text: str, whole: int) -> tuple[int, int]:
    match = _END.fullmatch(text)
    assert match is not None, "the expression for a reference holds nothing else"
    row = int(match[4]) if match[4] else whole
    column = column_number(match[2]) if match[2] else (1 if whole == 1 else MAX_COLUMN)
    return row, column


def _written(text: str, row: int, column: int) -> str:
    """An end of a reference spelt as before, with another row and column."""
    match = _END.fullmatch(text)
    assert match is not None, "the expression for a reference holds nothing else"
    letters = match[1] + column_letters(column) if match[2] else ""
    digits = (match[3] if match[2] else match[1] or match[3]) + str(row) if match[4] else ""
    return letters + digits

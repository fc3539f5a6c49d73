"""Cells that move in a workbook, and formulas with references adjusted.

A formula keeps its spelling; only changed references are rewritten, and one to deleted cells becomes `#REF!`, as in
Excel.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import count
from typing import NamedTuple

from planner.xlsx.address import MAX_COLUMN, MAX_ROW, Area, Position, address, folded, quoted
from planner.xlsx.references import BROKEN, Reference, calls_around, reference, references, rewritten

_COUNTED_FROM = {"OFFSET": 0, "ROW": 0, "SUMIF": 2, "AVERAGEIF": 2}
"""Functions that read or count from a given cell on, with the index of that argument."""
_COUNTS_FROM = re.compile("|".join(rf"{name}\(" for name in _COUNTED_FROM), re.IGNORECASE)


class Lost(NamedTuple):
    """A reference to deleted cells: its sheet, its cell (or what it is in), and its text."""

    sheet: str
    place: str
    read: str

    def __str__(self) -> str:
        at = f"{self.sheet}!{self.place}" if self.sheet else self.place
        return f"{at} read {self.read}, which is no more"


@dataclass(frozen=True)
class Track:
    """New positions of a sheet's rows or columns; one that isn't in `known` moves with the known one before it.

    Those in `gone` are deleted.
    """

    known: Mapping[int, int] = field(default_factory=dict)
    gone: AbstractSet[int] = frozenset()

    @cached_property
    def _numbers(self) -> list[int]:
        return sorted(self.known)

    def __call__(self, number: int) -> int:
        """The new position of a row or column; for a deleted one, where it would be."""
        at = bisect_right(self._numbers, number)
        if at == 0:
            return number
        before = self._numbers[at - 1]
        return self.known[before] + number - before

    def origin(self, position: int, among: range) -> int:
        """Which of `among` moves to `position`; if none does, the first that isn't deleted."""
        known = ((1, 1), *self.known.items())
        for each in (old + position - new for old, new in known):
            if each in among and each not in self.gone and self(each) == position:
                return each
        return next((each for each in among if each not in self.gone), among[0])

    def span(self, first: int, last: int, edge: int) -> tuple[int, int] | None:
        """The new first and last of a span, without deleted ones; None if nothing is left.

        A span up to the sheet's `edge` still reaches it, and one from 1 to there stays whole. What is pushed over the
        edge is lost.
        """
        if last >= edge and first <= 1:
            return first, last
        while first <= last and first in self.gone:
            first += 1
        while first <= last and last in self.gone:
            last -= 1
        if first > last or self(first) > edge:
            return None
        ends = self(first), edge if last >= edge else min(self(last), edge)
        return min(ends), max(ends)

    @property
    def is_idle(self) -> bool:
        """Whether nothing moves."""
        return not self.gone and all(old == new for old, new in self.known.items())


@dataclass(frozen=True)
class SheetMoves:
    """Where a sheet's cells move, and how references to them change."""

    name: str  # the sheet's new name
    rows: Track = field(default_factory=Track)
    columns: Track = field(default_factory=Track)
    # Row -> the sheet and row to which it moves, for references to single cells: a range can't be split over sheets.
    elsewhere: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    # Such a sheet -> where this one's columns are on it.
    there: Mapping[str, Track] = field(default_factory=dict)
    # First row of a range of several -> its new first row, if the range is to keep or precede its first row.
    range_tops: Mapping[int, int] = field(default_factory=dict)
    # Row of another kind now -> column -> target column of references to a single cell, None for no target. A range
    # skips these rows.
    redirections: Mapping[int, Mapping[int, int | None]] = field(default_factory=dict)
    # Row -> where its columns move, in a table whose columns move independently.
    columns_at: Mapping[int, Track] = field(default_factory=dict)
    # First and last row of a range -> its new ones, for ranges of exactly these rows.
    whole_ranges: Mapping[tuple[int, int], tuple[int, int]] = field(default_factory=dict)

    @cached_property
    def as_read(self) -> SheetMoves:
        """The same for ranges in formulas, which skip redirected rows."""
        gone = self.rows.gone | self.redirections.keys()
        return replace(self, rows=replace(self.rows, gone=gone), redirections={}) if self.redirections else self

    def cell(self, row: int, column: int) -> Position:
        """The new position of a cell on the same sheet; for a deleted one, where it would be."""
        return self.rows(row), self.columns_of(row)(column)

    def columns_of(self, top: int, bottom: int = 0) -> Track:
        """Where the columns of a row, or of rows `top` to `bottom`, move: as in their table if all are in one."""
        found = self.columns_at.get(top, self.columns)
        return found if not bottom or self.columns_at.get(bottom, self.columns) == found else self.columns

    def redirected_cell(self, row: int, column: int) -> Area | None:
        """The target of a reference to a cell in a redirected row; None if there is none."""
        there = self.redirections[row].get(column, self.columns_of(row)(column))
        return None if there is None else Area(self.rows(row), there, self.rows(row), there)

    def has(self, row: int, column: int) -> bool:
        """Whether a cell stays on the sheet."""
        return row not in self.rows.gone and column not in self.columns_of(row).gone

    def area(self, area: Area) -> Area | None:
        """The new area of a range; a whole row or column stays whole. None if all cells are deleted."""
        rows = self.whole_ranges.get((area.top, area.bottom)) or self.rows.span(area.top, area.bottom, MAX_ROW)
        columns = self.columns_of(area.top, area.bottom).span(area.left, area.right, MAX_COLUMN)
        if rows is None or columns is None:
            return None
        (top, bottom), (left, right) = rows, columns
        if area.top < area.bottom:
            top = min(self.range_tops.get(area.top, top), bottom)
        return Area(top, left, bottom, right)

    def ref(self, ref: str) -> str:
        """A range such as `F8` or `F8:AC8`, or a list of them as in sqref, without those that are deleted."""
        return " ".join(moved for part in ref.split() if (moved := self._one(part)))

    def _one(self, ref: str) -> str:
        if (area := Area.tried(ref)) is None:
            whole = reference(ref)  # such as `G:G`, as some programs write whole columns
            if whole is None or whole.prefix:
                return ref
            return str(_written(whole, "", moved)) if (moved := self.area(whole.area)) else ""
        if (moved := self.area(area)) is None:
            return ""
        return str(moved) if ":" in ref else address(moved.top, moved.left)

    @property
    def is_idle(self) -> bool:
        """Whether nothing moves."""
        stays = self.rows.is_idle and self.columns.is_idle
        return stays and not self.elsewhere and not self.redirections and not self.columns_at


class Moves:
    """The moves of a workbook's sheets, by old name; other sheets stay."""

    def __init__(self, sheets: Mapping[str, SheetMoves]) -> None:
        self._sheets = {folded(name): found for name, found in sheets.items()}
        self.is_idle = all(found.is_idle and found.name == name for name, found in sheets.items())
        self._adjusted = cache(self._moved)  # many formulas read the same cell

    def changed(self, sheet: str, found: SheetMoves) -> Moves:
        """The same with other moves for one sheet."""
        return Moves({**self._sheets, sheet: found})

    def of(self, sheet: str) -> SheetMoves:
        """The moves of a sheet."""
        return self._sheets.get(folded(sheet), SheetMoves(sheet))

    def formula(self, text: str, sheet: str, *, to: str | None = None) -> str:
        """A formula of `sheet`, without its =, with its references adjusted.

        `to` is its new sheet, if that changes. References to other files stay.
        """
        return rewritten(text, self._adjuster(text, sheet, to or self.of(sheet).name))

    def lost(self, text: str, sheet: str) -> list[str]:
        """The references of a formula of `sheet` that `formula` turns into #REF!, as before."""
        adjust = self._adjuster(text, sheet, self.of(sheet).name)
        found = (each for each in references(text) if isinstance(adjust(each), str))
        return list(dict.fromkeys(map(str, found)))

    def _adjuster(self, text: str, sheet: str, home: str) -> Callable[[Reference], Reference | str]:
        """A function that adjusts a formula's references, which must be passed from left to right."""
        of_tops = self._of_tops(text, sheet) if _COUNTS_FROM.search(text) else ()
        if not of_tops:
            return lambda reference: self._adjusted(reference, sheet, home)
        numbers = count()
        return lambda reference: self._adjusted(reference, sheet, home, next(numbers) in of_tops)

    def _of_tops(self, text: str, sheet: str) -> set[int]:
        """The indices of references to a cell that stands for all rows of a table over which the formula has a range.

        In `OFFSET(Models!F6,MATCH(x,Models!A6:A9,0)-1,0)` it is the first.
        """
        found = references(text)
        names = [folded(each.sheet or sheet) for each in found]
        begun = {
            (name, each.area.top)
            for name, each in zip(names, found, strict=True)
            if each.area.top < each.area.bottom and each.area.top in self.of(name).range_tops
        }
        calls = zip(names, found, calls_around(text), strict=False)
        return {
            at
            for at, (on, each, (name, argument)) in enumerate(calls)
            if _COUNTED_FROM.get(name) == argument and not each.is_range and (on, each.area.top) in begun
        }

    def _moved(self, reference: Reference, sheet: str, home: str, is_top: bool = False) -> Reference | str:
        if reference.is_foreign:
            return self._renamed_span(reference)
        is_own = not reference.prefix
        name = sheet if is_own else reference.sheet
        if folded(name) not in self._sheets:
            return reference if not is_own or home == sheet else reference._replace(prefix=f"{quoted(sheet)}!")
        moves = self.of(name)
        if is_top:
            row, column = moves.range_tops[reference.first.row], reference.first.column
            at = Area(row, moves.columns(column), row, moves.columns(column))
            area: Area | None = None if column in moves.columns.gone else at
            on = moves.name
        elif not reference.is_range and reference.first.row in moves.elsewhere:
            on, row = moves.elsewhere[reference.first.row]
            columns = moves.there.get(on) or moves.columns_of(reference.first.row)
            column = columns(reference.first.column)
            area = None if reference.first.column in columns.gone else Area(row, column, row, column)
        elif not reference.is_range and reference.first.row in moves.redirections:
            on, area = moves.name, moves.redirected_cell(reference.first.row, reference.first.column)
        else:
            on, area = moves.name, moves.as_read.area(reference.area)
        prefix = "" if is_own and on == home else reference.prefix if on == name and not is_own else f"{quoted(on)}!"
        return f"{prefix}{BROKEN}" if area is None else _written(reference, prefix, area)

    def _renamed_span(self, reference: Reference) -> Reference:
        """A 3-D reference with new sheet names; one to another file is unchanged."""
        if "[" in reference.prefix:
            return reference
        ends = [self.of(name).name for name in reference.sheet.split(":")]
        if ends == reference.sheet.split(":"):
            return reference
        needs_quotes = any(quoted(name) != name for name in ends)
        span = ":".join(ends)
        return reference._replace(prefix=(quoted(span) if needs_quotes else span) + "!")


def _written(reference: Reference, prefix: str, area: Area) -> Reference:
    """A reference in the same style to other cells."""
    first, last = reference.first, reference.last
    return reference._replace(
        prefix=prefix,
        first=first._replace(row=first.row and area.top, column=first.column and area.left),
        last=last._replace(row=last.row and area.bottom, column=last.column and area.right),
    )

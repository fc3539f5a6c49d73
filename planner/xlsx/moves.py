"""Cells that move in a workbook, and a formula's references to them rewritten.

A formula keeps its spelling; only the references that lead elsewhere now are written anew, and one whose cells are
gone is `#REF!`, as in Excel.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import NamedTuple

from planner.xlsx.address import MAX_COLUMN, MAX_ROW, Area, Position, address, folded, quoted
from planner.xlsx.references import BROKEN, Reference, calls_around, reference, references, rewritten

_COUNTED_FROM = {"OFFSET": 0, "ROW": 0, "SUMIF": 2, "AVERAGEIF": 2}
"""Functions that read, or count, on from a cell that they are given; which of their arguments, from 0, it is."""
_COUNTS_FROM = re.compile("|".join(rf"{name}\(" for name in _COUNTED_FROM), re.IGNORECASE)


class Lost(NamedTuple):
    """A reference to cells that are no more: the sheet that it stands on, its cell or what it stands in, its text."""

    sheet: str
    place: str
    read: str

    def __str__(self) -> str:
        at = f"{self.sheet}!{self.place}" if self.sheet else self.place
        return f"{at} read {self.read}, which is no more"


@dataclass(frozen=True)
class Track:
    """New positions of a sheet's rows or columns; one that isn't known moves along with the one before it.

    Those of `gone` are deleted.
    """

    known: Mapping[int, int] = field(default_factory=dict)
    gone: AbstractSet[int] = frozenset()

    @cached_property
    def _numbers(self) -> list[int]:
        return sorted(self.known)

    def __call__(self, number: int) -> int:
        """The new position of a row or column; of a deleted one, where it would be."""
        at = bisect_right(self._numbers, number)
        if at == 0:
            return number
        before = self._numbers[at - 1]
        return self.known[before] + number - before

    def origin(self, position: int, among: range) -> int:
        """Which of some rows or columns is in a position then; where none of them is, the first that isn't deleted."""
        known = ((1, 1), *self.known.items())
        for each in (old + position - new for old, new in known):
            if each in among and each not in self.gone and self(each) == position:
                return each
        return next((each for each in among if each not in self.gone), among[0])

    def span(self, first: int, last: int, edge: int) -> tuple[int, int] | None:
        """Where those from `first` to `last` are then, without those that are no more; None where none is left.

        What reaches to the sheet's `edge` still does; from 1 to there it is whole. What is pushed over it is no more.
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
        """Whether everything stays."""
        return not self.gone and all(old == new for old, new in self.known.items())


@dataclass(frozen=True)
class SheetMoves:
    """Where a sheet's cells go, and what references to them become."""

    name: str  # the sheet's name then
    rows: Track = field(default_factory=Track)
    columns: Track = field(default_factory=Track)
    # Row -> sheet and row that it goes to, for a reference to a single cell: a range can't be split over sheets.
    elsewhere: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    # Such a sheet -> where this one's columns stand on it.
    there: Mapping[str, Track] = field(default_factory=dict)
    # First row of a range of several -> the first then, where the range outlives its first row or begins above it.
    range_tops: Mapping[int, int] = field(default_factory=dict)
    # Rows of another kind then -> column -> the column where a reference to one cell is led, None for nowhere. A range
    # leaves these rows out.
    redirections: Mapping[int, Mapping[int, int | None]] = field(default_factory=dict)
    # Row -> where its columns go, in a table whose columns move apart from those of others.
    columns_at: Mapping[int, Track] = field(default_factory=dict)
    # First and last row of a range -> those then, for a range of exactly these rows.
    whole_ranges: Mapping[tuple[int, int], tuple[int, int]] = field(default_factory=dict)

    @cached_property
    def as_read(self) -> SheetMoves:
        """The same for a range that a formula reads."""
        gone = self.rows.gone | self.redirections.keys()
        return replace(self, rows=replace(self.rows, gone=gone), redirections={}) if self.redirections else self

    def cell(self, row: int, column: int) -> Position:
        """Where a cell of the sheet stands then, on the same sheet; or would stand, had it not gone."""
        return self.rows(row), self.columns_of(row)(column)

    def columns_of(self, top: int, bottom: int = 0) -> Track:
        """Where the columns of a row go, or of rows down to `bottom`: those of their table, if all are of one."""
        found = self.columns_at.get(top, self.columns)
        return found if not bottom or self.columns_at.get(bottom, self.columns) == found else self.columns

    def redirected_cell(self, row: int, column: int) -> Area | None:
        """Where a reference to a cell of a row of another kind is led; None for nowhere."""
        there = self.redirections[row].get(column, self.columns_of(row)(column))
        return None if there is None else Area(self.rows(row), there, self.rows(row), there)

    def has(self, row: int, column: int) -> bool:
        """Whether a cell is still on the sheet."""
        return row not in self.rows.gone and column not in self.columns_of(row).gone

    def area(self, area: Area) -> Area | None:
        """The cells from one corner to the other then; a whole row or column stays whole. None where all are gone."""
        rows = self.whole_ranges.get((area.top, area.bottom)) or self.rows.span(area.top, area.bottom, MAX_ROW)
        columns = self.columns_of(area.top, area.bottom).span(area.left, area.right, MAX_COLUMN)
        if rows is None or columns is None:
            return None
        (top, bottom), (left, right) = rows, columns
        if area.top < area.bottom:
            top = min(self.range_tops.get(area.top, top), bottom)
        return Area(top, left, bottom, right)

    def ref(self, ref: str) -> str:
        """`F8`, `F8:AC8` or a list of such, as sqref has it, without those whose cells are all gone."""
        return " ".join(moved for part in ref.split() if (moved := self._one(part)))

    def _one(self, ref: str) -> str:
        if (area := Area.tried(ref)) is None:
            whole = reference(ref)  # `G:G`, as some programs write whole columns
            if whole is None or whole.prefix:
                return ref
            return str(_written(whole, "", moved)) if (moved := self.area(whole.area)) else ""
        if (moved := self.area(area)) is None:
            return ""
        return str(moved) if ":" in ref else address(moved.top, moved.left)

    @property
    def is_idle(self) -> bool:
        """Whether every cell stays."""
        stays = self.rows.is_idle and self.columns.is_idle
        return stays and not self.elsewhere and not self.redirections and not self.columns_at


class Moves:
    """What moves in a workbook, sheet by sheet under the names of before; what isn't named stays."""

    def __init__(self, sheets: Mapping[str, SheetMoves]) -> None:
        self._sheets = {folded(name): found for name, found in sheets.items()}
        self.is_idle = all(found.is_idle and found.name == name for name, found in sheets.items())

    def changed(self, sheet: str, found: SheetMoves) -> Moves:
        """The same with what moves on one sheet, as for what reads it otherwise."""
        return Moves({**self._sheets, sheet: found})

    def of(self, sheet: str) -> SheetMoves:
        """What moves on a sheet."""
        return self._sheets.get(folded(sheet), SheetMoves(sheet))

    def formula(self, text: str, sheet: str, *, to: str | None = None) -> str:
        """A formula of `sheet`, without its =, with every reference updated to where its cells move.

        It stands on the sheet `to` then, where that is another. References to other files stay.
        """
        return rewritten(text, self._led(text, sheet, to or self.of(sheet).name))

    def lost(self, text: str, sheet: str) -> list[str]:
        """The references of a formula of `sheet` that `formula` makes #REF!, as they read before."""
        led = self._led(text, sheet, self.of(sheet).name)
        found = (each for each in references(text) if isinstance(led(each), str))
        return list(dict.fromkeys(map(str, found)))

    def _led(self, text: str, sheet: str, home: str) -> Callable[[Reference], Reference | str]:
        """What becomes of the references of a formula, which are to be given from left to right."""
        numbers, of_tops = count(), self._of_tops(text, sheet) if _COUNTS_FROM.search(text) else set()
        return lambda reference: self._moved(reference, sheet, home, is_top=next(numbers) in of_tops)

    def _of_tops(self, text: str, sheet: str) -> set[int]:
        """The references, counted from 0, to a cell that stands for all rows of a table, as a range beside it has them:
        in `OFFSET(Models!F6,MATCH(x,Models!A6:A9,0)-1,0)` the first.
        """
        found = references(text)
        names = [folded(each.sheet or sheet) for each in found]
        begun = {(name, each.area.top) for name, each in zip(names, found, strict=True)
                 if each.area.top < each.area.bottom and each.area.top in self.of(name).range_tops}  # fmt: skip
        calls = zip(names, found, calls_around(text), strict=False)
        return {at for at, (on, each, (name, argument)) in enumerate(calls) if _COUNTED_FROM.get(name) == argument
                and not each.is_range and (on, each.area.top) in begun}  # fmt: skip

    def _moved(self, reference: Reference, sheet: str, home: str, *, is_top: bool) -> Reference | str:
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
        """A reference over several sheets with the names that they have then; one to another file as it is."""
        if "[" in reference.prefix:
            return reference
        ends = [self.of(name).name for name in reference.sheet.split(":")]
        if ends == reference.sheet.split(":"):
            return reference
        needs_quotes = any(quoted(name) != name for name in ends)
        span = ":".join(ends)
        return reference._replace(prefix=(quoted(span) if needs_quotes else span) + "!")


def _written(reference: Reference, prefix: str, area: Area) -> Reference:
    """A reference spelt as before, to other cells."""
    first, last = reference.first, reference.last
    return reference._replace(
        prefix=prefix,
        first=first._replace(row=first.row and area.top, column=first.column and area.left),
        last=last._replace(row=last.row and area.bottom, column=last.column and area.right),
    )

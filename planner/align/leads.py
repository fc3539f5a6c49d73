"""Where each cell of an edited workbook was built, and what its formulas read as there."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from planner.xlsx.address import folded
from planner.xlsx.pattern import Pattern
from planner.xlsx.references import Corner, Reference, rewritten

FAR_ROW, FAR_COLUMN = 500_000, 8_000  # where a person's rows and columns are led to: no built cell is there


@dataclass(frozen=True)
class Led:
    """Where the rows and columns of a sheet stood as built: of those that were built, and of a person's among them.

    A row behind the last one stood at `end`, where ranges over a database end, a column at `reach`.
    """

    name: str
    rows: Mapping[int, int]
    columns: Mapping[int, int]
    own_rows: frozenset[int] = frozenset()
    own_columns: frozenset[int] = frozenset()
    first: tuple[int, int] = (0, 0)  # the first row of a database and where it was built
    end: int = 0
    reach: int = 0

    @cached_property
    def is_idle(self) -> bool:
        """Whether every cell that was built stands where it was."""
        stays = all(at == was for known in (self.rows, self.columns) for at, was in known.items())
        within = any(row < max(self.rows, default=0) for row in self.own_rows)
        beside = any(column < max(self.columns, default=0) for column in self.own_columns)
        return stays and not within and not beside

    def row(self, row: int) -> int:
        """Where a row was built."""
        if row in self.own_rows:
            return row + FAR_ROW
        return _led(row, self.rows, self._rows, self.end)

    def column(self, column: int) -> int:
        """Where a column was built."""
        if column in self.own_columns:
            return column + FAR_COLUMN
        return _led(column, self.columns, self._columns, self.reach)

    @cached_property
    def _rows(self) -> list[int]:
        return sorted(self.rows)

    @cached_property
    def _columns(self) -> list[int]:
        return sorted(self.columns)

    def corner(self, corner: Corner) -> Corner:
        """An end of a reference as it was built; whole rows and columns stay whole."""
        row = corner.row and self.row(corner.row)
        return corner._replace(row=row, column=corner.column and self.column(corner.column))


def _led(number: int, known: Mapping[int, int], ordered: list[int], end: int) -> int:
    if number in known:
        return known[number]
    at = bisect_right(ordered, number)
    if at == len(ordered) and end:
        return end
    return number if at == 0 else known[ordered[at - 1]] + number - ordered[at - 1]


@dataclass(frozen=True)
class Leads:
    """What a workbook's formulas read as, once each reference leads to where its cells were built."""

    sheets: Mapping[str, Led]  # by the sheet's name without capitals

    def of(self, sheet: str) -> Led | None:
        """Where the cells of a sheet were built; None for a sheet that planner didn't build."""
        return self.sheets.get(folded(sheet))

    def is_idle(self, sheet: str, formula: Pattern) -> bool:
        """Whether all that a formula reads stands where it was built, under the same name."""
        names = {reference.sheet or sheet for reference in formula.references} | {sheet}
        found = [self.of(name) for name in names]
        return all(led is None or (led.is_idle and led.name == name) for led, name in zip(found, names, strict=True))

    def formula(self, text: str, sheet: str) -> str:
        """A formula of a sheet, without its =, as it would read where it was built."""

        def change(reference: Reference) -> Reference:
            led = None if reference.is_foreign else self.of(reference.sheet or sheet)
            if led is None:
                return reference
            first, last = led.corner(reference.first), led.corner(reference.last)
            if reference.is_range and led.first[0] and reference.first.row == led.first[0]:
                first = first._replace(row=led.first[1])
            return reference.to(first, last, led.name if reference.prefix else None)

        return rewritten(text, change)

"""A formula by what it reads and not by where that stands, so that it can be compared across two workbooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from planner.align.grid import BEYOND, Side, Token
from planner.xlsx.address import Area
from planner.xlsx.pattern import Pattern, RelativeReference, renamed


@dataclass(frozen=True)
class Meanings:
    """Formulas of one workbook; `sides` are its sheets by name, `names` what each was called in the old workbook."""

    sides: Mapping[str, Side]
    names: Mapping[str, str]

    def of(self, sheet: str, row: int, column: int, formula: Pattern) -> str:
        """The formula with every reference as sheet, row and column tokens; its own scenario is `same`."""
        return self._told(sheet, row, column, formula, in_place=False)

    def in_place(self, sheet: str, row: int, column: int, formula: Pattern) -> str:
        """The same, but for fixed cases of its own table: these by their place, which sorted rows leave as it was."""
        return self._told(sheet, row, column, formula, in_place=True)

    def _told(self, sheet: str, row: int, column: int, formula: Pattern, *, in_place: bool) -> str:
        own = self.sides[sheet]

        def told(reference: RelativeReference) -> str:
            name = reference.sheet or sheet
            side = self.sides.get(name)
            if side is None:
                return f"[{name}!{reference.area(row, column)}]"
            if in_place and side is own and reference.first.row_fixed and reference.first == reference.last:
                at = reference.first.seen_from(row, column)
                if (place := side.place_of_case(at[0])) is not None:
                    return f"[case {place} {side.column(at[1])}]"
            where = "" if name == sheet else f"{self.names.get(name, name)}!"
            return f"[{where}{_area(side, reference.area(row, column), own, column)}]"

        return renamed(formula, told)


def _area(side: Side, area: Area, own: Side, own_column: int) -> str:
    same = own.scenarios.get(own_column)

    def column(number: int) -> Token:
        scenario = side.scenarios.get(number)
        if scenario is not None:
            return ("same",) if scenario == same else ("scenario", scenario)
        if not own.scenarios and side is own and number == own_column:
            return ("same",)
        return side.column(number)

    if (area.top, area.left) == (area.bottom, area.right):
        return f"{side.row(area.top)} {column(area.left)}"
    rows = f"{_end(side.row, area.top, side.last_row)}..{_end(side.row, area.bottom, side.last_row)}"
    covered = {number for number in side.scenarios if area.left <= number <= area.right}
    if side.scenarios and covered == set(side.scenarios) and area.right > area.left:
        return f"{rows} all scenarios"
    if area.left == area.right:
        return f"{rows} {column(area.left)}"
    return f"{rows} {column(area.left)}..{_end(column, area.right, side.last_column)}"


def _end(token: Callable[[int], Token], number: int, last: int) -> Token:
    """The token of a range's end; all that lies behind the last filled row or column is one."""
    return BEYOND if number > last else token(number)

"""Formulas by the meaning of their references, not by their cells, so that two workbooks' formulas can be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

from planner.align.matched import BEYOND, Matched, Token
from planner.xlsx.address import Area
from planner.xlsx.pattern import Pattern, RelativeReference, renamed


class Placed(NamedTuple):
    """A formula in its cell."""

    sheet: str
    row: int
    column: int
    formula: Pattern


@dataclass(frozen=True)
class Meanings:
    """Spells out the formulas of one workbook.

    `sheets` are its matched sheets by name, `names` maps a sheet's name to its name in the old workbook.
    """

    sheets: Mapping[str, Matched]
    names: Mapping[str, str]

    def of(self, cell: Placed, *, in_place: bool = False) -> str:
        """The formula with every reference replaced by the tokens of its sheet, row and column.

        Its own scenario is `same`. With `in_place`, a fixed reference to a case of its own table is spelt by the case's
        index, and a range over a whole table as that table: sorting the table then changes nothing. A range that ends
        right above the formula is spelt so: taking out the row above changes nothing then.
        """
        own = self.sheets[cell.sheet]

        def spelt(reference: RelativeReference) -> str:
            name = reference.sheet or cell.sheet
            side = self.sheets.get(name)
            if side is None:
                return f"[{name}!{reference.area(cell.row, cell.column)}]"
            if in_place and side is own and reference.first.row_fixed and reference.first == reference.last:
                row, column = reference.first.seen_from(cell.row, cell.column)
                if row in side.place_of_case:
                    return f"[case {side.place_of_case[row]} {side.column(column, row)}]"
            where = "" if name == cell.sheet else f"{self.names.get(name, name)}!"
            area = reference.area(cell.row, cell.column)
            if in_place and side is own and reference.is_range and area.bottom == cell.row - 1:
                area = area._replace(bottom=area.top)
                where = "from there to right above "
            tokens = _area(side, area, own, cell.column, in_place=in_place, is_exact=True)
            return f"[{where}{' '.join(map(str, tokens))}]"

        return renamed(cell.formula, spelt)


@dataclass(frozen=True)
class Comparer:
    """Compares formulas of two workbooks; `sheets` are the (old, new) pairs of matched sheets, by old name."""

    sheets: Mapping[str, tuple[Matched, Matched]]

    @cached_property
    def before(self) -> Meanings:
        """Spells out the formulas of the old workbook."""
        return Meanings({name: one for name, (one, _) in self.sheets.items()}, {})

    @cached_property
    def after(self) -> Meanings:
        """Spells out the formulas of the new workbook."""
        names = {two.sheet.name: name for name, (_, two) in self.sheets.items()}
        return Meanings({two.sheet.name: two for _, two in self.sheets.values()}, names)

    def is_same(self, old: Placed, new: Placed) -> bool:
        """Whether two formulas mean the same."""
        if old.formula is new.formula and self._reads_the_same(old, new):
            return True
        if self.before.of(old) == self.after.of(new):
            return True
        return self.before.of(old, in_place=True) == self.after.of(new, in_place=True)

    def _reads_the_same(self, old: Placed, new: Placed) -> bool:
        """Whether formulas with an equal pattern mean the same; decided by their references alone, which is faster."""
        moved = self._moved if old == new and old.sheet in self._moved else {}
        if moved and self._is_settled(old.sheet, old.formula):
            return True
        one, two = self.sheets[old.sheet]
        for reference in old.formula.references:
            name = reference.sheet or old.sheet
            area, rows = reference.area(old.row, old.column), moved.get(name)
            if rows is not None and area.top not in rows and area.bottom not in rows:
                continue
            read = self.sheets.get(name)
            if read is None or (reference.sheet and read[1].sheet.name != name):
                return False
            now = _area(read[1], reference.area(new.row, new.column), two, new.column)
            if now != _area(read[0], area, one, old.column):
                return False
        return True

    def has_moved(self, old: Placed) -> bool:
        """Whether a precedent of the old formula, or an end of a range that it reads, is at another position now."""
        for reference in old.formula.references:
            one, two = self.sheets.get(reference.sheet or old.sheet, (None, None))
            if one is not None and two is not None:
                area = reference.area(old.row, old.column)
                rows = _moved_of(one.rows, two.rows, (area.top, area.bottom))
                before, after = one.columns_of(area.top), two.columns_of(area.top)
                if rows or _moved_of(before, after, (area.left, area.right)):
                    return True
        return False

    def covers_the_same(self, old: Placed, new: Placed) -> bool:
        """Whether the ranges of two formulas cover the same of those rows and columns that both workbooks have."""
        for before, after in zip(old.formula.references, new.formula.references, strict=False):
            one, two = self.sheets.get(before.sheet or old.sheet, (None, None))
            area, then = before.area(old.row, old.column), after.area(new.row, new.column)
            if one is None or two is None or area.is_cell or then.is_cell:
                continue
            rows = _within(one.rows, area.rows, two.rows) == _within(two.rows, then.rows, one.rows)
            columns, others = one.columns_of(area.top), two.columns_of(then.top)
            if not rows or _within(columns, area.columns, others) != _within(others, then.columns, columns):
                return False
        return True

    @cached_property
    def _is_settled(self) -> Callable[[str, Pattern], bool]:
        """Whether a formula reads only sheets of which no row or column moved."""

        @cache
        def settled(sheet: str, formula: Pattern) -> bool:
            read = {reference.sheet or sheet for reference in formula.references}
            return all(self._moved.get(name) == frozenset() for name in read)

        return settled

    @cached_property
    def _moved(self) -> dict[str, frozenset[int]]:
        """The sheets whose name, columns and extent are unchanged, each with the rows whose token changed."""
        return {
            name: frozenset(row for row in one.rows.keys() | two.rows.keys() if one.rows.get(row) != two.rows.get(row))
            for name, (one, two) in self.sheets.items()
            if name == two.sheet.name
            and (one.columns, one.columns_within, one.scenarios, one.last_row)
            == (two.columns, two.columns_within, two.scenarios, two.last_row)
        }


def _within(known: Mapping[int, Token], numbers: range, other: Mapping[int, Token]) -> set[Token]:
    """The tokens at `numbers` (rows or columns) that the other workbook has too."""
    return {token for number, token in known.items() if number in numbers}.intersection(other.values())


def _moved_of(before: Mapping[int, Token], after: Mapping[int, Token], numbers: Iterable[int]) -> bool:
    """Whether a token at one of `numbers` (rows or columns) is elsewhere in the new workbook."""
    others = [token for number in numbers if (token := before.get(number)) is not None and token != after.get(number)]
    return bool(others) and not {*after.values()}.isdisjoint(others)


def _area(
    side: Matched, area: Area, own: Matched, own_column: int, *, in_place: bool = False, is_exact: bool = False
) -> tuple[Token, ...]:
    """The tokens of an area's corners, as a formula in `own_column` of the sheet `own` sees them.

    With `in_place`, the ends of a range over a whole table of cases are just its first and last case, so that sorting
    or extending the table changes nothing. With `is_exact`, each blank row or column has a token of its own.
    """
    same = own.scenarios.get(own_column)

    def column(number: int) -> Token:
        scenario = side.scenarios.get(number)
        if scenario is not None:
            return ("same",) if scenario == same else ("scenario", scenario)
        if not own.scenarios and side is own and number == own_column:
            return ("same",)
        return side.exact_column(number, area.top) if is_exact and area.is_cell else side.column(number, area.top)

    if area.is_cell:
        return side.exact_row(area.top) if is_exact else side.row(area.top), column(area.left)
    rows = _end(side.row, area.top, side.last_row), "..", _end(side.row, area.bottom, side.last_row)
    last = side.ends_of_cases.get(area.top) if in_place else None
    if last is not None and area.bottom >= last:
        table = side.cases[area.top]
        rows = ("first", table), "..", ("last", table) if area.bottom == last else rows[-1]
    if area.left == area.right:
        return *rows, column(area.left)
    covered = {number for number in side.scenarios if area.left <= number <= area.right}
    if side.scenarios and covered == side.scenarios.keys():
        return *rows, "all scenarios"
    return *rows, column(area.left), "..", _end(column, area.right, side.last_column)


def _end(token: Callable[[int], Token], number: int, last: int) -> Token:
    """The token of a range's end; everything beyond the last filled row or column has the same one."""
    return BEYOND if number > last else token(number)

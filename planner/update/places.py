"""Maps each cell of an edited workbook to its built position and to its position in the merged workbook.

A formula is compared with the built one by translating its references back; rows and columns that a user added get
positions of their own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Container, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from planner.align.keys import PUT_IN, KeyedSheet
from planner.book.rowkeys import Keyed
from planner.xlsx.address import folded
from planner.xlsx.moves import Track
from planner.xlsx.pattern import Pattern, RelativeCorner
from planner.xlsx.references import Corner, Reference, rewritten

FAR_ROW, FAR_COLUMN = 500_000, 8_000  # where a person's rows and columns are led to: no built cell is there


@dataclass(frozen=True)
class Origins:
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

    def is_stretched(self, last: RelativeCorner) -> bool:
        """Whether the end of a range behind all rows or columns is another than the built one.

        So it is where rows were put in before it, or a scenario was taken out.
        """
        is_lower = last.row_fixed and last.row > self._rows[-1] and last.row != self.end
        is_wider = last.column_fixed and last.column > self._columns[-1] and last.column != self.reach
        return (bool(self.end) and is_lower) or (bool(self.reach) and is_wider)

    def row(self, row: int) -> int:
        """Where a row was built."""
        if row in self.own_rows:
            return row + FAR_ROW
        return _place(row, self.rows, self._rows, self.end)

    def column(self, column: int) -> int:
        """Where a column was built."""
        if column in self.own_columns:
            return column + FAR_COLUMN
        return _place(column, self.columns, self._columns, self.reach)

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


def _place(number: int, known: Mapping[int, int], ordered: list[int], end: int) -> int:
    if number in known:
        return known[number]
    at = bisect_right(ordered, number)
    if at == len(ordered) and end:
        return end
    return number if at == 0 else known[ordered[at - 1]] + number - ordered[at - 1]


@dataclass(frozen=True)
class AsBuilt:
    """What a workbook's formulas read as, once each reference leads to where its cells were built."""

    sheets: Mapping[str, Origins]  # by the sheet's name without capitals

    def of(self, sheet: str) -> Origins | None:
        """Where the cells of a sheet were built; None for a sheet that planner didn't build."""
        return self.sheets.get(folded(sheet))

    def is_idle(self, sheet: str, formula: Pattern) -> bool:
        """Whether all that a formula reads stands where it was built, under the same name."""
        names = {reference.sheet or sheet for reference in formula.references} | {sheet}
        found = {name: origins for name in names if (origins := self.of(name)) is not None}
        stays = all(origins.is_idle and origins.name == name for name, origins in found.items())
        reads = ((found.get(each.sheet or sheet), each.last) for each in formula.references)
        return stays and not any(origins and origins.is_stretched(last) for origins, last in reads)

    def formula(self, text: str, sheet: str) -> str:
        """A formula of a sheet, without its =, as it would read where it was built."""

        def change(reference: Reference) -> Reference:
            origins = None if reference.is_foreign else self.of(reference.sheet or sheet)
            if origins is None:
                return reference
            first, last = origins.corner(reference.first), origins.corner(reference.last)
            if reference.is_range and origins.first[0] and reference.first.row == origins.first[0]:
                first = first._replace(row=origins.first[1])
            return reference.to(first, last, origins.name if reference.prefix else None)

        return rewritten(text, change)


@dataclass(frozen=True)
class FinalPlaces:
    """Old rows and columns to their final ones, fresh ones to theirs, and what has no match.

    `own_rows` and `own_columns` are a person's, `gone_rows` were planner's and are no more. By row of the old sheet
    `columns_at` says where its columns go in tables that have columns of their own.
    """

    old_rows: Track
    fresh_rows: Track
    columns: Track
    fresh_columns: Track
    own_rows: tuple[int, ...]
    own_columns: tuple[int, ...]
    gone_rows: tuple[int, ...]
    new_rows: tuple[int, ...]
    columns_at: Mapping[int, Track] = field(default_factory=dict)


def final_places(
    old: KeyedSheet, fresh: Keyed, before: Mapping[int, int], is_own: Callable[[int, int], bool],
    elsewhere: Container[str], *, keeps_rows: bool = False,
) -> FinalPlaces:  # fmt: skip
    """`is_own` says of a cell of the old sheet whether a person filled it; rows of `elsewhere` go to other sheets.

    With `keeps_rows` a row that is no more stays as a person's, whoever wrote it: a scenario may need that model.

    `before` says where the rows stood as built, against which blank ones are counted: those beyond a person put in.
    """
    matched = old.rows_on(fresh)
    own: list[int] = []
    gone: list[int] = []
    for row in sorted(old.columns_by_row.keys() - matched.keys()):
        filled = [column for column in old.columns_by_row[row] if is_filled(old, row, column)]
        stays = ((keeps_rows and column in old.columns) or is_own(row, column) for column in filled)
        if old.rows.get(row, "") not in elsewhere and any(stays):
            own.append(row)
        elif filled:
            gone.append(row)
    own = sorted({*own, *_blank_rows(old, before, {*own, *gone})})
    old_rows, fresh_rows = _placed(matched, own, max(fresh.rows, default=0), lambda row: _read_above(old, row))
    columns, fresh_columns, own_columns = _columns(old, fresh, is_own)
    known = set(matched.values())
    new = tuple(row for row in fresh.rows if row not in known)
    old_rows |= _below(matched, old_rows, fresh_rows)
    old_track, old_columns = Track(old_rows, frozenset(gone)), Track(columns)
    return FinalPlaces(
        old_track, Track(fresh_rows), old_columns, Track(fresh_columns), tuple(own), own_columns, tuple(gone), new
    )


def _blank_rows(old: KeyedSheet, before: Mapping[int, int], filled: Container[int]) -> list[int]:
    """The blank rows that a person put between or above planner's: more than were built between the same two."""
    highest = min(before, default=1)
    more = highest - before.get(highest, highest)
    found = [row for row in range(1, 1 + more) if row not in filled]
    for above, below in pairwise(sorted(before)):
        start, stop = before[above], before[below]
        blank = [
            row for row in range(above + 1, below) if row not in filled and old.rows.get(row, PUT_IN).startswith(PUT_IN)
        ]
        if stop > start:
            found += blank[stop - start - 1 :]
    return found


def _read_above(old: KeyedSheet, row: int) -> set[int]:
    """The rows above one that its formulas read."""
    found: set[int] = set()
    for column in old.columns_by_row.get(row, ()):
        formula = old.sheet.patterns.get((row, column))
        for reference in formula.references if formula else ():
            if folded(reference.sheet or old.sheet.name) == folded(old.sheet.name):
                area = reference.area(row, column)
                found.update(range(area.top, min(area.bottom + 1, row)))
    return found


def _placed(
    matched: Mapping[int, int], own: list[int], last: int, read_by: Callable[[int], Collection[int]] = lambda _own: ()
) -> tuple[dict[int, int], dict[int, int]]:
    """Final rows (or columns) of the old sheet's and of the fresh one's, own ones behind what they stood behind and
    behind what they read there.
    """
    lowest = max(matched, default=0)
    behind: dict[int, list[int]] = {}
    places = dict(matched)
    for row in own:
        if row < lowest:
            anchor = max((known for known in matched if known < row), default=0)
            places[row] = max(places.get(other, 0) for other in (anchor, *read_by(row)))
            behind.setdefault(places[row], []).append(row)
    shift, fresh_rows, placed = 0, {}, {}
    for number in range(last + 1):
        if number:
            fresh_rows[number] = number + shift
        for row in behind.get(number, ()):
            shift += 1
            placed[row] = number + shift
    end = fresh_rows.get(last, last)
    placed |= {row: fresh_rows[number] for row, number in matched.items()}
    placed |= {row: end + row - lowest for row in own if row > lowest}
    return placed, fresh_rows


def _below(matched: Mapping[int, int], placed: Mapping[int, int], fresh_rows: Mapping[int, int]) -> dict[int, int]:
    """Where the row below all that both have goes: below all, so that a blank cell down there stays a blank one."""
    below = max(matched, default=0) + 1
    return {} if below in placed else {below: max(fresh_rows.values(), default=0) + 1}


def _columns(
    old: KeyedSheet, fresh: Keyed, is_own: Callable[[int, int], bool]
) -> tuple[dict[int, int], dict[int, int], tuple[int, ...]]:
    """Final columns of the old sheet's and of the fresh one's, and those of a person's."""
    matched = old.columns_on(fresh)
    filled = {column for row, column in old.sheet.cells
              if column not in matched and is_filled(old, row, column) and is_own(row, column)}  # fmt: skip
    own = sorted(filled | _put_between(old, fresh, matched))
    placed, fresh_columns = _placed(matched, own, max(fresh.columns, default=0))
    return placed, fresh_columns, tuple(own)


def _put_between(old: KeyedSheet, fresh: Keyed, matched: Mapping[int, int]) -> set[int]:
    """The columns without a title among planner's, blank ones too, where the fresh sheet has none at that place."""
    untitled = [column for column in range(1, max(matched, default=0)) if column not in old.columns]
    left = {column: max((known for known in matched if known < column), default=0) for column in untitled}
    return {column for column, neighbour in left.items() if matched.get(neighbour, 0) + 1 in fresh.columns}


def is_filled(keyed: KeyedSheet, row: int, column: int) -> bool:
    """Whether a cell of the file holds a formula or a value."""
    cell = keyed.sheet.cells.get((row, column))
    return cell is not None and (cell.kind != "" or cell.value not in (None, ""))

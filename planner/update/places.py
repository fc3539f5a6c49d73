"""Maps each cell of an edited workbook to its built position and to its final one in the merged workbook.

To compare a formula with the built one, its references are translated back. Rows and columns that the user added get
positions of their own.
"""

from __future__ import annotations

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

FAR_ROW, FAR_COLUMN = 500_000, 8_000  # where the user's rows and columns are put: no built cell is there


@dataclass(frozen=True)
class Origins:
    """The built position of each row and column of one sheet.

    `rows` and `columns` map positions in the file to built ones; `own_rows` and `own_columns` were added by the user. A
    row below the last known one maps to `end`, where ranges over a database end; a column right of the last one to
    `reach`.
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
        """Whether every built cell is still at its built position."""
        stays = all(at == was for known in (self.rows, self.columns) for at, was in known.items())
        rows_among = any(row < self._last_row for row in self.own_rows)
        columns_among = any(column < self._last_column for column in self.own_columns)
        return stays and not rows_among and not columns_among

    def is_stretched(self, last: RelativeCorner) -> bool:
        """Whether a range's `last` corner, below all rows or right of all columns, isn't where it was built.

        This happens when rows were inserted before it, or a scenario was deleted.
        """
        is_lower = last.row_fixed and last.row > self._last_row and last.row != self.end
        is_wider = last.column_fixed and last.column > self._last_column and last.column != self.reach
        return (bool(self.end) and is_lower) or (bool(self.reach) and is_wider)

    def row(self, row: int) -> int:
        """The built row of a row; a row of the user's maps to FAR_ROW and beyond."""
        if row in self.own_rows:
            return row + FAR_ROW
        return self.end if self.end and row > self._last_row else self._row_track(row)

    def column(self, column: int) -> int:
        """The built column of a column; a column of the user's maps to FAR_COLUMN and beyond."""
        if column in self.own_columns:
            return column + FAR_COLUMN
        return self.reach if self.reach and column > self._last_column else self._column_track(column)

    @cached_property
    def _row_track(self) -> Track:
        return Track(self.rows)

    @cached_property
    def _column_track(self) -> Track:
        return Track(self.columns)

    @cached_property
    def _last_row(self) -> int:
        return max(self.rows, default=0)

    @cached_property
    def _last_column(self) -> int:
        return max(self.columns, default=0)

    def corner(self, corner: Corner) -> Corner:
        """A corner of a reference at its built position; a whole-row or whole-column reference stays one."""
        row = corner.row and self.row(corner.row)
        return corner._replace(row=row, column=corner.column and self.column(corner.column))


@dataclass(frozen=True)
class AsBuilt:
    """Translates the formulas of a workbook back to built positions, given the `Origins` of its sheets."""

    sheets: Mapping[str, Origins]  # by the sheet's name without capitals

    def of(self, sheet: str) -> Origins | None:
        """The origins of a sheet; None for a sheet that planner didn't build."""
        return self.sheets.get(folded(sheet))

    def is_idle(self, sheet: str, formula: Pattern) -> bool:
        """Whether translating a formula changes nothing: all its precedents are where they were built, by name too."""
        names = {reference.sheet or sheet for reference in formula.references} | {sheet}
        found = {name: origins for name in names if (origins := self.of(name)) is not None}
        stays = all(origins.is_idle and origins.name == name for name, origins in found.items())
        reads = ((found.get(each.sheet or sheet), each.last) for each in formula.references)
        return stays and not any(origins and origins.is_stretched(last) for origins, last in reads)

    def formula(self, text: str, sheet: str) -> str:
        """A formula of `sheet`, without its =, with its references at their built positions."""

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
    """The final positions of a sheet's rows and columns, of the file (`old_rows`, `columns`) and the fresh workbook.

    `own_rows` and `own_columns` are rows and columns of the user's; `gone_rows` are old rows that planner wrote and no
    longer does. `columns_at` has, by old row, the final columns in a table whose columns move independently of the
    sheet's.
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
    old: KeyedSheet,
    fresh: Keyed,
    before: Mapping[int, int],
    is_own: Callable[[int, int], bool],
    elsewhere: Container[str],
    *,
    keeps_rows: bool,
) -> FinalPlaces:
    """The final positions of the rows and columns of `old`, a sheet of the file, and `fresh`, the same sheet now.

    `before` has the built row of each old row: blank rows in excess of the built ones are the user's. `is_own` says
    whether the user filled an old cell. Rows with a key in `elsewhere` move to other sheets. With `keeps_rows`, an old
    row that planner no longer writes stays as if it were the user's, for a scenario may use it.
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
    """The blank rows that the user inserted: those in excess of the built distance between two of planner's rows.

    Rows above planner's first row count too.
    """
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
    """The rows above `row` on the same sheet that its formulas read."""
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
    """The final rows (or columns) of the old sheet and of the fresh one.

    A row of the user's goes below the row that it followed, and below all rows that it reads (`read_by`).
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
    """The first row below all matched ones, below the whole fresh sheet, so that a blank cell stays blank."""
    below = max(matched, default=0) + 1
    return {} if below in placed else {below: max(fresh_rows.values(), default=0) + 1}


def _columns(
    old: KeyedSheet, fresh: Keyed, is_own: Callable[[int, int], bool]
) -> tuple[dict[int, int], dict[int, int], tuple[int, ...]]:
    """The final columns of the old sheet and of the fresh one, and which columns are the user's."""
    matched = old.columns_on(fresh)
    filled = {
        column
        for row, column in old.sheet.cells
        if column not in matched and is_filled(old, row, column) and is_own(row, column)
    }
    own = sorted(filled | _put_between(old, fresh, matched))
    placed, fresh_columns = _placed(matched, own, max(fresh.columns, default=0))
    return placed, fresh_columns, tuple(own)


def _put_between(old: KeyedSheet, fresh: Keyed, matched: Mapping[int, int]) -> set[int]:
    """Untitled or blank columns between planner's, where the fresh sheet has a title: the user inserted them."""
    untitled = [column for column in range(1, max(matched, default=0)) if column not in old.columns]
    left = {column: max((known for known in matched if known < column), default=0) for column in untitled}
    return {column for column, neighbour in left.items() if matched.get(neighbour, 0) + 1 in fresh.columns}


def is_filled(keyed: KeyedSheet, row: int, column: int) -> bool:
    """Whether a cell of the file holds a formula or a value."""
    cell = keyed.sheet.cells.get((row, column))
    return cell is not None and (cell.kind != "" or cell.value not in (None, ""))

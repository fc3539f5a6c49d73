"""Where the rows and columns of an edited sheet stand in a freshly built one, with room made for a person's own."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field

from planner.editing.keys import Keyed
from planner.xlsx.moves import Track


@dataclass(frozen=True)
class Tracks:
    """Old rows and columns to their final ones, fresh rows to theirs (fresh columns stay), and what has no match.

    `own_rows` and `own_columns` are a person's, `gone_rows` were planner's and are no more.
    """

    old_rows: Track
    fresh_rows: Track
    columns: Track
    own_rows: tuple[int, ...]
    own_columns: tuple[int, ...]
    gone_rows: tuple[int, ...]
    new_rows: tuple[int, ...] = field(default=())


def tracks(
    old: Keyed, fresh: Keyed, is_own: Callable[[int, int], bool], elsewhere: Container[str] = ()
) -> Tracks:  # fmt: skip
    """`is_own` says of a cell of the old sheet whether a person filled it; rows of `elsewhere` go to other sheets."""
    matched = {row: fresh.row_of[key] for row, key in old.rows.items() if key in fresh.row_of}
    cells: dict[int, list[int]] = {}
    for row, column in old.sheet.cells:
        cells.setdefault(row, []).append(column)
    own: list[int] = []
    gone: list[int] = []
    for row in sorted(cells.keys() - matched.keys()):
        filled = [column for column in cells[row] if _is_filled(old, row, column)]
        if old.rows.get(row, "") not in elsewhere and any(is_own(row, column) for column in filled):
            own.append(row)
        elif filled:
            gone.append(row)
    old_rows, fresh_rows = _placed(matched, own, max(fresh.rows, default=0))
    columns, own_columns = _columns(old, fresh, is_own)
    known = set(matched.values())
    new = tuple(row for row in fresh.rows if row not in known)
    return Tracks(Track(old_rows), Track(fresh_rows), Track(columns), tuple(own), own_columns, tuple(gone), new)


def _placed(matched: Mapping[int, int], own: list[int], last: int) -> tuple[dict[int, int], dict[int, int]]:
    """Final rows of the old sheet's and of the fresh one's: own rows come behind the one that they stood behind."""
    lowest = max(matched, default=0)
    behind: dict[int, list[int]] = {}
    for row in own:
        if row < lowest:
            anchor = max((known for known in matched if known < row), default=0)
            behind.setdefault(matched.get(anchor, 0), []).append(row)
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


def _columns(old: Keyed, fresh: Keyed, is_own: Callable[[int, int], bool]) -> tuple[dict[int, int], tuple[int, ...]]:
    """Final columns of the old sheet's; a person's go to the right of all others, in their order."""
    matched = {column: fresh.column_of[key] for column, key in old.columns.items() if key in fresh.column_of}
    last, rightmost = max(fresh.columns, default=0), max(matched, default=0)
    own = sorted({column for row, column in old.sheet.cells
                  if column not in matched and _is_filled(old, row, column) and is_own(row, column)})  # fmt: skip
    placed = dict(matched)
    for column in own:
        if column > rightmost:
            placed[column] = last + column - rightmost
    free = max(placed.values(), default=0)
    for column in own:
        if column < rightmost:
            free = max(free, last) + 1
            placed[column] = free
    return placed, tuple(own)


def _is_filled(keyed: Keyed, row: int, column: int) -> bool:
    return keyed.sheet.value(row, column) not in (None, "") or (row, column) in keyed.sheet.patterns

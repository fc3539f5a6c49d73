"""Keys the rows of the Sweep by the value of their axis, so that they match whichever rows their table is in.

By default such a row's key is its distance from the table's titles, and would match another value if the axis grew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from planner.align.keys import KeyedSheet, plain_sheet
from planner.book.sheet import Sheet
from planner.update.fresh import Fresh
from planner.update.table_columns import TITLES
from planner.workbook.memory import Memory
from planner.workbook.sweep_sheet import NAME
from planner.xlsx.cellvalue import is_number, same_value
from planner.xlsx.moves import SheetMoves, Track

SWEEP = NAME.lower()
Axes = Mapping[str, Sequence[float]]


def keyed_by_value(
    memory: Memory, sheets: Mapping[str, KeyedSheet], fresh: Fresh
) -> tuple[Memory, dict[str, KeyedSheet], Fresh]:
    """The record, the file's sheets and the fresh workbook with these keys on the Sweep.

    A row of the file gets the value that planner wrote there, whatever the user typed since.
    """
    built, old, now = memory.sheets.get(SWEEP), sheets.get(SWEEP), fresh.sheets.get(SWEEP)
    if built is None or old is None or now is None:
        return memory, dict(sheets), fresh
    wrote, writes = _keys(built.rows, memory.axes), _keys(now.rows, fresh.draft.memory.axes)
    named = {key: wrote[row] for row, key in built.rows.items()}
    old = replace(old, rows=_counted(old, built.rows))
    memory = replace(memory, sheets={**memory.sheets, SWEEP: replace(built, rows=wrote)})
    ours = replace(old, rows={row: named.get(key, key) for row, key in old.rows.items()})
    return memory, {**sheets, SWEEP: ours}, replace(fresh, sheets={**fresh.sheets, SWEEP: replace(now, rows=writes)})


def retyped(memory: Memory | None, sheets: Mapping[str, Sheet]) -> dict[str, Sequence[float]]:
    """The axes with values that the user retyped, with the values planner wrote; such a table keeps its length."""
    built, sheet = memory.sheets.get(SWEEP) if memory else None, sheets.get(NAME)
    if memory is None or built is None or sheet is None:
        return {}
    found, mine = dict[str, Sequence[float]](), plain_sheet(SWEEP, sheet)
    there = {key: row for row, key in _counted(mine, built.rows).items()}
    for row, key in _keys(built.rows, memory.axes).items():
        axis, _, value = key.rpartition(" ")
        at = there.get(built.rows[row]) if axis in memory.axes else None
        if at is not None and not same_value(sheet.value(at, 1), float(value), 0.0):
            found[axis] = memory.axes[axis]
    return found


def _counted(old: KeyedSheet, built: Mapping[int, str]) -> dict[int, str]:
    """The keys of the file's rows, where blank rows or notes were put among the cases of a table without them.

    Such a table has as many rows with a number or a formula as were built, and more rows than that.
    """
    found = dict(old.rows)
    cases = {titles: [built[row] for row in rows] for titles, rows in _cases_below(built).items()}
    for titles, rows in _cases_below(old.rows).items():
        filled = [row for row in rows if any(_is_live(old, row, column) for column in old.columns_by_row[row])]
        if titles in cases and len(filled) == len(cases[titles]) < len(rows):
            found = {row: key for row, key in found.items() if row not in rows}
            found |= dict(zip(filled, cases[titles], strict=True))
    return dict(sorted(found.items()))


def _cases_below(rows: Mapping[int, str]) -> dict[str, list[int]]:
    """The rows that are numbered from each row of titles, by its key."""
    found: dict[str, list[int]] = {}
    titles = ""
    for row, key in sorted(rows.items()):
        if key.startswith(TITLES):
            titles = key
        elif titles and key.startswith(f"{titles.removeprefix(TITLES).partition(' (')[0]} ") and " | " not in key:
            found.setdefault(titles, []).append(row)
    return found


def _is_live(old: KeyedSheet, row: int, column: int) -> bool:
    """Whether a cell has a formula or a number."""
    return old.sheet.cells[row, column].kind != "" or is_number(old.sheet.value(row, column))


def _keys(rows: Mapping[int, str], axes: Axes) -> dict[int, str]:
    """The keys by row of a Sweep as built. `axes` are in the order of its tables, each with two rows of titles."""
    found, left = dict(rows), sorted(rows)
    for axis, values in axes.items():
        titles = f"titles {axis.rpartition('.')[2]}"
        start = next((at for at, row in enumerate(left) if rows[row].split(" (")[0] == titles), None)
        if start is None:
            continue
        found[left[start]], found[left[start - 1]] = f"titles {axis}", f"titles {axis} in words"
        cases, left = left[start + 1 : start + 1 + len(values)], left[start + 1 + len(values) :]
        found |= {row: f"{axis} {value:.15g}" for row, value in zip(cases, values, strict=True)}
    return found


def whole_tables(rows: Mapping[int, str], axes: Axes) -> dict[str, tuple[int, int]]:
    """The first and last row with a case in each table, by axis."""
    found: dict[str, tuple[int, int]] = {}
    for row, key in rows.items():
        if (axis := key.rpartition(" ")[0]) in axes:
            first, last = found.get(axis, (row, row))
            found[axis] = min(first, row), max(last, row)
    return found


def chart_moves(
    moves: SheetMoves, old: Axes, rows: Mapping[int, str], now: Mapping[int, str], final: Track
) -> SheetMoves:
    """The sheet's moves for charts: one that draws every case of a table draws every case of the merged one.

    A chart's references are to ranges or to single cells beside the first, so a position in the table counts, not its
    case. `rows` are the file's keys with axes `old`, `now` the fresh ones, which `final` maps to final rows.
    """
    there = whole_tables(now, old)
    tables = [(area, there[axis]) for axis, area in whole_tables(rows, old).items() if axis in there]
    whole_ranges = {area: (final(first), final(last)) for area, (first, last) in tables}
    cases = {
        row: (moves.name, final(place))
        for area, (first, last) in tables
        for row, place in zip(range(area[0], area[1] + 1), range(first, last + 1), strict=False)
    }
    return replace(moves, whole_ranges=whole_ranges, elsewhere={**moves.elsewhere, **cases})

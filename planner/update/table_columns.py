"""Where columns move on a sheet with several tables, such as Operations and Sweep: each table's are matched by title.

A column added to or removed from one table moves only the columns to its right in that table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from planner.align.keys import COMPARISON, KeyedSheet
from planner.book.rowkeys import COVER, DATABASES, LOG, PARTS, unique
from planner.update.fresh import FreshSheet
from planner.update.places import FinalPlaces, is_filled
from planner.xlsx.address import Position
from planner.xlsx.moves import Track

TITLES = "titles "  # how the key of a row of titles begins


def columns_of_tables(
    old: KeyedSheet, fresh: FreshSheet, places: FinalPlaces, is_planners: Callable[[Position], bool]
) -> dict[int, Track]:
    """The final columns by row of the file, for the rows of tables in which a column moves or is removed.

    `is_planners` says whether a cell of the file holds what planner wrote: a column with such a title that the fresh
    sheet lacks is removed.
    """
    found: dict[int, Track] = {}
    if not _has_tables(old):
        return found
    for head, rows in _tables(old):
        there = fresh.row_of.get(old.rows[head])
        if there is None:
            continue
        mine = _titles({column: old.sheet.text(head, column) for column in old.columns_by_row[head]})
        texts = {column: fresh.value(row, column) for row, column in fresh.cells if row == there}
        now = {title: column for column, title in _titles(texts).items()}
        known = {column: places.fresh_columns(now[title]) for column, title in mine.items() if title in now}
        gone = frozenset(column for column in mine if column not in known and is_planners((head, column)))
        if gone or any(places.columns(column) != place for column, place in known.items()):
            found |= dict.fromkeys(rows, Track(known, gone))
    return found


def _tables(old: KeyedSheet) -> list[tuple[int, list[int]]]:
    """Each title row with its table's rows: labels above, planner's rows below, blank ones among and after."""
    heads = [row for row, key in sorted(old.rows.items()) if key.startswith(TITLES)]
    found: list[tuple[int, list[int]]] = []
    labels: list[int] = []
    filled = {row for row, column in old.sheet.cells if is_filled(old, row, column)}
    for head, following in pairwise([*heads, max(old.rows, default=0) + 1]):
        if following == head + 1:  # labels above machine names
            labels = [head]
            continue
        last = max(row for row in old.rows if row < following)
        rows = (row for row in range(head, last + 2) if row in old.rows or row not in filled)
        found.append((head, [*labels, *rows]))
        labels = []
    return found


def _titles(texts: Mapping[int, object]) -> dict[int, str]:
    """The titles by column, with a number added to repeated ones."""
    return unique({column: text for column, text in sorted(texts.items()) if isinstance(text, str) and text})


def longer_tables(old: KeyedSheet, fresh: FreshSheet, places: FinalPlaces) -> dict[tuple[int, int], tuple[int, int]]:
    """Old (first, last) row -> final (first, last) row of each table whose length changed.

    A chart that draws all rows of such a table draws all of the new ones.
    """
    extents = _extents if _has_tables(old) else _parts
    mine, now = extents(old.rows), extents(fresh.rows)
    same = ((area, now[key]) for key, area in mine.items() if key in now)
    return {
        area: (places.fresh_rows(there[0]), places.fresh_rows(there[1]))
        for area, there in same
        if area[1] - area[0] != there[1] - there[0]
    }


def _extents(rows: Mapping[int, str]) -> dict[str, tuple[int, int]]:
    """The first and last row below each row of titles, by the key of the titles."""
    found: dict[str, tuple[int, int]] = {}
    key = ""
    for row, name in sorted(rows.items()):
        if name.startswith(TITLES):
            key = name
        elif key:
            found[key] = found.get(key, (row, row))[0], row
    return found


def _parts(rows: Mapping[int, str]) -> dict[str, tuple[int, int]]:
    """The first and last part of the expected step, by the key of their title; nothing on a sheet without parts."""
    found = [row for row, key in rows.items() if key.startswith(f"label {PARTS} ")]
    return {f"label {PARTS}": (min(found), max(found))} if found else {}


def _has_tables(old: KeyedSheet) -> bool:
    """Whether a sheet may have several tables."""
    return old.line_table is None and old.kind not in (COMPARISON, COVER, LOG, *DATABASES)

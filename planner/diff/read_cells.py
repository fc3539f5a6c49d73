"""Describes what a formula reads when its text is unchanged but its precedents are not."""

from __future__ import annotations

from collections.abc import Iterator

from planner.align.matched import Matched
from planner.align.meaning import Comparer, Placed
from planner.number_text import cut
from planner.xlsx.address import Area, column_letters

LONG = 30  # characters of a row's name
MOST = 2  # the most references that are named


def other_cells(formulas: Comparer, old: Placed, new: Placed) -> str:
    """The changed precedents in words, such as `of tpu-v6e and not of tpu-v5e`."""
    said = list(dict.fromkeys(_changes(formulas, old, new)))
    return "; ".join(said[:MOST]) or "other cells than before"


def _changes(formulas: Comparer, old: Placed, new: Placed) -> Iterator[str]:
    for before, after in zip(old.formula.references, new.formula.references, strict=False):
        one = formulas.before.sheets.get(before.sheet or old.sheet)
        two = formulas.after.sheets.get(after.sheet or new.sheet)
        if one is None or two is None:
            continue
        areas = before.area(old.row, old.column), after.area(new.row, new.column)
        for named in (_rows, _columns):
            was, now = named(one, areas[0]), named(two, areas[1])
            if was and now and was != now:
                yield f"of {now} and not of {was}"
                break


def _rows(side: Matched, area: Area) -> str:
    """The names of an area's rows, first and last of several; blank if one has no name."""
    return _ends(_row(side, area.top), _row(side, area.bottom))


def _row(side: Matched, number: int) -> str:
    said = (side.sheet.text(number, column) for column in side.sheet.filled.get(number, ()))
    return cut(side.names.get(number) or next(filter(None, said), ""), LONG)


def _columns(side: Matched, area: Area) -> str:
    """The same for its columns."""
    return _ends(_column(side, area.top, area.left), _column(side, area.top, area.right))


def _column(side: Matched, row: int, number: int) -> str:
    return side.title(row, number) or side.scenarios.get(number) or f"column {column_letters(number)}"


def _ends(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}" if first and last else ""

"""What was added, removed, renamed and moved: sheets, scenarios, rows and columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from planner.align.matching import Matched, Within
from planner.diff.differences import Structure
from planner.terminal_table import counted
from planner.xlsx.address import Position, column_letters


def lines_of(side: Matched, other: Matched, how: Literal["added", "removed"]) -> Iterator[Structure]:
    """The rows and columns of a sheet that the other one hasn't."""
    sheet, known = side.sheet, set(other.rows.values())
    for row in side.filled_rows:
        if side.rows.get(row) not in known:
            said = (sheet.text(row, column) for column in side.filled_columns)
            name = side.names.get(row) or next((text for text in said if text), "")
            yield Structure("row", how, sheet.name, name, at=str(row))
    known = set(other.columns.values())
    for column in side.filled_columns:
        if column in side.columns and column not in side.scenarios and side.columns[column] not in known:
            said = (sheet.text(row, column) for row in side.filled_rows)
            yield Structure(
                "column", how, sheet.name, next((text for text in said if text), ""), at=column_letters(column)
            )
    yield from _of_tables(side, other, how)


def _of_tables(side: Matched, other: Matched, how: Literal["added", "removed"]) -> Iterator[Structure]:
    """The columns that tables of a sheet have and those of the other one lack; one of several tables once."""
    there = within(other)
    tables = {token.table for token in there}
    found: dict[str, list[Position]] = {}
    for token, at in within(side).items():
        if token.table in tables and token not in there:
            found.setdefault(token.title, []).append(at)
    for (row, column), *more in found.values():
        others = f" and of {counted(len(more), 'more table')}" if more else ""
        where = f"{column_letters(column)} from row {row}{others}"
        yield Structure("column", how, side.sheet.name, side.sheet.text(row, column), at=where)


def within(side: Matched) -> dict[Within, Position]:
    """The columns of the tables that have columns of their own, each with its first cell."""
    found: dict[Within, Position] = {}
    for row, columns in sorted(side.columns_within.items()):
        for column, token in columns.items():
            found.setdefault(token, (row, column))
    return found


def named(
    what: Literal["sheet", "scenario"], old: list[str], new: list[str], known: Mapping[str, str]
) -> Iterator[Structure]:
    """What was removed, added, renamed and moved; `known` has the new name of what both have."""
    yield from (Structure(what, "removed", name, name) for name in old if name not in known)
    yield from (Structure(what, "added", name, name) for name in new if name not in known.values())
    yield from (Structure(what, "renamed", other, other, name) for name, other in known.items() if name != other)
    yield from (Structure(what, "moved", name, name) for name in _moved(old, new, known))


def _moved(old: list[str], new: list[str], known: Mapping[str, str]) -> list[str]:
    """The fewest of what both have that must move to come from the old order to the new."""
    before = [known[name] for name in old if name in known]
    after = [name for name in new if name in known.values()]
    places = [before.index(name) for name in after]
    best: list[list[int]] = []
    for place in places:
        best.append([*_longest([run for run in best if run[-1] < place]), place])
    kept = set(_longest(best))
    return [name for name, place in zip(after, places, strict=True) if place not in kept]


def _longest(runs: list[list[int]]) -> list[int]:
    return max(runs, key=lambda run: len(run), default=[])

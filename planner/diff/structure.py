"""Finds sheets, scenarios, rows and columns that were added, removed, renamed and moved."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeVar

from planner.align.matched import Matched, Token, Within
from planner.diff.differences import Structure
from planner.terminal_table import counted
from planner.xlsx.address import Position, column_letters

T = TypeVar("T")


def lines_of(side: Matched, other: Matched, how: Literal["added", "removed"]) -> Iterator[Structure]:
    """The rows and columns of a sheet that the other one lacks."""
    sheet, known = side.sheet, set(other.rows.values())
    for row in side.filled_rows:
        if side.rows.get(row) not in known:
            said = (sheet.text(row, column) for column in side.filled_columns)
            name = side.names.get(row) or next(filter(None, said), "")
            yield Structure("row", how, sheet.name, name, at=str(row))
    known = set(other.columns.values())
    for column in side.filled_columns:
        if column in side.columns and column not in side.scenarios and side.columns[column] not in known:
            said = (sheet.text(row, column) for row in side.filled_rows)
            yield Structure("column", how, sheet.name, next(filter(None, said), ""), at=column_letters(column))
    yield from _of_tables(side, other, how)


def moved_rows(old: Matched, new: Matched) -> Iterator[Structure]:
    """The unnamed rows whose order changed, each with its new and old position."""
    both = {*_own_rows(old)}.intersection(_own_rows(new))
    before, after = ([token for token in _own_rows(side) if token in both] for side in (old, new))
    if before == after:
        return
    was, now = ({token: row for row, token in side.rows.items()} for side in (old, new))
    for token in _moved(before, after, {token: token for token in before}):
        said = (new.sheet.text(now[token], column) for column in new.filled_columns)
        name = next(filter(None, said), "")
        yield Structure("row", "moved", new.sheet.name, name, f"row {was[token]}", at=str(now[token]))


def _own_rows(side: Matched) -> list[Token]:
    return [token for row in side.filled_rows if isinstance(token := side.rows.get(row), tuple) and token[0] == "own"]


def _of_tables(side: Matched, other: Matched, how: Literal["added", "removed"]) -> Iterator[Structure]:
    """The columns of tables on a sheet that the other sheet's tables lack.

    A column of several tables is listed once.
    """
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
    """The columns of tables that have columns of their own, each with its first cell."""
    found: dict[Within, Position] = {}
    for row, columns in sorted(side.columns_within.items()):
        for column, token in columns.items():
            found.setdefault(token, (row, column))
    return found


def named(
    what: Literal["sheet", "scenario"], old: list[str], new: list[str], known: Mapping[str, str]
) -> Iterator[Structure]:
    """What was removed, added, renamed and moved; `known` maps old names to new ones."""
    yield from (Structure(what, "removed", name, name) for name in old if name not in known)
    yield from (Structure(what, "added", name, name) for name in new if name not in known.values())
    yield from (Structure(what, "renamed", other, other, name) for name, other in known.items() if name != other)
    yield from (Structure(what, "moved", name, name) for name in _moved(old, new, known))


def _moved(old: Sequence[T], new: Sequence[T], known: Mapping[T, T]) -> list[T]:
    """The smallest set that must move to turn the old order into the new one."""
    place = {known[name]: at for at, name in enumerate(old) if name in known}
    after = [name for name in new if name in place]
    kept = _longest_rising([place[name] for name in after])
    return [name for name in after if place[name] not in kept]


def _longest_rising(numbers: Sequence[int]) -> set[int]:
    """A longest increasing subsequence of distinct numbers, as a set."""
    ends: list[int] = []  # the least last number of an increasing subsequence of each length
    before: dict[int, int | None] = {}
    for number in numbers:
        at = bisect_left(ends, number)
        before[number] = ends[at - 1] if at else None
        ends[at : at + 1] = [number]
    found, last = set[int](), ends[-1] if ends else None
    while last is not None:
        found.add(last)
        last = before[last]
    return found

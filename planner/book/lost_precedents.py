"""Finds what the user's formulas silently lose when rows or columns of planner's are deleted or moved.

A reference to a deleted cell becomes `#REF!`, but a range just shrinks, or loses what is reordered, and a name in
quotes finds no match.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from planner.book.workbook import Book
from planner.terminal_table import counted
from planner.xlsx.address import Position, Spot, quoted
from planner.xlsx.moves import Moves, SheetMoves, Track
from planner.xlsx.pattern import Pattern, RelativeReference
from planner.xlsx.references import calls_around

LOOKUPS = {"MATCH", "INDEX", "LOOKUP", "HLOOKUP", "VLOOKUP", "_XLFN.XLOOKUP", "_XLFN.XMATCH"}
"""Functions that find one cell in a range, whatever else the range covers."""


class Reader(NamedTuple):
    """A formula of the user's: its final cell, and its sheet, cell and pattern before."""

    spot: Spot
    sheet: str
    at: Position
    formula: Pattern


def own_readers(book: Book) -> Iterator[Reader]:
    """The formulas on the user's own sheets, whose cells don't move."""
    for name in book.own_sheets:
        for at, formula in book.sheets[name].patterns.items():
            yield Reader(Spot(name, *at), name, at, formula)


def beside_readers(book: Book, moves: Moves) -> Iterator[Reader]:
    """The user's formulas right of the scenarios on Inputs and the calculation sheets, whose cells `moves` moves."""
    for table in (book.inputs, *book.calculations):
        name, ours = table.sheet.name, {*table.head.texts, *table.columns}
        for at, formula in table.sheet.patterns.items():
            if at[0] > table.head.row and at[1] not in ours:
                yield Reader(Spot(name, *moves.of(name).cell(*at)), name, at, formula)


def narrower(book: Book, readers: Iterable[Reader], moves: Moves) -> Iterator[str]:
    """Remarks on formulas that read a range from which some filled cells, but not all, are deleted."""

    @cache
    def taken_out(sheet: str) -> list[Position]:
        known, read = book.sheets[sheet].filled.items() if sheet in book.sheets else (), moves.of(sheet).as_read
        return [(row, column) for row, columns in known for column in columns if not read.has(row, column)]

    for spot, name, at, formula in readers:
        areas = dict.fromkeys((each.sheet or name, each.area(*at)) for each in _all_counted(formula))
        for on, area in areas:
            there, read = [cell for cell in taken_out(on) if area.covers(*cell)], moves.of(on).as_read
            if there and read.area(area) is not None:
                yield f"{spot} reads {quoted(on)}!{area}, without {_said(read, there)} now"


def reordered(readers: Iterable[Reader], moves: Moves) -> Iterator[str]:
    """Remarks on formulas that read a range which reordered rows or columns enter or leave."""
    for spot, name, at, formula in readers:
        for on, area in dict.fromkeys((each.sheet or name, each.area(*at)) for each in formula.references):
            read = moves.of(on).as_read
            if read.is_idle or (then := read.area(area)) is None:
                continue
            columns = read.columns_of(area.top, area.bottom)
            (rows_left, rows_come), (columns_left, columns_come) = (
                _changed(read.rows, area.rows, then.rows),
                _changed(columns, area.columns, then.columns),
            )
            left, come = _counted(rows_left, columns_left), _counted(rows_come, columns_come)
            said = [f"without {left} that moved out of it" if left else "", f"with {come} more" if come else ""]
            if any(said):
                yield f"{spot} reads {quoted(on)}!{area}, {' and '.join(filter(None, said))} now"


def _changed(track: Track, before: range, then: range) -> tuple[int, int]:
    """How many of the known rows or columns leave a range, and how many enter it."""
    ways = [(number in before, track(number) in then) for number in track.known if number not in track.gone]
    return ways.count((True, False)), ways.count((False, True))


def _all_counted(formula: Pattern) -> Iterator[RelativeReference]:
    """The references of a formula, except ranges in which a lookup function only finds a cell."""
    if formula.functions.isdisjoint(LOOKUPS):
        yield from formula.references
        return
    found = (part for part in formula.parts if not isinstance(part, str))
    for part, (function, _) in zip(found, calls_around(formula.formula), strict=False):
        if function not in LOOKUPS and part in formula.references:
            yield part


def _said(moves: SheetMoves, cells: Collection[Position]) -> str:
    """The number of rows and columns in which these cells are deleted, in words."""
    rows = {row for row, _ in cells if row in moves.rows.gone}
    columns = {column for row, column in cells if column in moves.columns_of(row).gone}
    return _counted(len(rows), len(columns))


def _counted(rows: int, columns: int) -> str:
    counts = {"row": rows, "column": columns}
    return " and ".join(counted(count, what) for what, count in counts.items() if count)


def sought(readers: Iterable[Reader], gone: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Remarks on formulas that quote a name and read the sheet that no longer has it.

    `gone` has such names by sheet.
    """
    for spot, name, _, formula in readers:
        read = {each.sheet or name for each in formula.references}
        for on, text in ((on, text) for text in formula.texts for on in sorted(read) if text in gone.get(on, ())):
            yield f"{spot} says {text}, which is no more on {on}"

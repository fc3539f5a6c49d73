"""The original formula of an edited row or column, from the majority of its cells and from its formula in names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.book.formulas_in_names import UnreadableError, writer
from planner.book.sheet import Sheet
from planner.book.tables import CaseTable, LineItem, LineTable
from planner.book.workbook import Book
from planner.xlsx.address import Position
from planner.xlsx.pattern import Pattern, pattern

NOTHING = pattern("0", 1, 1)
"""Takes the place of a line's live formula where there is none."""
_IN_NAMES = ("calculation", "working")
"""The kinds of tables whose cells are translations of their formulas in names."""


def usual_formula(sheet: Sheet, positions: Iterable[Position]) -> Pattern | None:
    """The most frequent formula of these cells, the first among equals; None if none has one."""
    found = _counted(sheet, positions)
    return max(found, key=found.__getitem__) if found else None


def row_formula(table: LineTable, line: LineItem) -> Pattern | None:
    """The most frequent formula of a line; None if it has none."""
    return usual_formula(table.sheet, table.cells(line))


def usual_of(book: Book, table: LineTable, line: LineItem) -> Pattern | None:
    """A line's formula: if its cells differ, the one that equals its formula in names, else the most frequent one."""
    found = _counted(table.sheet, table.cells(line))
    if len(found) > 1 and table.kind in _IN_NAMES and line.names:
        number = book.numbers.standard(table.sheet.name, table.columns[0])
        for formula in found:
            if _written(book, table, line, number, formula) is formula:
                return formula
    return max(found, key=found.__getitem__) if found else None


def named_formula(book: Book, table: LineTable, line: LineItem, column: int, formula: Pattern) -> Pattern | None:
    """The cell formula of a line's formula in names in `column`; None if it can't be written.

    `formula` is a live formula of the line, and says how far ranges over a database reach.
    """
    if not line.names or table.kind not in _IN_NAMES:
        return None
    number = book.numbers.standard(table.sheet.name, column)
    written = _written(book, table, line, number, formula)
    if written is None:
        return None
    return pattern(book.numbers.shown(table.sheet.name, (line.row, column), written), line.row, column)


def is_pristine(book: Book, table: LineTable, line: LineItem, column: int) -> bool:
    """Whether a cell's formula equals its line's formula in names, if that can be written as a cell formula."""
    formula = table.sheet.patterns.get((line.row, column))
    if formula is None:
        return False
    named = named_formula(book, table, line, column, formula)
    return named is None or named is formula


def calculated_columns(cases: CaseTable) -> Iterator[list[Position]]:
    """The cells of each column and template's cases that formulas fill, or filled before some were overtyped."""
    for group in cases.groups:
        for column in cases.columns:
            cells = [(row, column) for row in group]
            live = sum(at in cases.sheet.patterns for at in cells)
            if live and (live == len(cells) or live >= sum(cases.sheet.is_typed(*at) for at in cells)):
                yield cells


def _written(book: Book, table: LineTable, line: LineItem, number: int, formula: Pattern) -> Pattern | None:
    """A line's formula in names as a cell formula in column `number`; None if it can't be written."""
    try:
        text = writer(book, table, line, number, formula).write(line.names)
        return pattern(text, line.row, number)
    except UnreadableError:
        return None


def _counted(sheet: Sheet, positions: Iterable[Position]) -> dict[Pattern, int]:
    """How many of these cells have each formula, without broken and pasted formulas."""
    found: dict[Pattern, int] = {}
    for formula in map(sheet.numbered.get, positions):
        if formula is not None and not (formula.is_broken or formula.is_pasted):
            found[formula] = found.get(formula, 0) + 1
    return found

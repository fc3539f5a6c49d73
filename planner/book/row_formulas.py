"""The original formula of a row or a column, from what most of its cells have and from its text in names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from planner.book.formulas_in_names import UnreadableError, writer
from planner.book.sheet import Sheet
from planner.book.tables import CaseTable, LineItem, LineTable
from planner.book.workbook import Book
from planner.xlsx.address import Position
from planner.xlsx.pattern import Pattern, pattern

NOTHING = pattern("0", 1, 1)
"""Stands for the live formula of a line where there is none."""
_IN_NAMES = ("calculation", "working")
"""The kinds of tables whose cells hold what their formulas in names say."""


def usual_formula(sheet: Sheet, positions: Iterable[Position]) -> Pattern | None:
    """The formula that most of these cells have, the first of equals; None where none has one."""
    found = _counted(sheet, positions)
    return max(found, key=found.__getitem__) if found else None


def row_formula(table: LineTable, line: LineItem) -> Pattern | None:
    """The formula that most cells of a line have; None where none has one."""
    return usual_formula(table.sheet, ((line.row, column) for column in table.columns))


def usual_of(book: Book, table: LineTable, line: LineItem) -> Pattern | None:
    """A line's formula: of several in its cells the one that its text in names stands for, else the usual one."""
    found = _counted(table.sheet, ((line.row, column) for column in table.columns))
    if len(found) > 1 and table.kind in _IN_NAMES and line.names:
        number = book.numbers.standard(table.sheet.name, table.columns[0])
        for formula in found:
            if _written(book, table, line, number, formula) is formula:
                return formula
    return max(found, key=found.__getitem__) if found else None


def named_formula(book: Book, table: LineTable, line: LineItem, column: int, formula: Pattern) -> Pattern | None:
    """The formula that a line's names stand for in a column; None where they can't be written in cells.

    `formula` is a live one of the line, which tells how far ranges over a database reach.
    """
    if not line.names or table.kind not in _IN_NAMES:
        return None
    number = book.numbers.standard(table.sheet.name, column)
    written = _written(book, table, line, number, formula)
    if written is None:
        return None
    return pattern(book.numbers.shown(table.sheet.name, (line.row, column), written), line.row, column)


def is_pristine(book: Book, table: LineTable, line: LineItem, column: int) -> bool:
    """Whether a cell holds the formula that its line's names stand for, as far as they can be written in cells."""
    formula = table.sheet.patterns.get((line.row, column))
    if formula is None:
        return False
    named = named_formula(book, table, line, column, formula)
    return named is None or named is formula


def calculated_columns(cases: CaseTable) -> Iterator[list[Position]]:
    """The cells of each column that formulas fill, or did before some were overtyped, for each template's cases."""
    for group in cases.groups:
        for column in cases.columns:
            cells = [(row, column) for row in group]
            live = sum(at in cases.sheet.patterns for at in cells)
            if live and (live == len(cells) or live >= sum(cases.sheet.is_typed(*at) for at in cells)):
                yield cells


def _written(book: Book, table: LineTable, line: LineItem, number: int, formula: Pattern) -> Pattern | None:
    """A line's text in names as the formula of its cell in a column of this number; None as above."""
    try:
        text = writer(book, table, line, number, formula).write(line.names)
        return pattern(text, line.row, number)
    except UnreadableError:
        return None


def _counted(sheet: Sheet, positions: Iterable[Position]) -> Counter[Pattern]:
    """How many of these cells have each formula; broken and pasted ones, which don't belong there, left out."""
    found = Counter(filter(None, map(sheet.numbered.get, positions)))
    for formula in [each for each in found if each.is_broken or each.is_pasted]:
        del found[formula]
    return found

"""The formula that belongs in a row or a column, told by what most of its cells have and by its text in names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from planner.book.book import Book, Sheet
from planner.book.tables import CaseTable, Line, LineTable
from planner.book.wording import WRITERS, UnreadableError, Writer
from planner.xlsx.address import Position
from planner.xlsx.pattern import Pattern, pattern


def usual_formula(sheet: Sheet, positions: Iterable[Position]) -> Pattern | None:
    """The formula that most of these cells have, the first of equals; None where none has one."""
    found = _counted(sheet, positions)
    return found.most_common(1)[0][0] if found else None


def usual_of(book: Book, table: LineTable, line: Line) -> Pattern | None:
    """A line's formula: of several in its cells the one that its text in names stands for, else the usual one."""
    found = _counted(table.sheet, ((line.row, column) for column in table.columns))
    if len(found) > 1 and table.kind in ("calculation", "working") and line.names:
        for formula in found:
            if in_cells(book, table, line, formula) is formula:
                return formula
    return found.most_common(1)[0][0] if found else None


def in_cells(book: Book, table: LineTable, line: Line, formula: Pattern) -> Pattern | None:
    """A line's text in names as the formula of its cells; `formula` tells how far its ranges reach.

    None where the text can't be told in cells.
    """
    make = WRITERS.get(table.kind, Writer)
    number = book.alignment.standard(table.sheet.name, table.columns[0])
    try:
        return pattern(make(book, table, line, number, formula).write(line.names), line.row, number)
    except UnreadableError:
        return None


def calculated_columns(cases: CaseTable) -> Iterator[list[Position]]:
    """The cells of each column that formulas fill, or did before some were overtyped, for each template's cases."""
    for group in cases.groups:
        for column in cases.columns:
            cells = [(row, column) for row in group]
            live = sum(at in cases.sheet.patterns for at in cells)
            if live and live >= sum(cases.sheet.is_typed(*at) for at in cells):
                yield cells


def _counted(sheet: Sheet, positions: Iterable[Position]) -> Counter[Pattern]:
    """How many of these cells have each formula; broken and pasted ones, which don't belong there, left out."""
    shapes = (sheet.shapes[at] for at in positions if at in sheet.shapes)
    return Counter(formula for formula in shapes if not (formula.is_broken or formula.is_pasted))

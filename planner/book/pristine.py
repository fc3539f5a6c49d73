"""What a calculated cell is meant to hold: the formula that its row's names stand for, whatever was typed over it."""

from __future__ import annotations

from planner.book.book import Book
from planner.book.tables import Line, LineTable
from planner.book.wording import StepWriter, UnreadableError, Writer
from planner.xlsx.pattern import Pattern, pattern

NOTHING = pattern("0", 1, 1)


def named_formula(book: Book, table: LineTable, line: Line, column: int, formula: Pattern = NOTHING) -> Pattern | None:
    """The formula that a line's names stand for in a column; None where they can't be written in cells.

    `formula` is a live one of the line, which tells how far ranges over a database reach.
    """
    if not line.names or table.kind not in ("calculation", "working"):
        return None
    number = book.alignment.standard(table.sheet.name, column)
    make = StepWriter if table.kind == "working" else Writer
    try:
        text = make(book, table, line, number, formula).write(line.names)
    except UnreadableError:
        return None
    shown = book.alignment.shown(table.sheet.name, (line.row, column), pattern(text, line.row, number))
    return pattern(shown, line.row, column)


def is_pristine(book: Book, table: LineTable, line: Line, column: int) -> bool:
    """Whether a cell holds the formula that its line's names stand for, as far as they can be written in cells."""
    formula = table.sheet.patterns.get((line.row, column))
    if formula is None:
        return False
    named = named_formula(book, table, line, column, formula)
    return named is None or named is formula

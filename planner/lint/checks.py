"""Rule of the plan itself: every check of Checks holds (32)."""

from __future__ import annotations

from collections.abc import Iterator

from planner.formula import FormulaError, parse
from planner.lint.book import Book
from planner.lint.findings import Fault, rule, shown
from planner.lint.tables import Line, LineTable
from planner.xlsx.address import address
from planner.xlsx.cellvalue import Value

MOST_NUMBERS = 4


@rule(32, "Every check on Checks holds: the mesh fits the chips, the plan fits in memory, and both derivations agree.")
def checks_hold(book: Book) -> Iterator[Fault]:
    """A check that fails in a scenario, in words and with the numbers that it compares."""
    table = book.checks
    for line in (line for line in table.lines if line.section.startswith("Checks")):
        for column in table.columns:
            value = book.value(table.sheet.name, line.row, column)
            if isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0:
                _, scenario = book.owner(table.sheet.name, line.row, column)
                what = f"{scenario} fails the check '{line.label}'{_in_numbers(book, line, scenario)}"
                remedy = f"it asks for {line.names}" if line.names else "see what it asks for"
                if line.note:
                    remedy += f" ({line.note})"
                yield Fault(table.sheet.name, address(line.row, column), what, remedy, kind="failed_check")


def _in_numbers(book: Book, line: Line, scenario: str) -> str:
    """The quantities that a check compares, with their values in a scenario; blank where it can't be told."""
    title, _, name = line.name.rpartition(".")
    table = next((found for found in book.calculations if found.sheet.name.lower().startswith(title.lower())
                  and name in found.by_name), None)  # fmt: skip
    if table is None:
        return ""
    told = []
    for read in _names(line.names):
        value = _value(book, table, read, scenario)
        if value not in (None, ""):
            told.append(f"{read} is {shown(value)}")
    return f": {', '.join(told[:MOST_NUMBERS])}" if told else ""


def _value(book: Book, table: LineTable, name: str, scenario: str) -> Value:
    source = table.by_name.get(name)
    column = next((column for column in table.columns
                   if source and book.owner(table.sheet.name, source.row, column)[1] == scenario), None)  # fmt: skip
    return None if source is None or column is None else book.value(table.sheet.name, source.row, column)


def _names(text: str) -> tuple[str, ...]:
    try:
        return parse(text).names
    except FormulaError:
        return ()

"""Rules of line items: a label, a unit, and no number hidden in a formula (9, 10, 13)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planner.book.line_tables import BESIDE, MACHINE_NAME
from planner.book.workbook import Book
from planner.check.findings import Fault, rule
from planner.formulas.text import Binary, Call, FormulaError, Node, Number, children, parse
from planner.formulas.units import parse_unit
from planner.xlsx.address import address

_OVERRIDE = "override or "
_UNIT_OF_TITLE = re.compile(r"\(([^()]*)\)$")


@rule(9, "Every row has a label, unique in its sheet.")
def labels(book: Book) -> Iterator[Fault]:
    """A row without a label, or with another row's."""
    for table in (book.inputs, *book.lines):
        seen: dict[str, int] = {}
        for line in table.lines:
            cell = address(line.row, table.head.label)
            if not line.label:
                yield Fault(table.sheet.name, cell, f"{line.name} has no label", "write what a reader calls it")
            elif line.label in seen:
                what = f"the label {line.label!r} stands in row {seen[line.label]} already"
                yield Fault(table.sheet.name, cell, what, "say what tells the two rows apart")
            seen.setdefault(line.label, line.row)


@rule(10, "Every row has a unit from the closed list: 1, text, bit, byte, FLOP, s, h, USD, chip, W and their products "
          "and quotients.")  # fmt: skip
def units(book: Book) -> Iterator[Fault]:
    """A unit that is missing or unknown, of a row or of a column."""
    for sheet, cell, name, unit in _units(book):
        if not unit:
            yield Fault(sheet, cell, f"{name} has no unit", "write its unit; 1 where it has none, text for a text")
            continue
        try:
            parse_unit(unit)
        except ValueError as error:
            yield Fault(sheet, cell, f"{name}: {error}", "write a unit from the closed list")


def _units(book: Book) -> Iterator[tuple[str, str, str, str]]:
    """Sheet, cell, machine name and unit of every row and column."""
    for table in (book.inputs, *book.lines):
        for line in table.lines:
            yield table.sheet.name, address(line.row, table.head.unit), line.name or line.label, line.unit
    for database in book.databases.values():
        for name, column in database.columns.items():
            if MACHINE_NAME.fullmatch(name) and column > database.id_column:
                at = database.header_row - 1, column
                yield database.sheet.name, address(*at), name, database.sheet.text(*at)
    for cases in book.cases:
        for column, name in cases.columns.items():
            title = _UNIT_OF_TITLE.search(cases.sheet.text(cases.header_row - 1, column))
            if title and MACHINE_NAME.fullmatch(name):
                yield cases.sheet.name, address(cases.header_row - 1, column), name, title[1]


@rule(13, "No number literal in a template's formula except 0 and 1 (2 as exponent or LOG base), and no operator "
          "between two literals; text may be compared.")  # fmt: skip
def literals(book: Book) -> Iterator[Fault]:
    """A number that stands in a formula in names, where no reader finds its unit and its source."""
    for table in book.named:
        for line in table.lines:
            column = table.head.fifth if table.kind in BESIDE else table.head.fourth
            for what in _literal_faults(line.names.removeprefix(_OVERRIDE)):
                yield Fault(
                    table.sheet.name, address(line.row, column), f"{line.name} has {what}", "make it a constant row"
                )


def _literal_faults(text: str) -> Iterator[str]:
    """What is wrong with the numbers of a formula; a lookup's text is no formula and has none."""
    try:
        formula = parse(text)
    except FormulaError:
        return

    def visit(node: Node, parent: Node | None) -> Iterator[str]:
        if isinstance(node, Number) and not _allowed(node, parent):
            yield f"the number {formula.of(node)} in its formula"
        if isinstance(node, Binary) and isinstance(node.left, Number) and isinstance(node.right, Number):
            yield f"an operator between two numbers, {formula.of(node)}"
        for child in children(node):
            yield from visit(child, node)

    yield from visit(formula.root, None)


def _allowed(number: Number, parent: Node | None) -> bool:
    if number.value in (0, 1):
        return True
    exponent = isinstance(parent, Binary) and parent.op == "^" and parent.right is number
    base = isinstance(parent, Call) and parent.function == "LOG" and parent.args[1] is number
    return number.value == 2 and (exponent or base)

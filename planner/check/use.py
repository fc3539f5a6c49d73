"""Rules of what is used and what is proved: no dead input, every headline in a check (20, 24)."""

from __future__ import annotations

from collections.abc import Iterator

from planner.book.line_tables import LineItem, LineTable
from planner.book.row_formulas import usual_formula
from planner.book.sheet import SEARCHED, Sheet
from planner.book.workbook import Book
from planner.check.findings import Fault, rule
from planner.formulas.text import FormulaError, parse
from planner.xlsx.address import Position, address

MASTER = 1, 3
"""Where every sheet but Cover counts the failed checks: C1."""
UNPROVED = ("not cross-checked", "no second derivation")
"""What Dashboard says of an output that its template proves by no check, and what it said in earlier versions."""
FAILED, MISSING = "checks.failed", "missing."
"""The row of Checks that counts failures, and how the names of its rows about missing numbers begin."""


@rule(20, "No dead input: everything is used, or is an output or a check.")
def dead_inputs(book: Book) -> Iterator[Fault]:
    """A row of Inputs that no formula reads; where values typed over formulas are the reason, that is only noted."""
    inputs = book.inputs.sheet
    last = max(row for row, _ in inputs.cells)
    read: set[int] = set()
    for sheet in book.sheets.values():
        for at, formula in sheet.patterns.items():
            for reference in formula.references:
                if reference.sheet == inputs.name:
                    area = reference.area(*at)
                    read.update(range(area.top, min(area.bottom, last) + 1))
    for line in (line for line in book.inputs.lines if line.row not in read):
        what, cell = f"no formula reads {line.name}", address(line.row, book.inputs.head.name)
        if (sheet_name := _typed_over_on(book, line.name)) is None:
            yield Fault(inputs.name, cell, what, "delete the row, or use it")
        else:
            what += f": what did on {sheet_name} is typed over"
            yield Fault(inputs.name, cell, what, "copy the formulas back, where it shall count", "note")


def _typed_over_on(book: Book, name: str) -> str | None:
    """The sheet on which values stand in place of formulas that would read an input; None where there is none."""
    for table in book.calculations:
        for line in table.lines:
            is_read = name == line.name or name in _names(line.names)
            if is_read and any(table.sheet.is_typed(line.row, column) for column in table.columns):
                return table.sheet.name
    return None


@rule(24, "Each headline (what Dashboard shows) is named in a check with the shared relative tolerance; the master "
          "check is on Cover and in every header.")  # fmt: skip
def proofs(book: Book) -> Iterator[Fault]:
    """A headline that no check reaches, and a sheet without the count of failed checks."""
    if not book.checks.lines:
        return  # rule 1 says that the sheet is missing
    for table in book.calculations:
        checked = _checked(book, table)
        for line in reading(book.dashboard, table):
            if line.name and line.name not in checked and not line.note.startswith(UNPROVED):
                what = f"no check of {table.sheet.name} reaches the headline {line.name}"
                remedy = "give the template a check that computes it another way"
                yield Fault(book.dashboard.sheet.name, address(line.row, book.dashboard.head.name), what, remedy)
    remedy = "copy the formula from another sheet's C1"
    for sheet in book.our_sheets:
        if not any(_counts_failures(book, sheet, at) for at in sheet.patterns if at[0] <= SEARCHED):
            yield Fault(sheet.name, address(*MASTER), "the count of failed checks is not in the header", remedy)
    cover = book.designed.get("Cover")
    if cover is not None and not any(_counts_failures(book, cover, at) for at in cover.patterns):
        yield Fault(cover.name, "", "the count of failed checks is not on Cover", remedy)


def reading(table: LineTable, source: LineTable) -> Iterator[LineItem]:
    """The lines of a table whose formula reads the sheet of another."""
    for line in table.lines:
        formula = usual_formula(table.sheet, ((line.row, column) for column in table.columns))
        if formula and any(reference.sheet == source.sheet.name for reference in formula.references):
            yield line


def _checked(book: Book, table: LineTable) -> set[str]:
    """The names that a sheet's checks are made of, and what those are made of, and so on."""
    checks = (line.name for line in reading(book.checks, table) if not line.name.startswith(MISSING))
    waiting = [name.rpartition(".")[2] for name in checks]
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in table.by_name and name not in reached:
            reached.add(name)
            waiting += _names(table.by_name[name].names)
    return reached


def _names(text: str) -> tuple[str, ...]:
    try:
        return parse(text.removeprefix("override or ")).names
    except FormulaError:
        return ()  # a lookup


def _counts_failures(book: Book, sheet: Sheet, at: Position) -> bool:
    """Whether a cell sums up the row of Checks that counts failures, to the last scenario."""
    line, formula = book.checks.by_name.get(FAILED), sheet.patterns.get(at)
    if line is None or formula is None or "SUM" not in formula.functions or not book.checks.columns:
        return False
    areas = (reference.area(*at) for reference in formula.references
             if (reference.sheet or sheet.name) == book.checks.sheet.name)  # fmt: skip
    return any(area.covers(line.row, book.checks.columns[-1]) for area in areas)

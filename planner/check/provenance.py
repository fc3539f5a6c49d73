"""Rules of where things come from and how long they may be: sources, and the limits of a formula (11, 16)."""

from __future__ import annotations

from collections.abc import Iterator

from planner.book.line_tables import BESIDE
from planner.book.record_tables import CaseTable
from planner.book.workbook import Book
from planner.check.findings import Fault, rule
from planner.formulas.text import Call, FormulaError, parse, walk
from planner.xlsx.address import address

MOST_CHARACTERS, MOST_NAMES = 240, 8  # a prefix of 8 names may double the 120 characters of a template
MEASURED = ("run_id", "device", "measured_on", "n_samples")
OVERRIDE = "override or "


@rule(11, "Every typed number has a source (a database row: one per group of columns); a measured row also has run id, "
          "device, date, number of samples.")  # fmt: skip
def sources(book: Book) -> Iterator[Fault]:
    """A constant, a database row or a measured row that doesn't say where it comes from."""
    for line in book.inputs.section("Constants").values():
        fifth = book.inputs.head.fifth
        if not book.inputs.sheet.text(line.row, fifth):
            yield Fault(book.inputs.sheet.name, address(line.row, fifth), f"{line.name} has no source", "name one")
    for database in book.databases.values():
        named = [column for name, column in database.columns.items() if name.startswith("source")]
        at = database.id_column
        for row in range(database.first_row, database.last_row + 1):
            if database.sheet.text(row, at) and not any(database.sheet.text(row, column) for column in named):
                what = f"{database.sheet.text(row, at)} has no source"
                cell = address(row, min(named)) if named else address(row, at)
                yield Fault(database.sheet.name, cell, what, "name where its numbers are from")
    for table in book.cases:
        yield from _measured(table)


def _measured(table: CaseTable) -> Iterator[Fault]:
    column = {name: at for at, name in table.columns.items()}
    if "measured_time" not in column:
        return
    for row in table.rows:
        if table.sheet.value(row, column["measured_time"]) in (None, ""):
            continue
        missing = [name for name in MEASURED if name in column and table.sheet.value(row, column[name]) in (None, "")]
        if missing:
            cell = address(row, column[missing[0]])
            yield Fault(
                table.sheet.name,
                cell,
                f"a measured time without {', '.join(missing)}",
                "measure it again, or fill it in",
            )


@rule(
    16, "A template's formula has at most 120 characters before prefixes, 8 distinct names and one IF; no line breaks."
)
def limits(book: Book) -> Iterator[Fault]:
    """A formula in names that is too long to be read."""
    for table in book.named:
        for line in table.lines:
            text = line.names.removeprefix(OVERRIDE)
            try:
                formula = parse(text, whole_text=True)
            except FormulaError:
                continue  # a lookup
            branches = sum(isinstance(node, Call) and node.function == "IF" for node in walk(formula.root))
            wrong = [
                (len(text) > MOST_CHARACTERS, f"{len(text)} characters"),
                (len(formula.names) > MOST_NAMES, f"{len(formula.names)} names"),
                (branches > 1, f"{branches} IFs"),
                ("\n" in text, "a line break"),
            ]
            if said := [what for is_wrong, what in wrong if is_wrong]:
                cell = address(line.row, table.head.fifth if table.kind in BESIDE else table.head.fourth)
                yield Fault(table.sheet.name, cell, f"the formula has {', '.join(said)}", "split it into rows")

"""Rules about the plan itself: its headlines are cross-checked, its checks hold, and it has numbers (24, 32)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from planner.book.formulas_in_names import names_in
from planner.book.missing_numbers import origin
from planner.book.plan import fails
from planner.book.row_formulas import row_formula
from planner.book.sheet import SEARCHED, Sheet
from planner.book.tables import LineItem, LineTable
from planner.book.workbook import MISSING, Book
from planner.check.findings import Fault, rule
from planner.formulas.comparisons import Compared, in_numbers
from planner.number_text import few
from planner.workbook.workloads import ALL_WORKLOADS, WORKLOAD
from planner.xlsx.address import Position, Spot, address
from planner.xlsx.cellvalue import NA, Value, is_number

MASTER = 1, 3
"""The cell with the count of failed checks on every sheet but Cover: C1."""
UNPROVED = ("not cross-checked", "no second derivation")
"""Dashboard's remark on an output without a check in its template, now and in earlier versions."""
FAILED = "checks.failed"
"""The row of Checks that counts failures."""
CHOICES = {"model_row": ("model_id", "model"), "hardware_row": ("hardware_id", "chip")}
"""The rows that look up the chosen model and chip, each with the row of Inputs that chooses it and its noun."""

OF_CSV = {"Models": "--models", "Hardware": "--hardware-csv"}
"""The option of `planner update` that adds the rows of a CSV to a sheet."""


@rule(
    24,
    "Each headline (what Dashboard shows) is named in a check with the shared relative tolerance; the master "
    "check is on Cover and in every header.",
)
def proofs(book: Book) -> Iterator[Fault]:
    """Headlines that no check depends on, and sheets without the count of failed checks."""
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
    """The lines of a table whose formula reads the sheet of `source`."""
    for line in table.lines:
        formula = row_formula(table, line)
        if formula and any(reference.sheet == source.sheet.name for reference in formula.references):
            yield line


def _checked(book: Book, table: LineTable) -> set[str]:
    """The names on which a sheet's checks depend, directly or indirectly."""
    checks = (line.name for line in reading(book.checks, table) if not line.name.startswith(MISSING))
    waiting = [name.rpartition(".")[2] for name in checks]
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in table.by_name and name not in reached:
            reached.add(name)
            waiting += names_in(table.by_name[name].names)
    return reached


def _counts_failures(book: Book, sheet: Sheet, at: Position) -> bool:
    """Whether a cell sums the row of Checks that counts failures, up to the last scenario."""
    line, formula = book.checks.by_name.get(FAILED), sheet.patterns.get(at)
    if line is None or formula is None or "SUM" not in formula.functions or not book.checks.columns:
        return False
    areas = [area for name, area in book.areas(Spot(sheet.name, *at)) if name == book.checks.sheet.name]
    return any(area.covers(line.row, book.checks.columns[-1]) for area in areas)


@rule(
    32,
    "Every check on Checks holds: the mesh fits the chips, the plan fits in memory, and what is computed twice "
    "agrees; and a scenario has a headline that is not N/A.",
)
def checks_hold(book: Book) -> Iterator[Fault]:
    """Checks that fail in a scenario, with the numbers that they compare, and scenarios without numbers."""
    yield from _unchosen(book)
    yield from _without_numbers(book)
    yield from _blank_inputs(book)
    table = book.checks
    for line in (line for line in table.lines if line.section.startswith("Checks")):
        for column in table.columns:
            value = book.value(table.sheet.name, line.row, column)
            if fails(value):
                _, scenario = book.owner(table.sheet.name, line.row, column)
                what = f"{scenario or 'the scenario'} fails the check '{line.label}'{_in_numbers(book, line, scenario)}"
                remedy = f"it asks for {line.names}" if line.names else "see what it asks for"
                if line.note:
                    remedy += f" ({line.note})"
                yield Fault(table.sheet.name, address(line.row, column), what, remedy, kind="failed_check")


def _unchosen(book: Book) -> Iterator[Fault]:
    """Scenarios without a model or a chip where numbers are looked up by it."""
    inputs = book.inputs
    for looked_up, (name, noun) in CHOICES.items():
        if name not in inputs.by_name or not any(looked_up in table.by_name for table in book.calculations):
            continue
        row = inputs.by_name[name].row
        for column in inputs.columns:
            if book.value(inputs.sheet.name, row, column) in (None, ""):
                _, scenario = book.owner(inputs.sheet.name, row, column)
                what = f"scenario {scenario or 'there'} has no {noun}, and what needs one is N/A"
                remedy = f"choose its {name} on Inputs"
                yield Fault(inputs.sheet.name, address(row, column), what, remedy, "note", "note")


def _without_numbers(book: Book) -> Iterator[Fault]:
    """Scenarios whose headlines are all N/A, reported at the cell where that begins.

    Among several scenarios, one without a model or chip is assumed to be unfinished; an unknown model or chip is a
    fault of rule 22.
    """
    sheet, columns = book.dashboard.sheet.name, book.dashboard.columns
    rows = [line.row for line in _headlines(book)]
    silent = [column for column in columns if _has_no_numbers([book.value(sheet, row, column) for row in rows])]
    for column in silent:
        found = [origin(book, Spot(sheet, row, column)) for row in rows if book.value(sheet, row, column) == NA]
        cause = next((each for each in found if book.owner(*each)[0] in CHOICES), found[0])
        name, scenario = book.owner(*cause)
        if name not in CHOICES or len(silent) == len(columns):
            what = f"{scenario or 'the scenario'} has no number: all {len(rows)} headlines are N/A"
            lacking = _lacking(book, columns.index(column))
            if sum(map(len, lacking.values())) > 1:
                what += "; " + "; ".join(f"{where} lacks {few(names)}" for where, names in lacking.items())
                remedy = "type them there, as in a similar row" + _from_csv(lacking)
            else:
                what += f", the first because {name} is" if name else ""
                remedy = "type it on Inputs, or in the database"
            yield Fault(cause.sheet, cause.ref, what, remedy, kind="missing_number")


def _lacking(book: Book, at: int) -> dict[str, list[str]]:
    """The numbers that Checks counts as missing in the scenario with this index, by the sheet where they are typed.

    Those of a calibration are left out: it is the chip's row that lacks one.
    """
    found: dict[str, list[str]] = {}
    table = book.checks
    for line in table.lines if at < len(table.columns) else ():
        if line.name.startswith(MISSING) and book.value(table.sheet.name, line.row, table.columns[at]) == 1:
            where, _, name = line.names.partition(": ")
            found.setdefault(where, []).append(name)
    return {where: names for where, names in found.items() if where in (*OF_CSV, book.inputs.sheet.name)}


def _from_csv(lacking: Collection[str]) -> str:
    """The options of `planner update` that take a CSV of models or chips, in which a blank has a default."""
    options = [option for where, option in OF_CSV.items() if where in lacking]
    return f"; or write the row as a CSV for planner update {' '.join(options)}, which fills blanks" if options else ""


def _headlines(book: Book, workload: str = "") -> list[LineItem]:
    """The lines of Dashboard that show a calculated number; with a workload none of one that others are meant for."""
    meant = {book.said(WORKLOAD, column) for column in book.inputs.columns}
    others = meant - {workload} if workload not in ("", ALL_WORKLOADS) else set()
    tables = (table for table in book.calculations if book.templates.get(table.sheet.name) not in others)
    lines = (line for table in tables for line in reading(book.dashboard, table))
    return [line for line in lines if line.name and line.unit != "text"]


def _blank_inputs(book: Book) -> Iterator[Fault]:
    """Blank inputs because of which some headlines of a scenario are N/A, while others have numbers.

    Those of a workload that it isn't meant for are left out.
    """
    sheet, meant = book.dashboard.sheet.name, dict(zip(book.dashboard.columns, book.inputs.columns, strict=False))
    for column in book.dashboard.columns:
        lines = _headlines(book, book.said(WORKLOAD, meant[column]) if column in meant else "")
        values = {line: book.value(sheet, line.row, column) for line in lines}
        causes: dict[Spot, list[str]] = defaultdict(list)
        for line, value in values.items() if not _has_no_numbers(list(values.values())) else ():
            if value == NA and (blank := _blank_input(book, origin(book, Spot(sheet, line.row, column)))):
                causes[blank].append(line.name)
        for (name, *at), headlines in causes.items():
            what, scenario = book.owner(name, *at)
            count = f"{headlines[0]} is" if len(headlines) == 1 else f"{len(headlines)} headlines are"
            said = f"{what} of {scenario} is blank, and so {count} N/A"
            yield Fault(name, address(*at), said, "type it where it is known", "note", "note")


def _blank_input(book: Book, cell: Spot) -> Spot | None:
    """The blank input that a formula reads; None if it reads none."""
    inputs, typed = book.inputs.sheet, {line.row for line in book.inputs.section("Plan").values()}
    for sheet, area in book.areas(cell):
        is_input = sheet == inputs.name != cell.sheet and area.top in typed
        if is_input and inputs.value(area.top, area.left) in (None, ""):
            return Spot(inputs.name, area.top, area.left)
    return None


def _has_no_numbers(values: Sequence[Value]) -> bool:
    """Whether all numbers are N/A or 0, as the time of a collective on one chip is, and at least one is N/A."""
    return NA in values and all(value in (NA, 0) for value in values)


def _in_numbers(book: Book, line: LineItem, scenario: str) -> str:
    """The failed comparisons of a check in a scenario, in words; blank if they can't be determined."""
    title, _, name = line.name.rpartition(".")
    tables = (found for found in book.calculations if name in found.by_name)
    table = next((found for found in tables if book.templates.get(found.sheet.name) == title), None)
    if table is None:
        return ""

    def quantity(read: str) -> Compared:
        found, value = table.by_name[read], _value(book, table, read, scenario)
        return Compared(found.label, found.unit, value if isinstance(value, str) or is_number(value) else None)

    numbers = in_numbers(line.names, quantity).replace("\N{NO-BREAK SPACE}", " ")
    return f": {numbers}" if numbers else ""


def _value(book: Book, table: LineTable, name: str, scenario: str) -> Value:
    line = table.by_name.get(name)
    for column in table.columns if line else ():
        if line and book.owner(table.sheet.name, line.row, column)[1] == scenario:
            return book.value(table.sheet.name, line.row, column)
    return None

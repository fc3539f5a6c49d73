"""Rules about the formulas in planner's tables: uniform along a row or column, and equal to their text in names (6, 12,
14, 17, 21).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from planner.book.formulas_in_names import CALLED_UP, UnreadableError, writer
from planner.book.row_formulas import calculated_columns, row_formula, usual_formula, usual_of
from planner.book.sheet import Sheet
from planner.book.tables import HEADER, Head, LineItem, LineTable
from planner.book.workbook import MISSING, Book
from planner.check.findings import Fault, rule
from planner.check.reference_rules import reads_what_is_gone
from planner.compare.appended_rows import VALUES_ONLY
from planner.compare.comparison_sheet import NOTE, CaseRow, found_in
from planner.formulas.text import FUNCTIONS
from planner.recalc.evidence import CLOCK_OR_DICE
from planner.xlsx.address import Area, Position, address, folded
from planner.xlsx.cellvalue import Value, exact_text
from planner.xlsx.pattern import Pattern, RelativeReference, pattern

UNNAMED = "scenario_name"
"""The header row whose formula also reads the model and chip, which are the default name."""
OVERRIDES = "Overrides"
"""The beginning of the headings of Inputs over override cells."""
OWN = "checks."
"""The prefix of rows that Checks computes itself: its counts, and what fails first."""
GUARDS = ("topology", "price_basis")
"""Columns that decide whether others may be blank: only a switch has nodes, only a rented chip a list price."""
BOOLEANS = {"TRUE", "FALSE"}  # as LibreOffice writes them: TRUE()
ALLOWED = (
    frozenset(FUNCTIONS) | BOOLEANS | {"INDEX", "MATCH", "COUNTA", "COUNTIF", "FIXED", "SUMPRODUCT", "IFERROR", "SUM"}
)
VOLATILE = CLOCK_OR_DICE | {"OFFSET", "INDIRECT", "INFO", "CELL"}


@rule(6, "Header rows are the same on every calculation sheet; a scenario keeps its column letter everywhere.")
def headers(book: Book) -> Iterator[Fault]:
    """Sheets without a header, scenarios missing on a sheet, and headers that read another column."""
    fronts = book.checks.sheet.name, book.dashboard.sheet.name
    lines = (
        formula for spot, formula in book.formulas.items() if spot.sheet in fronts
    )  # cells of the user's next to them
    read = {reference.sheet for formula in lines for reference in formula.references}  # may read a sheet of their own
    for name in sorted(read - {sheet.name for sheet in book.our_sheets}):
        if name in book.sheets:
            what, remedy = "the titles of the header are not a calculation sheet's", "copy row 3 from another sheet"
            yield Fault(name, address(Head().row, Head().label), what, remedy)
    for table in book.by_scenario[1:]:
        yield from _scenarios_lacking(book, table)
        yield from _misread(book, table)
    if moved := [name for name in book.numbers.sheets if name in {table.sheet.name for table in book.by_scenario}]:
        what = f"columns were inserted or moved on {', '.join(moved)}: a scenario's column is not the same everywhere"
        yield Fault(moved[0], "", what, "its formulas follow; move them back if you copy columns", "note")


def _scenarios_lacking(book: Book, table: LineTable) -> Iterator[Fault]:
    """The scenarios of Inputs that a table lacks, and the reverse."""
    inputs = book.inputs
    here, there = (
        {book.numbers.standard(each.sheet.name, column): column for column in each.columns} for each in (inputs, table)
    )
    for number in sorted(here.keys() ^ there.keys()):
        one, other = (inputs, table) if number in here else (table, inputs)
        column = here[number] if number in here else there[number]
        what = f"a scenario stands in this column, and none on {other.sheet.name}"
        yield Fault(one.sheet.name, address(one.id_row, column), what, "copy a scenario's column on every sheet")


def _misread(book: Book, table: LineTable) -> Iterator[Fault]:
    """The header cells that read another cell of Inputs than their own scenario's."""
    rows = {name: line.row for name, line in book.inputs.by_name.items() if name in HEADER}
    for line in (line for line in table.lines if line.name in rows):
        for at in table.cells(line):
            formula = table.sheet.numbered.get(at)
            if formula is None:
                continue
            number = book.numbers.standard(table.sheet.name, at[1])
            areas = {name: Area(row, number, row, number) for name, row in rows.items()}
            read, own = {reference.area(at[0], number) for reference in formula.references}, areas[line.name]
            if own not in read or not read <= (set(areas.values()) if line.name == UNNAMED else {own}):
                shown_formula = table.sheet.patterns[at].at(*at)
                what = f"the header reads another cell of Inputs than this one: ={shown_formula}"
                yield Fault(table.sheet.name, address(*at), what, "copy the header of another sheet")


@rule(
    12,
    "Down a sheet, one formula per row: each scenario column is the first one, translated. In a table, one per column.",
)
def one_formula(book: Book) -> Iterator[Fault]:
    """Cells whose formula differs from that of their row, or of their column in a table of cases."""
    for sheet, cells, usual, line in _filled_alike(book):
        if line is None:
            wanted, along = usual is not None and _reads_its_row(usual), "column"
        else:
            is_choice = sheet is book.dashboard.sheet  # a choice on Dashboard has no formulas
            wanted, along = bool(usual or (line.name and not is_choice)), "row"
        if wanted:
            yield from _deviations(book, sheet, cells, usual, along)


@lru_cache(maxsize=1)  # two rules of one workbook ask for them
def _filled_alike(book: Book) -> list[tuple[Sheet, list[Position], Pattern | None, LineItem | None]]:
    """The cells that should have one formula, of each line and each column of cases, with that formula."""
    lines = ((table, line) for table in book.lines for line in table.lines)
    columns = ((cases.sheet, column) for cases in book.cases for column in calculated_columns(cases))
    return [
        *((table.sheet, table.cells(line), usual_of(book, table, line), line) for table, line in lines),
        *((sheet, column, usual_formula(sheet, column), None) for sheet, column in columns),
    ]


def _deviations(
    book: Book, sheet: Sheet, positions: list[Position], usual: Pattern | None, along: str
) -> Iterator[Fault]:
    for at in positions:
        own = sheet.numbered.get(at)
        if (own and (own is usual or own.is_broken or own.is_pasted)) or (own is None and sheet.is_typed(*at)):
            continue  # rule 15 reports a broken one, rule 14 a typed value
        wanted = f"={book.numbers.shown(sheet.name, at, usual)}" if usual else "a formula"
        remedy = f"copy the {along}'s formula, or change the whole {along}"
        if own is None:
            yield Fault(sheet.name, address(*at), f"the cell is blank, and not its {along}'s {wanted}", remedy)
        else:
            text = f"={sheet.patterns[at].at(*at)}"
            what = f"the formula {text} is not its {along}'s, which is {wanted}"
            yield _override(sheet, at, what, remedy, wanted if usual else None, text)


def _override(sheet: Sheet, at: Position, what: str, remedy: str, before: str | None, after: Value) -> Fault:
    place = sheet.name, address(*at)
    return Fault(*place, what, remedy, "override", "override", before=before, after=after)


def _reads_its_row(formula: Pattern) -> bool:
    """Whether a formula computes with its own case, rather than by an input that is set case by case."""

    def is_own(reference: RelativeReference) -> bool:
        return not (reference.sheet or reference.first.row_fixed) and reference.first.row == 0 == reference.last.row

    def is_fixed(reference: RelativeReference) -> bool:
        return reference.first.row_fixed and reference.last.row_fixed

    references = formula.references
    return any(map(is_own, references)) and all(is_own(reference) or is_fixed(reference) for reference in references)


@rule(
    14,
    "Inputs has no formulas; calculation sheets have no typed numbers (an override is typed on Inputs, or is reported "
    "as one).",
)
def typed_numbers(book: Book) -> Iterator[Fault]:
    """Formulas among the inputs, values typed over formulas, and filled override cells."""
    inputs = book.inputs
    for line in inputs.lines:
        for at in ((line.row, column) for column in (inputs.head.fourth, *inputs.columns)):
            if at in inputs.sheet.patterns:
                remedy = "type the number; calculate on a sheet of your own"
                yield Fault(inputs.sheet.name, address(*at), f"{line.name} is a formula, not a typed value", remedy)
    for sheet, cells, usual, of in _filled_alike(book):
        if usual or of is None or of.name:  # a row of an analyst's own on Dashboard has no formula to type over
            yield from _typed_over(book, sheet, cells, usual)
    yield from _pasted_cases(book)
    yield from _filled(book)


def _typed_over(book: Book, sheet: Sheet, positions: list[Position], usual: Pattern | None) -> Iterator[Fault]:
    for at in positions:
        found = sheet.patterns.get(at)
        if found.is_pasted if found else sheet.is_typed(*at):
            formula = f"={book.numbers.shown(sheet.name, at, usual)}" if usual else None
            what = f"{exact_text(sheet.value(*at))} is typed over {formula or 'a formula'}"
            remedy = "type it on Inputs, in the row's override cell where it has one; copy the formula back"
            fault = _override(sheet, at, what, remedy, formula, sheet.value(*at))
            yield fault._replace(alike="a value is typed over the row's formula")


def _pasted_cases(book: Book) -> Iterator[Fault]:
    """Cases of which values replace every formula, where no case of their template shows the formulas any more."""
    sheet = found_in(book.package, book.parsed)
    if sheet is None:
        return
    cases: list[tuple[CaseRow, list[str]]] = []
    for row in sheet.rows:
        if row.template is not None and not row.text(NOTE).startswith(VALUES_ONLY):
            calculated = (each.name for each in row.template.rows if each.kind != "input")
            filled = (name for name in calculated if row.value(name) is not None)
            cases.append((row, sorted(filled, key=row.columns.__getitem__)))
    live = {row.text("template") for row, names in cases if any(sheet.is_computed(row.number, at) for at in names)}
    for row, names in cases:
        if names and row.text("template") not in live:
            at, value = (row.number, row.columns[names[0]]), row.value(names[0])
            what = f"{len(names)} values are typed over the formulas of the case, which follow no change of the plan"
            remedy = "undo the pasting, or copy the row of such a case from a new workbook over it"
            fault = _override(book.sheets[sheet.name], at, what, remedy, None, value)
            yield fault._replace(alike="values are typed over the formulas of the case")


def _filled(book: Book) -> Iterator[Fault]:
    """The filled override cells of Inputs; this is their purpose, and so just a note."""
    inputs = book.inputs
    for line in (line for line in inputs.lines if line.section.startswith(OVERRIDES)):
        for at in ((line.row, column) for column in inputs.columns):
            if inputs.sheet.value(*at) not in (None, ""):
                value = inputs.sheet.value(*at)
                _, scenario = book.owner(inputs.sheet.name, *at)
                what = f"{line.name} of {scenario} is overridden by {exact_text(value)}"
                remedy = "empty the cell to take the database's or the calculated number again"
                yield Fault(inputs.sheet.name, address(*at), what, remedy, "note", "override", after=value)


@rule(
    17,
    "Functions from the allow-list only (templates: the grammar's; the workbook writer adds INDEX MATCH COUNTA "
    "COUNTIF FIXED SUMPRODUCT IFERROR and SUM over a range); nothing volatile; nothing that needs the `_xlfn.` prefix.",
)
def functions(book: Book) -> Iterator[Fault]:
    """Functions that spreadsheet programs don't compute alike."""
    for (sheet, row, column), formula in book.formulas.items():
        for name in sorted(formula.functions - ALLOWED):
            why = "is volatile" if name in VOLATILE else "is not on the list of functions that compute alike everywhere"
            remedy = f"use one of {', '.join(sorted(ALLOWED))}, or calculate on a sheet of your own"
            yield Fault(sheet, address(row, column), f"{name} {why}", remedy)


@rule(
    21,
    "The formula-in-names text equals the live formula after substitution; a lookup reads "
    "`hardware[hardware_id].hbm_bytes`.",
)
def names_agree(book: Book) -> Iterator[Fault]:
    """Rows whose formula in names differs from their cells, and links to another row than they are named for."""
    for table in (*book.named, *book.constraints):
        for line in table.lines:
            if line.names and (table.kind != "constraints" or CALLED_UP.fullmatch(line.names)):
                yield from _calculated(book, table, line)
    for table in (book.dashboard, book.checks):
        for line in table.lines:
            yield from _linked(book, table, line)


def _calculated(book: Book, table: LineTable, line: LineItem) -> Iterator[Fault]:
    formula = usual_of(book, table, line)
    if formula is None:
        return
    column = next(column for column in table.columns if table.sheet.numbered.get((line.row, column)) is formula)
    number = book.numbers.standard(table.sheet.name, column)
    cell, remedy = address(line.row, column), "correct the one or the other"
    try:
        expected = writer(book, table, line, number, formula).write(line.names)
    except UnreadableError as error:
        what = f"{line.name} in names, {line.names}, can't be told in cells: {error}"
        alike = f"the formula in names can't be told in cells: {error}"
        yield Fault(table.sheet.name, cell, what, remedy, alike=alike)
        return
    if expected == formula.at(line.row, number):
        return
    wanted = pattern(expected, line.row, number)
    # a broken formula is rule 15's, which says why
    if wanted is not formula and not reads_what_is_gone(formula, {folded(name) for name in book.sheets}):
        own = table.sheet.patterns[line.row, column].at(line.row, column)
        meant = book.numbers.shown(table.sheet.name, (line.row, column), wanted)
        what = f"{line.name} is ={own}, but {line.names} in names, which is ={meant}"
        yield Fault(table.sheet.name, cell, what, remedy)


def _linked(book: Book, table: LineTable, line: LineItem) -> Iterator[Fault]:
    """Faults of a line of Dashboard or Checks that reads another row than named, or states another formula of it."""
    formula = row_formula(table, line)
    if formula is None or not line.name or line.name.startswith(OWN):
        return
    name = line.name.rpartition(".")[2]
    for reference in formula.references:
        source = next((found for found in book.calculations if found.sheet.name == reference.sheet), None)
        if source is None:
            continue
        row, named = reference.area(line.row, table.columns[0]).top, source.by_name.get(name)
        guards = [source.by_name[guard].row for guard in GUARDS if guard in source.by_name]
        if line.name.startswith(MISSING) and row in guards:
            continue  # it checks whether the number is needed at all
        if named is None or row != named.row:
            what = f"{line.name} reads row {row} of {source.sheet.name}, which is not the row {name}"
            yield Fault(table.sheet.name, address(line.row, table.columns[0]), what, "point it at the row of that name")
        elif table.kind == "checks" and not line.name.startswith(MISSING) and line.names != named.names:
            what = f"{line.name} is {named.names} on {source.sheet.name}, not {line.names}"
            yield Fault(table.sheet.name, address(line.row, table.head.fourth), what, "copy the text from there")

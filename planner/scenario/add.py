"""Adds a scenario to a workbook: copies a scenario's column to the right, as Cover describes for doing it by hand.

Print areas, formats and validations over all scenarios are extended, as are Dashboard's charts and Cover's verdicts.
Ranges of planner's formulas have spare columns already. The user's own formulas and charts are left as they are and
listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner import progress
from planner.book.lost_precedents import beside_readers
from planner.book.scenario_charts import comparing, draw_all
from planner.book.sheet import Sheet
from planner.book.tables import LineTable
from planner.book.verdict_rows import open_verdicts
from planner.book.workbook import Book
from planner.catalog import Value
from planner.errors import Place, UserError
from planner.formulas import library
from planner.formulas.evaluation import Facts
from planner.formulas.headlines import leaders
from planner.formulas.sweeps import swept_templates
from planner.formulas.template import CALCULATED
from planner.recalc import Recalculated, add_columns
from planner.scenario.new_column import NewColumn, NewScenario
from planner.scenario.purpose import completed, lacks, source_of, workload_of
from planner.scenario.which import CHIP, ID, MODEL, free_identifier, new_identifier, own_column
from planner.update.fresh import Coming
from planner.update.outcome import Updated
from planner.update.update import update
from planner.workbook.lacking import lacking
from planner.workbook.workloads import ALL_WORKLOADS, WORKLOAD
from planner.xlsx.address import Area, Spot, address, column_letters
from planner.xlsx.atomic import kept_beside
from planner.xlsx.cellvalue import CellError, is_number
from planner.xlsx.drawings import charts_over
from planner.xlsx.moves import Moves
from planner.xlsx.opc import Package, in_place
from planner.xlsx.references import Reference
from planner.xlsx.sheet_rules import reshape, rules
from planner.xlsx.sheetedit import Content
from planner.xlsx.workbook_part import PRINTED, names_over, parse_sheets, reshape_names
from planner.xlsx.worksheet import Worksheet, as_wide
from planner.xlsx.xmltree import local_name

__all__ = ["AddedScenario", "NewScenario", "add", "add_to_file"]


@dataclass
class AddedScenario:
    """The result: the new scenario's id, the id of the one it was copied from, its column on each sheet, and remarks.

    `workload` is the workload that it is meant for, if there is a choice; `updated` is the outcome of the update that
    added sheets for it; `unanswered` says which headlines are N/A, and what is missing for them.
    """

    id: str
    like: str
    columns: Mapping[str, int]
    remarks: list[str]
    recalculated: Recalculated | None = None
    workload: str = ""
    updated: Updated | None = None
    unanswered: Sequence[str] = ()


def add_to_file(path: Path, request: NewScenario) -> tuple[AddedScenario, Path | None]:
    """Add a scenario to the workbook at `path`, which is replaced as a whole or not at all.

    Returns the result, and the backup's path if sheets were added too. Raises UserError for what the workbook doesn't
    allow, with the cell in the way, and as reading and writing do.
    """
    with in_place(path) as package:
        added = add(package, request)
        backup = kept_beside(path) if added.updated else None
    return added, backup


def add(package: Package, request: NewScenario) -> AddedScenario:
    """Add a scenario to a package, in place, with the sheets of its workload if these are missing.

    Raises UserError as `add_to_file` does; unless sheets are added, nothing is changed then.
    """
    progress.step("reading the workbook")
    book = Book(package)
    if not book.inputs.columns:
        raise UserError("there is no scenario to copy", place=Place(package.name), remedy="build a new workbook")
    if book.without_sheet:
        what = f"the sheet of the template {book.without_sheet[0]} is missing, or has no row of titles any more"
        remedy = "planner export-inputs keeps what is typed; build anew with it"
        raise UserError(what, place=Place(package.name), remedy=remedy)
    workload, updated = workload_of(book, request), None
    if lacks(book, workload):
        coming = Coming(workload, source_of(book, request.like, workload), request.settings)
        updated = update(package, request.templates, coming=coming, read=book)
        book = Book(package)
    source = source_of(book, request.like, workload)
    columns = free_columns(book)
    identifier = _identifier(book, request, source)
    request = completed(book, source, request, workload)
    meant = request.settings.get(WORKLOAD) or book.said(WORKLOAD, source)
    added = AddedScenario(identifier, book.said(ID, source), columns, [], workload=meant, updated=updated)
    contents: dict[str, Mapping[str, Content]] = {}
    likes: dict[str, Mapping[str, str]] = {}
    for table in book.by_scenario:
        name = table.sheet.name
        new = NewColumn(book, table, own_column(book, table, source), columns[name], added.remarks)
        contents[name] = new.inputs(request, identifier) if table is book.inputs else new.formulas()
        likes[name] = new.like()
    added.remarks += left_out(book)
    progress.step("computing what is new")
    added.recalculated = add_columns(package, book.parsed, contents, likes)
    parts = package.sheets()
    for table in book.by_scenario:
        part, column = parts[table.sheet.name], columns[table.sheet.name]
        xml = as_wide(package.parts[part], own_column(book, table, source), column)
        package.replace(part, ruled(xml, table, column))
    print_wider(package, book, columns)
    if book.dashboard.lines:
        draw_all(package, book, columns[book.dashboard.sheet.name])
    if not open_verdicts(package, book, len(book.inputs.columns) + 1):
        added.remarks.append("Cover has no row left for its verdict: planner update gives it more")
    added.unanswered = list(unanswered(package, book, identifier, meant, columns))
    progress.clear()
    return added


def _identifier(book: Book, request: NewScenario, source: int) -> str:
    """The new id, made from the name, or from model and chip if none is given."""
    if request.name is not None:
        return new_identifier(book, request.name)
    chosen = (request.model or book.said(MODEL, source), request.hardware or book.said(CHIP, source))
    return free_identifier(book, " on ".join(part for part in chosen if part) or "scenario")


def grown(area: Area, table: LineTable, column: int) -> Area:
    """The area extended to `column` if it covers all scenarios of a table and ends at the last."""
    first, last = table.columns[0], table.columns[-1]
    holds_all = area.left <= first and area.right == last
    return Area(area.top, area.left, area.bottom, column) if holds_all else area


def print_wider(package: Package, book: Book, columns: Mapping[str, int]) -> None:
    """Extend print areas to the new `columns`, which are by sheet name."""
    tables = _tables(book)

    def wide(name: str, sheet: str, area: Area) -> Area:
        is_meant = name == PRINTED and sheet in tables
        return grown(area, tables[sheet], columns[sheet]) if is_meant else area

    reshape_names(package, wide)


def ruled(xml: bytes, table: LineTable, column: int) -> bytes:
    """A sheet's XML with conditional formats and validations over all scenarios extended to `column`."""
    sheet = Worksheet(xml)
    for rule in rules(sheet.root):
        reshape(rule, lambda area: grown(area, table, column), local_name(rule))
    return sheet.xml()


def free_columns(book: Book) -> dict[str, int]:
    """The column right of the last scenario on each sheet, by sheet name.

    Raises UserError if it isn't empty, or if the ranges over all scenarios don't include it.
    """
    ends = _ends_of_ranges(book)
    return {table.sheet.name: _free_column(book, table, ends.get(table.sheet.name)) for table in book.by_scenario}


def _free_column(book: Book, table: LineTable, end: int | None) -> int:
    sheet, column, place = table.sheet, (table.columns or (0,))[-1] + 1, Place(book.package.name)
    if len(table.columns) != len(book.inputs.columns):
        what = f"{len(table.columns)} scenarios stand here and {len(book.inputs.columns)} on {book.inputs.sheet.name}"
        remedy = "copy a scenario's column on every sheet, or delete it on all"
        raise UserError(what, place=Place(book.package.name, sheet=sheet.name), remedy=remedy)
    letters = column_letters(column)
    filled = (
        at
        for at in sorted(sheet.cells)
        if at[1] == column and (sheet.value(*at) not in (None, "") or at in sheet.patterns)
    )
    for at in filled:
        what = f"{sheet.name}!{address(*at)} stands where the next scenario would"
        remedy = f"insert a column before {letters} on {sheet.name}, so that {letters} is empty"
        raise UserError(what, place=place, remedy=remedy)
    if end is not None and column > end:
        what = f"no spare column is left: the ranges over all scenarios end at {sheet.name}!{column_letters(end)}"
        remedy = "planner update gives it more, or planner export-inputs and build anew"
        raise UserError(what, place=place, remedy=remedy)
    return column


def _ends_of_ranges(book: Book) -> dict[str, int]:
    """The last column of ranges over all scenarios, by sheet: those with fixed columns that cover every scenario."""
    tables = _tables(book)
    ends: dict[str, int] = {}
    for (name, row, column), formula in book.formulas.items():
        for reference in formula.references:
            read = reference.sheet or name
            if reference.first != reference.last and reference.first.column_fixed and read in tables:
                area = reference.area(row, column)
                if area.left <= tables[read].columns[0] and area.left < area.right >= tables[read].columns[-1]:
                    ends[read] = min(area.right, ends.get(read, area.right))
    return ends


def own_rows(book: Book, sheet: Sheet) -> set[int]:
    """The user's rows with formulas: all of their own sheet, or those between planner's rows of a table by scenario."""
    rows = {row for row, _ in sheet.patterns}
    if all(sheet is not designed for designed in book.designed.values()):
        return rows
    table = next((table for table in book.by_scenario if table.sheet is sheet), None)
    return {row for row in rows if row > table.head.row} - {line.row for line in table.lines} if table else set()


def _tables(book: Book) -> dict[str, LineTable]:
    return {table.sheet.name: table for table in book.by_scenario}


def left_out(book: Book) -> Iterator[str]:
    """The user's formulas and charts over all scenarios, which still end at the previously last one."""
    tables = _tables(book)
    rows = {name: own_rows(book, sheet) for name, sheet in book.sheets.items()}
    cells = [
        Spot(name, *at)
        for name, sheet in book.sheets.items()
        if rows[name]
        for at in sheet.patterns
        if at[0] in rows[name]
    ]
    for cell in dict.fromkeys([*cells, *(each.spot for each in beside_readers(book, Moves({})))]):
        if any(known in tables and _ends(area, tables[known]) for known, area in book.areas(cell)):
            yield f"{cell} reads the scenarios of before, not the new one: widen its range"

    def is_of_before(found: Reference) -> bool:
        return found.sheet in tables and _ends(found.area, tables[found.sheet])

    for name in names_over(book.package, is_of_before):
        yield f"the name {name} stands for the scenarios of before, not the new one: widen its range"
    ours = {part for part, _ in comparing(book)}
    for part, found in charts_over(book.package, is_of_before):
        if part not in ours:
            yield f"a chart draws {found}, the scenarios of before: widen its ranges"


def _ends(area: Area, table: LineTable) -> bool:
    """Whether an area covers all scenarios, more than one, and ends at the last."""
    return area.left <= table.columns[0] < area.right == table.columns[-1]


def unanswered(package: Package, book: Book, called: str, workload: str, at: Mapping[str, int]) -> Iterator[str]:
    """What is missing for the scenario `called` to have all headlines, worded as by `planner build`.

    `at` is its column by sheet. `book` has the rows' positions, `package` the current values. Nothing is said of a
    headline whose cell has a number, which a formula of the user's may give.
    """
    sheets, values = parse_sheets(package), dict[str, Value]()
    for table in book.calculations:
        cells = sheets[table.sheet.name].cells
        for line in table.lines:
            cell = cells.get(address(line.row, at[table.sheet.name]))
            found = cell.value if cell is not None else None
            if is_number(found) or (isinstance(found, str) and not isinstance(found, CellError)):
                values.setdefault(line.name, found)
    for name in dict.fromkeys(book.templates.values()):
        head = leaders().get(name)
        if head is None or head in values or name not in swept_templates() or workload not in ("", name, ALL_WORKLOADS):
            continue
        counted = library.load(name).reduced([head])
        given = {row.name: values.get(row.name) for row in counted.rows if row.kind not in CALCULATED}
        model, chip = ({row.column[0]: None for row in counted.of_kind(kind)} for kind in ("model", "hardware"))
        typed = {row.name for row in counted.rows if row.kind in ("input", "constant")}
        known = {name: value for name, value in given.items() if value is not None or name in typed}
        yield from lacking(counted, head, called, Facts(model, chip), known)

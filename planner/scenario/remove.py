"""Removes a scenario from a workbook: its column on every sheet, and everything that concerns it alone.

References to moved cells are adjusted; the user's references to the scenario become `#REF!`, as in Excel, and are
listed, as are ranges that lost its column, notes in its columns and cells with its id. Measured cases belong to no
scenario and stay.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from planner import progress
from planner.book.lost_precedents import beside_readers, narrower, own_readers
from planner.book.scenario_columns import inputs_column
from planner.book.verdict_rows import open_verdicts
from planner.book.workbook import Book
from planner.compare.comparison_sheet import found_in
from planner.errors import Place, UserError
from planner.number_text import printed
from planner.recalc import Recalculated, recalculate
from planner.scenario.which import ID, column_of
from planner.workbook.workloads import ALL_WORKLOADS, WORKLOAD
from planner.xlsx.address import Area, Spot, address, column_letters, coordinates
from planner.xlsx.atomic import kept_beside
from planner.xlsx.comments import notes, take_note
from planner.xlsx.drawings import ANCHORS, last_column
from planner.xlsx.moved_cells import with_moved_cells
from planner.xlsx.moved_parts import drop_series, move, move_around_rows
from planner.xlsx.moves import Moves, SheetMoves, Track
from planner.xlsx.opc import Package, in_place
from planner.xlsx.sheetedit import with_values
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.workbook_part import PRINTED, drop_calculation_chain, parse_sheets, reshape_names, tables
from planner.xlsx.worksheet import Worksheet, move_widths, pixels
from planner.xlsx.xmltree import every

SHOWN = "shown_scenario"  # the row of Dashboard that chooses the scenario to chart


@dataclass
class Removed:
    """The result: the scenario's id, the columns that it had by sheet, and remarks for the user."""

    id: str
    columns: Mapping[str, int]
    remarks: list[str]
    recalculated: Recalculated


def remove_from_file(path: Path, scenario: str) -> tuple[Removed, Path]:
    """Remove a scenario from the workbook at `path` and keep a backup beside it.

    Returns the result and the backup's path. Raises UserError for an unknown scenario, for the last one, and as reading
    and writing do.
    """
    with in_place(path) as package:
        removed = remove(package, scenario)
        backup = kept_beside(path)
    return removed, backup


def remove(package: Package, scenario: str) -> Removed:
    """Remove a scenario from a package, in place. Raises UserError as `remove_from_file`; then nothing is changed."""
    progress.step("reading the workbook")
    book = Book(package)
    gone = column_of(book, scenario)
    name = book.said(ID, gone)
    if len(book.inputs.columns) == 1:
        what = f"{name or scenario} is the last scenario"
        raise UserError(what, place=Place(package.name), remedy="add another one first: planner scenario add")
    columns = {
        table.sheet.name: column
        for table in book.by_scenario
        for column in table.columns
        if inputs_column(book.inputs, table, column) == gone
    }
    _refuse_what_spans(book, columns)
    remarks = [*_notes(package, columns), *_beside_lines(book, columns), *_said_elsewhere(book, name, columns)]
    remarks += _last_of_its_workload(book, gone)
    tracks = {sheet: Track({column + 1: column}, frozenset({column})) for sheet, column in columns.items()}
    moves = Moves({sheet: SheetMoves(sheet, columns=track) for sheet, track in tracks.items()})
    remarks += narrower(book, [*own_readers(book), *beside_readers(book, moves)], moves)
    shown = _shown(book, name, gone)
    progress.step("taking it out")
    remarks += map(str, drop_series(package, moves))
    drawn = {sheet: _drawn_to(package, sheet) for sheet in columns}
    parts = package.sheets()
    for sheet, column in columns.items():
        package.replace(parts[sheet], _carried(package.parts[parts[sheet]], column))
    sheets = parse_sheets(package)  # parsed again, since notes were removed
    for sheet in columns:
        package.replace(parts[sheet], _narrower(sheets[sheet], sheet, moves, remarks))
    remarks += map(str, move(package, moves, columns))
    _print_drawings(package, columns, drawn)
    open_verdicts(package, book, len(book.inputs.columns) - 1)
    drop_calculation_chain(package)
    for sheet, values in shown.items():
        package.replace(parts[sheet], with_values(parse_sheets(package)[sheet], values))
    progress.step("computing every formula")
    removed = Removed(name, columns, remarks, recalculate(package))
    progress.clear()
    return removed


def _carried(xml: bytes, column: int) -> bytes:
    """The sheet's XML with the title-row cell above `column`, which concerns all scenarios, moved to the right."""
    here, there = (address(1, each).encode() for each in (column, column + 1))
    title, end, rest = xml.partition(b"</row>")
    bare = re.sub(rb'<c r="%b"(?: s="\d+")?\s*/>' % there, b"", title)
    moved = title if b'r="%b"' % there in bare else bare.replace(b'<c r="%b"' % here, b'<c r="%b"' % there)
    return moved + end + rest


def _narrower(old: SheetXml, name: str, moves: Moves, remarks: list[str]) -> bytes:
    """The XML of a sheet without its column."""
    xml, lost = with_moved_cells(old, name, moves)
    sheet = Worksheet(xml)
    move_widths(sheet.root, moves.of(name).columns)
    remarks += map(str, [*lost, *move_around_rows(sheet.root, name, moves)])
    return sheet.xml()


def _drawn_to(package: Package, sheet: str) -> int:
    """The last column that charts and shapes of a sheet cover; 0 for none."""
    part = package.sheets()[sheet]
    wide = cache(partial(pixels, Worksheet(package.parts[part]).root))
    drawings = package.linked(part, "drawing")
    anchors = (anchor for drawing in drawings for anchor in every(package.tree(drawing), *ANCHORS))
    return max((last_column(anchor, wide) for anchor in anchors), default=0)


def _print_drawings(package: Package, columns: Mapping[str, int], before: Mapping[str, int]) -> None:
    """Extend print areas that covered all drawings of a sheet to cover them again."""

    def wide(name: str, sheet: str, area: Area) -> Area:
        covers_all = name == PRINTED and columns.get(sheet, 0) and area.right + 1 >= before[sheet]
        return area._replace(right=max(area.right, _drawn_to(package, sheet))) if covers_all else area

    reshape_names(package, wide)


def _refuse_what_spans(book: Book, columns: Mapping[str, int]) -> None:
    """Raise UserError for a table or an array formula of the user's across a column, which can't do without it."""
    there = [(table.sheet, table.area, f"the table {table.name}") for table in tables(book.package)]
    there += [(name, area, "an array formula") for name in columns for area in book.parsed[name].arrays.values()]
    for sheet, area, what in there:
        column = columns.get(sheet, 0)
        if area.left <= column <= area.right and area.left < area.right:
            remedy = f"turn it into plain cells, or let it end before column {column_letters(column)}"
            raise UserError(f"{what} fills {sheet}!{area}", place=Place(book.package.name), remedy=remedy)


def _notes(package: Package, columns: Mapping[str, int]) -> Iterator[str]:
    """Remove the notes in the columns, and yield a remark on each."""
    for note in notes(package):
        if coordinates(note.ref)[1] == columns.get(note.sheet):
            take_note(package, note.sheet, note.ref)
            yield f"the note on {note.sheet}!{note.ref} went with it: {' '.join(note.text.split())}"


def _beside_lines(book: Book, columns: Mapping[str, int]) -> Iterator[str]:
    """Yields the user's cells in the columns, outside planner's rows, which are removed too.

    These are typed cells, and formulas that no other scenario has in its column, as planner's helper rows do.
    """
    for table in book.by_scenario:
        sheet, column = table.sheet, columns.get(table.sheet.name, 0)
        named = {line.row for line in table.lines if line.name}
        outside_lines = (row for row, filled in sheet.filled.items() if row > table.head.row and column in filled)
        for row in (row for row in outside_lines if row not in named):
            formula = sheet.patterns.get((row, column))
            others = {sheet.patterns.get((row, other)) for other in table.columns if other != column}
            if formula is None or formula not in others:
                text = f"={formula.at(row, column)}" if formula else printed(sheet.value(row, column), "1")
                yield f"{Spot(sheet.name, row, column)} went with it: {text}"


def _runs(book: Book) -> tuple[str, Collection[int]]:
    """The sheet with the table of runs, and the rows of its runs."""
    found = found_in(book.package, book.parsed)
    return (found.name, found.run_rows) if found else ("", ())


def _said_elsewhere(book: Book, name: str, columns: Mapping[str, int]) -> Iterator[str]:
    """Yields cells outside the columns that contain the scenario's id, typed or in a formula such as a lookup.

    Recorded runs of the scenario keep it, and aren't listed.
    """
    chosen, (on, runs) = _chooser(book), _runs(book)
    for sheet in book.sheets.values() if name else ():
        for row, column in sorted(sheet.cells):
            is_its_own = column == columns.get(sheet.name) or Spot(sheet.name, row, column) == chosen
            is_its_own = is_its_own or (sheet.name == on and row in runs)
            formula = sheet.patterns.get((row, column))
            says = name in formula.texts if formula else sheet.value(row, column) == name
            if says and not is_its_own:
                yield f"{sheet.name}!{address(row, column)} says {name}, which is no more"


def _last_of_its_workload(book: Book, gone: int) -> Iterator[str]:
    """Yields a remark on the sheets of a workload that no remaining scenario is meant for."""
    meant = book.said(WORKLOAD, gone)
    others = {book.said(WORKLOAD, column) for column in book.inputs.columns if column != gone}
    if meant not in ("", ALL_WORKLOADS) and not others & {meant, ALL_WORKLOADS}:
        yield f"no scenario is meant for {meant} now: its sheets stay; export-inputs and build make a workbook without"


def _chooser(book: Book) -> Spot | None:
    """The cell of Dashboard that chooses the scenario to chart."""
    line = book.dashboard.by_name.get(SHOWN)
    return Spot(book.dashboard.sheet.name, line.row, book.dashboard.head.fourth) if line else None


def _shown(book: Book, name: str, gone: int) -> dict[str, dict[str, str]]:
    """The new content of that cell if it had the removed id: the next scenario of the same workload, else the first."""
    cell = _chooser(book)
    if cell is None or book.sheets[cell.sheet].value(cell.row, cell.column) != name:
        return {}
    others = [column for column in book.inputs.columns if column != gone]
    alike = (column for column in others if book.said(WORKLOAD, column) == book.said(WORKLOAD, gone))
    return {cell.sheet: {address(cell.row, cell.column): book.said(ID, next(alike, others[0]))}}

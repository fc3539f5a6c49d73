"""Every part of a workbook that refers to cells which move: sheets, names, tables, notes, drawings, charts, pivots."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from planner.xlsx import drawings
from planner.xlsx.address import address, coordinates
from planner.xlsx.cell_formulas import with_moved_formulas
from planner.xlsx.defined_names import move_names
from planner.xlsx.moves import Lost, Moves
from planner.xlsx.opc import Package
from planner.xlsx.sheet_moves import move_around_rows
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.worksheet import Worksheet
from planner.xlsx.xmltree import Element, every

_CHARTS = ("chart", "chartEx")


def move(package: Package, moves: Moves, sheets_done: Collection[str]) -> list[Lost]:
    """Lead all that refers to cells to where these are then; returns the references whose cells are gone.

    The cells of the sheets `sheets_done`, by the names of before, are the caller's to write, with what stands around
    them; what hangs on those sheets, such as notes, drawings and tables, is moved. No cell of another sheet may move.
    """
    if moves.is_idle:
        return []
    sheets = package.sheets()
    lost = move_names(package, moves)
    for name, part in sheets.items():
        if name not in sheets_done:
            xml, found = moved_sheet(package.parts[part], name, moves)
            package.replace(part, xml)
            lost += found
        lost += _move_what_hangs_on(package, part, name, moves)
    for part in _charts_of(package):
        lost += _edit(package, part, lambda root, part=part: drawings.move_chart(root, f"the chart in {part}", moves))  # type: ignore[misc]
    for link in package.relationships(package.workbook_part()):
        if link.kind == "pivotCacheDefinition" and link.target in package.parts:
            lost += _edit(package, link.target, lambda root: list(_move_source(root, moves)))
    return lost


def moved_sheet(xml: bytes, name: str, moves: Moves) -> tuple[bytes, list[Lost]]:
    """A sheet whose cells stay, with its formulas and what stands around its rows led to where their cells are then."""
    moved, lost = with_moved_formulas(SheetXml(xml), name, moves)
    sheet = Worksheet(moved)
    lost += move_around_rows(sheet.root, name, moves)
    return sheet.xml(), lost


def _edit(package: Package, part: str, change: Callable[[Element], list[Lost]]) -> list[Lost]:
    root = package.tree(part)
    lost = change(root)
    package.put_tree(part, root)
    return lost


def _move_what_hangs_on(package: Package, part: str, sheet: str, moves: Moves) -> list[Lost]:
    """The parts that a sheet links to."""
    changes: dict[str, Callable[[Element], list[Lost]]] = {
        "comments": lambda root: _move_notes(root, sheet, moves),
        "threadedComment": lambda root: _move_notes(root, sheet, moves),
        "tableSingleCells": lambda root: _move_notes(root, sheet, moves),
        "table": lambda root: _move_table(root, sheet, moves),
        "pivotTable": lambda root: _move_pivot(root, sheet, moves),
        "drawing": lambda root: drawings.move_drawing(root, sheet, moves),
        "vmlDrawing": lambda root: drawings.move_boxes(root, sheet, moves),
        "ctrlProp": lambda root: drawings.move_control(root, sheet, moves),
    }
    links = [link for link in package.relationships(part) if link.target in package.parts and link.kind in changes]
    return [lost for link in links for lost in _edit(package, link.target, changes[link.kind])]


def _charts_of(package: Package) -> list[str]:
    """The charts of all drawings, those of chart sheets too."""
    links = (link for part in list(package.parts) if "/drawings/" in part for link in package.relationships(part))
    return list(dict.fromkeys(link.target for link in links if link.kind in _CHARTS and link.target in package.parts))


def _move_notes(root: Element, sheet: str, moves: Moves) -> list[Lost]:
    """Notes, threads and mapped cells; one whose cell is gone stands where it would be, for nothing typed is lost."""
    for element in root.iter():
        for name in ("ref", "r") if isinstance(element.tag, str) else ():
            if name in element.attrib:
                try:
                    at = coordinates(element.get(name))
                except ValueError:
                    continue
                element.set(name, address(*moves.of(sheet).cell(*at)))
    return []


def _move_table(root: Element, sheet: str, moves: Moves) -> list[Lost]:
    """A table's range, and the formulas of its columns; one whose cells are all gone stays where it was."""
    for element in every(root, "table", "autoFilter", "sortState", "sortCondition"):
        if ref := element.get("ref"):
            element.set("ref", moves.of(sheet).ref(ref) or ref)
    return list(_in_texts(root, ("calculatedColumnFormula", "totalsRowFormula"), sheet, moves))


def _in_texts(root: Element, names: tuple[str, ...], sheet: str, moves: Moves) -> Iterator[Lost]:
    for element in every(root, *names):
        text = element.text or ""
        yield from (Lost(sheet, f"the table {root.get('displayName')}", read) for read in moves.lost(text, sheet))
        element.text = moves.formula(text, sheet)


def _move_pivot(root: Element, sheet: str, moves: Moves) -> list[Lost]:
    """Where a pivot table lies."""
    for element in every(root, "location"):
        if ref := element.get("ref"):
            element.set("ref", moves.of(sheet).ref(ref) or ref)
    return []


def _move_source(root: Element, moves: Moves) -> Iterator[Lost]:
    """The range that a pivot table is made from, or each of several."""
    for element in every(root, "worksheetSource", "rangeSet"):
        if sheet := element.get("sheet"):
            track = moves.of(sheet)
            element.set("sheet", track.name)
            if ref := element.get("ref"):
                moved = track.ref(ref)
                if not moved:
                    yield Lost("", "a pivot table", f"{sheet}!{ref}")
                element.set("ref", moved or ref)

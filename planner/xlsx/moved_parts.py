"""Adjusts every part of a workbook that refers to moved cells: sheets, names, tables, notes, drawings, charts, pivots.

For each type of part, a table says which attributes and texts of which elements refer to cells, and how they change; a
walk over the part applies it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from planner.xlsx.address import coordinates
from planner.xlsx.comments import notes, take_note
from planner.xlsx.drawings import ANCHORS, charts_of, move_anchor, move_boxes
from planner.xlsx.moved_cells import with_moved_cells, with_moved_formulas
from planner.xlsx.moved_references import References, Walk
from planner.xlsx.moves import Lost, Moves, SheetMoves, Track
from planner.xlsx.opc import Package
from planner.xlsx.references import BROKEN, copied
from planner.xlsx.relationships import links_of
from planner.xlsx.sheet_rules import areas, first_cell
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.workbook_part import drop_calculation_chain, parse_sheets
from planner.xlsx.worksheet import Worksheet
from planner.xlsx.xmltree import Element, children, every, take_out

_TEXT = (("", Walk.formula),)
_SQREF, _REF = (("sqref", Walk.areas),), (("ref", Walk.areas),)
_AS_BEFORE = (("ref", Walk.areas_or_as_before),)
_ELSEWHERE = (("ref", Walk.area_elsewhere), ("sheet", Walk.renamed))
_CORNER = (("topLeftCell", Walk.cell),)

_RULE_FORMULAS = ("formula", "formula1", "formula2", "f")
_SHEET_FORMULAS: References = {
    **dict.fromkeys(_RULE_FORMULAS, _TEXT),
    "hyperlink": (("location", Walk.linked),),
    "controlPr": (("linkedCell", Walk.formula), ("listFillRange", Walk.formula)),
    "cfvo": (("val", Walk.formula),),
}
_SHEET_AREAS: References = {
    "selection": (*_SQREF, ("activeCell", Walk.cell_there)),
    **dict.fromkeys(("protectedRange", "conditionalFormatting", "dataValidation", "ignoredError"), _SQREF),
    "autoFilter": (("ref", Walk.filtered),),
    **dict.fromkeys(("sortState", "sortCondition", "hyperlink"), _REF),
    "mergeCell": (("ref", Walk.merged),),
    **dict.fromkeys(("cellWatch", "inputCells"), (("r", Walk.areas),)),
    **dict.fromkeys(("sheetView", "pane", "customSheetView"), _CORNER),
    "dimension": _AS_BEFORE,
    "scenarios": (("sqref", lambda walk, _element, text: walk.track.ref(text)),),
    "sqref": (("", Walk.areas),),
    "dataRef": _ELSEWHERE,
    "brk": (("id", Walk.page_break),),
}
_DRAWING: References = {"sp": (("textlink", Walk.formula),), "cameraTool": (("cellRange", Walk.formula),)}
_CHART: References = {"f": _TEXT, "sqref": _TEXT}
_PIVOT_SOURCE: References = {"worksheetSource": _ELSEWHERE, "rangeSet": _ELSEWHERE}
_NAMES: References = {"sheet": (("name", Walk.renamed),), "definedName": _TEXT}
_BUILT_IN = "_xlnm."  # prefix of the names of print areas and filters
_RULES = ("conditionalFormatting", "dataValidation")


class _Kind(NamedTuple):
    """A type of part that belongs to a sheet: its references to cells, and its name in messages."""

    references: References
    said: Callable[[Element], str] = lambda _element: "a control"


_CONTROL_FORMULAS = ("fmlaLink", "fmlaRange", "fmlaTxbx", "fmlaGroup")
_HANGING = {
    "comments": _Kind({"comment": (("ref", Walk.cell),)}),
    "threadedComment": _Kind({"threadedComment": (("ref", Walk.cell),)}),
    "tableSingleCells": _Kind({"singleXmlCell": (("r", Walk.cell),)}),
    "table": _Kind(
        {"table": (("ref", Walk.tabled),), "autoFilter": (("ref", Walk.filtered),)}
        | dict.fromkeys(("sortState", "sortCondition"), _AS_BEFORE)
        | dict.fromkeys(("calculatedColumnFormula", "totalsRowFormula"), _TEXT),
        lambda element: f"the table {element.getroottree().getroot().get('displayName')}",
    ),
    "pivotTable": _Kind({"location": _AS_BEFORE}),
    "drawing": _Kind(
        _DRAWING, lambda one: f"the shape {next((found.get('name', '') for found in every(one, 'cNvPr')), '')}"
    ),
    "vmlDrawing": _Kind(dict.fromkeys(("FmlaLink", "FmlaRange", "FmlaTxbx", "FmlaPict"), _TEXT)),
    "ctrlProp": _Kind({"formControlPr": tuple((name, Walk.formula) for name in _CONTROL_FORMULAS)}),
}


_LINKS = _Kind({"Relationship": (("Target", Walk.of_shape),)}, lambda _element: "the link of a shape")


def move(package: Package, moves: Moves, sheets_done: Collection[str], drawn: Moves | None = None) -> list[Lost]:
    """Adjust all references to moved cells; returns the references whose cells are deleted.

    Those of charts follow `drawn` if given. The cells of `sheets_done` (old names), and everything else in these
    sheets' XML, are left to the caller; parts that belong to these sheets, such as notes, drawings and tables, are
    adjusted. No cell of another sheet may move.
    """
    if (drawn or moves).is_idle:
        return []
    sheets, workbook = package.sheets(), package.workbook_part()
    lost = _followed(package, workbook, "", moves, _Kind(_NAMES, lambda name: f"the name {name.get('name')}"))
    for name, part in sheets.items():
        if name not in sheets_done:
            xml, found = with_moved_formulas(SheetXml(package.parts[part]), name, moves)
            sheet = Worksheet(xml)
            lost += found + move_around_rows(sheet.root, name, moves)
            package.replace(part, sheet.xml())
        for link in package.relationships(part):
            if link.target in package.parts and link.kind in _HANGING:
                lost += _followed(package, link.target, name, moves, _HANGING[link.kind])
                if (links := links_of(link.target)) in package.parts:
                    lost += _followed(package, links, name, moves, _LINKS)
    for part in charts_of(package):
        kind = _Kind(_CHART, lambda _element, part=part: f"the chart in {part}")  # type: ignore[misc]
        lost += _followed(package, part, "", drawn or moves, kind)
        for shapes in package.linked(part, "chartUserShapes"):
            lost += _followed(package, shapes, "", drawn or moves, kind._replace(references=_DRAWING))
    for part in package.linked(workbook, "pivotCacheDefinition"):
        lost += _followed(package, part, "", moves, _Kind(_PIVOT_SOURCE, lambda _element: "a pivot table"))
    return lost


def _followed(package: Package, part: str, sheet: str, moves: Moves, kind: _Kind) -> list[Lost]:
    walk = Walk(sheet, moves, kind.said)
    with package.edited(part) as root:
        before = {name: name.text for name in every(root, "definedName")}
        for anchor in every(root, *ANCHORS):
            move_anchor(anchor, walk.track)
        move_boxes(root, walk.track)
        walk.follow(root, kind.references)
        for name, text in before.items():
            if name.text != text and BROKEN in name.text and name.get("name", "").startswith(_BUILT_IN):
                take_out(name)
    return walk.lost


def move_chart(root: Element, moves: Moves) -> None:
    """Adjust the ranges that a chart draws."""
    Walk("", moves, lambda _element: "").follow(root, _CHART)


def drop_series(package: Package, moves: Moves) -> list[Lost]:
    """Remove chart series whose values are deleted; returns their references. `move` does the rest."""
    lost: list[Lost] = []
    for part in charts_of(package):
        with package.edited(part) as root:
            for series in every(root, "ser"):
                drawn = (found.text or "" for values in every(series, "val", "yVal") for found in every(values, "f"))
                if gone := [read for text in drawn for read in moves.lost(text, "")]:
                    lost += (Lost("", f"a series of the chart in {part}", read) for read in gone)
                    take_out(series)
    return lost


def move_around_rows(root: Element, sheet: str, moves: Moves) -> list[Lost]:
    """Adjust every reference in a worksheet's XML outside its rows; returns the lost ones.

    Elements whose cells are all deleted are removed.
    """
    walk = Walk(sheet, moves, _place)
    based = [(rule, _rebase(rule, walk.track)) for rule in every(root, *_RULES)]
    walk.follow(root, _SHEET_FORMULAS)
    for rule, steps in based:
        _copy(rule, *steps)
    walk.follow(root, _SHEET_AREAS)
    for element in every(root, "scenarios"):
        if element.get("sqref") == "":
            del element.attrib["sqref"]
        n = len(children(element, "scenario"))
        for name in ("current", "show"):  # the scenario that was shown last
            if int(element.get(name, "0")) >= n:
                element.set(name, "0")
    for element in every(root, "rowBreaks", "colBreaks"):
        _only_once(element)
    for element in every(root, "anchor"):
        move_anchor(element, walk.track)
    return walk.lost


def _only_once(breaks: Element) -> None:
    """Remove page breaks that coincide with another."""
    seen: set[str] = set()
    for one in children(breaks, "brk"):
        if one.get("id") in seen:
            if "manualBreakCount" in breaks.attrib and one.get("man") in ("1", "true"):
                breaks.set("manualBreakCount", str(int(breaks.get("manualBreakCount")) - 1))
            take_out(one)
        seen.add(one.get("id"))


def _place(element: Element) -> str:
    """The cells that an element's formula applies to, or `a control` if it doesn't name any."""
    while element is not None:
        areas = element.get("sqref") or element.get("ref")
        texts = [child.text for child in children(element, "sqref")]
        if areas or texts:
            return str(areas or texts[0])
        element = element.getparent()
    return "a control"


def _rebase(rule: Element, track: SheetMoves) -> tuple[int, int]:
    """Rewrite a rule's formulas for the cell that becomes the first of its range, or for a remaining one.

    Returns the rows and columns between that cell and the first.
    """
    covered = areas(rule)
    moved = [(area, found) for area in covered if (found := track.area(area))]
    if not moved:
        return 0, 0
    area, found = moved[0]
    row, column = track.rows.origin(found.top, area.rows), track.columns.origin(found.left, area.columns)
    (top, left), (then_top, then_left) = first_cell(covered), first_cell(after for _, after in moved)
    _copy(rule, row - top, column - left)
    return then_top - track.rows(row), then_left - track.columns(column)


def _copy(rule: Element, down: int, right: int) -> None:
    """Rewrite a rule's formulas for a cell so many rows further down and columns to the right."""
    for element in every(rule, *_RULE_FORMULAS) if down or right else ():
        if element.text:
            element.text = copied(element.text, down, right)


def insert_rows(package: Package, sheet: str, at: int, count: int) -> None:
    """Insert `count` blank rows above row `at` of a sheet, in place; cached values stay.

    Raises UserError for malformed XML.
    """
    _move_rows(package, sheet, Track({at: at + count}))


def delete_rows(package: Package, sheet: str, gone: range) -> list[Lost]:
    """Delete rows of a sheet, with their notes, in place; rows below move up.

    Returns the lost references to its cells. Raises UserError for malformed XML.
    """
    for note in notes(package):
        if note.sheet == sheet and coordinates(note.ref)[0] in gone:
            take_note(package, sheet, note.ref)
    return _move_rows(package, sheet, Track({gone.stop: gone.start}, frozenset(gone)))


def _move_rows(package: Package, sheet: str, rows: Track) -> list[Lost]:
    """Move or delete rows of a sheet in place; returns the lost references."""
    moves = Moves({sheet: SheetMoves(sheet, rows=rows)})
    xml, lost = with_moved_cells(parse_sheets(package)[sheet], sheet, moves)
    moved = Worksheet(xml)
    lost += move_around_rows(moved.root, sheet, moves)
    package.replace(package.sheets()[sheet], moved.xml())
    lost += move(package, moves, [sheet])
    drop_calculation_chain(package)
    return lost

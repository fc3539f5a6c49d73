"""What stands before and behind a sheet's rows, led to where its cells are then: formats, validations, links, views."""

from __future__ import annotations

from collections.abc import Iterator

from planner.xlsx.address import Area, address
from planner.xlsx.drawings import move_anchor
from planner.xlsx.moves import Lost, Moves, SheetMoves
from planner.xlsx.references import copied
from planner.xlsx.xmltree import Element, children, every, local_name, take_out

_FORMULAS = ("formula", "formula1", "formula2", "f")
_FORMULA_ATTRIBUTES = {"hyperlink": ("location",), "controlPr": ("linkedCell", "listFillRange"), "cfvo": ("val",)}
_AREAS = {
    "selection": "sqref", "protectedRange": "sqref", "scenarios": "sqref", "conditionalFormatting": "sqref",
    "dataValidation": "sqref", "ignoredError": "sqref", "autoFilter": "ref", "sortState": "ref", "sortCondition": "ref",
    "mergeCell": "ref", "hyperlink": "ref", "cellWatch": "r", "inputCells": "r",
}  # fmt: skip
_RULES = ("conditionalFormatting", "dataValidation")


def move_around_rows(root: Element, sheet: str, moves: Moves) -> list[Lost]:
    """Lead every reference on a worksheet but for its rows to where its cells are then; returns those that are lost.

    What lies over cells that are all gone is taken out.
    """
    track = moves.of(sheet)
    for rule in every(root, *_RULES):
        _rebase(rule, track)
    lost = [*_move_formulas(root, sheet, moves)]
    _move_areas(root, track)
    for element in every(root, "sheetView", "pane", "customSheetView"):
        if corner := element.get("topLeftCell"):
            area = Area.parse(corner)
            element.set("topLeftCell", address(*track.cell(area.top, area.left)))
    for element in every(root, "dataRef"):
        if "ref" in element.attrib and (source := element.get("sheet")):
            element.set("ref", moves.of(source).ref(element.get("ref")) or element.get("ref"))
            element.set("sheet", moves.of(source).name)
    for breaks, places in (("rowBreaks", track.rows), ("colBreaks", track.columns)):
        for element in (one for found in every(root, breaks) for one in children(found, "brk")):
            element.set("id", str(places(int(element.get("id", "0")) + 1) - 1))
    for element in every(root, "anchor"):
        move_anchor(element, track)
    return lost


def _move_formulas(root: Element, sheet: str, moves: Moves) -> Iterator[Lost]:
    for element in every(root, *_FORMULAS):
        if element.text:
            yield from (Lost(sheet, _place(element), read) for read in moves.lost(element.text, sheet))
            element.text = moves.formula(element.text, sheet)
    for element in every(root, *_FORMULA_ATTRIBUTES):
        for name in _FORMULA_ATTRIBUTES[local_name(element)]:
            if text := element.get(name):
                yield from (Lost(sheet, _place(element), read) for read in moves.lost(text, sheet))
                element.set(name, moves.formula(text, sheet))


def _place(element: Element) -> str:
    """The cells that a formula outside of them is for, as far as it says."""
    while element is not None:
        areas = element.get("sqref") or element.get("ref")
        texts = [child.text for child in children(element, "sqref")]
        if areas or texts:
            return str(areas or texts[0])
        element = element.getparent()
    return "a control"


def _move_areas(root: Element, track: SheetMoves) -> None:
    for element in every(root, *_AREAS):
        name = _AREAS[local_name(element)]
        if name in element.attrib and (moved := track.ref(element.get(name))) != element.get(name):
            if moved:
                element.set(name, moved)
            elif local_name(element) == "scenarios":
                del element.attrib[name]
            else:
                take_out(element)
        if "activeCell" in element.attrib:
            cell = Area.parse(element.get("activeCell"))
            if track.has(cell.top, cell.left):
                element.set("activeCell", address(*track.cell(cell.top, cell.left)))
            else:
                take_out(element)
    for element in every(root, "sqref"):
        element.text = track.ref(element.text or "")
        if not element.text and element.getparent() is not None:
            take_out(element.getparent())
    for element in every(root, "scenarios"):
        n = len(children(element, "scenario"))
        for name in ("current", "show"):  # which of them was shown last
            if int(element.get(name, "0")) >= n:
                element.set(name, "0")


def _rebase(rule: Element, track: SheetMoves) -> None:
    """Let a rule's formulas speak of the first cell that is left of those that it is for."""
    texts = [child.text or "" for child in children(rule, "sqref")]
    areas: list[Area] = []
    for text in (rule.get("sqref") or " ".join(texts)).split():
        try:
            areas.append(Area.parse(text))
        except ValueError:
            return
    left = [(row, column) for area in areas for row, column in [_first_left(area, track)] if row and column]
    if not left or left[0] == (areas[0].top, areas[0].left):
        return
    down, right = left[0][0] - areas[0].top, left[0][1] - areas[0].left
    for element in every(rule, *_FORMULAS):
        if element.text:
            element.text = copied(element.text, down, right)


def _first_left(area: Area, track: SheetMoves) -> tuple[int, int]:
    """The row and column of the first cell that is not gone, 0 where there is none."""
    row = next((row for row in range(area.top, area.bottom + 1) if row not in track.rows.gone), 0)
    columns = range(area.left, area.right + 1)
    return row, next((column for column in columns if column not in track.columns.gone), 0)

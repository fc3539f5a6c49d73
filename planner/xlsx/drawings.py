"""Drawings, charts and form controls, led to where their cells are then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.xlsx.moves import Lost, Moves, SheetMoves
from planner.xlsx.xmltree import Element, child, every, local_name

_ANCHORS = ("twoCellAnchor", "oneCellAnchor", "anchor")
_CHART_RANGES = ("f", "sqref")
_BOX = "ClientData"  # of a note or a control, in VML
_CONTROL_FORMULAS = ("fmlaLink", "fmlaRange", "fmlaTxbx", "fmlaGroup")


def move_drawing(root: Element, sheet: str, moves: Moves) -> list[Lost]:
    """A drawing's anchors and the cells that its shapes show; a shape moves by as much as its first corner."""
    for anchor in every(root, *_ANCHORS):
        move_anchor(anchor, moves.of(sheet))
    texts = [_move_attribute(element, name, sheet, moves, f"the shape {_shape(element)}")
             for element in root.iter() for name in ("textlink", "cellRange")]  # fmt: skip
    return [lost for found in texts for lost in found]


def _shape(element: Element) -> str:
    return next((found.get("name", "") for found in every(element, "cNvPr")), "")


def move_anchor(anchor: Element, track: SheetMoves) -> None:
    """The corners of one object between cells; in them rows and columns count from 0."""
    first = child(anchor, "from")
    if first is None:
        return
    row, column = (int(child(first, name).text) for name in ("row", "col"))
    now = track.cell(row + 1, column + 1)
    for corner in (first, child(anchor, "to")):
        for name, by in (("row", now[0] - row - 1), ("col", now[1] - column - 1)):
            if corner is not None and by:
                number = child(corner, name)
                number.text = str(int(number.text) + by)


def move_chart(root: Element, where: str, moves: Moves) -> list[Lost]:
    """The ranges that a chart draws."""
    return list(_move_texts(every(root, *_CHART_RANGES), "", moves, where))


def move_control(root: Element, sheet: str, moves: Moves) -> list[Lost]:
    """The cells that a form control of a sheet is linked with (`ctrlProp`)."""
    found = (_move_attribute(root, name, sheet, moves, "a control") for name in _CONTROL_FORMULAS)
    return [lost for each in found for lost in each]


def move_boxes(root: Element, sheet: str, moves: Moves) -> list[Lost]:
    """The boxes of a sheet's notes and its older form controls (VML), each beside its cell."""
    track, lost = moves.of(sheet), list[Lost]()
    for box in every(root, _BOX):
        links = every(box, "FmlaLink", "FmlaRange", "FmlaTxbx", "FmlaPict")
        lost += _move_texts(links, sheet, moves, "a control")
        at = box_cell(box)
        if at is not None:
            row, column = track.cell(*at)
            shift_box(box, row - at[0], column - at[1])
        elif numbers := _anchor(box):
            row, column = track.cell(numbers[2] + 1, numbers[0] + 1)
            shift_box(box, row - 1 - numbers[2], column - 1 - numbers[0])
    return lost


def box_cell(box: Element) -> tuple[int, int] | None:
    """The row and column of the cell that a note's box belongs to; None of a control's."""
    row, column = child(box, "Row"), child(box, "Column")
    return None if row is None or column is None else (int(row.text) + 1, int(column.text) + 1)


def shift_box(box: Element, down: int, right: int) -> None:
    """A box (`ClientData`) so many rows further down and columns to the right."""
    for name, by in (("Row", down), ("Column", right)):
        if by and (number := child(box, name)) is not None:
            number.text = str(int(number.text) + by)
    if (numbers := _anchor(box)) and (down or right):
        for at, by in ((0, right), (2, down), (4, right), (6, down)):
            numbers[at] = max(0, numbers[at] + by)
        child(box, "Anchor").text = ", ".join(map(str, numbers))


def _anchor(box: Element) -> list[int]:
    """Column, offset, row, offset of a box's first corner and of its last; nothing where it isn't anchored."""
    anchor = child(box, "Anchor")
    numbers = (anchor.text or "").split(",") if anchor is not None else []
    return [int(number) for number in numbers] if len(numbers) == 8 else []


def _move_texts(elements: Iterable[Element], sheet: str, moves: Moves, where: str) -> Iterator[Lost]:
    for element in elements:
        if element.text:
            yield from (Lost(sheet, where, read) for read in moves.lost(element.text, sheet))
            element.text = moves.formula(element.text, sheet)


def _move_attribute(element: Element, name: str, sheet: str, moves: Moves, where: str) -> Iterator[Lost]:
    if local_name(element) and (text := element.get(name)):
        yield from (Lost(sheet, where, read) for read in moves.lost(text, sheet))
        element.set(name, moves.formula(text, sheet))

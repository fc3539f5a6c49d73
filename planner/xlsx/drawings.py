"""The positions of objects on a sheet: shapes and charts anchored to cells, boxes of notes and form controls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from planner.xlsx.address import MAX_COLUMN, Position
from planner.xlsx.moves import SheetMoves
from planner.xlsx.opc import Package
from planner.xlsx.references import Reference, references
from planner.xlsx.xmltree import Element, child, every

ANCHORS = ("twoCellAnchor", "oneCellAnchor", "anchor")
EMU = 9525  # per pixel
PLAIN_ROW = 20  # pixels of a row with the default height
_BOX = "ClientData"  # the VML element of a note or control


def charts_of(package: Package) -> list[str]:
    """The chart parts of all drawings, including those of chart sheets."""
    drawings = (part for part in package.parts if "/drawings/" in part)
    return list(dict.fromkeys(chart for part in drawings for chart in package.linked(part, "chart", "chartEx")))


def charts_over(package: Package, wanted: Callable[[Reference], bool]) -> Iterator[tuple[str, Reference]]:
    """The chart parts that draw a range for which `wanted` holds, each with the first such range."""
    for part in charts_of(package):
        ranges = every(package.tree(part), "f")
        found = next((read for one in ranges for read in references(one.text or "") if wanted(read)), None)
        if found is not None:
            yield part, found


def move_anchor(anchor: Element, track: SheetMoves) -> None:
    """Move an anchored object: both corners by as much as its first one."""
    first = child(anchor, "from")
    if first is None:
        return
    row, column = (int(child(first, name).text) for name in ("row", "col"))
    now = track.cell(row + 1, column + 1)
    shift_anchor(anchor, now[0] - row - 1, now[1] - column - 1)


def first_row(anchor: Element) -> int:
    """The first row, from 1, of an anchored object; 0 for another object."""
    first = child(anchor, "from")
    return 0 if first is None else int(child(first, "row").text) + 1


def last_row(anchor: Element) -> int:
    """The last row, from 1, that an anchored object covers, assuming the default row height."""
    last, size = child(anchor, "to"), child(anchor, "ext")
    if last is not None:
        return int(child(last, "row").text) + 1
    return first_row(anchor) + (math.ceil(int(size.get("cy")) / (PLAIN_ROW * EMU)) if size is not None else 0)


def shift_anchor(anchor: Element, down: int, right: int) -> None:
    """Move an anchored object down and to the right by so many rows and columns."""
    for corner in (child(anchor, "from"), child(anchor, "to")):
        if corner is not None:
            _add(corner, "row", down)
            _add(corner, "col", right)


def last_column(anchor: Element, pixels: Callable[[int], float]) -> int:
    """The last column, from 1, that an anchored object covers; `pixels` gives a column's width."""
    first, last, size = (child(anchor, name) for name in ("from", "to", "ext"))
    if last is not None:
        return int(child(last, "col").text) + (int(child(last, "colOff").text) > 0)
    if first is None or size is None:
        return 0
    column, left = int(child(first, "col").text) + 1, int(child(first, "colOff").text) + int(size.get("cx"))
    while left > pixels(column) * EMU and column < MAX_COLUMN:
        left -= round(pixels(column) * EMU)
        column += 1
    return column


def move_boxes(root: Element, track: SheetMoves) -> None:
    """Move the boxes (VML) of a sheet's notes and legacy form controls with their cells."""
    for box in every(root, _BOX):
        numbers = _anchor(box)
        at = box_cell(box) or ((numbers[2] + 1, numbers[0] + 1) if numbers else None)
        if at is not None:
            row, column = track.cell(*at)
            shift_box(box, row - at[0], column - at[1])


def box_cell(box: Element) -> Position | None:
    """The (row, column) of a note's box; None for a control's."""
    row, column = child(box, "Row"), child(box, "Column")
    return None if row is None or column is None else (int(row.text) + 1, int(column.text) + 1)


def shift_box(box: Element, down: int, right: int) -> None:
    """Move a box (`ClientData`) down and to the right by so many rows and columns."""
    _add(box, "Row", down)
    _add(box, "Column", right)
    if (numbers := _anchor(box)) and (down or right):
        for at, by in ((0, right), (2, down), (4, right), (6, down)):
            numbers[at] = max(0, numbers[at] + by)
        child(box, "Anchor").text = ", ".join(map(str, numbers))


def _add(parent: Element, name: str, by: int) -> None:
    """Add `by` to the number in a child of this name, if there is one."""
    if by and (number := child(parent, name)) is not None:
        number.text = str(int(number.text) + by)


def _anchor(box: Element) -> list[int]:
    """Column, offset, row and offset of a box's first corner and of its last; empty if it isn't anchored."""
    anchor = child(box, "Anchor")
    numbers = (anchor.text or "").split(",") if anchor is not None else []
    return [int(number) for number in numbers] if len(numbers) == 8 else []

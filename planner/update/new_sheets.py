"""Adds the sheets and charts of the fresh workbook that the file lacks, where a new workbook has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy

from planner.update.sweep_rows import SWEEP
from planner.update.threeway import ThreeWay
from planner.xlsx.drawings import ANCHORS, first_row, last_row, shift_anchor
from planner.xlsx.moved_cells import with_moved_formulas
from planner.xlsx.moved_parts import move_around_rows, move_chart
from planner.xlsx.opc import Package
from planner.xlsx.references import references
from planner.xlsx.relationships import OFFICE, copy_part, link
from planner.xlsx.sheet_rules import without_drawing
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.workbook_part import PRINTED, add_sheet, reshape_names
from planner.xlsx.worksheet import Worksheet
from planner.xlsx.xmltree import Element, every, parse, written

_ID = f"{{{OFFICE}}}id"


def draw(merge: ThreeWay) -> None:
    """Add the fresh workbook's charts: all to a sheet without a drawing, else only new rows' and sheets', below."""
    for kind in merge.kinds:
        part = merge.package.sheets()[merge.ours.sheets[kind].sheet.name]
        theirs = _drawings(merge.fresh.package, merge.fresh.sheets[kind].name)
        mine = merge.package.linked(part, "drawing")
        if theirs and mine:
            name, there = merge.names[kind], len(merge.package.linked(mine[0], "chart"))
            added = _draw_below(merge, name, mine[0], theirs[0])
            if there + added != len(merge.fresh.package.linked(theirs[0], "chart")):
                below = f", with {added} new below" if added else ""
                merge.done.remarks.append(f"the charts of {name} are those that were there{below}")
        elif theirs:
            _put(merge, part, theirs[0])


def _draw_below(merge: ThreeWay, sheet: str, mine: str, theirs: str) -> int:
    """Append the charts of new data below all others of the drawing `mine`, and extend the print area."""
    package, fresh = merge.package, merge.fresh.package
    parts = {link.id: link.target for link in fresh.relationships(theirs)}
    found = [(anchor, frame) for anchor in every(fresh.tree(theirs), *ANCHORS) for frame in every(anchor, "chart")]
    found = [(anchor, frame) for anchor, frame in found if _draws_new(merge, parts[frame.get(_ID)])]
    if not found:
        return 0
    with package.edited(mine) as root:
        below = max(map(last_row, every(root, *ANCHORS)), default=0)
        down = _below([anchor for anchor, _ in found], below)
        for number, (anchor, frame) in enumerate(found, start=len(root) + 1):
            new = deepcopy(anchor)
            shift_anchor(new, down[first_row(anchor)], 0)
            target = copy_part(package, fresh, parts[frame.get(_ID)], _moved(merge))
            last = max((int(one.get("id", "0")) for one in every(root, "cNvPr")), default=0)
            next(every(new, "chart")).set(_ID, link(package, mine, "chart", target))
            next(every(new, "cNvPr")).set("id", str(max(number, last + 1)))
            root.append(new)
        end = max(map(last_row, every(root, *ANCHORS)))
    reshape_names(
        package,
        lambda name, on, area: (
            area._replace(bottom=max(area.bottom, end))
            if (name, on) == (PRINTED, sheet) and area.bottom >= below
            else area
        ),
    )
    return len(found)


def _below(anchors: Sequence[Element], row: int) -> dict[int, int]:
    """For each top row of charts, how far down they move so that lines of charts follow one another below `row`."""
    heights: dict[int, int] = {}
    for anchor in anchors:
        heights[first_row(anchor)] = max(heights.get(first_row(anchor), 0), last_row(anchor) - first_row(anchor))
    down: dict[int, int] = {}
    for first, height in sorted(heights.items()):
        down[first] = row + 1 - first
        row += height + 1
    return down


def _draws_new(merge: ThreeWay, chart: str) -> bool:
    """Whether everything that a fresh chart draws is on sheets, or begins in rows, that the file lacks."""
    chart_moves = every(merge.fresh.package.tree(chart), "val", "yVal")
    read = [found for values in chart_moves for text in every(values, "f") for found in references(text.text or "")]
    return bool(read) and all(_is_new(merge, merge.fresh.kinds[found.sheet], found.area.top) for found in read)


def _is_new(merge: ThreeWay, kind: str, row: int) -> bool:
    """Whether a row of a fresh sheet is new, judged by its key or by the nearest row above that has one.

    A case of the Sweep counts as new if its table's row of titles is.
    """
    if kind in merge.new_kinds:
        return True
    keys = merge.fresh.sheets[kind].rows.items()
    keyed = [known for known, key in keys if known <= row and (kind != SWEEP or key.startswith("titles "))]
    return bool(keyed) and max(keyed) in merge.places[kind].new_rows


def add(merge: ThreeWay, kind: str, styles: Mapping[int, int], dxfs: Mapping[int, int]) -> None:
    """Add a sheet of the fresh workbook that the file lacks, after the sheet that it follows there."""
    fresh, name, moves = merge.fresh.sheets[kind], merge.names[kind], merge.fresh.moves
    moved, _ = with_moved_formulas(SheetXml(fresh.xml), fresh.name, moves)
    new = without_drawing(moved, styles, dxfs)
    move_around_rows(new.root, fresh.name, moves)
    drawings = _drawings(merge.fresh.package, fresh.name)
    part = add_sheet(merge.package, name, new.xml(), _behind(merge, fresh.name))
    if drawings:
        _put(merge, part, drawings[0])
    merge.done.new_sheets.append(name)


def _behind(merge: ThreeWay, sheet: str) -> str:
    """The sheet after which to insert a new one: the nearest that precedes it in the fresh workbook; blank for none."""
    order, there = list(merge.fresh.package.sheets()), merge.package.sheets()
    kinds = merge.fresh.kinds
    before = (merge.names[kinds[known]] for known in reversed(order[: order.index(sheet)]) if known in kinds)
    return next((name for name in before if name in there), "")


def _put(merge: ThreeWay, part: str, drawing: str) -> None:
    target = copy_part(merge.package, merge.fresh.package, drawing, _moved(merge))
    sheet = Worksheet(merge.package.parts[part])
    sheet.link("drawing", link(merge.package, part, "drawing", target))
    merge.package.replace(part, sheet.xml())


def _moved(merge: ThreeWay) -> Callable[[bytes], bytes]:
    """A function that rewrites a part copied from the fresh workbook: the ranges of a chart become the final ones."""

    def moved(xml: bytes) -> bytes:
        if b"chartSpace" not in xml[:2000]:
            return xml
        root = parse(xml)
        move_chart(root, merge.fresh.moves)
        return written(root)

    return moved


def _drawings(package: Package, sheet: str) -> list[str]:
    return package.linked(package.sheets()[sheet], "drawing")

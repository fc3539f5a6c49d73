"""Sheets and charts of a newer version that an edited workbook hasn't: put where the design has them."""

from __future__ import annotations

from collections.abc import Mapping

from planner.update.threeway import ThreeWay
from planner.xlsx.moved_cells import restyled, with_moved_formulas
from planner.xlsx.moved_parts import move_around_rows, move_chart
from planner.xlsx.opc import Package
from planner.xlsx.relationships import copy_part, link
from planner.xlsx.sheet_rules import with_looks
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.workbook_part import add_sheet
from planner.xlsx.worksheet import Worksheet
from planner.xlsx.xmltree import children, parse, written


def draw(merge: ThreeWay) -> None:
    """Charts of a fresh sheet on a sheet that had no drawing."""
    for kind in merge.kinds:
        part = merge.package.sheets()[merge.ours.sheets[kind].sheet.name]
        theirs = _drawings(merge.fresh.package, merge.fresh.sheets[kind].name)
        mine = [link for link in merge.package.relationships(part) if link.kind == "drawing"]
        if theirs and mine:
            if _charts(merge.fresh.package, theirs[0]) != _charts(merge.package, mine[0].target):
                merge.done.remarks.append(f"the charts of {merge.names[kind]} are those that were there")
        elif theirs:
            _put(merge, part, theirs[0])


def add(merge: ThreeWay, kind: str, styles: Mapping[int, int], dxfs: Mapping[int, int]) -> None:
    """A sheet that the old workbook has not, behind the one that it stands behind in the fresh one."""
    fresh, name, moves = merge.fresh.sheets[kind], merge.names[kind], merge.fresh.moves
    moved, _ = with_moved_formulas(SheetXml(fresh.xml), fresh.name, moves)
    new = Worksheet(moved)
    new.rows = restyled(new.rows, styles)
    move_around_rows(new.root, fresh.name, moves)
    formats = children(new.root, "conditionalFormatting")
    for old, coloured in zip(formats, with_looks(formats, dxfs), strict=True):
        new.root.replace(old, coloured)
    for drawing in children(new.root, "drawing"):
        new.root.remove(drawing)
    drawings = _drawings(merge.fresh.package, fresh.name)
    part = add_sheet(merge.package, name, new.xml(), _behind(merge, fresh.name))
    if drawings:
        _put(merge, part, drawings[0])
    merge.done.new_sheets.append(name)


def _behind(merge: ThreeWay, sheet: str) -> str:
    """The sheet that a new one stands behind: the nearest of those in front of it that are there; blank for none."""
    order, there = list(merge.fresh.package.sheets()), merge.package.sheets()
    kinds = {each.name: kind for kind, each in merge.fresh.sheets.items()}
    before = (merge.names[kinds[known]] for known in reversed(order[: order.index(sheet)]) if known in kinds)
    return next((name for name in before if name in there), "")


def _put(merge: ThreeWay, part: str, drawing: str) -> None:
    moves = merge.fresh.moves

    def moved(xml: bytes) -> bytes:
        if b"chartSpace" not in xml[:2000]:
            return xml
        root = parse(xml)
        move_chart(root, moves)
        return written(root)

    target = copy_part(merge.package, merge.fresh.package, drawing, moved)
    sheet = Worksheet(merge.package.parts[part])
    sheet.link("drawing", link(merge.package, part, "drawing", target))
    merge.package.replace(part, sheet.xml())


def _drawings(package: Package, sheet: str) -> list[str]:
    return [link.target for link in package.relationships(package.sheets()[sheet]) if link.kind == "drawing"]


def _charts(package: Package, drawing: str) -> int:
    return sum(link.kind == "chart" for link in package.relationships(drawing))

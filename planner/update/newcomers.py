"""Sheets and charts of a newer version that an edited workbook hasn't: put where the design has them."""

from __future__ import annotations

from collections.abc import Mapping

from planner.update.pairing import Pair
from planner.xlsx.cell_formulas import with_moved_formulas
from planner.xlsx.cellxml import restyled
from planner.xlsx.drawings import move_chart
from planner.xlsx.opc import Package
from planner.xlsx.relationships import copy_part, link
from planner.xlsx.sheet_moves import move_around_rows
from planner.xlsx.sheet_rules import with_looks
from planner.xlsx.workbook_part import add_sheet
from planner.xlsx.worksheet import Worksheet
from planner.xlsx.xmltree import children, parse, written


def draw(pair: Pair) -> None:
    """Charts of a fresh sheet on a sheet that had no drawing."""
    for kind in pair.kinds:
        part = pair.package.sheets()[pair.old.sheets[kind].sheet.name]
        theirs = _drawings(pair.fresh_package, pair.fresh.sheets[kind].sheet.name)
        mine = [link for link in pair.package.relationships(part) if link.kind == "drawing"]
        if theirs and mine:
            if _charts(pair.fresh_package, theirs[0]) != _charts(pair.package, mine[0].target):
                pair.done.remarks.append(f"the charts of {pair.names[kind]} are those that were there")
        elif theirs:
            _put(pair, part, theirs[0])


def add(pair: Pair, kind: str, styles: Mapping[int, int], dxfs: Mapping[int, int]) -> None:
    """A sheet that the old workbook has not, behind the one that it stands behind in the fresh one."""
    fresh, name, moves = pair.fresh.sheets[kind], pair.names[kind], pair.fresh.moves
    sheet = fresh.sheet
    moved, _ = with_moved_formulas(sheet.xml, sheet.name, moves)
    new = Worksheet(moved)
    new.rows = restyled(new.rows, styles)
    move_around_rows(new.root, sheet.name, moves)
    formats = children(new.root, "conditionalFormatting")
    for old, coloured in zip(formats, with_looks(formats, dxfs), strict=True):
        new.root.replace(old, coloured)
    for drawing in children(new.root, "drawing"):
        new.root.remove(drawing)
    drawings = _drawings(pair.fresh_package, sheet.name)
    part = add_sheet(pair.package, name, new.xml(), _behind(pair, sheet.name))
    if drawings:
        _put(pair, part, drawings[0])
    pair.done.new_sheets.append(name)


def _behind(pair: Pair, sheet: str) -> str | None:
    """The sheet that a new one stands behind: the nearest of those in front of it that are there."""
    order, there = list(pair.fresh_package.sheets()), pair.package.sheets()
    kinds = {each.sheet.name: kind for kind, each in pair.fresh.sheets.items()}
    before = (pair.names[kinds[known]] for known in reversed(order[: order.index(sheet)]) if known in kinds)
    return next((name for name in before if name in there), None)


def _put(pair: Pair, part: str, drawing: str) -> None:
    moves = pair.fresh.moves

    def moved(xml: bytes) -> bytes:
        if b"chartSpace" not in xml[:2000]:
            return xml
        root = parse(xml)
        move_chart(root, "", moves)
        return written(root)

    target = copy_part(pair.package, pair.fresh_package, drawing, moved)
    sheet = Worksheet(pair.package.parts[part])
    sheet.link("drawing", link(pair.package, part, "drawing", target))
    pair.package.replace(part, sheet.xml())


def _drawings(package: Package, sheet: str) -> list[str]:
    return [link.target for link in package.relationships(package.sheets()[sheet]) if link.kind == "drawing"]


def _charts(package: Package, drawing: str) -> int:
    return sum(link.kind == "chart" for link in package.relationships(drawing))

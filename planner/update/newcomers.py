"""Sheets and charts of a newer version that an edited workbook hasn't: put where the design has them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from planner.update import frames, parts
from planner.update.pairing import Pair
from planner.update.rows import restyled, with_drawing, with_formulas
from planner.xlsx.opc import Package


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
    head, _, tail = frames.split(sheet.xml.xml)
    formulas = {cell.ref: moves.formula(cell.formula or "", sheet.name)
                for cell in sheet.cells.values() if cell.formula}  # fmt: skip
    rows = restyled(with_formulas(sheet, formulas), styles)
    coloured = frames.with_rules(frames.moved(tail, sheet.name, moves), dxfs)
    xml = re.sub(rb"<drawing\b[^>]*/>", b"", frames.moved(head, sheet.name, moves) + rows + coloured)
    drawings = _drawings(pair.fresh_package, sheet.name)
    part = parts.add_sheet(pair.package, name, xml, _behind(pair, sheet.name))
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
    identifier = parts.copy_drawing(pair.package, pair.fresh_package, part, drawing, pair.fresh.moves)
    pair.package.replace(part, with_drawing(pair.package.parts[part], identifier))


def _drawings(package: Package, sheet: str) -> list[str]:
    return [link.target for link in package.relationships(package.sheets()[sheet]) if link.kind == "drawing"]


def _charts(package: Package, drawing: str) -> int:
    return sum(link.kind == "chart" for link in package.relationships(drawing))

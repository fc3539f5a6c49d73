"""Sheets and charts of a newer version that an edited workbook hasn't: put where the design has them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from planner.update import frames, parts
from planner.update.cellxml import readdressed, row_tags
from planner.update.fresh import FreshSheet
from planner.update.rows import restyled, with_drawing
from planner.update.threeway import ThreeWay
from planner.xlsx.moves import Moves
from planner.xlsx.opc import Package


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
    head, _, tail = frames.split(fresh.xml)
    rows = b"<sheetData>" + restyled(_rows(fresh, moves), styles) + b"</sheetData>"
    coloured = frames.with_rules(frames.moved(tail, fresh.name, moves), dxfs)
    xml = re.sub(rb"<drawing\b[^>]*/>", b"", frames.moved(head, fresh.name, moves) + rows + coloured)
    drawings = _drawings(merge.fresh.package, fresh.name)
    part = parts.add_sheet(merge.package, name, xml, _behind(merge, fresh.name))
    if drawings:
        _put(merge, part, drawings[0])
    merge.done.new_sheets.append(name)


def _rows(fresh: FreshSheet, moves: Moves) -> bytes:
    """Its rows, each formula as it reads in the end."""
    cells: dict[int, list[bytes]] = {}
    for at, cell in sorted(fresh.cells.items()):
        formula = None if cell.formula is None else moves.formula(cell.formula, fresh.name)
        cells.setdefault(at[0], []).append(readdressed(cell.xml, None, None, formula))
    return b"".join(tag + b"".join(cells.get(row, ())) + b"</row>" for row, tag in row_tags(fresh.xml)
                    if not tag.endswith(b"/>"))  # fmt: skip


def _behind(merge: ThreeWay, sheet: str) -> str | None:
    """The sheet that a new one stands behind: the nearest of those in front of it that are there."""
    order, there = list(merge.fresh.package.sheets()), merge.package.sheets()
    kinds = {each.name: kind for kind, each in merge.fresh.sheets.items()}
    before = (merge.names[kinds[known]] for known in reversed(order[: order.index(sheet)]) if known in kinds)
    return next((name for name in before if name in there), None)


def _put(merge: ThreeWay, part: str, drawing: str) -> None:
    identifier = parts.copy_drawing(merge.package, merge.fresh.package, part, drawing, merge.fresh.moves)
    merge.package.replace(part, with_drawing(merge.package.parts[part], identifier))


def _drawings(package: Package, sheet: str) -> list[str]:
    return [link.target for link in package.relationships(package.sheets()[sheet]) if link.kind == "drawing"]


def _charts(package: Package, drawing: str) -> int:
    return sum(link.kind == "chart" for link in package.relationships(drawing))

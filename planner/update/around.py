"""What hangs on sheets whose cells move, led to where they are in the end: a person's sheets, notes, charts, pivots."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planner.book.sheet import Sheet
from planner.update import frames
from planner.update.rows import with_formulas
from planner.update.sides import Side
from planner.xlsx.opc import Package

_CHART = re.compile(r"/(charts|chartex)/chart[^/]*\.xml$", re.IGNORECASE)


def others(package: Package, side: Side, ours: set[str]) -> Iterator[tuple[str, bytes]]:
    """The parts that other parts' moved cells change: sheets but for `ours`, and what hangs on sheets and charts."""
    if side.moves.is_idle:
        return
    for name, part in package.sheets().items():
        if name not in ours:
            yield part, _own_sheet(side.book.sheets[name], side)
        track = side.moves.of(name)
        for found in package.relationships(part):
            if found.target not in package.parts:
                continue
            data = package.parts[found.target]
            if found.kind in ("comments", "threadedComment", "table"):
                yield found.target, frames.comments(data, track)
            elif found.kind == "vmlDrawing":
                yield found.target, frames.boxes(data, track)
            elif found.kind == "drawing":
                yield found.target, frames.anchors(data, track)
    for part, data in list(package.parts.items()):
        if _CHART.search(part):
            yield part, frames.chart(data, side.moves)
        elif "pivotCacheDefinition" in part and part.endswith(".xml"):
            yield part, frames.pivot_source(data, side.moves)


def _own_sheet(sheet: Sheet, side: Side) -> bytes:
    """A sheet of a person's: only what refers to cells that have moved is other than it was."""
    before, rows, behind = frames.split(sheet.xml.xml)
    new: dict[str, str] = {}
    for at, cell in sheet.cells.items():
        if cell.formula is None:
            continue
        own = cell.formula or sheet.patterns[at].at(*at)
        text = side.moves.formula(own, sheet.name)
        if text != own and cell.kind in ("normal", "shared"):
            new[cell.ref] = text
    if new:
        shared = {cell.ref: sheet.patterns[at].at(*at) for at, cell in sheet.cells.items() if cell.kind == "shared"}
        contents = {ref: side.moves.formula(text, sheet.name) for ref, text in shared.items()}
        rows = with_formulas(sheet, contents | new)
    moved = frames.moved(before, sheet.name, side.moves), frames.moved(behind, sheet.name, side.moves)
    return moved[0] + rows + moved[1]

"""Rewrites the XML of cells and rows that move, or whose formulas refer to moved cells; other bytes stay."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from planner.xlsx.address import Position, address, coordinates
from planner.xlsx.cell import Cell
from planner.xlsx.markup import (
    Edit,
    apply_edits,
    attribute,
    element_end,
    escaped,
    is_empty,
    retagged,
    tag_end,
    tag_name,
)
from planner.xlsx.moves import Lost, Moves, SheetMoves
from planner.xlsx.references import BROKEN
from planner.xlsx.sheetxml import SheetXml

_FORMULA = re.compile(rb"<((?:\w+:)?)f(?:\s[^>]*)?(?:/>|>.*?</\1f>)", re.DOTALL)
_ROW = re.compile(rb"<(?:\w+:)?row\b[^>]*>")
_SHARING = (b"t", b"si", b"ref")
_INPUTS = {b"r1": b"del1", b"r2": b"del2"}  # a data table's attributes: its input cells, and whether these are deleted


def with_moved_formulas(sheet: SheetXml, name: str, moves: Moves) -> tuple[bytes, list[Lost]]:
    """The XML of a sheet whose own cells stay, with moved references, and the lost references.

    A shared formula stays shared if all its cells still have the same precedents; else each cell gets its own formula.
    """
    edits: list[Edit] = []
    lost: list[Lost] = []
    for cell, formula, new, is_expanded in _formulas(sheet, name, moves):
        if BROKEN in new:
            lost += (Lost(name, cell.ref, read) for read in moves.lost(formula, name))
        assert cell.formula_span is not None, "it has a formula"
        start, end = cell.formula_span[0], element_end(sheet.xml, *cell.formula_span)
        text = new if is_expanded or new != formula else ""
        xml = moved_formula(sheet.xml[start:end], text, moves.of(name), is_expanded)
        if xml != sheet.xml[start:end]:
            edits.append(Edit(start, end, xml))
    return apply_edits(sheet.xml, edits), lost


def _formulas(sheet: SheetXml, name: str, moves: Moves) -> Iterator[tuple[Cell, str, str, bool]]:
    """Yields each cell whose formula changes or fills a range: cell, old and new formula, if it leaves a shared one."""
    groups: dict[str, list[Cell]] = defaultdict(list)
    for cell in sheet.cells.values():
        if cell.kind == "shared":
            groups[cell.shared].append(cell)
        elif cell.kind:
            formula = cell.formula or ""
            new = moves.formula(formula, name)
            if cell.kind != "normal" or new != formula:
                yield cell, formula, new, False
    for cells in groups.values():
        texts = [sheet.formula_of(cell) or "" for cell in cells]
        moved = [moves.formula(text, name) for text in texts]
        if moved != texts:
            yield from ((*each, True) for each in zip(cells, texts, moved, strict=True))


def with_moved_cells(sheet: SheetXml, name: str, moves: Moves) -> tuple[bytes, list[Lost]]:
    """The XML of a sheet whose rows and columns move, and the references lost in the remaining cells.

    Deleted rows and cells of deleted columns are removed, and shared formulas become formulas of each cell. The order
    of rows and columns must not change.
    """
    xml, track = sheet.xml, moves.of(name)
    edits: list[Edit] = []
    for number, (start, stop) in sheet.rows.items():
        if number in track.rows.gone:
            edits.append(Edit(start, element_end(xml, start, stop), b""))
            continue
        end = tag_end(xml, start)
        edits.append(Edit(start, end, retagged(xml[start:end], (b"spans",), {b"r": b"%d" % track.rows(number)})))
    lost: list[Lost] = []
    for cell in sheet.cells.values():
        start, end = cell.span[0], element_end(xml, *cell.span)
        row, column = coordinates(cell.ref)
        if row in track.rows.gone:
            continue
        if not track.has(row, column):
            edits.append(Edit(start, end, b""))
            continue
        final, text = track.cell(row, column), sheet.formula_of(cell)
        moved = None if text is None else moves.formula(text, name)
        if text is not None and moved is not None and BROKEN in moved:
            lost += (Lost(name, address(*final), read) for read in moves.lost(text, name))
        edits.append(Edit(start, end, readdressed(xml[start:end], final, None, moved, track)))
    return apply_edits(xml, edits), lost


def moved_formula(xml: bytes, text: str, track: SheetMoves, is_expanded: bool = False) -> bytes:
    """A formula's element with another text (blank: unchanged), and with its cell attributes moved.

    These are the range that an array or a data table fills, and a data table's input cells.
    """
    end = tag_end(xml, 0)
    tag = xml[:end]
    drop = _SHARING if is_expanded or attribute(tag, b"t") == b"shared" else ()
    new: dict[bytes, bytes] = {}
    if not drop and (ref := attribute(tag, b"ref").decode()):
        new[b"ref"] = (track.ref(ref) or ref).encode()
    for name, gone in _INPUTS.items():
        if ref := attribute(tag, name).decode():
            at = coordinates(ref)
            new |= {name: track.ref(ref).encode()} if track.has(*at) else {gone: b"1"}
    changed = {name: value for name, value in new.items() if attribute(tag, name) != value}
    tag = retagged(tag, drop, changed) if drop or changed else tag
    if not text:
        return tag + xml[end:]
    opened = tag[:-2].rstrip() + b">" if is_empty(tag, len(tag)) else tag
    return opened + escaped(text).encode() + b"</%b>" % tag_name(tag, 0)


def readdressed(raw: bytes, final: Position | None, style: int | None, formula: str | None, moves: SheetMoves) -> bytes:
    """A cell's XML with another address, style (None: unchanged) and formula.

    `moves` are those of the cell's sheet, for the range that an array or a data table fills.
    """
    end = tag_end(raw, 0)
    named = {} if final is None else {b"r": address(*final).encode()}
    tag = retagged(raw[:end], (), named | ({} if style is None else {b"s": b"%d" % style}))
    rest = raw[end:]
    if formula is not None and not is_empty(raw, end):
        rest = _FORMULA.sub(lambda match: moved_formula(match[0], formula, moves), rest, count=1)
    return tag + rest


def prefixed(xml: bytes, prefix: bytes) -> bytes:
    """XML whose elements get another part's namespace prefix, which is mostly empty."""
    return re.sub(rb"<(/?)(?=[A-Za-z])", rb"<\1" + prefix, xml) if prefix else xml


def row_tags(xml: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields the number and the start tag of each row of a sheet."""
    for match in _ROW.finditer(xml):
        number = re.search(rb"""\sr=["']([0-9]+)["']""", match[0])
        if number:
            yield int(number[1]), match[0]


def with_row_tags(xml: bytes, change: Callable[[int, bytes], bytes]) -> bytes:
    """A sheet's XML with the start tag of each row as `change` makes it from the row's number and its tag."""
    changes = {tag: new for number, tag in row_tags(xml) if (new := change(number, tag)) != tag}
    return _ROW.sub(lambda match: changes.get(match[0], match[0]), xml) if changes else xml


def says_something(tag: bytes) -> bool:
    """Whether a row's tag has a height, a style or an outline group of its own."""
    return bool(re.search(rb"""\s(ht|hidden|outlineLevel|s|customFormat|collapsed)=""", tag))


def restyled(rows: bytes, styles: Mapping[int, int]) -> bytes:
    """Rows with style numbers mapped by `styles`."""
    return re.sub(rb"(<(?:c|row)\b[^>]*?\ss=\")([0-9]+)", lambda match: match[1] + b"%d" % styles[int(match[2])], rows)

"""A sheet's XML with other formulas, other numbers for its formats, or a drawing."""

from __future__ import annotations

import re
from collections.abc import Mapping

from planner.book.sheet import Sheet
from planner.update import frames
from planner.update.cellxml import readdressed
from planner.xlsx.markup import Edit, apply_edits, element_end

_OFFICE = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_BEHIND = re.compile(
    rb"<(?:\w+:)?(?:legacyDrawingHF|drawingHF|picture|oleObjects|controls|webPublishItems|tableParts|extLst)\b"
)
_BEHIND_DRAWING = re.compile(rb"<(?:\w+:)?legacyDrawing\b|" + _BEHIND.pattern)


def with_formulas(sheet: Sheet, contents: Mapping[str, str]) -> bytes:
    """A sheet's rows with other formulas in cells that have one; what they gave is for recalculation to say."""
    edits: list[Edit] = []
    xml = sheet.xml.xml
    for ref, text in contents.items():
        cell = sheet.xml.cells[ref]
        end = element_end(xml, *cell.span)
        edits.append(Edit(cell.span[0], end, readdressed(xml[cell.span[0] : end], None, None, text)))
    return frames.split(apply_edits(xml, edits))[1]


def restyled(rows: bytes, styles: Mapping[int, int]) -> bytes:
    """Rows whose formats have other numbers now."""
    return re.sub(rb"(<(?:c|row)\b[^>]*?\ss=\")([0-9]+)", lambda match: match[1] + b"%d" % styles[int(match[2])], rows)


def with_drawing(xml: bytes, identifier: str) -> bytes:
    """A sheet that links to a drawing by this id, and has none yet."""
    return _linked(xml, b"drawing", identifier, _BEHIND_DRAWING)


def with_boxes(xml: bytes, identifier: str) -> bytes:
    """A sheet that links to the boxes of its notes by this id, and has none yet."""
    return _linked(xml, b"legacyDrawing", identifier, _BEHIND)


def _linked(xml: bytes, tag: bytes, identifier: str, behind: re.Pattern[bytes]) -> bytes:
    found = behind.search(xml)
    at = found.start() if found else xml.rfind(b"</")
    root = re.match(rb"(?:<\?xml[^>]*\?>\s*)?<((?:\w+:)?)worksheet", xml)
    prefix = root[1] if root else b""
    return xml[:at] + b'<%b%b xmlns:r="%b" r:id="%b"/>' % (prefix, tag, _OFFICE, identifier.encode()) + xml[at:]

"""A worksheet's XML: all but its rows as a tree, and its rows as the bytes that they are."""

from __future__ import annotations

import re
from typing import NamedTuple

from planner.xlsx.address import Area
from planner.xlsx.xmltree import Element, child, parse, put_in_order, written

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
ORDER = (
    "sheetPr", "dimension", "sheetViews", "sheetFormatPr", "cols", "sheetData", "sheetCalcPr", "sheetProtection",
    "protectedRanges", "scenarios", "autoFilter", "sortState", "dataConsolidate", "customSheetViews", "mergeCells",
    "phoneticPr", "conditionalFormatting", "dataValidations", "hyperlinks", "printOptions", "pageMargins", "pageSetup",
    "headerFooter", "rowBreaks", "colBreaks", "customProperties", "cellWatches", "ignoredErrors", "smartTags",
    "drawing", "legacyDrawing", "legacyDrawingHF", "drawingHF", "picture", "oleObjects", "controls",
    "webPublishItems", "tableParts", "extLst",
)  # fmt: skip
"""The children of a worksheet, in the order that the schema wants."""
_START = re.compile(rb"<((?:[\w.-]+:)?)sheetData\s*(/?)>")


class Sections(NamedTuple):
    """A sheet's XML in three: up to its rows, the element that holds them, and what stands behind it."""

    head: bytes
    rows: bytes
    tail: bytes

    @classmethod
    def of(cls, xml: bytes) -> Sections:
        """Those of a sheet."""
        start = _START.search(xml)
        assert start is not None, "a sheet has rows"
        end = start.end()
        if not start[2]:
            end = xml.index(b">", xml.rindex(b"</%bsheetData" % start[1])) + 1
        return cls(xml[: start.start()], xml[start.start() : end], xml[end:])


class Worksheet:
    """A worksheet to be edited: `root` is all of it but for its rows, which are bytes."""

    def __init__(self, xml: bytes) -> None:
        head, self.rows, tail = Sections.of(xml)
        self._old = xml
        found = _START.search(self.rows)
        assert found is not None, "it begins so"
        self.prefix = found[1]  # of the sheet's elements, with its colon
        self.root = parse(head + b"<%bsheetData/>" % self.prefix + tail)
        self._untouched = written(self.root), self.rows

    def xml(self) -> bytes:
        """The sheet; its bytes as they were where nothing has changed."""
        new = written(self.root)
        if (new, self.rows) == self._untouched:
            return self._old
        head, _, tail = Sections.of(new)
        return head + self.rows + tail

    def fill(self, rows: bytes, area: Area) -> None:
        """Give the sheet other rows, without the element around them, that fill this area."""
        self.rows = b"<%bsheetData>%b</%bsheetData>" % (self.prefix, rows, self.prefix)
        if (dimension := child(self.root, "dimension")) is not None:
            dimension.set("ref", str(area))

    def put(self, new: Element) -> None:
        """Put an element where the schema wants it, behind others of its name."""
        put_in_order(self.root, new, ORDER)

    def link(self, name: str, identifier: str) -> None:
        """Let the sheet show the part of a relationship: its `drawing`, or its notes' boxes, `legacyDrawing`."""
        element = self.root.makeelement(self.root.tag.replace("worksheet", name), {f"{{{OFFICE}}}id": identifier},
                                        {**self.root.nsmap, "r": OFFICE})  # fmt: skip
        self.put(element)

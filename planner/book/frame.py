"""What stands around a sheet's cells: views, columns, links, print set-up; and the looks of each cell."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from xml.etree import ElementTree

from planner.book.book import Book, Sheet
from planner.xlsx.address import Position
from planner.xlsx.markup import tag_end
from planner.xlsx.opc import Package
from planner.xlsx.xmltree import local_name

_STYLE = re.compile(rb"""\ss\s*=\s*["']([0-9]+)""")
_HIDDEN_ROW = re.compile(
    rb"""<(?:\w+:)?row\b(?=[^>]*\shidden=["'](?:1|true))(?![^>]*\soutlineLevel=["'][1-9])[^>]*\sr=["']([0-9]+)"""
)


@dataclass(frozen=True)
class Look:
    """How a cell looks: the name of its style, its number format, whether it is locked under protection."""

    style: str
    number_format: str
    is_locked: bool


class Frame:
    """A sheet's XML without its cells, element by element."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        xml = sheet.xml.xml
        start, end = xml.find(b"<sheetData"), xml.rfind(b"</sheetData>")
        plain = start >= 0 and end > start
        self.root = ElementTree.fromstring(xml[:start] + xml[end + len(b"</sheetData>") :] if plain else xml)

    def all(self, tag: str) -> list[ElementTree.Element]:
        """Every element of a local name."""
        return [element for element in self.root.iter() if local_name(element) == tag]

    def first(self, tag: str) -> ElementTree.Element | None:
        """The first element of a local name, or None."""
        return next(iter(self.all(tag)), None)

    @property
    def hidden_rows(self) -> list[int]:
        """The rows that are hidden without being a group."""
        return [int(match[1]) for match in _HIDDEN_ROW.finditer(self.sheet.xml.xml)]


class Looks:
    """The look of every cell, out of the workbook's styles."""

    def __init__(self, book: Book) -> None:
        self.book = book

    def of(self, sheet: Sheet, at: Position) -> Look:
        """A cell's look; that of a plain cell where it says none."""
        start = sheet.cells[at].span[0]
        xml = sheet.xml.xml
        match = _STYLE.search(xml, start, tag_end(xml, start))
        number = int(match[1]) if match else 0
        return self._looks[number] if number < len(self._looks) else Look("Normal", "General", True)

    @cached_property
    def _looks(self) -> list[Look]:
        root = _styles(self.book.package)
        if root is None:
            return []
        formats = {element.get("numFmtId", ""): element.get("formatCode", "") for element in _all(root, "numFmt")}
        names = {element.get("xfId", ""): element.get("name", "") for element in _all(root, "cellStyle")}
        (cells,) = _all(root, "cellXfs") or [ElementTree.Element("cellXfs")]
        return [self._look(element, formats, names) for element in cells]

    def _look(self, element: ElementTree.Element, formats: dict[str, str], names: dict[str, str]) -> Look:
        protection = next((child for child in element if local_name(child) == "protection"), None)
        locked = protection is None or protection.get("locked", "1") not in ("0", "false")
        number = element.get("numFmtId", "0")
        return Look(names.get(element.get("xfId", "0"), "Normal"), formats.get(number, f"built-in {number}"), locked)


def _styles(package: Package) -> ElementTree.Element | None:
    workbook = package.workbook_part()
    part = next((link.target for link in package.relationships(workbook) if link.kind == "styles"), None)
    return package.tree(part) if part in package.parts else None


def _all(root: ElementTree.Element, tag: str) -> list[ElementTree.Element]:
    return [element for element in root.iter() if local_name(element) == tag]

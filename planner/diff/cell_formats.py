"""What a reader sees of a cell's format: how its number is shown, bold, italic, and its colours."""

from __future__ import annotations

import re
from typing import NamedTuple
from xml.etree import ElementTree

from planner.book.sheet import Sheet
from planner.xlsx.address import Position
from planner.xlsx.markup import tag_end
from planner.xlsx.opc import Package
from planner.xlsx.xmltree import local_name

_STYLE = re.compile(rb"""\ss\s*=\s*["']([0-9]+)""")
_CELL_TAG = re.compile(rb"<(?:\w+:)?c\s[^>]*>")
_TYPE = re.compile(rb"""\st=["'][a-zA-Z]*["']""")  # of the value
_LOCALE = re.compile(r"\[\$-?[0-9A-Fa-f-]*\]|\\(?=[ .,/-])|_-|\s+$")
_BUILT_IN = {"0": "General", "1": "0", "2": "0.00", "3": "#,##0", "4": "#,##0.00", "9": "0%", "10": "0.00%",
             "11": "0.00E+00", "14": "yyyy-mm-dd", "49": "@"}  # fmt: skip


class Format(NamedTuple):
    """A cell's format, blank where a cell says nothing."""

    number: str = "General"
    bold: bool = False
    italic: bool = False
    ink: str = ""
    fill: str = ""

    def __str__(self) -> str:
        said = [self.number, "bold" * self.bold, "italic" * self.italic, self.ink and f"ink {self.ink}",
                self.fill and f"fill {self.fill}"]  # fmt: skip
        return ", ".join(part for part in said if part)


class Formats:
    """The formats of a workbook's cells."""

    def __init__(self, package: Package) -> None:
        self._known = list(_read(package))

    def all_same(self, sheet: Sheet, other: Formats, its: Sheet) -> bool:
        """Whether every cell of a sheet begins as the same cell of another workbook's sheet, and so has its format."""
        if self._known != other._known:
            return False
        tags, others = (_CELL_TAG.findall(each.xml.xml) for each in (sheet, its))
        return len(tags) == len(others) and all(
            tag == also or _TYPE.sub(b"", tag) == _TYPE.sub(b"", also) for tag, also in zip(tags, others, strict=True)
        )

    def of(self, sheet: Sheet, at: Position) -> Format:
        """A cell's format."""
        start, xml = sheet.cells[at].span[0], sheet.xml.xml
        match = _STYLE.search(xml, start, tag_end(xml, start))
        number = int(match[1]) if match else 0
        return self._known[number] if number < len(self._known) else Format()


def _read(package: Package) -> list[Format]:
    part = next((link.target for link in package.relationships(package.workbook_part()) if link.kind == "styles"), "")
    if part not in package.parts:
        return []
    root = package.tree(part)
    numbers = {element.get("numFmtId", ""): element.get("formatCode", "") for element in root.iter()
               if local_name(element) == "numFmt"}  # fmt: skip
    fonts, fills, cells = (_children(root, tag) for tag in ("fonts", "fills", "cellXfs"))
    return [_format(element, numbers, fonts, fills) for element in cells]


def _format(
    element: ElementTree.Element, numbers: dict[str, str], fonts: list[ElementTree.Element],
    fills: list[ElementTree.Element],
) -> Format:  # fmt: skip
    number = element.get("numFmtId", "0")
    shown = _LOCALE.sub("", numbers.get(number, _BUILT_IN.get(number, f"built-in {number}")))
    font, fill = _at(fonts, element.get("fontId", "0")), _at(fills, element.get("fillId", "0"))
    pattern = _child(fill, "patternFill")
    is_filled = pattern is not None and pattern.get("patternType") == "solid"
    return Format(shown, _is_on(font, "b"), _is_on(font, "i"), _colour(_child(font, "color")),
                  _colour(_child(pattern, "fgColor")) if is_filled else "")  # fmt: skip


def _colour(element: ElementTree.Element | None) -> str:
    """A colour's six digits; black, a theme's and an automatic one are blank."""
    rgb = "" if element is None else element.get("rgb", "")[-6:].upper()
    return "" if rgb == "000000" else rgb


def _is_on(font: ElementTree.Element | None, tag: str) -> bool:
    found = _child(font, tag)
    return found is not None and found.get("val", "1") not in ("0", "false")


def _child(element: ElementTree.Element | None, tag: str) -> ElementTree.Element | None:
    return next((child for child in element if local_name(child) == tag), None) if element is not None else None


def _children(root: ElementTree.Element, tag: str) -> list[ElementTree.Element]:
    return list(next((element for element in root if local_name(element) == tag), ()))


def _at(elements: list[ElementTree.Element], number: str) -> ElementTree.Element | None:
    return elements[int(number)] if number.isdigit() and int(number) < len(elements) else None

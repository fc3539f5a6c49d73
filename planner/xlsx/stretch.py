"""Ranges that lie over rows of a sheet, made longer: filters, formats, validations, tables, defined names.

Only the text of the ranges changes; every other byte of the part stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple
from xml.parsers import expat

from planner.xlsx.address import Area
from planner.xlsx.markup import Edit, apply_edits, escaped, retagged, tag_end
from planner.xlsx.sheetname import unquoted

Stretch = Callable[[Area], Area]  # an area to what it is to be, itself where it stays
StretchName = Callable[[str, str, Area], Area]  # the same for a defined name, given with its sheet

_RANGES = {
    "autoFilter": "ref", "protectedRange": "sqref", "conditionalFormatting": "sqref", "dataValidation": "sqref",
    "ignoredError": "sqref",
}  # fmt: skip
_IN_TEXT = "sqref"  # of the formats and validations that Excel keeps in extensions
_CELLS = re.compile(rb"<(?:[\w.-]+:)?sheetData\s*>")
_END_OF_CELLS = re.compile(rb"</(?:[\w.-]+:)?sheetData\s*>")
_TABLE = ("table", "autoFilter")


class _Element(NamedTuple):
    """An element: its local name, its attributes, the text directly in it, and where it and its text start."""

    name: str
    attributes: dict[str, str]
    start: int
    text: str
    text_start: int
    text_end: int


def stretched_sheet(xml: bytes, stretch: Stretch) -> bytes:
    """A sheet in which filters, conditional formats, validations and the like reach as far as `stretch` says."""
    opened, closed = _CELLS.search(xml), [*_END_OF_CELLS.finditer(xml)]
    if opened is None or not closed:
        return xml
    end = closed[-1].start()
    gap = end - opened.end()
    edits = [
        Edit(edit.start + gap, edit.stop + gap, edit.new)
        for edit in _edits_of_ranges(xml[: opened.end()] + xml[end:], stretch) if edit.start >= opened.end()
    ]  # fmt: skip
    return apply_edits(xml, edits)


def stretched_table(xml: bytes, stretch: Stretch) -> bytes:
    """A table's part whose range, and that of its filter, is what `stretch` says."""
    edits = [_with_ranges(xml, element, "ref", stretch) for element in _elements(xml) if element.name in _TABLE]
    return apply_edits(xml, [edit for edit in edits if edit])


def stretched_names(xml: bytes, stretch: StretchName) -> bytes:
    """A workbook's part whose defined names over one range of a sheet reach as far as `stretch` says."""
    edits: list[Edit] = []
    for element in _elements(xml):
        sheet, _, text = element.text.rpartition("!")
        if element.name != "definedName" or "<" in xml[element.text_start : element.text_end].decode():
            continue
        try:
            area = Area.parse(text)
        except ValueError:
            continue
        new = stretch(element.attributes.get("name", ""), unquoted(sheet), area)
        if new != area:
            first, last = str(new).split(":")
            edits.append(
                Edit(element.text_start, element.text_end, escaped(f"{sheet}!{_fixed(first)}:{_fixed(last)}").encode())
            )
    return apply_edits(xml, edits)


def _fixed(ref: str) -> str:
    return re.sub(r"([A-Z]+)([0-9]+)", r"$\1$\2", ref)


def _edits_of_ranges(xml: bytes, stretch: Stretch) -> Iterator[Edit]:
    for element in _elements(xml):
        edit = None
        if element.name in _RANGES:
            edit = _with_ranges(xml, element, _RANGES[element.name], stretch)
        elif element.name == _IN_TEXT:
            text = _stretched(element.text, stretch)
            edit = Edit(element.text_start, element.text_end, text.encode()) if text != element.text else None
        if edit:
            yield edit


def _with_ranges(xml: bytes, element: _Element, attribute: str, stretch: Stretch) -> Edit | None:
    """The edit that gives an attribute of ranges other ones; None where they stay."""
    old = element.attributes.get(attribute, "")
    new = _stretched(old, stretch)
    if new == old:
        return None
    end = tag_end(xml, element.start)
    return Edit(element.start, end, retagged(xml[element.start : end], (), {attribute.encode(): new.encode()}))


def _stretched(ranges: str, stretch: Stretch) -> str:
    """Ranges with blanks between them, each as long as `stretch` says; what is no range of cells stays."""
    return " ".join(_stretched_range(text, stretch) for text in ranges.split(" "))


def _stretched_range(text: str, stretch: Stretch) -> str:
    try:
        area = Area.parse(text)
    except ValueError:
        return text
    new = stretch(area)
    return text if new == area else str(new)


def _elements(xml: bytes) -> Iterator[_Element]:
    """Every element of a part; those in one another from the inside out."""
    opened: list[tuple[str, dict[str, str], int, list[str]]] = []
    done: list[_Element] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        opened.append((name.rpartition("}")[2], attributes, parser.CurrentByteIndex, []))

    def end(_name: str) -> None:
        name, attributes, begin, text = opened.pop()
        done.append(_Element(name, attributes, begin, "".join(text), tag_end(xml, begin), parser.CurrentByteIndex))

    def characters(text: str) -> None:
        opened[-1][3].append(text)

    parser = expat.ParserCreate(namespace_separator="}")
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, characters
    parser.Parse(xml, True)
    return iter(done)

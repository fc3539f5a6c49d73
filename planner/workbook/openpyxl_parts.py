"""The parts that openpyxl writes, as the schema and every program want them."""

from __future__ import annotations

import re
from collections.abc import Callable

from planner.xlsx.chart_caches import make_room
from planner.xlsx.drawings import charts_of
from planner.xlsx.opc import Package
from planner.xlsx.relationships import OFFICE, shorten_ways
from planner.xlsx.xmltree import declare, parse, written

_FONT, _OF_FONT = re.compile(rb"<font>(.*?)</font>"), re.compile(rb"(<(\w+)[^>]*/>)")
_ORDER = (
    b"b", b"i", b"strike", b"condense", b"extend", b"outline", b"shadow", b"u", b"vertAlign", b"sz", b"color", b"name",
    b"family", b"charset", b"scheme",
)  # fmt: skip
_NAMESPACES = {
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
    "r": OFFICE,
}
_PLAIN_TAG = re.compile(rb"<(/?)(?=[A-Za-z]+[\s/>])")
_TITLES = re.compile(rb'(name="_xlnm.Print_Titles"[^>]*>)([^,<]*![$][0-9][^,<]*),([^,<]*)<')
_BLANK = re.compile(rb'(<c r="[A-Z]+[0-9]+"(?: s="[0-9]+")?) t="n"(?=/>|></c>)')  # to IronCalc it is a 0
_NO_TEXT = re.compile(rb"<(?:odd|even|first)(?:Header|Footer)(?:/>|></\w+>)")


def mended(name: str, xml: bytes) -> bytes:
    """A part of a new workbook as it is to be written."""
    return next((mend(xml) for start, mend in _MENDED.items() if name.startswith(start)), xml)


def mend(package: Package) -> None:
    """The same for the cells, formats, drawings and charts of a workbook that an older version built, in place.

    What another program wrote is as it should be, and keeps its bytes; but a chart that keeps no values is to have
    them, and what hangs on a sheet is named from its folder.
    """
    for name, xml in package.parts.items():
        if name.startswith(("xl/styles", "xl/drawings/drawing")):
            package.replace(name, mended(name, xml))
    for part in package.sheets().values():
        shorten_ways(package, part)
        package.replace(part, _BLANK.sub(rb"\1", package.parts[part]))
    for name in charts_of(package):
        if not any(word in package.parts[name] for word in (b"Cache>", b"Ignorable")):
            package.replace(name, _chart(package.parts[name]))


def _styles(xml: bytes) -> bytes:
    """What a font says, in the order of the schema."""

    def ordered(font: re.Match[bytes]) -> bytes:
        said = _OF_FONT.findall(font[1])
        if b"".join(text for text, _ in said) != font[1] or not {name for _, name in said} <= set(_ORDER):
            return font[0]
        return b"<font>%b</font>" % b"".join(text for text, _ in sorted(said, key=lambda each: _ORDER.index(each[1])))

    return _FONT.sub(ordered, xml)


def _drawing(xml: bytes) -> bytes:
    """Elements with the prefix `xdr`, by which exceljs knows them."""
    if xml.count(b" xmlns=") != 1:
        return xml
    root = parse(_PLAIN_TAG.sub(rb"<\1xdr:", xml).replace(b" xmlns=", b" xmlns:xdr=", 1))
    declare(root, _NAMESPACES)
    return written(root)


def _chart(xml: bytes) -> bytes:
    """Room for the values of the cells that it draws."""
    root = parse(xml)
    make_room(root)
    declare(root, {"a": _NAMESPACES["a"]})
    return written(root)


def _workbook(xml: bytes) -> bytes:
    """Of the titles that each printed page repeats the columns before the rows."""
    return _TITLES.sub(rb"\1\3,\2<", xml)


def _worksheet(xml: bytes) -> bytes:
    """No headers and footers without a text."""
    return _NO_TEXT.sub(b"", xml)


_MENDED: dict[str, Callable[[bytes], bytes]] = {
    "xl/styles": _styles,
    "xl/drawings/drawing": _drawing,
    "xl/charts/chart": _chart,
    "xl/workbook": _workbook,
    "xl/worksheets/sheet": _worksheet,
}

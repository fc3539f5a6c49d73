"""What a workbook's parts say: its sheets' cells, shared texts, tables, and how it is to be calculated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from xml.etree import ElementTree
from xml.parsers import expat

from planner.errors import Place, UserError
from planner.xlsx.address import Area
from planner.xlsx.markup import Edit, apply_edits, element_end, prefix, retagged, tag_end
from planner.xlsx.opc import Package
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.xmltree import local_name

_BEFORE_CALC = ("sheets", "functionGroups", "externalReferences", "definedNames")


class Table(NamedTuple):
    """A table: the range it covers, its column heads, whether it has a row of heads and one of totals."""

    name: str
    sheet: str
    area: Area
    columns: list[str]
    header_row: bool
    totals_row: bool


def parse_sheets(package: Package, known: Mapping[str, SheetXml] | None = None) -> dict[str, SheetXml]:
    """Every worksheet's cells; a sheet of `known` that is the same serves again.

    Raises UserError, naming the sheet, for XML that is not sound.
    """
    strings = shared_strings(package)
    sheets = {}
    for name, part in package.sheets().items():
        xml, same = package.parts[part], (known or {}).get(name)
        try:
            if same is None or same.xml != xml or same.strings != strings:
                same = SheetXml(xml, strings)
            sheets[name] = same
        except UserError as error:
            raise UserError(f"sheet {name}: {error.what}", place=Place(package.name)) from error
    return sheets


def shared_strings(package: Package) -> list[str]:
    """The texts that cells of type s name by number; phonetic hints are left out."""
    return [
        "".join(_texts(item))
        for link in package.relationships(package.workbook_part())
        if link.kind == "sharedStrings"
        for item in package.tree(link.target)
    ]


def tables(package: Package) -> list[Table]:
    """The tables of every worksheet."""
    return [
        _table(sheet, package.tree(link.target))
        for sheet, part in package.sheets().items()
        for link in package.relationships(part)
        if link.kind == "table"
    ]


def counts_from_1904(package: Package) -> bool:
    """Whether day 0 of the workbook's dates is in 1904, as in old files from a Mac."""
    return any(
        local_name(element) == "workbookPr" and element.get("date1904") in ("1", "true")
        for element in package.tree(package.workbook_part())
    )


def compute_on_load(package: Package) -> None:
    """Ask the program that opens the workbook to compute every formula, as Excel then does."""
    part = package.workbook_part()
    xml = package.parts[part]
    starts, ends = _children(xml)
    if "calcPr" in starts:
        start = starts["calcPr"]
        end = tag_end(xml, start)
        edit = Edit(start, end, retagged(xml[start:end], (), {b"fullCalcOnLoad": b"1"}))
    else:
        last = max(ends[tag] for tag in _BEFORE_CALC if tag in ends)
        edit = Edit(last, last, b'<%bcalcPr fullCalcOnLoad="1"/>' % prefix(xml, starts["sheets"]))
    package.replace(part, apply_edits(xml, [edit]))


def _texts(item: ElementTree.Element) -> list[str]:
    if local_name(item) == "t":
        return [item.text or ""]
    return [text for child in item if local_name(child) != "rPh" for text in _texts(child)]


def _table(sheet: str, root: ElementTree.Element) -> Table:
    columns = [element.get("name", "") for element in root.iter() if local_name(element) == "tableColumn"]
    return Table(
        root.get("displayName", ""),
        sheet,
        Area.parse(root.get("ref", "")),
        columns,
        root.get("headerRowCount", "1") != "0",
        root.get("totalsRowCount", "0") != "0",
    )


def _children(xml: bytes) -> tuple[dict[str, int], dict[str, int]]:
    """Where each child of the root starts and ends."""
    starts: dict[str, int] = {}
    ends: dict[str, int] = {}
    depth = 0

    def start(name: str, _attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth == 2:
            starts[name.rpartition("}")[2]] = parser.CurrentByteIndex

    def end(name: str) -> None:
        nonlocal depth
        if depth == 2:
            tag = name.rpartition("}")[2]
            ends[tag] = element_end(xml, starts[tag], parser.CurrentByteIndex)
        depth -= 1

    parser = expat.ParserCreate(namespace_separator="}")
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.Parse(xml, True)
    return starts, ends

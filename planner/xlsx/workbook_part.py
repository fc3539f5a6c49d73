"""The workbook's own part: its list of sheets, its shared texts, how it is to be calculated."""

from __future__ import annotations

import posixpath

from planner.errors import Place, UserError
from planner.xlsx.address import folded
from planner.xlsx.named_ranges import BEFORE
from planner.xlsx.opc import Package
from planner.xlsx.relationships import OFFICE, add_part, drop_part, link
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.xmltree import Element, child, child_in_order, every, local_name

_WORKSHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"


def parse_sheets(package: Package) -> dict[str, SheetXml]:
    """Every worksheet's cells. Raises UserError, naming the sheet, for XML that is not sound."""
    strings = shared_strings(package)
    sheets = {}
    for name, part in package.sheets().items():
        try:
            sheets[name] = SheetXml(package.parts[part], strings)
        except UserError as error:
            raise UserError(f"sheet {name}: {error.what}", place=Place(package.name)) from error
    return sheets


def shared_strings(package: Package) -> list[str]:
    """The texts that cells of type s name by number; phonetic hints are left out."""
    return [
        "".join(_texts(item))
        for found in package.relationships(package.workbook_part())
        if found.kind == "sharedStrings"
        for item in every(package.tree(found.target), "si")
    ]


def _texts(item: Element) -> list[str]:
    if local_name(item) == "t":
        return [item.text or ""]
    return [text for one in item if local_name(one) != "rPh" for text in _texts(one)]


def kept_elsewhere(package: Package) -> set[str]:
    """The sheets of other workbooks of which this one keeps values, folded, as references name them: `[1]data`."""
    workbook, found = package.workbook_part(), set[str]()
    links = {link.id: link.target for link in package.relationships(workbook) if link.target in package.parts}
    for number, element in enumerate(every(package.tree(workbook), "externalReference"), 1):
        target = links.get(next((value for key, value in element.attrib.items() if key.endswith("}id")), ""))
        root = package.tree(target) if target else element
        names = [name.get("val", "") for name in every(root, "sheetName")]
        kept = {int(data.get("sheetId", "0")) for data in every(root, "sheetData") if child(data, "row") is not None}
        found |= {folded(f"[{number}]{name}") for at, name in enumerate(names) if at in kept}
    return found


def counts_from_1904(package: Package) -> bool:
    """Whether day 0 of the workbook's dates is in 1904, as in old files from a Mac."""
    root = package.tree(package.workbook_part())
    return any(element.get("date1904") in ("1", "true") for element in every(root, "workbookPr"))


def compute_on_load(package: Package) -> None:
    """Ask the program that opens the workbook to compute every formula, as Excel then does."""
    with package.edited(package.workbook_part()) as root:
        child_in_order(root, "calcPr", BEFORE).set("fullCalcOnLoad", "1")


def drop_calculation_chain(package: Package) -> None:
    """Take out the order of calculation that Excel keeps, which would name cells that hold no formula now."""
    workbook = package.workbook_part()
    for chain in package.linked(workbook, "calcChain"):
        drop_part(package, workbook, chain)


def add_sheet(package: Package, name: str, xml: bytes, behind: str | None) -> str:
    """Put a new worksheet in behind the sheet `behind` (None: last; blank: first); returns its part."""
    workbook = package.workbook_part()
    beside = posixpath.join(posixpath.dirname(workbook), "worksheets/sheet1.xml")
    part = add_part(package, beside, xml, _WORKSHEET)
    identifier = link(package, workbook, "worksheet", part)
    with package.edited(workbook) as root:
        sheets = child(root, "sheets")
        names = [sheet.get("name") for sheet in sheets]
        at = names.index(behind) if behind in names else -1 if behind == "" else len(names) - 1
        number = max(int(sheet.get("sheetId", "0")) for sheet in sheets) + 1
        new = sheets.makeelement(sheets[at].tag, {"name": name, "sheetId": str(number)}, {"r": OFFICE})
        new.set(f"{{{OFFICE}}}id", identifier)
        sheets.insert(at + 1, new)
        for element in every(root, "definedName", "workbookView"):
            for place in ("localSheetId", "activeTab", "firstSheet"):
                if place in element.attrib and int(element.get(place)) > at:
                    element.set(place, str(int(element.get(place)) + 1))
    return part

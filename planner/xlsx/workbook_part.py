"""The workbook part: its sheets, shared strings, calculation settings, defined names and tables."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import NamedTuple

from planner.errors import Place, UserError
from planner.xlsx.address import MAX_COLUMN, MAX_ROW, Area, folded
from planner.xlsx.moves import Moves
from planner.xlsx.opc import Package
from planner.xlsx.references import Reference, references, rewritten
from planner.xlsx.relationships import OFFICE, add_part, drop_part, link
from planner.xlsx.sheet_rules import reshape
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.xmltree import Element, child, child_in_order, every, like, link_id, local_name, take_out

_WORKSHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"

_STRICT = b"http://purl.oclc.org/ooxml/"  # the namespaces of a Strict Open XML file


def refuse_strict(package: Package) -> None:
    """Raise UserError for a Strict Open XML file, whose parts have other namespaces than those that planner writes."""
    if _STRICT in package.parts[package.workbook_part()]:
        what = "it is a Strict Open XML file, into which planner can't write sheets"
        remedy = "save it as an Excel Workbook (.xlsx), not as a Strict Open XML one"
        raise UserError(what, place=Place(package.name), remedy=remedy)


def parse_sheets(package: Package) -> dict[str, SheetXml]:
    """Every worksheet's cells. Raises UserError, naming the sheet, for malformed XML."""
    strings = shared_strings(package)
    sheets = {}
    for name, part in package.sheets().items():
        try:
            sheets[name] = SheetXml(package.parts[part], strings)
        except UserError as error:
            raise UserError(f"sheet {name}: {error.what}", place=Place(package.name)) from error
    return sheets


def shared_strings(package: Package) -> list[str]:
    """The shared strings, without phonetic hints."""
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
    """The sheets of other workbooks whose values this one caches, case-folded, as in references: `[1]data`."""
    workbook, found = package.workbook_part(), set[str]()
    links = {link.id: link.target for link in package.relationships(workbook) if link.target in package.parts}
    for number, element in enumerate(every(package.tree(workbook), "externalReference"), 1):
        target = links.get(link_id(element))
        root = package.tree(target) if target else element
        names = [name.get("val", "") for name in every(root, "sheetName")]
        kept = {int(data.get("sheetId", "0")) for data in every(root, "sheetData") if child(data, "row") is not None}
        found |= {folded(f"[{number}]{name}") for at, name in enumerate(names) if at in kept}
    return found


def counts_from_1904(package: Package) -> bool:
    """Whether the workbook uses the 1904 date system, as old files from a Mac do."""
    root = package.tree(package.workbook_part())
    return any(element.get("date1904") in ("1", "true") for element in every(root, "workbookPr"))


def compute_on_load(package: Package) -> None:
    """Make the program that opens the workbook compute every formula."""
    with package.edited(package.workbook_part()) as root:
        child_in_order(root, "calcPr", BEFORE).set("fullCalcOnLoad", "1")


def drop_calculation_chain(package: Package) -> None:
    """Remove the calculation chain, which may list cells that no longer have formulas."""
    workbook = package.workbook_part()
    for chain in package.linked(workbook, "calcChain"):
        drop_part(package, workbook, chain)


def add_sheet(package: Package, name: str, xml: bytes, behind: str | None) -> str:
    """Add a worksheet after the sheet `behind` (None: last; blank: first); returns its part."""
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


BEFORE = ("fileVersion", "fileSharing", "workbookPr", "workbookProtection", "bookViews", "sheets", "functionGroups",
          "externalReferences", "definedNames", "calcPr")  # fmt: skip
"""The first children of a workbook, in the order that the schema wants."""
PRINTED = "_xlnm.Print_Area"  # the defined name of a sheet's print areas


def take_names(package: Package, fresh: Package, moves: Moves, new_sheets: Collection[str]) -> None:
    """Copy a fresh workbook's defined names: global ones, and the print areas of `new_sheets`.

    `moves` says where the fresh workbook's cells are in this one.
    """
    theirs = fresh.tree(fresh.workbook_part())
    with package.edited(package.workbook_part()) as root:
        mine = {folded(name.get("name")): name for name in every(root, "definedName") if _scope(name) is None}
        order, fresh_order = ([sheet.get("name") for sheet in every(each, "sheet")] for each in (root, theirs))
        for name in every(theirs, "definedName"):
            text, scope = moves.formula(name.text or "", ""), _scope(name)
            if scope is None and folded(name.get("name")) in mine:
                mine[folded(name.get("name"))].text = text
                continue
            sheet = moves.of(fresh_order[scope]).name if scope is not None else ""
            if sheet and sheet not in new_sheets:
                continue
            added = like(root, "definedName", name=name.get("name"))
            if sheet:
                added.set("localSheetId", str(order.index(sheet)))
            added.text = text
            child_in_order(root, "definedNames", BEFORE).append(added)


def drop_names(package: Package, sheet: str) -> None:
    """Remove a sheet's print area and filter names; the user's names stay."""
    with package.edited(package.workbook_part()) as root:
        order = [one.get("name") for one in every(root, "sheet")]
        for name in every(root, "definedName"):
            if name.get("name", "").startswith("_xlnm.") and _scope(name) == order.index(sheet):
                take_out(name)


def _scope(name: Element) -> int | None:
    """The index of the sheet that a name is local to; None for a global name."""
    return int(name.get("localSheetId")) if "localSheetId" in name.attrib else None


def reshape_names(package: Package, reshaped: Callable[[str, str, Area], Area]) -> None:
    """Replace ranges in defined names: `reshaped` takes name, sheet and area, and returns the new area."""
    with package.edited(package.workbook_part()) as root:
        for name in every(root, "definedName"):
            called = name.get("name", "")
            name.text = rewritten(name.text or "", partial(_reshaped, called=called, reshaped=reshaped))


def _reshaped(found: Reference, called: str, reshaped: Callable[[str, str, Area], Area]) -> Reference:
    area = found.area
    if found.is_foreign or not found.sheet or area.bottom == MAX_ROW or area.right == MAX_COLUMN:
        return found
    new = reshaped(called, found.sheet, area)
    return found if new == area else found.over(new)


def printed(package: Package, sheet: str) -> list[Area]:
    """The print areas of a sheet; empty if it has none, so that all of it is printed."""
    root = package.tree(package.workbook_part())
    return [found.area for name in _printing(root, sheet) for found in references(name.text or "")]


def print_also(package: Package, sheet: str, area: Area) -> None:
    """Add a print area to those of a sheet, on pages of its own; a sheet without any is printed whole anyway."""
    with package.edited(package.workbook_part()) as root:
        for name in _printing(root, sheet):
            *_, last = references(name.text or "")
            name.text = f"{name.text},{last.over(area)}"


def print_no_more(package: Package, sheet: str, rows: range) -> None:
    """Remove a sheet's print areas that begin and end in these rows, unless no other is left."""
    with package.edited(package.workbook_part()) as root:
        for name in _printing(root, sheet):
            found = list(references(name.text or ""))
            left = [each for each in found if not (each.area.top in rows and each.area.bottom in rows)]
            if left and len(left) < len(found):
                name.text = ",".join(map(str, left))


def _printing(root: Element, sheet: str) -> list[Element]:
    """The defined name of a sheet's print areas, if it has one that isn't `#REF!`."""
    at = [one.get("name") for one in every(root, "sheet")].index(sheet)
    names = (name for name in every(root, "definedName") if name.get("name") == PRINTED and _scope(name) == at)
    return [name for name in names if list(references(name.text or ""))]


def names_over(package: Package, wanted: Callable[[Reference], bool]) -> Iterator[str]:
    """The global names that refer to a range for which `wanted` holds."""
    for name in every(package.tree(package.workbook_part()), "definedName"):
        if name.get("localSheetId") is None and any(map(wanted, references(name.text or ""))):
            yield name.get("name", "")


class ExcelTable(NamedTuple):
    """An Excel table: its range, its column names, and whether it has a header row and a totals row."""

    name: str
    sheet: str
    area: Area
    columns: list[str]
    header_row: bool
    totals_row: bool


def tables(package: Package) -> list[ExcelTable]:
    """The tables of every worksheet."""
    return [
        _table(sheet, package.tree(table))
        for sheet, part in package.sheets().items()
        for table in package.linked(part, "table")
    ]


def name_new_columns(package: Package) -> None:
    """Name unnamed table columns after their header cell, with which a name must agree."""
    for sheet, part in package.sheets().items():
        for table in package.linked(part, "table"):
            with package.edited(table) as root:
                columns, area = list(every(root, "tableColumn")), Area.parse(root.get("ref", ""))
                unnamed = [each for each in columns if not each.get("name")]
                heads = parse_sheets(package)[sheet].row(area.top) if unnamed else {}
                for each in unnamed:
                    column = area.left + columns.index(each)
                    head = heads[column].value if column in heads and root.get("headerRowCount") != "0" else None
                    each.set("name", str(head or f"Column{column}"))


def reshape_table(package: Package, part: str, reshaped: Callable[[Area], Area]) -> None:
    """Replace the range of a table and of its filter by `reshaped(range)`."""
    with package.edited(part) as root:
        reshape(root, reshaped, "table", "autoFilter")


def _table(sheet: str, root: Element) -> ExcelTable:
    return ExcelTable(
        root.get("displayName", ""),
        sheet,
        Area.parse(root.get("ref", "")),
        [element.get("name", "") for element in every(root, "tableColumn")],
        root.get("headerRowCount", "1") != "0",
        root.get("totalsRowCount", "0") != "0",
    )

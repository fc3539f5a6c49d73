"""Names for ranges of cells: defined names, of the workbook or of one sheet, and tables with heads of columns."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import NamedTuple

from planner.xlsx.address import MAX_COLUMN, MAX_ROW, Area
from planner.xlsx.moves import Moves
from planner.xlsx.opc import Package
from planner.xlsx.references import Reference, rewritten
from planner.xlsx.sheet_rules import reshape
from planner.xlsx.xmltree import Element, child_in_order, every, like, take_out

BEFORE = ("fileVersion", "fileSharing", "workbookPr", "workbookProtection", "bookViews", "sheets", "functionGroups",
          "externalReferences", "definedNames", "calcPr")  # fmt: skip
"""The first children of a workbook, in the order that the schema wants."""
PRINTED = "_xlnm.Print_Area"  # the name of what is printed of a sheet


def take_names(package: Package, fresh: Package, moves: Moves, new_sheets: Collection[str]) -> None:
    """The names of a fresh workbook: those of the workbook, and of `new_sheets` what they print.

    `moves` says where the fresh workbook's cells stand in this one.
    """
    theirs = fresh.tree(fresh.workbook_part())
    with package.edited(package.workbook_part()) as root:
        mine = {name.get("name"): name for name in every(root, "definedName") if _scope(name) is None}
        order, fresh_order = ([sheet.get("name") for sheet in every(each, "sheet")] for each in (root, theirs))
        for name in every(theirs, "definedName"):
            text, scope = moves.formula(name.text or "", ""), _scope(name)
            if scope is None and name.get("name") in mine:
                mine[name.get("name")].text = text
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
    """Take out what a sheet prints and filters; names that a person gave stay."""
    with package.edited(package.workbook_part()) as root:
        order = [one.get("name") for one in every(root, "sheet")]
        for name in every(root, "definedName"):
            if name.get("name", "").startswith("_xlnm.") and _scope(name) == order.index(sheet):
                take_out(name)


def _scope(name: Element) -> int | None:
    """The place of the sheet that a name belongs to, None of the workbook's."""
    return int(name.get("localSheetId")) if "localSheetId" in name.attrib else None


def reshape_names(package: Package, reshaped: Callable[[str, str, Area], Area]) -> None:
    """Give ranges in the names other corners: `reshaped` takes name, sheet and area, and gives the new area."""
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


class Table(NamedTuple):
    """What Excel calls a table: its range, its column heads, whether it has a row of heads and one of totals."""

    name: str
    sheet: str
    area: Area
    columns: list[str]
    header_row: bool
    totals_row: bool


def tables(package: Package) -> list[Table]:
    """The tables of every worksheet."""
    return [
        _table(sheet, package.tree(table))
        for sheet, part in package.sheets().items()
        for table in package.linked(part, "table")
    ]


def reshape_table(package: Package, part: str, reshaped: Callable[[Area], Area]) -> None:
    """Give a table, and its filter, the range that `reshaped` says."""
    with package.edited(part) as root:
        reshape(root, reshaped, "table", "autoFilter")


def _table(sheet: str, root: Element) -> Table:
    return Table(
        root.get("displayName", ""),
        sheet,
        Area.parse(root.get("ref", "")),
        [element.get("name", "") for element in every(root, "tableColumn")],
        root.get("headerRowCount", "1") != "0",
        root.get("totalsRowCount", "0") != "0",
    )

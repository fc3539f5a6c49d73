"""Defined names: a name for cells, or for a formula, of the workbook or of one sheet."""

from __future__ import annotations

from collections.abc import Callable, Collection

from planner.xlsx.address import MAX_COLUMN, MAX_ROW, Area
from planner.xlsx.moves import Lost, Moves
from planner.xlsx.opc import Package
from planner.xlsx.references import BROKEN, Corner, Reference, rewritten
from planner.xlsx.xmltree import Element, child, every, like, put_in_order, take_out

BEFORE = ("fileVersion", "fileSharing", "workbookPr", "workbookProtection", "bookViews", "sheets", "functionGroups",
          "externalReferences", "definedNames", "calcPr")  # fmt: skip
"""The first children of a workbook, in the order that the schema wants."""
_BUILT_IN = "_xlnm."  # how the names begin of what is printed and filtered


def move_names(package: Package, moves: Moves) -> list[Lost]:
    """Lead the names to where their cells are then, and return what is lost; sheets have the names of then."""
    root = package.tree(package.workbook_part())
    lost: list[Lost] = []
    for sheet in every(root, "sheet"):
        sheet.set("name", moves.of(sheet.get("name", "")).name)
    for name in every(root, "definedName"):
        text = name.text or ""
        lost += (Lost("", f"the name {name.get('name')}", read) for read in moves.lost(text, ""))
        name.text = moves.formula(text, "")
        if name.text != text and BROKEN in name.text and name.get("name", "").startswith(_BUILT_IN):
            take_out(name)
    package.put_tree(package.workbook_part(), root)
    return lost


def take_names(package: Package, fresh: Package, moves: Moves, new_sheets: Collection[str]) -> None:
    """The names of a fresh workbook: those of the workbook, and of `new_sheets` what they print.

    `moves` says where the fresh workbook's cells stand in this one.
    """
    root, theirs = package.tree(package.workbook_part()), fresh.tree(fresh.workbook_part())
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
        _list_of(root).append(added)
    package.put_tree(package.workbook_part(), root)


def _scope(name: Element) -> int | None:
    """The place of the sheet that a name belongs to, None of the workbook's."""
    return int(name.get("localSheetId")) if "localSheetId" in name.attrib else None


def _list_of(root: Element) -> Element:
    found = child(root, "definedNames")
    if found is None:
        found = like(root, "definedNames")
        put_in_order(root, found, BEFORE)
    return found


def reshape_names(package: Package, reshaped: Callable[[str, str, Area], Area]) -> None:
    """Give ranges in the names other corners: `reshaped` takes name, sheet and area, and gives the new area."""
    root = package.tree(package.workbook_part())
    for name in every(root, "definedName"):
        called = name.get("name", "")
        name.text = rewritten(name.text or "", lambda found, called=called: _reshaped(found, called, reshaped))  # type: ignore[misc]
    package.put_tree(package.workbook_part(), root)


def _reshaped(found: Reference, called: str, reshaped: Callable[[str, str, Area], Area]) -> Reference:
    area = found.area
    if found.is_foreign or not found.sheet or area.bottom == MAX_ROW or area.right == MAX_COLUMN:
        return found
    new = reshaped(called, found.sheet, area)
    if new == area:
        return found
    ends = Corner(new.top, new.left, True, True), Corner(new.bottom, new.right, True, True)
    return found._replace(first=ends[0], last=ends[1], is_range=True)

"""Tables of a workbook: what Excel calls so, ranges with heads of columns and a filter."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from planner.xlsx.address import Area
from planner.xlsx.opc import Package
from planner.xlsx.sheet_rules import reshape
from planner.xlsx.xmltree import Element, every


class Table(NamedTuple):
    """A table: the range it covers, its column heads, whether it has a row of heads and one of totals."""

    name: str
    sheet: str
    area: Area
    columns: list[str]
    header_row: bool
    totals_row: bool


def tables(package: Package) -> list[Table]:
    """The tables of every worksheet."""
    return [
        _table(sheet, package.tree(link.target))
        for sheet, part in package.sheets().items()
        for link in package.relationships(part)
        if link.kind == "table"
    ]


def reshape_table(package: Package, part: str, reshaped: Callable[[Area], Area]) -> None:
    """Give a table, and its filter, the range that `reshaped` says."""
    root = package.tree(part)
    reshape(root, reshaped, "table", "autoFilter")
    package.put_tree(part, root)


def _table(sheet: str, root: Element) -> Table:
    return Table(
        root.get("displayName", ""),
        sheet,
        Area.parse(root.get("ref", "")),
        [element.get("name", "") for element in every(root, "tableColumn")],
        root.get("headerRowCount", "1") != "0",
        root.get("totalsRowCount", "0") != "0",
    )

"""What reaches over all scenarios of a sheet reaches the next one too: its printed area, its formats, its validations.

Ranges of planner's formulas are sized ahead. A person's own formulas and charts stay as they are, and are named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from planner.book.line_tables import LineTable
from planner.book.workbook import Book
from planner.xlsx.address import Area, address
from planner.xlsx.defined_names import reshape_names
from planner.xlsx.opc import Package
from planner.xlsx.references import Reference, references
from planner.xlsx.sheet_rules import reshape, rules
from planner.xlsx.worksheet import Worksheet
from planner.xlsx.xmltree import every, local_name

_PRINTED = "_xlnm.Print_Area"
_CHART = re.compile(r"/(charts|chartex)/chart[^/]*\.xml$", re.IGNORECASE)


def grown(area: Area, table: LineTable, column: int) -> Area:
    """The area with one more column, where it ends at the last scenario of a table and holds them all."""
    first, last = table.columns[0], table.columns[-1]
    holds_all = area.left <= first and area.right == last
    return Area(area.top, area.left, area.bottom, column) if holds_all else area


def print_wider(package: Package, tables: Mapping[str, LineTable], columns: Mapping[str, int]) -> None:
    """Let the printed areas grow; `tables` and `columns` are by the sheet's name."""

    def wide(name: str, sheet: str, area: Area) -> Area:
        is_meant = name == _PRINTED and sheet in tables
        return grown(area, tables[sheet], columns[sheet]) if is_meant else area

    reshape_names(package, wide)


def ruled(xml: bytes, table: LineTable, column: int) -> bytes:
    """A sheet's XML whose conditional formats and validations over all scenarios are for one more."""
    sheet = Worksheet(xml)
    for rule in rules(sheet.root):
        reshape(rule, lambda area: grown(area, table, column), local_name(rule))
    return sheet.xml()


def is_own(book: Book, sheet: str, row: int) -> bool:
    """Whether a row is a person's: of a sheet of theirs, or between planner's rows of a table by scenario."""
    if sheet not in {found.name for found in book.designed.values()}:
        return True
    table = next((table for table in book.by_scenario if table.sheet.name == sheet), None)
    return table is not None and row > table.head.row and row not in {line.row for line in table.lines}


def left_out(book: Book, tables: Mapping[str, LineTable]) -> Iterator[str]:
    """A person's own formulas and charts over all scenarios, which end at the last of before."""
    for name, sheet in book.sheets.items():
        for (row, column), formula in sheet.patterns.items():
            if not is_own(book, name, row):
                continue
            read = ((reference.sheet or name, reference.area(row, column)) for reference in formula.references)
            if any(known in tables and _ends(area, tables[known]) for known, area in read):
                yield f"{name}!{address(row, column)} reads the scenarios of before, not the new one: widen its range"
    for name in every(book.package.tree(book.package.workbook_part()), "definedName"):
        if name.get("localSheetId") is None and _of_before(name.text or "", tables):
            yield f"the name {name.get('name')} stands for the scenarios of before, not the new one: widen its range"
    for part in book.package.parts:
        ranges = every(book.package.tree(part), "f") if _CHART.search(part) else ()
        if found := next((read for one in ranges for read in _of_before(one.text or "", tables)), None):
            yield f"a chart draws {found}, the scenarios of before: widen its ranges"


def _of_before(formula: str, tables: Mapping[str, LineTable]) -> list[Reference]:
    """The references of a formula, with their sheets, that go over all scenarios of before."""
    return [one for one in references(formula) if one.sheet in tables and _ends(one.area, tables[one.sheet])]


def _ends(area: Area, table: LineTable) -> bool:
    """Whether an area goes over all scenarios, more than one, and ends at the last."""
    return area.left <= table.columns[0] < area.right == table.columns[-1]

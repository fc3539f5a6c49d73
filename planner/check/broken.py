"""References that lead nowhere: to a deleted cell, to a sheet or a name that the workbook hasn't (part of 15)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from planner.book.sheet import Sheet
from planner.book.workbook import Book
from planner.check.findings import Fault
from planner.xlsx.address import Position, address
from planner.xlsx.cellvalue import CellError
from planner.xlsx.pattern import Pattern
from planner.xlsx.tables import tables
from planner.xlsx.xmltree import local_name

REMEDY = "point it at a cell, or undo the deletion or the renaming that broke it"
_LOCAL_NAMES = re.compile(r"\b(LET|LAMBDA)\(")
_BAD_NAME = CellError("#NAME?")


def broken(book: Book) -> Iterator[Fault]:
    """The broken formulas, those of one column that are broken in one way together: the first and all cells."""
    known = {name.lower() for name, _, _ in defined(book)} | {table.name.lower() for table in tables(book.package)}
    for sheet in book.sheets.values():
        groups: dict[tuple[str, int], list[Position]] = defaultdict(list)
        for at, formula in sorted(sheet.patterns.items()):
            if what := _what(book, sheet, at, formula, known):
                groups[what, at[1]].append(at)
        for (what, _), cells in groups.items():
            first = cells[0]
            text = f"{what}: ={sheet.patterns[first].at(*first)}"
            if len(cells) > 1:
                text += f", and so do {len(cells) - 1:,} more formulas below it"
            refs = tuple(address(*at) for at in cells)
            yield Fault(sheet.name, refs[0], text, REMEDY, kind="broken_reference", cells=refs)


def _what(book: Book, sheet: Sheet, at: Position, formula: Pattern, known: set[str]) -> str:
    """How a formula is broken; blank where it isn't."""
    if formula.is_broken:
        return "the formula reads a cell that is gone"
    for reference in formula.references:
        name = reference.sheet
        if name and name not in book.sheets and not name.startswith("[") and ":" not in name:
            return f"the formula reads the sheet {name}, which is not there"
    if formula.names and "[" not in formula.text and not _LOCAL_NAMES.search(formula.text):
        missing = sorted(name for name in formula.names if name.lower() not in known)
        if missing and book.value(sheet.name, *at) in (None, _BAD_NAME):
            return f"the formula reads the name {missing[0]}, which is not defined"
    return ""


def defined(book: Book) -> Iterator[tuple[str, str, str]]:
    """Each defined name, the sheet that it belongs to or blank, and what it stands for."""
    for element in book.package.tree(book.package.workbook_part()).iter():
        if local_name(element) == "definedName":
            yield element.get("name", ""), element.get("localSheetId", ""), element.text or ""

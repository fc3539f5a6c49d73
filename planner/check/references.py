"""Rules of what a formula reads and calls: direction, circles, functions, defined names (15, 17, 19)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planner.book.sheet import Sheet
from planner.book.workbook import Book
from planner.check.broken import broken, defined
from planner.check.findings import Fault, rule
from planner.check.graph import circles
from planner.formulas.text import FUNCTIONS
from planner.xlsx.address import Area, address
from planner.xlsx.pattern import RelativeReference

ALLOWED = frozenset(FUNCTIONS) | {"INDEX", "MATCH", "COUNTIF", "SUMPRODUCT", "IFERROR", "SUM"}
VOLATILE = frozenset({"NOW", "TODAY", "RAND", "RANDBETWEEN", "RANDARRAY", "OFFSET", "INDIRECT", "INFO", "CELL"})
_LEGAL = re.compile(r"[^\W\d][\w.?\\]{0,254}|\\[\w.?\\]{1,254}")
_ADDRESS = re.compile(r"[A-Z]{1,3}[0-9]{1,7}|R|C|R[0-9]*C[0-9]*|TRUE|FALSE", re.IGNORECASE)


@rule(15, "Within a sheet references point up or left (the header's master check excepted); between sheets to an "
          "earlier one, Cover and Dashboard excepted; no cycle of cells.")  # fmt: skip
def direction(book: Book) -> Iterator[Fault]:
    """A broken reference, one that points down, right or to a later sheet, and a circle."""
    yield from broken(book)
    for (sheet_name, row, column), formula in book.formulas.items():
        if sheet_name != book.dashboard.sheet.name:
            for reference in formula.references:
                if what := _astray(book, book.sheets[sheet_name], reference, row, column):
                    remedy = "read from above, from the left or from an earlier sheet"
                    moved = _is_among_cases(book, sheet_name, reference, row, column)
                    yield Fault(sheet_name, address(row, column), what, remedy, "note" if moved else "fault")
    for circle in circles(book):
        steps = " -> ".join(f"{name}!{address(row, column)}" for name, row, column in (*circle[:6], circle[0]))
        what = f"{len(circle)} cells read each other in a circle: {steps}"
        name, row, column = circle[0]
        yield Fault(name, address(row, column), what, "take one of the steps out")


def _astray(book: Book, sheet: Sheet, reference: RelativeReference, row: int, column: int) -> str:
    """What is wrong with where a reference points; blank where nothing is."""
    area = reference.area(row, column)
    if not reference.sheet or reference.sheet == sheet.name:
        ahead = area.bottom > row or (area.bottom == row and area.right >= column)
        return f"{_corner(area)} lies below or to the right" if ahead else ""
    if reference.sheet.startswith("["):
        return ""  # rule 18 reports a link to another file
    other = book.sheets.get(reference.sheet)
    if other is None:
        return ""  # a broken reference
    return f"{reference.sheet}!{_corner(area)} is on a later sheet" if book.is_later(other, sheet) else ""


def _is_among_cases(book: Book, sheet: str, reference: RelativeReference, row: int, column: int) -> bool:
    """Whether a formula of the Comparison reads a fixed case of it: where that one stands is a person's to choose."""
    cases = next((table for table in book.cases if table.sheet.name == sheet and row in table.rows), None)
    is_sorted_by_people = cases is not None and "template" in cases.columns.values()
    area = reference.area(row, column)
    fixed = reference.first.row_fixed and reference.last.row_fixed
    return cases is not None and is_sorted_by_people and fixed and {area.top, area.bottom} <= set(cases.rows) and (
        not reference.sheet or reference.sheet == sheet)  # fmt: skip


def _corner(area: Area) -> str:
    return address(area.bottom, area.right)


@rule(17, "Functions from the allow-list only (templates: the grammar's; the workbook writer adds INDEX MATCH "
          "COUNTIF SUMPRODUCT IFERROR and SUM over a range); nothing volatile; nothing that needs the `_xlfn.` "
          "prefix.")  # fmt: skip
def functions(book: Book) -> Iterator[Fault]:
    """A function that not every spreadsheet computes alike."""
    for (sheet, row, column), formula in book.formulas.items():
        for name in sorted(formula.functions - ALLOWED):
            why = "is volatile" if name in VOLATILE else "is not on the list of functions that compute alike everywhere"
            remedy = f"use one of {', '.join(sorted(ALLOWED))}, or calculate on a sheet of your own"
            yield Fault(sheet, address(row, column), f"{name} {why}", remedy)


@rule(19, "No defined name inside a cell formula; defined names are legal, unique ignoring case, never shaped like an "
          "address, never #REF!.")  # fmt: skip
def defined_names(book: Book) -> Iterator[Fault]:
    """A name that hides which cell a formula reads, and a defined name that a spreadsheet would repair."""
    for (sheet, row, column), formula in book.formulas.items():
        for name in sorted(formula.names):
            remedy = "write the cell's address, which traces by a click"
            yield Fault(sheet, address(row, column), f"the formula reads the name {name}", remedy)
    seen: set[tuple[str, str]] = set()
    for name, scope, text in defined(book):
        if "#REF!" in text:
            remedy = "delete it, or point it at cells"
            yield Fault(
                "", "", f"the defined name {name} is broken: {text}", remedy, kind="broken_reference", name=name
            )
        if name.startswith("_xlnm."):
            continue
        if not _LEGAL.fullmatch(name) or _ADDRESS.fullmatch(name):
            remedy = "begin with a letter and use an underscore: weight_bytes"
            yield Fault("", "", f"{name!r} can't be a defined name, or reads as an address", remedy)
        if (scope, name.lower()) in seen:
            yield Fault("", "", f"the defined name {name} exists twice, but for its capitals", "rename one of the two")
        seen.add((scope, name.lower()))

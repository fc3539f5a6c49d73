"""Rules about what formulas, links and charts refer to: nothing missing or ahead, no circles, no names (15, 19, 35,
36).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator

from planner.book.scenario_charts import moved_in_front
from planner.book.sheet import Sheet
from planner.book.tables import CaseTable
from planner.book.workbook import Book
from planner.book.wrong_links import wrong_links
from planner.check.findings import Fault, rule
from planner.check.precedents import circles, rows_of
from planner.terminal_table import counted
from planner.xlsx.address import Area, Position, address, folded
from planner.xlsx.cellvalue import CellError
from planner.xlsx.pattern import Pattern, RelativeReference
from planner.xlsx.workbook_part import tables
from planner.xlsx.xmltree import every

REMEDY = "point it at a cell, or undo the deletion or the renaming that broke it"
_LOCAL_NAMES = re.compile(r"\b(LET|LAMBDA)\(")
_BAD_NAME = CellError("#NAME?")
_LEGAL = re.compile(r"[^\W\d][\w.?\\]{0,254}|\\[\w.?\\]{1,254}")
_ADDRESS = re.compile(r"[A-Z]{1,3}[0-9]{1,7}|R|C|R[0-9]*C[0-9]*|TRUE|FALSE", re.IGNORECASE)


@rule(
    15,
    "Within a sheet references point up or left (the header's master check excepted); between sheets to an "
    "earlier one, Cover and Dashboard excepted; no cycle of cells.",
)
def direction(book: Book) -> Iterator[Fault]:
    """Broken references, references down, right or to a later sheet, and circular references."""
    yield from broken(book)
    for (sheet_name, row, column), formula in book.formulas.items():
        if sheet_name != book.dashboard.sheet.name:
            for reference in formula.references:
                what = _misdirected(book, book.sheets[sheet_name], reference, row, column)
                if what and not _is_within_run(book, sheet_name, reference, row):
                    remedy = "read from above, from the left or from an earlier sheet"
                    moved = _is_among_cases(book, sheet_name, reference, row, column)
                    yield Fault(sheet_name, address(row, column), what, remedy, "note" if moved else "fault")
    for circle in circles(book):
        steps = " -> ".join(f"{name}!{address(row, column)}" for name, row, column in (*circle[:6], circle[0]))
        what = f"{len(circle)} cells read each other in a circle: {steps}"
        name, row, column = circle[0]
        yield Fault(name, address(row, column), what, "take one of the steps out")


def _misdirected(book: Book, sheet: Sheet, reference: RelativeReference, row: int, column: int) -> str:
    """What is wrong with a reference's target; blank if nothing is."""
    name = reference.sheet
    if not name or name == sheet.name:
        if rows_of(reference, row)[1] < row:
            return ""
        area = reference.area(row, column)
        ahead = area.bottom > row or area.right >= column
        return f"{_corner(area)} lies below or to the right" if ahead else ""
    other = book.sheets.get(name)
    if other is None or not book.is_later(other, sheet):
        return ""  # a sheet that isn't there is a broken reference, one of another file rule 18's
    return f"{name}!{_corner(reference.area(row, column))} is on a later sheet"


def _cases_at(book: Book, sheet: str, row: int) -> CaseTable | None:
    return next((table for table in book.cases if table.sheet.name == sheet and row in table.rows), None)


def _is_among_cases(book: Book, sheet: str, reference: RelativeReference, row: int, column: int) -> bool:
    """Whether a formula of the Comparison has a fixed reference to a case, which the user may sort elsewhere."""
    cases = _cases_at(book, sheet, row)
    if cases is None or "template" not in cases.columns.values() or reference.sheet not in ("", sheet):
        return False
    area, fixed = reference.area(row, column), reference.first.row_fixed and reference.last.row_fixed
    return fixed and {area.top, area.bottom} <= set(cases.rows)


def _is_within_run(book: Book, sheet: str, reference: RelativeReference, row: int) -> bool:
    """Whether a formula in the table of runs reads its own row, whose cells to the right are allowed there."""
    cases = _cases_at(book, sheet, row)
    is_own_row = not reference.sheet and rows_of(reference, row) == (row, row)
    return cases is not None and cases.is_of_runs and is_own_row


def _corner(area: Area) -> str:
    return address(area.bottom, area.right)


def broken(book: Book) -> Iterator[Fault]:
    """The broken formulas; those of one column with the same cause are one finding."""
    known = {name.lower() for name, _, _ in defined(book)} | {table.name.lower() for table in tables(book.package)}
    sheets = {folded(name) for name in book.sheets}
    for sheet in book.sheets.values():
        ways = {formula: _broken_by(formula, sheets, known) for formula in set(sheet.patterns.values())}
        groups: dict[tuple[str, int], list[Position]] = defaultdict(list)
        for at, formula in sorted(sheet.patterns.items()) if any(ways.values()) else ():
            what, is_name = ways[formula] or ("", False)
            if what and (not is_name or book.value(sheet.name, *at) in (None, _BAD_NAME)):
                groups[what, at[1]].append(at)
        for (what, _), cells in groups.items():
            first = cells[0]
            text = f"{what}: ={sheet.patterns[first].at(*first)}"
            refs = tuple(address(*at) for at in cells)
            yield Fault(sheet.name, refs[0], text, REMEDY, kind="broken_reference", cells=refs, alike=what)


def _broken_by(formula: Pattern, sheets: set[str], known: set[str]) -> tuple[str, bool] | None:
    """How a formula is broken, and whether by an unknown name, which its value must confirm.

    None if it isn't broken.
    """
    if gone := reads_what_is_gone(formula, sheets):
        return gone, False
    if formula.names and "[" not in formula.text and not _LOCAL_NAMES.search(formula.text):
        missing = sorted(name for name in formula.names if name.lower() not in known)
        if missing:
            return f"the formula reads the name {missing[0]}, which is not defined", True
    return None


def reads_what_is_gone(formula: Pattern, sheets: Collection[str]) -> str:
    """What a formula reads that is gone, a cell or one of the `sheets`, whose names are folded; blank if nothing is."""
    if formula.is_broken:
        return "the formula reads a cell that is gone"
    for name in (reference.sheet for reference in formula.references):
        if name and folded(name) not in sheets and not name.startswith("[") and ":" not in name:
            return f"the formula reads the sheet {name}, which is not there"
    return ""


def defined(book: Book) -> Iterator[tuple[str, str, str]]:
    """Yields each defined name, the id of the sheet that it is local to (or blank), and its formula."""
    for element in every(book.package.tree(book.package.workbook_part()), "definedName"):
        yield element.get("name", ""), element.get("localSheetId", ""), element.text or ""


@rule(
    19,
    "No defined name inside a cell formula; defined names are legal, unique ignoring case, never shaped like an "
    "address, never #REF!.",
)
def defined_names(book: Book) -> Iterator[Fault]:
    """Formulas that read defined names, which hide their precedents, and invalid names that Excel would repair."""
    for (sheet, row, column), formula in book.formulas.items():
        for name in sorted(formula.names):
            remedy = "write the cell's address, which traces by a click"
            yield Fault(sheet, address(row, column), f"the formula reads the name {name}", remedy)
    seen: set[tuple[str, str]] = set()
    for name, scope, text in defined(book):
        if name.startswith("_xlnm.") and text == "#REF!":
            continue  # as Gnumeric says of each sheet that all of it is printed
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


@rule(35, "Planner's links lead to what they name.")
def links(book: Book) -> Iterator[Fault]:
    """Hyperlinks that inserted rows or renamed sheets have broken: one note for all."""
    if found := list(wrong_links(book)):
        first, leads = found[0]
        many = f" and {counted(len(found) - 1, 'more link')}" if len(found) > 1 else ""
        verb = "lead" if many else "leads"
        what = f"the link to {leads}{many} {verb} to other cells than before rows were put in or a sheet was renamed"
        yield Fault(first.sheet, first.ref, f"{what}; planner update mends it", "update the workbook", "note")


@rule(36, "Dashboard's charts of all scenarios draw each of them.")
def charts(book: Book) -> Iterator[Fault]:
    """Scenarios moved in front of the charts' ranges: one note for all."""
    if columns := moved_in_front(book):
        table = book.dashboard
        names = ", ".join(book.owner(table.sheet.name, table.id_row, column)[1] for column in columns)
        what = f"the charts of all scenarios leave out {names}, in front of the others; planner update mends them"
        yield Fault(table.sheet.name, address(table.id_row, columns[0]), what, "update the workbook", "note")

"""Adds a sheet of values, notes and charts to an edited workbook, replacing an earlier one of its kind.

It is written like the sheets of a new workbook and then added to the file's package: its styles after the existing
ones, its charts as parts of their own. Other sheets, including the user's, stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from operator import attrgetter

from planner import progress
from planner.book.added_sheets import UNSIGNED, AddedSheet, added, mark, of_formats
from planner.book.sheet import Sheet
from planner.number_text import few
from planner.recalc import recalculate
from planner.workbook import cell_styles, saving
from planner.workbook.page import Page
from planner.xlsx import chart_caches
from planner.xlsx.address import MAX_ROW, Area, folded
from planner.xlsx.moves import Moves
from planner.xlsx.opc import Package
from planner.xlsx.references import references
from planner.xlsx.relationships import copy_part, drop_linked, link
from planner.xlsx.sheet_rules import without_drawing
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.styles import Look, Stylesheet, looks_of, take_all
from planner.xlsx.workbook_part import add_sheet, drop_names, parse_sheets, refuse_strict, take_names
from planner.xlsx.xmltree import every

MARK_ROW = 3
FIRST_ROW = 5  # the first row for the writer
LONGEST_NAME = 31
NAMED = 4  # most cells to name
_UNNAMED = re.compile(r"[\\/*?:\[\]]|^'|'$")  # what a sheet name can't contain
DIGITS = 15  # significant digits that every spreadsheet program keeps


def put(
    package: Package,
    kind: str,
    purpose: str,
    write: Callable[[Page], None],
    may_replace: Callable[[AddedSheet], bool] = attrgetter("is_as_written"),
) -> str:
    """Add a sheet of a kind, such as `Search`, to a package, in place; returns its name.

    `purpose` is the line below its title. `write` fills the page from `FIRST_ROW` on: cells, links, charts, widths,
    frozen panes. Its formulas are computed with the whole workbook. An earlier sheet of the same kind is replaced where
    it is, if the user didn't type or draw on it (or only what `may_replace` allows); otherwise the new one goes to the
    end, with a number appended to its name if needed. Raises UserError as reading a package's sheets does, and for a
    Strict Open XML file.
    """
    refuse_strict(package)
    sheets = {name: Sheet(name, at, xml) for at, (name, xml) in enumerate(parse_sheets(package).items())}
    same = (each for each in added(sheets.values()) if each.kind == kind and may_replace(each))
    old = next((each.sheet.name for each in same if _is_alone(package, each)), None)
    name = old or _free_sheet(package, kind)
    book = cell_styles.new_book()
    page = Page(book, name, kind, purpose, titles=f"{FIRST_ROW}:{FIRST_ROW}")
    page.links = {(1, 1): "Cover!A1"} if "Cover" in sheets else {}
    write(page)
    _round(page)
    page.put(MARK_ROW, 1, mark(kind, len(page.sheet._charts)), "plan_text")
    page.finish(None)
    _take_in(package, saving.write(book, [page]).package, name, is_new=old is None)
    reads = list(_reads(sheets, name))
    others = _other_lines(sheets[name], page) - {MARK_ROW} if old else set[int]()
    misled = [cell for cell, area in reads if len(area.rows) < MAX_ROW and not others.isdisjoint(area.rows)]
    if misled:
        progress.warn(
            f"{name} is written anew: {few([*dict.fromkeys(misled)], NAMED)} may read other lines than before"
        )
    if list(page.grid.formulas()) or reads:
        recalculate(package)
    chart_caches.refresh(package)
    return name


def _round(page: Page) -> None:
    """Round a page's numbers to 15 digits, so that they survive programs that save 15 to 17."""
    for (row, column), (_, _, look, value) in list(page.filled.items()):
        if isinstance(value, float):
            page.grid.put(row, column, float(f"{value:.{DIGITS}g}"), look)


def _is_alone(package: Package, sheet: AddedSheet) -> bool:
    """Whether a sheet has nothing but what planner wrote: no notes, pictures, tables or controls, no other format."""
    found = package.relationships(package.sheets()[sheet.sheet.name])
    drawings = [each.target for each in found if each.kind == "drawing"]
    drawn = [each.kind for drawing in drawings for each in package.relationships(drawing)]
    shapes = [one for drawing in drawings for one in every(package.tree(drawing), "sp", "pic", "cxnSp")]
    kinds = {each.kind for each in found} - {"drawing", "printerSettings"}
    return drawn == ["chart"] * sheet.charts and not (kinds or shapes or _is_formatted(package, sheet))


def _is_formatted(package: Package, sheet: AddedSheet) -> bool:
    """Whether a cell's font, fill or border isn't its named style's, or its number format isn't what planner wrote.

    Both are compared as the file has them: a program that saves it writes cells and their styles alike. One that drops
    the named styles says nothing about who formatted a cell.
    """
    found = Stylesheet.of(package)
    looks, named = (found[1].looks, found[1].named) if found else ([], {})
    used = {looks[at] for cell in sheet.sheet.cells.values() if (at := cell.style or 0) < len(looks)}
    if not any(look.style.startswith(cell_styles.PREFIX) for look in used):
        return False
    if sheet.formats and sheet.formats != of_formats(sheet.sheet, looks):
        return True
    return any(_drawn(look) != _drawn(named.get(look.style, look)) for look in used)


def _drawn(look: Look) -> tuple[str, str, str]:
    return look.font, look.fill, look.border


def _free_sheet(package: Package, kind: str) -> str:
    """The kind as a sheet name, with a number appended if a sheet or chart sheet has that name."""
    kind = _UNNAMED.sub("_", kind)
    taken = {folded(one.get("name", "")) for one in every(package.tree(package.workbook_part()), "sheet")}
    names = (kind[:LONGEST_NAME], *(f"{kind[: LONGEST_NAME - 4]} {number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if folded(name) not in taken)


def _take_in(package: Package, fresh: Package, name: str, *, is_new: bool) -> None:
    """Copy the only sheet of a fresh package into another one."""
    theirs = fresh.sheets()[name]
    sheet = without_drawing(_signed(fresh, theirs), *take_all(package, fresh))
    if is_new:
        part = add_sheet(package, name, sheet.xml(), None)
    else:
        part = package.sheets()[name]
        drop_linked(package, part)
        drop_names(package, name)
    for found in fresh.relationships(theirs):
        if found.kind == "drawing":
            sheet.link("drawing", link(package, part, "drawing", copy_part(package, fresh, found.target, bytes)))
    package.replace(part, sheet.xml())
    take_names(package, fresh, Moves({}), [name])


def _signed(fresh: Package, part: str) -> bytes:
    """A sheet's XML with the digests of its cells and of their number formats in its mark."""
    xml = fresh.parts[part]
    (found,) = added([Sheet("", 0, SheetXml(xml, []))])
    for digest in (found.digest, of_formats(found.sheet, looks_of(fresh))):
        xml = xml.replace(UNSIGNED.encode(), digest.encode(), 1)
    return xml


def _reads(sheets: dict[str, Sheet], name: str) -> Iterator[tuple[str, Area]]:
    """The cells of other sheets that read this one, each with the cells that it reads."""
    for other, sheet in sheets.items():
        for ref, cell in sheet.xml.cells.items() if other != name else ():
            if cell.formula and name in cell.formula:
                found = (read for read in references(cell.formula) if folded(read.sheet) == folded(name))
                yield from ((f"{other}!{ref}", read.area) for read in found)


def _other_lines(before: Sheet, page: Page) -> set[int]:
    """The rows of a sheet whose text in column A is another on the page that replaces it."""
    now = {row: value for (row, column), (_, _, _, value) in page.filled.items() if column == 1}
    labels = {row: value for (row, column), value in before.values.items() if column == 1}
    return {row for row, label in labels.items() if isinstance(label, str) and label != now.get(row)}

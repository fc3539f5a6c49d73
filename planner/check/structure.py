"""Rules of the whole: which sheets, what Cover says, links, nothing hidden, panes (1 to 5, 7, 8, 30)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planner.book.line_tables import HEADER, LineTable
from planner.book.sheet import SEARCHED, Sheet
from planner.book.workbook import Book
from planner.check.findings import Fault, rule
from planner.xlsx.address import Area, Position, address
from planner.xlsx.sheetname import quoted, unquoted
from planner.xlsx.xmltree import local_name

COVER_SAYS = ("Version", "Made on", "Failed checks", "Sheets", "Colours", "Made from (SHA-256)")
VERSION, LOG_HEADER_ROW = 1, 5
TITLE_AND_PURPOSE = 2  # texts above the rest


@rule(1, "The sheets and their order are the design's.")
def order(book: Book) -> Iterator[Fault]:
    """One of planner's sheets that is gone or stands elsewhere; an analyst's own sheets may stand anywhere."""
    designed = book.designed
    for name in book.needed:
        if name not in designed:
            yield Fault("", "", f"the sheet {name} is missing", "take it from a fresh build, or undo the deletion")
    for name, sheet in designed.items():
        if name != sheet.name:
            yield Fault(sheet.name, "", f"the sheet {name} is called {sheet.name} now", "nothing needs doing", "note")
    present = sorted(designed.values(), key=lambda sheet: sheet.position)
    wanted = list(designed.values())
    if present != wanted:
        first = next(sheet for sheet, other in zip(present, wanted, strict=True) if sheet is not other)
        names = ", ".join(sheet.name for sheet in wanted)
        yield Fault(first.name, "", f"the sheets stand in another order than {names}", "move it back")


@rule(2, "Cover has title, purpose, version, date, generator version, hash of each source CSV and template, colour "
         "key, live count of failed checks.")  # fmt: skip
def cover(book: Book) -> Iterator[Fault]:
    """What Cover ought to say and doesn't."""
    sheet = book.designed.get("Cover")
    if sheet is None:
        return
    said = {sheet.text(*at) for at in sheet.cells}
    missing = [title for title in COVER_SAYS if title not in said]
    version = min((row for row, column in sheet.cells if sheet.text(row, column) == COVER_SAYS[0]), default=SEARCHED)
    if len([at for at in sheet.cells if at[0] < version and sheet.text(*at)]) < TITLE_AND_PURPOSE:
        missing.append("a title and a purpose")
    hashes = [at for at in sheet.cells if re.fullmatch(r"[0-9a-f]{64}", sheet.text(*at))]
    if not hashes:
        missing.append("the hash of each source")
    if missing:
        yield Fault(sheet.name, "A1", f"Cover doesn't say: {', '.join(missing)}", "copy Cover from a fresh build")


@rule(3, "Cover links to every sheet; every sheet's A1 links back.")
def links(book: Book) -> Iterator[Fault]:
    """A sheet that Cover has no link to, or that has none back; a link to a renamed sheet's old name is noted."""
    front = book.designed.get("Cover")
    if front is None:
        return
    old = {sheet.name: name for name, sheet in book.designed.items() if name != sheet.name}
    targets = {_target(link.get("location", "")) for link in front.elements("hyperlink")}
    for sheet in (*book.our_sheets, *(found for name, found in book.designed.items() if name == "Log")):
        if sheet.name not in targets:
            what, remedy = f"Cover has no link to {sheet.name}", "link the sheet's name on Cover to it"
            was = old.get(sheet.name, sheet.title)
            renamed = was in targets and was not in book.sheets
            yield Fault(front.name, "", what, remedy, "note" if renamed else "fault")
        corner = address(*sheet.title_at)
        back = {_target(link.get("location", "")) for link in sheet.elements("hyperlink") if link.get("ref") == corner}
        if front.name not in back:
            what, remedy = f"{corner} doesn't link back to {front.name}", f"link it to {front.name}!A1"
            yield Fault(sheet.name, corner, what, remedy, "note" if old.get(front.name) in back else "fault")


def _target(location: str) -> str:
    return unquoted(location.rpartition("!")[0])


@rule(4, "Nothing is hidden: no hidden sheet, row or column (grouped and collapsible is fine).")
def hidden(book: Book) -> Iterator[Fault]:
    """A sheet, a row or a column that a reader can't see."""
    for element in book.package.tree(book.package.workbook_part()).iter():
        if local_name(element) == "sheet" and element.get("state", "visible") != "visible":
            yield Fault(element.get("name", ""), "", "the sheet is hidden", "show it")
    for sheet in book.our_sheets:
        for row in sheet.hidden_rows:
            yield Fault(sheet.name, address(row, 1), f"row {row} is hidden", "show it, or group it")
        for column in sheet.elements("col"):
            if column.get("hidden") in ("1", "true") and column.get("outlineLevel", "0") == "0":
                first = int(column.get("min", "1"))
                yield Fault(sheet.name, address(1, first), "the column is hidden", "show it, or group it")


@rule(5, "Sheet names need no quotes in a reference.")
def names(book: Book) -> Iterator[Fault]:
    """A name of one of planner's sheets that a reference has to quote; one that an analyst gave it is noted."""
    for sheet in book.our_sheets:
        if quoted(sheet.name) != sheet.name:
            what, remedy = f"a reference to {sheet.name!r} needs quotes", "use letters, digits and _, as no cell has"
            yield Fault(sheet.name, "", what, remedy, "fault" if sheet.title == sheet.name else "note")


@rule(7, "Panes are frozen at the first scenario cell.")
def panes(book: Book) -> Iterator[Fault]:
    """A sheet of scenarios whose panes are frozen elsewhere; none at all is noted: some programs save none."""
    for table in book.by_scenario:
        corner = address(*_corner(table))
        pane = next(iter(table.sheet.elements("pane")), None)
        if pane is None or pane.get("state") not in ("frozen", "frozenSplit"):
            yield Fault(table.sheet.name, corner, "panes are not frozen", f"freeze them at {corner}", "note")
        elif (at := pane.get("topLeftCell", "")) != corner:
            yield Fault(table.sheet.name, corner, f"panes are frozen at {at}", f"freeze them at {corner}")


def _corner(table: LineTable) -> Position:
    """The first scenario's cell below the header rows, where panes are frozen."""
    rows = [line.row for line in table.lines if line.name in HEADER]
    return max(rows, default=table.head.row) + 1, table.columns[0] if table.columns else table.head.fifth + 1


@rule(8, "No merged cells; no blank column inside a table.")
def merged(book: Book) -> Iterator[Fault]:
    """Merged cells that touch a table, and a table's column without a title."""
    for sheet in book.our_sheets:
        used = {row for row, _ in sheet.cells}
        for merge in sheet.elements("mergeCell"):
            area = Area.parse(merge.get("ref", "A1"))
            if area.top <= max(used, default=0):
                yield Fault(sheet.name, address(area.top, area.left), f"{area} is merged", "unmerge it")
    for database in book.databases.values():
        columns = set(database.columns.values())
        for column in set(range(database.id_column, max(columns) + 1)) - columns:
            yield Fault(
                database.sheet.name,
                address(database.header_row, column),
                "a blank column inside the table",
                "delete it",
            )


@rule(30, "The Log's last version is the Cover's; two builds of the same inputs with the same SOURCE_DATE_EPOCH are "
          "byte-identical under any path, locale, time zone and hash seed.")  # fmt: skip
def log(book: Book) -> Iterator[Fault]:
    """A Log whose last version is another than Cover's."""
    cover, log_sheet = book.designed.get("Cover"), book.designed.get("Log")
    if cover is None or log_sheet is None:
        return
    stated = next((_beside(cover, at) for at in sorted(cover.cells) if cover.text(*at) == "Version"), "")
    heads = (at for at in sorted(log_sheet.cells) if log_sheet.text(*at) == "Version")
    header, version = next(heads, (LOG_HEADER_ROW, VERSION))
    rows = sorted(row for row, column in log_sheet.cells if column == version and row > header)
    versions = [(row, text) for row in rows if (text := log_sheet.text(row, version))]
    if versions and versions[-1][1] != stated:
        row, last = versions[-1]
        what = f"the last version is {last}, and Cover says {stated}"
        yield Fault(log_sheet.name, address(row, version), what, "make them agree")


def _beside(sheet: Sheet, at: Position) -> str:
    """The first thing that stands to the right of a cell, as text."""
    right = (column for row, column in sorted(sheet.cells) if row == at[0] and column > at[1])
    return next((str(value) for column in right if (value := sheet.value(at[0], column)) not in (None, "")), "")

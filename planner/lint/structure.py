"""Rules of the whole: which sheets, what Cover says, links, nothing hidden, panes (1 to 5, 7, 8, 30)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planner.lint.book import CASE_SHEETS, DATABASES, Book, Sheet
from planner.lint.findings import Fault, rule
from planner.lint.frame import Frame
from planner.lint.tables import FIRST_SCENARIO
from planner.xlsx.address import Area, address
from planner.xlsx.opc import local_name

PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
CELL_NAME = re.compile(r"[A-Za-z]{1,3}[0-9]+|[Rr][0-9]*[Cc][0-9]*|[Rr]|[Cc]")
FIRST_CELL = address(8, FIRST_SCENARIO)  # the first scenario cell below the header rows
COVER_SAYS = ("Version", "Made on", "Failed checks", "Sheets", "Colours", "Made from (SHA-256)")
VERSION, LOG_HEADER_ROW = 1, 5


@rule(1, "The sheets and their order are the design's.")
def order(book: Book) -> Iterator[Fault]:
    """One of planner's sheets that is gone or stands elsewhere; an analyst's own sheets may stand anywhere."""
    calculations = [table.sheet.name for table in book.calculations]
    design = ["Cover", "Dashboard", "Inputs", *DATABASES, *calculations, *CASE_SHEETS, "Checks", "Log"]
    needed = [name for name in design if name not in CASE_SHEETS]
    for name in needed:
        if name not in book.sheets:
            yield Fault("", "", f"the sheet {name} is missing", "build the workbook anew, and keep your inputs")
    present = [name for name in book.sheets if name in design]
    wanted = [name for name in design if name in book.sheets]
    if present != wanted:
        first = next(name for name, other in zip(present, wanted, strict=True) if name != other)
        yield Fault(first, "", f"the sheets stand in another order than {', '.join(wanted)}", "move it back")


@rule(2, "Cover has title, purpose, version, date, generator version, hash of each source CSV and template, colour "
         "key, live count of failed checks.")  # fmt: skip
def cover(book: Book) -> Iterator[Fault]:
    """What Cover ought to say and doesn't."""
    sheet = book.sheets.get("Cover")
    if sheet is None:
        return
    said = {sheet.text(row, column) for row, column in sheet.cells if column == 1}
    missing = [title for title in COVER_SAYS if title not in said]
    if not sheet.text(1, 1) or not sheet.text(2, 1):
        missing.append("a title and a purpose")
    hashes = [at for at in sheet.cells if at[1] == 2 and re.fullmatch(r"[0-9a-f]{64}", sheet.text(*at))]
    if not hashes:
        missing.append("the hash of each source")
    if missing:
        yield Fault("Cover", "A1", f"Cover doesn't say: {', '.join(missing)}", "copy Cover from a fresh build")


@rule(3, "Cover links to every sheet; every sheet's A1 links back.")
def links(book: Book) -> Iterator[Fault]:
    """A sheet that Cover has no link to, or whose A1 has none back."""
    if "Cover" not in book.sheets:
        return
    targets = {_target(link.get("location", "")) for link in Frame(book.sheets["Cover"]).all("hyperlink")}
    for sheet in (*book.our_sheets, *(book.sheets[name] for name in ("Log",) if name in book.sheets)):
        if sheet.name not in targets:
            yield Fault("Cover", "", f"Cover has no link to {sheet.name}", "link the sheet's name on Cover to it")
        back = [link for link in Frame(sheet).all("hyperlink") if link.get("ref") == "A1"]
        if not any(_target(link.get("location", "")) == "Cover" for link in back):
            yield Fault(sheet.name, "A1", "A1 doesn't link back to Cover", "link it to Cover!A1")


def _target(location: str) -> str:
    return location.rpartition("!")[0].strip("'").replace("''", "'")


@rule(4, "Nothing is hidden: no hidden sheet, row or column (grouped and collapsible is fine).")
def hidden(book: Book) -> Iterator[Fault]:
    """A sheet, a row or a column that a reader can't see."""
    for element in book.package.tree(book.package.workbook_part()).iter():
        if local_name(element) == "sheet" and element.get("state", "visible") != "visible":
            yield Fault(element.get("name", ""), "", "the sheet is hidden", "show it")
    for sheet in book.our_sheets:
        frame = Frame(sheet)
        for row in frame.hidden_rows:
            yield Fault(sheet.name, address(row, 1), f"row {row} is hidden", "show it, or group it")
        for column in frame.all("col"):
            if column.get("hidden") in ("1", "true") and not column.get("outlineLevel"):
                first = int(column.get("min", "1"))
                yield Fault(sheet.name, address(1, first), "the column is hidden", "show it, or group it")


@rule(5, "Sheet names need no quotes in a reference.")
def names(book: Book) -> Iterator[Fault]:
    """A name of one of planner's sheets that a reference has to quote."""
    for sheet in book.our_sheets:
        if not PLAIN_NAME.fullmatch(sheet.name) or CELL_NAME.fullmatch(sheet.name):
            what = f"a reference to {sheet.name!r} needs quotes"
            yield Fault(sheet.name, "", what, "use letters, digits and _, and nothing that reads as a cell")


@rule(7, "Panes are frozen at the first scenario cell.")
def panes(book: Book) -> Iterator[Fault]:
    """A sheet of scenarios whose panes are frozen elsewhere; none at all is noted: some programs save none."""
    for table in (book.inputs, book.dashboard, *book.calculations, book.checks):
        pane = Frame(table.sheet).first("pane")
        if pane is None or pane.get("state") not in ("frozen", "frozenSplit"):
            yield Fault(table.sheet.name, FIRST_CELL, "panes are not frozen", f"freeze them at {FIRST_CELL}", "note")
        elif (at := pane.get("topLeftCell", "")) != FIRST_CELL:
            yield Fault(table.sheet.name, FIRST_CELL, f"panes are frozen at {at}", f"freeze them at {FIRST_CELL}")


@rule(8, "No merged cells; no blank column inside a table.")
def merged(book: Book) -> Iterator[Fault]:
    """Merged cells that touch a table, and a table's column without a title."""
    for sheet in book.our_sheets:
        used = {row for row, _ in sheet.cells}
        for merge in Frame(sheet).all("mergeCell"):
            area = Area.parse(merge.get("ref", "A1"))
            if area.top <= max(used, default=0):
                yield Fault(sheet.name, address(area.top, area.left), f"{area} is merged", "unmerge it")
    for database in book.databases.values():
        columns = set(database.columns.values())
        for column in set(range(1, max(columns) + 1)) - columns:
            yield Fault(database.sheet.name, address(5, column), "a blank column inside the table", "delete it")


@rule(30, "The Log's last version is the Cover's; two builds of the same inputs with the same SOURCE_DATE_EPOCH are "
          "byte-identical under any path, locale, time zone and hash seed.")  # fmt: skip
def log(book: Book) -> Iterator[Fault]:
    """A Log whose last version is another than Cover's."""
    cover, log_sheet = book.sheets.get("Cover"), book.sheets.get("Log")
    if cover is None or log_sheet is None:
        return
    stated = next((_shown(cover, row) for row, column in cover.cells if cover.text(row, column) == "Version"), "")
    rows = sorted(row for row, column in log_sheet.cells if column == VERSION and row > LOG_HEADER_ROW)
    versions = [text for row in rows if (text := log_sheet.text(row, VERSION))]
    if versions and versions[-1] != stated:
        cell = address(rows[-1], VERSION)
        yield Fault("Log", cell, f"the last version is {versions[-1]}, and Cover says {stated}", "make them agree")


def _shown(sheet: Sheet, row: int) -> str:
    return str(sheet.value(row, 2) or "")

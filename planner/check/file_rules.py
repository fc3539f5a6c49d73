"""Rules about the file and its sheets: complete, in order, visible, intact, without
active content (1, 4, 8, 18, 33).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from planner.book.sheet import Sheet
from planner.book.workbook import Book
from planner.check.findings import Fault, rule
from planner.compare.comparison_sheet import NO_NAMES, SHEET, UNDO_NAMES, found_in
from planner.terminal_table import counted
from planner.xlsx.address import Area, address
from planner.xlsx.opc import Package
from planner.xlsx.xmltree import every, local_name

FOREIGN = {
    "externalLink": ("a link to another workbook", "paste its values; Data > Edit Links lists it"),
    "externalLinkPath": ("a link to another workbook", "paste its values; Data > Edit Links lists it"),
    "connections": ("a connection to data outside", "paste the data's values; Data > Queries & Connections lists it"),
    "queryTable": ("a query of data outside", "paste the data's values"),
    "vbaProject": ("macros", "save it as .xlsx, which has none"),
    "xlMacrosheet": ("a macro sheet", "delete the sheet"),
}
"""What a relationship of each type brings in, and the remedy."""

_DOCUMENT = "application/vnd.openxmlformats-officedocument."
_WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml."
CONTENT_TYPES = {
    "officeDocument": (
        _WORKBOOK + "sheet.main+xml",
        _WORKBOOK + "template.main+xml",
        "application/vnd.ms-excel.sheet.macroEnabled.main+xml",
        "application/vnd.ms-excel.template.macroEnabled.main+xml",
    ),
    "worksheet": (_WORKBOOK + "worksheet+xml",),
    "chartsheet": (_WORKBOOK + "chartsheet+xml",),
    "styles": (_WORKBOOK + "styles+xml",),
    "sharedStrings": (_WORKBOOK + "sharedStrings+xml",),
    "comments": (_WORKBOOK + "comments+xml",),
    "table": (_WORKBOOK + "table+xml",),
    "calcChain": (_WORKBOOK + "calcChain+xml",),
    "pivotTable": (_WORKBOOK + "pivotTable+xml",),
    "theme": (_DOCUMENT + "theme+xml",),
    "drawing": (_DOCUMENT + "drawing+xml",),
    "chart": (_DOCUMENT + "drawingml.chart+xml",),
    "vmlDrawing": (_DOCUMENT + "vmlDrawing",),
    "threadedComment": ("application/vnd.ms-excel.threadedcomments+xml",),
}
"""The allowed content types of a part, by the type of the relationship that leads to it; others may have any."""

CONTENT_LIST = "[Content_Types].xml"
REPAIR = "open and save it in a program that reads it, such as LibreOffice, or go back to an earlier copy"


@rule(1, "The sheets and their order are the design's.")
def order(book: Book) -> Iterator[Fault]:
    """Sheets of planner's that are missing or out of order; an analyst's own sheets may be anywhere."""
    designed = book.designed
    for name in book.needed:
        if name not in designed and name in book.sheets and book.sheets[name].cells:
            what = f"the sheet {name} has no row of titles any more"
            yield Fault(name, "", what, "type them again, as a fresh build has them")
        elif name not in designed:
            yield Fault("", "", f"the sheet {name} is missing", "take it from a fresh build, or undo the deletion")
    for name, sheet in designed.items():
        if name != sheet.name:
            yield Fault(sheet.name, "", f"the sheet {name} is called {sheet.name} now", "nothing needs doing", "note")
    comparison = designed.get(SHEET)
    if comparison is not None and found_in(book.package, book.parsed) is None:
        yield Fault(comparison.name, "", NO_NAMES.format(comparison.name), UNDO_NAMES)
    present = sorted(designed.values(), key=lambda sheet: sheet.position)
    wanted = list(designed.values())
    if present != wanted:
        first = next(sheet for sheet, other in zip(present, wanted, strict=True) if sheet is not other)
        names = ", ".join(sheet.name for sheet in wanted)
        yield Fault(first.name, "", f"the sheets stand in another order than {names}", "move it back")


@rule(4, "Nothing is hidden: no hidden sheet, row or column (grouped and collapsible is fine).")
def hidden(book: Book) -> Iterator[Fault]:
    """Hidden sheets, rows and columns."""
    for element in every(book.package.tree(book.package.workbook_part()), "sheet"):
        if element.get("state", "visible") != "visible":
            yield Fault(element.get("name", ""), "", "the sheet is hidden", "show it")
    for sheet in book.our_sheets:
        filtered = _filtered(book, sheet)
        if left_out := [row for row in sheet.hidden_rows if row in filtered]:
            what = f"a filter hides {counted(len(left_out), 'row')}"
            yield Fault(sheet.name, address(left_out[0], 1), what, "clear it: Data > Clear, or Data > Reset Filter")
        for row in (row for row in sheet.hidden_rows if row not in filtered):
            yield Fault(sheet.name, address(row, 1), "the row is hidden", "show it, or group it")
        for column in sheet.elements("col"):
            if column.get("hidden") in ("1", "true") and column.get("outlineLevel", "0") == "0":
                first = int(column.get("min", "1"))
                yield Fault(sheet.name, address(1, first), "the column is hidden", "show it, or group it")


def _filtered(book: Book, sheet: Sheet) -> Collection[int]:
    """The rows that active filters of a sheet and its tables may hide."""
    tables = (book.package.tree(part) for part in book.package.linked(book.package.sheets()[sheet.name], "table"))
    filters = [*sheet.elements("autoFilter"), *(found for table in tables for found in every(table, "autoFilter"))]
    areas = (Area.tried(each.get("ref", "")) for each in filters if list(every(each, "filterColumn")))
    return {row for area in areas if area for row in area.rows}


@rule(8, "No merged cells in a table: what stands below the first of them is lost or out of sight.")
def merged(book: Book) -> Iterator[Fault]:
    """Merged cells in the used rows of planner's sheets."""
    for sheet in book.our_sheets:
        for merge in sheet.elements("mergeCell"):
            area = Area.parse(merge.get("ref", "A1"))
            if area.top <= max(sheet.filled, default=0):
                yield Fault(sheet.name, address(area.top, area.left), f"{area} is merged", "unmerge it")


@rule(18, "No external links, connections, macros.")
def foreign_parts(book: Book) -> Iterator[Fault]:
    """Parts with external links, queries or code."""
    owners = {"": book.package.workbook_part(), **book.package.sheets()}  # the workbook, and its sheets by name
    for sheet, owner in owners.items():
        for link in book.package.relationships(owner):
            if link.kind in FOREIGN:
                what, remedy = FOREIGN[link.kind]
                yield Fault(sheet, "", f"the workbook has {what}: {link.target}", remedy)


@rule(33, "The file is whole: every part has the content type of what it is, and every relationship leads to a part.")
def whole(book: Book) -> Iterator[Fault]:
    """Parts with the wrong content type, and relationships to missing parts."""
    package = book.package
    sheets = {part: name for name, part in package.sheets().items()}
    types = _content_types(package)
    kinds: dict[str, str] = {}
    for owner in ("", *package.parts):
        for link in package.relationships(owner):
            if link.target in package.parts:
                kinds.setdefault(link.target, link.kind)
            elif link.kind != "hyperlink":  # a shape's link to a cell is written as a part's, `#Inputs!A1`
                what = f"{owner or 'the package'} has a relationship ({link.kind}) to {link.target}, which is missing"
                yield Fault(sheets.get(owner, ""), "", what, REPAIR)
    for part in package.parts:
        if part == CONTENT_LIST or part.endswith("/"):
            continue
        found, wanted = types.get(part, ""), CONTENT_TYPES.get(kinds.get(part, ""), ())
        if not found:
            what = f"{part} has no content type in {CONTENT_LIST}, and Excel calls the file damaged"
            yield Fault(sheets.get(part, ""), "", what, REPAIR)
        elif wanted and found.lower() not in map(str.lower, wanted):
            what = f"{part} has the content type {found} in {CONTENT_LIST}, not {wanted[0]}"
            yield Fault(sheets.get(part, ""), "", what, REPAIR)


def _content_types(package: Package) -> dict[str, str]:
    """The content type of each part, by its own entry or else its extension's; names are in lower case."""
    if CONTENT_LIST not in package.parts:
        return {}
    own: dict[str, str] = {}
    by_extension: dict[str, str] = {}
    for element in package.tree(CONTENT_LIST):
        said = element.get("ContentType", "")
        if local_name(element) == "Override":
            own[element.get("PartName", "").lstrip("/").lower()] = said
        elif local_name(element) == "Default":
            by_extension[element.get("Extension", "").lower()] = said
    extensions = {part: part.lower().rpartition(".")[2] for part in package.parts}
    return {part: own.get(part.lower()) or by_extension.get(extension, "") for part, extension in extensions.items()}

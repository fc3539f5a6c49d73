"""What reaches over all scenarios of a sheet reaches the next one too: its printed area, its formats, its validations.

Ranges of planner's formulas are sized ahead. A person's own formulas and charts stay as they are, and are named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from xml.sax.saxutils import escape, unescape

from planner.book.line_tables import LineTable
from planner.book.workbook import Book
from planner.update import frames
from planner.xlsx.address import Area, address, column_letters
from planner.xlsx.opc import Package
from planner.xlsx.sheetname import unquoted

_NAME = re.compile(rb"<(?:\w+:)?definedName\b([^>]*)>([^<]*)</(?:\w+:)?definedName>")
_PRINTED = re.compile(rb"""\sname=["']_xlnm\.Print_Area["']""")
_CALLED = re.compile(rb"""\sname=["']([^"']*)["']""")
_LOCAL = re.compile(rb"\slocalSheetId=")  # a name of one sheet alone, as a printed area is
_AREA = re.compile(r"((?:'(?:[^']|'')*'|[^\W\d][\w.]*)!)(\$?[A-Z]{1,3}\$?[0-9]+:\$?[A-Z]{1,3}\$?[0-9]+)")
_SQREF = re.compile(rb"""(\ssqref=)(["'])([^"']*)\2""")
_RULES = re.compile(rb"<(?:\w+:)?(?:conditionalFormatting|dataValidation)\s[^>]*>")
_CHART = re.compile(r"/(charts|chartex)/chart[^/]*\.xml$", re.IGNORECASE)
_FORMULA = re.compile(rb"<(?:\w+:)?f>([^<]*)</")


def grown(area: Area, table: LineTable, column: int) -> Area:
    """The area with one more column, where it ends at the last scenario of a table and holds them all."""
    first, last = table.columns[0], table.columns[-1]
    holds_all = area.left <= first and area.right == last
    return Area(area.top, area.left, area.bottom, column) if holds_all else area


def printed(package: Package, tables: Mapping[str, LineTable], columns: Mapping[str, int]) -> bytes:
    """The XML of the workbook with the printed areas grown; `tables` and `columns` are by the sheet's name."""

    def one(match: re.Match[str]) -> str:
        sheet = unquoted(match[1])
        if sheet not in tables:
            return match[0]
        area = Area.parse(match[2])
        wide = grown(area, tables[sheet], columns[sheet])
        return match[0] if wide is area else f"{match[1]}{_absolute(wide)}"

    def name(match: re.Match[bytes]) -> bytes:
        if not _PRINTED.search(match[1]):
            return match[0]
        text = _AREA.sub(one, unescape(match[2].decode()))
        return match[0].replace(b">" + match[2] + b"<", b">" + escape(text).encode() + b"<", 1)

    return _NAME.sub(name, package.parts[package.workbook_part()])


def _absolute(area: Area) -> str:
    return f"${column_letters(area.left)}${area.top}:${column_letters(area.right)}${area.bottom}"


def ruled(xml: bytes, table: LineTable, column: int) -> bytes:
    """A sheet's XML whose conditional formats and validations over all scenarios are for one more."""

    def area(text: str) -> str:
        try:
            found = Area.parse(text)
        except ValueError:
            return text
        wide = grown(found, table, column)
        return text if wide is found else str(wide)

    def sqref(match: re.Match[bytes]) -> bytes:
        areas = " ".join(map(area, match[3].decode().split()))
        return b"%b%b%b%b" % (match[1], match[2], areas.encode(), match[2])

    before, rows, behind = frames.split(xml)
    return before + rows + _RULES.sub(lambda match: _SQREF.sub(sqref, match[0]), behind)


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
    for match in _NAME.finditer(book.package.parts[book.package.workbook_part()]):
        called = _CALLED.search(match[1])
        areas = _AREA.finditer(unescape(match[2].decode()))
        if called and not _LOCAL.search(match[1]) and any(_is_of_before(area, tables) for area in areas):
            yield f"the name {called[1].decode()} stands for the scenarios of before, not the new one: widen its range"
    for part, xml in book.package.parts.items():
        if not _CHART.search(part):
            continue
        ranges = (match for text in _FORMULA.findall(xml) for match in _AREA.finditer(unescape(text.decode())))
        found = next((match[0] for match in ranges if _is_of_before(match, tables)), None)
        if found:
            yield f"a chart draws {found}, the scenarios of before: widen its ranges"


def _is_of_before(match: re.Match[str], tables: Mapping[str, LineTable]) -> bool:
    """Whether a reference with its sheet goes over all scenarios of before."""
    table = tables.get(unquoted(match[1]))
    return table is not None and _ends(Area.parse(match[2]), table)


def _ends(area: Area, table: LineTable) -> bool:
    """Whether an area goes over all scenarios, more than one, and ends at the last."""
    return area.left <= table.columns[0] < area.right == table.columns[-1]

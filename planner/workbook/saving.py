"""Saves the pages of a workbook as a package: openpyxl writes everything except cells and links, which are text.

Writing cells through openpyxl would take most of a large build's time, and would leave every formula without a value.
The parts that it writes are corrected to follow the schema and suit every program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache, partial
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipInfo

from openpyxl.drawing.spreadsheet_drawing import SpreadsheetDrawing
from openpyxl.workbook import Workbook
from openpyxl.worksheet._writer import WorksheetWriter
from openpyxl.worksheet.worksheet import Worksheet
from openpyxl.writer.excel import ExcelWriter

from planner import __version__
from planner.dates import made_now
from planner.workbook.page import Page
from planner.xlsx.address import Area, Position, address
from planner.xlsx.chart_caches import make_room
from planner.xlsx.drawings import charts_of
from planner.xlsx.grid import SHORT, Block, Grid
from planner.xlsx.markup import escaped
from planner.xlsx.opc import Package
from planner.xlsx.relationships import OFFICE, shorten_ways
from planner.xlsx.xmltree import declare, parse, written

_ROWS = re.compile(rb"<sheetData\s*/>|<sheetData>.*</sheetData>", re.DOTALL)
_DIMENSION = re.compile(rb"<dimension [^>]*>")
_BEHIND_IGNORED = re.compile(rb"<(?:drawing|legacyDrawing|tableParts)\b|</worksheet>")
_BEHIND_LINKS = re.compile(rb"<(?:printOptions|pageMargins)\b")  # elements after links; one is always there
_FONT, _OF_FONT = re.compile(rb"<font>(.*?)</font>"), re.compile(rb"(<(\w+)[^>]*/>)")
_ORDER = (
    b"b", b"i", b"strike", b"condense", b"extend", b"outline", b"shadow", b"u", b"vertAlign", b"sz", b"color", b"name",
    b"family", b"charset", b"scheme",
)  # fmt: skip
_NAMESPACES = {
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
    "r": OFFICE,
}
_PLAIN_TAG = re.compile(rb"<(/?)(?=[A-Za-z]+[\s/>])")
_TITLES = re.compile(rb'(name="_xlnm.Print_Titles"[^>]*>)([^,<]*![$][0-9][^,<]*),([^,<]*)<')
_BLANK = re.compile(rb'(<c r="[A-Z]+[0-9]+"(?: s="[0-9]+")?) t="n"(?=/>|></c>)')  # IronCalc would read it as 0
_NO_TEXT = re.compile(rb"<(?:odd|even|first)(?:Header|Footer)(?:/>|></\w+>)")


@dataclass
class Written:
    """A package whose cells can be written again with the values of their formulas."""

    package: Package
    grids: Mapping[str, Grid]
    _heights: Mapping[str, Mapping[int, Mapping[str, str]]] = field(repr=False)
    _frames: Mapping[str, tuple[bytes, bytes]] = field(repr=False)  # the XML before and after a sheet's rows

    def put_values(self, values: Mapping[str, Block]) -> None:
        """Write every cell, each formula with its value if it has one."""
        for name, part in self.package.sheets().items():
            before, behind = self._frames[name]
            rows = self.grids[name].sheet_data(values.get(name), self._heights[name])
            self.package.replace(part, before + rows + behind)


def write(book: Workbook, pages: Sequence[Page]) -> Written:
    """The workbook, with formulas without values. An Excel table must name its columns: openpyxl has no cells of it."""
    grids = {page.name: page.grid for page in pages}
    heights = {page.name: {row: look.attributes for row, look in page.rows.items()} for page in pages}
    for page in pages:
        assert all(each._value is None for each in page.sheet._cells.values()), f"{page.name}: Page.put writes cells"
        page.sheet.row_dimensions = {}
    book.active.sheet_view.tabSelected = True
    made = made_now()
    book.properties.creator, book.properties.created = f"planner {__version__}", made.replace(tzinfo=None)
    package = _package(_Writer.parts_of(book))
    _date(package, made)
    parts = package.sheets()
    frames = {page.name: _frame(package.parts[parts[page.name]], page) for page in pages}
    written = Written(package, grids, heights, frames)
    written.put_values({})
    return written


def _date(package: Package, made: datetime) -> None:
    """Set the time of modification, for which openpyxl takes the time of saving, to the build's time."""
    part = "docProps/core.xml"
    stamp = f"{made:%Y-%m-%dT%H:%M:%SZ}".encode()
    package.replace(part, re.sub(rb"(<dcterms:modified[^>]*>)[^<]*", rb"\g<1>" + stamp, package.parts[part]))


def _linked(behind: bytes, links: Mapping[tuple[int, int], str]) -> bytes:
    """The XML after a sheet's rows with its links added; openpyxl would make several objects for each."""
    if not links:
        return behind
    written = (
        f'<hyperlink ref="{address(row, column)}" location="{escaped(to)}"/>'
        for (row, column), to in sorted(links.items())
    )
    element = f"<hyperlinks>{''.join(written)}</hyperlinks>".encode()
    match = _BEHIND_LINKS.search(behind)
    assert match is not None, "a sheet has margins"
    return behind[: match.start()] + element + behind[match.start() :]


class _Parts:
    """The parts that openpyxl writes, in its order: the methods of a zip file that it uses."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}

    def writestr(self, name: str, data: str | bytes) -> None:
        self.content[name] = data.encode() if isinstance(data, str) else data

    def namelist(self) -> list[str]:
        return list(self.content)

    def close(self) -> None:
        pass


class _Writer(ExcelWriter):  # type: ignore[misc]
    """openpyxl's writer, writing each sheet in memory instead of a temporary file."""

    @classmethod
    def parts_of(cls, book: Workbook) -> dict[str, bytes]:
        """Every part of the workbook, by name."""
        parts = _Parts()
        cls(book, parts).save()
        return parts.content

    def write_worksheet(self, ws: Worksheet) -> None:
        """As openpyxl's."""
        ws._drawing = SpreadsheetDrawing()
        ws._drawing.charts, ws._drawing.images = ws._charts, ws._images
        writer = WorksheetWriter(ws, BytesIO())
        writer.write()
        ws._rels = writer._rels
        self._archive.writestr(ws.path[1:], writer.out.getvalue())
        self.manifest.append(ws)


def _package(parts: dict[str, bytes]) -> Package:
    parts = {name: mended(name, xml) for name, xml in parts.items()}
    infos = {name: ZipInfo(name) for name in parts}
    for info in infos.values():
        info.compress_type, info.external_attr = ZIP_DEFLATED, 0o600 << 16
    return Package("plan.xlsx", parts, infos)


def _frame(xml: bytes, page: Page) -> tuple[bytes, bytes]:
    rows, columns = page.grid.size
    area = str(Area(1, 1, max(rows, 1), max(columns, 1))).encode()
    match = _ROWS.search(xml)
    assert match is not None, "a sheet has rows"
    before = _DIMENSION.sub(b'<dimension ref="%b"/>' % area, xml[: match.start()])
    behind = _linked(xml[match.end() :], page.links)
    at = _BEHIND_IGNORED.search(behind)
    assert at is not None, "a sheet ends"
    return before, behind[: at.start()] + ignored(page) + behind[at.start() :]


_OF_FORMULAS = 'evalError="1" formula="1" formulaRange="1"'
"""N/A stands for unknown numbers, formulas differ from row to row, and a range may end before a total."""
_OF_TEXTS = 'numberStoredAsText="1"'


def ignored(page: Page) -> bytes:
    """The element `ignoredErrors` of a page's sheet.

    For formulas it covers all cells, as far as the page's rules reach; for texts those that planner wrote, such as the
    unit 1. A number that the user types as text keeps its marker.
    """
    reach = [Area.parse(area) for areas, *_ in page.rules for area in areas.split()]
    bottom = max([page.grid.size[0], *(area.bottom for area in reach)])
    right = max([page.grid.size[1], *(area.right for area in reach)])
    areas_of = {_OF_FORMULAS: str(Area(1, 1, bottom, right)), _OF_TEXTS: " ".join(map(str, _runs(_numbers(page))))}
    each = (f'<ignoredError sqref="{areas}" {errors}/>' for errors, areas in areas_of.items() if areas)
    return f"<ignoredErrors>{''.join(each)}</ignoredErrors>".encode()


def _numbers(page: Page) -> Iterator[Position]:
    """The cells whose text is a number."""
    for at, (_, _, _, value) in page.filled.items():
        if type(value) is str and (_is_number if len(value) <= SHORT else _is_number.__wrapped__)(value):
            yield at


@lru_cache(maxsize=1 << 13)  # names, units and notes recur
def _is_number(text: str) -> bool:
    try:
        float(text.strip().removesuffix("%"))
    except ValueError:
        return False
    return True


def _runs(cells: Iterable[Position]) -> list[Area]:
    """The cells as areas, one for each vertical run."""
    runs: list[Area] = []
    for column, row in sorted((column, row) for row, column in cells):
        if runs and (runs[-1].left, runs[-1].bottom) == (column, row - 1):
            runs[-1] = runs[-1]._replace(bottom=row)
        else:
            runs.append(Area(row, column, row, column))
    return runs


def mended(name: str, xml: bytes) -> bytes:
    """A part of a new workbook, corrected."""
    return next((mend(xml) for start, mend in _MENDED.items() if name.startswith(start)), xml)


def mend(package: Package) -> None:
    """Correct the cells, styles, drawings and charts of a workbook that an older version built, in place.

    What another program wrote is correct already, and keeps its bytes; but charts without caches get them, and targets
    of a sheet's relationships become relative.
    """
    for name, xml in package.parts.items():
        if name.startswith(("xl/styles", "xl/drawings/drawing")):
            package.replace(name, mended(name, xml))
    for part in package.sheets().values():
        shorten_ways(package, part)
        package.replace(part, _BLANK.sub(rb"\1", package.parts[part]))
    for name in charts_of(package):
        if not any(word in package.parts[name] for word in (b"Cache>", b"Ignorable")):
            package.replace(name, _chart(package.parts[name]))


def _styles(xml: bytes) -> bytes:
    """The styles part with the elements of each font in schema order."""

    def ordered(font: re.Match[bytes]) -> bytes:
        said = _OF_FONT.findall(font[1])
        if b"".join(text for text, _ in said) != font[1] or not {name for _, name in said} <= set(_ORDER):
            return font[0]
        return b"<font>%b</font>" % b"".join(text for text, _ in sorted(said, key=lambda each: _ORDER.index(each[1])))

    return _FONT.sub(ordered, xml)


def _drawing(xml: bytes) -> bytes:
    """A drawing whose elements have the prefix `xdr`, by which exceljs recognizes them."""
    if xml.count(b" xmlns=") != 1:
        return xml
    root = parse(_PLAIN_TAG.sub(rb"<\1xdr:", xml).replace(b" xmlns=", b" xmlns:xdr=", 1))
    declare(root, _NAMESPACES)
    return written(root)


def _chart(xml: bytes) -> bytes:
    """A chart with caches for the cells that it draws."""
    root = parse(xml)
    make_room(root)
    declare(root, {"a": _NAMESPACES["a"]})
    return written(root)


_MENDED: dict[str, Callable[[bytes], bytes]] = {
    "xl/styles": _styles,
    "xl/drawings/drawing": _drawing,
    "xl/charts/chart": _chart,
    "xl/workbook": partial(_TITLES.sub, rb"\1\3,\2<"),  # in print titles, columns before rows
    "xl/worksheets/sheet": partial(_NO_TEXT.sub, b""),  # no headers and footers without a text
}

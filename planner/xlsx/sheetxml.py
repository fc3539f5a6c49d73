"""A sheet's XML and its cells, parsed row by row on demand; `sheetedit` puts values into it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import NamedTuple
from xml.parsers import expat

from planner.errors import UserError
from planner.xlsx.address import MAX_ROW, Area, address, column_number, coordinates
from planner.xlsx.cell import CELL, COLUMN, OWN_ATTRIBUTES, ROW, Cell, Span, cell_pattern
from planner.xlsx.markup import escaped, prefix
from planner.xlsx.references import DownwardFormula, copied_to

_MAIN = (
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    "http://purl.oclc.org/ooxml/spreadsheetml/main",  # "strict"
)
_TAGS = ("c", "f", "v", "is", "t", "rPh", "row", "sheetData", "dimension")
_LOCAL = {f"{namespace}}}{tag}": tag for namespace in _MAIN for tag in _TAGS}
_OPEN = b"<sheetData>"
_CELLS = b"(?:" + cell_pattern(COLUMN + rb"\1", keep=False) + b")*+"  # cells of the row whose number is group 1
_ROW = re.compile(b'<row r="(' + ROW + b')"' + OWN_ATTRIBUTES + b"(?:/>|>" + _CELLS + b"(</row>))")
_ROW_START = re.compile(rb'<row r="([0-9]+)"')
_REFS = re.compile(rb'<c r="([A-Z]+[0-9]+)"')
_DIGITS = b"0123456789"
_CONTROL = bytes({*range(32)} - {9, 10})


def plain_rows(xml: bytes) -> tuple[dict[int, Span], Span] | None:
    """The span of each row of a sheet, by number, and of all of them; None if its XML needs expat."""
    start, end = xml.find(_OPEN), xml.rfind(b"</sheetData>")
    if start < 0 or end < start or b"<!" in xml or len(xml.translate(None, _CONTROL)) != len(xml):
        return None
    refs = _REFS.findall(xml, start, end)
    if len(set(refs)) != len(refs):
        return None
    try:
        xml.decode("utf-8")
    except UnicodeDecodeError:
        return None
    rows: dict[int, Span] = {}
    at, number = start + len(_OPEN), 0
    for match in iter(_ROW.scanner(xml, at, end).match, None):  # type: ignore[attr-defined]
        begin, at = match.span()
        if not number < (number := int(match[1])) <= MAX_ROW:
            return None
        rows[number] = begin, at - len(match[2] or b"")
    return (rows, (start, end)) if at == end else None


class Scan:
    """The rows of a sheet as parsed by expat, with their cells by column, in file order.

    A cell of type s has its text if the shared `strings` are given, else the text's number. Raises UserError for
    malformed XML or another encoding than UTF-8, and for a repeated cell.
    """

    def __init__(self, xml: bytes, strings: Sequence[str] = ()) -> None:
        self.rows: dict[int, Span] = {}
        self.cells: dict[int, dict[int, Cell]] = {}
        self.data: Span = (-1, -1)
        self.dimension: tuple[Area, Span] | None = None
        self._strings = strings
        self._text: list[str] = []
        self._starts: dict[str, int] = {}
        self._own: dict[str, Mapping[str, str]] = {}  # the attributes of the open elements
        self._row, self._last, self._phonetic = 0, "", False
        if xml[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise UserError("the sheet's XML is not UTF-8")
        self._parser = parser = expat.ParserCreate(namespace_separator="}")
        parser.buffer_text = True
        parser.XmlDeclHandler = _refuse_encoding
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text.append
        try:
            parser.Parse(xml, True)
        except (expat.ExpatError, ValueError, IndexError) as error:
            raise UserError(f"the sheet is not sound ({error})") from error
        if self.data[0] < 0:
            raise UserError("the sheet is not sound (no sheetData)")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        tag = _LOCAL.get(name)
        if tag is None:
            return
        self._starts[tag], self._own[tag] = self._parser.CurrentByteIndex, attributes
        self._text.clear()
        if tag == "c":
            self._value: str | None = None
            self._formula: str | None = None
            self._spans: dict[str, Span] = {}
        elif tag == "is":
            self._value = ""
        elif tag == "rPh":
            self._phonetic = True
        elif tag == "row":
            self._row, self._last = int(attributes.get("r", self._row + 1)), ""

    def _end(self, name: str) -> None:
        tag = _LOCAL.get(name)
        if tag is None:
            return
        span, text = (self._starts[tag], self._parser.CurrentByteIndex), "".join(self._text)
        if tag == "v":
            self._value, self._spans["value"] = text, span
        elif tag == "f":
            self._formula, self._spans["formula"] = text, span
        elif tag == "c":
            self._add_cell(span)
        elif tag == "t" and not self._phonetic:
            self._value = (self._value or "") + text
        elif tag == "is":
            self._spans["value"] = span
        elif tag == "rPh":
            self._phonetic = False
        elif tag == "row":
            self.rows[self._row] = span
        elif tag == "sheetData":
            self.data = span
        elif tag == "dimension":
            self.dimension = Area.parse(self._own["dimension"].get("ref", "")), span

    def _add_cell(self, span: Span) -> None:
        """Add a cell, rewritten in the usual form so that one regular expression parses all cells."""
        ref = self._own["c"].get("r") or self._next_ref()
        column = coordinates(ref)[1]  # or ValueError
        usual = f'<c r="{ref}"{self._attributes("c", "s", "t")}>'
        if self._formula is not None:
            usual += f"<f{self._attributes('f', 't', 'ref', 'si')}>{escaped(self._formula)}</f>"
        if self._value is not None:
            usual += f"<v>{escaped(self._value)}</v>"
        match = CELL.fullmatch(f"{usual}</c>".encode())
        if match is None:
            raise ValueError(f"{ref} is no cell")
        cells = self.cells.setdefault(self._row, {})
        if column in cells:
            raise UserError("the sheet has a cell twice")
        cells[column] = Cell(match, self._strings, (span, self._spans.get("formula"), self._spans.get("value")))
        self._last = ref

    def _attributes(self, tag: str, *names: str) -> str:
        own = self._own[tag]
        return "".join(f' {name}="{escaped(own[name])}"' for name in names if name in own)

    def _next_ref(self) -> str:
        """The address of a cell without one: right of the previous one."""
        return address(self._row, coordinates(self._last)[1] + 1 if self._last else 1)


def rows_as_plain(xml: bytes) -> tuple[dict[int, Span], Span]:
    """Like `plain_rows` for XML that is known to be plain: only the starts of rows are searched."""
    start, end = xml.find(_OPEN), xml.rfind(b"</sheetData>")
    found = [(int(match[1]), match.start()) for match in _ROW_START.finditer(xml, start, end)]
    ends = [*(at for _, at in found[1:]), end]
    close = b"</row>"  # missing for an empty row
    rows = {
        number: (at, stop - len(close) * xml.endswith(close, at, stop))
        for (number, at), stop in zip(found, ends, strict=True)
    }
    return rows, (start, end)


@cache
def _column(letters: bytes) -> int:
    return column_number(letters.decode())


def without_rows(xml: bytes, data: Span) -> bytes:
    """A sheet's XML without the content of its sheetData; `data` is the span of the rows."""
    return xml[: data[0] + len(_OPEN)] + xml[data[1] :]


def _refuse_encoding(_version: str, encoding: str | None, _standalone: int) -> None:
    if encoding is not None and encoding.lower() not in ("utf-8", "us-ascii"):
        raise UserError(f"the sheet's XML is {encoding}, not UTF-8")


class TemplateCell(NamedTuple):
    """A cell of a row to be copied: its style number, if it has one, and its formula."""

    style: int | None
    formula: DownwardFormula | None


class SheetXml:
    """A sheet's XML and the cells in it.

    `rows` has the span of each row by number, `data` that of all rows, `dimension` the declared area and its span;
    `arrays` has the range of each array formula or data table, whose other cells look like typed ones. `is_plain` says
    that its cells are written in the usual form, without comments between. Raises UserError for malformed XML.
    """

    def __init__(self, xml: bytes, strings: Sequence[str] = (), before: SheetXml | None = None) -> None:
        """`before` is the sheet from which `sheetedit` made this one, if any: what was verified for it still holds."""
        self.xml, self.strings = xml, strings
        self._read: dict[int, dict[int, Cell]] = {}  # parsed rows
        plain = rows_as_plain(xml) if before is not None and before.is_plain else plain_rows(xml)
        self.is_plain: bool = plain is not None
        scan = Scan(xml if plain is None else without_rows(xml, plain[1]), strings)
        self.rows, self.data = plain or (scan.rows, scan.data)
        self.dimension = scan.dimension
        if plain is None:
            self._read = scan.cells
        elif self.dimension is not None and self.dimension[1][0] > self.data[0]:
            self.dimension = None  # it must precede the cells
        self.prefix = prefix(xml, self.data[0])  # of its elements
        try:
            self.arrays = dict(self._arrays())
        except ValueError as error:
            raise UserError(f"the sheet is not sound ({error})") from error

    def _arrays(self) -> Iterator[tuple[str, Area]]:
        if self.is_plain and b't="array"' not in self.xml and b't="dataTable"' not in self.xml:
            return
        for ref, cell in self.cells.items():
            if cell.kind in ("array", "dataTable") and cell.area not in ("", ref, f"{ref}:{ref}"):
                yield ref, Area.parse(cell.area)

    @cached_property
    def row_numbers(self) -> list[int]:
        """The numbers of the rows in the file, in ascending order."""
        return sorted(self.rows)

    def row(self, number: int) -> dict[int, Cell]:
        """The cells of a row, by column."""
        if number not in self._read:
            found = CELL.finditer(self.xml, *self.rows[number]) if self.is_plain and number in self.rows else ()
            self._read[number] = {_column(match[1].rstrip(_DIGITS)): Cell(match, self.strings) for match in found}
        return self._read[number]

    def column(self, column: int, rows: Iterable[int]) -> list[Cell | None]:
        """The cells of a column in some rows; a row that wasn't parsed yet is only searched for this cell."""
        found: list[Cell | None] = []
        for number in rows:
            if number in self._read or not self.is_plain:
                found.append(self._read.get(number, {}).get(column))
            elif number not in self.rows:
                found.append(None)
            else:
                start, end = self.rows[number]
                at = self.xml.find(b'<c r="%s"' % address(number, column).encode(), start, end)
                match = CELL.match(self.xml, at, end) if at >= 0 else None
                found.append(match and Cell(match, self.strings))
        return found

    def forget(self) -> None:
        """Free the memory of parsed cells; they are parsed again on demand."""
        if self.is_plain:
            self._read.clear()

    def cell(self, ref: str) -> Cell | None:
        """The cell at an address; None if the file has none."""
        row, column = coordinates(ref)
        return self.row(row).get(column)

    @cached_property
    def cells(self) -> dict[str, Cell]:
        """Every cell by address, from top to bottom; for a few cells of a large sheet, `cell` is faster."""
        return {cell.ref: cell for number in self.row_numbers for cell in self.row(number).values()}

    @cached_property
    def n_formulas(self) -> int:
        """The number of cells with a formula."""
        if self.is_plain:
            return self.xml.count(b"<f", *self.data)
        return sum(bool(cell.kind) for cell in self.cells.values())

    def is_computed(self, ref: str) -> bool:
        """Whether the cell has a formula, or is in the range of an array formula or a data table."""
        cell = self.cell(ref)
        if cell is not None and cell.kind:
            return True
        return bool(self.arrays) and any(area.covers(*coordinates(ref)) for area in self.arrays.values())

    def template(self, number: int) -> dict[int, TemplateCell]:
        """The cells of a row, by column, ready to be copied into rows below it."""
        cells = self.row(number).items()
        return {column: TemplateCell(cell.style, self._downward(cell, number)) for column, cell in cells}

    def _downward(self, cell: Cell, row: int) -> DownwardFormula | None:
        """A cell's formula, to be copied down; None if it has none, or one that fills several cells.

        Only the anchor of a shared formula has its text.
        """
        if cell.kind not in ("normal", "shared"):
            return None
        text = self.formula_of(cell)
        return None if text is None else DownwardFormula.of(text, row)

    def formula_of(self, cell: Cell) -> str | None:
        """A cell's formula as it reads there, for a shared formula derived from its anchor; None for none."""
        if cell.formula or cell.kind != "shared":
            return cell.formula
        master = self._masters.get(cell.shared)
        return cell.formula if master is None else copied_to(master.formula or "", master.ref, cell.ref)

    @cached_property
    def _masters(self) -> dict[str, Cell]:
        """The anchor of each shared formula, by number."""
        return {cell.shared: cell for cell in self.cells.values() if cell.kind == "shared" and cell.formula}

    def filled_by(self, ref: str) -> list[str]:
        """The cells of the file that the formula in `ref` fills: itself, or an array's whole range."""
        area = self.arrays.get(ref)
        if area is None:
            return [ref]
        return [other for other in self.cells if area.covers(*coordinates(other))]

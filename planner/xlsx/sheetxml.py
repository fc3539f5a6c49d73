"""One sheet's XML and its cells, read row by row as they are asked for; `sheetedit` puts values into it."""

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
_CELLS = b"(?:" + cell_pattern(COLUMN + rb"\1", keep=False) + b")*+"  # of the row whose number is the first group
_ROW = re.compile(b'<row r="(' + ROW + b')"' + OWN_ATTRIBUTES + b"(?:/>|>" + _CELLS + b"(</row>))")
_ROW_START = re.compile(rb'<row r="([0-9]+)"')
_REFS = re.compile(rb'<c r="([A-Z]+[0-9]+)"')
_DIGITS = b"0123456789"
_CONTROL = bytes({*range(32)} - {9, 10})


def plain_rows(xml: bytes) -> tuple[dict[int, Span], Span] | None:
    """Where each row of a sheet stands, by number, and where all do; None where its XML is for expat."""
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
    """What expat finds in a sheet: its rows and their cells by column, in the order of the file.

    A cell of type s has the text itself where the shared `strings` are given, else the text's number.
    Raises UserError for XML that is not sound or not UTF-8, and for a cell that stands there twice.
    """

    def __init__(self, xml: bytes, strings: Sequence[str] = ()) -> None:
        self.rows: dict[int, Span] = {}
        self.cells: dict[int, dict[int, Cell]] = {}
        self.data: Span = (-1, -1)
        self.dimension: tuple[Area, Span] | None = None
        self._strings = strings
        self._text: list[str] = []
        self._starts: dict[str, int] = {}
        self._own: dict[str, Mapping[str, str]] = {}  # the attributes of the elements that are open
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
        """The cell as every program would write it, for the one expression that reads cells."""
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
        """The address of a cell that bears none: right of the one before."""
        return address(self._row, coordinates(self._last)[1] + 1 if self._last else 1)


def rows_as_plain(xml: bytes) -> tuple[dict[int, Span], Span]:
    """What `plain_rows` finds in XML that is known to be plain: nothing in it is looked at but where its rows begin."""
    start, end = xml.find(_OPEN), xml.rfind(b"</sheetData>")
    found = [(int(match[1]), match.start()) for match in _ROW_START.finditer(xml, start, end)]
    ends = [*(at for _, at in found[1:]), end]
    close = b"</row>"  # which an empty row hasn't
    rows = {
        number: (at, stop - len(close) * xml.endswith(close, at, stop))
        for (number, at), stop in zip(found, ends, strict=True)
    }
    return rows, (start, end)


@cache
def _column(letters: bytes) -> int:
    return column_number(letters.decode())


def without_rows(xml: bytes, data: Span) -> bytes:
    """A sheet's XML without what stands between the tags of its sheetData, which begin at these places."""
    return xml[: data[0] + len(_OPEN)] + xml[data[1] :]


def _refuse_encoding(_version: str, encoding: str | None, _standalone: int) -> None:
    if encoding is not None and encoding.lower() not in ("utf-8", "us-ascii"):
        raise UserError(f"the sheet's XML is {encoding}, not UTF-8")


class TemplateCell(NamedTuple):
    """A cell of a row that is copied: the number of its format, if it names one, and its formula."""

    style: int | None
    formula: DownwardFormula | None


class SheetXml:
    """A sheet's XML and the cells in it.

    `rows` are where its rows stand by number, `data` where all do, `dimension` what area the sheet says it has and
    where it says so; `arrays` are the ranges that one cell's formula fills: the other cells in them look like typed
    ones. `is_plain` says that its cells are written as every program writes them, with no comment between.
    Raises UserError for XML that is not sound.
    """

    def __init__(self, xml: bytes, strings: Sequence[str] = (), before: SheetXml | None = None) -> None:
        """`before` is a sheet of which `sheetedit` made this one, if it is one: what was proven of it holds still."""
        self.xml, self.strings = xml, strings
        self._read: dict[int, dict[int, Cell]] = {}  # the rows that have been asked for
        plain = rows_as_plain(xml) if before is not None and before.is_plain else plain_rows(xml)
        self.is_plain: bool = plain is not None
        scan = Scan(xml if plain is None else without_rows(xml, plain[1]), strings)
        self.rows, self.data = plain or (scan.rows, scan.data)
        self.dimension = scan.dimension
        if plain is None:
            self._read = scan.cells
        elif self.dimension is not None and self.dimension[1][0] > self.data[0]:
            self.dimension = None  # it stands in front of the cells, or is none
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
        """The numbers of the rows that the file has, from the top down."""
        return sorted(self.rows)

    def row(self, number: int) -> dict[int, Cell]:
        """The cells of a row by column."""
        if number not in self._read:
            found = CELL.finditer(self.xml, *self.rows[number]) if self.is_plain and number in self.rows else ()
            self._read[number] = {_column(match[1].rstrip(_DIGITS)): Cell(match, self.strings) for match in found}
        return self._read[number]

    def column(self, column: int, rows: Iterable[int]) -> list[Cell | None]:
        """The cells of a column in some rows: a row that hasn't been read is searched for its one cell alone."""
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
        """Let go of the cells that were read, for the memory that they take; what is asked for again is read again."""
        if self.is_plain:
            self._read.clear()

    def cell(self, ref: str) -> Cell | None:
        """One cell; None where the file has none at this address."""
        row, column = coordinates(ref)
        return self.row(row).get(column)

    @cached_property
    def cells(self) -> dict[str, Cell]:
        """Every cell by its address, from the top down; of a large sheet `cell` reads some more quickly."""
        return {cell.ref: cell for number in self.row_numbers for cell in self.row(number).values()}

    @cached_property
    def n_formulas(self) -> int:
        """How many cells have a formula."""
        if self.is_plain:
            return self.xml.count(b"<f", *self.data)
        return sum(bool(cell.kind) for cell in self.cells.values())

    def is_computed(self, ref: str) -> bool:
        """Whether the cell has a formula, or lies in the range of an array formula or a data table."""
        cell = self.cell(ref)
        if cell is not None and cell.kind:
            return True
        return bool(self.arrays) and any(area.covers(*coordinates(ref)) for area in self.arrays.values())

    def template(self, number: int) -> dict[int, TemplateCell]:
        """The cells of a row by column, ready to be copied into rows below it."""
        cells = self.row(number).items()
        return {column: TemplateCell(cell.style, self._downward(cell, number)) for column, cell in cells}

    def _downward(self, cell: Cell, row: int) -> DownwardFormula | None:
        """A cell's own formula, to be copied down; None where it has none, or one that fills several.

        Of a shared formula only the first cell holds the text.
        """
        if cell.kind not in ("normal", "shared"):
            return None
        text = self.formula_of(cell)
        return None if text is None else DownwardFormula.of(text, row)

    def formula_of(self, cell: Cell) -> str | None:
        """A cell's formula as it reads there, though the text of a shared one stands in another cell; None for none."""
        if cell.formula or cell.kind != "shared":
            return cell.formula
        master = self._masters.get(cell.shared)
        return cell.formula if master is None else copied_to(master.formula or "", master.ref, cell.ref)

    @cached_property
    def _masters(self) -> dict[str, Cell]:
        """The first cell of each shared formula, by the number that its other cells name."""
        return {cell.shared: cell for cell in self.cells.values() if cell.kind == "shared" and cell.formula}

    def filled_by(self, ref: str) -> list[str]:
        """The cells of the file that the formula in `ref` fills: itself, or an array's whole range."""
        area = self.arrays.get(ref)
        if area is None:
            return [ref]
        return [other for other in self.cells if area.covers(*coordinates(other))]

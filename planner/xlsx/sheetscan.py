"""Where each cell of a sheet stands in its XML, by byte offsets: one pass of expat, or of a regular expression."""

from __future__ import annotations

from collections.abc import Sequence
from xml.parsers import expat

from planner.errors import UserError
from planner.xlsx import quickscan
from planner.xlsx.address import Area, address, coordinates
from planner.xlsx.cell import Cell, Span
from planner.xlsx.markup import escaped
from planner.xlsx.quickscan import CELL, Row

_MAIN = (
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    "http://purl.oclc.org/ooxml/spreadsheetml/main",  # "strict"
)
_TAGS = ("c", "f", "v", "is", "t", "rPh", "row", "sheetData", "dimension")
_LOCAL = {f"{namespace}}}{tag}": tag for namespace in _MAIN for tag in _TAGS}
_OPEN = b"<sheetData>"


class Scan:
    """The cells and rows of a sheet, in the order of the file; `arrays` are the ranges that one cell fills.

    `is_plain` says that a regular expression could read it.
    A cell of type s has the text itself where the shared `strings` are given, else the text's number.
    Raises UserError for XML that is not sound or not UTF-8.
    """

    def __init__(self, xml: bytes, strings: Sequence[str] = ()) -> None:
        self._cells: list[Cell] = []
        self.rows: list[Row] = []
        self.arrays: dict[str, Area] = {}
        self.data: Span = (-1, -1)
        self.dimension: tuple[Area, Span] | None = None
        self._strings = strings
        self._text: list[str] = []
        self._starts: dict[str, int] = {}
        self._row, self._last, self._phonetic = 0, "", False
        if xml[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise UserError("the sheet's XML is not UTF-8")
        quick = quickscan.body(xml, strings)
        self.quick, self.is_plain = quick, quick is not None
        self._parse(xml if quick is None else xml[: quick.start + len(_OPEN)] + xml[quick.end :])
        if quick is not None:
            self._take(quick)

    @property
    def cells(self) -> list[Cell]:
        """Every cell."""
        return self._cells if self.quick is None else self.quick.cells

    def _take(self, quick: quickscan.Body) -> None:
        """The cells that were found at once; behind them expat's offsets are those of the sheet without them."""
        self.rows, self.data = quick.rows, (quick.start, quick.end)
        if self.dimension is not None and self.dimension[1][0] > quick.start:
            self.dimension = None  # it stands in front of the cells, or is none
        if quick.has_arrays:
            for cell in quick.cells:
                if cell.kind in ("array", "dataTable") and cell.area not in ("", cell.ref, f"{cell.ref}:{cell.ref}"):
                    self.arrays[cell.ref] = Area.parse(cell.area)

    def _parse(self, xml: bytes) -> None:
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
        self._starts[tag] = self._parser.CurrentByteIndex
        self._text.clear()
        if tag == "c":
            self._attributes, self._formula_attributes = attributes, attributes
            self._value: str | None = None
            self._formula: str | None = None
            self._value_span: Span | None = None
            self._formula_span: Span | None = None
        elif tag == "f":
            self._formula_attributes = attributes
        elif tag == "is":
            self._value = ""
        elif tag == "rPh":
            self._phonetic = True
        elif tag == "row":
            self._row, self._last = int(attributes.get("r", self._row + 1)), ""
            self._first = len(self._cells)
        elif tag == "dimension":
            self._dimension = attributes.get("ref", "")

    def _end(self, name: str) -> None:
        tag = _LOCAL.get(name)
        if tag is None:
            return
        span = self._starts[tag], self._parser.CurrentByteIndex
        if tag == "v":
            self._value, self._value_span = "".join(self._text), span
        elif tag == "f":
            self._formula, self._formula_span = "".join(self._text), span
        elif tag == "c":
            self._add_cell(span)
        elif tag == "t" and not self._phonetic:
            self._value = (self._value or "") + "".join(self._text)
        elif tag == "is":
            self._value_span = span
        elif tag == "rPh":
            self._phonetic = False
        elif tag == "row":
            self.rows.append(Row(self._row, span, self._first))
        elif tag == "sheetData":
            self.data = span
        elif tag == "dimension":
            self.dimension = Area.parse(self._dimension), span

    def _add_cell(self, span: Span) -> None:
        """The cell as every program would write it, for the one expression that reads cells."""
        ref, own = self._attributes.get("r") or self._next_ref(), self._formula_attributes
        type_ = self._attributes.get("t", "n")
        coordinates(ref)  # or ValueError
        usual = f'<c r="{ref}"' + (f' t="{escaped(type_)}">' if type_ != "n" else ">")
        if self._formula is not None:
            kind = "".join(f' {name}="{escaped(own[name])}"' for name in ("t", "ref") if name in own)
            usual += f"<f{kind}>{escaped(self._formula)}</f>"
        if self._value is not None:
            usual += f"<v>{escaped(self._value)}</v>"
        match = CELL.fullmatch(f"{usual}</c>".encode())
        if match is None:
            raise ValueError(f"{ref} is no cell")
        cell = Cell(match, self._strings, (span, self._formula_span, self._value_span))
        if cell.kind in ("array", "dataTable") and cell.area not in ("", ref, f"{ref}:{ref}"):
            self.arrays[ref] = Area.parse(cell.area)
        self._last = ref
        self._cells.append(cell)

    def _next_ref(self) -> str:
        """The address of a cell that bears none: right of the one before."""
        return address(self._row, coordinates(self._last)[1] + 1 if self._last else 1)


def _refuse_encoding(_version: str, encoding: str | None, _standalone: int) -> None:
    if encoding is not None and encoding.lower() not in ("utf-8", "us-ascii"):
        raise UserError(f"the sheet's XML is {encoding}, not UTF-8")

"""Where the rows of a sheet stand in its XML: found by a regular expression, or with their cells by expat.

The expression is many times as quick, and covers what every spreadsheet program writes. A sheet in any other form is
left to expat: comments, prefixes, white space between elements, rich text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from xml.parsers import expat

from planner.errors import UserError
from planner.xlsx.address import MAX_ROW, Area, address, coordinates
from planner.xlsx.cell import CELL, COLUMN, OWN_ATTRIBUTES, ROW, Cell, Span, cell_pattern
from planner.xlsx.markup import escaped

_MAIN = (
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    "http://purl.oclc.org/ooxml/spreadsheetml/main",  # "strict"
)
_TAGS = ("c", "f", "v", "is", "t", "rPh", "row", "sheetData", "dimension")
_LOCAL = {f"{namespace}}}{tag}": tag for namespace in _MAIN for tag in _TAGS}
_OPEN = b"<sheetData>"
_CELLS = b"(?:" + cell_pattern(COLUMN + rb"\1", keep=False) + b")*+"  # of the row whose number is the first group
_ROW = re.compile(b'<row r="(' + ROW + b')"' + OWN_ATTRIBUTES + b"(?:/>|>" + _CELLS + b"(</row>))")
_REFS = re.compile(rb'<c r="([A-Z]+[0-9]+)"')
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


def without_rows(xml: bytes, data: Span) -> bytes:
    """A sheet's XML without what stands between the tags of its sheetData, which begin at these places."""
    return xml[: data[0] + len(_OPEN)] + xml[data[1] :]


def _refuse_encoding(_version: str, encoding: str | None, _standalone: int) -> None:
    if encoding is not None and encoding.lower() not in ("utf-8", "us-ascii"):
        raise UserError(f"the sheet's XML is {encoding}, not UTF-8")

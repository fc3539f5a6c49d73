"""The cells of a sheet whose XML is written as every spreadsheet program writes it: one regular expression.

Many times as quick as expat, which a sheet in any other form is left to: comments, prefixes, white space between
elements, rich text. A row is matched as a whole; its cells, and what a cell holds, are read when they are asked for.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from types import EllipsisType

from planner.xlsx.cell import Cell, Row, Span
from planner.xlsx.cellvalue import Value, parsed_value
from planner.xlsx.markup import Edit, retagged

# Possessive, and the usual before the general: what a large sheet has a hundred thousand times decides the speed.
_OWN_ATTRIBUTES = rb"""(?: s="[0-9]++")?+(?: t="[A-Za-z]++")?+(?: [A-Za-z][\w:.]*+="[^"<&]*+")*+"""
_HELD = rb"[^<&]*+(?:&(?:amp|lt|gt|quot|apos|#[0-9]+|#x[0-9A-Fa-f]+);[^<&]*+)*+"
_COLUMN, _ROW_NUMBER = rb"(?:[A-W]?[A-Z]{1,2}|X[A-E][A-Z]|XF[A-D])", rb"[1-9][0-9]{0,6}"


def _cell(row: bytes, *, keep: bool, column: bytes = _COLUMN) -> bytes:
    """The pattern of a cell in a row; with `keep` its parts are groups."""

    def group(pattern: bytes) -> bytes:
        return b"(" + pattern + b")" if keep else b"(?:" + pattern + b")"

    own, held = group(_OWN_ATTRIBUTES), group(_HELD)
    formula = group(b"<f" + own + b"(?:/>|>" + held + b"</f>)")
    value, inline = (
        group(b"<v>" + held + b"</v>"),
        group(rb'<is><t(?: xml:space="preserve")?>' + held + b"</t></is>"),
    )
    ref = group(column + row)
    return b'<c r="' + ref + b'"' + own + b"(?:/>|>" + formula + b"?(?:" + value + b"|" + inline + b")?</c>)"


_CELL = re.compile(_cell(_ROW_NUMBER, keep=True))
_WHOLE_ROW = re.compile(
    b'<row r="(' + _ROW_NUMBER + b')"' + _OWN_ATTRIBUTES + b"(?:/>|>(?:" + _cell(rb"\1", keep=False) + b")*+(</row>))"
)
_REF, _OWN, _F, _F_OWN, _F_TEXT, _V, _V_TEXT, _IS, _IS_TEXT = range(1, 10)
_ATTRIBUTE = re.compile(rb' ([\w:.]+)="([^"]*)"')
_TYPE = re.compile(rb' t="([a-zA-Z]+)"')
_CONTROL = bytes({*range(32)} - {9, 10})
_REFS = re.compile(rb'<c r="([A-Z]+[0-9]+)"')
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_OPEN = b"<sheetData>"
_MAX_ROW = 1_048_576


class Body:
    """What stands between `<sheetData>` and `</sheetData>`, which begin at `start` and at `end`."""

    def __init__(self, xml: bytes, strings: Sequence[str], start: int, end: int, rows: list[Row]) -> None:
        self.xml, self.strings, self.start, self.end, self.rows = xml, strings, start, end, rows
        self.has_arrays = b't="array"' in xml or b't="dataTable"' in xml  # or may have some
        self._places = {b"%d" % row.number: row.span for row in rows}

    @cached_property
    def cells(self) -> list[Cell]:
        """Every cell, in the order of the file."""
        return [QuickCell(match, self.strings) for match in _CELL.finditer(self.xml, self.start, self.end)]

    def columns(self, letters: Iterable[str]) -> dict[str, Cell]:
        """The cells of some columns by address, at once."""
        column = b"(?:" + b"|".join(each.encode() for each in letters) + b")"
        pattern = re.compile(_cell(_ROW_NUMBER, keep=True, column=column))
        found = (QuickCell(match, self.strings) for match in pattern.finditer(self.xml, self.start, self.end))
        return {cell.ref: cell for cell in found}

    def cells_of_row(self, row: Row) -> list[QuickCell]:
        """The cells of a row, from left to right as a rule."""
        return [QuickCell(match, self.strings) for match in _CELL.finditer(self.xml, *row.span)]

    @property
    def has_twins(self) -> bool:
        """Whether a cell stands there twice."""
        refs = _REFS.findall(self.xml, self.start, self.end)
        return len(set(refs)) != len(refs)

    def cell(self, ref: str) -> QuickCell | None:
        """One cell; None where the sheet hasn't it."""
        coded = ref.encode()
        place = self._places.get(coded.lstrip(_LETTERS))
        at = -1 if place is None else self.xml.find(b'<c r="' + coded + b'"', *place)
        match = _CELL.match(self.xml, at) if at >= 0 else None
        return None if match is None else QuickCell(match, self.strings)


class QuickCell:
    """A cell that was matched and is read when it is asked."""

    __slots__ = ("_match", "_strings", "_value", "ref")

    def __init__(self, match: re.Match[bytes], strings: Sequence[str]) -> None:
        self._match, self._strings, self.ref = match, strings, match[_REF].decode()
        self._value: Value | EllipsisType = ...  # until it is asked for

    @property
    def type(self) -> str:
        """Its attribute t."""
        return _type_of(self._match[_OWN])

    @property
    def text(self) -> str | None:
        """What its <v> or <is> holds."""
        held = self._match[_V_TEXT] if self._match[_V_TEXT] is not None else self._match[_IS_TEXT]
        if held is None:
            return None
        text = _plain(held)
        return self._strings[int(text)] if text and self._strings and self.type == "s" else text

    @property
    def formula(self) -> str | None:
        """The text of its formula."""
        return None if self._match[_F] is None else _plain(self._match[_F_TEXT] or b"")

    @property
    def kind(self) -> str:
        """The kind of its formula."""
        return "" if self._match[_F] is None else self._formula_attribute("t", "normal")

    @property
    def area(self) -> str:
        """The range that its formula fills."""
        return "" if self._match[_F] is None else self._formula_attribute("ref", "")

    @property
    def span(self) -> Span:
        """Where the cell stands."""
        return self._match.start(), self._match.end() - _tail(self._match[0], b"</c>")

    @property
    def formula_span(self) -> Span | None:
        """Where its formula stands."""
        return self._span(_F, b"</f>")

    @property
    def value_span(self) -> Span | None:
        """Where its value stands."""
        return self._span(_V, b"</v>") or self._span(_IS, b"</is>")

    @property
    def value(self) -> Value:
        """The typed value, or the cached one of a formula; None where there is none."""
        if self._value is ...:
            kind, held = _type_of(self._match[_OWN]), self._match[_V_TEXT]
            if kind == "n" and held:
                try:
                    self._value = float(held)
                except ValueError:
                    self._value = parsed_value(kind, self.text)
            else:
                self._value = parsed_value(kind, self.text)
        return self._value

    def rewritten(self, type_: str, content: bytes, drop: tuple[bytes, ...]) -> Edit:
        """The cell with another type and content, as `SheetXml` gives it one: its style and its formula stay."""
        match = self._match
        own, formula = match[_OWN], match[_F] or b""
        if type_ != _type_of(own) or b"m" in own:  # vm and cm are all that has an m, so this is seldom in vain
            own = _retyped(own, type_, drop)
        head, inside = b'<c r="' + match[_REF] + b'"' + own, formula + content
        is_empty = not inside and match[0].endswith(b"/>")
        return Edit(match.start(), match.end(), head + b"/>" if is_empty else head + b">" + inside + b"</c>")

    def _span(self, group: int, close: bytes) -> Span | None:
        found = self._match[group]
        return None if found is None else (self._match.start(group), self._match.end(group) - _tail(found, close))

    def _formula_attribute(self, name: str, default: str) -> str:
        own = self._match[_F_OWN]
        return dict(_ATTRIBUTE.findall(own)).get(name.encode(), default.encode()).decode() if own else default


def body(xml: bytes, strings: Sequence[str]) -> Body | None:
    """The cells and rows of a sheet; None where its XML is for expat."""
    start, end = xml.find(_OPEN), xml.rfind(b"</sheetData>")
    if start < 0 or end < start or b"<!" in xml or len(xml.translate(None, _CONTROL)) != len(xml):
        return None
    try:
        xml.decode("utf-8")
    except UnicodeDecodeError:
        return None
    rows = _rows(xml, start + len(_OPEN), end)
    return None if rows is None else Body(xml, strings, start, end, rows)


def _rows(xml: bytes, start: int, end: int) -> list[Row] | None:
    """The rows, if there is nothing but rows of cells, one after the other."""
    rows: list[Row] = []
    at, number, first = start, 0, 0
    for match in iter(_WHOLE_ROW.scanner(xml, start, end).match, None):  # type: ignore[attr-defined]
        begin, at = match.span()
        if not number < (number := int(match[1])) <= _MAX_ROW:
            return None
        rows.append(Row(number, (begin, at if match[2] is None else at - len(match[2])), first))
        first += xml.count(b'<c r="', begin, at)
    return rows if at == end else None


@lru_cache(maxsize=4096)
def _type_of(own: bytes) -> str:
    """The attribute t among a cell's own; most cells of a sheet share a few such texts."""
    typed = _TYPE.search(own)
    return typed[1].decode() if typed else "n"


@lru_cache(maxsize=4096)
def _retyped(own: bytes, type_: str, drop: tuple[bytes, ...]) -> bytes:
    return retagged(b"<c" + own + b">", drop, {} if type_ == "n" else {b"t": type_.encode()})[2:-1]


def _tail(element: bytes, close: bytes) -> int:
    """How far before an element's end expat reports it: its closing tag, which an empty one hasn't."""
    return len(close) if element.endswith(close) else 0


def _plain(data: bytes) -> str:
    return html.unescape(data.decode()) if b"&" in data else data.decode()

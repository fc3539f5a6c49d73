"""The cells of a sheet whose XML is written as every spreadsheet program writes it: one regular expression.

Several times as quick as expat, which a sheet in any other form is left to: comments, prefixes, white space between
elements, rich text. What a cell holds is read when it is asked for.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from functools import lru_cache
from types import EllipsisType
from typing import NamedTuple

from planner.xlsx.cell import Cell, Row, Span
from planner.xlsx.cellvalue import Value, parsed_value
from planner.xlsx.markup import Edit, retagged

# Possessive, and the usual before the general: what a large sheet has a hundred thousand times decides the speed.
_ATTRIBUTES = rb"""((?: s="[0-9]++")?+(?: t="[A-Za-z]++")?+(?: [A-Za-z][\w:.]*+="[^"<&]*+")*+)"""
_TEXT = rb"([^<&]*+(?:&(?:amp|lt|gt|quot|apos|#[0-9]+|#x[0-9A-Fa-f]+);[^<&]*+)*+)"
_TOKEN = re.compile(
    rb'<c r="((?:[A-W]?[A-Z]{1,2}|X[A-E][A-Z]|XF[A-D])([1-9][0-9]{0,6}))"' + _ATTRIBUTES + rb"(?:/>|>"
    rb"(<f" + _ATTRIBUTES + rb"(?:/>|>" + _TEXT + rb"</f>))?"
    rb"(?:(<v>" + _TEXT + rb'</v>)|(<is><t(?: xml:space="preserve")?>' + _TEXT + rb"</t></is>))?</c>)"
    rb'|<row r="([1-9][0-9]{0,6})"' + _ATTRIBUTES + rb"(/?)>|</row>"
)  # fmt: skip
_REF, _NUMBER, _OWN, _F, _F_OWN, _F_TEXT, _V, _V_TEXT, _IS, _IS_TEXT, _ROW, _, _NO_CELLS = range(1, 14)
_ATTRIBUTE = re.compile(rb' ([\w:.]+)="([^"]*)"')
_TYPE = re.compile(rb' t="([a-zA-Z]+)"')
_CONTROL = bytes({*range(32)} - {9, 10})
_MAX_ROW = 1_048_576


class Body(NamedTuple):
    """What stands between `<sheetData>` and `</sheetData>`, which begin at `start` and at `end`."""

    start: int
    end: int
    cells: list[Cell]
    rows: list[Row]
    has_arrays: bool  # or may have some


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
    start, end = xml.find(b"<sheetData>"), xml.rfind(b"</sheetData>")
    if start < 0 or end < start or b"<!" in xml or len(xml.translate(None, _CONTROL)) != len(xml):
        return None
    found = Body(start, end, [], [], b't="array"' in xml or b't="dataTable"' in xml)
    try:
        xml.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return found if _read(xml, strings, found) else None


def _read(xml: bytes, strings: Sequence[str], found: Body) -> bool:
    """Whether the whole body is rows of cells, one after the other; they are added to `found`."""
    at = found.start + len(b"<sheetData>")
    number, written, opened, first = 0, b"", -1, 0
    add = found.cells.append
    for match in iter(_TOKEN.scanner(xml, at, found.end).match, None):  # type: ignore[attr-defined]
        at = match.end()
        if match[_NUMBER] is not None:
            if opened < 0 or match[_NUMBER] != written:
                return False
            add(QuickCell(match, strings))
        elif match[_ROW] is not None:
            written = match[_ROW]
            if opened >= 0 or not number < int(written) <= _MAX_ROW:
                return False
            number, first, opened = int(written), len(found.cells), match.start()
            if match[_NO_CELLS]:
                found.rows.append(Row(number, (opened, at), first))
                opened = -1
        elif opened >= 0:
            found.rows.append(Row(number, (opened, match.start()), first))
            opened = -1
        else:
            return False
    return at == found.end and opened < 0


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

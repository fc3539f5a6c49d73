"""A cell in a sheet's XML."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from types import EllipsisType

from planner.xlsx.cellvalue import Value, parsed_value
from planner.xlsx.markup import unescaped

Span = tuple[int, int]
"""The byte offsets at which expat reports an element's start and its end."""

COLUMN, ROW = rb"(?:[A-W]?[A-Z]{1,2}|X[A-E][A-Z]|XF[A-D])", rb"[1-9][0-9]{0,6}"
# Possessive, and the usual before the general: what a large sheet has a hundred thousand times decides the speed.
OWN_ATTRIBUTES = rb"""(?: s="[0-9]++")?+(?: t="[A-Za-z]++")?+(?: [A-Za-z][\w:.]*+="[^"<&]*+")*+"""
_CONTENT = rb"[^<&]*+(?:&(?:amp|lt|gt|quot|apos|#[0-9]+|#x[0-9A-Fa-f]+);[^<&]*+)*+"
_REF, _OWN, _F, _F_OWN, _F_TEXT, _V, _V_TEXT, _IS, _IS_TEXT = range(1, 10)
_ATTRIBUTE = re.compile(rb' ([\w:.]+)="([^"]*)"')


def cell_pattern(ref: bytes, *, keep: bool) -> bytes:
    """The pattern of a cell in the XML that every program writes.

    `ref` matches the address, `keep` makes the groups for `Cell`.
    """

    def group(pattern: bytes) -> bytes:
        return b"(" + pattern + b")" if keep else b"(?:" + pattern + b")"

    own, content = group(OWN_ATTRIBUTES), group(_CONTENT)
    formula = group(b"<f" + own + b"(?:/>|>" + content + b"</f>)")
    value = group(b"<v>" + content + b"</v>")
    inline = group(rb'<is><t(?: xml:space="preserve")?>' + content + b"</t></is>")
    return b'<c r="' + group(ref) + b'"' + own + b"(?:/>|>" + formula + b"?(?:" + value + b"|" + inline + b")?</c>)"


CELL = re.compile(cell_pattern(COLUMN + ROW, keep=True))


class Cell:
    """A cell in a sheet's XML.

    Its properties are parsed lazily, since a large sheet has far more cells than are needed. `spans` are those of the
    cell, its formula and its value, if the matched XML isn't the file's own.
    """

    __slots__ = ("_match", "_spans", "_strings", "_value")

    def __init__(
        self,
        match: re.Match[bytes],
        strings: Sequence[str],
        spans: tuple[Span, Span | None, Span | None] | None = None,
    ) -> None:
        self._match, self._strings, self._spans = match, strings, spans
        self._value: Value | EllipsisType = ...  # until it is asked for

    @property
    def ref(self) -> str:
        """Its address."""
        return self._match[_REF].decode()

    @property
    def type(self) -> str:
        """Its attribute t."""
        return _attributes(self._match[_OWN]).get("t", "n")

    @property
    def style(self) -> int | None:
        """Its style number; None if it has none, which means style 0."""
        number = _attributes(self._match[_OWN]).get("s")
        return None if number is None else int(number)

    @property
    def text(self) -> str | None:
        """The content of its <v> or <is>; None without one.

        For type s, the shared string itself if that is available.
        """
        content = self._match[_V_TEXT] if self._match[_V_TEXT] is not None else self._match[_IS_TEXT]
        if content is None:
            return None
        text = unescaped(content.decode())
        if text and self._strings and self.type == "s":
            with suppress(ValueError, IndexError):
                return self._strings[int(text)]
        return text

    @property
    def formula(self) -> str | None:
        """The formula's text, without =; None for a typed value, blank if a shared formula's text is in the anchor."""
        return None if self._match[_F] is None else unescaped((self._match[_F_TEXT] or b"").decode())

    @property
    def kind(self) -> str:
        """The type of its formula: normal, shared, array or dataTable; blank if it has none."""
        return "" if self._match[_F] is None else self._of_formula("t") or "normal"

    @property
    def area(self) -> str:
        """The range that an array formula or a data table fills."""
        return self._of_formula("ref")

    @property
    def shared(self) -> str:
        """The number of its shared formula; blank for any other."""
        return self._of_formula("si")

    @property
    def span(self) -> Span:
        """The byte offsets of the cell."""
        if self._spans:
            return self._spans[0]
        return self._match.start(), self._match.end() - _tail(self._match[0], b"</c>")

    @property
    def formula_span(self) -> Span | None:
        """The byte offsets of its formula."""
        return self._spans[1] if self._spans else self._span(_F, b"</f>")

    @property
    def value_span(self) -> Span | None:
        """The byte offsets of its value."""
        return self._spans[2] if self._spans else self._span(_V, b"</v>") or self._span(_IS, b"</is>")

    @property
    def value(self) -> Value:
        """The typed value, or the cached one of a formula; None if there is none."""
        if self._value is ...:
            text = self.text
            self._value = None if text is None else parsed_value(self.type, text)
        return self._value

    def _span(self, group: int, close: bytes) -> Span | None:
        found = self._match[group]
        return None if found is None else (self._match.start(group), self._match.end(group) - _tail(found, close))

    def _of_formula(self, name: str) -> str:
        own = self._match[_F_OWN]
        return _attributes(own).get(name, "") if own else ""


def _tail(element: bytes, close: bytes) -> int:
    """How far before an element's end expat reports it: the length of its closing tag, if it has one."""
    return len(close) if element.endswith(close) else 0


@lru_cache(maxsize=4096)
def _attributes(own: bytes) -> Mapping[str, str]:
    """An element's attributes; cached, since most cells of a sheet share a few such texts."""
    return {name.decode(): value.decode() for name, value in _ATTRIBUTE.findall(own)}

"""A cell as the file has it, with its place in the sheet's XML."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from types import EllipsisType

from planner.xlsx.cellvalue import Value, parsed_value

Span = tuple[int, int]
"""The byte offsets at which expat reports an element's start and its end."""

COLUMN, ROW = rb"(?:[A-W]?[A-Z]{1,2}|X[A-E][A-Z]|XF[A-D])", rb"[1-9][0-9]{0,6}"
# Possessive, and the usual before the general: what a large sheet has a hundred thousand times decides the speed.
OWN_ATTRIBUTES = rb"""(?: s="[0-9]++")?+(?: t="[A-Za-z]++")?+(?: [A-Za-z][\w:.]*+="[^"<&]*+")*+"""
_CONTENT = rb"[^<&]*+(?:&(?:amp|lt|gt|quot|apos|#[0-9]+|#x[0-9A-Fa-f]+);[^<&]*+)*+"
_REF, _OWN, _F, _F_OWN, _F_TEXT, _V, _V_TEXT, _IS, _IS_TEXT = range(1, 10)
_ATTRIBUTE = re.compile(rb' ([\w:.]+)="([^"]*)"')


def cell_pattern(ref: bytes, *, keep: bool) -> bytes:
    """The pattern of a cell as every program writes it, of which `ref` matches the address; `keep` is for `Cell`."""

    def group(pattern: bytes) -> bytes:
        return b"(" + pattern + b")" if keep else b"(?:" + pattern + b")"

    own, content = group(OWN_ATTRIBUTES), group(_CONTENT)
    formula = group(b"<f" + own + b"(?:/>|>" + content + b"</f>)")
    value = group(b"<v>" + content + b"</v>")
    inline = group(rb'<is><t(?: xml:space="preserve")?>' + content + b"</t></is>")
    return b'<c r="' + group(ref) + b'"' + own + b"(?:/>|>" + formula + b"?(?:" + value + b"|" + inline + b")?</c>)"


CELL = re.compile(cell_pattern(COLUMN + ROW, keep=True))


class Cell:
    """A cell as the file has it. What it holds is read when it is asked for: a large sheet has many more cells.

    `spans` are those of the cell, its formula and its value, where the XML that was matched is not the file's own.
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
        """The number of its format; None where it names none, which is format 0."""
        number = _attributes(self._match[_OWN]).get("s")
        return None if number is None else int(number)

    @property
    def text(self) -> str | None:
        """What its <v> or <is> holds; None without one. A cell of type s has the text itself, if there is one."""
        content = self._match[_V_TEXT] if self._match[_V_TEXT] is not None else self._match[_IS_TEXT]
        if content is None:
            return None
        text = _plain(content)
        if text and self._strings and self.type == "s":
            with suppress(ValueError, IndexError):
                return self._strings[int(text)]
        return text

    @property
    def formula(self) -> str | None:
        """None for a typed value, and empty where the text of a shared formula stands in another cell."""
        return None if self._match[_F] is None else _plain(self._match[_F_TEXT] or b"")

    @property
    def kind(self) -> str:
        """The kind of its formula, normal, shared, array or dataTable; empty where there is none."""
        return "" if self._match[_F] is None else self._of_formula("t") or "normal"

    @property
    def area(self) -> str:
        """The range that an array formula or a data table fills."""
        return self._of_formula("ref")

    @property
    def shared(self) -> str:
        """The number of the shared formula that it has a part in; empty for any other."""
        return self._of_formula("si")

    @property
    def span(self) -> Span:
        """Where the cell stands."""
        if self._spans:
            return self._spans[0]
        return self._match.start(), self._match.end() - _tail(self._match[0], b"</c>")

    @property
    def formula_span(self) -> Span | None:
        """Where its formula stands."""
        return self._spans[1] if self._spans else self._span(_F, b"</f>")

    @property
    def value_span(self) -> Span | None:
        """Where its value stands."""
        return self._spans[2] if self._spans else self._span(_V, b"</v>") or self._span(_IS, b"</is>")

    @property
    def value(self) -> Value:
        """The typed value, or the cached one of a formula; None where there is none."""
        if self._value is ...:
            self._value = parsed_value(self.type, self.text)
        return self._value

    def _span(self, group: int, close: bytes) -> Span | None:
        found = self._match[group]
        return None if found is None else (self._match.start(group), self._match.end(group) - _tail(found, close))

    def _of_formula(self, name: str) -> str:
        own = self._match[_F_OWN]
        return _attributes(own).get(name, "") if own else ""


def _tail(element: bytes, close: bytes) -> int:
    """How far before an element's end expat reports it: its closing tag, which an empty one hasn't."""
    return len(close) if element.endswith(close) else 0


@lru_cache(maxsize=4096)
def _attributes(own: bytes) -> Mapping[str, str]:
    """An element's attributes; most cells of a sheet share a few such texts."""
    return {name.decode(): value.decode() for name, value in _ATTRIBUTE.findall(own)}


def _plain(data: bytes) -> str:
    return html.unescape(data.decode()) if b"&" in data else data.decode()

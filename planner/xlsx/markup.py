"""Edits XML as bytes: a few elements change, and the rest isn't parsed and serialized again."""

from __future__ import annotations

import html
import re
from collections.abc import Container, Mapping
from operator import itemgetter
from typing import NamedTuple

_TAG = re.compile(rb"""<[^\s/>]+(?:[^"'>]|"[^"]*"|'[^']*')*>""")
_NAME = re.compile(rb"<([^\s/>]+)")
_ATTRIBUTE = re.compile(rb"""\s+([^\s=]+)\s*=\s*("[^"]*"|'[^']*')""")


def escaped(text: str) -> str:
    """A text as XML content. Same as the standard library's function, which imports an HTTP client."""
    return text.replace("&", "&amp;").replace(">", "&gt;").replace("<", "&lt;")


def unescaped(text: str) -> str:
    """XML content as text. For the usual entities this is faster than the standard library's function."""
    if "&" not in text:
        return text
    if "&#" in text:
        return html.unescape(text)
    for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"), ("&amp;", "&")):
        text = text.replace(entity, character)
    return text


class Edit(NamedTuple):
    """Replace the bytes from `start` to `stop` by `new`."""

    start: int
    stop: int
    new: bytes


def apply_edits(xml: bytes, edits: list[Edit]) -> bytes:
    """`xml` with non-overlapping edits; those at one place are applied in list order."""
    new_xml, done = bytearray(), 0
    for start, stop, new in sorted(edits, key=itemgetter(0, 1)):
        new_xml += xml[done:start] + new
        done = stop
    return bytes(new_xml + xml[done:])


def tag_end(xml: bytes, start: int) -> int:
    """The end of the tag that begins at `start`."""
    tag = _TAG.match(xml, start)
    assert tag is not None, "expat has accepted this tag"
    return tag.end()


def is_empty(xml: bytes, end: int) -> bool:
    """Whether the tag that ends at `end` is an empty element, `<c/>`."""
    return xml[end - 2 : end] == b"/>"


def element_end(xml: bytes, start: int, event: int) -> int:
    """The end of an element, given the start and end that expat reported.

    For `<v/>` expat reports the end after the tag, for `</v>` before it.
    """
    return event if is_empty(xml, tag_end(xml, start)) else xml.index(b">", event) + 1


def inside(tag: bytes, content: bytes) -> bytes:
    """An element made from an empty one's tag, `<c/>`, and `content`, if there is any."""
    if not content:
        return tag
    return tag[:-2].rstrip() + b">" + content + b"</" + tag_name(tag, 0) + b">"


def tag_name(xml: bytes, start: int) -> bytes:
    """The name of the tag that begins at `start`, with its prefix."""
    name = _NAME.match(xml, start)
    assert name is not None, "expat has accepted this tag"
    return name[1]


def prefix(xml: bytes, start: int) -> bytes:
    """The prefix of the tag that begins at `start`, with its colon: `x:` or nothing."""
    before, colon, _ = tag_name(xml, start).rpartition(b":")
    return before + colon


def attribute(tag: bytes, name: bytes) -> bytes:
    """The raw value of a tag's attribute; blank if it has none."""
    return next((match[2][1:-1] for match in _ATTRIBUTE.finditer(tag) if match[1] == name), b"")


def retagged(tag: bytes, drop: Container[bytes], add: Mapping[bytes, bytes]) -> bytes:
    """A start tag without the attributes in `drop`, and with those of `add`, in their old place or at the end."""
    left = dict(add)

    def one(match: re.Match[bytes]) -> bytes:
        if match[1] in left:
            return b' %s="%s"' % (match[1], left.pop(match[1]))
        return b"" if match[1] in drop else match[0]

    name = tag_name(tag, 0)
    close = b"/>" if tag.endswith(b"/>") else b">"
    kept = _ATTRIBUTE.sub(one, tag[len(name) + 1 : -len(close)]).rstrip()
    return b"<" + name + kept + b"".join(b' %s="%s"' % item for item in left.items()) + close

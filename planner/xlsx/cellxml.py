"""A cell's and a row's XML at another place: another address, another format, the formula as it reads there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from planner.xlsx.address import Position, address
from planner.xlsx.cell_formulas import moved_formula
from planner.xlsx.markup import is_empty, retagged, tag_end
from planner.xlsx.moves import SheetMoves

_FORMULA = re.compile(rb"<((?:\w+:)?)f(?:\s[^>]*)?(?:/>|>.*?</\1f>)", re.DOTALL)
_ROW = re.compile(rb"<(?:\w+:)?row\b[^>]*>")


def readdressed(
    raw: bytes, final: Position | None, style: int | None, formula: str | None, moves: SheetMoves
) -> bytes:  # fmt: skip
    """A cell's XML at another place: its address, its format (None: as they are), and its formula as it reads there.

    `moves` are those of the cell's sheet: an array or a data table fills another range then.
    """
    end = tag_end(raw, 0)
    named = {} if final is None else {b"r": address(*final).encode()}
    tag = retagged(raw[:end], (), named | ({} if style is None else {b"s": b"%d" % style}))
    rest = raw[end:]
    if formula is not None and not is_empty(raw, end):
        rest = _FORMULA.sub(lambda match: moved_formula(match[0], formula, moves), rest, count=1)
    return tag + rest


def prefixed(xml: bytes, prefix: bytes) -> bytes:
    """XML whose elements have the prefix of another part's; there is mostly none."""
    return re.sub(rb"<(/?)(?=[A-Za-z])", rb"<\1" + prefix, xml) if prefix else xml


def row_tags(xml: bytes) -> Iterator[tuple[int, bytes]]:
    """The number and the opening tag of each row of a sheet."""
    for match in _ROW.finditer(xml):
        number = re.search(rb"""\sr=["']([0-9]+)["']""", match[0])
        if number:
            yield int(number[1]), match[0]


def says_something(tag: bytes) -> bool:
    """Whether a row without cells has a height, a format or a group of its own."""
    return bool(re.search(rb"""\s(ht|hidden|outlineLevel|s|customFormat|collapsed)=""", tag))


def restyled(rows: bytes, styles: Mapping[int, int]) -> bytes:
    """Rows whose formats have other numbers now."""
    return re.sub(rb"(<(?:c|row)\b[^>]*?\ss=\")([0-9]+)", lambda match: match[1] + b"%d" % styles[int(match[2])], rows)

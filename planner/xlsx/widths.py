"""The widths of a sheet's columns: one column made as wide as another, every other byte left alone."""

from __future__ import annotations

import re

from planner.xlsx.markup import Edit, apply_edits, retagged

_COL = re.compile(rb"<(?:\w+:)?col\s[^>]*/>")
_NUMBER = rb"""\s%b=["']([0-9]+)["']"""
_MIN, _MAX = re.compile(_NUMBER % b"min"), re.compile(_NUMBER % b"max")


def as_wide(xml: bytes, source: int, target: int) -> bytes:
    """The sheet with column `target` as wide as `source`; one that has a width of its own, or whose source has none,
    keeps it.
    """  # fmt: skip
    spans: list[tuple[int, int, re.Match[bytes]]] = []
    for found in _COL.finditer(xml[: xml.find(b"sheetData")]):
        first, last = _MIN.search(found[0]), _MAX.search(found[0])
        if first and last:
            spans.append((int(first[1]), int(last[1]), found))
    model = next((tag for low, high, tag in spans if low <= source <= high), None)
    if model is None:
        return xml
    for low, high, tag in spans:
        if low <= target <= high:
            if low == high or low <= source <= high:
                return xml
            return apply_edits(xml, [Edit(tag.start(), tag.end(), _split(tag[0], model[0], low, high, target))])
    after = [tag for low, _, tag in spans if low < target]
    return apply_edits(xml, [Edit(after[-1].end(), after[-1].end(), _with(model[0], target, target))])


def _split(tag: bytes, model: bytes, low: int, high: int, target: int) -> bytes:
    """A run of columns, one of them as wide as `model`."""
    before = _with(tag, low, target - 1) if low < target else b""
    after = _with(tag, target + 1, high) if target < high else b""
    return before + _with(model, target, target) + after


def _with(tag: bytes, low: int, high: int) -> bytes:
    return retagged(tag, (), {b"min": b"%d" % low, b"max": b"%d" % high})

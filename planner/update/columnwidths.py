"""The widths and groups of an edited sheet's columns, each with the column that it is for, and those of new columns."""

from __future__ import annotations

import re

from planner.update.cellxml import prefixed
from planner.xlsx.address import MAX_COLUMN
from planner.xlsx.moves import Track

_COLS = re.compile(rb"<(?:\w+:)?cols>.*?</(?:\w+:)?cols>", re.DOTALL)
_COL = re.compile(rb"<(?:\w+:)?col\s[^>]*/>")
_SPAN = re.compile(rb"""\s(?:min|max)=["']\d+["']""")
MOST = 400  # columns told one by one; a span beyond is that of all that nobody has filled


def with_widths(old: bytes, fresh: bytes, prefix: bytes, columns: Track, fresh_columns: Track) -> bytes:
    """The old sheet's head with its widths where the columns go, and the fresh one's for columns that it hasn't."""
    found = _COLS.search(old)
    if found is None:
        return old
    told = _told(found[0])
    loose, mine = ({columns(column): tag for column, tag in told.items() if (column in columns.known) is known}
                   for known in (False, True))  # fmt: skip
    theirs = {fresh_columns(column): prefixed(tag, prefix) for column, tag in _told(fresh).items()}
    placed = loose | theirs | mine
    tags = b"".join(_spanned(placed))
    rest = next((tag for tag in _COL.findall(found[0]) if _limits(tag)[1] > MOST), b"")
    if rest and (start := max([_limits(rest)[0], *(column + 1 for column in placed)])) <= _limits(rest)[1]:
        tags += _at(rest, start, _limits(rest)[1])
    return old[: found.start()] + b"<%bcols>%b</%bcols>" % (prefix, tags, prefix) + old[found.end() :]


def _told(xml: bytes) -> dict[int, bytes]:
    """The tag of each column, but for those of a span that goes on to the end of the sheet."""
    found: dict[int, bytes] = {}
    for tag in _COL.findall(xml):
        first, last = _limits(tag)
        if last <= MOST:
            found |= dict.fromkeys(range(first, last + 1), tag)
    return found


def _limits(tag: bytes) -> tuple[int, int]:
    first, last = (re.search(rb"""\s%b=["'](\d+)""" % name, tag) for name in (b"min", b"max"))
    return (int(first[1]), min(int(last[1]), MAX_COLUMN)) if first and last else (MAX_COLUMN, MAX_COLUMN)


def _spanned(placed: dict[int, bytes]) -> list[bytes]:
    """The tags from left to right, columns side by side that are alike in one."""
    spans: list[tuple[int, int, bytes]] = []
    for column, tag in sorted(placed.items()):
        bare = _SPAN.sub(b"", tag)
        if spans and spans[-1][1] == column - 1 and spans[-1][2] == bare:
            spans[-1] = (spans[-1][0], column, bare)
        else:
            spans.append((column, column, bare))
    return [_at(tag, first, last) for first, last, tag in spans]


def _at(tag: bytes, first: int, last: int) -> bytes:
    bare = _SPAN.sub(b"", tag)
    name = re.match(rb"<(?:\w+:)?col", bare)
    assert name is not None, "it is a column's tag"
    return name[0] + b' min="%d" max="%d"' % (first, last) + bare[name.end() :]

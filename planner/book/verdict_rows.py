"""The rows of Cover with the verdicts of scenarios: those of scenarios to come are a closed group.

LibreOffice closes every row of a group that is marked as collapsed, so that a used row may not stay in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count, takewhile

from planner.book.rowkeys import VERDICTS
from planner.book.workbook import Book
from planner.xlsx.markup import retagged
from planner.xlsx.moved_cells import row_tags, with_row_tags
from planner.xlsx.opc import Package

GROUPED, HIDDEN, COLLAPSED = b"outlineLevel", b"hidden", b"collapsed"
_LEVEL = re.compile(rb"""\soutlineLevel=["'][1-7]""")  # LibreOffice writes a level of 0 too


def verdict_rows(book: Book) -> list[int]:
    """The rows, in the order of their scenarios; none on a Cover without them."""
    cover = book.designed.get("Cover")
    if cover is None:
        return []
    titles = next((row for row, column in cover.values if column == 1 and cover.text(row, 1) == VERDICTS), 0)
    return list(takewhile(lambda row: (row, 1) in cover.patterns, count(titles + 1))) if titles else []


def are_closed(book: Book) -> bool:
    """Whether Cover has rows for verdicts, but for some scenario none, or one of the closed group."""
    rows, used = verdict_rows(book), len(book.inputs.columns)
    if not rows:
        return False
    tags = dict(row_tags(book.designed["Cover"].xml.xml))
    return used > len(rows) or any(_is_grouped(tags.get(row, b"")) for row in rows[:used])


def open_verdicts(package: Package, book: Book, used: int) -> bool:
    """Open the rows of the first `used` scenarios, and close the others; whether there are enough."""
    rows = verdict_rows(book)
    if rows:
        open_rows(package, book.designed["Cover"].name, rows, used)
    return not rows or used <= len(rows)


def open_rows(package: Package, cover: str, rows: Sequence[int], used: int) -> None:
    """Open the rows of the first `used` scenarios on the sheet `cover`, which are `rows`, and close the others.

    They are as in a build of as many scenarios, but where the user opened the group, its rows stay open.
    """
    below, closed = rows[-1] + 1, set(rows[used:])
    part = package.sheets()[cover]
    tags = dict(row_tags(package.parts[part]))
    is_closed_now = any(not _is_grouped(tags.get(row, b"")) for row in closed)

    def changed(row: int, tag: bytes) -> bytes:
        if row in closed and not _is_grouped(tag):
            return retagged(tag, (), {HIDDEN: b"1", GROUPED: b"1"})
        if row in rows and row not in closed and _is_grouped(tag):
            return retagged(tag, (HIDDEN, GROUPED), {})
        if row == below and is_closed_now:
            return retagged(tag, (), {COLLAPSED: b"1"})
        return retagged(tag, (COLLAPSED,), {}) if row == below and not closed else tag

    package.replace(part, with_row_tags(package.parts[part], changed))


def _is_grouped(tag: bytes) -> bool:
    """Whether the start tag of a row puts it in a group."""
    return _LEVEL.search(tag) is not None

"""What compares the scenarios of a workbook, Dashboard's charts and Cover's verdicts: one more when one is added."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planner.book.rowkeys import VERDICTS
from planner.book.tables import HEADER
from planner.book.workbook import Book
from planner.xlsx.address import Area
from planner.xlsx.opc import Package
from planner.xlsx.references import Corner, Reference, references, rewritten
from planner.xlsx.xmltree import every, local_name

CACHES = ("numCache", "strCache")  # what a range held when the file was saved


def comparing(book: Book) -> Iterator[str]:
    """The parts of the charts that draw the names of all scenarios on Dashboard."""
    names = _names(book)
    for part in book.package.parts if names else ():
        if "/charts/chart" in part and part.endswith(".xml"):
            texts = (element.text or "" for element in every(book.package.tree(part), "f"))
            if any(names == (found.sheet, found.area) for text in texts for found in references(text)):
                yield part


def widen(package: Package, book: Book, column: int) -> None:
    """Let these charts draw Dashboard's columns up to `column`."""
    table = book.dashboard
    first, last = table.columns[0], table.columns[-1]

    def wider(found: Reference) -> Reference:
        area = found.area
        if found.sheet != table.sheet.name or (area.left, area.right) != (first, last):
            return found
        ends = (Corner(row, at, True, True) for row, at in ((area.top, first), (area.bottom, column)))
        return found._replace(first=next(ends), last=next(ends), is_range=True)

    for part in comparing(book):
        root = package.tree(part)
        for element in every(root, "f"):
            text = rewritten(element.text or "", wider)
            if text != element.text:
                element.text = text
                holder = element.getparent()
                for cache in [each for each in holder if local_name(each) in CACHES]:
                    holder.remove(cache)
        package.put_tree(part, root)


def tell(package: Package, book: Book, count: int) -> None:
    """Open the row of Cover with the verdict of scenario `count`, from 1: those of more than there are stand closed."""
    cover = book.designed.get("Cover")
    if cover is None:
        return
    titles = next((row for row, column in cover.values if column == 1 and cover.text(row, 1) == VERDICTS), 0)
    if (titles + count, 1) not in cover.patterns:
        return
    part = package.sheets()[cover.name]
    row = rb'(<(?:\w+:)?row\b[^>]*?\sr="%d"[^>]*?)\shidden="(?:1|true)"' % (titles + count)
    package.replace(part, re.sub(row, rb"\1", package.parts[part]))


def _names(book: Book) -> tuple[str, Area] | None:
    """Where Dashboard names its scenarios."""
    table = book.dashboard
    line = table.by_name.get(HEADER[1])
    if line is None or not table.columns:
        return None
    return table.sheet.name, Area(line.row, table.columns[0], line.row, table.columns[-1])

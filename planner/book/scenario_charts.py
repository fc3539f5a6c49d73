"""Charts that draw all scenarios of Dashboard side by side.

When a scenario is moved in front of the first, spreadsheet programs keep the charts' ranges on the old ones.
"""

from __future__ import annotations

from planner.book.tables import HEADER, LineTable
from planner.book.workbook import Book
from planner.xlsx.address import Area
from planner.xlsx.drawings import charts_over
from planner.xlsx.opc import Package
from planner.xlsx.references import Reference, rewritten
from planner.xlsx.xmltree import every, local_name

CACHES = ("numCache", "strCache")  # what a range held when the file was saved


def comparing(book: Book) -> list[tuple[str, Area]]:
    """The chart parts that draw the scenarios' names up to the last one, each with the names' range."""
    table = book.dashboard
    line = table.by_name.get(HEADER[1])
    if line is None or not table.columns:
        return []

    def is_of_names(read: Reference) -> bool:
        return _is_over(read, table) and read.area.top == read.area.bottom == line.row

    return [(part, read.area) for part, read in charts_over(book.package, is_of_names)]


def _is_over(read: Reference, table: LineTable) -> bool:
    """Whether a range covers scenarios of Dashboard up to the last one."""
    area = read.area
    return read.sheet == table.sheet.name and table.columns[0] <= area.left <= area.right == table.columns[-1]


def moved_in_front(book: Book) -> list[int]:
    """The columns of scenarios in front of the range that these charts draw.

    If only some of the charts begin later, the user made them so, and the list is empty.
    """
    begins = {area.left for _, area in comparing(book)}
    return [column for column in book.dashboard.columns if column < min(begins)] if len(begins) == 1 else []


def draw_all(package: Package, book: Book, last: int) -> None:
    """Extend these charts to every scenario of Dashboard, up to the column `last`."""
    table, is_short = book.dashboard, bool(moved_in_front(book))
    first = table.columns[0]

    def wider(read: Reference) -> Reference:
        is_of_all = _is_over(read, table) and (is_short or read.area.left == first)
        return read.over(read.area._replace(left=first, right=last)) if is_of_all else read

    for part, _ in comparing(book):
        with package.edited(part) as root:
            for element in every(root, "f"):
                text = rewritten(element.text or "", wider)
                if text != element.text:
                    element.text = text
                    holder = element.getparent()
                    for cache in [each for each in holder if local_name(each) in CACHES]:
                        holder.remove(cache)

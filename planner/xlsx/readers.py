"""Who reads ranges of some kind, as those that end where a table did before it grew: defined names and charts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planner.xlsx.drawings import charts_of
from planner.xlsx.opc import Package
from planner.xlsx.references import Reference, references
from planner.xlsx.xmltree import every

Wanted = Callable[[Reference], bool]


def names_over(package: Package, wanted: Wanted) -> Iterator[str]:
    """The names of the workbook that stand for such a range; those of one sheet alone are left out."""
    for name in every(package.tree(package.workbook_part()), "definedName"):
        if name.get("localSheetId") is None and any(map(wanted, references(name.text or ""))):
            yield name.get("name", "")


def charts_over(package: Package, wanted: Wanted) -> Iterator[tuple[str, Reference]]:
    """The parts of the charts that draw such a range, each with the first one."""
    for part in charts_of(package):
        ranges = every(package.tree(part), "f")
        found = next((read for one in ranges for read in references(one.text or "") if wanted(read)), None)
        if found is not None:
            yield part, found

"""A person's own ranges over the cases of a Comparison, which new rows below make too short."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from planner.compare.comparison_sheet import MARKERS, ComparisonSheet
from planner.spoken import few
from planner.xlsx.drawings import charts_over
from planner.xlsx.opc import Package
from planner.xlsx.references import Reference, references
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.workbook_part import names_over


def too_short(package: Package, sheet: ComparisonSheet, parsed: Mapping[str, SheetXml]) -> str:
    """A warning about the ranges that end at the last case, before others are appended; blank without any.

    Planner's own are sized ahead: a range that ends exactly there is a person's.
    """
    last = max((row.number for row in sheet.rows), default=0)
    if not last or last == sheet.sized_to:
        return ""
    found = list(_ending(package, sheet, parsed, last))
    if not found:
        return ""
    ends, ranges = ("ends", "its range") if len(found) == 1 else ("end", "their ranges")
    return f"{few(found)} {ends} at row {last} of {sheet.name}, the last case of before: widen {ranges}"


def _ending(package: Package, sheet: ComparisonSheet, parsed: Mapping[str, SheetXml], last: int) -> Iterator[str]:
    """Cells of other sheets, names and charts with a range that ends in this row."""

    def ends(found: Reference) -> bool:
        return found.sheet == sheet.name and found.area.top < found.area.bottom == last

    may_end = re.compile(rb":\$?[A-Z]+\$?%d\b" % last)  # which most sheets have nowhere
    for name, xml in parsed.items():
        for cell in xml.cells.values() if name != sheet.name and may_end.search(xml.xml) else ():
            if any(map(ends, references(cell.formula or ""))):
                yield f"{name}!{cell.ref}"
    yield from (f"the name {name}" for name in names_over(package, ends) if not name.startswith(MARKERS))
    yield from (f"a chart of {found}" for _, found in charts_over(package, ends))

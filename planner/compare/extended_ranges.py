"""Ranges over the rows of a Comparison, extended over those appended below.

These are a table of the analyst's, filters, conditional formats and validations, and our own
defined names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from planner.compare.comparison_sheet import MARKERS, ComparisonSheet
from planner.errors import Place, UserError
from planner.xlsx.address import Area
from planner.xlsx.named_ranges import Table, reshape_names, reshape_table, tables
from planner.xlsx.opc import Package
from planner.xlsx.sheet_rules import RANGES, reshape
from planner.xlsx.worksheet import Worksheet

Stretch = Callable[[Area], Area]
"""An area to what it is to be."""
FILTER = "_xlnm._FilterDatabase"  # the defined name that every filter of a sheet has beside it


def extend_tables(package: Package, sheet: ComparisonSheet, appended: Collection[int]) -> None:
    """Let a table that holds the last case hold the rows `appended` too.

    Raises UserError where it can't: a row of totals is in the way, or something else below it.
    """
    last_case, last = sheet.rows[-1].number if sheet.rows else 0, max(appended)

    def longer(area: Area) -> Area:
        return area._replace(bottom=last)

    for part, table in tables_of(package, sheet):
        if not table.area.top <= last_case <= table.area.bottom or last <= table.area.bottom - table.totals_row:
            continue
        _refuse_in_the_way(package, sheet, table, longer(table.area), appended)
        reshape_table(package, part, longer)


def extend_ranges(package: Package, sheet: ComparisonSheet, appended: Collection[int]) -> None:
    """Let what covers the last cases in the sheet cover the rows `appended` below them."""
    worksheet = Worksheet(package.parts[sheet.part])
    reshape(worksheet.root, _stretch(sheet, appended), *RANGES)
    package.replace(sheet.part, worksheet.xml())


def extend_names(package: Package, sheet: ComparisonSheet, appended: Collection[int]) -> None:
    """Let our defined names over the last cases lie over the rows `appended` below them."""
    stretch = _stretch(sheet, appended)

    def of_name(name: str, on: str, area: Area) -> Area:
        ours = on == sheet.name and (name.startswith(MARKERS) or name == FILTER)
        return stretch(area) if ours else area

    reshape_names(package, of_name)


def outside(sheet: ComparisonSheet, appended: Collection[int]) -> str:
    """A warning about new rows below those that charts were sized for; blank without any."""
    beyond = [number for number in appended if number > sheet.sized_to > 0]
    if not beyond:
        return ""
    return f"{sheet.name} was sized to row {sheet.sized_to}: its charts don't show the {len(beyond)} rows below yet"


def tables_of(package: Package, sheet: ComparisonSheet) -> list[tuple[str, Table]]:
    """The tables on the sheet, each with its part."""
    parts = [link.target for link in package.relationships(sheet.part) if link.kind == "table"]
    return list(zip(parts, (table for table in tables(package) if table.sheet == sheet.name), strict=True))


def _stretch(sheet: ComparisonSheet, appended: Collection[int]) -> Stretch:
    numbers = [row.number for row in sheet.rows]
    if not numbers:
        return lambda area: area
    bottom, new = max(numbers), set(appended)
    while bottom + 1 in new:  # what stands between them is someone's, and stays outside
        bottom += 1
    return _over(numbers, bottom)


def _over(cases: Collection[int], bottom: int) -> Stretch:
    """Areas over the last case and another, or over the only one, extended to `bottom`; no others."""
    last, least = max(cases), min(2, len(cases))

    def stretch(area: Area) -> Area:
        covered = sum(area.top <= number <= area.bottom for number in cases)
        if covered >= least and area.top <= last <= area.bottom < bottom:
            return area._replace(bottom=bottom)
        return area

    return stretch


def _refuse_in_the_way(
    package: Package, sheet: ComparisonSheet, table: Table, new: Area, appended: Collection[int]
) -> None:
    """Raise UserError where a table can't be made to cover the area `new`."""
    place = Place(package.name, sheet=sheet.name)
    missing = set(range(table.area.bottom + 1, new.bottom + 1))
    if table.totals_row:
        what = f"the table {table.name} has a row of totals, and no free row above it for {len(appended)} new cases"
        raise UserError(what, place=place, remedy="insert rows above the totals, or switch them off")
    others = [other for _, other in tables_of(package, sheet) if other.name != table.name]
    if not missing <= set(appended) or any(new.meets(other.area) for other in others):
        what = f"the table {table.name} can't be made longer by {len(missing)} rows: something stands below it"
        raise UserError(what, place=place, remedy="move it, or insert rows below the last case")

"""Extends what covers the last cases of a Comparison over the rows that are appended to it.

That is Excel tables, filters, conditional formats, data validations, charts, and planner's defined names; the user is
warned about other ranges that end too early.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from planner.compare.comparison_sheet import MARKERS, ComparisonSheet
from planner.errors import Place, UserError
from planner.formulas import library
from planner.measure.records import Measurement, parse_key
from planner.number_text import few
from planner.xlsx.address import Area
from planner.xlsx.drawings import charts_of, charts_over
from planner.xlsx.opc import Package
from planner.xlsx.references import Reference, references, rewritten
from planner.xlsx.sheet_rules import RANGES, reshape
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.workbook_part import PRINTED, ExcelTable, names_over, reshape_names, reshape_table, tables
from planner.xlsx.worksheet import Worksheet
from planner.xlsx.xmltree import every

Stretch = Callable[[Area], Area]
"""A function from an area to the extended one."""
FILTER = "_xlnm._FilterDatabase"  # the defined name that belongs to every filter of a sheet


def extend_tables(package: Package, sheet: ComparisonSheet, appended: Collection[int]) -> None:
    """Extend the Excel table that contains the last case over the `appended` rows.

    Raises UserError if a totals row or other content below the table is in the way.
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
    """Extend conditional formats, validations and filters that cover the last cases over the `appended` rows."""
    worksheet = Worksheet(package.parts[sheet.part])
    reshape(worksheet.root, _stretch(sheet, appended), *RANGES)
    package.replace(sheet.part, worksheet.xml())


LONGEST_LIST = 255  # characters of a list in a data validation: Excel removes a longer one as damaged


def offer_templates(package: Package, sheet: ComparisonSheet, new: Iterable[Measurement]) -> None:
    """Add the templates of new rows to the drop-down list of templates."""
    known, worksheet = set(library.names()), Worksheet(package.parts[sheet.part])
    wanted = dict.fromkeys(parse_key(one.case_key)[0] for one in new)
    lists = [(found, (found.text or "").strip('"').split(",")) for found in every(worksheet.root, "formula1")]
    for found, names in lists:
        more = [name for name in wanted if name not in names]
        longer = ",".join([*names, *more])
        if more and known.issuperset(names) and len(longer) <= LONGEST_LIST:
            found.text = f'"{longer}"'
            package.replace(sheet.part, worksheet.xml())


def extend_names(package: Package, sheet: ComparisonSheet, appended: Collection[int]) -> None:
    """Extend planner's defined names, and the print area, that cover the last cases over the `appended` rows."""
    stretch = _stretch(sheet, appended)

    def of_name(name: str, on: str, area: Area) -> Area:
        ours = on == sheet.name and (name.startswith(MARKERS) or name in (FILTER, PRINTED))
        return stretch(area) if ours else area

    reshape_names(package, of_name)


def extend_charts(package: Package, sheet: ComparisonSheet, appended: Collection[int]) -> None:
    """Extend charts over all rows reserved for cases to the `appended` rows below those."""
    stretch = _stretch(sheet, appended)

    def longer(drawn: Reference) -> Reference:
        is_ours = drawn.sheet == sheet.name and drawn.last.row == sheet.sized_to > 0
        return drawn._replace(last=drawn.last._replace(row=stretch(drawn.area).bottom)) if is_ours else drawn

    for part in charts_of(package):
        with package.edited(part) as root:
            for drawn in every(root, "f"):
                drawn.text = rewritten(drawn.text or "", longer)


def tables_of(package: Package, sheet: ComparisonSheet) -> list[tuple[str, ExcelTable]]:
    """The Excel tables on the sheet, as (part, table)."""
    parts = [link.target for link in package.relationships(sheet.part) if link.kind == "table"]
    return list(zip(parts, (table for table in tables(package) if table.sheet == sheet.name), strict=True))


def _stretch(sheet: ComparisonSheet, appended: Collection[int]) -> Stretch:
    """A function that extends areas over the last two cases (or the only one) over the new rows below; others stay."""
    numbers = [row.number for row in sheet.rows]
    if not numbers:
        return lambda area: area
    bottom, new = max(numbers), set(appended)
    while bottom + 1 in new:  # what stands between them is someone's, and stays outside
        bottom += 1
    last, least = max(numbers), min(2, len(numbers))

    def stretch(area: Area) -> Area:
        covered = sum(area.top <= number <= area.bottom for number in numbers)
        if covered >= least and area.top <= last <= area.bottom < bottom:
            return area._replace(bottom=bottom)
        return area

    return stretch


def _refuse_in_the_way(
    package: Package, sheet: ComparisonSheet, table: ExcelTable, new: Area, appended: Collection[int]
) -> None:
    """Raise UserError if a table can't be extended to the area `new`."""
    place = Place(package.name, sheet=sheet.name)
    missing = set(range(table.area.bottom + 1, new.bottom + 1))
    if table.totals_row:
        what = f"the table {table.name} has a row of totals, and no free row above it for {len(appended)} new cases"
        raise UserError(what, place=place, remedy="insert rows above the totals, or switch them off")
    others = [other for _, other in tables_of(package, sheet) if other.name != table.name]
    if not missing <= set(appended) or any(new.meets(other.area) for other in others):
        what = f"the table {table.name} can't be made longer by {len(missing)} rows: something stands below it"
        raise UserError(what, place=place, remedy="move it, or insert rows below the last case")


def too_short(package: Package, sheet: ComparisonSheet, parsed: Mapping[str, SheetXml]) -> str:
    """A warning about ranges that end at the last case, before rows are appended; blank if there are none.

    Planner's ranges extend beyond the cases, so that one ending exactly there is the user's.
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
    """The cells of other sheets, defined names and charts with a range that ends in the row `last`."""

    def ends(found: Reference) -> bool:
        return found.sheet == sheet.name and found.area.top < found.area.bottom == last

    may_end = re.compile(rb":\$?[A-Z]+\$?%d\b" % last)  # which most sheets have nowhere
    for name, xml in parsed.items():
        for cell in xml.cells.values() if name != sheet.name and may_end.search(xml.xml) else ():
            if any(map(ends, references(cell.formula or ""))):
                yield f"{name}!{cell.ref}"
    yield from (f"the name {name}" for name in names_over(package, ends) if not name.startswith(MARKERS))
    yield from (f"a chart of {found}" for _, found in charts_over(package, ends))

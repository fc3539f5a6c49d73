"""The sheet Search in a workbook whose scenarios its plans became, with what these come to now beside what was told."""

from __future__ import annotations

from collections.abc import Sequence

from planner.book.workbook import Book
from planner.formulas.template import Row
from planner.scenario.which import ID
from planner.search.optimum import Found, Plan
from planner.search.request import Request
from planner.search.search_sheet import NAME, PURPOSE, Now, fill, listed
from planner.search.sheet import head
from planner.workbook.added_sheet import put
from planner.workbook.display_units import constant
from planner.workbook.layout import SPARE_SCENARIOS
from planner.xlsx.address import column_letters, quoted
from planner.xlsx.opc import Package


def put_search(package: Package, asked: Request, found: Found, ids: Sequence[str]) -> str:
    """Put the sheet Search into a package, in place; `ids` are the scenarios that plans became. Returns its name."""
    plans, book = listed(asked, found), Book(package)
    places = [next(at for at, each in enumerate(plans) if _is_same(each, plan)) for plan in found.plans]
    became, now = dict(zip(places, ids, strict=True)), _now(book, asked, [each.row for each in found.objectives])
    return put(package, NAME, PURPOSE, lambda page: fill(page, asked, found, plans, became, now))


def _is_same(one: Plan, other: Plan) -> bool:
    return one.subject is other.subject and one.moved == other.moved


def _now(book: Book, asked: Request, rows: Sequence[Row]) -> Now | None:
    """The formula of a row in a scenario by its id; None where the workbook has not all that it reads of these rows."""
    sheets = (table for table in book.calculations if book.templates[table.sheet.name] == asked.template.name)
    table = next(sheets, None)
    shown = {row.name: constant(row.display, row.unit).name for row in rows if head(row).factor != 1}
    if table is None or not {ID, *(row.name for row in rows)} <= table.by_name.keys():
        return None
    if not set(shown.values()) <= book.inputs.by_name.keys():
        return None
    first, last = (column_letters(each) for each in (table.columns[0], table.columns[-1] + SPARE_SCENARIOS))
    constants = f"{quoted(book.inputs.sheet.name)}!${column_letters(book.inputs.head.fourth)}"

    def across(name: str) -> str:
        row = table.by_name[name].row
        return f"{quoted(table.sheet.name)}!${first}${row}:${last}${row}"

    def now(row: Row, at: int) -> str:
        over = f"/{constants}${book.inputs.by_name[shown[row.name]].row}" if row.name in shown else ""
        return f'IFERROR(INDEX({across(row.name)},MATCH($A{at},{across(ID)},0)){over},"")'

    return now

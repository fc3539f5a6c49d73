"""The sheet Search of a workbook that has the plans as scenarios: values found, and formulas of the present values."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose

from planner import progress
from planner.book.tables import LineTable
from planner.book.workbook import Book
from planner.formulas.template import Row
from planner.scenario.which import ID
from planner.search.optimum import Found, Plan
from planner.search.request import Request
from planner.search.search_sheet import NAME, PURPOSE, Now, fill, listed
from planner.search.sheet import head
from planner.search.told import worded
from planner.workbook.added_sheet import put
from planner.workbook.display_units import constant
from planner.workbook.layout import SPARE_SCENARIOS
from planner.xlsx.address import column_letters, quoted
from planner.xlsx.opc import Package

NEAR = 1e-9  # what a scenario's cells may be off what the search told


def put_search(package: Package, asked: Request, found: Found, ids: Sequence[str]) -> str:
    """Put the sheet Search into a package, in place; `ids` are the scenarios that plans became. Returns its name."""
    plans, book = listed(asked, found), Book(package)
    places = [next(at for at, each in enumerate(plans) if _is_same(each, plan)) for plan in found.plans]
    became, now = dict(zip(places, ids, strict=True)), _now(book, asked, [each.row for each in found.objectives])
    _tell(book, asked, found, ids)
    return put(package, NAME, PURPOSE, lambda page: fill(page, asked, found, plans, became, now))


def _is_same(one: Plan, other: Plan) -> bool:
    return one.subject is other.subject and one.moved == other.moved


def _tell(book: Book, asked: Request, found: Found, ids: Sequence[str]) -> None:
    """Warn of scenarios whose cells come to another number than the search: the workbook has databases of its own."""
    table = _table(book, asked)
    if table is None or ID not in table.by_name:
        return
    columns = {table.sheet.text(table.by_name[ID].row, at): at for at in table.columns}
    for each in found.objectives:
        line = table.by_name.get(each.row.name)
        for plan, id in zip(found.plans, ids, strict=True) if line else ():
            told = plan.results.value(each.row.name)
            value = table.sheet.value(line.row, columns[id]) if line and id in columns else None
            if isinstance(value, (int, float)) and isinstance(told, float) and not isclose(value, told, rel_tol=NEAR):
                is_now, was = worded(each.row, float(value)), worded(each.row, told)
                why = "a model, a chip or a formula in it is another than the search has read"
                progress.warn(f"{each.row.name} of {id} is {is_now} in {book.package.name} and not {was}: {why}")
                return


def _table(book: Book, asked: Request) -> LineTable | None:
    return next((each for each in book.calculations if book.templates[each.sheet.name] == asked.template.name), None)


def _now(book: Book, asked: Request, rows: Sequence[Row]) -> Now | None:
    """The formula of a row in a scenario by its id; None where the workbook has not all that it reads of these rows."""
    table = _table(book, asked)
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

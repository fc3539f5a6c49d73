"""What an analyst put in the place of a formula: a number typed over it, or a formula that is not its row's."""

from __future__ import annotations

from collections.abc import Iterator

from planner.book.line_tables import LineItem, LineTable
from planner.book.plan import Plan
from planner.book.row_formulas import usual_of
from planner.report.data import Typed
from planner.report.figures import shown
from planner.xlsx.address import Spot
from planner.xlsx.cellvalue import CellError


def typed_over(plan: Plan) -> tuple[Typed, ...]:
    """Every such cell of the tables of lines: the calculation sheets, Dashboard, Checks."""
    return tuple(
        found for table in plan.book.lines for line in table.lines if line.name for found in _of(plan, table, line)
    )


def _of(plan: Plan, table: LineTable, line: LineItem) -> Iterator[Typed]:
    usual = usual_of(plan.book, table, line)
    names = {scenario.id: scenario.name or scenario.id for scenario in plan.scenarios}
    for column in table.columns:
        sheet, at = table.sheet, (line.row, column)
        if sheet.is_typed(*at):
            value = sheet.value(*at)
            text = str(value) if isinstance(value, CellError) else shown(value, line.unit)
            what = f"{text} typed over the formula"
        elif usual is not None and at in sheet.numbered and sheet.numbered[at] is not usual:
            what = f"another formula than its row's: {sheet.patterns[at].at(*at)}"
        else:
            continue
        _, owner = plan.book.owner(sheet.name, *at)
        yield Typed(str(Spot(sheet.name, *at)), line.label or line.name, names.get(owner, owner), what)

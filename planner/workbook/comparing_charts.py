"""The charts of Dashboard that compare its scenarios: memory, where the time of a step goes, and what it costs.

They draw closed rows of the sheet, with a bar for each scenario; `planner scenario add` widens them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle

from openpyxl.chart import BarChart, Reference, Series
from openpyxl.chart.layout import Layout, ManualLayout
from openpyxl.chart.series import SeriesLabel
from openpyxl.chart.shapes import GraphicalProperties
from openpyxl.worksheet.pagebreak import Break

from planner.formulas.headlines import Headline
from planner.formulas.template import Row
from planner.workbook import charts, layout
from planner.workbook.build_plan import BuildPlan
from planner.workbook.dashboard_lines import Lines, LineWriter
from planner.workbook.display_units import shown_format
from planner.workbook.layout import within
from planner.workbook.page import Page
from planner.workbook.verdict import COST, Verdict
from planner.xlsx.grid import HERE

EXPECTED, BOUND, THERE = "1F4FBF", "C9CED6", "C9CED6"


def draw(writer: LineWriter, made: Sequence[Lines], verdict: Verdict, at: int) -> int:
    """Draw the charts from row `at` on; the row below them."""
    page, plan = writer.page, writer.plan
    found = list(_charts(writer, made, verdict))
    if not found:
        return at
    page.sheet.row_breaks.append(Break(id=at - 1))
    page.section(at, "The scenarios beside each other", plan.columns.last_filled)
    down = right = 0
    for chart, places in found:
        if right + places > charts.ABREAST:
            down, right = down + 1, 0
        page.sheet.add_chart(chart, charts.placed(page, at + 1, down, right, places))
        right += places
    return at + 1 + charts.LINE_ROWS * (down + 1)


def _charts(writer: LineWriter, made: Sequence[Lines], verdict: Verdict) -> Iterator[tuple[BarChart, int]]:
    """The charts, each with the places that it takes."""
    page, plan = writer.page, writer.plan
    told = [each for each in made if each.told]
    if told:
        rows = {verdict.used: ("used", EXPECTED), verdict.there: ("there is", THERE)}
        needed = told[0].told
        assert needed is not None, "only what fits or not is drawn"
        unit = told[0].sheet.template.row(needed.needed).said_in
        yield _bars(page, plan, f"Memory of a chip ({unit})", unit, rows), 1
    for each in told:
        cost = next((one for one in each.leads if one.row.unit == COST and one.bound), None)
        if cost and each.cost:
            rows = {each.cost: ("expected", EXPECTED), each.cost + 1: ("bound", BOUND)}
            yield _bars(page, plan, f"{cost.said} ({cost.row.said_in})", cost.row.said_in, rows), 1
        if whole := each.whole:
            parts = {row: (_plain(page, row), colour) for row, colour in zip(each.parts, cycle(charts.STACK))}
            title = f"Where the time of {_one(whole)} goes ({whole.row.said_in})"
            yield _bars(page, plan, title, whole.row.said_in, parts, stacked=True), 2


def _one(whole: Headline[Row]) -> str:
    """`a decode step`."""
    return f"a {within(whole.said)}"


def _plain(page: Page, row: int) -> str:
    """The label of a part without the step's."""
    return str(page.filled[row, layout.SOURCE][3])


def write_costs(writer: LineWriter, each: Lines, at: int) -> int:
    """Closed lines of what a workload's plan costs and of its bound, N/A where a scenario isn't meant for it."""
    cost = next((one for one in each.leads if one.row.unit == COST and one.bound), None)
    if cost is None or cost.bound is None or not each.told:
        return at
    for place, (row, what) in enumerate(((cost.row, "as charts draw it"), (cost.bound, "bound as charts draw it"))):
        name = f"{row.name}.drawn"
        writer.describe(at + place, (f"{cost.said}: {what}", row.said_in, name, "", "of this workload alone"))
        formula = writer.guarded(each.sheet, f"{HERE}{each.rows[row.name]}", "NA()")
        writer.across(at + place, formula, "plan_formula", shown_format(row))
    writer.close([at, at + 1])
    each.cost = at
    return at + 2


def _bars(
    page: Page, plan: BuildPlan, title: str, unit: str, rows: dict[int, tuple[str, str]], *, stacked: bool = False
) -> BarChart:
    """Bars of some rows for each scenario: beside each other, or one on another."""
    chart = BarChart()
    chart.type, chart.grouping, chart.gapWidth = "bar", "stacked" if stacked else "clustered", 45
    charts.dress(chart, title)
    if stacked:
        chart.overlap = 100
        chart.legend.position = "r"
        chart.layout, chart.legend.layout = _place(0.22, 0.42), _place(0.67, 0.32)  # lest its many parts take all room
    charts.plain_axis(chart.x_axis, "Scenario", "General")
    charts.plain_axis(chart.y_axis, unit, "General")
    chart.x_axis.title = None
    chart.x_axis.scaling.orientation = "maxMin"  # the first scenario on top
    chart.x_axis.majorGridlines = None
    chart.y_axis.scaling.min = 0
    chart.y_axis.crosses, chart.y_axis.tickLblPos = "max", "nextTo"  # and its axis at the bottom
    chart.visible_cells_only = False
    for row, (name, colour) in rows.items():
        bar = Series(_across(page, plan, row), title=name)
        bar.tx = SeriesLabel(v=name)
        bar.graphicalProperties = GraphicalProperties(solidFill=colour)
        bar.graphicalProperties.line.noFill = True
        chart.series.append(bar)
    chart.set_categories(_across(page, plan, layout.TITLE_ROW))
    return chart


def _place(left: float, wide: float) -> Layout:
    """A place within a chart below its title, in shares of its width."""
    return Layout(manualLayout=ManualLayout(layoutTarget="inner", xMode="edge", yMode="edge",
                                            x=left, y=0.16, w=wide, h=0.66))  # fmt: skip


def _across(page: Page, plan: BuildPlan, row: int) -> Reference:
    """The scenarios' cells of a row."""
    return Reference(
        page.sheet, min_col=layout.FIRST_SCENARIO, max_col=plan.columns.last_filled, min_row=row, max_row=row
    )

"""The charts of Dashboard: comparisons of its scenarios, and the chosen scenario's step, roofline and sweeps.

The comparisons (memory, where a step's time goes, cost) draw closed rows of the sheet, with a bar for each scenario;
`planner scenario add` extends them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

from openpyxl.chart import BarChart, LineChart, Reference, Series
from openpyxl.chart._chart import ChartBase
from openpyxl.chart.layout import Layout, ManualLayout
from openpyxl.chart.shapes import GraphicalProperties
from openpyxl.drawing.line import LineProperties
from openpyxl.worksheet.pagebreak import Break

from planner.formulas.headlines import Headline
from planner.formulas.template import Row
from planner.number_text import where_goes, within
from planner.workbook import charts, layout
from planner.workbook.charts import AXIS as INK
from planner.workbook.dashboard_lines import Lines, LineWriter
from planner.workbook.display_units import shown_format
from planner.workbook.expected_parts import ExpectedParts
from planner.workbook.page import Page
from planner.workbook.roofline_sheet import Roofline
from planner.workbook.sweep_sheet import Sweeps
from planner.workbook.sweep_table import WHOLES, SweepTable
from planner.workbook.verdict import COST, THERE, USED, Verdict
from planner.xlsx.grid import HERE

PLACES = 2  # width of a chart of the chosen scenario: that of two comparisons
PER_PAGE = 2  # lines of charts per printed page
BARE_ROWS, ROWS_EACH = 7, 2  # a chart's rows without bars, and per scenario: a name on two lines
LEAST_EACH = 1  # with fewer rows per scenario, names are left out
TITLE = "The scenarios beside each other"
LIMITS = {"memory": "capacity", "time": "limit"}  # the limit of a chart's bars, drawn as a line
LIMIT = "B42318"
LINE_WIDTH = 22225  # the width of a line in EMU
NUMBER, COUNT = "#,##0.##", "#,##0"
CHART_TITLES = {"memory": "Memory of a chip", "time": "Expected step"}


@dataclass
class DashboardCharts:
    """The data to draw."""

    parts: ExpectedParts | None = None
    roofline: Roofline | None = None
    sweeps: Sweeps | None = None

    def draw(self, page: Page, at: int) -> int:
        """Draw all charts in two columns from a row on; returns the next free row."""
        lines = _laid(page, at, ((chart, PLACES) for chart in self._charts()))
        for down in range(1, lines, PER_PAGE):  # the first line is below the choices
            page.sheet.row_breaks.append(Break(id=at + down * charts.LINE_ROWS - 1))
        return at + charts.LINE_ROWS * lines

    def _charts(self) -> Iterator[ChartBase]:
        if self.parts is not None:
            yield self.parts.chart()
        if self.roofline is not None:
            yield self.roofline.chart()
        if self.sweeps is not None:
            for table in self.sweeps.drawn("throughput"):
                yield _throughput(table)
            for part in CHART_TITLES:
                for table in self.sweeps.drawn(part):
                    yield _parts(table, part)


def _throughput(table: SweepTable) -> ChartBase:
    """Throughput per chip over time per token: a point for each case, the scenario's own point, and the bounds."""
    sweep = table.sweep
    across, up = sweep.playing("latency")[0], sweep.playing("throughput")[0]
    chart = charts.log_log(f"{sweep.rows[up].label} over {within(sweep.rows[across].label)}")
    charts.axis(chart.x_axis, f"{sweep.rows[across].label} ({sweep.rows[across].said_in})", "General")
    charts.axis(chart.y_axis, f"{sweep.rows[up].label} (tokens/s)", "#,##0.##")
    first, last = table.rows.start, table.rows.stop - 1
    columns = {**table.places, **table.shown}  # a point without its x would be drawn at 1
    for ends, title, colour in ((("latency", "throughput"), "expected", INK), (("least", "most"), "bound", LIMIT)):
        names = [name for end in ends for name in sweep.playing(end)[:1]]
        if len(names) == len(ends):
            x, y = (charts.column(table.page, columns[name], first, last) for name in names)
            chart.series.append(charts.line(x, y, f"{table.axis.row.label}, swept: {title}", colour, 12700))
    drawn = len(chart.series)
    for row in table.rows:
        chart.series.append(charts.labelled(table.page, columns[across], columns[up], row))
    x, y = (charts.column(table.page, table.own[name], first, first) for name in (across, up))
    chart.series.append(charts.ring(x, y, "The scenario"))
    charts.hide_from_legend(chart, range(drawn, drawn + len(table.rows)))
    return chart


def _parts(table: SweepTable, part: str) -> ChartBase:
    """A quantity's parts over the table's axis, as stacked bars, with a line for their limit.

    The limit is the memory available, or the bound of the step that the parts add up to.
    """
    sweep, whole = table.sweep, table.sweep.rows[table.sweep.playing(WHOLES[part])[0]]
    title = f"{sweep.template.name.capitalize()}: {within(CHART_TITLES[part])} over {within(table.axis.row.label)}"
    chart, lines = charts.bars(title, "", whole.said_in, 40, down=False, form=NUMBER), LineChart()
    charts.plain_axis(chart.x_axis, table.axis.row.label, COUNT, slanted=True)
    for name, colour in zip(sweep.playing(part), cycle(charts.STACK)):
        chart.series.append(charts.bar(_cells(table, name), sweep.rows[name].label, colour))
    for name in sweep.playing(LIMITS[part]):
        line = Series(_cells(table, name), title=sweep.rows[name].label)
        line.graphicalProperties = GraphicalProperties(ln=LineProperties(w=LINE_WIDTH, solidFill=LIMIT))
        line.smooth = False
        lines.series.append(line)
    cases = charts.column(table.page, 1, table.rows.start, table.rows.stop - 1)
    chart.set_categories(cases)
    lines.set_categories(cases)
    chart += lines
    return chart


def _cells(table: SweepTable, name: str) -> Reference:
    """A reference to a quantity in every case of a table."""
    return charts.column(table.page, table.places[name], table.rows.start, table.rows.stop - 1)


EXPECTED = "1F4FBF"


def draw(writer: LineWriter, made: Sequence[Lines], verdict: Verdict) -> None:
    """Draw the charts below the lines so far."""
    page, at = writer.page, writer.at
    found = list(_charts(writer, made, verdict))
    if not found:
        return
    drawn = page.columns.filled + page.columns.coming
    high = writer.plan.chart_rows // len(_in_lines(found))
    if high < BARE_ROWS + LEAST_EACH * drawn:
        high = max(charts.LINE_ROWS, BARE_ROWS + ROWS_EACH * drawn)
    page.sheet.row_breaks.append(Break(id=at - 1))
    page.section(at, TITLE)
    writer.at += 1 + high * _laid(page, at + 1, found, high)


def rows_of(keys: Mapping[str, int]) -> int:
    """The rows of the charts of `draw` on a built Dashboard, given the row of each key; 0 if it has none."""
    title = keys.get(f"label {TITLE}", 0)
    below = [row for row in keys.values() if row > title]
    return min(below) - title - 1 if title and below else 0


def _laid(page: Page, at: int, found: Iterable[tuple[ChartBase, int]], high: int = charts.LINE_ROWS) -> int:
    """Lay out charts, each with its width in places, in lines of `high` rows from row `at` on; returns their number."""
    lines = _in_lines(found)
    for down, line in enumerate(lines):
        right = 0
        for chart, places in line:
            page.sheet.add_chart(chart, charts.placed(page, at, down, right, places, high))
            right += places
    return len(lines)


def _in_lines(found: Iterable[tuple[ChartBase, int]]) -> list[list[tuple[ChartBase, int]]]:
    """Charts, each with its width in places, by the lines on which they stand."""
    lines: list[list[tuple[ChartBase, int]]] = []
    for chart, places in found:
        if not lines or sum(wide for _, wide in lines[-1]) + places > charts.ABREAST:
            lines.append([])
        lines[-1].append((chart, places))
    return lines


def _charts(writer: LineWriter, made: Sequence[Lines], verdict: Verdict) -> Iterator[tuple[BarChart, int]]:
    """The comparison charts, each with its width in places."""
    page = writer.page
    planned = [each for each in made if each.memory]
    if planned:
        rows = {verdict.at + USED: ("used", EXPECTED), verdict.at + THERE: ("there is", charts.PALE)}
        needed = planned[0].memory
        assert needed is not None, "only what fits or not is drawn"
        unit = planned[0].sheet.template.row(needed.needed).said_in
        yield _bars(page, f"Memory of a chip ({unit})", unit, rows), 1
    for each in planned:
        cost = _cost(each)
        if cost and each.cost:
            rows = {each.cost: ("expected", EXPECTED), each.cost + 1: ("bound", charts.PALE)}
            yield _bars(page, f"{cost.said} ({cost.row.said_in})", cost.row.said_in, rows), 1
        if whole := each.whole:
            labels = (str(page.filled[row, layout.SOURCE][3]) for row in each.parts)  # without the step's name
            parts = dict(zip(each.parts, zip(labels, cycle(charts.STACK)), strict=True))
            title = f"{where_goes(whole.said)} ({whole.row.said_in})"
            yield _bars(page, title, whole.row.said_in, parts, stacked=True), 2


def _cost(each: Lines) -> Headline[Row] | None:
    """A workload's cost headline, if it has a bound too."""
    return next((one for one in each.leads if one.row.unit == COST and one.bound), None)


def write_costs(writer: LineWriter, each: Lines) -> None:
    """Write closed lines with a workload's cost and its bound, N/A for scenarios that aren't meant for it."""
    cost = _cost(each)
    if cost is None or cost.bound is None or not each.memory:
        return
    each.cost = writer.at
    for row, what in ((cost.row, "as charts draw it"), (cost.bound, "bound as charts draw it")):
        said = (f"{cost.said}: {what}", row.said_in, f"{row.name}.drawn", "", "of this workload alone")
        formula = writer.guarded(each.sheet, f"{HERE}{each.rows[row.name]}", "NA()")
        writer.add(said, formula, "plan_formula", shown_format(row))


def _bars(page: Page, title: str, unit: str, rows: dict[int, tuple[str, str]], *, stacked: bool = False) -> BarChart:
    """Bars of some rows for each scenario, side by side or stacked."""
    chart = charts.bars(title, "Scenario", unit, 45, stacked=stacked)
    if stacked:
        chart.legend.position = "r"
        chart.layout, chart.legend.layout = _place(0.24, 0.4), _place(0.67, 0.32)  # limits the legend of many parts
    chart.x_axis.title = None
    chart.y_axis.scaling.min = 0
    for row, (name, colour) in rows.items():
        chart.series.append(charts.bar(_across(page, row), name, colour))
    chart.set_categories(_across(page, layout.TITLE_ROW))
    return chart


def _place(left: float, wide: float) -> Layout:
    """A region of a chart below its title, in fractions of its width."""
    return Layout(
        manualLayout=ManualLayout(layoutTarget="inner", xMode="edge", yMode="edge", x=left, y=0.16, w=wide, h=0.66)
    )


def _across(page: Page, row: int) -> Reference:
    """A reference to the scenarios' cells of a row."""
    last = page.columns.last_filled
    return Reference(page.sheet, min_col=layout.FIRST_SCENARIO, max_col=last, min_row=row, max_row=row)

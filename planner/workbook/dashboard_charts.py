"""The charts of Dashboard: where the chosen scenario's step goes, its roofline, and what its sweeps show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from openpyxl.chart import LineChart, Series
from openpyxl.chart._chart import ChartBase
from openpyxl.chart.shapes import GraphicalProperties
from openpyxl.drawing.line import LineProperties
from openpyxl.worksheet.pagebreak import Break

from planner.workbook import charts
from planner.workbook.charts import AXIS as INK
from planner.workbook.expected_parts import ExpectedParts
from planner.workbook.layout import within
from planner.workbook.page import Page
from planner.workbook.roofline_sheet import Roofline
from planner.workbook.sweep_sheet import Sweeps
from planner.workbook.sweep_table import SweepTable

PER_LINE, PLACES = 2, 2  # two charts stand side by side, each as wide as two that compare scenarios
PER_PAGE = 2  # lines of charts of a printed page
LINES = {"memory": ("held", "capacity"), "time": ("total", "limit")}  # a quantity, and what it is held against
LIMIT = "B42318"
LINE_WIDTH = 22225  # the width of a line in EMU
GIGABYTES, SECONDS, COUNT = "[>=1000000000]#,##0,,,;0.000,,,", "0.###", "#,##0"
CHART_TITLES = {
    "memory": ("Memory of a chip", "GB", GIGABYTES),
    "time": ("Expected step and its bound", "Seconds", SECONDS),
}


@dataclass
class DashboardCharts:
    """What there is to draw."""

    parts: ExpectedParts | None = None
    roofline: Roofline | None = None
    sweeps: Sweeps | None = None

    def draw(self, page: Page, at: int) -> int:
        """Draw all charts in two columns from a row on; returns the row below them."""
        drawn = 0
        for drawn, chart in enumerate(self._charts(), start=1):
            down, right = divmod(drawn - 1, PER_LINE)
            if down and down % PER_PAGE == 0 and right == 0:
                page.sheet.row_breaks.append(Break(id=at + down * charts.LINE_ROWS - 1))
            page.sheet.add_chart(chart, charts.placed(page, at, down, right * PLACES, PLACES))
        return at + charts.LINE_ROWS * -(-drawn // PER_LINE)

    def _charts(self) -> Iterator[ChartBase]:
        if self.parts is not None:
            yield self.parts.chart()
        if self.roofline is not None:
            yield self.roofline.chart()
        if self.sweeps is not None:
            for table in self.sweeps.drawn("throughput"):
                yield _throughput(self.sweeps, table)
            for part in CHART_TITLES:
                for table in self.sweeps.drawn(part):
                    yield _over(self.sweeps, table, part)


def _throughput(sweeps: Sweeps, table: SweepTable) -> ChartBase:
    """Throughput of a chip over the time of a token, a point for each case; the scenario's own, and the bounds."""
    sweep = table.sweep
    across, up = sweep.playing("latency")[0], sweep.playing("throughput")[0]
    chart = charts.log_log(f"{sweep.rows[up].label} over {within(sweep.rows[across].label)}")
    charts.axis(chart.x_axis, f"{sweep.rows[across].label} (s)", "General")
    charts.axis(chart.y_axis, f"{sweep.rows[up].label} (tokens/s)", "#,##0.##")
    first, last = table.rows.start, table.rows.stop - 1
    columns = {**table.columns, **table.shown}  # a point without its x would be drawn at 1
    for ends, title, colour in ((("latency", "throughput"), "expected", INK), (("least", "most"), "bound", LIMIT)):
        names = [name for end in ends for name in sweep.playing(end)[:1]]
        if len(names) == len(ends):
            x, y = (charts.column(sweeps.page, columns[name], first, last) for name in names)
            chart.series.append(charts.line(x, y, f"{table.axis.row.label}, swept: {title}", colour, 12700))
    drawn = len(chart.series)
    for row in table.rows:
        chart.series.append(charts.labelled(sweeps.page, columns[across], columns[up], row, "A"))
    x, y = (charts.column(sweeps.page, table.own[name], first, first) for name in (across, up))
    chart.series.append(charts.ring(x, y, "The scenario"))
    charts.hide_from_legend(chart, range(drawn, drawn + len(table.rows)))
    return chart


def _over(sweeps: Sweeps, table: SweepTable, part: str) -> ChartBase:
    """A quantity over the table's axis, with what it is held against: what memory there is, the bound of the step.

    Both are lines on a logarithmic scale: what parts a quantity has is told of each scenario in a chart of its own.
    """
    sweep, (title, unit, form) = table.sweep, CHART_TITLES[part]
    chart = LineChart()
    charts.dress(chart, f"{sweep.template.name.capitalize()}: {within(title)}")
    charts.plain_axis(chart.x_axis, table.axis.row.label, COUNT, slanted=True)
    charts.axis(chart.y_axis, unit, form)
    chart.x_axis.majorGridlines = None
    for name, colour in zip((sweep.playing(each)[0] for each in LINES[part]), (charts.PALETTE[0], LIMIT), strict=True):
        cells = charts.column(sweeps.page, table.shown[name], table.rows.start, table.rows.stop - 1)
        line = Series(cells, title=sweep.rows[name].label)
        line.graphicalProperties = GraphicalProperties(ln=LineProperties(w=LINE_WIDTH, solidFill=colour))
        line.smooth = False
        chart.series.append(line)
    chart.set_categories(charts.column(sweeps.page, 1, table.rows.start, table.rows.stop - 1))
    return chart

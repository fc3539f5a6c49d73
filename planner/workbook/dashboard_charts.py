"""The charts of Dashboard: where the chosen scenario's step goes, its roofline, and what its sweeps show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle

from openpyxl.chart import BarChart, LineChart, Series
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
from planner.workbook.sweep_table import WHOLES, SweepTable

PER_LINE, PLACES = 2, 2  # two charts stand side by side, each as wide as two that compare scenarios
PER_PAGE = 2  # lines of charts of a printed page
LIMITS = {"memory": "capacity", "time": "limit"}  # what the bars of a chart are held against, as a line
LIMIT = "B42318"
LINE_WIDTH = 22225  # the width of a line in EMU
NUMBER, COUNT = "#,##0.##", "#,##0"
CHART_TITLES = {"memory": "Memory of a chip", "time": "Expected step"}


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
            if right == 0 and down % PER_PAGE:  # the first line stands below the choices
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
                    yield _parts(self.sweeps, table, part)


def _throughput(sweeps: Sweeps, table: SweepTable) -> ChartBase:
    """Throughput of a chip over the time of a token, a point for each case; the scenario's own, and the bounds."""
    sweep = table.sweep
    across, up = sweep.playing("latency")[0], sweep.playing("throughput")[0]
    chart = charts.log_log(f"{sweep.rows[up].label} over {within(sweep.rows[across].label)}")
    charts.axis(chart.x_axis, f"{sweep.rows[across].label} ({sweep.rows[across].said_in})", "General")
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


def _parts(sweeps: Sweeps, table: SweepTable, part: str) -> ChartBase:
    """A quantity's parts over the table's axis, bars one on another, with the line that they are held against.

    The line is of what memory there is, or of the bound of the step that the parts make.
    """
    sweep, whole = table.sweep, table.sweep.rows[table.sweep.playing(WHOLES[part])[0]]
    chart, lines = BarChart(), LineChart()
    chart.type, chart.grouping, chart.overlap, chart.gapWidth = "col", "stacked", 100, 40
    charts.dress(
        chart, f"{sweep.template.name.capitalize()}: {within(CHART_TITLES[part])} over {within(table.axis.row.label)}"
    )
    charts.plain_axis(chart.x_axis, table.axis.row.label, COUNT, slanted=True)
    charts.plain_axis(chart.y_axis, whole.said_in, NUMBER)
    chart.x_axis.majorGridlines = None
    for name, colour in zip(sweep.playing(part), cycle(charts.STACK)):
        bar = _series(sweeps, table, name)
        bar.graphicalProperties = GraphicalProperties(solidFill=colour)
        bar.graphicalProperties.line.noFill = True
        chart.series.append(bar)
    for name in sweep.playing(LIMITS[part]):
        line = _series(sweeps, table, name)
        line.graphicalProperties = GraphicalProperties(ln=LineProperties(w=LINE_WIDTH, solidFill=LIMIT))
        line.smooth = False
        lines.series.append(line)
    cases = charts.column(sweeps.page, 1, table.rows.start, table.rows.stop - 1)
    chart.set_categories(cases)
    lines.set_categories(cases)
    chart += lines
    return chart


def _series(sweeps: Sweeps, table: SweepTable, name: str) -> Series:
    """A quantity in every case of a table."""
    cells = charts.column(sweeps.page, table.columns[name], table.rows.start, table.rows.stop - 1)
    return Series(cells, title=table.sweep.rows[name].label)

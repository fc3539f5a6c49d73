"""The charts that follow the scenario chosen on Dashboard: its roofline, and what its sweeps show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import cycle

from openpyxl.chart import BarChart, LineChart, Series
from openpyxl.chart.shapes import GraphicalProperties
from openpyxl.drawing.line import LineProperties
from openpyxl.worksheet.pagebreak import Break

from planner.workbook import charts
from planner.workbook.labels import within
from planner.workbook.page import Page
from planner.workbook.roofline import Roofline
from planner.workbook.sweep import Sweeps
from planner.workbook.sweep_table import DRAWN_WITHIN, Table

SIZE = (17.6, 10.2)  # cm; two charts stand side by side on a printed page
ROWS, PER_PAGE = 22, 4  # rows of the sheet for each chart, and charts of a printed page
COLUMNS = ("A", "E")
WIDTH = 1350  # pixels from the left edge of the sheet to the right edge of the charts
STACK = ("1F4FBF", "0E9F6E", "D97706", "7C3AED", "0891B2", "9D174D", "65A30D", "6B7280", "A16207", "DB2777")
TOTAL, ROOM = "D6DBE3", "B42318"
LINE = 22225  # the width of a line in EMU
GIGABYTES, SECONDS, COUNT = "#,##0.0,,,", "0.###", "#,##0"
TITLES = {
    "memory": (f"Memory of a chip, where it is within {DRAWN_WITHIN} x its HBM", "GB per chip", GIGABYTES),
    "time": (f"Step and its parts, which overlap, within {DRAWN_WITHIN} x the scenario's", "Seconds", SECONDS),
}


@dataclass
class Pictures:
    """What there is to draw."""

    roofline: Roofline | None = None
    sweeps: Sweeps | None = None

    def draw(self, page: Page, at: int) -> int:
        """Draw all charts in two columns from a row on; returns the row below them."""
        drawn = -1
        for drawn, put in enumerate(self._charts()):
            put(page, f"{COLUMNS[drawn % 2]}{at + ROWS * (drawn // 2)}")
            if drawn and drawn % PER_PAGE == 0:
                page.sheet.row_breaks.append(Break(id=at + ROWS * (drawn // 2) - 2))
        return at + ROWS * (drawn // 2 + 1)

    def _charts(self) -> Iterator[Callable[[Page, str], None]]:
        if self.roofline is not None:
            yield partial(self.roofline.draw, size=SIZE)
        if self.sweeps is not None:
            for table in self.sweeps.drawn("throughput"):
                yield partial(_throughput, self.sweeps, table)
            for part in TITLES:
                for table in self.sweeps.drawn(part):
                    yield partial(_parts, self.sweeps, table, part)


def _throughput(sweeps: Sweeps, table: Table, on: Page, anchor: str) -> None:
    """Throughput of a chip over the time of a step, a point for each case, and the scenario's own."""
    sweep = table.sweep
    across, up = sweep.playing("latency")[0], sweep.playing("throughput")[0]
    chart = charts.log_log(f"{sweep.rows[up].label} over {within(sweep.rows[across].label)}")
    charts.axis(chart.x_axis, f"{sweep.rows[across].label} (s)", "General")
    charts.axis(chart.y_axis, f"{sweep.rows[up].label} (tokens/s)", "#,##0.##")
    first, last = table.rows.start, table.rows.stop - 1
    columns = {**table.columns, **table.shown}  # a point without its x would be drawn at 1
    x, y = (charts.column(sweeps.page, columns[name], first, last) for name in (across, up))
    chart.series.append(charts.line(x, y, f"{table.axis.row.label}, swept", charts.AXIS, 12700))
    for row in table.rows:
        chart.series.append(charts.labelled(sweeps.page, columns[across], columns[up], row, "A"))
    x, y = (charts.column(sweeps.page, table.own[name], first, first) for name in (across, up))
    chart.series.append(charts.ring(x, y, "The scenario"))
    charts.hide_from_legend(chart, range(1, 1 + len(table.rows)))
    chart.width, chart.height = SIZE
    on.sheet.add_chart(chart, anchor)


def _parts(sweeps: Sweeps, table: Table, part: str, on: Page, anchor: str) -> None:
    """A quantity's parts over the table's axis, with what they must stay below or come to.

    Parts of memory add up: they are bars one on another, below the line of what there is. Those of a step overlap in
    time, so that it takes as long as the longest or up to their sum: they are lines before the bar of the step.
    """
    sweep, (title, unit, form) = table.sweep, TITLES[part]
    chart, lines = BarChart(), LineChart()
    chart.type, chart.grouping, chart.overlap, chart.gapWidth = "col", "stacked", 100, 40
    charts.dress(chart, f"{sweep.template.name.capitalize()}: {within(title)}")
    charts.plain_axis(chart.x_axis, table.axis.row.label, COUNT, slanted=True)
    charts.plain_axis(chart.y_axis, unit, form)
    chart.x_axis.majorGridlines = None
    parts = list(zip(sweep.playing(part), cycle(STACK)))
    if part == "memory":
        stacked, drawn = parts, [(name, ROOM) for name in sweep.playing("capacity")]
    else:
        stacked, drawn = [(name, TOTAL) for name in sweep.playing("total")], parts
    for name, colour in stacked:
        bar = _series(sweeps, table, name)
        bar.graphicalProperties = GraphicalProperties(solidFill=colour)
        bar.graphicalProperties.line.noFill = True
        chart.series.append(bar)
    for name, colour in drawn:
        line = _series(sweeps, table, name)
        line.graphicalProperties, line.smooth = GraphicalProperties(ln=LineProperties(w=LINE, solidFill=colour)), False
        lines.series.append(line)
    cases = charts.column(sweeps.page, 1, table.rows.start, table.rows.stop - 1)
    chart.set_categories(cases)
    lines.set_categories(cases)
    chart += lines
    chart.width, chart.height = SIZE
    on.sheet.add_chart(chart, anchor)


def _series(sweeps: Sweeps, table: Table, name: str) -> Series:
    """A quantity in every case of a table."""
    cells = charts.column(sweeps.page, table.columns[name], table.rows.start, table.rows.stop - 1)
    return Series(cells, title=table.sweep.rows[name].label)

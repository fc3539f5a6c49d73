"""The chart of the latest runs beside their table on Comparison: each over what was expected, with range and bound.

What it draws is a closed block of Dashboard, live from the table: what an analyst sorts or corrects there counts.
"""

from __future__ import annotations

from openpyxl.chart import BarChart, LineChart, Series
from openpyxl.chart.marker import Marker
from openpyxl.chart.shapes import GraphicalProperties
from openpyxl.drawing.line import LineProperties

from planner.workbook import charts, layout
from planner.workbook.cell_styles import SAID
from planner.workbook.dashboard_lines import LineWriter
from planner.workbook.own_runs import RunsTable
from planner.workbook.page import Live
from planner.xlsx.address import column_letters

DRAWN = 8  # the latest runs
TITLE = "Your latest runs over what was expected of them"
NUMBER, PLACE, NAME, LOW, WIDTH, BOUND, MEASURED = (
    "its number", "its place in the table", "its name", "range from", "range wide", "bound", "measured",
)  # fmt: skip
LINES = (NUMBER, PLACE, NAME, LOW, WIDTH, BOUND, MEASURED)
OVER = {LOW: "run_low", BOUND: "run_bound", MEASURED: "run_measured"}  # what is drawn over what was expected
COLUMN = f"${column_letters(layout.FORMULA)}$"  # of what the block says
PALE, DARK = "C9CED6", "6B7280"


def write(writer: LineWriter, table: RunsTable, at: int) -> int:
    """The block from row `at` on, and the chart; returns the row below the block."""
    page = writer.page
    page.section(at, TITLE, writer.plan.columns.last_filled)
    rows = {name: range(at + 1 + place * DRAWN, at + 1 + (place + 1) * DRAWN) for place, name in enumerate(LINES)}
    for name, lines in rows.items():
        for place, row in enumerate(lines):
            is_text = name == NAME
            label = f"Run {place + 1} of the latest: {name}"
            page.describe(row, (label, "text" if is_text else "1", "", "", "from the table of runs on Comparison"))
            formula = _formula(name, place, {each: f"{COLUMN}{of[place]}" for each, of in rows.items()}, table)
            page.put(row, layout.FORMULA, Live(formula), "plan_formula", "@" if is_text else SAID)
    last = at + len(LINES) * DRAWN
    writer.close(range(at, last + 1))
    table.page.sheet.add_chart(_chart(writer, rows), table.chart_at)
    return last + 2


def _formula(name: str, place: int, cell: dict[str, str], table: RunsTable) -> str:
    """What one line says of a run, the newest first; N/A is not drawn."""

    def of(column: str) -> str:
        return f"INDEX({table.area(column)},{cell[PLACE]})"

    if name == NUMBER:
        above = int(cell[NUMBER].removeprefix(COLUMN)) - 1
        return f"{COLUMN}{above}-1" if place else f"MAX({table.area('run_number')})"
    if name == PLACE:
        return f"IF({cell[NUMBER]}>0,IFERROR(MATCH({cell[NUMBER]},{table.area('run_number')},0),0),0)"
    if name == NAME:
        return f'IF({cell[PLACE]}>0,{of("run_name")}&": "&{of("run_quantity")},"")'
    number = f"{of('run_high')}/{of('run_expected')}-{cell[LOW]}" if name == WIDTH else ""
    number = number or f"{of(OVER[name])}/{of('run_expected')}"
    return f"IF({cell[PLACE]}>0,IFERROR({number},NA()),NA())"


def _chart(writer: LineWriter, rows: dict[str, range]) -> BarChart:
    """A box for each range, a short line for the bound, and a point for what was measured."""

    def series(name: str, title: str) -> Series:
        return Series(charts.column(writer.page, layout.FORMULA, rows[name].start, rows[name].stop - 1), title=title)

    chart, points = BarChart(), LineChart()
    chart.type, chart.grouping, chart.overlap, chart.gapWidth = "col", "stacked", 100, 120
    charts.dress(chart, TITLE)
    charts.plain_axis(chart.x_axis, "Run, the newest first", "General")
    charts.plain_axis(chart.y_axis, "Times what was expected", "0.0")
    chart.x_axis.majorGridlines = None
    hidden, box = series(LOW, "least"), series(WIDTH, "80 % of published runs")
    hidden.graphicalProperties, box.graphicalProperties = charts.filled(None), charts.filled(PALE)
    chart.series += [hidden, box]
    for name, title, symbol, colour in (
        (BOUND, "bound", "dash", DARK), (MEASURED, "measured", "circle", charts.PALETTE[0]),
    ):  # fmt: skip
        line = series(name, title)
        line.marker = Marker(symbol=symbol, size=9)
        line.marker.graphicalProperties = GraphicalProperties(solidFill=colour, ln=LineProperties(solidFill=colour))
        line.graphicalProperties = GraphicalProperties(ln=LineProperties(noFill=True))
        line.smooth = False
        points.series.append(line)
    names = charts.column(writer.page, layout.FORMULA, rows[NAME].start, rows[NAME].stop - 1)
    chart.set_categories(names)
    points.set_categories(names)
    charts.hide_from_legend(chart, [0])
    chart += points
    return chart

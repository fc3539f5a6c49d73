"""The Dashboard: failed checks first, then the headline numbers of all scenarios side by side and what binds each.

Below them stand the charts of the scenario that is chosen: its roofline, and what its sweeps show.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle

from openpyxl.chart import BarChart, LineChart, Series
from openpyxl.chart.shapes import GraphicalProperties
from openpyxl.drawing.line import LineProperties
from openpyxl.workbook import Workbook
from openpyxl.worksheet.pagebreak import Break

from planner.formulas.layer_ops import PHASES
from planner.formulas.template import Row
from planner.table import joined
from planner.workbook import charts, inputs_sheet, layout
from planner.workbook.build_plan import ALL_WORKLOADS, WORKLOAD, BuildPlan
from planner.workbook.calculation import Calculation, header_rows
from planner.workbook.cell_styles import row_format
from planner.workbook.constraints_sheet import Constraints
from planner.workbook.inputs_sheet import Inputs
from planner.workbook.layout import within
from planner.workbook.page import GREY, Live, Page
from planner.workbook.roofline_sheet import Roofline
from planner.workbook.sweep_sheet import Sweeps
from planner.workbook.sweep_table import DRAWN_WITHIN, SweepTable
from planner.workbook.template_rows import headlines
from planner.xlsx.address import address, column_letters

NAME = "Dashboard"
PURPOSE = "The headline numbers; each links to the row that calculates it."
WIDTHS = (38, 11, 27, 23, 32)
SUMMARIES = {"Missing numbers": "that the databases or Inputs lack: Checks names them"}
PLAIN_COLUMN = 64  # pixels of a column that nobody has made wider
SELECTOR_ROW = 13  # and the next: which scenario and which phase Roofline shows
SELECTORS = {"scenario": f"{NAME}!$D${SELECTOR_ROW}", "phase": f"{NAME}!$D${SELECTOR_ROW + 1}"}


def write(
    book: Workbook, plan: BuildPlan, inputs: Inputs, sheets: Sequence[Calculation], failed: Mapping[str, int],
    constraints: Constraints | None, charted: DashboardCharts,
) -> Page:  # fmt: skip
    """Write the sheet. `failed` is where Checks counts failed checks and missing numbers, by label."""
    page = Page(book, NAME, "Dashboard", PURPOSE)
    header_rows(page, plan, ("From", "Note and source"))
    at = layout.FIRST_ROW
    for label, row in failed.items():
        page.describe(at, (label, "1", "", "Checks", SUMMARIES.get(label, "of this scenario")))
        _linked(page, at, "Checks", row)
        for column in plan.columns:
            page.put(at, column, Live(f"Checks!{address(row, column)}"), "plan_check", "0")
        at += 1
    chooses = charted.roofline is not None or bool(plan.sweeps)
    if chooses:
        _selectors(page, plan, has_roofline=charted.roofline is not None)
    at = SELECTOR_ROW + 2 if chooses else at + 1
    labels: set[str] = set()
    for sheet in sheets:
        first = at + 1
        at = _template(page, plan, sheet, constraints, first, labels)
        _set_back(page, plan, inputs, sheet, first, at - 1)
    page.widths(*WIDTHS, scenarios=plan.columns, each=layout.SCENARIO_WIDTH)
    if chooses:
        _charts(page, plan, charted, at + 1)
    return page


def _charts(page: Page, plan: BuildPlan, charted: DashboardCharts, at: int) -> None:
    """The charts of the chosen scenario, on a printed page of their own; a link beside the choice leads to them."""
    page.section(at, "Charts of the scenario shown", plan.columns.last_filled)
    page.put(at, layout.SOURCE, Live(f"${column_letters(layout.FORMULA)}${SELECTOR_ROW}"), "plan_section")
    page.put(SELECTOR_ROW, layout.SOURCE, f"its charts are in row {at}", "plan_told_link")
    page.link(SELECTOR_ROW, layout.SOURCE, NAME, address(at, layout.LABEL))
    page.sheet.row_breaks.append(Break(id=at - 1))
    last = charted.draw(page, at + 1)
    page.sheet.print_area = f"A1:{column_letters(_reach(plan))}{last}"


def _reach(plan: BuildPlan) -> int:
    """The last column of a printed page: that of the last scenario, or further where the charts reach further."""
    pixels = sum(7 * width + 5 for width in (*WIDTHS, *(layout.SCENARIO_WIDTH for _ in plan.columns)))
    further = max(0, math.ceil((CHARTS_WIDTH - pixels) / PLAIN_COLUMN))
    return plan.columns.last_filled + further


def _selectors(page: Page, plan: BuildPlan, *, has_roofline: bool) -> None:
    """The choices that the charts and the sheets of one scenario follow; only a roofline has phases."""
    followers = ["Roofline"] * has_roofline + ["Sweep"] * bool(plan.sweeps)
    shown = f"{', '.join(followers)} and the charts"
    page.section(SELECTOR_ROW - 1, f"Shown on {shown}", plan.columns.last_filled)
    ids = plan.columns.across("Inputs", layout.ID_ROW)
    choices = [("Scenario", plan.scenarios[0].id, ids)]
    if has_roofline:
        choices.append(("Phase", PHASES[0], f'"{",".join(PHASES)}"'))
    for at, (label, value, source) in enumerate(choices, start=SELECTOR_ROW):
        page.describe(at, (f"{label} shown", "text", f"shown_{label.lower()}"))
        page.put(at, layout.FORMULA, value, "plan_input", "@")
        page.choose(address(at, layout.FORMULA), source, label, f"{shown} follow this choice.")


def _template(
    page: Page, plan: BuildPlan, sheet: Calculation, constraints: Constraints | None, at: int, labels: set[str]
) -> int:
    checks = sheet.template.of_kind("check")
    proved = sheet.template.closure(row.name for row in checks)  # what a check computes another way
    page.section(at, sheet.template.name.capitalize(), plan.columns.last_filled)
    at += 1
    for name in headlines(sheet.template):
        row = sheet.template.row(name)
        label = row.label if row.label not in labels else f"{sheet.page.name}: {row.label}"
        labels.add(label)
        _headline(page, plan, sheet, replace(row, label=label), at, row.name in proved)
        at += 1
        at += _bound(page, plan, sheet, replace(row, label=label), constraints, at)
    return at


def _set_back(page: Page, plan: BuildPlan, inputs: Inputs, sheet: Calculation, first: int, last: int) -> None:
    """Numbers of a workload that a scenario isn't meant for are grey, and the heading of their section says so."""
    if plan.workloads.row is None or sheet.template not in plan.workloads.templates:
        return
    page.put(first, layout.SOURCE, "grey: of a scenario that isn't meant for it", "plan_section")
    typed = f"{inputs_sheet.NAME}!{column_letters(layout.FIRST_SCENARIO)}${inputs.input_rows[WORKLOAD]}"
    page.colour(
        plan.columns.area(first + 1, last),
        f'AND({typed}<>"{ALL_WORKLOADS}",{typed}<>"{sheet.template.name}")',
        ink=GREY,
    )


def _linked(page: Page, at: int, sheet: str, row: int) -> None:
    """Make what a line says of where its numbers are from a link to that row."""
    page.put(at, layout.FORMULA, f"{sheet} row {row}", "plan_link")
    page.link(at, layout.FORMULA, sheet, address(row, layout.LABEL))


def _headline(page: Page, plan: BuildPlan, sheet: Calculation, row: Row, at: int, is_proved: bool) -> None:
    source = joined("" if is_proved else layout.UNPROVED, row.note, row.source)
    page.describe(at, (row.label, row.unit, row.name, sheet.page.name, source))
    _linked(page, at, sheet.page.name, sheet.rows[row.name])
    for column in plan.columns:
        page.put(at, column, Live(sheet.at(row.name, column)), "plan_cross", row_format(row))


def _bound(
    page: Page, plan: BuildPlan, sheet: Calculation, row: Row, constraints: Constraints | None, at: int
) -> int:  # fmt: skip
    """A text for each scenario: what binds the row above and how far the next is; the number of rows written."""
    place = constraints.place(sheet, row.name) if constraints else None
    if constraints is None or place is None:
        return 0
    name = constraints.page.name
    page.describe(at, (f"{row.label}: bound by", "text", "", name, "and how far the next part is"))
    _linked(page, at, name, place)
    for column in plan.columns:
        page.put(at, column, Live(constraints.words(sheet, row.name, column)), "plan_words", "@")
    page.sheet.row_dimensions[at].height = constraints.heights[place]
    return 1


CHART_SIZE = (17.6, 10.2)  # cm; two charts stand side by side on a printed page
CHART_ROWS, PER_PAGE = 22, 4  # rows of the sheet for each chart, and charts of a printed page
CHART_COLUMNS = ("A", "E")
CHARTS_WIDTH = 1350  # pixels from the left edge of the sheet to the right edge of the charts
STACK = ("1F4FBF", "0E9F6E", "D97706", "7C3AED", "0891B2", "9D174D", "65A30D", "6B7280", "A16207", "DB2777")
TOTAL, ROOM = "D6DBE3", "B42318"
LINE_WIDTH = 22225  # the width of a line in EMU
GIGABYTES, SECONDS, COUNT = "#,##0.0,,,", "0.###", "#,##0"
CHART_TITLES = {
    "memory": (f"Memory of a chip, where it is within {DRAWN_WITHIN} x its HBM", "GB per chip", GIGABYTES),
    "time": (f"Step and its parts, which overlap, within {DRAWN_WITHIN} x the scenario's", "Seconds", SECONDS),
}


@dataclass
class DashboardCharts:
    """What there is to draw."""

    roofline: Roofline | None = None
    sweeps: Sweeps | None = None

    def draw(self, page: Page, at: int) -> int:
        """Draw all charts in two columns from a row on; returns the row below them."""
        drawn = -1
        for drawn, put in enumerate(self._charts()):
            put(page, f"{CHART_COLUMNS[drawn % 2]}{at + CHART_ROWS * (drawn // 2)}")
            if drawn and drawn % PER_PAGE == 0:
                page.sheet.row_breaks.append(Break(id=at + CHART_ROWS * (drawn // 2) - 2))
        return at + CHART_ROWS * (drawn // 2 + 1)

    def _charts(self) -> Iterator[Callable[[Page, str], None]]:
        if self.roofline is not None:
            yield partial(self.roofline.draw, size=CHART_SIZE)
        if self.sweeps is not None:
            for table in self.sweeps.drawn("throughput"):
                yield partial(_throughput, self.sweeps, table)
            for part in CHART_TITLES:
                for table in self.sweeps.drawn(part):
                    yield partial(_parts, self.sweeps, table, part)


def _throughput(sweeps: Sweeps, table: SweepTable, on: Page, anchor: str) -> None:
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
    chart.width, chart.height = CHART_SIZE
    on.sheet.add_chart(chart, anchor)


def _parts(sweeps: Sweeps, table: SweepTable, part: str, on: Page, anchor: str) -> None:
    """A quantity's parts over the table's axis, with what they must stay below or come to.

    Parts of memory add up: they are bars one on another, below the line of what there is. Those of a step overlap in
    time, so that it takes as long as the longest or up to their sum: they are lines before the bar of the step.
    """
    sweep, (title, unit, form) = table.sweep, CHART_TITLES[part]
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
        line.graphicalProperties = GraphicalProperties(ln=LineProperties(w=LINE_WIDTH, solidFill=colour))
        line.smooth = False
        lines.series.append(line)
    cases = charts.column(sweeps.page, 1, table.rows.start, table.rows.stop - 1)
    chart.set_categories(cases)
    lines.set_categories(cases)
    chart += lines
    chart.width, chart.height = CHART_SIZE
    on.sheet.add_chart(chart, anchor)


def _series(sweeps: Sweeps, table: SweepTable, name: str) -> Series:
    """A quantity in every case of a table."""
    cells = charts.column(sweeps.page, table.columns[name], table.rows.start, table.rows.stop - 1)
    return Series(cells, title=table.sweep.rows[name].label)

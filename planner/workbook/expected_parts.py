"""Where the time of the expected step goes: a block of Dashboard for the chosen scenario, and its waterfall chart.

The block has the expected step, its bound, and its parts, each with its share and the start of its bar, which is the
end of the previous part. If a workbook plans several workloads, the scenario's is shown. The columns are left of the
scenarios', so that added scenarios don't move them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from openpyxl.chart import BarChart
from openpyxl.chart.marker import DataPoint

from planner.book.rowkeys import PARTS
from planner.formulas.headlines import Headline
from planner.formulas.template import Row
from planner.number_text import where_goes, within
from planner.workbook import charts
from planner.workbook.build_plan import BuildPlan
from planner.workbook.cell_styles import PERCENT, SAID, number_format
from planner.workbook.dashboard_lines import Lines, LineWriter, meant
from planner.workbook.inputs_sheet import Inputs
from planner.workbook.page import Live, Page
from planner.workbook.workloads import WORKLOAD
from planner.xlsx.address import address, column_letters

LABEL, UNIT, BEGINS, TIME, SHARE = 1, 2, 3, 4, 5
TITLES = {LABEL: PARTS, UNIT: None, BEGINS: "Its bar begins", TIME: "Time", SHARE: "Share of the step"}
WHOLES = 2  # the step and its bound come first, before the parts
STEP, BOUND, PART = "8FAADC", charts.PALE, "F4B266"  # light, since values are printed on them


@dataclass(frozen=True)
class ExpectedParts:
    """The position of the block: the rows of the step, its bound and its parts; and the name of their time."""

    page: Page
    rows: range
    unit: str
    name: str = "Step"

    def chart(self) -> BarChart:
        """The waterfall: the step and its bound from 0, each part from the end of the previous one."""
        title = f"From bound to expected: {within(where_goes(self.name))}"
        chart = charts.bars(title, "Its part", self.unit, 35)
        chart.legend = None
        begins, times = (self._column(column) for column in (BEGINS, TIME))
        hidden, bars = charts.bar(begins, TITLES[BEGINS], None), charts.bar(times, TITLES[TIME], PART)
        for index, colour in enumerate((STEP, BOUND)):
            bars.dPt.append(DataPoint(idx=index, invertIfNegative=False, spPr=charts.filled(colour)))
        bars.dLbls = charts.labels("showVal")
        chart.series += [hidden, bars]
        chart.set_categories(self._column(LABEL))
        return chart

    def _column(self, column: int):  # type: ignore[no-untyped-def]
        return charts.column(self.page, column, self.rows.start, self.rows.stop - 1)


def write(writer: LineWriter, inputs: Inputs, made: Sequence[Lines], selector: str) -> ExpectedParts | None:
    """Write the block below the lines so far, for the choice in the cell `selector`; None if no template has parts."""
    steps = [_StepParts(each.template, whole, each) for each in made if each.memory and (whole := each.whole)]
    if not steps:
        return None
    page, at, workload = writer.page, writer.at + 1, ""
    page.section(writer.at, "From bound to expected, of the scenario shown")
    if len(steps) > 1 and WORKLOAD in inputs.input_rows:
        typed = inputs.of_scenario(WORKLOAD, selector)
        page.describe(at, ("Its workload", "text", f"shown_{WORKLOAD}"))
        page.put(at, TIME, Live(typed), "plan_formula", number_format("text"))
        workload, at = f"${column_letters(TIME)}${at}", at + 1
    for column, title in TITLES.items():
        page.put(at, column, title, "plan_header_right" if column > UNIT else "plan_header")
    units = list(dict.fromkeys(each.whole.row.said_in for each in steps))
    rows = _Writer(page, writer.plan, steps, workload, selector, at + 1).write()
    writer.at = rows.stop + 1
    unit = f"Time ({units[0]})" if len(units) == 1 else "Time, in the unit of the table"
    return ExpectedParts(page, rows, unit, steps[0].whole.said if len(steps) == 1 else ExpectedParts.name)


@dataclass(frozen=True)
class _StepParts:
    """A workload's step with parts: its headline, and its lines above."""

    template: str
    whole: Headline[Row]
    made: Lines

    @property
    def lines(self) -> list[tuple[str, int]]:
        """The step, its bound and its parts: the label of each, and the row of its line."""
        named = [row for row in (self.whole.row, self.whole.bound) if row]
        parts = zip(self.whole.parts, self.made.parts, strict=True)
        return [*((row.label, self.made.rows[row.name]) for row in named), *((part.label, at) for part, at in parts)]


@dataclass(frozen=True)
class _Writer:
    """Writes the rows from `first` on; `meant` is the cell of the workload, blank if there is only one.

    `chosen` is the cell with the chosen scenario's id.
    """

    page: Page
    plan: BuildPlan
    steps: Sequence[_StepParts]
    meant: str
    chosen: str
    first: int

    def write(self) -> range:
        """Write the step, its bound and its parts; returns their rows."""
        lines = list(zip_longest(*(each.lines for each in self.steps)))
        rows = range(self.first, self.first + len(lines))
        for at, line in zip(rows, lines, strict=True):
            self._line(at, line)
        self.page.grey_missing(f"{address(rows.start, BEGINS)}:{address(rows.stop - 1, SHARE)}")
        return rows

    def _line(self, at: int, line: Sequence[tuple[str, int] | None]) -> None:
        labels = [f'"{found[0]}"' if found else '""' for found in line]
        columns = self.plan.columns
        times = [columns.of_scenario("", found[1], self.chosen) if found else "NA()" for found in line]
        time, first = address(at, TIME), self.first + WHOLES
        begins = f"SUM({address(first, TIME)}:{address(at - 1, TIME)})" if at > first else "0"
        if None in line:  # fewer parts than another workload: nothing to draw
            begins = f'IF({address(at, LABEL)}="",NA(),{begins})'
        self._put(at, LABEL, self._of_workload(labels), "plan_formula_text")
        self._put(at, UNIT, self._of_workload([f'"{each.whole.row.said_in}"' for each in self.steps]), "plan_text")
        self.page.put(at, BEGINS, Live(begins), "plan_formula", SAID)
        self.page.put(at, TIME, Live(self._of_workload(times)), "plan_output", SAID)
        self.page.put(at, SHARE, Live(f"{time}/{address(self.first, TIME)}"), "plan_formula", PERCENT)

    def _put(self, at: int, column: int, text: str, style: str) -> None:
        """Write a text that is the same for all workloads as text, another one as a formula."""
        alone = text.count('"') == 2 and text.startswith('"')
        self.page.put(at, column, text.strip('"') if alone else Live(text), style)

    def _of_workload(self, texts: Sequence[str]) -> str:
        return meant(self.meant, [each.template for each in self.steps], texts)

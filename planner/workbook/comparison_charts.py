"""The charts of Comparison: measured over predicted, and time over dimension with the bound and the expected time.

Their data are columns of their own, right of the note: N/A is not drawn, nor a time of other hardware than the
plan's, and x is always a number.
"""

from __future__ import annotations

from collections.abc import Mapping

from openpyxl.chart import Reference

from planner.compare.comparison_cases import ComparisonCase
from planner.compare.comparison_sheet import DEVICE_KIND, SHOWN
from planner.workbook import charts
from planner.workbook.cell_styles import SAID
from planner.workbook.database_sheets import DatabaseSheet
from planner.workbook.display_units import US
from planner.workbook.page import Live, Page
from planner.xlsx.address import address, column_letters

HEADER_ROW, FIRST_ROW = 5, 6

TIMES = (0.1, 1e6)  # us, what the axes span
DIMENSIONS = (10.0, 1e5)
CHART_COLUMNS = {
    "chart_kind": ("Chart: what JAX calls the chip", "text"),
    "chart_counts": ("Chart: 1 where the chip is the plan's and was timed", "1"),
    "chart_predicted": ("Chart: predicted time", US),
    "chart_measured": ("Chart: measured time", US),
    "chart_dimension": ("Chart: dimension of a square matmul", "1"),
    "chart_roofline": ("Chart: its bound", US),
    "chart_expected": ("Chart: its predicted time", US),
    "chart_point": ("Chart: its measured time", US),
}
DRAWN = ("predicted_time", "bound_time", "measured_time")
AXIS = "#,##0.##"
EQUAL_ROWS = (1, 2)  # above the headers: the ends of the line on which measured is predicted


class ComparisonCharts:
    """The two charts, and the columns that hold what they draw.

    `others` are the columns of the cases by machine name. A row whose chip is none of `chips`, a range of the plan's,
    or that was timed on another device than its chip, is not drawn.
    """

    def __init__(self, page: Page, others: Mapping[str, int], chips: str, hardware: DatabaseSheet) -> None:
        self.page, self.others, self.chips, self.kinds = page, others, chips, hardware.range(DEVICE_KIND)
        first = max(others.values()) + 1
        self.columns = {name: column for column, name in enumerate(CHART_COLUMNS, start=first)}
        self.last = max(self.columns.values())

    def header(self) -> None:
        """Labels with units, machine names below, and the line of equality above."""
        for name, column in self.columns.items():
            label, unit = CHART_COLUMNS[name]
            self.page.heads(HEADER_ROW - 1, column, f"{label} ({unit})", name, right=False)
        self.page.close_columns(range(min(self.columns.values()), self.last + 1))
        for row, end in zip(EQUAL_ROWS, TIMES, strict=True):
            for name in ("chart_predicted", "chart_measured"):
                self.page.put(row, self.columns[name], end, "plan_constant", SAID)
            note = "end of the line: measured is predicted"
            self.page.put(row, self.columns["chart_dimension"], note, "plan_text")

    def case(self, at: int, case: ComparisonCase) -> None:
        """What is drawn of one case."""

        def cell(name: str) -> str:
            return address(at, self.columns.get(name) or self.others[name])

        predicted, bound, time = (cell(name + SHOWN) for name in DRAWN)
        device, kind, chip, size = (cell(name) for name in ("device", "chart_kind", "hardware_id", "chart_dimension"))
        is_other = f'AND({device}<>"",{device}<>{kind},{device}<>{chip})'
        measured = f'IF(AND({time}<>"",{cell("chart_counts")}>0),{time},NA())'
        contents = {
            "chart_kind": f'IFERROR(INDEX({self.kinds},{cell("hardware_row")})&"","")',
            "chart_counts": f"IF(OR(IFERROR(MATCH({chip},{self.chips},0),0)=0,{is_other}),0,1)",
            "chart_predicted": f"IFERROR({predicted},1)",
            "chart_measured": f"{measured}+0*{predicted}",
            "chart_dimension": f"IFERROR({self._square(at, case)},1)",
            "chart_roofline": f"IF({size}>1,{bound},NA())",
            "chart_expected": f"IF({size}>1,{predicted},NA())",
            "chart_point": f"IF({size}>1,{measured},NA())",
        }
        for name, text in contents.items():
            is_text = name == "chart_kind"
            self.page.put(at, self.columns[name], Live(text), "plan_formula", "@" if is_text else SAID)

    @property
    def anchor(self) -> str:
        """The letters of the column in which charts begin, right of what they draw."""
        return column_letters(self.last + 2)

    def draw(self, last: int) -> None:
        """Both charts, right of their data, of the cases to the row `last`."""

        def of(name: str, first: int = FIRST_ROW, last: int = last) -> Reference:
            return charts.column(self.page, self.columns[name], first, last)

        scatter = charts.log_log("Measured over predicted")
        charts.axis(scatter.x_axis, "Predicted time, to expect (us)", AXIS, *TIMES)
        charts.axis(scatter.y_axis, "Measured time (us)", AXIS, *TIMES)
        along, up = (of(name, *EQUAL_ROWS) for name in ("chart_predicted", "chart_measured"))
        scatter.series.append(charts.line(along, up, "Measured is predicted"))
        scatter.series.append(charts.markers(of("chart_predicted"), of("chart_measured"), "Cases"))
        self.page.sheet.add_chart(scatter, f"{self.anchor}4")
        growth = charts.log_log("Time of a square matmul")
        charts.axis(growth.x_axis, "Dimension", "General", *DIMENSIONS)
        charts.axis(growth.y_axis, "Time (us)", AXIS, *TIMES)
        dimension, points = of("chart_dimension"), of("chart_point")
        growth.series.append(charts.line(dimension, of("chart_roofline"), "Bound: the roofline", charts.AXIS))
        growth.series.append(charts.line(dimension, of("chart_expected"), "Predicted: to expect"))
        growth.series.append(charts.markers(dimension, points, "Measured", charts.PALETTE[1]))
        self.page.sheet.add_chart(growth, f"{self.anchor}31")

    def _square(self, at: int, case: ComparisonCase) -> str:
        """The dimension of a square matmul in the first row's dtype and on its chip: others have no place by it."""
        if case.template.name != "matmul":
            return "NA()"
        names = ("tokens", "d_in", "d_out", "n_matmuls", "compute_dtype", "hardware_id")
        columns = [column_letters(self.others[name]) for name in names]
        tokens, d_in, d_out, count, dtype, chip = (f"{column}{at}" for column in columns)
        same = ",".join(
            f"{cell}=${column}${FIRST_ROW}" for cell, column in zip((dtype, chip), columns[-2:], strict=True)
        )
        return f"IF(AND({tokens}={d_in},{d_in}={d_out},{count}=1,{same}),{d_in},NA())"

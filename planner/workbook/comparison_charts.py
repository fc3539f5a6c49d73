"""The Comparison's two pictures: measured over predicted, and time over dimension with the roofline as a line.

What they draw stands in columns of its own, right of the note: N/A is not drawn, and x is always a number.
"""

from __future__ import annotations

from openpyxl.chart import Reference

from planner.compare.comparison_cases import ComparisonCase
from planner.workbook import charts
from planner.workbook.cells import or_blank
from planner.workbook.page import Live, Page
from planner.workbook.results import Results
from planner.workbook.styles import number_format
from planner.xlsx.address import column_letters

TIMES = (1e-7, 1e2)  # s, what the axes span
DIMENSIONS = (10.0, 1e5)
COLUMNS = {
    "chart_predicted": ("Chart: predicted time", "s"),
    "chart_measured": ("Chart: measured time", "s"),
    "chart_dimension": ("Chart: dimension of a square matmul", "1"),
    "chart_roofline": ("Chart: its predicted time", "s"),
    "chart_point": ("Chart: its measured time", "s"),
}
EQUAL_ROWS = (1, 2)  # above the headers: the ends of the line on which measured is predicted


def columns(first: int) -> dict[str, int]:
    """Machine name -> column, from left to right."""
    return {name: column for column, name in enumerate(COLUMNS, start=first)}


def header(page: Page, places: dict[str, int], at: int) -> None:
    """Labels with units in row `at`, machine names below, and the line of equality above."""
    for name, column in places.items():
        label, unit = COLUMNS[name]
        page.put(at, column, f"{label} ({unit})", "plan_note")
        page.put(at + 1, column, name, "plan_header")
    for row, end in zip(EQUAL_ROWS, TIMES, strict=True):
        for name in ("chart_predicted", "chart_measured"):
            page.put(row, places[name], end, "plan_constant", number_format("s"))
        page.put(row, places["chart_dimension"], "end of the line: measured is predicted", "plan_text")


def case(page: Page, places: dict[str, int], results: Results, at: int, row: ComparisonCase, first: int) -> None:
    """The chart data of one case; only square matmuls in the dtype of the first row have a place by dimension."""
    predicted = f"{column_letters(results.columns['predicted_time'])}{at}"
    measured = or_blank(f"{column_letters(results.columns['measured_time'])}{at}")
    square = "NA()"
    if row.template.name == "matmul":
        tokens, d_in, d_out, count, dtype = (
            column_letters(results.working[name]) for name in ("tokens", "d_in", "d_out", "n_matmuls", "compute_dtype")
        )
        same = f"{dtype}{at}=${dtype}${first}"
        square = f"IF(AND({tokens}{at}={d_in}{at},{d_in}{at}={d_out}{at},{count}{at}=1,{same}),{d_in}{at},NA())"
    size = f"{column_letters(places['chart_dimension'])}{at}"
    contents = {
        "chart_predicted": f"IFERROR({predicted},1)",
        "chart_measured": f"{measured}+0*{predicted}",
        "chart_dimension": f"IFERROR({square},1)",
        "chart_roofline": f"IF({size}>1,{predicted},NA())",
        "chart_point": f"IF({size}>1,{measured},NA())",
    }
    for name, text in contents.items():
        page.put(at, places[name], Live(text), "plan_formula", number_format(COLUMNS[name][1]))


def draw(page: Page, places: dict[str, int], first: int, last: int) -> None:
    """Both charts, right of their data."""

    def reach(name: str) -> Reference:
        return charts.column(page, places[name], first, last)

    anchor = column_letters(max(places.values()) + 2)
    scatter = charts.log_log("Measured over predicted")
    charts.axis(scatter.x_axis, "Predicted time (s)", "0.E+0", *TIMES)
    charts.axis(scatter.y_axis, "Measured time (s)", "0.E+0", *TIMES)
    along, up = (charts.column(page, places[name], *EQUAL_ROWS) for name in ("chart_predicted", "chart_measured"))
    scatter.series.append(charts.line(along, up, "Measured is predicted"))
    scatter.series.append(charts.markers(reach("chart_predicted"), reach("chart_measured"), "Cases"))
    page.sheet.add_chart(scatter, f"{anchor}4")
    growth = charts.log_log("Time of a square matmul")
    charts.axis(growth.x_axis, "Dimension", "General", *DIMENSIONS)
    charts.axis(growth.y_axis, "Time (s)", "0.E+0", *TIMES)
    growth.series.append(charts.line(reach("chart_dimension"), reach("chart_roofline"), "Roofline"))
    growth.series.append(
        charts.markers(reach("chart_dimension"), reach("chart_point"), "Measured", charts.PALETTE[1])
    )  # fmt: skip
    page.sheet.add_chart(growth, f"{anchor}31")

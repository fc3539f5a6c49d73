"""The Comparison sheet: each row is a case, a template with its inputs and a key, with predicted and measured time.

The predicted time is the expected one, with its range and its bound. The sheet has two charts: measured over predicted,
and time over dimension with the bound and the expected time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from openpyxl.chart import Reference
from openpyxl.workbook import Workbook
from openpyxl.workbook.defined_name import DefinedName

from planner.book.formulas_in_names import or_missing
from planner.compare.appended_rows import EFFICIENCIES
from planner.compare.comparison_cases import ComparisonCase
from planner.compare.comparison_sheet import DEVICE_KIND, IDENTITY, KEY, MARKER, MARKERS, SHOWN
from planner.compare.comparison_sheet import SHEET as NAME
from planner.compare.runs_table import COLUMNS, GAP
from planner.formulas.template import Row, Template
from planner.workbook import charts, layout
from planner.workbook.build_plan import BuildPlan
from planner.workbook.calculation import Earlier
from planner.workbook.case_table import CaseColumns
from planner.workbook.cell_styles import INK, SAID
from planner.workbook.comparison_results import ResultColumns
from planner.workbook.database_sheets import DatabaseSheet, DatabaseSheets
from planner.workbook.display_units import US
from planner.workbook.inputs_sheet import NAME as INPUTS
from planner.workbook.inputs_sheet import Inputs
from planner.workbook.own_runs import REACH, RunsTable
from planner.workbook.page import Live, Page, whole_as_int
from planner.xlsx.address import address, column_letters

PURPOSE = "Copy a row down to add a case, change its inputs, then run: planner measure on this file."
HEADER_ROW, FIRST_ROW = 5, 6
IDENTITY_WIDTHS = 22, 54, 17, 15, 13
POOR, FAIR, GOOD = "FFFBD5D5", "FFFFF4CC", "FFD1F0DD"  # fills of results


@dataclass(frozen=True)
class Comparison:
    """The sheet, and the positions of its rows and columns."""

    page: Page
    table: CaseColumns
    results: ResultColumns
    last: int  # the last row of ranges and validations
    charts_at: str = ""  # the letters of the column where charts begin
    runs_at: int = 0  # the title row of an existing table of runs

    @property
    def columns(self) -> dict[str, int]:
        """Machine name -> column, from left to right."""
        identity = {name: index for index, name in enumerate(IDENTITY, start=1)}
        return identity | self.table.columns | self.results.columns

    def reach(self, name: str) -> str:
        """The range of a column over all rows, including spare ones."""
        return f"{address(FIRST_ROW, self.columns[name])}:{address(self.last, self.columns[name])}"

    @property
    def runs(self) -> RunsTable:
        """The table of runs, or where the first run will add it: below the rows for cases, in their columns.

        Its ranges begin at the cases, so that a later build with more of them leaves the table where it is.
        """

        def area(name: str) -> str:
            letters = column_letters(self.columns[COLUMNS[name].under])
            return f"{NAME}!${letters}${FIRST_ROW}:${letters}${self.last + REACH}"

        title_row = self.runs_at or self.last + GAP + 1
        return RunsTable(self.page, title_row, area, f"{self.charts_at}{title_row}")


def write(earlier: Earlier, selector: str) -> Comparison:
    """Write the sheet: identity, inputs, working, and the measured numbers beside the predicted ones.

    `selector` is the cell of Dashboard that chooses a scenario, blank if there is none.
    """
    plan, cases, inputs, databases = earlier.plan, earlier.plan.comparison, earlier.inputs, earlier.databases
    page = Page(earlier.book, NAME, "Comparison", PURPOSE, corner="C6")
    templates = list({case.template.name: case.template for case in cases}.values())
    matched = column_letters(len(IDENTITY))
    table = CaseColumns(page, earlier, templates, HEADER_ROW, len(IDENTITY) + 1, lambda at: f"${matched}{at}")
    efficiencies = _efficiencies(plan, inputs, selector)
    results = ResultColumns(page, table.end, table.columns, efficiencies, inputs.constant)
    sheet = Comparison(page, table, results, last_row(plan), runs_at=plan.runs_at)
    chips = plan.columns.across(INPUTS, layout.HARDWARE_ROW)
    drawn = ComparisonCharts(page, sheet.columns, chips, databases["hardware"])
    _header(sheet)
    drawn.header()
    chip = next((scenario.hardware for scenario in plan.scenarios if scenario.hardware), None)
    for at, case in enumerate(cases, start=FIRST_ROW):
        _row(sheet, at, case, chip, databases)
        drawn.case(at, case)
    drawn.draw(sheet.last)
    _validate(sheet, databases, templates)
    _colour(sheet, drawn.last)
    _mark(earlier.book, sheet)
    first, end = column_letters(sheet.columns["predicted_time"]), column_letters(sheet.columns["achieved_bandwidth"])
    page.sheet.print_area = f"{first}{HEADER_ROW - 1}:{end}{FIRST_ROW + len(cases) - 1}"
    page.sheet.print_title_cols = "B:B"  # the working columns aren't printed
    page.widths(*IDENTITY_WIDTHS, *[14] * len(table.columns), *results.widths, *[22] * len(drawn.columns))
    return replace(sheet, charts_at=drawn.anchor)


def last_row(plan: BuildPlan) -> int:
    """The last row reserved for cases: above the table of runs, if the cases are above it."""
    cases = FIRST_ROW + len(plan.comparison)
    return min(cases + layout.SPARE_ROWS, plan.runs_at - GAP - 1) if plan.runs_at > cases else cases + layout.SPARE_ROWS


def _mark(book: Workbook, sheet: Comparison) -> None:
    """Define a name over each column that is read or written later, since a name follows its column."""
    for name in (*IDENTITY, *sheet.results.typed, "note"):
        marker, column = MARKER if name == KEY else f"{MARKERS}{name}", column_letters(sheet.columns[name])
        area = f"{NAME}!${column}${FIRST_ROW}:${column}${sheet.last}"
        book.defined_names[marker] = DefinedName(marker, attr_text=area)


def _efficiencies(plan: BuildPlan, inputs: Inputs, selector: str) -> Mapping[str, str]:
    """The efficiencies of the scenario chosen on Dashboard."""
    if plan.layer_ops is None:
        return {}
    return {name: or_missing(inputs.of_scenario(name, selector)) for name in EFFICIENCIES if name in inputs.input_rows}


def _header(sheet: Comparison) -> None:
    page = sheet.page
    for column, (name, label) in enumerate(IDENTITY.items(), start=1):
        page.heads(HEADER_ROW - 1, column, label, name, right=False)
    sheet.table.header()
    sheet.results.header(HEADER_ROW - 1)
    page.rows[HEADER_ROW - 1].height = 42
    page.close_rows([HEADER_ROW])
    page.close_columns(range(sheet.columns["hardware_row"], sheet.results.first))


def _row(sheet: Comparison, at: int, case: ComparisonCase, chip: str | None, databases: DatabaseSheets) -> None:
    page, columns = sheet.page, sheet.columns
    identity = (case.key, case.label, case.template.name, chip)
    for column, value in enumerate(identity, start=1):
        page.put(at, column, value, "plan_case", "@")
    matched = f"MATCH({address(at, columns['hardware_id'])},{databases['hardware'].ids},0)"
    page.put(at, columns["hardware_row"], Live(matched), "plan_formula", "0")
    sheet.table.case(at, case.template, lambda row: _typed(case, row))
    sheet.results.case(at, case)


def _typed(case: ComparisonCase, row: Row) -> tuple[object, str]:
    if row.kind != "input":
        return None, ""
    return whole_as_int(case.inputs[row.name]), "plan_input"


def _colour(sheet: Comparison, last: int) -> None:
    """Results near the prediction are green, distant ones red; unknown ones, up to column `last`, are grey."""
    bands = {
        "roofline_share": ((">=0.7", GOOD), (">=0.4", FAIR), (">=0", POOR)),
        "time_ratio": (("<=1.4", GOOD), ("<=2.5", FAIR), (">2.5", POOR)),
    }
    for name, rules in bands.items():
        first = address(FIRST_ROW, sheet.columns[name])
        for condition, fill in rules:
            sheet.page.colour(
                sheet.reach(name), f"IFERROR(AND(ISNUMBER({first}),{first}{condition}),FALSE)", ink=INK, fill=fill
            )
    sheet.page.grey_missing(f"A{FIRST_ROW}:{address(sheet.last, last)}")


def _validate(sheet: Comparison, databases: DatabaseSheets, templates: Sequence[Template]) -> None:
    lists = {
        "hardware_id": databases["hardware"].ids,
        "template": f'"{",".join(template.name for template in templates)}"',
    }
    lists |= {name: databases["dtypes"].ids for name in sheet.table.columns if name.endswith("_dtype")}
    for name, source in lists.items():
        sheet.page.choose(sheet.reach(name), source, name, "Choose from the list.")


TIMES = (0.1, 1e6)  # us, the range of the axes
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
EQUAL_ROWS = (1, 2)  # above the headers: the ends of the line of equality


class ComparisonCharts:
    """The two charts, and the columns with their data, right of the note.

    N/A isn't drawn, nor a time on other hardware than the plan's, and x is always a number. `others` are the columns of
    the cases by machine name, `chips` is a range with the plan's chips: a row is not drawn if its chip isn't among
    them, or if it was timed on another device.
    """

    def __init__(self, page: Page, others: Mapping[str, int], chips: str, hardware: DatabaseSheet) -> None:
        self.page, self.others, self.chips, self.kinds = page, others, chips, hardware.range(DEVICE_KIND)
        first = max(others.values()) + 1
        self.columns = {name: column for column, name in enumerate(CHART_COLUMNS, start=first)}
        self.last = max(self.columns.values())

    def header(self) -> None:
        """Write labels with units, machine names below, and the line of equality above."""
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
        """Write the chart data of one case."""

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
        """The letters of the column where charts begin, right of their data."""
        return column_letters(self.last + 2)

    def draw(self, last: int) -> None:
        """Add both charts, right of their data, over the cases up to row `last`."""

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
        """The dimension of a square matmul with the first row's dtype and chip; N/A for any other case."""
        if case.template.name != "matmul":
            return "NA()"
        names = ("tokens", "d_in", "d_out", "n_matmuls", "compute_dtype", "hardware_id")
        columns = [column_letters(self.others[name]) for name in names]
        tokens, d_in, d_out, count, dtype, chip = (f"{column}{at}" for column in columns)
        same = ",".join(
            f"{cell}=${column}${FIRST_ROW}" for cell, column in zip((dtype, chip), columns[-2:], strict=True)
        )
        return f"IF(AND({tokens}={d_in},{d_in}={d_out},{count}=1,{same}),{d_in},NA())"

"""The Dashboard: failed checks first, then the headline numbers of all scenarios side by side and what binds each.

A headline is what to expect; below it stand the least and the most of its range, and its bound. Then follows where the
step of the scenario that is chosen goes, and its charts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from openpyxl.workbook import Workbook
from openpyxl.worksheet.pagebreak import Break

from planner.formulas.headlines import RANGE, Headline, headlines
from planner.formulas.layer_ops import PHASES
from planner.formulas.template import Row
from planner.table import joined
from planner.workbook import expected_parts, inputs_sheet, layout
from planner.workbook.build_plan import ALL_WORKLOADS, WORKLOAD, BuildPlan
from planner.workbook.calculation import Calculation, header_rows
from planner.workbook.cell_styles import PERCENT, row_format
from planner.workbook.constraints_sheet import Constraints
from planner.workbook.dashboard_charts import CHARTS_WIDTH, DashboardCharts
from planner.workbook.inputs_sheet import Inputs
from planner.workbook.page import GREY, Live, Page
from planner.xlsx.address import address, column_letters
from planner.xlsx.grid import HERE

NAME = "Dashboard"
PURPOSE = "What to expect, with its range and its bound; each number links to the row that calculates it."
WIDTHS = (43, 11, 34, 18, 26)
SUMMARIES = {"Missing numbers": "that the databases or Inputs lack: Checks names them"}
RANGE_NOTES = {RANGE[0]: "10 % of runs are below", RANGE[1]: "10 % of runs are above", "": "its bound"}
CHIPS = "n_chips"
PLAIN_COLUMN = 64  # pixels of a column that nobody has made wider
SELECTOR_ROW = 14  # and the next: which scenario and which phase Roofline shows
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
    _chips(page, plan, inputs, at)
    chooses = charted.roofline is not None or bool(plan.sweeps)
    if chooses:
        _selectors(page, plan, has_roofline=charted.roofline is not None)
    at = SELECTOR_ROW + 2 if chooses else at + 1
    labels: set[str] = set()
    for sheet in _in_order(plan, sheets):
        first = at + 1
        at = _template(page, plan, sheet, constraints, first, labels)
        _set_back(page, plan, inputs, sheet, first, at - 1)
    page.widths(*WIDTHS, scenarios=plan.columns, each=layout.SCENARIO_WIDTH)
    if chooses:
        charted.parts = expected_parts.write(
            page, plan, inputs, sheets, SELECTORS["scenario"].partition("!")[2], at + 1
        )
        _charts(page, plan, charted, (charted.parts.rows.stop if charted.parts else at) + 1)
    return page


def _chips(page: Page, plan: BuildPlan, inputs: Inputs, at: int) -> None:
    """How many chips each scenario has, without which its time says little beside another's."""
    row = plan.inputs.get(CHIPS)
    if row is None:
        return
    typed = inputs.input_rows[CHIPS]
    page.describe(at, (row.label, row.unit, CHIPS, inputs_sheet.NAME, "of the plan"))
    _linked(page, at, inputs_sheet.NAME, typed)
    page.across(at, plan.columns, f"{inputs_sheet.NAME}!{HERE}{typed}", "plan_cross", row_format(row))


def _in_order(plan: BuildPlan, sheets: Sequence[Calculation]) -> list[Calculation]:
    """The sheets as Dashboard shows them: the first scenario's workload, the others, and what these are made of."""
    workloads = {template.name for template in plan.workloads.templates}
    leading = plan.scenarios[0].values.get(WORKLOAD) if plan.scenarios else None

    def place(sheet: Calculation) -> tuple[bool, bool]:
        return sheet.template.name != leading, sheet.template.name not in workloads

    return sorted(sheets, key=place)


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
    for each in headlines(sheet.template):
        for row in each.rows:
            label = row.label if row.label not in labels else f"{sheet.page.name}: {row.label}"
            labels.add(label)
            _number(page, plan, sheet, each, replace(row, label=label), at, row.name in proved)
            at += 1
        at += _bound(page, plan, sheet, each, constraints, at)
    return at


def _set_back(page: Page, plan: BuildPlan, inputs: Inputs, sheet: Calculation, first: int, last: int) -> None:
    """Numbers of a workload that a scenario isn't meant for are grey, and the heading of their section says so."""
    if plan.workloads.row is None or sheet.template not in plan.workloads.templates:
        return
    typed = f"{inputs_sheet.NAME}!{HERE}{inputs.input_rows[WORKLOAD]}"
    others = f'OR({typed}="{ALL_WORKLOADS}",{typed}="{sheet.template.name}")'
    page.across(first, plan.columns, f'IF({others},"","not meant for it")', "plan_section")
    told = f"{column_letters(layout.FIRST_SCENARIO)}${first}"
    page.colour(plan.columns.area(first + 1, last), f'{told}<>""', ink=GREY)


def _linked(page: Page, at: int, sheet: str, row: int) -> None:
    """Make what a line says of where its numbers are from a link to that row."""
    page.put(at, layout.FORMULA, f"{sheet} row {row}", "plan_link")
    page.link(at, layout.FORMULA, sheet, address(row, layout.LABEL))


def _number(
    page: Page, plan: BuildPlan, sheet: Calculation, each: Headline[Row], row: Row, at: int, is_proved: bool
) -> None:  # fmt: skip
    """A line of a headline: the number itself, which stands out where a range or a bound is beside it, or these."""
    leads, has_range = row.name == each.row.name, len(each.rows) > 1
    texts = (row.note, row.source) if leads else (RANGE_NOTES[_end(row.name)],)
    source = joined("" if is_proved else layout.UNPROVED, *texts)
    page.describe(at, (row.label, row.unit, row.name, sheet.page.name, source))
    _linked(page, at, sheet.home(row.name).page.name, sheet.home(row.name).rows[row.name])
    if has_range:
        page.put(at, layout.LABEL, row.label, "plan_lead_label" if leads else "plan_told")
    style = "plan_lead" if has_range and leads else "plan_cross"
    form = PERCENT if each.unit == "%" else row_format(row)
    page.across(at, plan.columns, sheet.here(row.name), style, form)


def _end(name: str) -> str:
    """How the name of one end of a range ends; blank for another row."""
    return next((end for end in RANGE if name.endswith(end)), "")


def _bound(
    page: Page, plan: BuildPlan, sheet: Calculation, each: Headline[Row], constraints: Constraints | None, at: int
) -> int:  # fmt: skip
    """A text for each scenario: what binds the headline's bound and how far the next is; the number of rows written."""
    row = each.binds
    place = constraints.place(sheet, row.name) if constraints and row else None
    if constraints is None or row is None or place is None:
        return 0
    name = constraints.page.name
    page.describe(at, (f"{row.label}: bound by", "text", "", name, "and how far the next part is"))
    _linked(page, at, name, place)
    for column in plan.columns:
        page.put(at, column, Live(constraints.words(sheet, row.name, column)), "plan_words", "@")
    page.sheet.row_dimensions[at].height = constraints.heights[place]
    return 1

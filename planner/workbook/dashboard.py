"""The Dashboard: failed checks first, then the headline numbers of all scenarios side by side and what binds each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from openpyxl.workbook import Workbook
from openpyxl.worksheet.pagebreak import Break

from planner.formulas.layer_ops import PHASES
from planner.formulas.template import Row, Template
from planner.workbook import inputs as inputs_sheet
from planner.workbook import layout, workloads
from planner.workbook.calculation import DESCRIBED, Calculation, header_rows
from planner.workbook.constraints import Constraints
from planner.workbook.headlines import headlines
from planner.workbook.inputs import Inputs
from planner.workbook.page import GREY, Live, Page
from planner.workbook.pictures import WIDTH as CHARTS_WIDTH
from planner.workbook.pictures import Pictures
from planner.workbook.plan import Plan
from planner.workbook.styles import row_format
from planner.xlsx.address import address, column_letters

NAME = "Dashboard"
PURPOSE = "The headline numbers; each links to the row that calculates it."
WIDTHS = (38, 11, 27, 23, 32)
SUMMARIES = {"Missing numbers": "that the databases or Inputs lack: Checks names them"}
PLAIN_COLUMN = 64  # pixels of a column that nobody has made wider
SELECTOR_ROW = 13  # and the next: which scenario and which phase Roofline shows
SELECTORS = {"scenario": f"{NAME}!$D${SELECTOR_ROW}", "phase": f"{NAME}!$D${SELECTOR_ROW + 1}"}


def write(
    book: Workbook, plan: Plan, inputs: Inputs, sheets: Sequence[Calculation], failed: Mapping[str, int],
    constraints: Constraints | None, pictures: Pictures,
) -> Page:  # fmt: skip
    """Write the sheet. `failed` is where Checks counts failed checks and missing numbers, by label."""
    page = Page(book, NAME, "Dashboard", PURPOSE)
    header_rows(page, plan, ("From", "Note and source"))
    at = layout.FIRST_ROW
    for label, row in failed.items():
        _describe(page, at, (label, "1", "", "Checks", SUMMARIES.get(label, "of this scenario")))
        _linked(page, at, "Checks", row)
        for column in plan.columns:
            page.put(at, column, Live(f"Checks!{address(row, column)}"), "plan_check", "0")
        at += 1
    chooses = pictures.roofline is not None or bool(plan.sweeps)
    if chooses:
        _selectors(page, plan, has_roofline=pictures.roofline is not None)
    at = SELECTOR_ROW + 2 if chooses else at + 1
    labels: set[str] = set()
    for sheet in sheets:
        first = at + 1
        at = _template(page, plan, sheet, constraints, first, labels)
        _set_back(page, plan, inputs, sheet, first, at - 1)
    page.widths(*WIDTHS, scenarios=plan.columns, each=layout.SCENARIO_WIDTH)
    if chooses:
        _charts(page, plan, pictures, at + 1)
    return page


def _charts(page: Page, plan: Plan, pictures: Pictures, at: int) -> None:
    """The charts of the chosen scenario, on a printed page of their own; a link beside the choice leads to them."""
    page.section(at, "Charts of the scenario shown", layout.FIRST_SCENARIO + plan.columns.filled - 1)
    page.put(at, layout.SOURCE, Live(f"${column_letters(layout.FORMULA)}${SELECTOR_ROW}"), "plan_section")
    page.put(SELECTOR_ROW, layout.SOURCE, f"its charts are in row {at}", "plan_told_link")
    page.link(SELECTOR_ROW, layout.SOURCE, NAME, address(at, layout.LABEL))
    page.sheet.row_breaks.append(Break(id=at - 1))
    last = pictures.draw(page, at + 1)
    page.sheet.print_area = f"A1:{column_letters(_reach(plan))}{last}"


def _reach(plan: Plan) -> int:
    """The last column of a printed page: that of the last scenario, or further where the charts reach further."""
    pixels = sum(7 * width + 5 for width in (*WIDTHS, *(layout.SCENARIO_WIDTH for _ in plan.columns)))
    further = max(0, math.ceil((CHARTS_WIDTH - pixels) / PLAIN_COLUMN))
    return layout.FIRST_SCENARIO + plan.columns.filled - 1 + further


def _selectors(page: Page, plan: Plan, *, has_roofline: bool) -> None:
    """The choices that the charts and the sheets of one scenario follow; only a roofline has phases."""
    followers = ["Roofline"] * has_roofline + ["Sweep"] * bool(plan.sweeps)
    shown = f"{', '.join(followers)} and the charts"
    page.section(SELECTOR_ROW - 1, f"Shown on {shown}", layout.FIRST_SCENARIO + plan.columns.filled - 1)
    ids = plan.columns.across("Inputs", layout.ID_ROW)
    choices = [("Scenario", plan.scenarios[0].id, ids)]
    if has_roofline:
        choices.append(("Phase", PHASES[0], f'"{",".join(PHASES)}"'))
    for at, (label, value, source) in enumerate(choices, start=SELECTOR_ROW):
        _describe(page, at, (f"{label} shown", "text", f"shown_{label.lower()}"))
        page.put(at, layout.FORMULA, value, "plan_input", "@")
        page.validate(address(at, layout.FORMULA), type="list", formula1=source, promptTitle=label,
                      prompt=f"{shown} follow this choice.", errorTitle=label,
                      error="Choose from the list.")  # fmt: skip


def _template(
    page: Page, plan: Plan, sheet: Calculation, constraints: Constraints | None, at: int, labels: set[str]
) -> int:
    proved = _proved(sheet.template)
    page.section(at, sheet.template.name.capitalize(), layout.FIRST_SCENARIO + plan.columns.filled - 1)
    at += 1
    for name in headlines(sheet.template):
        row = sheet.template.row(name)
        label = row.label if row.label not in labels else f"{sheet.page.name}: {row.label}"
        labels.add(label)
        _headline(page, plan, sheet, replace(row, label=label), at, row.name in proved)
        at += 1
        at += _bound(page, plan, sheet, replace(row, label=label), constraints, at)
    return at


def _set_back(page: Page, plan: Plan, inputs: Inputs, sheet: Calculation, first: int, last: int) -> None:
    """Numbers of a workload that a scenario isn't meant for are grey, and the heading of their section says so."""
    if plan.workloads.row is None or sheet.template not in plan.workloads.templates:
        return
    page.put(first, layout.SOURCE, "grey: of a scenario that isn't meant for it", "plan_section")
    area = f"{address(first + 1, layout.FIRST_SCENARIO)}:{address(last, plan.columns.last)}"
    typed = f"{inputs_sheet.NAME}!{column_letters(layout.FIRST_SCENARIO)}${inputs.input_rows[workloads.NAME]}"
    page.colour(area, f'AND({typed}<>"{workloads.ALL}",{typed}<>"{sheet.template.name}")', ink=GREY)


def _proved(template: Template) -> set[str]:
    """The rows that a check of the template is made of, and what those are made of, and so on."""
    return template.closure(row.name for row in template.of_kind("check"))


def _describe(page: Page, at: int, texts: tuple[str, ...]) -> None:
    for column, text in enumerate(texts, start=1):
        page.put(at, column, text, DESCRIBED[column - 1])


def _linked(page: Page, at: int, sheet: str, row: int) -> None:
    """Make what a line says of where its numbers are from a link to that row."""
    page.put(at, layout.FORMULA, f"{sheet} row {row}", "plan_link")
    page.link(at, layout.FORMULA, sheet, address(row, layout.LABEL))


def _headline(page: Page, plan: Plan, sheet: Calculation, row: Row, at: int, is_proved: bool) -> None:
    source = "; ".join(text for text in ("" if is_proved else layout.UNPROVED, row.note, row.source) if text)
    _describe(page, at, (row.label, row.unit, row.name, sheet.page.name, source))
    _linked(page, at, sheet.page.name, sheet.rows[row.name])
    for column in plan.columns:
        page.put(at, column, Live(sheet.at(row.name, column)), "plan_cross", row_format(row))


def _bound(
    page: Page, plan: Plan, sheet: Calculation, row: Row, constraints: Constraints | None, at: int
) -> int:  # fmt: skip
    """A text for each scenario: what binds the row above and how far the next is; the number of rows written."""
    place = constraints.place(sheet, row.name) if constraints else None
    if constraints is None or place is None:
        return 0
    name = constraints.page.name
    _describe(page, at, (f"{row.label}: bound by", "text", "", name, "and how far the next part is"))
    _linked(page, at, name, place)
    for column in plan.columns:
        page.put(at, column, Live(constraints.words(sheet, row.name, column)), "plan_words", "@")
    page.sheet.row_dimensions[at].height = constraints.heights[place]
    return 1

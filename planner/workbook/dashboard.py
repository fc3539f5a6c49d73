"""The Dashboard: failed checks first, then the headline numbers of all scenarios side by side and what binds each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from openpyxl.workbook import Workbook

from planner import csvfile, data
from planner.layer_ops import PHASES
from planner.template import Row, Template
from planner.workbook import layout
from planner.workbook.calculation import Calculation, header_rows
from planner.workbook.page import Live, Page
from planner.workbook.plan import Plan
from planner.workbook.styles import row_format

NAME = "Dashboard"
PURPOSE = "The headline numbers; each links to the row that calculates it."
MOST = 12  # headlines of a template that names none
SELECTOR_ROW = 13  # and the next: which scenario and which phase Roofline shows
SELECTORS = {"scenario": f"{NAME}!$D${SELECTOR_ROW}", "phase": f"{NAME}!$D${SELECTOR_ROW + 1}"}


def headlines(template: str) -> list[tuple[str, str]]:
    """The headline rows that templates/dashboard.csv names for a template: (row, what binds it or blank)."""
    path: Path = data.folder("templates") / "dashboard.csv"
    sheet = csvfile.read(path, required=("template", "name", "bound_by"), known=("template", "name", "bound_by"))
    return [(cells["name"], cells["bound_by"]) for _, cells in sheet.records() if cells["template"] == template]


def write(book: Workbook, plan: Plan, sheets: Sequence[Calculation], failed: Mapping[str, int]) -> Page:
    """Write the sheet. `failed` is where Checks counts failed checks and missing numbers, by label."""
    page = Page(book, NAME, "Dashboard", PURPOSE)
    header_rows(page, plan, ("From", "Note and source"))
    at = layout.FIRST_ROW
    for label, row in failed.items():
        _describe(page, at, (label, "1", "", "Checks", "of this scenario"))
        for column in plan.columns:
            page.put(column, at, Live(f"Checks!{layout.cell(column, row)}"), "plan_check", "0")
        at += 1
    if plan.layer_ops is not None:
        _selectors(page, plan)
    at = SELECTOR_ROW + 2 if plan.layer_ops is not None else at + 1
    labels: set[str] = set()
    for sheet in sheets:
        named = [pair for pair in headlines(sheet.template.name) if pair[0] in sheet.rows]
        rows = named or [(row.name, "") for row in sheet.template.of_kind("output")[:MOST]]
        at = _template(page, plan, sheet, rows, at + 1, labels)
    page.widths(38, 11, 26, 19, 30, scenarios=plan.columns, each=layout.SCENARIO_WIDTH)
    return page


def _selectors(page: Page, plan: Plan) -> None:
    """The choices that Roofline follows."""
    page.section(SELECTOR_ROW - 1, "Shown on Roofline", layout.FIRST_SCENARIO + plan.columns.filled - 1)
    ids = plan.columns.across("Inputs", layout.ID_ROW)
    choices = (("Scenario", plan.scenarios[0].id, ids), ("Phase", PHASES[0], f'"{",".join(PHASES)}"'))
    for at, (label, value, source) in enumerate(choices, start=SELECTOR_ROW):
        _describe(page, at, (f"{label} shown", "text", f"shown_{label.lower()}"))
        page.put(layout.FORMULA, at, value, "plan_input", "@")
        page.validate(layout.cell(layout.FORMULA, at), type="list", formula1=source, promptTitle=label,
                      prompt="Roofline follows this choice.", errorTitle=label,
                      error="Choose from the list.")  # fmt: skip


def _template(
    page: Page, plan: Plan, sheet: Calculation, rows: Sequence[tuple[str, str]], at: int, labels: set[str]
) -> int:
    proved = _proved(sheet.template)
    page.section(at, sheet.template.name.capitalize(), layout.FIRST_SCENARIO + plan.columns.filled - 1)
    at += 1
    for name, bound_by in rows:
        row = sheet.template.row(name)
        label = row.label if row.label not in labels else f"{sheet.page.name}: {row.label}"
        labels.add(label)
        _headline(page, plan, sheet, replace(row, label=label), at, row.name in proved)
        at += 1
        if bound_by:
            _bound(page, plan, sheet, row, bound_by, at)
            at += 1
    return at


def _proved(template: Template) -> set[str]:
    """The rows that a check of the template is made of, and what those are made of, and so on."""
    waiting = [row.name for row in template.of_kind("check")]
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += template.row(name).reads
    return reached


def _describe(page: Page, at: int, texts: tuple[str, ...]) -> None:
    for column, text in enumerate(texts, start=1):
        page.put(column, at, text, "plan_label" if column == 1 else "plan_text")


def _headline(page: Page, plan: Plan, sheet: Calculation, row: Row, at: int, is_proved: bool) -> None:
    source = "; ".join(text for text in ("" if is_proved else layout.UNPROVED, row.note, row.source) if text)
    _describe(page, at, (row.label, row.unit, row.name, sheet.page.name, source))
    page.link(layout.FORMULA, at, sheet.page.name, layout.cell(layout.LABEL, sheet.rows[row.name]))
    page.put(layout.FORMULA, at, f"{sheet.page.name} row {sheet.rows[row.name]}", "plan_link")
    for column in plan.columns:
        page.put(column, at, Live(sheet.at(row.name, column)), "plan_cross", row_format(row))


def _bound(page: Page, plan: Plan, sheet: Calculation, row: Row, bound_by: str, at: int) -> None:
    """A text for each scenario: the largest of the parts that `name:what it is|...` lists."""
    parts = [tuple(part.split(":", 1)) for part in bound_by.split("|")]
    _describe(page, at, (f"{row.label}: bound by", "text", "", sheet.page.name, "the largest part"))
    for column in plan.columns:
        cells = [sheet.at(name, column) for name, _ in parts]
        text = f'"{parts[-1][1]}"'
        for index in range(len(parts) - 2, -1, -1):
            text = f'IF({cells[index]}>=MAX({",".join(cells[index:])}),"{parts[index][1]}",{text})'
        page.put(column, at, Live(text), "plan_formula", "@")

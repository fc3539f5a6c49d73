"""The Checks sheet: every check of every template, and every number that the databases lack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from openpyxl.workbook import Workbook

from planner.workbook import inputs as inputs_sheet
from planner.workbook import layout, workloads
from planner.workbook.calculation import DESCRIBED, Calculation, header_rows
from planner.workbook.inputs import Inputs
from planner.workbook.layout import cell, letter
from planner.workbook.page import GREY, PALE_RED, RED, Live, Page
from planner.workbook.plan import Plan

NAME = "Checks"
PURPOSE = (
    "1 holds, 0 fails, #N/A can't be told because a number is missing: the lower table says which. "
    "- is not counted: Inputs says what a scenario is meant for."
)


def write(
    book: Workbook, plan: Plan, inputs: Inputs, sheets: Sequence[Calculation]
) -> tuple[Page, str, dict[str, int]]:  # fmt: skip
    """Write the sheet; returns it, the formula that counts all failed checks, and where each summary stands."""
    page = Page(book, NAME, "Checks", PURPOSE)
    header_rows(page, plan, ("Check in names", "Meaning"))
    writer = _Writer(page, plan)
    writer.section("Checks")
    first = writer.at
    ids = plan.columns.across(inputs_sheet.NAME, layout.ID_ROW)
    unique = "The scenario's id is its own"
    writer.row(unique, "inputs.unique_id", "one id for each scenario", "selectors find a scenario by its id",
               lambda column: f"IF(SUMPRODUCT(({ids}={letter(column)}${layout.ID_ROW})*1)=1,1,0)")  # fmt: skip
    for sheet in sheets:
        for row in (row for row in sheet.computed if row.kind == "check"):
            writer.row(f"{sheet.page.name}: {row.label}", f"{sheet.template.name}.{row.name}", row.formula,
                       "; ".join(text for text in (row.note, row.source) if text),
                       partial(_counted, plan, inputs, sheet, row.name))  # fmt: skip
    last = writer.at - 1
    writer.section("Missing numbers: 1 is N/A")
    missing = writer.at
    counted: set[str] = set()
    for sheet in sheets:
        _missing(writer, inputs, sheet, counted)
    missing_last = max(missing, writer.at - 1)
    writer.section("Summary")
    failed = writer.at
    writer.row("Failed checks", "checks.failed", "", "of this scenario",
               lambda column: f"COUNTIF({letter(column)}${first}:{letter(column)}${last},0)")  # fmt: skip
    writer.row("Missing numbers", "checks.missing", "", "of this scenario",
               lambda column: f"SUM({letter(column)}${missing}:{letter(column)}${missing_last})")  # fmt: skip
    _colour(page, plan, first, last)
    page.widths(56, 13, 38, 44, 40, scenarios=plan.columns, each=layout.SCENARIO_WIDTH)
    return (
        page,
        f"SUM({plan.columns.across(NAME, failed)})",
        {"Failed checks": failed, "Missing numbers": failed + 1},
    )


def _missing(writer: _Writer, inputs: Inputs, sheet: Calculation, counted: set[str]) -> None:
    """A row for each lookup and input of a sheet that none has counted: is its number missing in this scenario?"""
    kinds = {"model": "Models", "hardware": "Hardware", "input": "Inputs", "dtype": "Dtypes"}
    for row in (row for row in sheet.template.of_kind(*kinds) if row.name in sheet.rows and row.name not in counted):
        counted.add(row.name)
        where = f"{kinds[row.kind]}: {row.formula if row.kind in ('model', 'hardware') else row.name}"
        writer.row(f"{sheet.page.name}: {row.label}", f"missing.{sheet.template.name}.{row.name}", where,
                   f"column of {where}" if row.kind in ("model", "hardware") else where,
                   partial(_is_missing, writer.plan, inputs, sheet, row.name))  # fmt: skip


def _counted(plan: Plan, inputs: Inputs, sheet: Calculation, name: str, column: int) -> str:
    """A check, where the scenario is meant for its workload."""
    typed, text = _workload(inputs, column), f'"{workloads.NOT_COUNTED}"'
    meant = [template for template in plan.workloads.templates if template is sheet.template]
    return plan.workloads.guarded(meant, typed, sheet.at(name, column), text)


def _is_missing(plan: Plan, inputs: Inputs, sheet: Calculation, name: str, column: int) -> str:
    missing = f'IFERROR(IF({sheet.at(name, column)}="",1,0),1)'
    meant = plan.workloads.having(name) if sheet.template in plan.workloads.templates else []
    return plan.workloads.guarded(meant, _workload(inputs, column), missing, "0")


def _workload(inputs: Inputs, column: int) -> str:
    """The cell that says what a scenario is meant for; blank where a workbook has no such choice."""
    at = inputs.input_rows.get(workloads.NAME)
    return f"{inputs_sheet.NAME}!{cell(column, at)}" if at else ""


class _Writer:
    """Rows from top to bottom, one formula each."""

    def __init__(self, page: Page, plan: Plan) -> None:
        self.page, self.plan, self.at = page, plan, layout.FIRST_ROW

    def section(self, title: str) -> None:
        self.at += self.at > layout.FIRST_ROW
        self.page.section(self.at, title, layout.FIRST_SCENARIO + self.plan.columns.filled - 1)
        self.at += 1

    def row(self, label: str, name: str, in_names: str, meaning: str, formula: Callable[[int], str]) -> None:
        values = (label, "1", name, in_names, meaning)
        for column, value in enumerate(values, start=1):
            self.page.put(column, self.at, value, DESCRIBED[column - 1])
        for column in self.plan.columns:
            text = formula(column)
            linked = "!" in text and text.replace("!", "").replace("_", "").isalnum()
            self.page.put(column, self.at, Live(text), "plan_cross" if linked else "plan_formula", "0")
        self.at += 1


def _colour(page: Page, plan: Plan, first: int, last: int) -> None:
    """Failed checks stand out in red; what can't be told is grey."""
    area = f"{cell(layout.FIRST_SCENARIO, first)}:{cell(plan.columns.last, last)}"
    corner = cell(layout.FIRST_SCENARIO, first)
    page.colour(area, f'IFERROR(AND({corner}<>"",{corner}=0),FALSE)', ink=RED, fill=PALE_RED, bold=True)
    page.colour(area, f"ISNA({corner})", ink=GREY)

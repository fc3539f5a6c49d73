"""The Checks sheet: every check of every template, and every number that the databases lack."""

from __future__ import annotations

import re
from collections.abc import Sequence

from openpyxl.workbook import Workbook

from planner.catalog.table import TABLES
from planner.formulas import lookups as facts
from planner.formulas.template import Row
from planner.table import joined
from planner.workbook import inputs_sheet, layout
from planner.workbook.build_plan import NOT_COUNTED, WORKLOAD, BuildPlan
from planner.workbook.calculation import Calculation, header_rows
from planner.workbook.failures import Failures
from planner.workbook.inputs_sheet import OPENS, Inputs
from planner.workbook.page import GREY, PALE_RED, RED, Page
from planner.xlsx.address import address
from planner.xlsx.grid import HERE

NAME = "Checks"
WIDTHS = (40, 15, 28, 34, 30)  # all of it is frozen: scenarios must still be seen beside it on a laptop
PURPOSE = (
    "1 holds, 0 fails, #N/A can't be told because a number is missing: the second table says which. "
    "- is not counted: Inputs says what a scenario is meant for."
)


def write(
    book: Workbook, plan: BuildPlan, inputs: Inputs, sheets: Sequence[Calculation]
) -> tuple[Page, str, dict[str, int]]:  # fmt: skip
    """Write the sheet; returns it, the formula that counts all failed checks, and where each summary stands."""
    page = Page(book, NAME, "Checks", PURPOSE)
    page.master_at = layout.UNIT
    header_rows(page, plan, ("Check in names", "Meaning"))
    writer = _CheckWriter(page, plan)
    writer.section(f"Checks; {OPENS}")
    first = writer.at
    ids = plan.columns.across(inputs_sheet.NAME, layout.ID_ROW)
    unique = "The scenario's id is its own"
    writer.row(unique, "inputs.unique_id", "one id for each scenario", "selectors find a scenario by its id",
               f"IF(COUNTIF({ids},{HERE}${layout.ID_ROW})=1,1,0)")  # fmt: skip
    compared: list[tuple[str, Calculation | None, Row | None]] = [(unique, None, None)]
    for sheet in sheets:
        for row in (row for row in sheet.computed if row.kind == "check"):
            compared.append((f"{sheet.page.name}: {row.label}", sheet, row))
            writer.row(f"{sheet.page.name}: {row.label}", f"{sheet.template.name}.{row.name}", row.formula,
                       joined(row.note, row.source),
                       _counted(plan, inputs, sheet, row.name))  # fmt: skip
    last = writer.at - 1
    page.close_rows(range(first, writer.at))
    writer.section(f"Missing numbers: 1 is N/A; {OPENS}")
    missing = writer.at
    counted: set[str] = set()
    for sheet in sheets:
        _missing(writer, inputs, sheet, counted)
    missing_last = max(missing, writer.at - 1)
    page.close_rows(range(missing, writer.at))
    writer.section(f"Working of what fails; {OPENS}")
    failures = Failures(page, plan.columns, range(first, last + 1), compared)
    writer.at = failures.count(writer.at)
    writer.section("Summary")
    failed = writer.at
    writer.row("Failed checks", "checks.failed", "", "of this scenario",
               f"COUNTIF({HERE}${first}:{HERE}${last},0)")  # fmt: skip
    writer.row("Missing numbers", "checks.missing", "", "of this scenario",
               f"SUM({HERE}${missing}:{HERE}${missing_last})")  # fmt: skip
    writer.section("What fails first")
    failures.show(writer.at)
    _colour(page, plan, first, last)
    page.scenario_widths(plan.columns, WIDTHS, is_closed=True)
    summaries = {"Failed checks": failed, "Missing numbers": failed + 1}
    return page, f"SUM({plan.columns.across(NAME, failed)})", summaries


def _missing(writer: _CheckWriter, inputs: Inputs, sheet: Calculation, counted: set[str]) -> None:
    """A row for each lookup and input of a sheet that none has counted: is its number missing in this scenario?"""
    kinds = {"input": "Inputs", **{kind: table.capitalize() for kind, table in TABLES.items()}}
    for row in (row for row in sheet.template.of_kind(*kinds) if row.name in sheet.rows and row.name not in counted):
        counted.add(row.name)
        where = f"{kinds[row.kind]}: {row.formula if row.kind in ('model', 'hardware') else row.name}"
        writer.row(f"{sheet.page.name}: {row.label}", f"missing.{sheet.template.name}.{row.name}", where,
                   _told(row, where),
                   _is_missing(writer.plan, inputs, sheet, row.name))  # fmt: skip


def _told(row: Row, where: str) -> str:
    """What a row of missing numbers means: the column, and where no number is wanted."""
    setting, text = facts.only_on(row)
    column = f"column of {where}" if row.kind in ("model", "hardware") else where
    return f"{column}; counts where {setting} is {text}" if text else column


def _counted(plan: BuildPlan, inputs: Inputs, sheet: Calculation, name: str) -> str:
    """A check, where the scenario is meant for its workload."""
    typed, text = _workload(inputs), f'"{NOT_COUNTED}"'
    meant = [template for template in plan.workloads.templates if template is sheet.template]
    return plan.workloads.guarded(meant, typed, sheet.here(name), text)


def _is_missing(plan: BuildPlan, inputs: Inputs, sheet: Calculation, name: str) -> str:
    """1 where a number is missing; what only another topology has, or another way to pay, is not."""
    missing = f'IFERROR(IF({sheet.here(name)}="",1,0),1)'
    setting, text = facts.only_on(sheet.template.row(name))
    if setting in sheet.rows:
        missing = f'IFERROR(IF({sheet.here(setting)}="{text}",{missing},0),0)'
    meant = plan.workloads.having(name) if sheet.template in plan.workloads.templates else []
    return plan.workloads.guarded(meant, _workload(inputs), missing, "0")


def _workload(inputs: Inputs) -> str:
    """The cell that says what a scenario is meant for; blank where a workbook has no such choice."""
    at = inputs.input_rows.get(WORKLOAD)
    return f"{inputs_sheet.NAME}!{HERE}{at}" if at else ""


class _CheckWriter:
    """Rows from top to bottom, one formula each."""

    def __init__(self, page: Page, plan: BuildPlan) -> None:
        self.page, self.plan, self.at = page, plan, layout.FIRST_ROW

    def section(self, title: str) -> None:
        self.at += self.at > layout.FIRST_ROW
        self.page.section(self.at, title, self.plan.columns.last_filled)
        self.at += 1

    def row(self, label: str, name: str, in_names: str, meaning: str, formula: str) -> None:
        self.page.describe(self.at, (label, "1", name, in_names, meaning))
        linked = "!" in formula and re.sub(f"[!_{HERE}]", "", formula).isalnum()
        self.page.across(self.at, self.plan.columns, formula, "plan_cross" if linked else "plan_formula", "0")
        self.at += 1


def _colour(page: Page, plan: BuildPlan, first: int, last: int) -> None:
    """Failed checks stand out in red; what can't be told is grey."""
    area = plan.columns.area(first, last)
    corner = address(first, layout.FIRST_SCENARIO)
    page.colour(area, f'IFERROR(AND({corner}<>"",{corner}=0),FALSE)', ink=RED, fill=PALE_RED, bold=True)
    page.colour(area, f"ISNA({corner})", ink=GREY)

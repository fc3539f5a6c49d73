"""The Dashboard: for each scenario the verdict and the expected results of its workload, and charts of all scenarios.

Only the label column is frozen. Details are in closed groups: names, notes and sources in columns; the ends of a range,
the bound and the parts in rows. templates/dashboard.csv has the lines and their order, the column `display` of a
template their units.

Among scenarios with the same model and the same demand (the inputs of kind `problem`), the cheapest that fits and fails
no check is marked. The intermediate cells are a closed block below each workload's lines.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from openpyxl.worksheet.pagebreak import Break

from planner.formulas.headlines import headline_template, problem, rows_shown
from planner.workbook import charts, dashboard_charts, expected_parts, inputs_sheet, layout, own_runs
from planner.workbook.advice_lines import write_changes
from planner.workbook.basis import write_basis
from planner.workbook.build_plan import BuildPlan
from planner.workbook.calculation import CalculationSheet, Earlier, header_rows
from planner.workbook.cell_styles import GREEN, PALE_GREEN, number_format, row_format
from planner.workbook.constraints_sheet import Constraints
from planner.workbook.dashboard_charts import DashboardCharts
from planner.workbook.dashboard_lines import UNSEEN, Lines, LineWriter
from planner.workbook.dashboard_units import Units
from planner.workbook.inputs_sheet import Inputs
from planner.workbook.page import Live, Page
from planner.workbook.verdict import BESIDE, FAILED, UNTOLD, FrontTexts, Verdict, write_failures, write_words
from planner.workbook.workloads import ALL_WORKLOADS, WORKLOAD
from planner.xlsx.address import address, column_letters
from planner.xlsx.grid import HERE
from planner.xlsx.worksheet import PLAIN_COLUMN

NAME = "Dashboard"
PURPOSE = (
    "Bold is what to expect, below it its range and its bound; each line links to its row in SI units; + opens more. "
    "Cheapest is among the scenarios of one model and demand."
)
WIDTHS, EACH = (40, 11, 40, 20, 70), 28.0  # EACH: a scenario's
CLOSED = (layout.NAME, layout.SOURCE)  # the columns of names, and of notes and sources
CHIPS = "n_chips"
BEST, FAILS, NO_COST = "Cheapest that passes", "Does not pass", "No cost to compare"
SEVERAL = "marked below"
ONE_WORKLOAD = {
    "Scenario": "Charts of a workload that it isn't meant for stay empty.",
    "Phase": "A scenario that trains shows its training step, one that serves no other.",
}


@dataclass
class Board:
    """The sheet while it is being written: the cells of its choices, by what they choose, and what charts draw."""

    page: Page
    plan: BuildPlan
    inputs: Inputs
    writer: LineWriter
    made: Sequence[Lines]
    verdict: Verdict
    selectors: dict[str, str] = field(default_factory=dict)

    def choose(self, phases: Sequence[str]) -> None:
        """Write the choices that the sheets of one scenario follow; `phases` are those of the roofline, if any."""
        followers = ["Roofline"] * bool(phases) + ["Sweep"] * bool(self.plan.sweeps)
        followers += ["Sensitivity"] * bool(self.plan.what_ifs)
        if not followers:
            return
        sheets, top = f"{', '.join(followers)} and the charts below", self.writer.at
        self.page.sheet.row_breaks.append(Break(id=top - 1))
        self.page.section(top, f"Shown on {sheets}")
        choices = [("Scenario", self.plan.scenarios[0].id, self.plan.columns.across("Inputs", layout.ID_ROW))]
        if len(phases) > 1:
            choices.append(("Phase", phases[0], f'"{",".join(phases)}"'))
        for at, (label, value, source) in enumerate(choices, start=top + 1):
            self.page.describe(at, (f"{label} shown", "text", f"shown_{label.lower()}"))
            self.page.put(at, layout.FORMULA, value, "plan_input_words", "@")
            if label == "Scenario":
                self.page.may_show[at, layout.FORMULA] = [each.id for each in self.plan.scenarios]
            told = (
                f"{sheets} follow this choice." if label == "Scenario" else "Roofline and its chart follow this choice."
            )
            told += f" {ONE_WORKLOAD[label]}" if self.plan.workloads.row is not None else ""
            self.page.choose(address(at, layout.FORMULA), source, label, told)
            self.selectors[label.lower()] = f"{NAME}!${column_letters(layout.FORMULA)}${at}"
        self.writer.at += len(choices) + 2

    def finish(
        self, charted: DashboardCharts, failed: Mapping[str, int], runs: own_runs.RunsTable | None
    ) -> FrontTexts:
        """Write what follows the choices: charts of the chosen scenario, and the verdict.

        Returns the texts that Cover repeats. `failed` has the rows in which Checks counts failed checks and missing
        numbers, and names one of the latter; `runs` is None without a Comparison.
        """
        writer = self.writer
        if runs is not None:
            own_runs.write(writer, self.made, runs)
        if self.selectors:
            chosen = self.selectors["scenario"].partition("!")[2]
            charted.parts = expected_parts.write(writer, self.inputs, self.made, chosen)
            writer.at = charted.draw(self.page, writer.at) + 1
        self.page.sheet.print_area = f"A1:{column_letters(self._reach())}{writer.at}"
        texts = write_words(writer, self.verdict, self.made)
        if texts.cost and any(each.cheapest for each in self.made):
            _tell_best(writer, self.verdict.at + BESIDE, texts.cost)
        writer.at += 1
        if runs is not None:
            own_runs.write_chart(writer, runs)
        self.verdict.write(self.made, failed, *write_failures(writer, self.made))
        return texts

    def _reach(self) -> int:
        """The last column of a printed page: the last scenario's, or the last one under the charts."""
        last = self.page.columns.last_filled
        pixels = sum(self.page.pixels(column) for column in range(1, last + 1))
        further = max(0, math.ceil((charts.ABREAST * (charts.WIDE + charts.GAP) - pixels) / PLAIN_COLUMN))
        return last + further


def write(earlier: Earlier, constraints: Constraints | None) -> Board:
    """Write the sheet up to its choices, with room for the verdict."""
    plan, inputs = earlier.plan, earlier.inputs
    page = Page(earlier.book, NAME, "Dashboard", PURPOSE)
    header_rows(page, plan, ("From", "Note and source"))
    _front(page, plan)
    ordered = _in_order(earlier)
    shown = [row for sheet in ordered for row in rows_shown(sheet.template)]
    units = Units(page, layout.HARDWARE_ROW + 1, inputs, shown)
    writer = LineWriter(page, plan, units, constraints, _used(plan), units.rows.stop)
    writer.close(units.rows)
    _call_up(writer, inputs, CHIPS, "of the plan")
    writer.meant = writer.at if WORKLOAD in inputs.input_rows else 0
    _call_up(writer, inputs, WORKLOAD, "what the scenario is meant for")
    verdict = Verdict(writer, writer.at)
    writer.at = verdict.rows.stop
    made: list[Lines] = []
    for sheet in ordered:
        lines = writer.write(sheet)
        made.append(lines)
        write_changes(writer, lines)
        write_basis(writer, lines)
        dashboard_charts.write_costs(writer, lines)
        _mark_best(writer, lines, verdict.at + FAILED)
        if sheet.template.name not in writer.used:
            writer.close(range(lines.first + 1, writer.at))
    writer.at += 1
    dashboard_charts.draw(writer, made, verdict)
    return Board(page, plan, inputs, writer, made, verdict)


def _front(page: Page, plan: BuildPlan) -> None:
    """Arrange what stays visible: line labels and scenario names; ids, names and sources are closed groups."""
    page.widths(*WIDTHS, each=EACH)
    for column in CLOSED:
        group = page.sheet.column_dimensions[column_letters(column)]
        group.outlineLevel, group.hidden = 1, True
    said = (layout.MODEL_ROW, layout.HARDWARE_ROW)  # redundant if the name is model and chip
    for row in (layout.ID_ROW, *(said if not any(scenario.is_named for scenario in plan.scenarios) else ())):
        page.group_row(row)
    for row in layout.HEADERS:
        page.put(row, layout.UNIT, "text", "plan_text", UNSEEN)
    page.corner = address(layout.TITLE_ROW + 1, layout.UNIT)
    page.master_at = layout.FORMULA


def _call_up(writer: LineWriter, inputs: Inputs, name: str, note: str) -> None:
    """Write a line for an input without which the numbers below say little, if there is one."""
    page, at, row = writer.page, writer.at, writer.plan.inputs.get(name)
    if row is None:
        return
    page.describe(at, (row.label, row.said_in, name, inputs_sheet.NAME, note))
    page.leads(at, inputs_sheet.NAME, inputs.input_rows[name])
    if row.unit == "text":
        page.put(at, layout.UNIT, row.unit, "plan_text", UNSEEN)
    page.across(at, inputs.here(name), "plan_cross", row_format(row))
    writer.at += 1


def _in_order(earlier: Earlier) -> list[CalculationSheet]:
    """The sheets in display order: the first scenario's workload, other workloads, and what these include."""
    plan = earlier.plan
    workloads = {template.name for template in plan.workloads.templates}

    def place(sheet: CalculationSheet) -> tuple[bool, bool]:
        return sheet.template.name != plan.leading, sheet.template.name not in workloads

    return sorted(earlier.sheets.values(), key=place)


def _used(plan: BuildPlan) -> set[str]:
    """The templates whose lines are open: the workloads that a scenario is meant for, else all."""
    workloads = [template.name for template in plan.workloads.templates]
    if plan.workloads.row is None:
        return set(workloads) or {template.name for template in plan.templates}
    scenarios = (*plan.scenarios, *plan.coming)
    meant = {str(scenario.values.get(WORKLOAD, ALL_WORKLOADS)) for scenario in scenarios}
    return set(workloads) if ALL_WORKLOADS in meant else meant & set(workloads)


def _mark_best(writer: LineWriter, each: Lines, n_failed: int) -> None:
    """Write the working that finds the cheapest scenario; a workload without a cost has none.

    `n_failed` is the row that counts failed checks.
    """
    asked_for = problem(headline_template(each.sheet.template))
    if not each.cost or not each.fits or not asked_for:
        return
    sheet, over = each.sheet, writer.page.columns.over  # its text column counts as 0 if the range is a direct argument
    key, passes, cost, cheaper, best, least, why, mark = range(writer.at, writer.at + 8)
    asked = "&".join(f'" "&{sheet.here(name)}' for name in asked_for if name in sheet.template.by_name)
    same = f"{over(key)}={HERE}{key}"
    times = f'FIXED({HERE}{cost}/{HERE}{least},2)&"x the cheapest\'s cost"'
    told = f'IFERROR(IF({HERE}{each.fits}=0,"{FAILS}","{NO_COST}"),"{UNTOLD}")'
    lines = (
        ("what is asked for", "text", "",
         writer.guarded(sheet, f'IFERROR({HERE}{layout.MODEL_ROW}&{asked},"")', '""')),
        ("passes", "1", "passes",
         f"IFERROR(IF(AND({HERE}{each.fits}=1,{HERE}{n_failed}=0,{HERE}{each.cost}>0),1,0),0)"),
        ("cost of what passes", "1", "compared", f"IF({HERE}{passes}=1,{HERE}{each.cost},0)"),
        ("that pass and are cheaper", "1", "cheaper",
         f"SUMPRODUCT(({same})*({over(cost)}<{HERE}{cost}),{over(passes)})"),
        ("is the cheapest that passes", "1", "best", f"IF({HERE}{passes}=1,IF({HERE}{cheaper}=0,1,0),0)"),
        ("cost of the cheapest that passes", "1", "least",
         f"IFERROR(SUMPRODUCT(({same})*1,{over(best)},{over(cost)})/SUMPRODUCT(({same})*1,{over(best)}),0)"),
        ("why it can't be compared", "text", "apart",
         f'IF({HERE}{passes}=1,"",IF({HERE}{n_failed}>0,"{FAILS}",{told}))'),
        ("beside the others", "text", "beside",
         f'IF(SUMPRODUCT(({same})*1)<2,"",IF({HERE}{passes}=0,{HERE}{why},IF({HERE}{best}=1,"{BEST}",{times})))'),
    )  # fmt: skip
    for label, unit, name, formula in lines:
        is_text = unit == "text"
        named = f"{each.template}.{name}" if name else ""
        said = (f"{sheet.page.name}: {label}", unit, named, "", "of one problem")
        writer.add(said, formula, "plan_words" if is_text else "plan_formula", number_format(unit))
    each.cheapest = mark


def _tell_best(writer: LineWriter, marks: int, cost: int) -> None:
    """Name the best scenario at the top, or say that several are marked; the text of each scenario is a closed line.

    `cost` is the row of its cost as text, `marks` that of the marks.
    """
    page, columns = writer.page, writer.page.columns
    texts, places = columns.over(writer.at), columns.over(marks)
    told = f'IF({HERE}{marks}="{BEST}","{BEST}: "&{HERE}{layout.TITLE_ROW}&", "&{HERE}{cost},"")'
    writer.add(("Told at the top", "text", "told.best", "", "if it is the only one"), told)
    only = f'IFERROR(INDEX({texts},1,MATCH("{BEST}",{places},0)),"")'
    best = f'IF(COUNTIF({places},"{BEST}")>1,"{BEST}: {SEVERAL}",{only})'
    page.put(1, layout.FIRST_SCENARIO, Live(best), "plan_text", "@")
    first = address(marks, layout.FIRST_SCENARIO)
    page.colour(columns.area(marks, marks), f'{first}="{BEST}"', ink=GREEN, fill=PALE_GREEN, bold=True)

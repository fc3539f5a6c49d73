"""The chosen scenario's values: rows at the top of Operations, Sweep and Sensitivity, which their tables read.

In a workbook that trains and serves they say for each workload whether the scenario is meant for it. What isn't is
calculated, as on Dashboard: it is pale, its heading says why, and no chart draws it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.book.formulas_in_names import overridable
from planner.formulas import thresholds
from planner.formulas.sweeps import Sweep
from planner.formulas.template import Row, Template
from planner.workbook import display_units, inputs_sheet
from planner.workbook.build_plan import BuildPlan
from planner.workbook.calculation import CalculationSheet, Earlier
from planner.workbook.cell_styles import PALE_GREY, row_format
from planner.workbook.inputs_sheet import Inputs
from planner.workbook.page import Live, Page
from planner.workbook.workloads import WORKLOAD
from planner.xlsx.address import column_letters

VALUE = 4  # the column of the values
ALWAYS = "1"  # the factor of chart data in a workbook without a choice of workloads
NOT_MEANT = "not meant for it"
STYLES = {1: "plan_label", VALUE + 1: "plan_beside"}


class ChosenBlock:
    """Rows from `first_row` on with label, unit, name, value and formula in names; first the chosen scenario's id."""

    def __init__(self, page: Page, plan: BuildPlan, first_row: int) -> None:
        self.page, self.plan = page, plan
        self.last = first_row - 1
        self.id, self.workload = "", ""  # the cells of the scenario's id and, where there is a choice, of its workload
        self.name_at: dict[str, str] = {}  # by cell, the name of its row
        self._meant: dict[str, str] = {}
        page.header(["Quantity", "Unit", "Name", "Value", "Formula in names"])

    def put(self, name: str, label: str, unit: str, form: str, formula: str, names: str, style: str) -> str:
        """Write a row with a live formula and its formula in names. Returns the value's cell, `$D$5`."""
        self.last += 1
        for column, text in ((1, label), (2, unit), (3, name), (VALUE + 1, names)):
            self.page.put(self.last, column, text, STYLES.get(column, "plan_text"))
        self.page.put(self.last, VALUE, Live(formula), style, form)
        cell = f"${column_letters(VALUE)}${self.last}"
        self.name_at[cell] = name
        return cell

    def put_id(self, selector: str) -> str:
        """Write the id of the scenario chosen by the cell `selector` of Dashboard."""
        names, style = "Dashboard[scenario]", "plan_cross_words"
        self.id = self.put("chosen_scenario", "Scenario", "text", "@", selector, names, style)
        self.page.may_show[self.last, VALUE] = [each.id for each in self.plan.scenarios]
        return self.id

    def put_workload(self, inputs: Inputs) -> None:
        """Write the workload that the scenario is meant for; nothing in a workbook without a choice of workloads."""
        if self.plan.workloads.row is None or WORKLOAD not in inputs.input_rows:
            return
        typed = inputs.of_scenario(WORKLOAD, self.id)
        self.workload = self.put(f"chosen_{WORKLOAD}", "Its workload", "text", "@", typed, "", "plan_cross_words")

    def put_meant(self, inputs: Inputs, templates: Sequence[Template]) -> None:
        """Write the scenario's workload, and for each template that is one whether it is meant for it: 1, else N/A.

        Nothing is written in a workbook without a choice of workloads.
        """
        needed = [template for template in templates if template in self.plan.workloads.templates]
        if needed:
            self.put_workload(inputs)
        for template in needed if self.workload else ():
            formula = self.plan.workloads.guarded([template], self.workload, "1", "NA()")
            label = f"{template.name.capitalize()}: the scenario is meant for it (1), or isn't (N/A)"
            names = self.plan.workloads.guarded([template], f"chosen_{WORKLOAD}", "1", "NA()")
            name = f"{template.name}.meant"
            self._meant[template.name] = self.put(name, label, "1", "General", formula, names, "plan_formula")

    def meant(self, template: Template) -> str:
        """The cell that is 1, or N/A if the scenario isn't meant for a workload; 1 where there is no choice."""
        return self._meant.get(template.name, ALWAYS).removeprefix("$")

    def set_back(self, template: Template, row: int, column: int, area: str) -> None:
        """Make an area pale if the scenario isn't meant for a workload, and say so in the heading at `row`.

        Nothing is done where there is no choice.
        """
        if template.name in self._meant:
            said = f'"{NOT_MEANT}: "&{self.id}&" is for "&{self.workload}'
            told = self.plan.workloads.guarded([template], self.workload, '""', said)
            self.page.put(row, column, Live(told), "plan_section", "@")
            self.page.colour(area, f'${column_letters(column)}${row}<>""', ink=PALE_GREY)

    def look_up(self, name: str, label: str, row: Row, sheet: CalculationSheet, chosen: str) -> str:
        """Write the chosen scenario's value of a template's row, from the sheet that has the row."""
        home = sheet.home(row.name)
        formula = self.plan.columns.of_scenario(home.page.name, home.rows[row.name], chosen)
        return self.put(name, label, row.unit, row_format(row), formula, f"{home.page.name}[{row.name}]", "plan_cross")


class ChosenScenario(ChosenBlock):
    """The chosen scenario's values that Sweep's tables read; `places` has the cell of each, by template and name."""

    FIRST_ROW = 4

    def __init__(
        self, page: Page, earlier: Earlier, selector: str, sweeps: Sequence[tuple[Sweep, CalculationSheet]]
    ) -> None:
        super().__init__(page, earlier.plan, self.FIRST_ROW)
        self.inputs = earlier.inputs
        self.places: dict[tuple[str, str], str] = {}
        self.put_id(selector)
        self.put_meant(self.inputs, [sweep.template for sweep, _ in sweeps])
        for sweep, sheet in sweeps:
            self._look_up(sweep, sheet)
        self._look_up_constants(sweep.rows[name] for sweep, _ in sweeps for name in sweep.shown)
        page.close_rows(range(self.FIRST_ROW + 1, self.last + 1))  # all but the scenario's id

    def _look_up_constants(self, shown: Iterable[Row]) -> None:
        """A row for each threshold that the tables read and each display unit in use, read from Inputs."""
        for row in (*thresholds.used_on("sweep"), *display_units.needed(shown)):
            formula, names = self.inputs.constant(row.name), f"Inputs[{row.name}]"
            self.places["", row.name] = self.put(
                row.name, row.label, row.unit, row_format(row), formula, names, "plan_cross"
            )

    def constant(self, name: str) -> str:
        """The cell of a threshold or a unit, in a formula that is copied downward."""
        return self.places["", name].removeprefix("$")

    def over(self, row: Row) -> str:
        """The divisor that converts a row's number to its display unit: `/$D$60`, or blank."""
        return "".join(f"/{self.constant(each.name)}" for each in display_units.needed([row]))

    def _look_up(self, sweep: Sweep, sheet: CalculationSheet) -> None:
        """Write a row for each quantity of the template that the sweep's tables read or compare with."""
        for name in self.names(sweep):
            row, template = sweep.rows[name], sweep.template.name
            label = f"{sheet.page.name}: {row.label}"
            self.places[template, name] = self.look_up(f"{template}.{name}", label, row, sheet, self.id)

    @staticmethod
    def names(sweep: Sweep) -> list[str]:
        """The template's rows that a sweep's tables take from the scenario; checks that no axis changes come last.

        These are rows that the tables read and don't calculate, and those drawn for the scenario itself.
        """
        own = set(sweep.used) - sweep.template.by_name.keys()
        needed = {name for row in own for name in sweep.reads(row)} | {axis.row.name for axis in sweep.axes}
        needed |= set(sweep.used)
        for axis in sweep.axes:
            moved = sweep.depends(axis)
            needed |= {name for row in {*moved, *sweep.bounds} for name in sweep.reads(row)} - moved
            needed |= set(sweep.checks) - moved
        needed -= set(sweep.fixed_checks)
        return [*(name for name in sweep.template.by_name if name in needed), *sweep.fixed_checks]

    def __call__(self, sweep: Sweep, name: str) -> str:
        """The cell of a value, in a formula that is copied downward."""
        return self.places[sweep.template.name, name].removeprefix("$")

    def fixed_checks(self, sweep: Sweep, column: int) -> str:
        """The range of the checks that no axis of a sweep changes, in a column of the block; blank for none."""
        rows = [self(sweep, name).partition("$")[2] for name in sweep.fixed_checks]
        letters = column_letters(column)
        return f"${letters}${rows[0]}:${letters}${rows[-1]}" if rows else ""

    def overridden(self, name: str, formula: str) -> str:
        """A formula that the scenario's override replaces, if the workbook has a cell for one."""
        if name not in self.inputs.override_rows:
            return formula
        typed = self.plan.columns.of_scenario(inputs_sheet.NAME, self.inputs.override_rows[name], self.id)
        return overridable(typed, formula)

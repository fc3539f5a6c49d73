"""The chosen scenario's values above the tables of Sweep: what an axis doesn't change is read from here."""

from __future__ import annotations

from planner.formulas.sweeps import Sweep
from planner.workbook import inputs as inputs_sheet
from planner.workbook import layout
from planner.workbook.calculation import Calculation
from planner.workbook.cells import overridable
from planner.workbook.inputs import Inputs
from planner.workbook.page import Live, Page
from planner.workbook.plan import Plan
from planner.workbook.styles import number_format, row_format
from planner.xlsx.address import column_letters

VALUE, FIRST_ROW = 4, 4  # the column of the values, and the row of the first


class ChosenScenario:
    """The chosen scenario's values, one row each: from its column on the sheet that has the quantity."""

    def __init__(self, page: Page, plan: Plan, inputs: Inputs, selector: str) -> None:
        self.page, self.plan, self.inputs = page, plan, inputs
        self.places: dict[tuple[str, str], str] = {}
        page.header(["Quantity", "Unit", "Name", "Value", "Formula in names"])
        self.last = FIRST_ROW - 1
        ids = plan.columns.across(inputs_sheet.NAME, layout.ID_ROW)
        self.chosen = self._put("chosen_scenario", "Scenario", ("text", "@"), selector, "Dashboard[scenario]")
        self.index = self._put("scenario_index", "Column of the scenario", ("1", number_format("1")),
                               f"MATCH({self.chosen},{ids},0)", "MATCH(chosen_scenario, scenario_id, 0)")  # fmt: skip

    def look_up(self, sweep: Sweep, sheet: Calculation) -> None:
        """A row for each quantity of the template that the sweep's tables read or compare with."""
        for name in self.names(sweep):
            row, home = sweep.rows[name], sheet.home(name)
            across = self.plan.columns.across(home.page.name, home.rows[name])
            place = self._put(
                f"{sweep.template.name}.{name}", f"{sheet.page.name}: {row.label}", (row.unit, row_format(row)),
                f"INDEX({across},{self.index})", f"{home.page.name}[{name}]",
            )  # fmt: skip
            self.places[sweep.template.name, name] = place

    @staticmethod
    def names(sweep: Sweep) -> list[str]:
        """The template's rows that a sweep's tables need of the scenario."""
        moved = {name for axis in sweep.axes for name in sweep.depends(axis)}
        calculated = {*moved, *sweep.bounds, *(set(sweep.used) - sweep.template.by_name.keys())}
        read = {name for row in calculated for name in sweep.reads(row)} | set(sweep.used) | moved
        read |= {axis.row.name for axis in sweep.axes}
        return [name for name in sweep.template.by_name if name in read]

    def __call__(self, sweep: Sweep, name: str) -> str:
        """The cell of a value."""
        return self.places[sweep.template.name, name]

    def overridden(self, name: str, formula: str) -> str:
        """A formula that gives way to the scenario's override, where the workbook has a cell for one."""
        if name not in self.inputs.override_rows:
            return formula
        typed = self.plan.columns.across(inputs_sheet.NAME, self.inputs.override_rows[name])
        return overridable(f"INDEX({typed},{self.index})", formula)

    def close(self) -> None:
        """Group the rows of the block below the scenario's own, closed."""
        for row in range(FIRST_ROW + 2, self.last + 1):
            group = self.page.sheet.row_dimensions[row]
            group.outlineLevel, group.hidden = 1, True
        self.page.sheet.row_dimensions[self.last + 1].collapsed = True

    def _put(self, name: str, label: str, unit: tuple[str, str], formula: str, names: str) -> str:
        self.last += 1
        for column, value in ((1, label), (2, unit[0]), (3, name), (VALUE + 1, names)):
            self.page.put(
                self.last, column, value, {1: "plan_label", VALUE + 1: "plan_beside"}.get(column, "plan_text")
            )
        self.page.put(self.last, VALUE, Live(formula), "plan_cross", unit[1])
        return f"${column_letters(VALUE)}${self.last}"

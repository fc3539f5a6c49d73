"""The Operations sheet: the working of the Roofline, a table of cases for each operation template."""

from __future__ import annotations

from dataclasses import dataclass

from openpyxl.workbook import Workbook

from planner.formulas.explanation import in_names
from planner.formulas.layer_ops import PHASES, LayerOps, Operation
from planner.formulas.template import Row
from planner.workbook import inputs as inputs_sheet
from planner.workbook import layout
from planner.workbook.calculation import Calculation
from planner.workbook.cases import CaseTable, Leaf
from planner.workbook.cells import Databases
from planner.workbook.inputs import Inputs
from planner.workbook.page import Live, Page
from planner.workbook.plan import Plan
from planner.workbook.styles import number_format, row_format
from planner.xlsx.address import address, column_letters

NAME = "Operations"
PURPOSE = "The working behind Roofline: one row for each operation of the scenario chosen on Dashboard."
VALUE = 4  # the column of the step's quantities
FIRST_STEP_ROW = 5


@dataclass(frozen=True)
class Operations:
    """Where each operation's quantities stand."""

    page: Page
    ops: LayerOps
    tables: dict[str, CaseTable]
    rows: dict[str, int]
    counts: dict[str, str]

    def of(self, operation: Operation, name: str) -> str | None:
        """A reference to an operation's quantity; None where its template hasn't it."""
        columns = self.tables[operation.template.name].columns
        return f"{NAME}!{address(self.rows[operation.row.name], columns[name])}" if name in columns else None


def write(
    book: Workbook, plan: Plan, ops: LayerOps, step: Calculation, inputs: Inputs, databases: Databases,
    selectors: dict[str, str],
) -> Operations:  # fmt: skip
    """Write the sheet. `selectors` are the cells of the chosen `scenario` and `phase`."""
    page = Page(book, NAME, "Operations", PURPOSE, corner="B4", titles="3:3")
    page.header(["Quantity", "Unit", "Name", "Value", "Formula in names"])
    page.put(layout.HEADER_ROW, VALUE, "Value", "plan_header_right")
    names = _Step(page, plan, ops, step, databases, selectors)
    at = names.last + 3
    tables: dict[str, CaseTable] = {}
    rows: dict[str, int] = {}
    counts: dict[str, str] = {}
    for template in ops.templates:
        page.section(at, f"{template.name.capitalize()}: the operations of a step", 3)
        table = CaseTable(
            page, [template], at + 2, 4, inputs.constant, databases, lambda _: names.places["hardware_row"]
        )
        for column, title in enumerate(("Operation", "Times", "Name"), start=1):
            page.put(at + 2, column, title, "plan_header")
        table.header()
        page.sheet.row_dimensions[at + 1].height = 42
        at += 3
        for operation in ops.operations:
            if operation.template is template or operation.template.name == template.name:
                page.put(at, 1, operation.row.label, "plan_label")
                page.put(at, 2, Live(operation.count.substitute(names)), "plan_formula", number_format("1"))
                page.put(at, 3, operation.row.name, "plan_beside")
                table.case(at, template.name, _leaf(operation, names))
                rows[operation.row.name], counts[operation.row.name] = at, f"{NAME}!{address(at, 2)}"
                at += 1
        tables[template.name] = table
        at += 1
    page.sheet.print_area = f"A1:L{at - 1}"  # the operations and their shapes; the rest is for the screen
    page.widths(34, 12, 24, 22, *[20] * 40)
    return Operations(page, ops, tables, rows, counts)


def _leaf(operation: Operation, names: _Step) -> Leaf:
    def leaf(row: Row, at: int) -> tuple[object, str]:  # noqa: ARG001 (a Leaf)
        if row.name in operation.bindings:
            return Live(operation.bindings[row.name].substitute(names)), "plan_formula"
        if row.name in names.step.template.by_name or row.name in names.places:
            return Live(names(row.name)), "plan_cross"
        if row.kind != "input":
            return None, ""
        value = f'"{row.default}"' if row.unit == "text" else f"{row.default:g}"
        return Live(value), "plan_formula"

    return leaf


class _Step:
    """The chosen step: its own quantities on this sheet, the scenario's others looked up in its column."""

    def __init__(
        self, page: Page, plan: Plan, ops: LayerOps, step: Calculation, databases: Databases, selectors: dict[str, str]
    ) -> None:  # fmt: skip
        self.page, self.plan, self.step = page, plan, step
        self.places: dict[str, str] = {}
        ids = plan.columns.across(inputs_sheet.NAME, layout.ID_ROW)
        chips = plan.columns.across(inputs_sheet.NAME, layout.HARDWARE_ROW)
        text, one = ("text", "@"), ("1", number_format("1"))
        self.last = FIRST_STEP_ROW - 1
        self._put("chosen_scenario", "Scenario", text, selectors["scenario"], "Dashboard[scenario]")
        self._put("phase", "Phase", text, selectors["phase"], f"Dashboard[phase]: {' or '.join(PHASES)}")
        self._put("scenario_index", "Column of the scenario", one, f"MATCH({self.places['chosen_scenario']},{ids},0)",
                  "MATCH(chosen_scenario, scenario_id, 0)")  # fmt: skip
        chip = f"INDEX({chips},{self.places['scenario_index']})"
        self._put("hardware_row", "Row of Hardware", one, f"MATCH({chip},{databases['hardware'].ids},0)",
                  "MATCH(hardware_id, hardware, 0)")  # fmt: skip
        for row in ops.steps:
            formula = row.expression.substitute(self)
            self._put(row.name, row.label, (row.unit, row_format(row)), formula, in_names(row))

    def __call__(self, name: str) -> str:
        if name in self.places:
            return self.places[name]
        home = self.step.home(name)
        across = self.plan.columns.across(home.page.name, home.rows[name])
        return f"INDEX({across},{self.places['scenario_index']})"

    def _put(self, name: str, label: str, unit: tuple[str, str], formula: str, names: str) -> None:
        self.last += 1
        page, at = self.page, self.last
        for column, value in ((1, label), (2, unit[0]), (3, name), (VALUE + 1, names)):
            page.put(at, column, value, {1: "plan_label", VALUE + 1: "plan_beside"}.get(column, "plan_text"))
        page.put(
            at,
            VALUE,
            Live(formula),
            "plan_cross" if formula.startswith("Dashboard!") else "plan_formula",
            unit[1],
        )
        self.places[name] = f"${column_letters(VALUE)}${at}"

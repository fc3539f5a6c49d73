"""The Operations sheet: the working of the Roofline, a table of cases for each operation template."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.errors import UserError
from planner.formulas.evaluation import evaluate
from planner.formulas.explanation import in_names
from planner.formulas.layer_ops import PHASES, LayerOperation, LayerOps
from planner.formulas.template import CALCULATED, Row, Template
from planner.workbook import inputs_sheet, layout
from planner.workbook.build_plan import BuildPlan
from planner.workbook.calculation import CalculationSheet, Earlier
from planner.workbook.case_table import CaseColumns, Leaf
from planner.workbook.cell_styles import COUNT, number_format, row_format
from planner.workbook.chosen_scenario import VALUE, ChosenBlock
from planner.workbook.page import Live, Page
from planner.xlsx.address import address

NAME = "Operations"
PURPOSE = "The working behind Roofline: one row for each operation of the scenario chosen on Dashboard."
FIRST_STEP_ROW = 5
PLACED = ("phase", "hardware_row")  # rows of the block that aren't a template's


@dataclass(frozen=True)
class Operations:
    """The cells of each operation's quantities."""

    page: Page
    ops: LayerOps
    tables: dict[str, CaseColumns]
    rows: dict[str, int]
    counts: dict[str, str]
    told: str  # the cell that says that the scenario isn't meant for the step's workload; blank without a choice

    def of(self, operation: LayerOperation, name: str) -> str | None:
        """A reference to an operation's quantity; None if its template lacks it."""
        columns = self.tables[operation.template.name].columns
        return f"{NAME}!{address(self.rows[operation.row.name], columns[name])}" if name in columns else None


def write(earlier: Earlier, ops: LayerOps, step: CalculationSheet, selectors: dict[str, str]) -> Operations:
    """Write the sheet. `selectors` are the cells of the chosen `scenario` and `phase`."""
    page = Page(earlier.book, NAME, "Operations", PURPOSE, corner="B4", titles="3:3")
    names = _Step(page, earlier, ops, step, selectors)
    chip = names.places["hardware_row"]
    at = names.last + 3
    tables: dict[str, CaseColumns] = {}
    rows: dict[str, int] = {}
    counts: dict[str, str] = {}
    for template in ops.templates:
        page.section(at, f"{template.name.capitalize()}: the operations of a step", 3)
        table = CaseColumns(page, earlier, [template], at + 2, 4, lambda _: chip)
        page.header(("Operation", "Times", "Name"), at + 2)
        table.header()
        page.rows[at + 1].height = 42
        at += 3
        for operation in ops.operations:
            if operation.template.name == template.name:
                page.put(at, 1, operation.row.label, "plan_label")
                page.put(at, 2, Live(operation.count.substitute(names)), "plan_formula", number_format("1"))
                page.put(at, 3, operation.row.name, "plan_beside")
                table.case(at, template, _leaf(operation, names), _form(operation, ops))
                rows[operation.row.name], counts[operation.row.name] = at, f"{NAME}!{address(at, 2)}"
                at += 1
        tables[template.name] = table
        at += 1
    page.sheet.print_area = f"A1:L{at - 1}"  # only the operations and their shapes are printed
    page.widths(34, 12, 24, 22, *[20] * 40)
    return Operations(page, ops, tables, rows, counts, names.told and f"{NAME}!{names.told}")


def _leaf(operation: LayerOperation, names: _Step) -> Leaf:
    def leaf(row: Row) -> tuple[object, str]:
        if row.name in operation.bindings:
            return Live(operation.bindings[row.name].substitute(names)), "plan_formula"
        if row.name in names.places:
            return Live(names(row.name)), "plan_cross"
        if row.kind != "input":
            return None, ""
        value = f'"{row.default}"' if row.unit == "text" else f"{row.default:g}"
        return Live(value), "plan_formula"

    return leaf


def _form(operation: LayerOperation, ops: LayerOps) -> Callable[[Row], str]:
    """A function for an operation cell's number format: a count has that of the step's row, perhaps fractional."""
    steps = {row.name: row for row in ops.steps}

    def form(row: Row) -> str:
        own, bound = row_format(row), operation.bindings.get(row.name)
        return row_format(steps.get(bound.text, row)) if bound and own == COUNT else own

    return form


def unused(plan: BuildPlan, ops: LayerOps, step: Template) -> set[str]:
    """The names of the operations that no scenario's model performs, such as experts if all models are dense.

    All count as performed if a scenario has no model or chip, or an unknown one.
    """
    done: set[str] = set()
    counted = step.reduced(name for operation in ops.operations for name in operation.count.names)
    for model, hardware in {(each.model, each.hardware) for each in plan.scenarios}:
        if not model or not hardware:
            return set()
        try:
            found = evaluate(counted, plan.facts(counted, model, hardware))
        except UserError:
            return set()
        for operation in ops.operations:
            counts = [found.number(name) for name in operation.count.names]
            if any(count != 0 for count in counts) or not counts:
                done.add(operation.row.name)
    return {operation.row.name for operation in ops.operations} - done


class _Step(ChosenBlock):
    """The chosen step: its own quantities on this sheet, the scenario's others looked up in its column.

    `places` has the cell of each quantity of the block, by name. Called with a name, it returns the reference.
    """

    def __init__(
        self, page: Page, earlier: Earlier, ops: LayerOps, step: CalculationSheet, selectors: dict[str, str]
    ) -> None:
        super().__init__(page, earlier.plan, FIRST_STEP_ROW)
        page.put(layout.HEADER_ROW, VALUE, "Value", "plan_header_right")
        self.step = step
        self.places: dict[str, str] = {"chosen_scenario": self.put_id(selectors["scenario"])}
        phases = f"Dashboard[phase]: {' or '.join(PHASES)}"
        self.places["phase"] = self.put("phase", "Phase", "text", "@", selectors["phase"], phases, "plan_cross")
        self.put_meant(earlier.inputs, [step.template])
        told = self.set_back_as(step.template)
        label = f"Why {step.template.name} isn't drawn"
        self.told = told and self.put("set_back", label, "text", "@", told, "", "plan_formula_text")
        chosen = self.places["chosen_scenario"]
        chip = self.plan.columns.of_scenario(inputs_sheet.NAME, layout.HARDWARE_ROW, chosen)
        matched = f"MATCH({chip},{earlier.databases['hardware'].ids},0)"
        names = "MATCH(hardware_id, hardware, 0)"
        self.places["hardware_row"] = self.put(
            "hardware_row", "Row of Hardware", "1", number_format("1"), matched, names, "plan_formula"
        )
        for name in _called_up(ops, step):
            row = step.template.row(name)
            self.places[name] = self.look_up(name, row.label, row, step, chosen)
        for row in ops.steps:
            formula, names = row.expression.substitute(self), in_names(row)
            form = row_format(row)
            self.places[row.name] = self.put(row.name, row.label, row.unit, form, formula, names, "plan_formula")
        page.close_rows(range(FIRST_STEP_ROW + 2, self.last + 1))

    def __call__(self, name: str) -> str:
        return self.places[name]


def _called_up(ops: LayerOps, step: CalculationSheet) -> list[str]:
    """The rows of the step's template that its operations read, in its order."""
    read = {name for row in ops.steps for name in row.reads}
    for operation in ops.operations:
        read.update(operation.count.names, *(formula.names for formula in operation.bindings.values()))
        read.update(row.name for row in operation.template.rows if row.kind not in (*CALCULATED, "constant"))
    return [row.name for row in step.template.rows if row.name in read and row.name not in PLACED]

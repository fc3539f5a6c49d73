"""The Operations sheet: the working of the Roofline, a table of cases for each operation template."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from planner.errors import UserError
from planner.formulas.evaluation import evaluate, number_of
from planner.formulas.layer_ops import PHASES, LayerOperation, LayerOps, Step
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
    phase: str  # the cell of the phase in use

    def of(self, operation: LayerOperation, name: str) -> str | None:
        """A reference to an operation's quantity; None if its template lacks it."""
        columns = self.tables[operation.template.name].columns
        return f"{NAME}!{address(self.rows[operation.row.name], columns[name])}" if name in columns else None


def write(earlier: Earlier, ops: LayerOps, selectors: dict[str, str]) -> Operations:
    """Write the sheet. `selectors` are the cells of the chosen `scenario` and, if there is a choice, `phase`."""
    page = Page(earlier.book, NAME, "Operations", PURPOSE, corner="B4", titles="3:3")
    names = _ChosenStep(page, earlier, ops, selectors)
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
    return Operations(page, ops, tables, rows, counts, f"{NAME}!{names.places['phase']}")


def _leaf(operation: LayerOperation, names: _ChosenStep) -> Leaf:
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
    steps = {row.name: row for row in (*ops.common, *ops.shared)}

    def form(row: Row) -> str:
        own, bound = row_format(row), operation.bindings.get(row.name)
        return row_format(steps.get(bound.text, row)) if bound and own == COUNT else own

    return form


def unused(plan: BuildPlan, ops: LayerOps) -> set[str]:
    """The names of the operations that no scenario's model performs, such as experts if all models are dense.

    All count as performed if a scenario has no model or chip, or an unknown one.
    """
    done: set[str] = set()
    step = next(template for template in plan.templates if template.name == ops.steps[0].template)
    counted = step.reduced(name for each in ops.operations for name in each.count.names if name in step.by_name)
    for model, hardware in {(each.model, each.hardware) for each in plan.scenarios}:
        if not model or not hardware:
            return set()
        try:
            found = evaluate(counted, plan.facts(counted, model, hardware))
        except UserError:
            return set()
        for operation in ops.operations:
            runs = {name: 1.0 for name in operation.count.names if name not in step.by_name}
            known = {name: float(found[name]) for name in operation.count.names if name not in runs}
            if number_of(operation.count.root, known | runs) != 0:
                done.add(operation.row.name)
    return {operation.row.name for operation in ops.operations} - done


class _ChosenStep(ChosenBlock):
    """The chosen step: its own quantities on this sheet, the scenario's others looked up in its column.

    `places` has the cell of each quantity of the block, by name. Called with a name, it returns the reference. Of
    several steps each has its rows, named after its template, and what both have is that of the chosen phase.
    """

    def __init__(self, page: Page, earlier: Earlier, ops: LayerOps, selectors: dict[str, str]) -> None:
        super().__init__(page, earlier.plan, FIRST_STEP_ROW)
        page.put(layout.HEADER_ROW, VALUE, "Value", "plan_header_right")
        self.ops = ops
        self.places: dict[str, str] = {"chosen_scenario": self.put_id(selectors["scenario"])}
        self.put_workload(earlier.inputs)
        self.places["phase"] = self._put_phase(selectors.get("phase"))
        opened = self.last
        chip = self.plan.columns.of_scenario(inputs_sheet.NAME, layout.HARDWARE_ROW, self.id)
        matched = f"MATCH({chip},{earlier.databases['hardware'].ids},0)"
        names = "MATCH(hardware_id, hardware, 0)"
        self.places["hardware_row"] = self.put(
            "hardware_row", "Row of Hardware", "1", number_format("1"), matched, names, "plan_formula"
        )
        sheets = [earlier.sheets[step.template] for step in ops.steps]
        for row in _called_up(ops, sheets[0].template):
            self.places[row.name] = self.look_up(row.name, row.label, row, sheets[0], self.id)
        of_steps = [self._put_step(step, sheet, sheets[0]) for step, sheet in zip(ops.steps, sheets, strict=True)]
        for row in ops.common:
            self.places[row.name] = self._chosen(row, [places[row.name] for places in of_steps])
        for row in ops.shared:
            self.places[row.name] = self._calculate(row, row.name, row.label, self.places)
        page.close_rows(range(opened + 1, self.last + 1))

    def __call__(self, name: str) -> str:
        return self.places[name]

    def _put_phase(self, selector: str | None) -> str:
        """Write the phase: what Dashboard's cell selects; of a scenario meant for one workload only what that has."""
        phases = self.ops.phases
        if selector is None:
            return self.put("phase", "Phase", "text", "@", f'"{phases[0]}"', f'"{phases[0]}"', "plan_formula_text")
        formula, names = selector, f"Dashboard[phase]: {' or '.join(phases)}"
        if self.workload and len(self.ops.steps) > 1:
            serving, training = self.ops.steps
            (trained,), (served, *_) = PHASES[training.of], PHASES[serving.of]
            is_other = f'AND({self.workload}="{serving.template}",{selector}="{trained}")'
            formula = f'IF({self.workload}="{training.template}","{trained}",IF({is_other},"{served}",{selector}))'
            names = ""  # a formula in names has no texts to choose from
        return self.put("phase", "Phase", "text", "@", formula, names, "plan_cross_words")

    def _put_step(self, step: Step, sheet: CalculationSheet, first: CalculationSheet) -> dict[str, str]:
        """Write a step's rows, and what they alone look up; returns the cells of what they read and are, by name."""
        several = len(self.ops.steps) > 1
        prefix, title = (f"{step.of}_", f"{step.of.capitalize()}: ") if several else ("", "")
        read, places = {name for row in step.rows for name in row.reads}, {"phase": self.places["phase"]}
        for row in sheet.template.rows:
            if row.name in self.places and row.name in read and sheet.home(row.name) is first.home(row.name):
                places[row.name] = self.places[row.name]
            elif row.name in read:
                places[row.name] = self.look_up(prefix + row.name, title + row.label, row, sheet, self.id)
        for row in step.rows:
            places[row.name] = self._calculate(row, prefix + row.name, title + row.label, places)
        return places

    def _chosen(self, row: Row, cells: Sequence[str]) -> str:
        """Write a quantity as the chosen phase's step has it; returns its cell, that of an only step."""
        if len(cells) == 1:
            return cells[0]
        serving, training = self.ops.steps
        (trained,) = PHASES[training.of]
        formula, names = (
            f'IF({phase}="{trained}",{of_training},{of_serving})'
            for phase, of_serving, of_training in (
                (self.places["phase"], *cells),
                ("phase", f"{serving.of}_{row.name}", f"{training.of}_{row.name}"),
            )
        )
        return self.put(row.name, row.label, row.unit, row_format(row), formula, names, "plan_formula")

    def _calculate(self, row: Row, name: str, label: str, places: Mapping[str, str]) -> str:
        formula = row.expression.substitute(places)
        names = row.expression.substitute(lambda read: self.name_at[places[read]])
        return self.put(name, label, row.unit, row_format(row), formula, names, "plan_formula")


def _called_up(ops: LayerOps, step: Template) -> list[Row]:
    """The rows of a step's template that the operations and what all steps share read, in its order."""
    read = {name for row in ops.shared for name in row.reads}
    for operation in ops.operations:
        read.update(operation.count.names, *(formula.names for formula in operation.bindings.values()))
        free = (row for row in operation.template.rows if row.name not in operation.bindings)
        read.update(row.name for row in free if row.kind not in (*CALCULATED, "constant"))
    return [row for row in step.rows if row.name in read and row.name not in PLACED]

"""The operations of a layer and the head as data: templates/layer_ops.csv, over the rows of a step template."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner import data
from planner.errors import Place, UserError, nearest
from planner.formulas import library
from planner.formulas.include import Scope, bound_inputs, parse_include
from planner.formulas.template import Row, Template, checked, row_of
from planner.formulas.text import Formula, FormulaError, parse
from planner.formulas.units import ONE, unit_of

COLUMNS = ("name", "label", "unit", "kind", "formula", "count", "source", "note")
PHASES = ("decode", "prefill")


@dataclass(frozen=True)
class LayerOperation:
    """One operation: its template with inputs bound to a step's names, and its count per step.

    Bytes that the template looks up by a dtype may be bound too: experts have bits of their own, which no dtype names.
    """

    row: Row
    template: Template
    bindings: Mapping[str, Formula]
    count: Formula


@dataclass(frozen=True)
class LayerOps:
    """The name of the step's template, the quantities of the chosen step in order, and the operations."""

    step: str
    steps: tuple[Row, ...]
    operations: tuple[LayerOperation, ...]

    @property
    def templates(self) -> list[Template]:
        """The templates of the operations, without repetition."""
        return list({operation.template.name: operation.template for operation in self.operations}.values())


def load(step: Template) -> LayerOps:
    """The operations over the names of `step` (the inference template), and `phase`, one of PHASES.

    Raises UserError with file and line for an unknown name, template or input, or mismatched units.
    """
    sheet = data.table("layer_ops", COLUMNS)
    path = sheet.path
    scope = Scope()
    for row in step.rows:
        scope.add(row)
    scope.add(Row("phase", "Phase", "text", "input", PHASES[0], template=path.stem, place=Place(path)))
    steps: list[Row] = []
    operations: list[LayerOperation] = []
    for line, cells in sheet.records():
        count = cells.pop("count").strip()
        row = row_of(cells, Place(path, line), path.stem)
        if row.kind == "calc":
            scope.add(checked(row, scope.units, {}))
            steps.append(row)
        elif row.kind == "operation":
            operations.append(_operation(row, count, scope))
        else:
            raise row.fault(f"unknown kind {row.kind!r}", "write calc or operation")
    return LayerOps(step.name, tuple(steps), tuple(operations))


def _operation(row: Row, count: str, scope: Scope) -> LayerOperation:
    name, bindings = parse_include(row, scope)
    template = library.load(name)
    looked_up = {each.name for each in template.of_kind("dtype")}
    inputs = bound_inputs(row, template, {name: bindings[name] for name in bindings if name not in looked_up})
    for bound, formula in bindings.items():
        _check_unit(row, formula, scope, template.row(bound).unit, bound)
    for free in inputs.values():
        known = free.name in bindings or free.name in scope.rows or free.default in (0.0, 1.0)
        if not (known or free.unit == "text"):
            raise row.fault(f"{free.name} of {name} is not bound", "bind it")
    try:
        times = parse(count)
    except FormulaError as error:
        raise row.fault(f"count: {error.what}", error.remedy) from None
    for used in times.names:
        if used not in scope.rows:
            raise row.fault(f"count: unknown name {used}", nearest(used, scope.rows))
    _check_unit(row, times, scope, "1", "count")
    return LayerOperation(row, template, bindings, times)


def _check_unit(row: Row, formula: Formula, scope: Scope, wanted: str, what: str) -> None:
    try:
        unit = unit_of(formula, scope.units)
    except FormulaError as error:
        raise row.fault(f"{what}: {error.what}", error.remedy) from None
    if unit is not None and str(unit) != wanted and not (wanted == "1" and unit == ONE):
        raise UserError(f"{row.name}: {what} is {wanted}, but {formula.text} is {unit}", place=row.place)

"""The operations of a layer and the head as data: templates/layer_ops.csv, over the rows of a template with a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from planner import data
from planner.errors import Place, UserError, nearest
from planner.formulas import library
from planner.formulas.include import Scope, bound_inputs, parse_include
from planner.formulas.template import Row, Template, checked, row_of
from planner.formulas.text import Formula, FormulaError, parse
from planner.formulas.units import ONE, unit_of

COLUMNS = ("template", "name", "label", "unit", "kind", "formula", "count", "source", "note")
PHASES: Mapping[str, tuple[str, ...]] = {"inference": ("decode", "prefill"), "training": ("training",)}
"""The phases of a plan whose step's operations are laid out, by the template that plans them."""


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
class Step:
    """A step: one of PHASES' templates, the name of the workbook's template that has its rows, and its quantities."""

    of: str
    template: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class LayerOps:
    """The operations, and the quantities that they read: each step's own, then those `shared` by all, in order."""

    steps: tuple[Step, ...]
    shared: tuple[Row, ...]
    operations: tuple[LayerOperation, ...]

    @property
    def templates(self) -> list[Template]:
        """The templates of the operations, without repetition."""
        return list({operation.template.name: operation.template for operation in self.operations}.values())

    @property
    def phases(self) -> list[str]:
        """The phases of its steps."""
        return [phase for step in self.steps for phase in PHASES[step.of]]

    @property
    def common(self) -> list[Row]:
        """The quantities that each step has: what else is here may read them."""
        names = [{row.name for row in step.rows} for step in self.steps]
        return [row for row in self.steps[0].rows if all(row.name in each for each in names)]


def load(templates: Mapping[str, Template]) -> LayerOps:
    """The operations of steps; `templates` has for each of PHASES' templates that, or one with all of its rows.

    They are over the template's names and `phase`. Raises UserError with file and line for an unknown name, template or
    input, or mismatched units.
    """
    found = [_loaded(name, template) for name, template in templates.items()]
    return replace(found[0], steps=tuple(step for each in found for step in each.steps))


def _loaded(name: str, step: Template) -> LayerOps:
    """The operations of one template's step."""
    sheet = data.table("layer_ops", COLUMNS)
    path = sheet.path
    scope = Scope()
    for row in step.rows:
        scope.add(row)
    scope.add(Row("phase", "Phase", "text", "input", PHASES[name][0], template=path.stem, place=Place(path)))
    own: list[Row] = []
    shared: list[Row] = []
    operations: list[LayerOperation] = []
    for line, cells in sheet.records():
        count, of = cells.pop("count").strip(), cells.pop("template").strip()
        row = row_of(cells, Place(path, line), path.stem)
        if of not in ("", *PHASES):
            raise row.fault(f"unknown template {of!r}", f"write {' or '.join(PHASES)}, or none for a row of all")
        if row.kind == "calc" and of in ("", name):
            scope.add(checked(row, scope.units, {}))
            (own if of else shared).append(row)
        elif row.kind == "operation":
            operations.append(_operation(row, count, scope))
        elif row.kind != "calc":
            raise row.fault(f"unknown kind {row.kind!r}", "write calc or operation")
    return LayerOps((Step(name, step.name, tuple(own)),), tuple(shared), tuple(operations))


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

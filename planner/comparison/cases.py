"""The cases that a workbook's Comparison starts with: templates/comparison.csv."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner import csvfile, data, library
from planner.catalog import Value
from planner.errors import Place, UserError, nearest
from planner.evaluate import Facts, Results, evaluate
from planner.formula import Formula, Number, Text
from planner.include import Scope, parse_include
from planner.template import Row, Template

COLUMNS = ("label", "operation", "source")


@dataclass(frozen=True)
class ComparisonCase:
    """A case to predict and to measure: a template with every input typed."""

    label: str
    template: Template
    inputs: Mapping[str, Value]
    source: str

    @property
    def key(self) -> str:
        """What tells the case from every other, in a workbook and in measurements.csv."""
        from measure.keys import case_key

        return case_key(self.template.name, self.inputs)


def load() -> list[ComparisonCase]:
    """The shipped cases. Raises UserError with file and line for a case that its template can't take."""
    path = data.folder("templates") / "comparison.csv"
    sheet = csvfile.read(path, required=COLUMNS, known=COLUMNS)
    return [_case(cells, Place(path, line)) for line, cells in sheet.records()]


def _case(cells: Mapping[str, str], place: Place) -> ComparisonCase:
    row = Row("operation", cells["label"], "", "include", cells["operation"], place=place)
    name, bindings = parse_include(row, Scope())
    template = library.load(name)
    known = {inner.name: inner for inner in template.of_kind("input")}
    for bound in bindings:
        if bound not in known:
            raise row.fault(f"{name} has no input {bound}", nearest(bound, known))
    typed = {bound: _literal(row, formula) for bound, formula in bindings.items()}
    inputs = {inner: typed.get(inner, known[inner].default) for inner in known}
    return ComparisonCase(cells["label"], template, inputs, cells["source"])


def _literal(row: Row, formula: Formula) -> Value:
    match formula.root:
        case Number(value=value):
            return value
        case Text(value=text):
            return text
    raise row.fault(f"{formula.text} is no number or text")


def predicted(template: str, inputs: Mapping[str, Value], facts: Facts) -> Results:
    """A case's prediction, for a row whose formulas nobody has copied down.

    Raises UserError for an unknown template or input.
    """
    loaded = library.load(template)
    unknown = [name for name in inputs if name not in loaded.by_name]
    if unknown:
        raise UserError(f"{template} has no input {unknown[0]!r}", remedy=nearest(unknown[0], loaded.by_name))
    return evaluate(loaded, facts, inputs)

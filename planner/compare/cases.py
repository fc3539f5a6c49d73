"""The cases that a workbook's Comparison starts with: templates/comparison.csv."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

from planner import catalog, csvfile, data
from planner.catalog import Value
from planner.errors import Place, nearest
from planner.formulas import library
from planner.formulas.include import Scope, parse_include
from planner.formulas.template import Row, Template
from planner.formulas.text import Formula, Number, Text

COLUMNS = ("label", "suite", "on", "model", "operation", "source")
SUITES = ("quick", "full")  # the full one has the quick one's cases too


@dataclass(frozen=True)
class ComparisonCase:
    """A case to predict and to measure: a template with every input typed."""

    label: str
    template: Template
    inputs: Mapping[str, Value]
    source: str
    on: str = ""  # cpu or accelerator: the other is too slow, or too fast, for its size

    @property
    def key(self) -> str:
        """What tells the case from every other, in a workbook and in measurements.csv."""
        from planner.measure.keys import case_key

        return case_key(self.template.name, self.inputs)


def load(suite: str = "quick", template: str = "") -> list[ComparisonCase]:
    """The shipped cases of a suite, or those of one template; the quick one's are what a workbook starts with.

    Raises UserError with file and line for a case that its template can't take.
    """
    path = data.folder("templates") / "comparison.csv"
    sheet = csvfile.read(path, required=COLUMNS, known=COLUMNS)
    meant = SUITES[: SUITES.index(suite) + 1]
    begin = f"{template}(" if template else ""
    with library.one_reading():
        return [
            _case(cells, Place(path, line)) for line, cells in sheet.records()
            if cells["suite"] in meant and cells["operation"].strip().startswith(begin)
        ]  # fmt: skip


def _case(cells: Mapping[str, str], place: Place) -> ComparisonCase:
    row = Row("operation", cells["label"], "", "include", cells["operation"], place=place)
    name, bindings = parse_include(row, Scope())
    template = library.load(name)
    known = {inner.name: inner for inner in template.of_kind("input")}
    for bound in bindings:
        if bound not in known:
            raise row.fault(f"{name} has no input {bound}", nearest(bound, known))
    typed = _of_model(cells["model"], known) | {bound: _literal(row, formula) for bound, formula in bindings.items()}
    inputs = {inner: typed.get(inner, known[inner].default) for inner in known}
    return ComparisonCase(cells["label"], template, inputs, cells["source"], cells["on"])


def _of_model(model: str, inputs: Container[str]) -> dict[str, Value]:
    """The dimensions of a model of the CSV that are inputs of a template by the same name."""
    if not model:
        return {}
    row = catalog.load_models().row(model)
    return {name: value for name, value in row.items() if name in inputs}


def _literal(row: Row, formula: Formula) -> Value:
    match formula.root:
        case Number(value=value):
            return value
        case Text(value=text):
            return text
    raise row.fault(f"{formula.text} is no number or text")

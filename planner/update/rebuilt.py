"""Recovers the plan of an edited workbook, so that it can be built again from the present templates and databases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from planner.book.tables import HEADER
from planner.book.workbook import Book
from planner.catalog import Value
from planner.catalog.databases import Databases
from planner.compare import comparison_sheet as comparison
from planner.compare.comparison_cases import ComparisonCase
from planner.errors import Place, UserError
from planner.formulas import library
from planner.formulas.sweeps import sweeps
from planner.formulas.template import Template
from planner.workbook.build_plan import OVERRIDABLE, WORKLOAD, BuildPlan, BuildScenario, workloads
from planner.workbook.scenarios import completed, operations_of
from planner.workbook.template_rows import included_first
from planner.workbook.workloads import in_order


def plan_of(book: Book, extra: Sequence[str], databases: Databases, more: Sequence[str] = ()) -> BuildPlan:
    """The plan: the templates of its sheets and `more` of them, its scenarios, the cases of its Comparison.

    Of what is typed on Inputs it has the numbers, about which sweeps are built, and something for each calculated row
    with a cell to override it, so that it has one again.
    Raises UserError for a sheet whose template is not known, a template without a sheet, and as loading templates and
    databases does.
    """
    mine = {Path(name).stem if name.endswith(".csv") else name: name for name in extra}
    file, wanted = book.package.name, list(dict.fromkeys(book.templates.values()))
    for name in wanted:
        if name not in mine and name not in library.names():
            sheet = next(sheet for sheet, template in book.templates.items() if template == name)
            what = f"the sheet {sheet} is of an unknown template {name!r}"
            raise UserError(what, place=Place(file), remedy=f"name its file: --template {name}.csv")
    if spare := next((name for name in mine if name not in wanted), ""):
        has, remedy = ", ".join(wanted) or "none", "leave it out, or give the file the name of one of them"
        what = f"{file} has no sheet of a template {spare!r}; it has {has}"
        raise UserError(what, place=Place(mine[spare]), remedy=remedy)
    old = [library.load(mine.get(name, name)) for name in wanted]
    loaded = included_first(
        old if not more else [library.load(mine.get(name, name)) for name in in_order(wanted, more)]
    )
    scenarios = _scenarios(book, loaded)
    if more:
        alone = workloads(old, sweeps(old)).templates
        meant = {WORKLOAD: alone[0].name} if len(alone) == 1 else {}
        scenarios = completed(loaded, [replace(each, values=meant | dict(each.values)) for each in scenarios])
    found = _comparison(book)
    runs_at = found.runs_title_row if found else 0
    return BuildPlan(
        loaded, scenarios, databases, operations_of(loaded), _cases(found), runs_at=runs_at, also_meant=more
    )


def _scenarios(book: Book, templates: Sequence[Template]) -> list[BuildScenario]:
    inputs = book.inputs
    rows = {row.name: row for template in templates for row in template.rows}
    lines = {**inputs.section("Plan"), **inputs.section("Overrides")}
    overridden: dict[str, Value] = {}
    for name in inputs.section("Overrides"):
        row = rows.get(name)
        if row is not None and row.kind not in (*OVERRIDABLE, "input", "constant"):
            overridden[row.name] = "none" if row.unit == "text" else 1.0
    at = {name: line.row for name, line in lines.items() if name in rows and rows[name].kind == "input"}
    made: list[BuildScenario] = []
    for column in inputs.columns:
        own, model, chip = (book.said(HEADER[at], column) for at in (0, 2, 3))
        name = book.given_name(column)
        found = ((key, inputs.sheet.value(row, column)) for key, row in at.items())
        numbers: dict[str, Value] = {key: value for key, value in found if isinstance(value, float)}
        if meant := book.said(WORKLOAD, column):
            numbers[WORKLOAD] = meant  # whose headlines come first
        shown, values = name or book.model_on_chip(column), {**overridden, **numbers}
        made.append(BuildScenario(own, shown, model or None, chip or None, values, is_named=bool(name)))
    return made


def _comparison(book: Book) -> comparison.ComparisonSheet | None:
    try:
        return comparison.find(book.package, book.parsed)
    except UserError:
        return None


def _cases(found: comparison.ComparisonSheet | None) -> list[ComparisonCase]:
    """The rows of the Comparison whose template is known; a case that lacks an input has it at its default."""
    cases: list[ComparisonCase] = []
    for row in found.rows if found else ():
        if row.template is not None:
            held = {name: value for name, value in row.inputs.items() if value is not None}
            inputs = {known.name: held.get(known.name, known.default) for known in row.template.of_kind("input")}
            cases.append(ComparisonCase(row.text("case_label"), row.template, inputs, row.text("source")))
    return cases

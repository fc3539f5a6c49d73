"""The plan of an edited workbook, so that it can be built anew from today's templates and databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from planner import catalog
from planner.book.plan import Plan as Reading
from planner.catalog import Value
from planner.compare import comparison_sheet as comparison
from planner.compare.comparison_cases import ComparisonCase
from planner.errors import Place, UserError
from planner.formulas import layer_ops, library
from planner.formulas.template import Row, Template
from planner.workbook.plan import OVERRIDABLE, Plan, Scenario
from planner.workbook.scenarios import STEP
from planner.workbook.sharing import included_first


def plan_of(reading: Reading, extra: Sequence[str], models_csv: Path | None, hardware_csv: Path | None) -> Plan:
    """The plan: the templates of its sheets, its scenarios, the cases of its Comparison.

    Of what is typed on Inputs it has the numbers, about which sweeps are built, and something for each calculated row
    with a cell to override it, so that it has one again.
    Raises UserError for a sheet whose template is not known, a template without a sheet, and as loading templates and
    databases does.
    """
    mine = {Path(name).stem if name.endswith(".csv") else name: name for name in extra}
    wanted = list(dict.fromkeys(reading.book.templates.values()))
    for name in wanted:
        if name not in mine and name not in library.names():
            sheet = next(sheet for sheet, template in reading.book.templates.items() if template == name)
            what = f"the sheet {sheet} is of a template {name!r} that is not ours"
            raise UserError(what, place=Place(reading.file), remedy=f"name its file: --template {name}.csv")
    if spare := next((name for name in mine if name not in wanted), ""):
        has, remedy = ", ".join(wanted), "leave it out, or give the file the name of one of them"
        what = f"{reading.file} has no sheet of a template {spare!r}; it has {has}"
        raise UserError(what, place=Place(mine[spare]), remedy=remedy)
    loaded = included_first([library.load(mine.get(name, name)) for name in wanted])
    step_rows = library.load(STEP).by_name.keys()
    step = next((template for template in loaded if step_rows <= template.by_name.keys()), None)
    tables = catalog.load_models(models_csv), catalog.load_hardware(hardware_csv)
    scenarios = _scenarios(reading, loaded)
    operations = layer_ops.load(step) if step else None
    return Plan(loaded, scenarios, *tables, catalog.load_dtypes(), operations, _cases(reading))


def _scenarios(reading: Reading, templates: Sequence[Template]) -> list[Scenario]:
    rows = {row.name: row for template in templates for row in template.rows}
    overridden: dict[str, Value] = {}
    for quantity in reading.overrides:
        row = rows.get(quantity.name)
        if row is not None and row.kind not in (*OVERRIDABLE, "input", "constant"):
            overridden[row.name] = "none" if row.unit == "text" else 1.0
    made: list[Scenario] = []
    for scenario in reading.scenarios:
        default = " on ".join(part for part in (scenario.model, scenario.hardware) if part)
        made.append(
            Scenario(
                scenario.id, scenario.name, scenario.model or None, scenario.hardware or None,
                {**overridden, **_numbers(reading, scenario.key, rows)},
                is_named=scenario.name not in ("", default),
            )
        )  # fmt: skip
    return made


def _numbers(reading: Reading, scenario: str, rows: Mapping[str, Row]) -> dict[str, Value]:
    """The numbers typed for the inputs of a scenario that today's templates have."""
    found = ((line.name, line.value(scenario)) for line in reading.inputs if line.name in rows)
    return {name: value for name, value in found if rows[name].kind == "input" and isinstance(value, float)}


def _cases(reading: Reading) -> list[ComparisonCase]:
    """The rows of the Comparison whose template is known; a case that lacks an input has it at its default."""
    try:
        found = comparison.find(reading.book.package, reading.book.parsed)
    except UserError:
        return []
    cases: list[ComparisonCase] = []
    for row in found.rows:
        if row.template is not None:
            inputs = {known.name: row.inputs.get(known.name) for known in row.template.of_kind("input")}
            cases.append(ComparisonCase(row.text("case_label"), row.template, inputs, row.text("source")))
    return cases

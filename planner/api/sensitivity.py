"""`planner.sensitivity`: what an output of a plan, or of each scenario of a workbook, depends on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from planner import progress
from planner.api import tornado
from planner.api.calc import File, Setting, files_of, plan_of, texts
from planner.api.calculation import Plan
from planner.api.warned import warned
from planner.catalog import Value
from planner.errors import Place, UserError
from planner.formulas.input_values import values
from planner.formulas.sensitivity import Sensitivity, default_row
from planner.formulas.sensitivity import sensitivity as elasticities

if TYPE_CHECKING:
    from pandas import DataFrame

OWN = "a workbook has its own models, chips and values"


@warned
def sensitivity(
    template: str | Path, /, *, of: str = "", model: str | None = None, hardware: str | None = None,
    models_csv: File = None, hardware_csv: File = None, calibrations_csv: File = None, only: bool = False,
    **settings: Setting,
) -> DataFrame:  # fmt: skip
    """The elasticities of a row, by default the first headline, with respect to every input, largest first.

    For a plan as in `planner.calc`, or, given the path of a workbook, for each of its scenarios; the table then has a
    column `scenario`. `less` and `more` are the values that were tried; `elasticity_less` and `elasticity_more` are the
    percent by which the row changes for each percent. `attrs["left_out"]` lists what has no elasticity, with reasons.
    Raises UserError for the same reasons as `planner.calc` and `planner.read`.
    """
    if str(template).lower().endswith(".xlsx"):
        if model or hardware or settings:
            raise UserError(OWN, remedy="change them in the workbook, or name a template")
        return _frame(of_scenarios(Path(template), of))
    plan = plan_of(template, model, hardware, files_of(models_csv, hardware_csv, calibrations_csv, only=only))
    return _frame({"": of_plan(plan, values(plan.template, texts(settings)), of)})


def of_plan(plan: Plan, given: Mapping[str, Value], name: str) -> Sensitivity:
    """The sensitivity of a row of a plan with these values typed. Raises UserError as calculating it does."""
    plan.warn_of_untaken(given)
    plan.calculated(given)  # it refuses values that can't be beside others
    return elasticities(plan.template, plan.facts, given, name or default_row(plan.template))


def of_scenarios(path: Path, name: str) -> dict[str, Sensitivity]:
    """The sensitivity of each scenario of a workbook, by its id. Raises UserError where none can be told."""
    from planner.book.reading import read_plan
    from planner.report.expectation import planned
    from planner.report.figures import CellFigures
    from planner.report.sensitivities import sensitivities

    told: dict[str, Sensitivity] = {}
    for each in sensitivities(planned(CellFigures(read_plan(path))), name):
        if each.found is None:
            progress.warn(
                f"{each.scenario.key}: its sheet is not what the template {each.template} says, so nothing is told"
            )
        else:
            told[each.scenario.key if each.scenario.key not in told else f"{each.scenario.key}, {each.template}"] = (
                each.found
            )
    if not told:
        what = f"no scenario has a number in the row {name!r}" if name else "no scenario has elasticities"
        raise UserError(what, place=Place(path), remedy="planner check says what was edited")
    return told


def _frame(told: Mapping[str, Sensitivity]) -> DataFrame:
    import pandas

    rows = [{"scenario": scenario} | record for scenario, found in told.items() for record in tornado.records(found)]
    frame = pandas.DataFrame(rows, columns=["scenario", *tornado.RECORD])
    frame = frame.drop(columns="scenario") if "" in told else frame
    frame.attrs["units"] = dict(zip(frame["name"], frame["unit"], strict=True))
    frame.attrs["of"] = {scenario: (found.row.name, found.value, found.row.unit) for scenario, found in told.items()}
    frame.attrs["left_out"] = {scenario: dict(found.left_out) for scenario, found in told.items()}
    if "" in told:
        frame.attrs |= {name: frame.attrs[name][""] for name in ("of", "left_out")}
    return frame.set_index("name")

"""`planner.sensitivity`: the elasticities of an output of a plan, or of each scenario of a workbook.

They are formatted as a table with a tornado chart of text, as an object for JSON, and as records for a CSV.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner import csvfile, progress, terminal_table
from planner.api import warned
from planner.api.calc import File, PreparedPlan, Setting, own_tables, plan_of, texts
from planner.catalog import Value
from planner.errors import Place, UserError
from planner.formulas.elasticities import Elasticity, Sensitivity, Tried, default_row
from planner.formulas.elasticities import sensitivity as elasticities
from planner.formulas.input_values import values
from planner.formulas.synonyms import row_called
from planner.number_text import few, printed

if TYPE_CHECKING:
    from pandas import DataFrame

OWN = "a workbook has its own models, chips and values"
WIDTH = 10  # characters of a bar on each side
LESS, MORE, AXIS = "░", "█", "│"
BEYOND = {1: "►", -1: "◄"}  # end of a truncated bar
RECORD = ("name", "label", "kind", "unit", "value", "less", "more", "elasticity_less", "elasticity_more", "note")


@warned
def sensitivity(
    template: str | Path,
    /,
    *,
    of: str = "",
    model: str | None = None,
    hardware: str | None = None,
    models_csv: File = None,
    hardware_csv: File = None,
    calibrations_csv: File = None,
    only: bool = False,
    **settings: Setting,
) -> DataFrame:
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
    plan = plan_of(template, model, hardware, own_tables(models_csv, hardware_csv, calibrations_csv, only=only))
    return _frame({"": of_plan(plan, values(plan.template, texts(settings)), of)})


def of_plan(plan: PreparedPlan, given: Mapping[str, Value], name: str) -> Sensitivity:
    """The sensitivity of a row of a plan with these typed values. Raises UserError as calculating it does."""
    plan.warn_of_untaken(given)
    plan.calculated(given)  # refuses contradictory values
    wanted = row_called(name, plan.template.by_name) if name else default_row(plan.template)
    return elasticities(plan.template, plan.facts, given, wanted)


def of_scenarios(path: Path, name: str) -> dict[str, Sensitivity]:
    """The sensitivity of each scenario of a workbook, by id. Raises UserError if none is known."""
    from planner.book.read_plan import read_plan
    from planner.report.expectation import planned
    from planner.report.figures import CellFigures
    from planner.report.sensitivities import sensitivities, sensitivities_of_parts

    by_scenario: dict[str, Sensitivity] = {}
    cells = CellFigures(read_plan(path))
    found = sensitivities(planned(cells), name) or sensitivities_of_parts(cells, name)
    faults = [each.fault for each in found if each.fault is not None]
    for each in found:
        if each.found is None:
            why = each.fault.what if each.fault else f"its sheet is not what the template {each.template} says"
            progress.warn(f"{each.scenario.key}: {why}, so nothing is told")
        else:
            by_scenario[
                each.scenario.key if each.scenario.key not in by_scenario else f"{each.scenario.key}, {each.template}"
            ] = each.found
    if faults and not by_scenario:
        asked = faults[0].remedy
        remedy = "type it on Inputs, or choose another row with --of" if "--set" in asked else asked
        raise UserError(faults[0].what, place=Place(path), remedy=remedy)
    if not found:
        what = f"no sheet of a shipped template has the row {name!r}" if name else "no sheet is of a shipped template"
        raise UserError(what, place=Place(path), remedy="planner find, and planner show, name rows")
    if not by_scenario:
        raise UserError("no scenario has elasticities", place=Place(path), remedy="planner check says what was edited")
    return by_scenario


def _frame(by_scenario: Mapping[str, Sensitivity]) -> DataFrame:
    import pandas

    frame = pandas.DataFrame(_records(by_scenario), columns=["scenario", *RECORD])
    frame = frame.drop(columns="scenario") if "" in by_scenario else frame
    frame.attrs["units"] = dict(zip(frame["name"], frame["unit"], strict=True))
    frame.attrs["of"] = {
        scenario: (found.row.name, found.value, found.row.unit) for scenario, found in by_scenario.items()
    }
    frame.attrs["left_out"] = {scenario: dict(found.left_out) for scenario, found in by_scenario.items()}
    if "" in by_scenario:
        frame.attrs |= {name: frame.attrs[name][""] for name in ("of", "left_out")}
    return frame.set_index("name")


def lines(found: Sensitivity, top: int = 0) -> list[str]:
    """The largest elasticities as a table with a bar for each side, and what is left out; a `top` of 0 shows all."""
    largest = found.elasticities[: top or None]
    value = printed(found.value, found.row.unit)
    said = [f"Elasticities of {found.row.name} ({found.row.label}), {value}: its % for each % of a quantity"]
    body = [
        [
            each.row.name,
            printed(each.value, each.row.unit),
            _slope(each.down),
            _slope(each.up),
            _bar(each, found.scale),
            each.note,
        ]
        for each in largest
    ]
    titles = ["", "now", "less", "more", f"{LESS} 1 % less  {MORE} 1 % more".center(2 * WIDTH + 1), ""]
    said += terminal_table.aligned(titles, body, right=("now", "less", "more")).splitlines()
    if len(largest) < len(found.elasticities):
        said.append(f"and {len(found.elasticities) - len(largest)} more: --top 0 tells all")
    if found.left_out:
        said += ["", "Left out", *(f"  {why}: {few(names)}" for why, names in found.left_out.items())]
    return said


def _slope(tried: Tried | None) -> str:
    if tried is None:
        return ""
    return "N/A" if tried.elasticity is None else f"{tried.elasticity:+.3f}"


def _bar(each: Elasticity, most: float) -> str:
    """The effects of more and less of a quantity as a bar on each side of an axis; more is drawn over less.

    A bar for the elasticity `most` has full length.
    """
    cells = [" "] * (2 * WIDTH + 1)
    for sign, tried, mark in ((-1, each.down, LESS), (1, each.up, MORE)):
        effect = sign * (tried.elasticity or 0.0) if tried is not None else 0.0
        length = round(min(WIDTH, WIDTH * abs(effect) / most))
        way = 1 if effect > 0 else -1
        for step in range(1, length + 1):
            cells[WIDTH + way * step] = mark
        if abs(effect) > most:
            cells[WIDTH + way * WIDTH] = BEYOND[way]
    cells[WIDTH] = AXIS
    return "".join(cells)


def as_object(found: Sensitivity) -> dict[str, Any]:
    """All of it as a JSON-compatible object, with raw numbers and None for N/A."""
    return {
        "name": found.row.name,
        "value": found.value,
        "unit": found.row.unit,
        "elasticities": [_object(each) for each in found.elasticities],
        "left_out": {why: list(names) for why, names in found.left_out.items()},
    }


def _object(each: Elasticity) -> dict[str, Any]:
    return _of(each) | {
        "value": each.value,
        "more": each.up and each.up._asdict(),
        "less": each.down and each.down._asdict(),
        "is_kink": each.is_kink,
        "note": each.note,
    }


def _of(each: Elasticity) -> dict[str, Any]:
    return {"name": each.row.name, "label": each.row.label, "kind": each.row.kind, "unit": each.row.unit}


def as_csv(by_scenario: Mapping[str, Sensitivity]) -> str:
    """The records of these scenarios as a CSV, without the scenario column for a template (whose id is blank)."""
    columns = [*([] if "" in by_scenario else ["scenario"]), *RECORD]
    return csvfile.written([columns, *([row[name] for name in columns] for row in _records(by_scenario))])


def _records(by_scenario: Mapping[str, Sensitivity]) -> Iterator[dict[str, Any]]:
    """The scenario and the RECORD fields of each elasticity: the values tried, and the elasticity on each side."""
    for scenario, found in by_scenario.items():
        for each in found.elasticities:
            yield _of(each) | {
                "scenario": scenario,
                "value": each.value,
                "less": each.down and each.down.at,
                "more": each.up and each.up.at,
                "elasticity_less": each.down and each.down.elasticity,
                "elasticity_more": each.up and each.up.elasticity,
                "note": each.note,
            }

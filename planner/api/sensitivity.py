"""`planner.sensitivity`: what an output of a plan, or of each scenario of a workbook, depends on.

It is told as a table with a tornado chart of text, as an object for JSON, and as records for a CSV.
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
from planner.spoken import few, printed

if TYPE_CHECKING:
    from pandas import DataFrame

OWN = "a workbook has its own models, chips and values"
WIDTH = 10  # characters of a bar on each side
LESS, MORE, AXIS = "░", "█", "│"
BEYOND = {1: "►", -1: "◄"}  # the end of a bar that is longer than there is room
RECORD = (
    "name", "label", "kind", "unit", "value", "less", "more", "elasticity_less", "elasticity_more", "note",
)  # fmt: skip


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
    plan = plan_of(template, model, hardware, own_tables(models_csv, hardware_csv, calibrations_csv, only=only))
    return _frame({"": of_plan(plan, values(plan.template, texts(settings)), of)})


def of_plan(plan: PreparedPlan, given: Mapping[str, Value], name: str) -> Sensitivity:
    """The sensitivity of a row of a plan with these values typed. Raises UserError as calculating it does."""
    plan.warn_of_untaken(given)
    plan.calculated(given)  # it refuses values that can't be beside others
    wanted = row_called(name, plan.template.by_name) if name else default_row(plan.template)
    return elasticities(plan.template, plan.facts, given, wanted)


def of_scenarios(path: Path, name: str) -> dict[str, Sensitivity]:
    """The sensitivity of each scenario of a workbook, by its id. Raises UserError where none can be told."""
    from planner.book.read_plan import read_plan
    from planner.report.expectation import planned
    from planner.report.figures import CellFigures
    from planner.report.sensitivities import sensitivities, sensitivities_of_parts

    told: dict[str, Sensitivity] = {}
    cells = CellFigures(read_plan(path))
    found = sensitivities(planned(cells), name) or sensitivities_of_parts(cells, name)
    faults = [each.fault for each in found if each.fault is not None]
    for each in found:
        if each.found is None:
            why = each.fault.what if each.fault else f"its sheet is not what the template {each.template} says"
            progress.warn(f"{each.scenario.key}: {why}, so nothing is told")
        else:
            told[each.scenario.key if each.scenario.key not in told else f"{each.scenario.key}, {each.template}"] = (
                each.found
            )
    if faults and not told:
        asked = faults[0].remedy
        remedy = "type it on Inputs, or choose another row with --of" if "--set" in asked else asked
        raise UserError(faults[0].what, place=Place(path), remedy=remedy)
    if not found:
        what = f"no sheet of a shipped template has the row {name!r}" if name else "no sheet is of a shipped template"
        raise UserError(what, place=Place(path), remedy="planner find, and planner show, name rows")
    if not told:
        raise UserError("no scenario has elasticities", place=Place(path), remedy="planner check says what was edited")
    return told


def _frame(told: Mapping[str, Sensitivity]) -> DataFrame:
    import pandas

    frame = pandas.DataFrame(_records(told), columns=["scenario", *RECORD])
    frame = frame.drop(columns="scenario") if "" in told else frame
    frame.attrs["units"] = dict(zip(frame["name"], frame["unit"], strict=True))
    frame.attrs["of"] = {scenario: (found.row.name, found.value, found.row.unit) for scenario, found in told.items()}
    frame.attrs["left_out"] = {scenario: dict(found.left_out) for scenario, found in told.items()}
    if "" in told:
        frame.attrs |= {name: frame.attrs[name][""] for name in ("of", "left_out")}
    return frame.set_index("name")


def lines(found: Sensitivity, top: int = 0) -> list[str]:
    """The largest elasticities as a table with a bar for each side, and what is left out; a `top` of 0 has them all."""
    told = found.elasticities[: top or None]
    value = printed(found.value, found.row.unit)
    said = [f"Elasticities of {found.row.name} ({found.row.label}), {value}: its % for each % of a quantity"]
    body = [
        [
            each.row.name, printed(each.value, each.row.unit), _slope(each.down), _slope(each.up),
            _bar(each, found.scale), each.note,
        ]
        for each in told
    ]  # fmt: skip
    titles = ["", "now", "less", "more", f"{LESS} 1 % less  {MORE} 1 % more".center(2 * WIDTH + 1), ""]
    said += terminal_table.aligned(titles, body, right=("now", "less", "more")).splitlines()
    if len(told) < len(found.elasticities):
        said.append(f"and {len(found.elasticities) - len(told)} more: --top 0 tells all")
    if found.left_out:
        said += ["", "Left out", *(f"  {why}: {few(names)}" for why, names in found.left_out.items())]
    return said


def _slope(tried: Tried | None) -> str:
    if tried is None:
        return ""
    return "N/A" if tried.elasticity is None else f"{tried.elasticity:+.3f}"


def _bar(each: Elasticity, most: float) -> str:
    """What more and less of a quantity do to the row, as a bar on each side of an axis; more is drawn over less.

    `most` is an elasticity whose bar is as long as there is room.
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
    """All of it for a program: numbers raw, None for N/A."""
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


def as_csv(told: Mapping[str, Sensitivity]) -> str:
    """The records of some scenarios as a CSV; one that has no name is a template's, which has no column for it."""
    columns = [*([] if "" in told else ["scenario"]), *RECORD]
    return csvfile.written([columns, *([row[name] for name in columns] for row in _records(told))])


def _records(told: Mapping[str, Sensitivity]) -> Iterator[dict[str, Any]]:
    """The scenario and RECORD of each elasticity: the values that were tried, and the elasticity of each side."""
    for scenario, found in told.items():
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

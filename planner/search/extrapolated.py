"""Which settings of a plan exceed those of every run that its calibration was fitted to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from planner.catalog import Value
from planner.catalog.databases import Databases
from planner.formulas.expected import BEYOND, chip_calibration
from planner.formulas.template import Template
from planner.search import layout_space
from planner.search.found import FoundPlan
from planner.search.request import Request
from planner.validation.runs import models_of, read, shipped

WATCHED = {
    "n_chips": "beyond_chips",
    "mesh_tensor": "beyond_tensor",
    "mesh_pipeline": "beyond_pipeline",
    "mesh_context": "beyond_context",
    "serve_pipeline": "",
    "serve_tensor": "",
    "prefill_chips": "",
}
"""Settings reported with their number, and the template row that says whether it is out of range."""


def extrapolated(asked: Request, plan: FoundPlan) -> str:
    """What exceeds every run to which calibrations are fitted, such as `mesh_pipeline 32 > 16`; blank for nothing."""
    if not (layout_space.is_training(asked.template) or layout_space.is_serving(asked.template)):
        return ""
    value = plan.results.value
    if value("calibration_id") != chip_calibration(value):
        most = _most_of_own(asked.template, value)
    else:
        name = "training" if layout_space.is_training(asked.template) else "inference"
        known = _most(name, str((plan.subject.facts.hardware or {}).get("topology")))
        most = {each: known.get(each, 1.0) for each in WATCHED if each in asked.template.by_name}
    beyond = [
        f"{each} {number:g} > {limit:g}"
        for each, limit in most.items()
        if isinstance(number := value(each), float) and number > limit
    ]
    others = BEYOND.keys() & asked.template.by_name.keys() - set(WATCHED.values())
    return ", ".join([*beyond, *(BEYOND[name] for name in BEYOND if name in others and value(name) == 1)])


def _most_of_own(template: Template, value: Callable[[str], Value]) -> dict[str, float]:
    """The largest values of watched inputs in the runs of the user's calibration, as far as it states them."""
    rows = {each: template.row(beyond) for each, beyond in WATCHED.items() if beyond in template.by_name}
    limits = {
        each: value(name)
        for each, row in rows.items()
        for name in row.reads
        if template.row(name).kind == "calibration"
    }
    return {each: max(1.0, limit) for each, limit in limits.items() if isinstance(limit, float)}


@cache
def _most(template: str, topology: str) -> Mapping[str, float]:
    """The largest value of each watched input in the fitted runs of a template on chips of a topology."""
    databases, most = Databases(), dict[str, float]()
    chips = databases.hardware.rows
    for run in read(shipped(), databases, models_of(databases), [template]):
        if not run.is_fitted or run.hardware not in chips or chips[run.hardware]["topology"] != topology:
            continue
        given = {name: value for name, value in run.values.items() if name in WATCHED and isinstance(value, float)}
        groups = given.get("serve_data", 1.0) * given.get("serve_pipeline", 1.0)
        given["serve_tensor"] = given.get("serve_tensor") or given.get("n_chips", 1.0) / groups  # 0: all others
        for name, value in given.items():
            most[name] = max(most.get(name, 1.0), value)
    return most

"""Marks plans outside the fit: those with more ways of some kind than any published run on such chips."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from planner import csvfile
from planner.catalog.databases import Databases
from planner.formulas.expected import BEYOND
from planner.formulas.input_values import parsed
from planner.search import sensible
from planner.search.optimum import Plan
from planner.search.request import Request
from planner.validation.runs import COLUMNS, shipped

WATCHED = {
    "n_chips": "beyond_chips", "mesh_tensor": "beyond_tensor", "mesh_pipeline": "beyond_pipeline",
    "mesh_context": "beyond_context", "serve_pipeline": "", "serve_tensor": "", "prefill_chips": "",
}  # fmt: skip
"""What is told with its number, and the template's row that says of it that it is beyond."""


def extrapolated(asked: Request, plan: Plan) -> str:
    """`mesh_pipeline 32 > 16`: what is more than in any run that calibrations are fitted to; blank where nothing is."""
    if not (sensible.is_training(asked.template) or sensible.is_serving(asked.template)):
        return ""
    name = "training" if sensible.is_training(asked.template) else "inference"
    most = _most(name, str((plan.subject.facts.hardware or {}).get("topology")))
    beyond = [
        f"{each} {value:g} > {most.get(each, 1.0):g}" for each in WATCHED
        if each in asked.template.by_name
        and isinstance(value := plan.results.value(each), float) and value > most.get(each, 1.0)
    ]  # fmt: skip
    others = BEYOND.keys() & asked.template.by_name.keys() - set(WATCHED.values())
    return ", ".join([*beyond, *(BEYOND[name] for name in BEYOND if name in others and plan.results.value(name) == 1)])


@cache
def _most(template: str, topology: str) -> Mapping[str, float]:
    """The largest value of each watched input in the fitted runs of a template on chips of a topology."""
    chips, most = Databases().hardware.rows, dict[str, float]()
    for _, cells in csvfile.read(shipped(), known=COLUMNS).records():
        is_alike = cells["template"] == template and cells["fit"] != "0" and cells["hardware"] in chips
        if not is_alike or chips[cells["hardware"]]["topology"] != topology:
            continue
        given = {name: float(text) for name, text in parsed(cells["settings"].split()).items() if name in WATCHED}
        groups = given.get("serve_data", 1.0) * given.get("serve_pipeline", 1.0)
        given["serve_tensor"] = given.get("serve_tensor") or given.get("n_chips", 1.0) / groups  # 0: all that are left
        for name, value in given.items():
            most[name] = max(most.get(name, 1.0), value)
    return most

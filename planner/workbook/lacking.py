"""What the scenarios of a new workbook lack, in words: models, chips, and numbers without which a headline is N/A."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from planner.catalog import Value
from planner.formulas.evaluation import Facts, evaluate
from planner.formulas.explanation import reasons
from planner.formulas.headlines import leaders
from planner.formulas.lookups import facts
from planner.formulas.sweeps import swept_templates
from planner.formulas.template import Template
from planner.number_text import few, within
from planner.workbook.build_plan import BuildPlan
from planner.workbook.workloads import ALL_WORKLOADS, WORKLOAD

MOST_NAMED = 6  # most scenarios named in a line


def without(plan: BuildPlan) -> Iterator[str]:
    """What scenarios lack that the templates look up, in words: `no chip: a, b`."""
    for kind, noun in (("model", "model"), ("hardware", "chip")):
        lacking = [scenario.id for scenario in plan.scenarios if not getattr(scenario, kind)]
        if lacking and any(template.of_kind(kind) for template in plan.templates):
            many = "s" if len(lacking) > 1 else ""
            yield f"no {noun} for the scenario{many} {few(lacking, MOST_NAMED)}"


def unanswered(plan: BuildPlan) -> Iterator[str]:
    """A line for each workload whose first headline is N/A, with what is missing.

    Only the first scenario of each model and chip is checked; those without a model or a chip are left to `without`.
    """
    seen = set[tuple[str, str, str]]()
    planned = [template for template in plan.templates if template.name in swept_templates()]
    for scenario, template in product(plan.scenarios, planned):
        model, chip, head = scenario.model, scenario.hardware, leaders().get(template.name)
        is_meant = scenario.values.get(WORKLOAD, ALL_WORKLOADS) in (template.name, ALL_WORKLOADS)
        if not (model and chip and head and is_meant) or (template.name, model, chip) in seen:
            continue
        seen.add((template.name, model, chip))
        counted = template.reduced([head])
        known = counted.by_name
        values = {name: value for name, value in scenario.values.items() if name in known and value is not None}
        yield from lacking(counted, head, scenario.id, facts(counted, model, chip, plan.databases), values)


def lacking(template: Template, head: str, called: str, known: Facts, values: Mapping[str, Value]) -> Iterator[str]:
    """A line if a scenario's headline is N/A, with what is missing for it."""
    for why in reasons(evaluate(template, known, values), [head]).values():
        yield f"the {within(template.row(head).label)} of {called} is N/A, and all that follows from it: {why}"

"""The rows of a calculation sheet that a plan doesn't use: those of a layout that no scenario has.

An input that every scenario leaves at its default counts as that number if the default is 0 or 1 (a layout without it),
or if it is in a closed section of Inputs; so does a 0 or 1 that all models share, such as the experts of dense models.
A row is then unused if it is the same number in every plan, if it repeats another row, or if nothing reads it any more,
such as the branch of an IF that is never taken.
"""

from __future__ import annotations

from collections.abc import Iterator

from planner.formulas.reached import node, reached
from planner.formulas.template import Template
from planner.formulas.text import Name, Number, Text
from planner.workbook.build_plan import BuildPlan
from planner.workbook.inputs_sheet import sections

NEUTRAL = (0, 1)


def unused(plan: BuildPlan, template: Template) -> set[str]:
    """The names of the rows on which no result of the template depends in this plan."""
    known: dict[str, Number | Text | Name] = {**dict(_at_default(plan)), **dict(_of_all_models(plan, template))}
    typed = {name for scenario in plan.scenarios for name in scenario.values}
    return {row.name for row in template.rows} - reached(template, known, typed)


def _at_default(plan: BuildPlan) -> Iterator[tuple[str, Number | Text]]:
    """The inputs that count as their defaults."""
    for section in sections(plan.inputs.values()):
        for row in section.rows:
            default = row.default
            counts = section.is_closed or default in NEUTRAL
            is_kept = all(scenario.values.get(row.name, default) == default for scenario in plan.scenarios)
            if default is not None and counts and is_kept:
                yield row.name, node(default)


def _of_all_models(plan: BuildPlan, template: Template) -> Iterator[tuple[str, Number]]:
    """The model numbers that are the same 0 or 1 for all scenarios, and not typed."""
    models = [plan.model(scenario) for scenario in plan.scenarios]
    for row in template.of_kind("model"):
        found = {model.get(row.column[0]) for model in models}
        value = found.pop() if len(found) == 1 else None
        if value in NEUTRAL and not any(row.name in scenario.values for scenario in plan.scenarios):
            yield row.name, Number(0, 0, float(value or 0))

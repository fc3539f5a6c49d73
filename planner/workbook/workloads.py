"""The workloads for which a new workbook has sheets: those of its scenarios, and those asked for.

A workload is a template that templates/sweep.csv sweeps. Those that `workload` of a scenarios CSV or of `--set` names
are included with any other templates; one that no scenario has is included if `--template` names it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from planner import progress
from planner.csvfile import Sheet
from planner.formulas import library
from planner.formulas.sweeps import swept_templates
from planner.formulas.template import Template
from planner.spoken import few
from planner.workbook.build_plan import ALL_WORKLOADS, WORKLOAD, BuildScenario
from planner.workbook.template_rows import included_first

DEFAULT_TEMPLATES = ("transformer", "training", "inference", "collectives")
_FEW = 3  # names that one line lists


def named_workloads(scenarios: Sheet | None, setting: str | None) -> set[str]:
    """What a CSV of scenarios and `--set` say of workloads, in small letters. Raises UserError as its records do."""
    texts = {setting or ""}
    if scenarios is not None:
        texts |= {cells.get(WORKLOAD, "") for _, cells in scenarios.records()}
    return {text.strip().lower() for text in texts}


def default_templates(named: Collection[str]) -> list[str]:
    """The templates of a build that names none, by the workloads that its scenarios are meant for."""
    is_all, workloads = ALL_WORKLOADS in named, swept_templates()
    return [name for name in DEFAULT_TEMPLATES if is_all or name in named or name not in workloads]


def in_order(there: Sequence[str], more: Sequence[str]) -> list[str]:
    """The templates of a workbook and more of them: each new one before those that a build has behind it."""
    found = list(there)
    for name in more:
        later = DEFAULT_TEMPLATES[DEFAULT_TEMPLATES.index(name) + 1 :] if name in DEFAULT_TEMPLATES else ()
        found.insert(next((at for at, other in enumerate(found) if other in later), len(found)), name)
    return found


def with_workloads(names: Iterable[str], named: Collection[str]) -> list[Template]:
    """The templates of these names or files; before them the workloads that are named and that none of them includes.

    Raises UserError as loading templates does.
    """
    loaded = [library.load(name) for name in names]
    there = {part for template in loaded for part in template.digests}
    more = [library.load(name) for name in swept_templates() if name in named and name not in there]
    return included_first([*more, *loaded])


def without_others(
    templates: Sequence[Template], scenarios: Sequence[BuildScenario]
) -> tuple[list[Template], list[BuildScenario]]:
    """Without the templates of workloads that no scenario is meant for, and what was typed for these alone: it is said.

    `workload` is among the values of every scenario.
    """
    kept = default_templates({str(scenario.values[WORKLOAD]) for scenario in scenarios})
    stay = [template for template in templates if template.name in kept]
    names = {WORKLOAD, *(row.name for template in stay for row in template.rows)}
    left = dict.fromkeys(name for scenario in scenarios for name, value in scenario.values.items()
                         if name not in names and value is not None)  # fmt: skip
    if left:
        gone = " and ".join(template.name for template in templates if template not in stay)
        what = f"no scenario is meant for {gone}, so {few(list(left), _FEW)} is left out"
        progress.warn(f"{what}: {WORKLOAD}={ALL_WORKLOADS} keeps its sheets")
    return stay, [
        replace(each, values={name: value for name, value in each.values.items() if name in names})
        for each in scenarios
    ]

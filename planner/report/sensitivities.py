"""What a scenario of a workbook depends on: the sensitivity of its template where that gives the workbook's numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from planner.book.plan import Scenario
from planner.formulas.evaluation import Facts
from planner.formulas.sensitivity import Sensitivity, default_row, sensitivity
from planner.report.expectation import Planned
from planner.report.replay import replayed


class ScenarioSensitivity(NamedTuple):
    """A scenario, the template that plans it, and what a row of that depends on.

    None where the workbook isn't what its template says, so that nothing can be told.
    """

    scenario: Scenario
    template: str
    found: Sensitivity | None


def sensitivities(plans: Sequence[Planned], name: str = "") -> list[ScenarioSensitivity]:
    """Of each scenario, in order, the sensitivity of a row: by default the first headline of what it is meant for.

    Templates that lack the row, and plans of a part such as a collective, are left out. Raises UserError for a row that
    has no elasticity.
    """
    told = []
    for plan in plans:
        for _, scenario in plan.meant if plan.is_whole else ():
            proof = [each.row.name for each in plan.headlines]
            replay = replayed(plan.template, plan.rows, scenario.key, proof)
            if replay is None:
                told.append(ScenarioSensitivity(scenario, plan.template, None))
            elif not name or name in replay.template.by_name:
                asked = name or default_row(replay.template)
                found = sensitivity(replay.template, Facts(), replay.typed, asked)
                told.append(ScenarioSensitivity(scenario, plan.template, found))
    return sorted(told, key=lambda each: each.scenario.column)

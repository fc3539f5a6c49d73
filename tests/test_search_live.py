"""Scenario columns that a search writes, recomputed by LibreOffice: random plans of every template that is searched."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from planner.book.read_plan import read_plan
from planner.catalog.databases import Databases
from planner.search import plans_as_scenarios
from planner.search.found import Found, objective
from planner.search.optimum import optimum
from planner.search.request import Request, request
from tests.libreoffice import needs_libreoffice, recalculated
from tests.workbooks import agree

COUNT = 4  # plans of a search that become scenarios
SEARCHES = {
    "inference": (["llama3-8b", "deepseek-v3"], ["h100-sxm", "tpu-v6e"], [], "cost_per_million_tokens_expected"),
    "training": (["llama3-8b", "mixtral-8x7b"], ["h100-sxm", "tpu-v5p"], ["n_chips=64"], "train_cost_expected"),
    "fleet": (["llama3-70b"], ["h100-sxm", "tpu-v5e"], ["request_rate=20"], "cost_per_month"),
    "goodput": (["llama3-70b"], ["h100-sxm", "tpu-v5p"], ["n_chips=512"], "wall_cost_expected"),
}


def searched(template: str) -> tuple[Request, Found]:
    """A search of a template, and random ones of its best plans in place of the first."""
    models, chips, settings, name = SEARCHES[template]
    asked = request(template, models, chips, settings, [], [], Databases())
    found = optimum(asked, [objective(asked.template, name, is_least=True)], 200)
    rng = random.Random(template)
    found.plans = rng.sample(found.plans, min(COUNT, len(found.plans)))
    return asked, found


@needs_libreoffice
@pytest.mark.slow
@pytest.mark.parametrize("template", SEARCHES)
def test_libreoffice_recomputes_what_the_search_told(template: str, tmp_path: Path) -> None:
    """Every row of a scenario's column is, in LibreOffice too, what the search computed for its plan, within 1e-9."""
    path = tmp_path / "plan.xlsx"
    asked, found = searched(template)
    plans_as_scenarios.write(path, asked, found, Databases())
    cells = recalculated(path, tmp_path)
    plan = read_plan(path)
    table = next(rows for sheet, rows in plan.tables.items() if plan.book.templates[sheet] == template)
    assert len(plan.scenarios) == len(found.plans)
    off = []
    for scenario, told in zip(plan.scenarios, found.plans, strict=True):
        for row in table:
            if row.name in asked.template.by_name and (entry := row.cells.get(scenario.key)):
                computed = cells[entry.spot.sheet].get(entry.spot.ref)
                if not agree(computed, told.results.value(row.name)):
                    off.append((scenario.key, row.name, computed, told.results.value(row.name)))
    assert not off, off[:5]

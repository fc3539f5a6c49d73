"""Which plans a search can't tell apart: fronts, error bars, the odds of one over another, extrapolation."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from planner.catalog.databases import Databases
from planner.formulas.evaluation import evaluate
from planner.formulas.following import with_followers
from planner.search.found import objective
from planner.search.optimum import optimum
from planner.search.ranking import front, share_errors, unshared, within
from planner.search.sweep import SweptPlans
from tests.commands import command
from tests.searches import STEP, asked


def test_a_front_is_the_plans_that_none_beats():
    """Of random points in two and three objectives those stay that no other is as good as in all and better in one."""
    rng = np.random.default_rng(7)
    for objectives in (2, 3):
        costs = rng.integers(0, 12, (300, objectives)).astype(float)
        kept = {tuple(costs[at]) for at in front(costs)}
        expected = {
            tuple(each) for each in costs
            if not any((other <= each).all() and (other < each).any() for other in costs)
        }  # fmt: skip
        assert kept == expected


def test_ties_are_what_the_best_plans_error_bar_holds():
    """The bar counts that is the best plan's own, and a best plan without one ties with its equals alone."""
    assert within(np.array([3.0, 2.0, 2.5]), np.array([9.0, 2.6, 2.5])).tolist() == [1, 2]
    assert within(np.array([3.0, 2.0, 2.0]), np.array([np.nan] * 3)).tolist() == [1, 2]


def test_two_plans_share_errors_on_one_chip_and_on_chips_of_one_calibration():
    """A tie of one model is narrower than a range on a chip and on one of its calibration, and else as wide."""
    chips = ["h100-sxm", "h200-sxm", "b200-sxm", "mi300x", "h20"]
    wanted = asked("training", "llama3-70b", chips, ["n_chips=512"])
    first, *others = wanted.subjects
    assert [share_errors(first, other) for other in others] == [True, False, False, False]
    assert not share_errors(*others[2:])  # both are of no runs of their own
    plan = evaluate(wanted.template, first.facts, with_followers(wanted.template, wanted.given))
    shared, cells = unshared(first, plan), Databases().calibration.rows["h100"]
    assert shared.value(STEP) == plan.value(STEP)
    assert shared.value(f"{STEP}_high") == pytest.approx(plan.value(STEP) * cells["train_dense_tie"], rel=1e-12)
    assert shared.value(f"{STEP}_high") < plan.value(f"{STEP}_high")


def test_plans_on_another_chip_are_ties_within_the_whole_range():
    """Of two chips with calibrations of their own each plan of the other counts up to the range's end."""
    settings, ways = ["n_chips=512", "price_per_chip_hour=2"], ["mesh_tensor=1,2,4,8", "remat=block,minimal,none"]
    names = ["h100-sxm", "b200-sxm"]
    both = asked("training", "llama3-70b", names, settings, ways)
    aim = [objective(both.template, "train_cost_expected", is_least=True)]
    found = optimum(both, aim, 3, alone=True)
    sweep = SweptPlans(both, [aim[0].row.name, *(row.name for row in both.template.of_kind("check"))])
    ties = dict.fromkeys(names, 0)
    for part in sweep.parts():
        passes = np.all([part[row.name] != 0 for row in both.template.of_kind("check")], axis=0)
        for chip, cost in zip(part["hardware"][passes], part[aim[0].row.name][passes], strict=True):
            ties[chip] += cost <= (found.bar if chip == found.plans[0].subject.hardware else found.end)
    assert found.bar < found.end
    assert found.ties == sum(ties.values())


def test_the_odds_of_two_chips_are_those_of_drawing_from_their_ranges():
    """The probability that one chip's best plan is cheaper is that of log-normal draws with the told ranges."""
    from planner.search.ranking import better

    wanted = asked("training", "llama3-70b", ["h100-sxm", "tpu-v5p"], ["n_chips=512"])
    aim = objective(wanted.template, "train_cost_expected", is_least=True)
    first, second = optimum(wanted, [aim], 1).of_each
    assert first.results.value(aim.row.name) <= second.results.value(aim.row.name)
    rng = np.random.default_rng(3)
    draws = []
    for plan in (first, second):
        number, low, high = (plan.results.value(aim.row.name + end) for end in ("", "_low", "_high"))
        draws.append(number * np.exp(rng.normal(0, math.log(high / low) / 2.5631, 400_000)))
    assert better(aim, second, first) == pytest.approx(float((draws[1] < draws[0]).mean()), abs=0.005)


def test_a_plan_beyond_what_was_fitted_is_marked():
    """128 stages are more than any published run has on a switch, and 8 are not."""
    from planner.search.extrapolated import extrapolated
    from planner.search.found import FoundPlan

    wanted = asked("training", "llama3.1-405b", ["h100-sxm"], ["n_chips=2048"], ["mesh_pipeline=8,64"])
    plans = [FoundPlan.of(wanted, wanted.subjects[0], {"mesh_pipeline": stages}) for stages in (8.0, 128.0)]
    assert extrapolated(wanted, plans[0]) == ""
    assert extrapolated(wanted, plans[1]).startswith("mesh_pipeline 128 > ")


def test_a_plan_beyond_ones_own_runs_is_marked_by_these():
    """A calibration of one's own says itself how far its runs go; published runs say nothing of it."""
    from planner.search.extrapolated import extrapolated
    from planner.search.found import FoundPlan

    wanted = asked("training", "llama3.1-405b", ["h100-sxm"], ["n_chips=2048"], ["mesh_pipeline=8,64"])
    for stages, most, said in ((8.0, 2.0, "mesh_pipeline 8 > 2"), (128.0, 256.0, "")):
        plan = FoundPlan.of(wanted, wanted.subjects[0], {"mesh_pipeline": stages})
        far = {f"train_most_{name}": 1e6 for name in ("chips", "tensor", "context")} | {"train_most_pipeline": most}
        known = {"calibration_id": "mine", "beyond_tokens": 0.0, "beyond_kind": 0.0, **far}
        results = SimpleNamespace(value=lambda name, known=known, plan=plan: known.get(name, plan.results.value(name)))
        assert extrapolated(wanted, SimpleNamespace(subject=plan.subject, results=results)) == said


def test_an_objective_without_a_range_has_no_bar():
    """Of an input no published run says how far off it is: the plans that have the best are told, and nothing else."""
    output = command("optimize", "inference", "-m", "llama3-8b", "-H", "h100-sxm", "--maximize", "batch",
                     "--set", "n_chips=1", "--top", "1")  # fmt: skip
    assert "; no other plan has it:" in output
    assert "published runs" not in output


def test_of_plans_that_tie_exactly_another_objective_chooses() -> None:
    """Both batches need as few chips: the line says how to choose, and the second objective does, the larger batch."""
    words = ["optimize", "inference", "-m", "llama3-8b", "-H", "h100-sxm", "--set", "n_chips=1", "--alone", "--over"]
    words += ["batch=1,2", "--minimize", "n_chips"]
    assert "; 2 plans have it, among which --and NAME chooses, the simplest first:" in command(*words)
    assert "batch 2." in command(*words, "--and", "cost_per_million_tokens_expected")

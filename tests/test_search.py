"""The best of many plans: found as by trying each, over the layouts that make sense."""

from __future__ import annotations

import csv
import itertools
import re

import numpy as np
import pytest

from planner.catalog.databases import Databases
from planner.errors import UserError
from planner.formulas.evaluation import evaluate
from planner.formulas.following import with_followers
from planner.search import layout_rules, layout_space
from planner.search.found import objective
from planner.search.optimum import optimum
from planner.xlsx.opc import Package
from planner.xlsx.workbook_part import parse_sheets
from tests.commands import command
from tests.searches import COST, STEP, TOKEN, asked
from tests.short_data import of_few_rows
from tests.workbooks import type_in, write_small


def test_the_best_of_a_small_space_is_what_trying_each_plan_finds():
    """Tried, passed, refused by each check, ties, and the best are what a loop over single plans counts and finds."""
    moves = {
        "mesh_tensor": [1, 4, 8],
        "mesh_pipeline": [1, 3, 4],
        "n_microbatches": [1, 8],
        "remat": ["block", "none"],
    }
    settings = ["n_chips=256", "batch_tokens=2097152", "seq_len=8192"]
    over = [f"{name}={','.join(map(str, found))}" for name, found in moves.items()]
    wanted = asked("training", "llama3-70b", ["h100-sxm"], settings, over)
    found = optimum(wanted, [objective(wanted.template, STEP, is_least=True)], 3, alone=True)
    checks = wanted.template.of_kind("check")
    refused, passing = {}, []
    for combination in itertools.product(*moves.values()):
        moved = dict(zip(moves, (each if isinstance(each, str) else float(each) for each in combination), strict=True))
        plan = evaluate(
            wanted.template, wanted.subjects[0].facts, with_followers(wanted.template, {**wanted.given, **moved})
        )
        failing = [row.name for row in checks if plan.value(row.name) == 0]
        for name in failing:
            refused[name] = refused.get(name, 0) + 1
        if not failing:
            passing.append((plan.value(STEP), moved))
    best = min(passing, key=lambda each: each[0])
    bar = best[0] * Databases().calibration.rows["h100"]["train_dense_tie"]
    ties = [each for each in passing if each[0] <= bar]
    assert (found.tried, found.passed, found.refused) == (36, len(passing), refused)
    assert found.ties == len(ties) < len(passing)
    assert found.bar == pytest.approx(bar, rel=1e-12)
    assert min(plan.results.value(STEP) for plan in found.plans) == best[0]
    listed = sorted({each[0] for each in passing})[:3]
    assert set(listed[:2]) <= {plan.results.value(STEP) for plan in found.plans}
    simplest = found.plans[0]
    kinds = [sum(value > 1 for name, value in moved.items() if name.startswith("mesh_")) for _, moved in ties]
    assert simplest.is_tie
    assert sum(simplest.moved[name] > 1 for name in ("mesh_tensor", "mesh_pipeline")) == min(kinds)


def test_the_largest_batch_of_a_search_is_the_largest_that_memory_holds():
    """Maximising the batch finds the template's own largest batch by memory."""
    wanted = asked("inference", "llama3-70b", ["tpu-v5e"], ["n_chips=16"], ["batch=1..400"])
    found = optimum(wanted, [objective(wanted.template, "batch", is_least=False)], 1, alone=True)
    best = found.plans[0].results
    assert best.value("batch") == best.value("max_batch")


def test_a_search_of_serving_finds_the_chips_that_prefill_alone():
    """At 20 ms a token 8 pairs of H100 that prefill beside 8 that decode are the cheapest; the cost is that by hand."""
    wheres = ["time_per_output_token_expected<=20ms"]
    free, shared = (
        asked("inference", "llama3-70b", ["h100-sxm"], settings, (), wheres) for settings in ((), ["prefill_chips=0"])
    )
    aim = [objective(free.template, COST, is_least=True)]
    best = optimum(free, aim, 3).plans[0].results
    assert [best.value(name) for name in ("n_chips", "prefill_chips", "prefill_tensor", "batch")] == [8, 16, 2, 64]
    prompts = 64 / 8 * best.value("prefill_time_expected")  # each pair reads its prompts one after the other
    answers = best.value("generate_len") * best.value("mean_step_time_expected")
    tokens = 64 * best.value("generate_len")
    dollars = 24 * best.value("price_per_chip_hour") * max(prompts, answers) / 3600 / tokens * 1e6
    assert best.value(COST) == pytest.approx(dollars, rel=1e-12)
    assert optimum(shared, aim, 3).best > 1.02 * best.value(COST)
    chips = asked("inference", "llama3-70b", ["h100-sxm"], ["n_chips=8"])
    assert not layout_space.space(chips, chips.subjects[0], alone=False).axes[0].columns["prefill_chips"].any()
    ways = layout_space.space(free, free.subjects[0], alone=False).axes[0].columns
    assert (ways["n_chips"] + ways["prefill_chips"]).max() == 512
    apart = ways["prefill_chips"] > 0
    assert set(ways["prefill_chips"][apart] / ways["n_chips"][apart]) == {0.25, 0.5, 1, 2, 4}
    assert not (ways["prefill_chips"][apart] % ways["prefill_tensor"][apart]).any()


def test_chips_that_share_out_no_batch_are_told_one_that_they_do():
    """100 chips share out no 1,024 sequences: of 4,096 tokens each they do 100 sequences, and multiples of them."""
    refused = asked("training", "llama3-8b", ["h100-sxm"], ["n_chips=100"])
    with pytest.raises(UserError, match=r"no layout of 100 chips makes sense .* a multiple of 409,600, or"):
        layout_space.space(refused, refused.subjects[0], alone=False)
    shared = asked("training", "llama3-8b", ["h100-sxm"], ["n_chips=100", "batch_tokens=4096000"])
    assert layout_space.space(shared, shared.subjects[0], alone=False).axes


@pytest.mark.parametrize(
    ("wheres", "aims", "overs", "apart"),
    [
        ((), ["n_chips"], (), {0.0}),
        (["n_chips<=8"], [COST], (), {0.0}),
        (["memory_bytes_per_chip*n_chips<=640GB"], [COST], (), {0.0}),
        ((), ["n_chips"], ["prefill_chips=2,4"], {2.0, 4.0}),
        (["batch<=8"], [COST], (), None),
    ],
)
def test_the_fewest_chips_are_all_of_them(wheres, aims, overs, apart):
    """Chips that prefill alone aren't among n_chips: where these are asked for none are added, unless by --over; two
    chips beside four that prefill were the fewest, where four do both."""
    wanted = asked("inference", "llama3-70b", ["h100-sxm"], (), overs, wheres)
    found = layout_space.space(wanted, wanted.subjects[0], aims, alone=False).axes[0].columns["prefill_chips"]
    assert len(set(found)) > 3 if apart is None else set(found) == apart


@pytest.mark.parametrize(("chip", "has_pairs"), [("tpu-v5e", False), ("tpu-v5p", True), ("h100-sxm", True)])
def test_serving_is_searched_over_slices_that_there_are(chip, has_pairs):
    """No slice of v5e has two chips; v5p has machines of two, and a switch joins any number."""
    wanted = asked("inference", "llama3-8b", [chip], ())
    tried = layout_space.space(wanted, wanted.subjects[0], alone=False).axes[0].columns
    assert {1, 4, 8} <= set(tried["n_chips"])
    assert (2 in tried["n_chips"], 2 in tried["prefill_chips"]) == (has_pairs, has_pairs)


def test_chips_that_prefill_alone_may_have_smaller_groups_than_those_that_decode():
    """Of 16 H100 that prefill beside four groups of four, eight pairs are cheapest, as trying each size finds."""
    settings = ["n_chips=16", "serve_tensor=4", "serve_data=4", "serve_pipeline=1", "batch=96", "prefill_chips=16"]
    wanted = asked("inference", "llama3-70b", ["h100-sxm"], settings)
    best = optimum(wanted, [objective(wanted.template, COST, is_least=True)], 1).best
    costs = {}
    for ways in (1.0, 2.0, 4.0, 8.0):
        plan = evaluate(wanted.template, wanted.subjects[0].facts, {**wanted.given, "prefill_tensor": ways})
        if all(plan.value(row.name) != 0 for row in wanted.template.of_kind("check")):
            costs[plan.value(COST)] = ways
    assert costs[min(costs)] == 2
    assert best == min(costs)


def test_every_layout_of_a_search_makes_the_chips_and_keeps_the_rules():
    """The layouts that are tried multiply to the chips, and none is beyond a node or uneven."""
    wanted = asked("training", "llama3.1-405b", ["h100-sxm"], ["n_chips=1024", "batch_tokens=8388608", "seq_len=32768"])
    space = layout_space.space(wanted, wanted.subjects[0], alone=False)
    ways = space.axes[0].columns
    assert (np.prod([ways[name] for name in ways if name.startswith("mesh_")], axis=0) == 1024).all()
    assert ways["mesh_tensor"].max() == 8
    assert ways["mesh_context"].max() == 4
    assert (ways["n_microbatches"] >= ways["mesh_pipeline"]).all()
    assert all(layout_rules.is_even(126, int(stages)) for stages in set(ways["mesh_pipeline"]))
    more = asked(
        "training", "llama3.1-405b", ["h100-sxm"], ["n_chips=1024", "batch_tokens=8388608"], ["mesh_tensor=16"]
    )
    assert set(layout_space.space(more, more.subjects[0], alone=False).axes[0].columns["mesh_tensor"]) == {16}


@pytest.mark.parametrize(
    ("template", "settings", "ways", "most"),
    [
        ("inference", ["n_chips=16", "slice_x=4", "slice_y=4"], "serve_tensor", 2),
        ("training", ["n_chips=16", "slice_x=4", "slice_y=4"], "mesh_tensor", 2),
        ("training", ["n_chips=16", "slice_x=16"], "mesh_tensor", 1),
        ("inference", [], "serve_tensor", 3),
    ],
)
def test_tensor_ways_lie_along_axes_that_the_slice_has_with_two_chips_on_each(template, settings, ways, most):
    """A v5p slice of 4x4 has two axes and not the three of its torus; two chips make one axis, not a part of three."""
    wanted = asked(template, "llama3-8b", ["tpu-v5p"], settings)
    found = layout_space.space(wanted, wanted.subjects[0], alone=False).axes[0].columns
    axes, tensor = found["tensor_axes"], np.where(found[ways] == 0, found["n_chips"], found[ways])
    assert set(axes) == {0, *range(2, most + 1)}
    assert (tensor[axes > 1] >= 2 ** axes[axes > 1]).all()
    apart = found.get("prefill_tensor", np.zeros(len(axes)))
    assert (apart[(axes > 1) & (apart > 1)] >= 2 ** axes[(axes > 1) & (apart > 1)]).all()


MATMUL = ["matmul", "-H", "h100-sxm", "tpu-v6e", "--minimize", "expected_time", "--set", "d_out=8192",
          "--maximize", "tokens", "--over", "tokens=1024..8192*2"]  # fmt: skip
SERVING = ["inference", "-m", "llama3-70b", "-H", "h100-sxm", "tpu-v6e", "--minimize", COST, "--and", TOKEN]


@pytest.mark.parametrize(
    ("question", "moved", "names"),
    [
        (MATMUL, "d_in", ("expected_time", "tokens")),
        pytest.param(SERVING, "context_len", (COST, TOKEN, "memory_bytes_per_chip", "batch"), marks=pytest.mark.slow),
    ],
)
@of_few_rows()
def test_the_best_plans_are_live_scenarios_whose_cells_compute_the_same_numbers(tmp_path, question, moved, names):
    """In a new workbook, and added to it a second time, its cells give what the search told to 1e-9.

    A third search, of plans that are there, adds nothing and says so.
    """
    from planner.book.read_plan import read_plan

    book, table = tmp_path / "plan.xlsx", tmp_path / "plans.csv"
    search = ["optimize", *question, "--top", "2", "--workbook", str(book), "-o", str(table), "--force"]
    for size, count in (("8192", 2), ("4096", 4), ("8192", 4)):
        said = command(*search, "--set", f"{moved}={size}")
        plan = read_plan(book)
        assert len(plan.scenarios) == count
        there = size == "8192" and count == 4
        assert ("there already" in said) == there
        assert "Warning" not in said  # the cells compute what the search told
        rows = {row.name: row for row in plan.tables[question[0].capitalize()]}
        lines = list(csv.DictReader(table.open()))
        for scenario in plan.scenarios[:2] if there else plan.scenarios[-2:]:
            line = min(lines, key=lambda each: abs(float(each[names[0]]) - rows[names[0]].value(scenario.key)))
            for name in names:
                assert rows[name].value(scenario.key) == pytest.approx(float(line[name]), rel=1e-9)


def test_a_workbook_with_numbers_of_its_own_is_told(tmp_path):
    """Where an analyst has another bandwidth on Hardware, the scenarios take other times: a warning has both."""
    path = tmp_path / "plan.xlsx"
    write_small(path, [], ["h100-sxm"], ["matmul"], tokens=64, d_in=8192, d_out=8192)
    search = ["optimize", "matmul", "-H", "h100-sxm", "--minimize", "expected_time", "--top", "1",
              "--workbook", str(path), "--over", "d_out=1024,2048", "--set", "tokens=64", "d_in=8192"]  # fmt: skip
    package = Package.read(path)
    sheet = parse_sheets(package)["Hardware"]
    (speed,) = (ref.rstrip("0123456789") for ref, cell in sheet.cells.items() if cell.value == "hbm_bandwidth")
    (row,) = (ref[1:] for ref, cell in sheet.cells.items() if re.match(r"A\d", ref) and cell.value == "h100-sxm")
    type_in(package, "Hardware", {f"{speed}{row}": 2e12})
    package.write(path)
    said = command(*search)
    assert "Warning: expected_time of" in said
    assert "in it is another than the search has read" in said

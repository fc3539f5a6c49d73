"""Many plans at once: what moves, what must hold, tables of every combination, and the best of them."""

from __future__ import annotations

import csv
import itertools
import math
import re
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from planner import progress
from planner.catalog.databases import Databases
from planner.errors import UserError
from planner.formulas import library
from planner.formulas.evaluation import evaluate
from planner.formulas.following import with_followers
from planner.formulas.lookups import facts
from planner.search import layout_rules, search_text, sensible
from planner.search.conditions import with_conditions
from planner.search.found import Found, objective
from planner.search.optimum import optimum
from planner.search.request import request, values_over
from planner.search.space import PlanAxis, PlanSpace
from planner.search.sweep import SweptPlans
from planner.search.ties import front, share_errors, unshared, within
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import with_values
from planner.xlsx.workbook_part import parse_sheets
from tests.commands import command, invoked, refused
from tests.short_data import of_few_rows
from tests.workbooks import write_small

STEP, COST, TOKEN = "step_time_expected", "cost_per_million_tokens_expected", "time_per_output_token_expected"


def asked(template, model, chips, settings=(), overs=(), wheres=()):
    """A request as the command makes it."""
    return request(template, [model] if model else [], chips, settings, overs, wheres, Databases())


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("batch", "1,2,8", [1, 2, 8]),
        ("batch", "1..5", [1, 2, 3, 4, 5]),
        ("batch", "2^3..2^6", [8, 16, 32, 64]),
        ("batch", "8..64*2", [8, 16, 32, 64]),
        ("batch", "1,8..32*2,1", [1, 8, 16, 32]),
        ("n_chips", "16..64+16", [16, 32, 48, 64]),
        ("context_len", "8k..32k*2", [8000, 16000, 32000]),
        ("prefix_hit_rate", "0..0.3+0.1", [0, 0.1, 0.2, 0.3]),
        ("draft_time", "1ms..4ms*2", [0.001, 0.002, 0.004]),
        ("draft_time", "1e-3,2e-3", [0.001, 0.002]),
    ],
)
def test_a_spec_is_read_as_the_values_that_it_says(name, text, expected):
    """Lists, ranges by 1, by a step, by a factor and by powers give their values in order, each once, with units."""
    found = values_over(library.load("inference").row(name), text)
    assert found.tolist() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("batch", "8..1", "ends before it begins"),
        ("batch", "1,,2", "a value is missing"),
        ("batch", "1-8", "batch=1-8 is no range; write --over batch=1..8"),
        ("batch", "2,1k:8k", "batch=1k:8k is no range; write --over batch=1k..8k"),
        ("batch", "1..64:2", "batch=1..64:2 is no range; write 1..64\\*2 to multiply by 2, or \\+2"),
        ("batch", "1..1e9", "more than 10,000,000 values"),
        ("prefix_hit_rate", "0..1*2", "has no end"),
        ("prefix_hit_rate", "0..1", "the step is not given"),
        ("draft_time", "1GB..2GB*2", "draft_time=1GB"),
        ("weight_dtype", "bf17", "bf17"),
    ],
)
def test_a_spec_that_says_no_values_is_refused(name, text, said):
    """A falling, an endless, a too long range, one without a step and a wrong unit are each said."""
    with pytest.raises(UserError, match=said):
        values_over(library.load("inference").row(name), text)


@pytest.mark.parametrize("size", [1, 2, 5, 7, 24, 100])
def test_blocks_hold_every_plan_once_and_in_order(size):
    """The blocks of a space, whatever their size, are its plans in the order of their numbers, none of them larger."""
    space = PlanSpace([PlanAxis({"a": np.arange(3.0), "b": np.arange(3.0) * 10}), PlanAxis({"c": np.arange(2.0)}),
                   PlanAxis({"d": np.arange(4.0)})])  # fmt: skip
    found, start = [], 0
    for block in space.blocks(size):
        assert block.start == start
        assert block.count <= size
        start += block.count
        found += zip(*(block.flat(block.arrays[name]).tolist() for name in "abcd"), strict=True)
    assert found == [(a, 10 * a, c, d) for a in range(3) for c in range(2) for d in range(4)]
    assert [tuple(space.plan(at).values()) for at in range(24)] == found


@pytest.mark.parametrize(
    ("where", "holds"),
    [
        ("decode_step_time_expected<20ms", True),
        ("decode_step_time_expected<0.005", False),
        ("memory_bytes_per_chip<=80GB", True),
        ("n_chips*2<=16chips", True),
        ("AND(n_chips>=8, batch<4)", True),
        ('OR(weight_dtype="int8",n_chips=16)', False),
        ("check_fits_memory", True),
        ("100ms>decode_step_time_expected", True),
    ],
)
def test_a_condition_is_a_formula_whose_numbers_have_units(where, holds):
    """A number alone on a side of a comparison has the other side's unit or its own; the rest is the grammar."""
    template, names = with_conditions(library.load("inference"), [where])
    results = evaluate(template, facts(template, "llama3-70b", "h100-sxm"), {"n_chips": 8.0})
    assert (results.value(names[0]) == 1) is holds


def test_a_condition_without_a_unit_says_what_it_is_read_in(capsys):
    """Who means milliseconds sees seconds; what is counted, a 0 and a number with its unit need no word."""
    template = library.load("inference")
    progress.say_warnings()
    capsys.readouterr()
    with_conditions(template, ["decode_step_time<50", "n_chips<=8", "batch>2", "kv_time>0", "param_time<5ms"])
    progress.say_warnings()
    assert capsys.readouterr().err == "--where decode_step_time<50: 50 is read as 50 s\n"


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("decode_step_tme<1", "decode_step_time"),
        ("decode_step_time_expected<80GB", "80GB"),
        ("decode_step_time_expected<n_chips", "units don't agree"),
        ("n_chips<", "the formula ends"),
        ("n_chips>2)", "unexpected ')'"),
        ("", "the formula is empty"),
        ("n_chips+8GB>2", "8GB"),
    ],
)
def test_a_condition_with_a_fault_is_refused_in_one_line(where, said):
    """A wrong name, a wrong unit and a broken formula are each one line that shows what is wrong."""
    with pytest.raises(UserError) as error:
        with_conditions(library.load("inference"), [where])
    assert said in error.value.line()


def test_a_sweep_gives_the_bits_of_each_single_plan_with_what_follows(tmp_path):
    """Each line of the CSV is to the last digit what `calc` computes, FSDP ways that follow the chips among it."""
    output = tmp_path / "table.csv"
    command(
        "sweep", "training", "-m", "llama3-8b", "-H", "h100-sxm", "tpu-v5p", "--over", "n_chips=8,12",
        "mesh_tensor=1,8", "remat=block,none", "--get", STEP, "mesh_fsdp", "memory_bytes_per_chip", "-o", str(output),
    )  # fmt: skip
    template = library.load("training")
    lines = list(csv.DictReader(output.open()))
    assert len(lines) == 2 * 2 * 2 * 2
    for line in lines:
        given = {"n_chips": float(line["n_chips"]), "mesh_tensor": float(line["mesh_tensor"]), "remat": line["remat"]}
        plan = evaluate(template, facts(template, "llama3-8b", line["hardware"]), with_followers(template, given))
        for name in (STEP, "mesh_fsdp", "memory_bytes_per_chip"):
            expected = plan.value(name)
            assert (line[name] == "N/A") if expected is None else float(line[name]) == expected, (line, name)


def test_a_table_in_parquet_and_in_a_workbook_holds_the_numbers_of_the_csv(tmp_path):
    """The three files of one sweep hold the same numbers, the workbook in the units of its titles, with a chart."""
    arrow = pytest.importorskip("pyarrow.parquet")
    from openpyxl import load_workbook

    args = [
        "sweep",
        "inference",
        "-m",
        "llama3-70b",
        "-H",
        "h100-sxm",
        "--over",
        "n_chips=8,16",
        "batch=1..4",
        "--get",
        COST,
    ]
    for ending in ("csv", "parquet", "xlsx"):
        command(*args, "-o", str(tmp_path / f"table.{ending}"))
    plain = [[float(cell) for cell in line] for line in list(csv.reader((tmp_path / "table.csv").open()))[1:]]
    table = arrow.read_table(tmp_path / "table.parquet")
    assert [list(line.values()) for line in table.to_pylist()] == plain
    assert table.schema.field(COST).metadata[b"unit"] == b"USD"
    book = load_workbook(tmp_path / "table.xlsx")
    sheet = book["Sweep"]
    assert [sheet["C4"].value, sheet["C5"].value] == ["Expected cost of a million tokens (USD)", COST]
    cells = [[cell.value for cell in row] for row in sheet.iter_rows(min_row=6, max_col=3)]
    assert np.allclose(cells, plain, rtol=1e-15, atol=0)
    assert len(book["Sweep"]._charts) == 1
    assumed = {row[3].value: row[1].value for row in book["Assumptions"].iter_rows() if row[3].value}
    assert assumed["context_len"] == 8192
    assert assumed["batch"] == "4 values"


def test_a_workbook_of_a_sweep_bears_the_time_that_it_is_given(tmp_path, monkeypatch):
    """Under SOURCE_DATE_EPOCH the file says that time and who made it, whenever it was written."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    path = tmp_path / "table.xlsx"
    command("sweep", "inference", "-m", "llama3-70b", "-H", "h100-sxm", "--over", "batch=1,2", "-o", str(path))
    package = Package.read(path)
    core = package.parts["docProps/core.xml"].decode()
    assert re.findall(r">(2[^<]*Z)<", core) == ["2023-11-14T22:13:20Z"] * 2
    assert ">planner " in core
    assert {info.date_time for info in package._infos.values()} == {(2023, 11, 14, 22, 13, 20)}


def test_a_condition_leaves_the_plans_that_meet_it():
    """With --where the table has exactly the combinations that meet it, in their order."""
    over = ["batch=1..64", "n_chips=8,16"]
    every = SweptPlans(asked("inference", "llama3-70b", ["h100-sxm"], (), over), [TOKEN])
    some = SweptPlans(asked("inference", "llama3-70b", ["h100-sxm"], (), over, [f"{TOKEN}<15ms"]), [TOKEN])
    whole = {name: np.concatenate([part[name] for part in every.parts()]) for name in ("batch", "n_chips", TOKEN)}
    met = {name: np.concatenate([part[name] for part in some.parts()]) for name in whole}
    kept = whole[TOKEN] < 0.015
    assert 0 < kept.sum() < len(kept)
    assert all(np.array_equal(met[name], whole[name][kept]) for name in whole)


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


@pytest.mark.parametrize(
    ("model", "settings", "optimal", "ways"),
    [
        ("llama3-70b", "n_chips=64 batch_tokens=48000 seq_len=750 d_ff=32768 n_params_published=N/A", 13.69, (16, 4)),
        ("llama-13b", "n_chips=4096 batch_tokens=3145728 seq_len=1024", 1365, (1024, 4)),
    ],
)
def test_the_books_best_ways_of_fsdp_and_tensor_parallelism_are_found(model, settings, optimal, ways):
    """How to Scale Your Model ch. 5: the least communication has the power of two next to X_opt as FSDP ways."""
    wanted = asked("training", model, ["tpu-v5p"], settings.split(), ["mesh_tensor=1..64*2"])
    aim = [objective(wanted.template, "ici_comm_time", is_least=True)]
    found = optimum(wanted, aim, 1, alone=True).plans[0].results
    assert (found.value("mesh_fsdp"), found.value("mesh_tensor")) == ways
    assert found.value("optimal_fsdp_ways") == pytest.approx(optimal, rel=1e-3)
    assert abs(math.log2(ways[0] / optimal)) < 0.5


@pytest.mark.parametrize(("dtype", "chips"), [("bf16", 16), ("int8", 8), ("int4", 4)])
def test_the_books_smallest_slices_for_llama_3_70b_on_v5e_are_found(dtype, chips):
    """How to Scale Your Model ch. 8: LLaMA 3-70B's weights need a 4x4 in bf16, a 4x2 in int8, a 2x2 in int4."""
    wanted = asked("inference", "llama3-70b", ["tpu-v5e"], [f"weight_dtype={dtype}"], ["n_chips=1..256*2"])
    found = optimum(wanted, [objective(wanted.template, "n_chips", is_least=True)], 1, alone=True)
    assert found.plans[0].results.value("n_chips") == chips


@pytest.mark.parametrize(("dtype", "chips", "size"), [("bf16", 16, 2), ("int8", 8, 1), ("int4", 4, 0.5)])
def test_the_books_serving_of_llama_3_70b_on_v5e_is_found(dtype, chips, size):
    """How to Scale Your Model ch. 8: the smallest slice takes 43 sequences of 8,192 tokens and makes 4.4 queries a
    second of 512; with twice the slice each chip makes the most: what the step of ch. 7 gives, tried for every batch.

    With 70.55e9 parameters in the place of the book's 70e9 it is 42 sequences. In bf16 a chip makes the book's 0.45.
    """
    known = [f"weight_dtype={dtype}", f"kv_dtype={dtype}", "hbm_bytes=16e9", "context_len=8192", "generate_len=512"]
    small, large = (
        optimum(wanted, [objective(wanted.template, "queries_per_second_per_chip", is_least=False)], 1, alone=True)
        for counts in (f"{chips}", f"{chips},{2 * chips}")
        for wanted in [asked("inference", "llama3-70b", ["tpu-v5e"], known, [f"n_chips={counts}", "batch=1..200"])]
    )
    first = small.plans[0].results
    assert first.value("batch") == 42
    assert first.value("queries_per_second") == pytest.approx(4.42, rel=0.05)
    weights, cache = 70.55e9 * size, 163840 * size * 8192
    rates = {}
    for count, batch in itertools.product((chips, 2 * chips), range(1, 201)):
        if weights + batch * cache <= count * 16e9:
            matmul, read = 2 * batch * 70.55e9 / (count * 1.97e14), weights / (count * 8.2e11)
            step = batch * cache / (count * 8.2e11) + max(matmul, read)
            rates[count, batch] = batch / (512 * step) / count
    assert large.plans[0].results.value("n_chips") == max(rates, key=rates.__getitem__)[0] == 2 * chips
    assert -large.best == pytest.approx(max(rates.values()), rel=0.02)
    assert dtype != "bf16" or -large.best == pytest.approx(14.39 / 32, rel=0.05)


def test_the_largest_batch_of_a_search_is_the_largest_that_memory_holds():
    """Maximising the batch finds the template's own largest batch by memory."""
    wanted = asked("inference", "llama3-70b", ["tpu-v5e"], ["n_chips=16"], ["batch=1..400"])
    found = optimum(wanted, [objective(wanted.template, "batch", is_least=False)], 1, alone=True)
    best = found.plans[0].results
    assert best.value("batch") == best.value("max_batch")


@pytest.mark.parametrize("chips", [8192, 16384])
def test_llama_3_405bs_published_recipe_is_within_the_error_bar_of_the_best_plan(chips):
    """Tensor 8, pipeline 16 on H100, with nothing of it a constraint: the best plan's error bar holds what it takes."""
    settings = [f"n_chips={chips}", "batch_tokens=16777216", "seq_len=8192"]
    wanted = asked("training", "llama3.1-405b", ["h100-sxm"], settings)
    found = optimum(wanted, [objective(wanted.template, STEP, is_least=True)], 5)
    best = min((plan.results for plan in found.plans), key=lambda each: each.value(STEP))
    ways = ["mesh_tensor=8", "mesh_pipeline=16", "n_microbatches=1..64", "remat=none,matmuls,block"]
    recipe = asked("training", "llama3.1-405b", ["h100-sxm"], settings, ways)
    published = optimum(recipe, [objective(wanted.template, STEP, is_least=True)], 5).plans
    assert min(plan.results.value(STEP) for plan in published) <= best.value(f"{STEP}_high")


def test_deepseek_v3s_decoding_layout_is_the_best_on_its_144_chips():
    """Section 3.4: each chip attends alone, the experts lie over all; no layout decodes more at 50 ms a step."""
    settings = ["n_chips=144", "context_len=4989", "prompt_len=4489", "generate_len=1000", "weight_dtype=fp8",
                "compute_dtype=fp8", "dispatch_dtype=fp8", "routed_nodes=4", "redundant_experts=32"]  # fmt: skip
    overs, wheres = ["batch=256..16384+256"], ["decode_step_time_expected<=50ms"]
    wanted = asked("inference", "deepseek-v3", ["h800-sxm"], settings, overs, wheres)
    found = optimum(wanted, [objective(wanted.template, "decode_tokens_per_second", is_least=False)], 3)
    best = max((plan for plan in found.plans), key=lambda plan: plan.results.value("decode_tokens_per_second"))
    assert (best.moved["serve_data"], best.moved["serve_expert"], best.moved["serve_pipeline"]) == (144, 144, 1)


def test_deepseek_v3s_training_recipe_is_within_the_error_bar_of_the_best_plan():
    """Section 3.2: pipeline 16 and experts over 64 on 2,048 H800, at the best microbatches and what is kept of them."""
    settings = ["n_chips=2048", "batch_tokens=62914560", "seq_len=4096", "compute_dtype=fp8"]
    wanted = asked("training", "deepseek-v3", ["h800-sxm"], settings)
    aim = [objective(wanted.template, STEP, is_least=True)]
    best = min((plan.results for plan in optimum(wanted, aim, 5).plans), key=lambda each: each.value(STEP))
    ways = ["mesh_tensor=1", "mesh_pipeline=16", "mesh_expert=64"]
    recipe = optimum(asked("training", "deepseek-v3", ["h800-sxm"], settings, ways), aim, 5).plans
    assert min(plan.results.value(STEP) for plan in recipe) <= best.value(f"{STEP}_high")


def test_a_search_of_serving_finds_the_chips_that_prefill_alone():
    """At 20 ms a token 2 H100 that prefill beside 4 that decode are the cheapest; the cost is that by hand."""
    wheres = ["time_per_output_token_expected<=20ms"]
    free, shared = (
        asked("inference", "llama3-70b", ["h100-sxm"], settings, (), wheres) for settings in ((), ["prefill_chips=0"])
    )
    aim = [objective(free.template, COST, is_least=True)]
    best = optimum(free, aim, 3).plans[0].results
    assert [best.value(name) for name in ("n_chips", "prefill_chips", "prefill_tensor", "batch")] == [4, 2, 2, 12]
    prompts = 12 * best.value("prefill_time_expected")  # one group reads them one after the other
    answers = best.value("generate_len") * best.value("mean_step_time_expected")
    tokens = 12 * best.value("generate_len")
    dollars = 6 * best.value("price_per_chip_hour") * max(prompts, answers) / 3600 / tokens * 1e6
    assert best.value(COST) == pytest.approx(dollars, rel=1e-12)
    assert optimum(shared, aim, 3).best > 1.02 * best.value(COST)
    chips = asked("inference", "llama3-70b", ["h100-sxm"], ["n_chips=8"])
    assert not sensible.space(chips, chips.subjects[0], alone=False).axes[0].columns["prefill_chips"].any()
    ways = sensible.space(free, free.subjects[0], alone=False).axes[0].columns
    assert (ways["n_chips"] + ways["prefill_chips"]).max() == 512
    apart = ways["prefill_chips"] > 0
    assert set(ways["prefill_chips"][apart] / ways["n_chips"][apart]) == {0.25, 0.5, 1, 2, 4}
    assert not (ways["prefill_chips"][apart] % ways["prefill_tensor"][apart]).any()


def test_every_layout_of_a_search_makes_the_chips_and_keeps_the_rules():
    """The layouts that are tried multiply to the chips, and none is beyond a node or uneven."""
    wanted = asked("training", "llama3.1-405b", ["h100-sxm"], ["n_chips=1024", "batch_tokens=8388608", "seq_len=32768"])
    space = sensible.space(wanted, wanted.subjects[0], alone=False)
    ways = space.axes[0].columns
    assert (np.prod([ways[name] for name in ways if name.startswith("mesh_")], axis=0) == 1024).all()
    assert ways["mesh_tensor"].max() == 8
    assert ways["mesh_context"].max() == 4
    assert (ways["n_microbatches"] >= ways["mesh_pipeline"]).all()
    assert all(layout_rules.is_even(126, int(stages)) for stages in set(ways["mesh_pipeline"]))
    more = asked(
        "training", "llama3.1-405b", ["h100-sxm"], ["n_chips=1024", "batch_tokens=8388608"], ["mesh_tensor=16"]
    )
    assert set(sensible.space(more, more.subjects[0], alone=False).axes[0].columns["mesh_tensor"]) == {16}


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
    package.replace(package.sheets()["Hardware"], with_values(sheet, {f"{speed}{row}": 2e12}))
    package.write(path)
    said = command(*search)
    assert "Warning: expected_time of" in said
    assert "in it is another than the search has read" in said


def test_the_odds_of_two_chips_are_those_of_drawing_from_their_ranges():
    """The probability that one chip's best plan is cheaper is that of log-normal draws with the told ranges."""
    from planner.search.search_text import better

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
    from planner.search.found import FoundPlan
    from planner.search.search_text import extrapolated

    wanted = asked("training", "llama3.1-405b", ["h100-sxm"], ["n_chips=2048"], ["mesh_pipeline=8,64"])
    plans = [FoundPlan.of(wanted, wanted.subjects[0], {"mesh_pipeline": stages}) for stages in (8.0, 128.0)]
    assert extrapolated(wanted, plans[0]) == ""
    assert extrapolated(wanted, plans[1]).startswith("mesh_pipeline 128 > ")


def test_a_plan_beyond_ones_own_runs_is_marked_by_these():
    """A calibration of one's own says itself how far its runs go; published runs say nothing of it."""
    from planner.search.found import FoundPlan
    from planner.search.search_text import extrapolated

    wanted = asked("training", "llama3.1-405b", ["h100-sxm"], ["n_chips=2048"], ["mesh_pipeline=8,64"])
    for stages, most, said in ((8.0, 2.0, "mesh_pipeline 8 > 2"), (128.0, 256.0, "")):
        plan = FoundPlan.of(wanted, wanted.subjects[0], {"mesh_pipeline": stages})
        far = {f"train_most_{name}": 1e6 for name in ("chips", "tensor", "context")} | {"train_most_pipeline": most}
        known = {"calibration_id": "mine", "beyond_tokens": 0.0, "beyond_kind": 0.0, **far}
        results = SimpleNamespace(value=lambda name, known=known, plan=plan: known.get(name, plan.results.value(name)))
        assert extrapolated(wanted, SimpleNamespace(subject=plan.subject, results=results)) == said


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("sweep", "inference", "-m", "llama3-70b", "-H", "h100-sxm"), "nothing is varied"),
        (("sweep", "inference", "-m", "llama3-70b", "-H", "h100-sxm", "--over", "bach=1..4"), "batch"),
        (("sweep", "inference", "-m", "llama3-70b", "-H", "h100-sxm", "--over", "batch"), "is not name=values"),
        (("sweep", "inference", "--set", "batch=1", "--over", "batch=1..4"), "is both set and varied"),
        (("sweep", "inference", "--over", "batch=1..4", "-o", "table.txt"), "ends in .csv"),
        (("optimize", "training", "-m", "llama3-70b", "-H", "h100-sxm"), "no objective is given"),
        (("optimize", "training", "-m", "llama3-70b", "-H", "h100-sxm", "--minimize", STEP), "the number of chips"),
        (("optimize", "training", "-m", "llama3-70b", "-H", "h100-sxm", "--set", "n_chips=64", "--minimize", STEP,
          "--maximize", STEP), "can't be both minimized and maximized"),
        (("optimize", "training", "-m", "llama3-8b", "-H", "h100-sxm", "--set", "n_chips=64", "--minimize", STEP,
          "--where", f"{STEP}<1e400"), "'1e400' is too large"),
        (("optimize", "matmul", "-H", "h100-sxm", "--minimize", "expected_time"), "nothing is varied"),
        (("optimize", "training", "-m", "llama3-70b", "-H", "h100-sxm", "--minimize", "step_tme"), "step_time"),
        (("optimize", "training", "-m", "llama3.1-405b", "-H", "h100-sxm", "--set", "n_chips=8",
          "--minimize", STEP), "calc explains it; set more chips, or name others with --over"),
        (("optimize", "inference", "-m", "llama3-8b", "-H", "tpu-v6e", "--set", "n_chips=512", "batch=512",
          "--minimize", COST), "--why check_pod of planner calc explains it; set other inputs, or name others"),
        (("optimize", "training", "-m", "llama3-70b", "-H", "h20", "--set", "n_chips=512", "price_per_chip_hour=N/A",
          "--minimize", "train_cost_expected"), "price_per_chip_hour"),
    ],
)  # fmt: skip
def test_what_cannot_be_searched_is_one_line_and_exit_code_2(args, said):
    """Wrong names and specs, empty and impossible searches, and a missing price: one line and exit code 2."""
    assert said in refused(*args)


def test_plans_whose_objective_is_unknown_are_told_with_what_is_missing():
    """Of two chips one has no price: its plans are left out, and which number is missing is said with them."""
    search = ["optimize", "training", "-m", "llama3-8b", "--set", "n_chips=64", "mesh_pipeline=1",
              "--minimize", "train_cost_expected", "--over", "mesh_tensor=2", "mesh_context=1", "zero_stage=3",
              "remat=block", "n_microbatches=2", "mesh_data=1,2,4"]  # fmt: skip
    output = command(*search, "-H", "h100-sxm", "h800-sxm")
    said = "left out, as train_cost_expected is N/A: 3; price_per_chip_hour is not in the hardware table (h800-sxm)"
    assert said in output
    missing = "price_per_chip_hour is not in the hardware table; type --set price_per_chip_hour=2$/h"
    assert missing in refused(*search, "-H", "h800-sxm")


def test_what_is_off_a_best_of_0_is_not_told():
    """A part of a step may be 0 in the best plans: the others are no share off it, and nothing fails."""
    output = command("optimize", "training", "-m", "llama3-70b", "-H", "h100-sxm", "--set", "n_chips=512",
                     "--minimize", "pipeline_exposed_time", "--over", "mesh_pipeline=1,2", "mesh_tensor=1",
                     "n_microbatches=2", "remat=block", "zero_stage=3", "mesh_data=1")  # fmt: skip
    assert "Best pipeline_exposed_time: 0 s" in output
    assert "+0.0 %" in output
    assert "N/A" in output


def test_a_model_typed_two_ways_is_one():
    """The plans of a search have the ids that the texts mean."""
    found = asked("inference", "Llama-3-70B,llama3-70b", ["H100-SXM", "h100-sxm"], (), ["batch=1,2"])
    assert [(each.model, each.hardware) for each in found.subjects] == [("llama3-70b", "h100-sxm")]


def test_an_objective_without_a_range_has_no_bar():
    """Of an input no published run says how far off it is: the plans that have the best are told, and nothing else."""
    output = command("optimize", "inference", "-m", "llama3-8b", "-H", "h100-sxm", "--maximize", "batch",
                     "--set", "n_chips=1", "--top", "1")  # fmt: skip
    assert "; no other plan has it:" in output
    assert "published runs" not in output


def test_an_output_that_exists_stays_without_force(tmp_path):
    """Without --force a table that exists is refused and kept to the byte."""
    path = tmp_path / "table.csv"
    path.write_text("mine")
    words = "sweep", "inference", "-m", "llama3-70b", "-H", "h100-sxm", "--over", "batch=1..4", "-o", path
    assert "--force" in refused(*words)
    assert path.read_text() == "mine"


def test_a_workbook_that_takes_no_plans_is_refused_before_the_search(tmp_path):
    """No workbook, one of another kind, one without the model, and the table itself: one line, and no table is left."""
    text, other = tmp_path / "text.xlsx", tmp_path / "other.xlsx"
    text.write_text("no workbook")
    invoked("sweep", "matmul", "-H", "h100-sxm", "--over", "tokens=1,2", "-o", str(other))
    own, built = tmp_path / "own.csv", tmp_path / "plan.xlsx"
    own.write_text("id,n_layers,d_model,d_ff,n_heads,n_kv_heads,head_dim,vocab\nmine,2,256,1024,4,2,64,32000\n")
    write_small(built, ["llama3-8b"], ["h100-sxm"], ["transformer"])
    table = tmp_path / "table.xlsx"
    for path, said in ((text, "it is a text"), (other, "header of Inputs"), (built, "below the last one"),
                       (table, "name the same file")):  # fmt: skip
        search = ["optimize", "inference", "-m", "mine", "-H", "h100-sxm", "--models", str(own), "--set", "n_chips=1"]
        assert said in refused(*search, "--minimize", COST, "-o", table, "--workbook", path)
        assert not table.exists()


def test_a_bound_as_objective_is_said_to_be_one():
    """Who minimises a bound is told which row is what to expect."""
    output = command("optimize", "training", "-m", "llama3-70b", "-H", "h100-sxm", "--set", "n_chips=512",
                     "--minimize", "step_time_lower_bound", "--top", "1")  # fmt: skip
    assert "step_time_lower_bound is a bound" in output
    assert STEP in output


@pytest.mark.parametrize(("refused", "said"), [({"check_axes": 3, "fits_memory": 2}, "one or more"), ({"a": 3}, "one")])
def test_how_many_plans_fail_is_said_beside_the_checks(refused, said):
    """A plan that fails two checks counts with each, so that the plans that fail are said apart from the counts."""
    wanted = asked("training", "llama3-70b", ["h100-sxm"], [], [])
    found = Found([], 10, 7, Counter(refused), 0)
    assert search_text.passed(wanted, found) == f"7 pass every check, 3 fail {said}"
    assert not search_text.unnamed(found)
    many = Found([], 10, 7, Counter(dict.fromkeys("abcdef", 1)), 0)
    assert search_text.unnamed(many) == "and by 2 more checks"
    assert search_text.passed(wanted, Found([], 7, 7, Counter(), 0)) == "7 pass every check"


def test_one_plan_passes_and_one_fails() -> None:
    """A single plan is said in the singular."""
    wanted = asked("training", "llama3-70b", ["h100-sxm"], [], [])
    assert search_text.passed(wanted, Found([], 2, 1, Counter(a=1), 0)) == "1 passes every check, 1 fails one"


def test_what_memory_the_best_plans_leave_is_told() -> None:
    """By hand: Llama 3 8B's 16.06 GB of weights in bf16 and 64 of 8,192 tokens of 131,072 bytes, 68.72 GB, leave 1.12
    GB of an H100's 80 GiB, which is said with what keeps a tenth free; of 32 sequences half is left, and nothing said.
    """
    ask = ("optimize", "inference", "-m", "llama3-8b", "-H", "h100-sxm", "--alone", "--over")
    output = command(*ask, "batch=64", "--minimize", "cost_per_million_tokens_expected")
    assert re.search(r"memory left.*\n.*84.78 GB/chip +1.119 GB/chip", output)
    assert "leaves 1.12 GB of a chip's 85.9 GB to buffers" in output
    assert "--set hbm_reserve_bytes=8.6GB keeps a tenth free" in output
    for more in (("batch=32",), ("batch=64", "--set", "hbm_reserve_bytes=1GB")):
        output = command(*ask, *more, "--minimize", "cost_per_million_tokens_expected")
        assert "memory left" in output
        assert "keeps a tenth free" not in output


def test_the_largest_batch_that_was_tried_is_told() -> None:
    """Llama 3 8B on 512 H100s holds far more sequences than the most that a search tries: the best plan has that most,
    and larger ones are to be asked for; on 8 the memory is the limit.
    """
    for chips, is_told in ((512, True), (8, False)):
        wanted = asked(
            "inference", "llama3-8b", ["h100-sxm"], [f"n_chips={chips}", "context_len=1024", "prompt_len=128"]
        )
        found = optimum(wanted, [objective(wanted.template, "output_tokens_per_second_expected", is_least=False)], 2)
        told = " ".join(search_text.of_search(wanted, found))
        assert ("has the largest batch that was tried, 65,536" in told) is is_told

"""What to change first: values that, typed, make a plan fit or a failed check hold, and let no other check fail."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from planner.formulas import library
from planner.formulas.advice import Advice, changes, in_words, mends
from planner.formulas.evaluation import Results, evaluate
from planner.formulas.headlines import memory_check
from planner.formulas.lookups import facts
from planner.formulas.template import Template
from tests.plans_together import Inputs, Planned, together

Plans = Callable[[int, int], Iterator[Planned]]
CHIPS, FITS = "n_chips", "check_fits_memory"
BY_CHIPS = {FITS, "check_heads", "check_layout"}  # checks that other chips can make hold
SERVED = ("llama3-70b", "deepseek-v3", "mixtral-8x7b", "gemma3-27b", "qwen3-next-80b-a3b", "qwen2.5-7b", "falcon-7b",
          "qwen2.5-32b", "minimax-m3", "glm-5.2")  # fmt: skip
TRAINED = ("llama3-70b", "qwen2.5-7b", "mixtral-8x7b", "deepseek-v2", "deepseek-v3", "falcon-7b")
UNTOLD = {  # of the models' and the chips' own numbers, or with no one value that makes them hold
    "check_layers", "check_moe_layers", "check_experts_active", "check_local_layers", "check_params_published",
    "check_slice_exists", "check_price_basis", "check_axes", "fits_memory", "fits_memory_at_work", FITS,
    "check_goodput", "check_interval",
}  # fmt: skip


def read_alone(name: str) -> Template:
    """A template's checks of a plan and its advice, with what they read."""
    whole = library.load(name)
    said = [each for advice in (*changes(whole), *mends(whole).values()) for each in (advice.first, *advice.along)]
    checks = [row.name for row in whole.rows if row.is_of_plan]
    return whole.reduced(dict.fromkeys([*checks, *(each.row for each in said if each.row)]))


def serving_plans(count: int, seed: int) -> Iterator[Planned]:
    """Models on chips, half of them in a layout of their own, some with ways that don't make the chips."""
    draw = random.Random(seed)
    for _ in range(count):
        data, stages, ways = (
            draw.choice((1, 1, 2, 3, 4)),
            draw.choice((1, 1, 2, 99)),
            draw.choice((1, 2, 3, 4, 6, 8, 16)),
        )
        layout: Inputs = {"serve_data": data, "serve_pipeline": stages, CHIPS: data * stages * ways}
        layout["cache_by_batch"] = draw.choice((0, 0, 1))
        layout |= draw.choice(({}, {"serve_tensor": ways}, {"serve_expert": data * ways}, {"serve_expert": 16},
                               {"serve_tensor": ways + 1}, {"prefill_chips": 6, "prefill_tensor": 4}))  # fmt: skip
        plain: Inputs = {CHIPS: draw.choice((1, 2, 4, 6, 8, 12, 20, 64)), "kv_head_sharding": draw.choice((0, 1))}
        yield draw.choice(SERVED), draw.choice(("h100-sxm", "a100-sxm-40", "l4", "tpu-v5e", "tpu-v5p")), {
            **draw.choice((layout, plain)), "batch": draw.choice((1, 8, 64, 256, 1000)), "prompt_len": 1024,
            "weight_dtype": draw.choice(("fp8", "bf16")), "context_len": draw.choice((512, 1024, 8192, 32768, 131072)),
            "hbm_reserve_bytes": draw.choice((0, 4e9)),
        }  # fmt: skip


def training_plans(count: int, seed: int) -> Iterator[Planned]:
    """Models on chips, with ways that may not split heads, experts or sequences."""
    draw = random.Random(seed)
    for _ in range(count):
        ways = {"mesh_tensor": draw.choice((1, 2, 3, 5, 6, 8, 12)), "mesh_expert": draw.choice((1, 1, 1, 3, 6, 7)),
                "mesh_fsdp": draw.choice((1, 8, 64)), "mesh_data": draw.choice((1, 2)),
                "mesh_pipeline": draw.choice((1, 1, 1, 4, 90)),
                "mesh_context": draw.choice((1, 1, 3))}  # fmt: skip
        yield draw.choice(TRAINED), draw.choice(("h100-sxm", "tpu-v5p")), {
            **ways, CHIPS: float(np.prod(list(ways.values()))) * draw.choice((1, 1, 1, 2)),
            "batch_tokens": draw.choice((2.0**16, 2.0**22, 2.0**22 + 0.5)), "seq_len": draw.choice((4096, 2.0**18)),
            "context_kind": draw.choice(("ring", "all_to_all", "rings")), "slices_are": draw.choice(("data", "pods")),
            "pipeline_interleave": draw.choice((1, 1, 200)), "n_microbatches": draw.choice((1, 4, 4.5)),
            "has_whole_experts": draw.choice((0, 1)), "zero_stage": draw.choice((1, 2, 3)),
            "remat": draw.choice(("block", "blocks")),
        }  # fmt: skip


def large_training_plans(count: int, seed: int) -> Iterator[Planned]:
    """Models on few chips, in layouts that split their heads and experts; on the last chip a slice has 256 at most."""
    draw = random.Random(seed)
    for _ in range(count):
        ways = {
            name: draw.choice((1, 1, 2, 4)) for name in ("mesh_tensor", "mesh_expert", "mesh_pipeline", "mesh_data")
        }
        ways["mesh_fsdp"] = draw.choice((1, 4, 16))
        yield draw.choice(("llama3-8b", "mixtral-8x7b")), draw.choice(("h100-sxm", "tpu-v5p", "tpu-v5e")), {
            **ways, CHIPS: float(np.prod(list(ways.values()))), "seq_len": 4096, "zero_stage": draw.choice((1, 2, 3)),
            "batch_tokens": 4096 * 2.0 ** draw.choice((4, 8, 12)), "n_microbatches": draw.choice((1, 4)),
        }  # fmt: skip


def failing(template: Template, found: Results) -> list[str]:
    """The plan's checks that fail, in their order."""
    return [row.name for row in template.rows if row.is_of_plan and float(np.ravel(found[row.name])[0]) == 0]


def typed(template: Template, advice: Advice, found: Results) -> Inputs:
    """What the advice says to type: `serve_data 8`, `16 chips`, or a text; empty where there is no value."""
    made: Inputs = {}
    for each in (advice.first, *advice.along):
        number = found.number(each.row) if each.row else None
        if each.row and not number:
            continue
        words = f"{each.before}{'' if number is None else f'{number:.15g}'}{each.after}"
        names = [name for name in re.findall(r"\w+", words) if name in template.by_name and name != "block"]
        if not each.row and len(names) != 1:
            made |= {name: float(np.round(found.number(name) or 0)) for name in names}  # as whole numbers
        elif not each.row:
            made[names[0]] = re.findall(rf"{names[0]} (\w+)", words)[0]
        else:
            made |= dict.fromkeys(names or [CHIPS], number)
    return {name: float(value) if str(value).isdigit() else value for name, value in made.items()}


@pytest.mark.parametrize(("name", "plans"), [("inference", serving_plans), ("training", training_plans)])
def test_plans_that_are_evaluated_together_are_as_each_alone(name: str, plans: Plans) -> None:
    """Every row of each plan has the number, and each text the code, that it has where the plan is evaluated alone."""
    template, drawn = read_alone(name), list(plans(40, 6))
    for (model, chip, inputs), found in list(zip(drawn, together(template, drawn), strict=True))[::8]:
        alone = evaluate(template, facts(template, model, chip), inputs)
        assert [row for row in alone if not np.allclose(found[row], alone[row], rtol=1e-12, equal_nan=True)] == []


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("name", "plans", "most", "first"),
    [("inference", serving_plans, 400, "more_chips"), ("training", large_training_plans, 150, "more_fsdp_chips")],
)
def test_what_would_fit_fits(name: str, plans: Plans, most: int, first: str, seed: int) -> None:
    """Of random plans that don't fit: each change, typed with what is said beside it, makes the plan fit, and no check
    fails that didn't before.
    """
    template, seen, fits = read_alone(name), Counter[str](), memory_check(name)
    tried: list[tuple[list[str], Planned]] = []
    drawn = list(plans(most, seed))
    for (model, chip, inputs), found in zip(drawn, together(template, drawn), strict=True):
        if fits not in (was := failing(template, found)):
            continue
        for advice in changes(template):
            if more := typed(template, advice, found):
                seen[advice.first.row] += 1
                tried.append((was, (model, chip, inputs | more)))
    for (was, plan), found in zip(tried, together(template, [plan for _, plan in tried]), strict=True):
        now = failing(template, found)
        assert fits not in now, plan
        assert set(now) <= set(was), plan
    assert seen[first] > 10
    assert len(seen) >= 2


def test_the_chips_that_fit_are_the_fewest() -> None:
    """Of random plans of models whose heads are a power of two or 28: fewer chips, the other ways kept, fail a check;
    where none are told, none of up to 400 a group make the plan pass.
    """
    template, told = read_alone("inference"), 0
    ways = np.arange(1.0, 401)
    for model, chip, inputs in serving_plans(400, 4):
        if model not in ("llama3-70b", "deepseek-v3", "mixtral-8x7b", "qwen2.5-7b"):
            continue
        known = facts(template, model, chip)
        found = evaluate(template, known, inputs)
        was = failing(template, found)
        if FITS not in was or {"check_kv_heads", "check_expert_ways"} & set(was):
            continue
        groups = float(inputs.get("serve_data", 1)) * float(inputs.get("serve_pipeline", 1))
        tried: dict[str, object] = {**inputs, CHIPS: ways * groups}
        tried |= {"serve_tensor": ways} if "serve_tensor" in inputs else {}
        if float(inputs.get("serve_expert", 1)) > 1:
            tried["serve_expert"] = ways * float(inputs["serve_data"])
        results = evaluate(template, known, tried)
        wanted = [row.name for row in template.rows if row.is_of_plan and (row.name not in was or row.name in BY_CHIPS)]
        holds = np.logical_and.reduce([np.broadcast_to(results[name], len(ways)) != 0 for name in wanted])
        least = next(iter(ways[holds] * groups), None)
        more = found.number("more_chips")
        assert (more if more and more <= 400 * groups else None) == least, (model, chip, inputs)
        told += least is not None
    assert told > 8


@pytest.mark.parametrize(("name", "plans", "most"), [("inference", serving_plans, 8), ("training", training_plans, 11)])
def test_what_mends_a_check_makes_it_hold(name: str, plans: Plans, most: int) -> None:
    """Of random plans: what is said of the first check that fails, typed, makes it hold."""
    template, seen = read_alone(name), Counter[str]()
    said, drawn = mends(template), list(plans(200, 5))
    tried: list[tuple[str, list[str], Planned]] = []
    for (model, chip, inputs), found in zip(drawn, together(template, drawn), strict=True):
        was = failing(template, found)
        for check in was:
            if check in said and (more := typed(template, said[check], found)):
                seen[check] += 1
                tried.append((check, was, (model, chip, inputs | more)))
    for (check, was, plan), found in zip(tried, together(template, [plan for *_, plan in tried]), strict=True):
        now = failing(template, found)
        assert check not in now, (check, plan)
        assert check not in BY_CHIPS or set(now) <= set(was), (check, plan)
    assert len(seen) >= most, seen


@pytest.mark.parametrize("name", ["inference", "training", "fleet", "goodput"])
def test_each_check_of_a_plan_has_what_mends_it(name: str) -> None:
    """Only checks of the models' and chips' own numbers have none, and those that no one value makes hold."""
    template = library.load(name)
    told = mends(template)
    assert {row.name for row in template.rows if row.is_of_plan} - told.keys() <= UNTOLD
    assert told.keys() <= template.by_name.keys()
    assert memory_check(name) not in told
    for advice in (*told.values(), *changes(template)):
        for each in (advice.first, *advice.along):
            assert not each.row or each.row in template.by_name
            assert bool(each.row) == (each != (each.before, "", "")), each


@pytest.mark.parametrize(
    ("model", "ways", "said"),
    [
        ("llama3-8b", 8, "mesh_expert 1, with mesh_fsdp 64"),
        ("mixtral-8x7b", 16, "mesh_expert 8, with mesh_fsdp 16"),
        ("mixtral-8x7b", 9, "mesh_expert 8, with mesh_fsdp 9"),
        ("mixtral-8x7b", 5, "mesh_expert 8, with n_chips 64"),
    ],
)
def test_more_expert_ways_than_experts_become_fsdp_ways(model: str, ways: int, said: str) -> None:
    """Expert ways that a model has no experts for, as after choosing another, become FSDP ways of the same chips."""
    template = library.load("training")
    inputs = {CHIPS: 8.0 * ways, "mesh_fsdp": 8.0, "mesh_expert": float(ways), "hbm_bytes": 1e13}
    assert in_words(evaluate(template, facts(template, model, "h100-sxm"), inputs)) == said

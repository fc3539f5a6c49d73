"""A search finds what is published: the scaling book's optima, and the recipes of Llama 3 and DeepSeek-V3."""

from __future__ import annotations

import itertools
import math

import pytest

from planner.search import layout_space
from planner.search.found import objective
from planner.search.optimum import optimum
from tests.searches import STEP, asked


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
    """Section 3.2: pipeline 16 and experts over 64 on 2,048 H800, at the best microbatches and what is kept of them.

    A token goes to four nodes at most (section 2.1.2), in fp8 (section 3.3.3).
    """
    settings = ["n_chips=2048", "batch_tokens=62914560", "seq_len=4096", "compute_dtype=fp8"]
    settings += ["routed_nodes=4", "dispatch_dtype=fp8"]
    wanted = asked("training", "deepseek-v3", ["h800-sxm"], settings)
    aim = [objective(wanted.template, STEP, is_least=True)]
    best = min((plan.results for plan in optimum(wanted, aim, 5).plans), key=lambda each: each.value(STEP))
    ways = ["mesh_tensor=1", "mesh_pipeline=16", "mesh_expert=64"]
    recipe = optimum(asked("training", "deepseek-v3", ["h800-sxm"], settings, ways), aim, 5).plans
    assert min(plan.results.value(STEP) for plan in recipe) <= best.value(f"{STEP}_high")


def test_copies_of_experts_are_counted_where_experts_lie_over_all_chips():
    """256 experts and 32 copies lie over 288 chips, as the template's check allows; without copies over 144."""
    for copies, most in ((32, 288), (0, 144)):
        settings = ["n_chips=288", "batch=4608", f"redundant_experts={copies}", "serve_tensor=1"]
        wanted = asked("inference", "deepseek-v3", ["h800-sxm"], settings)
        space = layout_space.space(wanted, wanted.subjects[0], alone=False)
        ways = {space.plan(number)["serve_expert"] for number in range(space.count)}
        assert max(ways) == most, copies


@pytest.mark.parametrize(
    ("chip", "count", "sequences", "slices"),
    [("tpu-v6e", 384, 768, 3), ("tpu-v6e", 640, 640, 5), ("tpu-v5p", 96, 768, 3), ("tpu-v5p", 192, 768, 1),
     ("tpu-v6e", 512, 512, 2), ("tpu-v6e", 384, 512, 2)],
)  # fmt: skip
def test_a_search_has_slices_that_exist(chip, count, sequences, slices):
    """Slices of v6e have a power of two of chips up to 256, of v5p one up to a cube of 64, or whole cubes; where the
    sequences can't be shared among such, the fewest slices that are large enough.
    """
    settings = [f"n_chips={count}", f"batch_tokens={sequences * 4096}", "seq_len=4096"]
    wanted = asked("training", "llama3-70b", [chip], settings)
    space = layout_space.space(wanted, wanted.subjects[0], alone=False)
    assert space.plan(0)["n_slices"] == slices

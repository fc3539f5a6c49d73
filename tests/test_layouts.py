"""Layouts of serving and training that were published, with their numbers: none of them is fitted to."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from planner.formulas import library
from planner.formulas.evaluation import Results, evaluate
from planner.formulas.lookups import facts
from planner.formulas.template import Template
from tests.plans_together import Planned, together


class Published(NamedTuple):
    """A plan that somebody ran: its model, chip and inputs, what was measured, and where that is said."""

    model: str
    chip: str
    inputs: dict[str, float | str]
    output: str
    measured: float
    source: str
    template: str = "inference"
    off: float = 0.15  # of the expected time, at most


FP8 = dict.fromkeys(("weight_dtype", "compute_dtype", "dispatch_dtype"), "fp8")
ROUTING = {"routed_nodes": 4, "redundant_experts": 32}


def groups(chips: int, **inputs: float) -> dict[str, float | str]:
    """DeepSeek-V3 over some GPUs: each attends alone, the experts lie over all of them."""
    return {"n_chips": chips, "serve_data": chips, "serve_expert": chips, **FP8, **ROUTING, **inputs}


APART = {"prefill_chips": 32, "prefill_tensor": 1}
PUBLISHED = [
    # 14,800 tokens a second of a node at 21 tokens a second of a sequence are 705 sequences; 18 nodes.
    Published(
        "deepseek-v3", "h800-sxm",
        groups(144, batch=12686, context_len=4989, prompt_len=4489, generate_len=1000, **APART),
        "time_per_output_token_expected", 1 / 21,
        "DeepSeek-V3/R1 Inference System Overview, 2025: 20 to 22 tokens a second, 14.8k a node, 4,989 in the cache",
    ),
    # 14,700 tokens a second of a node at 50 ms a token are 735 sequences.
    Published(
        "deepseek-v3", "h800-sxm",
        groups(144, batch=13230, context_len=5120, prompt_len=4096, generate_len=2048, **APART),
        "time_per_output_token_expected", 0.05,
        "RTP-LLM, DeepSeek Replay Tech Report, 2025: 14.7k tokens a second of an H800 node below 50 ms, 4K in, 2K out",
    ),
    # 22,282 tokens a second of a node from 256 sequences a GPU.
    Published(
        "deepseek-v3", "h100-sxm",
        groups(72, batch=18432, context_len=2050, prompt_len=2000, generate_len=100, **APART),
        "decode_step_time_expected", 18432 / (22282 * 9),
        "SGLang, Deploying DeepSeek on 96 H100, 2025: 22.3k tokens a second of a node, nine nodes decode",
    ),
    Published(
        "deepseek-v3", "h100-sxm",
        groups(32, batch=128, prompt_len=4096, generate_len=1),
        "prefill_batch_time_expected", 128 * 4096 / (50302 * 4),
        "SGLang, Deploying DeepSeek on 96 H100, 2025: 50,302 prompt tokens a second of a node, 4K each",
    ),
    # 480 sequences a GPU, twelve nodes; experts have no node limit.
    Published(
        "kimi-k2", "h200-sxm",
        {**groups(96, batch=46080, context_len=2050, prompt_len=2000, generate_len=100, **APART), "routed_nodes": 0,
         "redundant_experts": 96},
        "decode_step_time_expected", 46080 / 288e3,
        "SGLang, Deploying Kimi K2 on 128 H200, 2025: 288k tokens a second of twelve nodes that decode",
    ),
    Published(
        "kimi-k2", "h200-sxm",
        {**groups(32, batch=128, prompt_len=2000, generate_len=1), "routed_nodes": 0},
        "prefill_batch_time_expected", 128 * 2000 / 224e3,
        "SGLang, prompts of Kimi K2 on 128 H200, 2025: 224k prompt tokens a second of four nodes, 2,000 each",
        off=0.17,  # how evenly the experts of prefill were loaded is not said
    ),
    Published(
        "palm-540b", "tpu-v4",
        {"n_chips": 64, "tensor_axes": 3, "serve_tensor": 64, "has_2d_weights": 1, "cache_by_batch": 1, "batch": 64,
         "weight_dtype": "int8", "context_len": 2048, "prompt_len": 1984, "generate_len": 64},
        "decode_step_time_expected", 0.0285,
        "Pope et al. 2022, table 2: 28.5 ms a token, 64 TPU v4, int8 weights in two dimensions, attention by batch",
    ),
]  # fmt: skip


def results(plan: Published) -> Results:
    """All numbers of a published plan."""
    template = library.load(plan.template)
    return evaluate(template, facts(template, plan.model, plan.chip), dict(plan.inputs))


@pytest.mark.parametrize("plan", PUBLISHED, ids=lambda plan: plan.source.split(",")[0])
def test_a_published_plan_ends_up_in_the_range_of_what_is_expected(plan: Published) -> None:
    """The measured time is above its bound, within the range, and near the expected time."""
    found = results(plan)
    low, expected, high = (found.value(plan.output + end) for end in ("_low", "", "_high"))
    assert low < plan.measured < high
    assert expected == pytest.approx(plan.measured, rel=plan.off)
    assert found.value("check_fits_memory") == 1
    assert found.value("check_layout") == found.value("check_expert_ways") == 1


def test_attention_by_batch_pays_for_a_single_key_head() -> None:
    """PaLM's cache over one head would be read by every chip: split by the batch, a step is shorter by a third."""
    plan = PUBLISHED[-1]
    by_heads = evaluate(library.load("inference"), facts(library.load("inference"), plan.model, plan.chip),
                        {**plan.inputs, "cache_by_batch": 0})  # fmt: skip
    assert results(plan).value(plan.output) < 0.7 * by_heads.value(plan.output)


def test_expert_ways_are_the_chips_of_a_stage() -> None:
    """Experts lie over all chips of a stage: fewer ways would have meant as many, and are a failed check."""
    template = library.load("inference")
    found = evaluate(
        template, facts(template, "deepseek-v3", "h200-sxm"),
        {"n_chips": 32, "serve_pipeline": 2, "serve_data": 16, "serve_expert": np.array([1, 5, 8, 16, 32.0])},
    )  # fmt: skip
    assert found["check_expert_ways"].tolist() == [1, 0, 0, 1, 0]


def test_tensor_ways_are_no_more_than_columns() -> None:
    """A chip of the tensor ways has a column of the widest matrix: Llama 3 8B has 14,336; in two dimensions more."""
    template = library.load("inference")
    chips = {"n_chips": np.array([14336, 14344.0])}
    for more, holds in (({}, [1, 0]), ({"has_2d_weights": 1}, [1, 1])):
        found = evaluate(template, facts(template, "llama3-8b", "h100-sxm"), {**chips, **more})
        assert np.broadcast_to(found["check_tensor_ways"], 2).tolist() == holds


def random_plans(count: int) -> Iterator[Planned]:
    """Models on chips, half of them in a layout of their own."""
    draw = random.Random(70)
    models = "llama3-70b", "deepseek-v3", "mixtral-8x7b", "gemma3-27b", "qwen3-next-80b-a3b"
    for _ in range(count):
        data, stages, ways = (draw.choice(some) for some in ((1, 2, 3, 4), (1, 1, 2), (1, 4, 8, 16)))
        layout = {
            "serve_data": data, "serve_pipeline": stages, "n_chips": data * stages * ways,
            "serve_expert": draw.choice((1, data * ways)), "cache_by_batch": draw.choice((0, 1)),
        }  # fmt: skip
        plain = {name: draw.choice((0, 1)) for name in ("kv_head_sharding", "cache_by_batch")}
        plain["n_chips"] = draw.choice((1, 8, 64))
        yield draw.choice(models), draw.choice(("h100-sxm", "b200-sxm", "tpu-v5p")), {
            **draw.choice((layout, plain)), "batch": draw.choice((1, 8, 256)), "weight_dtype": "fp8",
            "context_len": draw.choice((1024, 32768)), "hbm_reserve_bytes": draw.choice((0, 4e9)),
        }  # fmt: skip


@cache
def told_of(*names: str) -> Template:
    """What rows of inference read, and they."""
    return library.load("inference").reduced(names)


def that_fit(model: str, chip: str, inputs: dict[str, float | str], name: str, values: np.ndarray) -> np.ndarray:
    """Those of some values of an input at which weights and caches fit."""
    template = told_of("check_fits_memory")
    known = {name: value for name, value in {**inputs, name: values}.items() if name in template.by_name}
    found = evaluate(template, facts(template, model, chip), known)
    return values[np.broadcast_to(found["check_fits_memory"], len(values)) == 1]


def test_the_largest_batch_and_the_smallest_slice_are_at_the_edge() -> None:
    """Of random plans, whatever their own batch: a sequence more doesn't fit, nor half of the slice, whose chips are a
    power of two for each data group and stage: three groups need 3, 6 or 12 chips.
    """
    plans = list(random_plans(100))
    results = together(told_of("max_batch", "min_slice_chips"), plans)
    for (model, chip, inputs), found in zip(plans, results, strict=True):
        fitting = that_fit(model, chip, inputs, "batch", np.arange(1.0, 20001))
        assert min(found.number("max_batch"), 20000) == max(fitting, default=0), (model, chip, inputs)
        groups = float(inputs.get("serve_data", 1)) * float(inputs.get("serve_pipeline", 1))
        slices = that_fit(model, chip, inputs, "n_chips", groups * 2.0 ** np.arange(15))
        least = min(slices, default=None)
        assert found.number("min_slice_chips") == least, (model, chip, inputs)


@pytest.mark.parametrize(
    "more", [{}, {"kv_head_sharding": 1}, {"serve_tensor": 16}, {"serve_tensor": 16, "cache_by_batch": 1}]
)
def test_at_the_parity_batch_the_cache_takes_as_long_as_the_weights(more: dict[str, float]) -> None:
    """However the cache is shared, and whatever the batch is now."""
    template = library.load("inference")
    known, plan = facts(template, "llama3-70b", "h100-sxm"), {"n_chips": 16, **more}
    for batch in (1, 64):
        parity = evaluate(template, known, {**plan, "batch": batch}).number("cache_parity_batch")
        there = evaluate(template, known, {**plan, "batch": parity})
        assert there.number("kv_time") == pytest.approx(there.number("param_time"), rel=1e-12)


def test_without_a_layout_all_chips_are_tensor_ways() -> None:
    """A plan that states no ways has the numbers of one whose tensor ways are all its chips, but for the cache."""
    template = library.load("inference")
    plan = {"n_chips": 16, "batch": 32, "weight_dtype": "fp8"}
    blank, typed = (
        evaluate(template, facts(template, "deepseek-v3", "h200-sxm"), {**plan, **more})
        for more in ({}, {"serve_tensor": 16})
    )
    assert (blank.value("max_batch"), typed.value("max_batch")) == (2753, 172)
    for name in ("param_time", "decode_comm_time", "prefill_time_expected", "weight_bytes_per_chip"):
        assert blank.value(name) == typed.value(name), name


def flops_of(model: str, tokens: float, seq_len: float, is_causal: float = 1) -> float:
    """The work of a step with attention, of which those who report TFLOP/s divide by their step's time."""
    template = library.load("training")
    plan = {"batch_tokens": tokens, "seq_len": seq_len, "is_causal": is_causal}
    return float(evaluate(template, facts(template, model, "h100-sxm"), plan)["step_flops"])


def llama(chips: int, seq_len: int, tflops: float, **mesh: float) -> Published:
    """A row of Llama 3's table 4: 16M tokens, tensor 8, pipeline 16, 126 layers in 128 chunks."""
    tokens = 16 * 2**20
    microbatches = tokens / seq_len / mesh["mesh_fsdp"]
    inputs = {"mesh_tensor": 8, "mesh_pipeline": 16, "pipeline_interleave": 8, "zero_stage": 1, "remat": "none"}
    return trained(
        "llama3.1-405b", chips, tokens, flops_of("llama3.1-405b", tokens, seq_len) / (chips * tflops * 1e12),
        f"Llama 3, table 4: {tflops:.0f} TFLOP/s of each of {chips} H100",
        seq_len=seq_len, n_microbatches=microbatches, stack="tuned", **inputs, **mesh,
    )  # fmt: skip


def trained(model: str, chips: int, tokens: float, measured: float, source: str, **more: float | str) -> Published:
    """A published training step."""
    chip = str(more.pop("chip", "h100-sxm"))
    inputs = {"n_chips": chips, "batch_tokens": tokens, "optimizer": "adam_master", **more}
    return Published(model, chip, inputs, "step_time_expected", measured, source, "training")


def mixtral(model: str, chips: int, tflops: float, **more: float) -> Published:
    """A mapping of Megatron Core's README or of its Model Zoo: 256 sequences; it counts attention without its mask."""
    measured = flops_of(model, 2**20, 4096, is_causal=0) / (chips * tflops * 1e12)
    source = f"Megatron Core MoE, 2025: {model} at {tflops} TFLOP/s"
    return trained(model, chips, 2**20, measured, source, stack="tuned", **SHARED, **more)


def qwen(measured: float, name: str, **more: float | str) -> Published:
    """Qwen3 235B on 256 H100: experts lie whole on chips of tensor and data ways."""
    source = f"Megatron MoE Model Zoo, Qwen3 {name}: 2,048 sequences of 4,096 on 256 H100, 2025"
    plan = {**SHARED, "has_whole_experts": 1, "stack": "tuned", **more}
    return trained("qwen3-235b-a22b", 256, 2**23, measured, source, **plan)


SHARED: dict[str, float | str] = {"seq_len": 4096, "zero_stage": 1, "remat": "none", "shares_dense_state": 1}
DEEPSEEK = trained(
    "deepseek-v3", 2048, 15360 * 4096, 15360 * 4096 * 2.664e6 * 3600 / (14.8e12 * 2048),
    "DeepSeek-V3, sections 3.2 and 4.2: 14.8T tokens in 2.664M hours of an H800", chip="h800-sxm", compute_dtype="fp8",
    mesh_pipeline=16, mesh_expert=64, mesh_data=2, n_microbatches=120, routed_nodes=4, dispatch_dtype="fp8",
    n_mtp_layers=1,
    **{**SHARED, "remat": "minimal_with_context"},  # section 3.2.3: norms and up-projections are repeated
)  # fmt: skip
TRAINED = [
    llama(8192, 8192, 430, mesh_fsdp=64),
    llama(16384, 8192, 400, mesh_fsdp=128),
    llama(16384, 131072, 380, mesh_fsdp=8, mesh_context=16),
    DEEPSEEK,
    mixtral("mixtral-8x7b", 64, 468, mesh_expert=8, mesh_data=2, mesh_pipeline=4, pipeline_interleave=8,
            n_microbatches=16),
    mixtral("mixtral-8x22b", 128, 455, mesh_tensor=2, mesh_expert=4, mesh_data=2, mesh_pipeline=8, n_microbatches=32,
            has_whole_experts=1, pipeline_interleave=7),
    qwen(19.7, "EP 32 over nodes", mesh_tensor=2, mesh_expert=16, mesh_pipeline=8, pipeline_interleave=4,
         n_microbatches=128),
    qwen(24.2, "EP 8 and PP 32", mesh_tensor=2, mesh_expert=4, mesh_pipeline=32, pipeline_interleave=3,
         n_microbatches=512),
    qwen(29.0, "EP 8 and TP 4", mesh_tensor=4, mesh_expert=2, mesh_data=4, mesh_pipeline=8, pipeline_interleave=4,
         n_microbatches=256),
    trained("palm-540b", 6144, 2**22, 2**22 / 238.3e3,
            "PaLM, section 4: 238.3k tokens a second of two pods of 3,072 TPU v4", chip="tpu-v4", n_slices=2,
            mesh_tensor=12, mesh_fsdp=256, seq_len=2048, remat="block", optimizer="adam"),
    trained("gpt3-175b", 12288, 6144 * 2048, 6.34, "MegaScale, table 2: 6.34 s of 12,288 A100", chip="a100-sxm-80",
            mesh_tensor=8, mesh_pipeline=8, mesh_data=192, n_microbatches=32, pipeline_interleave=6, seq_len=2048,
            remat="selective", zero_stage=1, stack="tuned"),
]  # fmt: skip
TOO_SLOW = [
    # FSDP over nodes hides nearly all of its gathers.
    qwen(17.6, "EP 8 and FSDP", mesh_tensor=2, mesh_expert=4, mesh_fsdp=32, n_microbatches=4, zero_stage=3,
         remat="block"),
]  # fmt: skip


@pytest.mark.parametrize("plan", TRAINED, ids=lambda plan: plan.source.split(": ")[0] + f" {plan.inputs['n_chips']}")
def test_a_published_step_ends_up_in_the_range_of_what_is_expected(plan: Published) -> None:
    """The measured step is above its bound, within the range, and within 25 % of the expected one."""
    found = results(plan)
    bound, low, expected, high = (
        found.value(name)
        for name in (
            "step_time_lower_bound",
            "step_time_expected_low",
            "step_time_expected",
            "step_time_expected_high",
        )
    )
    assert bound < plan.measured
    assert low < plan.measured < high
    assert expected == pytest.approx(plan.measured, rel=0.25)
    assert found.value("check_mesh") == found.value("check_experts") == found.value("check_stages") == 1


def test_half_of_the_published_steps_are_within_15_percent() -> None:
    """The median error of the published training layouts is below 15 %."""
    errors = sorted(abs(results(plan).value(plan.output) / plan.measured - 1) for plan in TRAINED)
    assert errors[len(errors) // 2] < 0.15


@pytest.mark.parametrize("plan", TOO_SLOW, ids=lambda plan: plan.source.split(": ")[0] + f" {plan.inputs['n_chips']}")
def test_a_step_that_hides_more_than_is_expected_is_above_its_bound(plan: Published) -> None:
    """A published step is quicker than what is expected at best, and slower than its bound."""
    found = results(plan)
    assert found.value("step_time_lower_bound") < plan.measured < found.value("step_time_expected_low")


def test_deepseek_fits_only_where_expert_ways_share_the_dense_state() -> None:
    """With ZeRO-1 over all 128 data ways V3 fits 80 GB; with a copy on each expert way not."""
    copied = DEEPSEEK._replace(inputs={**DEEPSEEK.inputs, "shares_dense_state": 0})
    assert results(DEEPSEEK).value("fits_memory") == 1
    assert results(copied).value("fits_memory") == 0


@pytest.mark.parametrize(
    ("chip", "ways", "holds"),
    [("tpu-v5e", {"mesh_expert": 64}, 1), ("tpu-v5e", {"mesh_context": 32}, 0), ("tpu-v5e", {"mesh_expert": 512}, 0)],
)
def test_ways_lie_along_axes_of_a_pod(chip: str, ways: dict[str, float], holds: float) -> None:
    """64 expert ways fit two axes of a 16x16 pod; 512 don't, nor do 32 context ways along one."""
    plan = {"slice_x": 16, "slice_y": 16, "n_chips": 256, **ways}
    found = results(Published("deepseek-v3", chip, plan, "", 0, "", "training"))
    assert found.value("check_ways_on_axes") == holds


def test_exchanged_heads_split_evenly_over_the_context_ways() -> None:
    """64 heads over 8 tensor ways are 8 for the context ways: 8 of them exchange heads, 16 can't, a ring can."""
    plan = {"mesh_tensor": 8, "mesh_context": 16, "n_chips": 128}
    kinds = [("all_to_all", 8, 1), ("all_to_all", 16, 0), ("ring", 16, 1)]
    for kind, ways, holds in kinds:
        inputs = {**plan, "mesh_context": ways, "context_kind": kind}
        found = results(Published("llama3-70b", "h100-sxm", inputs, "", 0, "", "training"))
        assert found.value("check_context_heads") == holds

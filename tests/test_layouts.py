"""Serving layouts that were published, with their numbers: none of them is fitted to."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from planner.formulas import library
from planner.formulas.evaluation import Results, evaluate
from planner.formulas.lookups import facts


class Published(NamedTuple):
    """A plan that somebody ran: its model, chip and inputs, what was measured, and where that is said."""

    model: str
    chip: str
    inputs: dict[str, float | str]
    output: str
    measured: float
    source: str
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
        0.17,  # how evenly the experts of prefill were loaded is not said
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
    template = library.load("inference")
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

"""What Dashboard says of the first check that fails, and of what to change."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.workbooks import CHIPS, MODELS, by_name, few_rows, of_scenarios, scenario_lines

PLANS = {
    "context": "llama3-8b h100-sxm workload=inference n_chips=1 context_len=32768 prompt_len=8192",
    "prompt": "llama3-8b h100-sxm workload=inference n_chips=1 context_len=8192 prompt_len=16384",
    "heads": "llama3-8b h100-sxm workload=training n_chips=6 mesh_tensor=6",
    "apart": "llama3-70b h100-sxm workload=inference n_chips=8 prefill_chips=1",
    "halves": "llama3-8b h100-sxm workload=inference n_chips=4 serve_data=8",
    "tokens": "llama3-8b h100-sxm workload=training n_chips=1 mesh_tensor=1 batch_tokens=4194304.5",
    "experts": "llama3-8b h100-sxm workload=inference n_chips=16 context_len=8192 prompt_len=8192 serve_expert=16",
    "serve_heads": "qwen2.5-7b h100-sxm workload=inference n_chips=6 context_len=8192 prompt_len=8192",
    "typed": "llama3-70b h100-sxm workload=inference n_chips=2 context_len=8192 prompt_len=8192 serve_data=2 "
    "serve_tensor=1",
    "short": "llama3-8b h100-sxm workload=inference n_chips=1 context_len=4096 prompt_len=8192",
    "tensor": "llama3-8b h100-sxm workload=training n_chips=96 mesh_expert=1 mesh_tensor=6",
    "moe": "mixtral-8x7b h100-sxm workload=training n_chips=80 mesh_expert=5 mesh_tensor=1",
    "weights": "llama3-70b h100-sxm workload=training n_chips=64 mesh_fsdp=64 mesh_data=1 zero_stage=2 "
    "n_microbatches=1 batch_tokens=1048576",
    "data": "llama3-8b h100-sxm workload=training n_chips=8 mesh_fsdp=1 mesh_data=8 zero_stage=1 "
    "n_microbatches=1 batch_tokens=1048576",
    "copies": "deepseek-v3 h200-sxm workload=inference n_chips=64 batch=512 serve_expert=64",
    "few": "deepseek-v3 h200-sxm workload=inference n_chips=64 batch=16 serve_expert=64",
}
"""By id: model, chip and what is typed."""
Said = Callable[..., list[str]]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Said:
    """What Dashboard says in a row, of each plan that is named."""
    few = few_rows((*MODELS, "qwen2.5-7b", "deepseek-v3"), (*CHIPS, "h200-sxm"))
    grid = of_scenarios(
        tmp_path_factory.mktemp("plans"), "\n".join(scenario_lines(PLANS)), ["inference", "training"], few
    )
    rows, columns = by_name(grid, "Dashboard"), dict(zip(PLANS, "FGHIJKLMNOPQRSTU", strict=True))
    return lambda row, *plans: [str(grid["Dashboard"][f"{columns[plan]}{rows[row]}"]) for plan in plans]


def test_only_what_fails_is_said_in_numbers(said: Said) -> None:
    """Of a check of two comparisons the numbers are those of one that fails, in one unit on both sides; a number that
    should be whole keeps its fraction; what rounding leaves over is no number for a reader. Each number by hand: Llama
    3 8B has a context of 8,192 tokens and 32 heads, over 6 ways 5.33; the weights of Llama 3 70B and a prompt's cache
    of 2.7 GB take 143.8 GB of an H100's 80 GiB.
    """
    failed = said("verdict.failed", "context", "prompt", "heads", "apart", "halves", "tokens")
    assert [each.split(" first: ")[-1] for each in failed] == [
        "The context and the prompt are no longer than the model's context: 32,768 > 8,192",
        "The context and the prompt are no longer than the model's context",
        "Query heads split evenly over the tensor ways: 5.33, not whole",
        "Weights and a prompt fit on chips that prefill alone: 143.8 > 85.9 GB",
        "The ways make the chips",
        "Tokens and microbatches are whole numbers",
    ]


def test_more_chips_are_no_change_where_each_holds_the_whole_cache(said: Said) -> None:
    """DeepSeek-V3's latent cache has one head: each of 64 tensor ways holds all of it, 294 GB of 512 sequences, and so
    would each of 256. Fewer sequences fit, or 64 data ways, or a cache split over the batch; of 16 sequences all
    fits, and nothing is to be changed. By hand: a sequence's 8,192 tokens of 61 layers take 576 * 2 bytes each, 0.576
    GB, and the weights 671e9 * 2 / 64 bytes, 21 GB: (141 - 21) / 0.576 is 208.
    """
    copies, few = said("verdict.change", "copies", "few")
    assert copies == "batch 208 at most, or serve_data 64, or cache_by_batch 1"
    assert re.fullmatch(r"none; most time: Overheads of the layers, [\d.]+ of [\d.]+ ms", few)


def test_what_makes_a_failed_check_hold_is_named(said: Said) -> None:
    """Of a check that fails, what to change isn't the check again, but the value nearest to the plan's that holds, with
    what must agree with it: a dense model has one expert, 28 heads are split by 7 chips but not by 6, 32 by 8 tensor
    ways, 8 experts by 8; two groups of 2 * 70.6 GB take 4 chips of 80 GiB as 2 tensor ways each.
    """
    assert said("verdict.change", "experts", "serve_heads", "typed", "short", "tensor", "moe") == [
        "serve_expert 1",
        "n_chips 7",
        "n_chips 4, with serve_tensor 2",
        "context_len 8,192 or more",
        "mesh_tensor 8, with n_chips 128",
        "mesh_expert 8, with n_chips 128",
    ]


def test_where_no_chips_fit_it_is_said(said: Said) -> None:
    """ZeRO 2 keeps 141 GB of weights on each H100 of 80 GiB, however many there are; ZeRO 1 without FSDP ways shares
    the optimiser over data ways, so that more of these fit.
    """
    weights, data = said("verdict.change", "weights", "data")
    assert weights == "no change of chips or batch alone fits"
    assert ", with mesh_data " in data

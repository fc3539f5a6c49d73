"""What Dashboard says of the first check that fails, and of what to change."""

from __future__ import annotations

import re
from pathlib import Path

from tests.workbooks import CHIPS, MODELS, by_name, few_rows, of_scenarios

PLANS = """id,model,hardware,workload,n_chips,context_len,prompt_len,mesh_tensor,batch_tokens,prefill_chips,serve_data
context,llama3-8b,h100-sxm,inference,1,32768,8192,,,,
prompt,llama3-8b,h100-sxm,inference,1,8192,16384,,,,
heads,llama3-8b,h100-sxm,training,6,,,6,,,
apart,llama3-70b,h100-sxm,inference,8,,,,,1,
halves,llama3-8b,h100-sxm,inference,4,,,,,,8
tokens,llama3-8b,h100-sxm,training,1,,,1,4194304.5,,
"""
COPIES = """id,model,hardware,n_chips,batch,serve_expert
copies,deepseek-v3,h200-sxm,64,512,64
few,deepseek-v3,h200-sxm,64,16,64
"""

MENDED = """\
id,model,hardware,n_chips,context_len,prompt_len,serve_expert,serve_data,serve_tensor,mesh_expert,mesh_tensor
experts,llama3-8b,h100-sxm,16,8192,8192,16,,,,
heads,qwen2.5-7b,h100-sxm,6,8192,8192,,,,,
typed,llama3-70b,h100-sxm,2,8192,8192,,2,1,,
prompt,llama3-8b,h100-sxm,1,4096,8192,,,,,
tensor,llama3-8b,h100-sxm,96,,,,,,1,6
moe,mixtral-8x7b,h100-sxm,80,,,,,,5,1
"""

WHOLE = """id,model,hardware,n_chips,mesh_fsdp,mesh_data,zero_stage,n_microbatches,batch_tokens
weights,llama3-70b,h100-sxm,64,64,1,2,1,1048576
data,llama3-8b,h100-sxm,8,1,8,1,1,1048576
"""


def test_only_what_fails_is_said_in_numbers(tmp_path: Path) -> None:
    """Of a check of two comparisons the numbers are those of one that fails, in one unit on both sides; a number that
    should be whole keeps its fraction; what rounding leaves over is no number for a reader. Each number by hand: Llama
    3 8B has a context of 8,192 tokens and 32 heads, over 6 ways 5.33; the weights of Llama 3 70B and a prompt's cache
    of 2.7 GB take 143.8 GB of an H100's 80 GiB.
    """
    grid = of_scenarios(tmp_path, PLANS, ["inference", "training"], few_rows(MODELS, CHIPS))
    at = by_name(grid, "Dashboard")["verdict.failed"]
    said = [str(grid["Dashboard"][f"{column}{at}"]).split(" first: ")[-1] for column in "FGHIJK"]
    assert said == [
        "The context and the prompt are no longer than the model's context: 32,768 > 8,192",
        "The context and the prompt are no longer than the model's context",
        "Query heads split evenly over the tensor ways: 5.33, not whole",
        "Weights and a prompt fit on chips that prefill alone: 143.8 > 85.9 GB",
        "The ways make the chips",
        "Tokens and microbatches are whole numbers",
    ]


def test_more_chips_are_no_change_where_each_holds_the_whole_cache(tmp_path: Path) -> None:
    """DeepSeek-V3's latent cache has one head: each of 64 tensor ways holds all of it, 294 GB of 512 sequences, and so
    would each of 256. Fewer sequences fit, or 64 data ways, or a cache split over the batch; of 16 sequences all
    fits, and nothing is to be changed. By hand: a sequence's 8,192 tokens of 61 layers take 576 * 2 bytes each, 0.576
    GB, and the weights 671e9 * 2 / 64 bytes, 21 GB: (141 - 21) / 0.576 is 208.
    """
    grid = of_scenarios(tmp_path, COPIES, ["inference"], few_rows(("deepseek-v3",), ("h200-sxm",)))
    at = by_name(grid, "Dashboard")
    said = [str(grid["Dashboard"][f"{column}{at['verdict.change']}"]) for column in "FG"]
    assert said[0] == "batch 208 at most, or serve_data 64, or cache_by_batch 1"
    assert re.fullmatch(r"none; most time: Overheads of the layers, [\d.]+ of [\d.]+ ms", said[1])


def test_what_makes_a_failed_check_hold_is_named(tmp_path: Path) -> None:
    """Of a check that fails, what to change isn't the check again, but the value nearest to the plan's that holds, with
    what must agree with it: a dense model has one expert, 28 heads are split by 7 chips but not by 6, 32 by 8 tensor
    ways, 8 experts by 8; two groups of 2 * 70.6 GB take 4 chips of 80 GiB as 2 tensor ways each.
    """
    grid = of_scenarios(tmp_path, MENDED, ["inference", "training"], few_rows((*MODELS, "qwen2.5-7b"), CHIPS))
    at = by_name(grid, "Dashboard")["verdict.change"]
    assert [grid["Dashboard"][f"{column}{at}"] for column in "FGHIJK"] == [
        "serve_expert 1",
        "n_chips 7",
        "n_chips 4, with serve_tensor 2",
        "context_len 8,192 or more",
        "mesh_tensor 8, with n_chips 128",
        "mesh_expert 8, with n_chips 128",
    ]


def test_where_no_chips_fit_it_is_said(tmp_path: Path) -> None:
    """ZeRO 2 keeps 141 GB of weights on each H100 of 80 GiB, however many there are; ZeRO 1 without FSDP ways shares
    the optimiser over data ways, so that more of these fit.
    """
    grid = of_scenarios(tmp_path, WHOLE, ["training"], few_rows(("llama3-70b", "llama3-8b"), ("h100-sxm",)))
    at = by_name(grid, "Dashboard")["verdict.change"]
    assert grid["Dashboard"][f"F{at}"] == "no change of chips or batch alone fits"
    assert ", with mesh_data " in str(grid["Dashboard"][f"G{at}"])

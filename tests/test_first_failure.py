"""What Dashboard says of the first check that fails, and of what to change."""

from __future__ import annotations

from pathlib import Path

from planner.workbook.book import build
from planner.workbook.scenarios import plan_of
from tests.workbooks import CHIPS, MODELS, by_name, cached, few_rows, smaller

PLANS = """id,model,hardware,workload,n_chips,context_len,prompt_len,mesh_tensor,batch_tokens,prefill_chips,serve_data
context,llama3-8b,h100-sxm,inference,1,32768,8192,,,,
prompt,llama3-8b,h100-sxm,inference,1,8192,16384,,,,
heads,llama3-8b,h100-sxm,training,6,,,6,,,
apart,llama3-70b,h100-sxm,inference,8,,,,,1,
halves,llama3-8b,h100-sxm,inference,4,,,,,,8
tokens,llama3-8b,h100-sxm,training,1,,,1,4194304.5,,
"""


def test_only_what_fails_is_said_in_numbers(tmp_path: Path) -> None:
    """Of a check of two comparisons the numbers are those of one that fails, in one unit on both sides; a number that
    should be whole keeps its fraction; what rounding leaves over is no number for a reader. Each number by hand: Llama
    3 8B has a context of 8,192 tokens and 32 heads, over 6 ways 5.33; the weights of Llama 3 70B and a prompt's cache
    of 2.7 GB take 143.8 GB of an H100's 80 GiB.
    """
    scenarios, path = tmp_path / "plans.csv", tmp_path / "plan.xlsx"
    scenarios.write_text(PLANS, encoding="utf-8")
    plan = plan_of((), (), ["inference", "training"], scenarios, (), few_rows(MODELS, CHIPS))
    path.write_bytes(build(smaller(plan)))
    grid = cached(path)
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
    would each of 256. Fewer sequences fit, or data ways that share the cache; of 16 sequences all fits.
    """
    scenarios, path = tmp_path / "plans.csv", tmp_path / "plan.xlsx"
    scenarios.write_text(
        "id,model,hardware,n_chips,batch,serve_expert\ncopies,deepseek-v3,h200-sxm,64,512,64\n"
        "few,deepseek-v3,h200-sxm,64,16,64\n",
        encoding="utf-8",
    )
    plan = plan_of((), (), ["inference"], scenarios, (), few_rows(("deepseek-v3",), ("h200-sxm",)))
    path.write_bytes(build(smaller(plan)))
    grid = cached(path)
    at = by_name(grid, "Dashboard")
    said = [str(grid["Dashboard"][f"{column}{at['verdict.change']}"]) for column in "FG"]
    assert said[0] == "208 sequences at most, or 63 fewer copies of the cache (serve_data)"
    assert "copies" not in said[1]

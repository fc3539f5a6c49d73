"""Compressed attention (DeepSeek-V4): a window, and one key for so many tokens beyond it.

The numbers of DeepSeek-V4-Flash are counted here by hand from its config.json: 43 layers with windows of 128; 21 of
them (CSA) with a key of 512 numbers for 4 tokens, of which an indexer of 64 heads of 128 leaves 512; 20 (HCA) with one
for 128 tokens.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import planner
from tests.commands import invoked

CONFIGS = Path(__file__).parent / "data" / "hf"
FLASH, PRO = "deepseek-v4-flash", "deepseek-v4-pro"
LAYERS, CSA, HCA = 43, 21, 20
WINDOW, KEPT, CSA_RATE, HCA_RATE = 128, 512, 4, 128
KEY, INDEX_KEY = 2 * 512, 128 + 4  # bytes: bf16, which is the value too, and FP8 with a scale
PAIR, INDEXED = 2 * 64 * (512 + 512), 2 * 64 * 128  # FLOP
WAITING = 4 * (CSA * 2 * 2 * 2 * CSA_RATE * (512 + 128) + HCA * 2 * HCA_RATE * 512)  # bytes, FP32
H200 = 4.8e12  # byte/s


def calc(template: str, model: str = FLASH, **settings: float | str) -> Mapping[str, Any]:
    """A plan on eight H200 in bf16."""
    return planner.calc(template, model=model, hardware="h200-sxm", n_chips=8, **settings)


def seen(context: float) -> float:
    """Keys that a query at the end of a context sees in all layers."""
    csa = CSA * min(context / CSA_RATE, KEPT)
    return LAYERS * min(context, WINDOW) + csa + HCA * context / HCA_RATE


@pytest.mark.parametrize("context", [64, 1024, 2048, 2052, 131072, 1048576])
def test_a_decoded_token_reads_its_windows_and_the_compressed_keys_that_are_left(context: int) -> None:
    """The cache holds a key for 4 or 128 tokens beside windows; a step reads the indexers' keys and what they leave."""
    plan = calc("inference", context_len=context, batch=4)
    compressed = context * (CSA / CSA_RATE + HCA / HCA_RATE)
    indexed = CSA * context / CSA_RATE
    whole = KEY * (LAYERS * min(context, WINDOW) + compressed) + INDEX_KEY * indexed + WAITING
    assert plan["kv_bytes_per_sequence"] == pytest.approx(whole, rel=1e-12)
    assert plan["kv_bytes_per_token"] == KEY * (CSA / CSA_RATE + HCA / HCA_RATE) + INDEX_KEY * CSA / CSA_RATE
    read = KEY * seen(context) + INDEX_KEY * indexed
    assert plan["kv_time"] == pytest.approx(4 * read / (8 * H200), rel=1e-12)
    assert plan["absorbed_attention_flops_per_token"] == pytest.approx(seen(context) * PAIR + indexed * INDEXED)


@pytest.mark.parametrize("cached", [0, 0.5])
@pytest.mark.parametrize("prompt", [1024, 65536])
def test_a_prompt_is_counted_token_by_token(prompt: int, cached: float) -> None:
    """Each token sees the window, the compressed keys before it and those that its indexer leaves, half of its own."""
    plan = calc("inference", prompt_len=prompt, prefix_hit_rate=cached)
    tokens = [at + 0.5 for at in range(int(prompt * cached), prompt)]
    work = PAIR * sum(map(seen, tokens)) + INDEXED * CSA / CSA_RATE * sum(tokens)
    assert plan["prefill_attention_flops"] == pytest.approx(work, rel=1e-6)


def test_training_counts_what_a_causal_mask_leaves() -> None:
    """Three times forward, token by token."""
    plan = calc("training", seq_len=8192, batch_tokens=8192)
    tokens = [at + 0.5 for at in range(8192)]
    work = 3 * (PAIR * sum(map(seen, tokens)) + INDEXED * CSA / CSA_RATE * sum(tokens))
    assert plan["attention_train_flops"] == pytest.approx(work, rel=1e-6)


def test_a_block_keeps_all_of_its_residual_streams() -> None:
    """Four streams enter each of 43 layers: 4 D numbers of a token in bf16 where a block keeps its input alone."""
    plan = calc("training", remat="block", batch_tokens=8192)
    assert plan["activation_bytes"] == 2 * 4 * 4096 * 43 * 8192


@pytest.mark.parametrize(("model", "flops", "cache"), [(PRO, 0.27, 0.10), (FLASH, 0.10, 0.07)])
def test_shares_of_deepseek_v32_are_as_published(model: str, flops: float, cache: float) -> None:
    """At a million tokens, DeepSeek-V4's report, figure 1: to 2 points, for it counts FP4 work and keys as half."""
    new, old = (planner.calc("transformer", model=each, context_len=1 << 20) for each in (model, "deepseek-v3.2"))
    work = [each["forward_flops_per_token"] + each["absorbed_attention_flops_per_token"] for each in (new, old)]
    assert work[0] / work[1] == pytest.approx(flops, abs=0.022)
    assert new["kv_bytes_per_sequence"] / old["kv_bytes_per_sequence"] == pytest.approx(cache, abs=0.02)


@pytest.mark.parametrize(("model", "count"), [(FLASH, 1024 * (32768 + 8 * 4096)), (PRO, 1024 * (65536 + 16 * 7168))])
def test_an_output_in_groups_has_fewer_parameters(model: str, count: int) -> None:
    """Each of 8 or 16 groups of heads goes to a rank of 1,024, and all of these to the model."""
    assert planner.calc("transformer", model=model)["n_params_output"] == count


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("compress_ratios", [0, 0, 4], "has 3 entries for 43 layers"),
        ("compress_ratios", [2] * 43, "has 2, which has no columns; known: 0, 1, 4, 128"),
        ("compress_rates", {"compressed_sparse_attention": "4"}, "says '4' for compressed_sparse_attention"),
        ("compress_ratios", None, "compress_ratios is not in the config"),
    ],
)
def test_a_schedule_that_cant_be_told_is_refused(tmp_path: Path, field: str, value: Any, said: str) -> None:
    """One line that names the field, and no row."""
    config = json.loads((CONFIGS / f"{FLASH}.json").read_text(encoding="utf-8"))
    config[field] = value
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    code, output = invoked("models", "add", path, "--to", tmp_path / "mine.csv")
    assert (code, said in output) == (2, True), output
    assert not (tmp_path / "mine.csv").exists()

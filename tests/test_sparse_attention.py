"""Sparse attention (DeepSeek-V3.2, GLM-5): a query scores every key by an indexer and attends to those that it leaves.

The numbers of DeepSeek-V3.2 are counted here by hand: 61 layers, a latent cache of 512 + 64, indexers of 64 heads of
128, 2,048 keys left (its config.json and report, section 2).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import planner
from tests.commands import command

CONFIG = Path(__file__).parent / "data" / "hf" / "glm-5.2.json"

LAYERS, LATENT, KEPT = 61, 576, 2048
INDEX_KEY = 128 + 4  # bytes: FP8 with a scale
PAIR, ABSORBED, INDEXED = 2 * 128 * (192 + 128), 2 * 128 * (512 + 512 + 64), 2 * 64 * 128  # FLOP
H200 = 4.8e12  # byte/s


def calc(template: str, model: str = "deepseek-v3.2", **settings: float | str) -> Mapping[str, Any]:
    """A plan on eight H200 in bf16."""
    return planner.calc(template, model=model, hardware="h200-sxm", n_chips=8, **settings)


@pytest.mark.parametrize("context", [512, 2048, 2049, 131072])
def test_a_decoded_token_reads_all_indexed_keys_and_those_that_are_left(context: int) -> None:
    """The cache holds each token and its indexer's key; a step reads the latter and at most 2,048 of the former."""
    plan = calc("inference", context_len=context, batch=4)
    whole = LAYERS * context * (2 * LATENT + INDEX_KEY)
    read = LAYERS * (2 * LATENT * min(context, KEPT) + INDEX_KEY * context)
    assert plan["kv_bytes_per_sequence"] == whole
    assert plan["kv_bytes_per_token"] * context == whole
    assert plan["kv_time"] == pytest.approx(4 * read / (8 * H200), rel=1e-12)
    work = LAYERS * (min(context, KEPT) * ABSORBED + context * INDEXED)
    assert plan["absorbed_attention_flops_per_token"] == work


@pytest.mark.parametrize("cached", [0, 0.5])
@pytest.mark.parametrize("prompt", [1024, 65536])
def test_a_prompt_attends_to_what_is_left_where_that_is_less_work(prompt: int, cached: float) -> None:
    """Token by token: all keys masked in heads, or those that are left out of the latent cache; and the indexers."""
    plan = calc("inference", prompt_len=prompt, prefix_hit_rate=cached)
    tokens = range(int(prompt * cached), prompt)
    dense = LAYERS * PAIR * sum(at + 0.5 for at in tokens)  # half of the pair with itself, as causal masks count
    left = LAYERS * ABSORBED * sum(min(at + 0.5, KEPT) for at in tokens)
    indexers = LAYERS * INDEXED * sum(at + 0.5 for at in tokens)
    assert plan["prefill_attention_flops"] == pytest.approx(min(dense, left) + indexers, rel=1e-9)
    assert (left < dense) == (prompt > 10_000)


def test_training_counts_the_keys_that_are_left_and_the_indexers() -> None:
    """Three times forward; of 8,192 tokens the first 2,048 see fewer keys."""
    plan = calc("training", seq_len=8192, batch_tokens=8192)
    pairs = KEPT * (8192 - KEPT / 2)
    assert plan["attention_train_flops"] == pytest.approx(3 * LAYERS * (pairs * PAIR + 8192**2 / 2 * INDEXED), rel=1e-9)


def test_indexers_that_layers_share_count_once() -> None:
    """GLM-5.2: 21 of 78 layers have an indexer, all attend to what one leaves."""
    plan = calc("inference", "glm-5.2", context_len=131072)
    assert plan["kv_bytes_per_token"] == 78 * 2 * LATENT + 21 * INDEX_KEY
    assert plan["step_kv_bytes"] / plan["batch"] == 78 * 2 * LATENT * KEPT + 21 * INDEX_KEY * 131072


def test_all_other_models_attend_to_every_key() -> None:
    """DeepSeek-V3 has no indexer."""
    plan = calc("inference", "deepseek-v3", context_len=131072)
    assert plan["kv_read_share"] == 1
    assert plan["absorbed_attention_flops_per_token"] == LAYERS * 131072 * ABSORBED
    assert plan["prefill_index_flops"] == 0


@pytest.mark.parametrize("context", [1024, 131072])
def test_layers_without_an_indexer_see_every_key(context: int) -> None:
    """MiniMax-M3: 57 of 60 layers attend to 16 blocks of 128 keys by indexers of 4 heads of 128, 3 to all."""
    key, pair, indexed = 2 * 4 * 128 * 2, 2 * 64 * (128 + 128), 2 * 4 * 128  # bytes in bf16, FLOP
    plan = calc("inference", "minimax-m3", context_len=context, prompt_len=context)
    seen = 57 * min(context, 2048) + 3 * context
    assert plan["kv_bytes_per_token"] == 60 * key + 57 * INDEX_KEY
    assert plan["step_kv_bytes"] / plan["batch"] == pytest.approx(seen * key + 57 * INDEX_KEY * context, rel=1e-12)
    assert plan["absorbed_attention_flops_per_token"] == seen * pair + 57 * context * indexed
    tokens = [at + 0.5 for at in range(context)]
    prompt = sum(57 * min(at, 2048) + 3 * at for at in tokens) * pair + 57 * indexed * sum(tokens)
    assert plan["prefill_attention_flops"] == pytest.approx(prompt, rel=1e-6)
    step = calc("training", "minimax-m3", seq_len=context, batch_tokens=context)
    assert step["attention_train_flops"] == pytest.approx(3 * prompt, rel=1e-6)


def test_an_indexer_that_scores_a_key_for_several_tokens_reads_and_works_less() -> None:
    """As GLM-5.3 Flash's, with one key for 16 tokens: what is attended to is the same."""
    plan = calc("inference", context_len=131072, index_rate=16)
    assert plan["kv_bytes_per_sequence"] == LAYERS * 131072 * (2 * LATENT + INDEX_KEY / 16)
    assert plan["step_kv_bytes"] / plan["batch"] == LAYERS * (2 * LATENT * KEPT + INDEX_KEY * 131072 / 16)
    assert plan["absorbed_attention_flops_per_token"] == LAYERS * (KEPT * ABSORBED + 131072 / 16 * INDEXED)


@pytest.mark.parametrize("said", ["2048", None])
def test_a_config_says_what_an_indexer_leaves(tmp_path: Path, said: str | None) -> None:
    """`index_topk`, its default where it isn't said; heads and width of the indexer."""
    config = json.loads(CONFIG.read_text(encoding="utf-8"))
    if said is None:
        del config["index_topk"]
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    command("models", "add", path, "--to", tmp_path / "mine.csv")
    (row,) = csv.DictReader((tmp_path / "mine.csv").read_text(encoding="utf-8").splitlines())
    sizes = [row[name] for name in ("index_topk", "index_n_heads", "index_head_dim", "n_indexer_layers")]
    assert sizes == ["2048", "32", "128", "21"]


@pytest.mark.parametrize("context", [512, 8192, 131072])
def test_a_mean_step_is_that_of_the_mean_context(context: int) -> None:
    """Whatever `context_len` is: by the work over the keys, which doesn't go with the bytes of the cache here."""
    query = {"batch": 64, "prompt_len": 30000, "generate_len": 2000, "kv_dtype": "fp8", "serve_data": 8}
    there = calc("inference", context_len=31000, **query)["decode_step_time_expected"]
    assert calc("inference", context_len=context, **query)["mean_step_time_expected"] == pytest.approx(there, rel=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        "llama3-70b",
        "gemma2-9b",
        "gemma3-27b",
        "gpt-oss-120b",
        "deepseek-v3",
        "deepseek-v3.2",
        "deepseek-v4-flash",
        "minimax-m3",
    ],
)
def test_attention_takes_as_much_work_as_the_matmuls_at_its_parity(model: str) -> None:
    """Of layers that see all, of windows and of indexers: at that context both take as much, by their own rows."""
    parity = planner.calc("transformer", model=model)["attention_parity_context"]
    assert isinstance(parity, float)
    there = planner.calc("transformer", model=model, context_len=round(parity))
    work = there["attention_flops_per_token"], 2 * there["n_params_layers_multiplied"]
    assert work[0] == pytest.approx(work[1], rel=1e-4)


def test_attention_never_takes_as_much_work_where_every_layer_has_a_window() -> None:
    """A longer context adds no work to Phi-3 mini, whose windows see less than the matmuls take."""
    assert planner.calc("transformer", model="phi-3-mini")["attention_parity_context"] is None

"""What a config's layers hold and cache, beyond the sum of their parameters: windows, states, experts and indexers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.hf_configs import CONFIGS, COUNTED, largest, row_of, row_of_fields, value


def test_indexers_of_some_layers_count_as_work() -> None:
    """GLM-5.2: 21 of 78 layers have an indexer; its parameters, as matrices of all layers, make 21 of them."""
    config = json.loads(CONFIGS["glm-5.2"].read_text(encoding="utf-8"))
    names = ("index_n_heads", "index_head_dim", "q_lora_rank", "hidden_size", "num_hidden_layers")
    heads, width, rank, d_model, layers = (config[name] for name in names)
    indexer = rank * heads * width + d_model * (width + heads) + 2 * width
    share, rest = (row_of(CONFIGS["glm-5.2"])[name] for name in ("indexer_params_per_layer", "extra_params_total"))
    assert isinstance(share, float)
    assert isinstance(rest, float)
    assert share * layers + rest == config["indexer_types"].count("full") * indexer
    assert rest < layers


@pytest.mark.parametrize(
    ("layers", "pattern", "local"), [(64, "LLLG", 48), (6, "LLLG", 4), (6, "LLG", 4), (4, "L", 3), (7, 4, 6)]
)
def test_a_pattern_of_letters(tmp_path: Path, layers: int, pattern: str | int, local: int) -> None:
    """EXAONE 4 names its windows by letters, L and G in turn, as it came out; the last layer sees all."""
    exaone = {"hidden_size": 5120, "num_attention_heads": 40, "num_key_value_heads": 8, "intermediate_size": 27392}
    config = {"model_type": "exaone4", **exaone, "num_hidden_layers": layers, "vocab_size": 102400}
    windows = {"sliding_window": 4096, "sliding_window_pattern": pattern}
    assert row_of_fields(config | windows, tmp_path)["n_local_layers"] == local


# What layers with attention cache of a token in bf16, and what all others keep of a sequence, worked out by hand.
_KEPT = {
    "bamba": (3 * 2 * 8 * 128 * 2, 29 * 8192 * 128),
    "jamba": (4 * 2 * 8 * 128 * 2, 28 * 8192 * 16),
    "nemotron_h": (6 * 2 * 2 * 128 * 2, 23 * 64 * 64 * 128),
    "lfm2": (6 * 2 * 8 * 64 * 2, 10 * 2048 * 3),
    "lfm2_moe": (6 * 2 * 8 * 64 * 2, 18 * 2048 * 3),
}


@pytest.mark.parametrize("model_type", _KEPT)
def test_what_a_hybrid_keeps(tmp_path: Path, model_type: str) -> None:
    """Bamba 9B, Jamba v0.1, Nemotron 3 Nano, LFM2 1.2B and 8B-A1B: attention layers alone cache tokens, the others keep
    states."""
    row = row_of_fields(largest(model_type)["config"], tmp_path)
    assert (value(row, "kv_bytes_per_token"), row["recurrent_state_elements"]) == _KEPT[model_type]


# Of the largest config of each: what layers cache of a token in bf16; how many see a window, and which; the experts, of
# which a token uses some, and the layers with them; parameters of the experts that it doesn't use. Worked out by hand,
# and alike in what transformers' own layers cache and hold.
_LAYERS = {
    "muse_glimmer_text": (52 * 2 * 2 * 128 * 2, 39, 2048, (1, 1, 0), 0),
    "muse_spark_text": (62 * 2 * 16 * 64 * 2, 46, 2048, (256, 8, 62), 62 * 248 * 3 * 4096 * 4096),
    "inkling_text": ((11 * 8 + 55 * 16) * 2 * 128 * 2, 55, 512, (256, 6, 66), 66 * 250 * 3 * 6144 * 3072),
    "qwen4_exp_text": (
        10 * (2 * 2 * 256 * 2 + 128 * 1.03125 / 16), 0, 32768, (512, 10, 40), 40 * 502 * 3 * 2048 * 512,
    ),
    "zaya": (40 * 2 * 2 * 128 * 2, 0, 131072, (16, 1, 40), 40 * 15 * 3 * 2048 * 2048),
    "apertus1p5_text": (32 * 2 * 8 * 128 * 2, 0, 262144, (1, 1, 0), 0),
    "doge": (32 * 2 * 8 * 128 * 2, 0, 2048, (1, 1, 0), 0),
}  # fmt: skip


@pytest.mark.parametrize("model_type", _LAYERS)
def test_what_the_layers_of_a_family_hold(tmp_path: Path, model_type: str) -> None:
    """Not the sum of the parameters alone: caches, windows and experts are those of the model's layers."""
    case = largest(model_type)
    row = row_of_fields(case["config"], tmp_path)
    total, active = (value(row, f"n_params_{part}") for part in ("total", "active"))
    assert isinstance(active, float)
    experts = tuple(row[name] for name in ("n_experts", "n_experts_active", "n_moe_layers"))
    kept = value(row, "kv_bytes_per_token"), row["n_local_layers"], row["window"]
    assert (total, *kept, experts, case["n_params"] - active) == (case["n_params"], *_LAYERS[model_type])


def test_lookups_chosen_keys_and_several_streams(tmp_path: Path) -> None:
    """Qwen4-Exp of its class's sizes: indexers of 16 heads in 10 layers leave 2,048 keys by one key for 16 tokens, four
    streams, states of 30 layers; tables of 16 prime sizes from 20 million on in each of two layers, none multiplied."""
    plain, looking = sorted(
        (case for case in COUNTED["variations"] if case["config"].get("ngram_vocab_size_base") == 20_000_000),
        key=lambda case: int(case["n_params"]),
    )
    row = row_of_fields(looking["config"], tmp_path)
    names = ("n_indexer_layers", "index_topk", "index_rate", "index_n_heads", "index_head_dim", "residual_streams")
    assert [row[name] for name in names] == [10, 2048, 16, 16, 128, 4]
    assert row["recurrent_state_elements"] == 30 * 32 * 128 * 128
    multiplied = value(row, "n_params_matmul_active")
    without = value(row_of_fields(plain["config"], tmp_path), "n_params_matmul_active")
    assert isinstance(multiplied, float)
    assert isinstance(without, float)
    lookups = 2 * (5 * 2048 * 2048 + 4 * 2048 * 4)
    assert lookups - 30 < multiplied - without <= lookups
    assert looking["n_params"] - plain["n_params"] == lookups + 2 * 3 * 4 * 2048 + 81_920_851_968

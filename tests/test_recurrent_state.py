"""Layers of linear attention and state spaces keep states of one size for each sequence: in memory, read and written.

Qwen3.5-397B is counted by hand: 45 of 60 layers are gated delta nets of 64 heads, each with a matrix of 128 by 128 in
FP32; 15 have 2 KV heads of 256 (its config.json).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import planner
from planner.hf.store import understand

CONFIGS = Path(__file__).parent / "data" / "hf"
STATE = 45 * 64 * 128 * 128 * 4  # bytes
KEYS = 15 * 2 * 2 * 256 * 2  # bytes of a token
H200, FREE = 4.8e12, 141e9


def calc(**settings: float | str) -> Mapping[str, Any]:
    """A plan of serving on eight H200 in bf16, but for the settings."""
    given = {"n_chips": 8, "context_len": 1024, "batch": 64} | settings
    return planner.calc("inference", model="qwen3.5-397b-a17b", hardware="h200-sxm", **given)


def test_a_step_reads_and_writes_the_states() -> None:
    """Once each, on all chips, beside one read of the keys and values."""
    plan = calc()
    assert plan["state_bytes_per_sequence"] == STATE
    assert plan["kv_time"] == pytest.approx(64 * (1024 * KEYS + 2 * STATE) / (8 * H200), rel=1e-12)
    longer = calc(context_len=2048)
    assert longer["kv_time"] - plan["kv_time"] == pytest.approx(64 * 1024 * KEYS / (8 * H200), rel=1e-9)


@pytest.mark.parametrize("layout", [{}, {"serve_tensor": 4, "serve_data": 2}])
def test_memory_holds_a_state_of_each_sequence(layout: dict[str, float]) -> None:
    """In the memory of a chip, in the largest batch, and in what a prefill hands over."""
    plan = calc(weight_dtype="fp8", **layout)
    cache = KEYS * 1024 / (4 if layout else 8) + STATE / 8  # 2 KV heads in each of 2 groups
    assert plan["memory_bytes_per_chip"] == pytest.approx(plan["weight_bytes_per_chip"] + 64 * cache, rel=1e-12)
    groups, room = layout.get("serve_data", 1), (FREE - plan["weight_bytes_per_chip"]) / cache
    assert plan["max_batch"] == groups * (room // groups)
    assert calc(batch=plan["max_batch"], weight_dtype="fp8", **layout)["check_fits_memory"] == 1
    assert plan["prompt_kv_bytes"] == plan["prompt_len"] * KEYS + STATE


def test_the_mean_context_has_the_same_states() -> None:
    """What an answer's length changes is the cache alone."""
    plan = calc(prompt_len=1024, generate_len=2)
    times = plan["mean_kv_time"] - plan["recurrent_time"], plan["kv_time"] - plan["recurrent_time"]
    assert times[0] / times[1] == pytest.approx(1025 / 1024, rel=1e-9)
    expected = plan["mean_cache_time"] - plan["recurrent_time_expected"]
    assert expected / (plan["cache_time_expected"] - plan["recurrent_time_expected"]) == pytest.approx(
        1025 / 1024, rel=1e-9
    )


@pytest.mark.parametrize(
    ("model_type", "more", "elements"),
    [
        ("falcon_h1", {"mamba_n_heads": 8, "mamba_d_ssm": 512, "mamba_n_groups": 1, "mamba_d_state": 16,
                       "mamba_d_conv": 4}, 4 * 512 * 16),
        ("olmo_hybrid", {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 24,
                         "linear_value_head_dim": 32, "linear_conv_kernel_dim": 4}, 3 * 4 * 24 * 32),
        ("minimax", {"attn_type_list": [0, 0, 0, 1], "num_local_experts": 2, "num_experts_per_tok": 1,
                     "shared_intermediate_size": 0}, 3 * 8 * 32**2),
        ("recurrent_gemma", {"lru_width": 320, "conv1d_width": 4, "attention_window_size": 64}, 3 * 320),
    ],
)  # fmt: skip
def test_a_config_says_how_large_its_states_are(
    tmp_path: Path, model_type: str, more: dict[str, Any], elements: int
) -> None:
    """A number for each state of a channel, or a matrix of keys by values for each head, of the layers that have it."""
    sizes = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 2,
             "head_dim": 32, "intermediate_size": 512, "vocab_size": 1000}  # fmt: skip
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": model_type, **sizes, **more}), encoding="utf-8")
    assert understand(path, {}).cells["recurrent_state_elements"] == str(elements)

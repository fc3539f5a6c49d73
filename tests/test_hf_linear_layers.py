"""Configs with linear layers: Kimi K3 to the digit, and those that contradict themselves, which are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.catalog import load_models
from tests.commands import printed_by
from tests.hf_configs import Config, Run, config_of, refused, value

SIZES = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 64}
SPACES = {"mamba_n_heads": 8, "mamba_n_groups": 2, "mamba_d_state": 8, "mamba_d_conv": 4, "mamba_expand": 2}
BAMBA: Config = {
    **SIZES, **SPACES, "model_type": "bamba", "num_hidden_layers": 2, "intermediate_size": 64,
    "attn_layer_indices": [1],
}  # fmt: skip
FALCON: Config = {**SIZES, **SPACES, "model_type": "falcon_h1", "num_hidden_layers": 2, "intermediate_size": 64}
NEMOTRON: Config = {
    **SIZES, "model_type": "nemotron_h", "intermediate_size": 64, "hybrid_override_pattern": "M-*-", "n_groups": 2,
    "mamba_num_heads": 8, "mamba_head_dim": 16, "ssm_state_size": 8, "conv_kernel": 4,
}  # fmt: skip
LISTS = {"full_attn_layers": [2, 4], "kda_layers": [1, 3]}
KDA = {"num_heads": 4, "head_dim": 16, "short_conv_kernel_size": 4}


def kimi(**lists: list[int]) -> Config:
    """A config of Kimi Linear of four layers, with these lists of them."""
    config = config_of("deepseek-v3", model_type="kimi_linear", architectures=..., num_hidden_layers=4)
    return {**config, "num_nextn_predict_layers": 0, "linear_attn_config": {**KDA, **lists}}


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (
            BAMBA | {"mamba_n_heads": 6, "mamba_n_groups": 1},
            "mamba_n_heads 6 does not divide the 128 channels; correct",
        ),
        (
            BAMBA | {"mamba_d_head": 8},
            'mamba_d_head 8 times 8 heads is not the 128 channels; correct it, or write "auto"',
        ),
        (BAMBA | {"mamba_n_groups": 3}, "mamba_n_groups 3 does not divide the 8 heads of state spaces"),
        (FALCON | {"mamba_d_ssm": 100}, "mamba_n_heads 8 does not divide the 100 channels"),
        (FALCON | {"mamba_d_ssm": 96, "mamba_d_head": 16}, "mamba_d_head 16 times 8 heads is not the 96 channels"),
        (NEMOTRON | {"n_groups": 3}, "n_groups 3 does not divide the 8 heads of state spaces; correct the one or the"),
        (
            config_of("qwen3-next-80b-a3b", linear_num_value_heads=40),
            "linear_num_value_heads 40 is no multiple of linear_num_key_heads 16, each of which serves as many of them",
        ),
        (
            kimi(full_attn_layers=[2], kda_layers=[1, 3]),
            "linear_attn_config.kda_layers [1, 3] and full_attn_layers don't share out the layers 1 to 4; name each",
        ),
        (kimi(full_attn_layers=[1, 3], kda_layers=[0, 2]), "linear_attn_config.kda_layers [0, 2] and full_attn_layers"),
        (kimi(full_attn_layers=[2, 3, 4], kda_layers=[1, 3]), "kda_layers [1, 3] and full_attn_layers don't share out"),
    ],
)
def test_linear_layers_that_contradict_themselves(add: Run, config: Config, says: str) -> None:
    """transformers refuses such a config too, or its code fails on it: no row is written."""
    assert says in refused(add(config))
    assert not Path("mine.csv").exists()


@pytest.mark.parametrize("config", [BAMBA, FALCON | {"mamba_d_ssm": 96, "mamba_d_head": 12}, NEMOTRON])
def test_state_spaces_whose_heads_share_the_channels(add: Run, config: Config) -> None:
    """Where nothing contradicts, and where the config leaves the width of a head out, it is read."""
    printed_by(add(config, "--id", "mine"))


@pytest.mark.parametrize("left_out", [None, *LISTS])
def test_either_list_of_layers_is_enough(add: Run, left_out: str | None) -> None:
    """Kimi Linear's code asks for its linear layers: the others have global attention, whichever list is there."""
    printed_by(add(kimi(**{name: layers for name, layers in LISTS.items() if name != left_out}), "--id", "mine"))
    row = load_models(Path("mine.csv")).row("mine")
    assert [row[name] for name in ("n_layers", "n_full_attention_layers", "n_linear_layers")] == [4, 2, 2]


def test_kimi_k3(add: Run) -> None:
    """Its experts work on a latent of a token, its gates are matrices, its residuals weigh earlier blocks: of each
    tensor of the checkpoint the parameters are counted, and the latent's two projections are work of every token."""
    assert add(config_of("kimi-k3"), "--id", "mine").exit_code == 0
    row = load_models(Path("mine.csv")).row("mine")
    d_model, latent, inner = 7168, 3584, 96 * 128
    delta = 5 * d_model * inner + 3 * inner * 4 + 128 * (d_model + inner) + inner + 96 * d_model + 96 + 128
    queries = 1536 * (d_model + 1 + 96 * 192)
    attention = queries + 576 * d_model + 512 * (1 + 96 * 256) + 2 * d_model * inner
    fixed = 896 * (d_model + 1) + 3 * 2 * 3072 * d_model + 2 * d_model * latent + latent
    outside = 2 * 163840 * d_model + 3 * d_model + 93 * 6 * d_model + 3 * 33792 * d_model
    expert = 3 * latent * 3072
    total = outside + 69 * delta + 24 * attention + 92 * (fixed + 896 * expert)
    assert value(row, "n_params_total") == total == 2_779_484_476_000
    assert value(row, "n_params_active") == total - 92 * 880 * expert
    # 1.56 TB, the size of the checkpoint: the experts in MXFP4, all else in bf16
    assert round((92 * 896 * expert * 4.25 / 8 + (total - 92 * 896 * expert) * 2) / 1e12, 2) == 1.56
    assert row["recurrent_state_elements"] == 69 * 96 * 128 * 128
    assert value(row, "kv_bytes_per_token") == 24 * 576 * 2

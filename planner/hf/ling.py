"""Ling with linear attention: lightning attention in Ling 2.5 and Ring-linear, Kimi's delta attention in Ling 3.0."""

from __future__ import annotations

from planner.hf.config import Config
from planner.hf.latent import DEEPSEEK_V3, bias_sum
from planner.hf.layers import attention, n_linear
from planner.hf.routed import BAILING
from planner.hf.rules import ColumnValue, Family, ModelRow, apart, flag, maybe


def _is_kimi_delta(config: Config) -> bool:
    """Whether a Ling model's linear layers have Kimi's delta attention rather than lightning attention."""
    return config.count("short_conv_kernel_size", least=1) is not None


def _ling_kinds(config: Config, row: ModelRow) -> list[str]:
    """The last layer of each group has latent attention.

    With lightning attention, so do layers of an incomplete group.
    """
    number, group = row.count("n_layers"), config.said("layer_group_size", least=1)
    grouped = number if _is_kimi_delta(config) else number // group * group
    return ["full" if (index + 1) % group == 0 or index >= grouped else "linear" for index in range(number)]


def _ling_width(config: Config, row: ModelRow) -> int:
    """The width of a linear-attention head, as in transformers or the hub's code.

    `head_dim` of the former is that of latent attention.
    """
    return config.count("linear_head_dim", "head_dim", least=1) or row.count("d_model") // max(1, row.count("n_heads"))


def _ling_heads(config: Config, row: ModelRow) -> int:
    """The heads of linear attention: those of latent attention, unless transformers saved others."""
    return config.count("linear_num_heads", least=1) or row.count("n_heads")


def _ling_linear(config: Config, row: ModelRow) -> ColumnValue:
    """Parameters of full-width linear attention with a gate; with Kimi's delta attention also a decay per channel."""
    heads, width, d_model = _ling_heads(config, row), _ling_width(config, row), row.count("d_model")
    inner, kernel = heads * width, config.count("linear_conv_kernel_dim", "short_conv_kernel_size", least=1)
    if kernel:
        return 6 * d_model * inner + d_model * heads + 3 * inner * kernel + heads + inner + width
    norms = inner + (2 * width if config.flag("use_qk_norm", default=True) else 0)
    biases = (3 * inner if config.flag("use_qkv_bias") else 0) + (d_model if config.flag("use_bias") else 0)
    return 5 * d_model * inner + norms + biases


def _ling_states(config: Config, row: ModelRow) -> ColumnValue:
    return n_linear(row) * _ling_heads(config, row) * _ling_width(config, row) ** 2


def _ling_further(config: Config, row: ModelRow) -> ColumnValue:
    """Parameters besides latent attention: down-projection biases, and a gate per head with Kimi's delta attention."""
    biases = bias_sum(config, row, "use_qkv_bias", "attention_bias")
    return biases + (row.count("n_heads") * row.count("d_model") if _is_kimi_delta(config) else 0)


LING_HYBRID = Family(
    "bailing_moe_v2_5 bailing_hybrid",
    DEEPSEEK_V3,
    attention(_ling_kinds, maybe(), _ling_linear),
    o_bias=flag("use_qkv_bias", "attention_bias"),
    extra_params_per_layer=_ling_further,
    recurrent_state_elements=_ling_states,
    router_score_bias=True,
    moe_shared_experts=maybe("num_shared_experts", "n_shared_experts"),
    max_context=maybe("max_position_embeddings", "model_max_length"),
    tied_embeddings=apart,
)


LING_LINEAR = Family(
    "bailing_moe_linear", BAILING, attention(_ling_kinds, maybe(), _ling_linear), recurrent_state_elements=_ling_states
)

"""Families in which most layers have linear attention: Qwen3-Next, Qwen3.5, MiniMax-Text-01."""

from __future__ import annotations

from planner.hf.config import Config
from planner.hf.gated import ATTENTION_BIAS, QWEN2
from planner.hf.layers import attention, marked_full, one_full_in
from planner.hf.rules import Cell, Family, Row, head_dim, maybe
from planner.hf.sparse import MIXTRAL, QWEN2_MOE, one_shared


def delta_net(config: Config, row: Row) -> Cell:
    """A gated delta net: keys, queries, values and gates; two numbers for each head; a convolution; the output."""
    value_heads = config.said("linear_num_value_heads", least=1)
    value_dim = config.said("linear_value_head_dim", least=1)
    keys = config.said("linear_num_key_heads", least=1) * config.said("linear_key_head_dim", least=1)
    values = value_heads * value_dim
    convolution = (2 * keys + values) * config.said("linear_conv_kernel_dim", least=1)
    projections = row.count("d_model") * (2 * keys + 2 * values + 2 * value_heads) + values * row.count("d_model")
    return projections + convolution + 2 * value_heads + value_dim  # decay and its bias; the norm of a head


def _lightning(_: Config, row: Row) -> Cell:
    """Lightning attention: queries, keys, values, gate and output, all of all heads; a norm."""
    width = row.count("n_heads") * row.count("head_dim")
    return 5 * row.count("d_model") * width + width


def _gate_bias(config: Config, row: Row) -> Cell:
    """The gate's half of the bias on queries, which has no column."""
    if not config.flag("attention_bias"):
        return None
    return (row.count("n_layers") - _n_linear(row)) * row.count("n_heads") * row.count("head_dim")


def _n_linear(row: Row) -> int:
    full = row["n_full_attn_layers"]
    return 0 if full is None else row.count("n_layers") - row.count("n_full_attn_layers")


GATED_DELTA: Family = {
    **attention(one_full_in(4, "full_attention_interval", other="linear"), maybe(), delta_net), **ATTENTION_BIAS,
    "head_dim": head_dim(256), "qk_norm": "per_head", "attn_gate": True,
    "extra_params_total": _gate_bias,
}  # fmt: skip
QWEN3_5: Family = {**QWEN2, **GATED_DELTA}
QWEN3_NEXT: Family = {**QWEN2_MOE, **GATED_DELTA}
MINIMAX: Family = {
    **MIXTRAL, **attention(marked_full("attn_type_list"), maybe(), _lightning),
    **one_shared("shared_intermediate_size"),
}  # fmt: skip

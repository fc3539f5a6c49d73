"""Families with other layers than softmax attention: linear attention, convolutions, cross attention.

Qwen3-Next, Qwen3.5, MiniMax-Text-01, LFM2, LFM3, OLMo Hybrid, Griffin, Llama 3.2 Vision. Those with Mamba are in
`state_space`, Kimi's in `kimi`, Ling's in `ling`.
"""

from __future__ import annotations

from planner.hf.config import Config
from planner.hf.dense import ATTENTION_BIAS, GENERAL, GROUPED, OLMO2, QWEN2
from planner.hf.experts import after, experts, one_shared
from planner.hf.layers import attention, listed, marked_full, n_linear, one_full_in, window
from planner.hf.moe import MIXTRAL, QWEN2_MOE
from planner.hf.rules import (
    ColumnRules,
    ColumnValue,
    Family,
    ModelRow,
    flag,
    head_dim,
    maybe,
    size,
    tied,
    where,
)


def delta_net(config: Config, row: ModelRow) -> int:
    """Parameters of a gated delta net: projections and gates, two numbers per head, a convolution, the output."""
    value_heads = config.said("linear_num_value_heads", least=1)
    value_dim = config.said("linear_value_head_dim", least=1)
    key_heads = config.said("linear_num_key_heads", least=1)
    if value_heads % key_heads:
        what = f"is no multiple of linear_num_key_heads {key_heads}, each of which serves as many of them"
        raise config.fault("linear_num_value_heads", what, "correct the one or the other")
    keys = key_heads * config.said("linear_key_head_dim", least=1)
    values = value_heads * value_dim
    convolution = (2 * keys + values) * config.said("linear_conv_kernel_dim", least=1)
    projections = row.count("d_model") * (2 * keys + 2 * values + 2 * value_heads) + values * row.count("d_model")
    return projections + convolution + 2 * value_heads + value_dim  # decay and its bias; the norm of a head


def _delta_states(config: Config, row: ModelRow) -> ColumnValue:
    """State size of a gated delta net: a matrix of key width by value width for each value head."""
    value = config.said("linear_num_value_heads", least=1) * config.said("linear_value_head_dim", least=1)
    return n_linear(row) * value * config.said("linear_key_head_dim", least=1)


def _lightning(_: Config, row: ModelRow) -> ColumnValue:
    """Parameters of lightning attention: full-width queries, keys, values, gate and output, and a norm."""
    width = row.count("n_heads") * row.count("head_dim")
    return 5 * row.count("d_model") * width + width


def _lightning_states(_: Config, row: ModelRow) -> ColumnValue:
    return n_linear(row) * row.count("n_heads") * row.count("head_dim") ** 2


def gate_bias(config: Config, row: ModelRow) -> ColumnValue:
    """The gate's half of the query bias, which has no column."""
    if not config.flag("attention_bias"):
        return None
    return (row.count("n_layers") - n_linear(row)) * row.count("n_heads") * row.count("head_dim")


GATED_DELTA: ColumnRules = {
    **attention(one_full_in(4, "full_attention_interval", other="linear"), maybe(), delta_net),
    **ATTENTION_BIAS,
    "head_dim": head_dim(256),
    "qk_norm": "per_head",
    "attn_gate": True,
    "extra_params_total": gate_bias,
    "recurrent_state_elements": _delta_states,
}
QWEN3_5 = Family("qwen3_5_text", QWEN2, GATED_DELTA)
QWEN3_NEXT = Family("qwen3_next qwen3_5_moe_text", QWEN2_MOE, GATED_DELTA)


def _lara_turns(_: Config, row: ModelRow) -> list[str]:
    """LaraMini: of five layers one sees the whole context, two see a window, and two are linear."""
    turns = ["linear", "local", "linear", "full", "local"]
    return [turns[index % 5] for index in range(row.count("n_layers"))]


LARA_MINI = Family(
    "lara_mini", QWEN2_MOE, GATED_DELTA, attention(_lara_turns, window(512), delta_net), head_dim=head_dim(128),
    attn_gate=False, moe_shared_gate=False, extra_params_total=None, tied_embeddings=tied(True),
)  # fmt: skip
MINIMAX = Family(
    "minimax minimax_text_01 minimax_m1",
    MIXTRAL,
    attention(marked_full, maybe(), _lightning),
    one_shared(maybe("shared_intermediate_size")),
    recurrent_state_elements=_lightning_states,
)


def _conv_kinds(config: Config, row: ModelRow) -> list[str]:
    """Layers in `full_attn_idxs` (all if missing) have attention; the others have short convolutions."""
    full = config.items("full_attn_idxs", int)
    return ["full" if full is None or index in full else "linear" for index in range(row.count("n_layers"))]


def _short_conv(config: Config, row: ModelRow) -> ColumnValue:
    """Parameters of a short convolution: three input projections, one output projection, each with biases."""
    d_model = row.count("d_model")
    bias = 5 * d_model if config.flag("conv_bias") else 0
    return 4 * d_model**2 + d_model * config.said("conv_L_cache", least=1) + bias


MOST_WIDER = 1000


def _conv_width(config: Config, _: ModelRow) -> ColumnValue:
    """Two thirds of the configured width times a factor, rounded up to blocks; or without adjustment that width."""
    said = config.said("block_ff_dim", "intermediate_size", least=2)
    if not config.flag("block_auto_adjust_ff_dim", default=True):
        return said
    factor, block = config.value("block_ffn_dim_multiplier"), config.count("block_multiple_of", least=1) or 256
    if factor is not None and (isinstance(factor, bool) or not isinstance(factor, int | float)):
        raise config.fault("block_ffn_dim_multiplier", "is not a number", "write it without quotes")
    if factor is not None and not 0 < factor < MOST_WIDER:
        what = f"it must be between 0 and {MOST_WIDER}"
        raise config.fault("block_ffn_dim_multiplier", "is out of range", what)
    width = 2 * said // 3 if factor is None else int(factor * (2 * said // 3))
    return (width + block - 1) // block * block


LFM2 = Family(
    "lfm2", GROUPED, attention(_conv_kinds, maybe(), _short_conv), qk_norm="per_head",
    d_ff=_conv_width, tied_embeddings=tied(True, "tie_embedding"),
    # The past inputs of a convolution.
    recurrent_state_elements=lambda config, row: n_linear(row) * row.count("d_model") * config.said("conv_L_cache"),
)  # fmt: skip


def _turns(_: Config, row: ModelRow) -> list[str]:
    """LFM3: of four layers one has global attention, one (not the first) windowed attention, two convolutions."""
    turns = ["local", "linear", "full", "linear"]
    return [turns[index % 4] if index else "linear" for index in range(row.count("n_layers"))]


LFM3 = Family(
    "lfm3",
    LFM2,
    attention(_turns, window(256), _short_conv),
    ATTENTION_BIAS,
    d_ff=size("intermediate_size"),
    head_dim=head_dim(128),
    norms_per_layer=where("use_sandwich_norm", 4, 2, default=True),
    # A gate for each head.
    extra_params_per_layer=lambda config, row: (
        row.count("d_model") * row.count("n_heads") if config.flag("use_attention_gate", default=True) else None
    ),
)
LFM2_MOE = Family(
    "lfm2_moe",
    LFM2,
    experts(size("num_experts"), size("num_experts_per_tok"), after(lambda config: config.said("num_dense_layers"))),
    router_score_bias=flag("use_expert_bias", default=True),
)


def _olmo_kinds(config: Config, row: ModelRow) -> list[str]:
    """Every fourth layer has softmax attention, or the last one if there are fewer."""
    kinds = one_full_in(4, other="linear")(config, row)
    return kinds if "full" in kinds else [*kinds[:-1], "full"]


OLMO_HYBRID = Family(
    "olmo_hybrid", OLMO2, attention(_olmo_kinds, maybe(), delta_net), recurrent_state_elements=_delta_states
)


def _griffin_kinds(config: Config, row: ModelRow) -> list[str]:
    """Recurrent and attention blocks in a repeating pattern; attention is windowed."""
    pattern = config.items("block_types", str) or ["recurrent", "recurrent", "attention"]
    known = listed(config, row)
    number = row.count("n_layers")
    return known or ["linear" if pattern[i % len(pattern)] == "recurrent" else "local" for i in range(number)]


def _recurrent_width(config: Config, row: ModelRow) -> int:
    return config.count("lru_width", least=1) or row.count("d_model")


def _griffin_block(config: Config, row: ModelRow) -> ColumnValue:
    """Parameters of a recurrent block: projections with biases, a convolution, gates with a square per head."""
    d_model, width = row.count("d_model"), _recurrent_width(config, row)
    ways = 2 * (d_model * width + width) + width * d_model + d_model
    convolution = width * config.said("conv1d_width", least=1) + width
    return ways + convolution + 2 * (width * width // row.count("n_heads") + width) + width


RECURRENT_GEMMA = Family(
    "recurrent_gemma",
    GENERAL,
    attention(_griffin_kinds, window(2048, "attention_window_size"), _griffin_block),
    tied_embeddings=tied(True),
    qkv_bias=flag("attention_bias"),
    o_bias=True,
    mlp_bias=True,
    d_ff=lambda config, _: config.said("intermediate_size", least=2) // 2,
    recurrent_state_elements=lambda config, row: n_linear(row) * _recurrent_width(config, row),
)


def _mllama_kinds(config: Config, row: ModelRow) -> list[str]:
    crossing = config.items("cross_attention_layers", int)
    if crossing is None:
        crossing = list(range(3, 39, 5))
        config.note("cross_attention_layers is not said: 3, 8, ... 38, as mllama_text_model has it")
    config.note("layers that attend to images keep no cache of a text: they stand as linear layers")
    return ["linear" if index in crossing else "full" for index in range(row.count("n_layers"))]


def _crossing(_: Config, row: ModelRow) -> ColumnValue:
    """Parameters of cross attention to images, shaped like self-attention, with query and key norms and two gates."""
    width, d_model = row.count("head_dim"), row.count("d_model")
    return 2 * d_model * width * (row.count("n_heads") + row.count("n_kv_heads")) + 2 * width + 2


MLLAMA = Family(
    "mllama_text_model",
    GROUPED,
    attention(_mllama_kinds, maybe(), _crossing),
    extra_params_total=lambda _, row: 8 * row.count("d_model"),  # image tokens, only in the embedding
)

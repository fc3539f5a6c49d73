"""Dense families with a feed-forward block of two matrices: GPT and GPT-2 and their successors.

Defaults of missing fields are those of transformers' configuration_*.py or of the checkpoint's own code.
"""

from __future__ import annotations

from planner.hf.config import NO_ROW, Config
from planner.hf.dense import GENERAL, KV_SAID, biases
from planner.hf.layers import all_local, attention, check_length, window
from planner.hf.rules import (
    ColumnRules,
    ColumnValue,
    Family,
    ModelRow,
    divided,
    flag,
    layers,
    maybe,
    of,
    size,
    tied,
    times,
    where,
)

PLAIN: ColumnRules = {
    **GENERAL,
    "mlp_gated": False,
    "norm": "layernorm",
    "head_dim": divided,
    "n_kv_heads": of("n_heads"),
}

GPT2 = Family(
    "gpt2 gpt-sw3", PLAIN, biases(True), n_layers=layers("n_layer", "num_hidden_layers"),
    d_model=size("n_embd", "hidden_size"), n_heads=size("n_head", "num_attention_heads"),
    d_ff=times(4, "d_model", "n_inner"), tied_embeddings=tied(True),
    max_context=size("n_positions", "max_position_embeddings", "n_ctx"), pos_emb_rows=of("max_context"),
)  # fmt: skip
GPT_BIGCODE = Family(
    "gpt_bigcode",
    GPT2,
    n_kv_heads=lambda config, row: 1 if config.flag("multi_query", default=True) else row["n_heads"],
)
GPTJ = Family(
    "gptj codegen",
    GPT2,
    tied_embeddings=tied(False),
    norms_per_layer=1,
    qkv_bias=False,
    o_bias=False,
    lm_head_bias=True,
    pos_emb_rows=0,
)


def _neo_kinds(config: Config, row: ModelRow) -> list[str]:
    """The kind of each layer: `attention_layers` lists them; `attention_types` has patterns with repeat counts."""
    names = config.items("attention_layers", str)
    if names is None:
        types = config.value("attention_types") or [[["global", "local"], row.count("n_layers") // 2]]
        try:
            names = [str(name) for pattern, turns in types for _ in range(turns) for name in pattern]
        except (TypeError, ValueError):
            what = "is no list of patterns with the number of their turns"
            raise config.fault("attention_types", what, "correct it in the config") from None
    check_length(config, row, "attention_layers" if config.says("attention_layers") else "attention_types", len(names))
    return ["local" if name == "local" else "full" for name in names]


GPT_NEO = Family(
    "gpt_neo", PLAIN, attention(_neo_kinds, window(256, "window_size")),
    n_layers=layers("num_layers", "num_hidden_layers"),
    n_heads=size("num_heads", "num_attention_heads"),
    d_ff=times(4, "d_model", "intermediate_size"), tied_embeddings=tied(True), o_bias=True, mlp_bias=True,
    max_context=size("max_position_embeddings"), pos_emb_rows=of("max_context"),
)  # fmt: skip
GPT_NEOX = Family(
    "gpt_neox",
    PLAIN,
    mlp_bias=True,
    qkv_bias=flag("attention_bias", default=True),
    o_bias=flag("attention_bias", default=True),
)
BLOOM = Family(
    "bloom", PLAIN, biases(True), n_layers=layers("n_layer", "num_hidden_layers"),
    d_model=size("hidden_size", "n_embed"), n_heads=size("n_head", "num_attention_heads"),
    d_ff=times(4, "d_model"), tied_embeddings=tied(True), embed_norm=True,
    max_context=maybe("seq_length"),
)  # fmt: skip


def _opt_d_model(config: Config, _: ModelRow) -> ColumnValue:
    hidden, embedded = config.said("hidden_size", least=1), config.count("word_embed_proj_dim", least=1)
    if embedded not in (None, hidden):
        what = f"differs from hidden_size {hidden}: projections between the two have no column"
        raise config.fault("word_embed_proj_dim", what, NO_ROW)
    return hidden


def _opt_final_norm(config: Config, row: ModelRow) -> ColumnValue:
    kept = config.flag("do_layer_norm_before", default=True) and not config.flag("_remove_final_layer_norm")
    return bool(row["norms_per_layer"]) and kept


# Two rows of positions stand before the first (OPTLearnedPositionalEmbedding.offset).
OPT = Family(
    "opt", PLAIN, biases(flag("enable_bias", default=True)), d_model=_opt_d_model,
    d_ff=size("ffn_dim"), tied_embeddings=tied(True), max_context=size("max_position_embeddings"),
    pos_emb_rows=lambda _, row: row.count("max_context") + 2,
    norms_per_layer=where("layer_norm_elementwise_affine", 2, 0, default=True), final_norm=_opt_final_norm,
)  # fmt: skip

PHI = Family(
    "phi phi-msft",
    PLAIN,
    biases(True),
    n_layers=layers("num_hidden_layers", "n_layer"),
    lm_head_bias=True,
    n_kv_heads=lambda config, row: config.count("num_key_value_heads", "n_head_kv", least=1) or row["n_heads"],
    d_ff=lambda config, row: (times(4, "d_model", "n_inner") if config.says("n_embd") else size("intermediate_size"))(
        config, row
    ),
    norms_per_layer=1,
    qk_norm_params=lambda config, row: 4 * row.count("head_dim") if config.flag("qk_layernorm") else None,
)


def _is_new(config: Config) -> bool:
    """Whether it is the architecture of Falcon 40B and 180B.

    Under model_type RefinedWeb, only 40B had a number of KV heads.
    """
    return config.flag("new_decoder_architecture", default=config.count("n_head_kv") is not None)


def _falcon_kv_heads(config: Config, row: ModelRow) -> ColumnValue:
    if _is_new(config):
        return config.count("num_kv_heads", "n_head_kv", least=1) or row["n_heads"]
    return 1 if config.flag("multi_query", default=True) else row["n_heads"]


def _falcon_norms(config: Config, _: ModelRow) -> ColumnValue:
    """One norm if attention and feed-forward block share it, two if each has its own."""
    if not config.flag("parallel_attn", default=True):
        return 2
    said = config.count("num_ln_in_parallel_attn", least=1)
    return (2 if _is_new(config) else 1) if said is None else min(said, 2)


FALCON = Family(
    "falcon refinedweb refinedwebmodel", PLAIN, biases(flag("bias")), n_layers=layers("num_hidden_layers", "n_layer"),
    d_model=size("hidden_size", "n_embed"), n_heads=size("num_attention_heads", "n_head"),
    n_kv_heads=_falcon_kv_heads, d_ff=times(4, "d_model", "ffn_hidden_size"), tied_embeddings=tied(True),
    norms_per_layer=_falcon_norms, max_context=maybe("max_position_embeddings", default=2048),
)  # fmt: skip

STARCODER2 = Family(
    "starcoder2",
    PLAIN,
    KV_SAID,
    biases(flag("use_bias", default=True)),
    attention(all_local, window(None)),
    tied_embeddings=tied(True),
)


def _mpt_kv_heads(config: Config, row: ModelRow) -> ColumnValue:
    attention = config.part("attn_config")
    kind = attention.text("attn_type")
    if kind == "grouped_query_attention":
        return attention.said("kv_n_heads", least=1)
    return 1 if kind == "multiquery_attention" else row["n_heads"]


_MPT_BLOCKS = {"": False, "mptmlp": False, "te_ln_mlp": False, "mptglu": True}


def _mpt_gated(config: Config, _: ModelRow) -> ColumnValue:
    """Whether the feed-forward block is gated. Raises UserError for other forms, such as llm-foundry's experts."""
    part = config.part("ffn_config")
    kind = part.text("ffn_type")
    if kind not in _MPT_BLOCKS:
        raise part.fault("ffn_type", "is no block that can be read", f"known: {', '.join(filter(None, _MPT_BLOCKS))}")
    return _MPT_BLOCKS[kind]


def _mpt_d_ff(config: Config, row: ModelRow) -> ColumnValue:
    said = config.part("ffn_config").count("ffn_hidden_size", least=1)
    return said or config.said("expansion_ratio", least=1) * row.count("d_model")


def _mpt_positions(config: Config, row: ModelRow) -> ColumnValue:
    """Learned positions, unless the attention encodes them with ALiBi, or with RoPE in llm-foundry's code."""
    attention = config.part("attn_config")
    has_own_positions = attention.flag("alibi", default=True) or attention.flag("rope")
    return 0 if has_own_positions or not config.flag("learned_pos_emb", default=True) else row["max_context"]


MPT = Family(
    "mpt",
    PLAIN,
    biases(where("no_bias", False, True, default=True)),
    n_layers=layers("n_layers"),
    d_model=size("d_model"),
    n_heads=size("n_heads"),
    n_kv_heads=_mpt_kv_heads,
    tied_embeddings=tied(True),
    d_ff=_mpt_d_ff,
    mlp_gated=_mpt_gated,
    norm=where("no_bias", "layernorm_nobias", "layernorm", default=True),
    max_context=size("max_seq_len"),
    pos_emb_rows=_mpt_positions,
)

# The first GPT has norms after each block, and none after the last layer.
GPT = Family("openai-gpt", GPT2, d_ff=times(4, "d_model"), final_norm=False)
# Positions are sinusoidal, not learned.
CTRL = Family("ctrl", GPT2, d_ff=size("dff"), lm_head_bias=True, pos_emb_rows=0)
XGLM = Family(
    "xglm",
    PLAIN,
    biases(True),
    n_layers=layers("num_layers", "num_hidden_layers"),
    n_heads=size("attention_heads", "num_attention_heads"),
    d_ff=size("ffn_dim"),
    tied_embeddings=tied(True),
)
# Two rows of positions stand before the first, as in OPT.
BIOGPT = Family(
    "biogpt",
    PLAIN,
    biases(True),
    tied_embeddings=tied(True),
    max_context=size("max_position_embeddings"),
    pos_emb_rows=lambda _, row: row.count("max_context") + 2,
)
# Only the last layer's attention has a bias, on its output.
GPT_NEOX_JAPANESE = Family(
    "gpt_neox_japanese",
    PLAIN,
    tied_embeddings=tied(True),
    d_ff=lambda config, row: config.said("intermediate_multiple_size", least=1) * row.count("d_model"),
    extra_params_total=lambda _, row: row.count("d_model"),
)
PERSIMMON = Family(
    "persimmon",
    PLAIN,
    biases(True),
    qk_norm_params=lambda config, row: 4 * row.count("head_dim") if config.flag("qk_layernorm", default=True) else None,
)

"""Dense families: Llama and its successors (gated feed-forward), GPT-2 and its successors (two matrices).

Defaults of missing fields are those of transformers' configuration_*.py or of the checkpoint's own code.
"""

from __future__ import annotations

from planner.hf.config import NO_ROW, Config
from planner.hf.layers import (
    after_first_full,
    all_full,
    all_local,
    attention,
    check_length,
    lettered,
    local_where_no_rope,
    one_full_in,
    window,
)
from planner.hf.rules import (
    ColumnRule,
    ColumnRules,
    ColumnValue,
    Family,
    ModelRow,
    divided,
    flag,
    head_dim,
    kv_heads,
    kv_heads_said,
    layers,
    maybe,
    of,
    size,
    taken,
    tied,
    times,
    where,
)

GENERAL: ColumnRules = {
    "n_layers": layers("num_hidden_layers", "n_layer", "n_layers"),
    "d_model": size("hidden_size", "n_embd", "d_model"),
    "n_heads": size("num_attention_heads", "n_head", "n_heads"),
    "n_kv_heads": kv_heads,
    "head_dim": head_dim(),
    "vocab": size("vocab_size"),
    "d_ff": size("intermediate_size"),
    "tied_embeddings": tied(False),
    "mlp_gated": True,
    "max_context": maybe("max_position_embeddings", "n_positions", "max_seq_len", "seq_length"),
    "mtp_layers": maybe("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules"),
}
ATTENTION_BIAS: ColumnRules = {"qkv_bias": flag("attention_bias"), "o_bias": flag("attention_bias")}
KV_SAID: ColumnRules = {"n_kv_heads": kv_heads_said}

LLAMA = Family("llama yi deepseek_llm aquila granite", {**GENERAL, **ATTENTION_BIAS, "mlp_bias": flag("mlp_bias")})

# A further norm before the output projections of attention and of the feed-forward block.
BITNET = Family(
    "bitnet",
    {
        **GENERAL,
        **ATTENTION_BIAS,
        "extra_params_total": lambda _, row: row.count("n_layers") * (row.count("d_model") + row.count("d_ff")),
    },
)

HYPERCLOVAX = Family("hyperclovax", {**LLAMA, "norms_per_layer": where("use_post_norm", 4, 2, default=True)})
EXAONE = Family("exaone", {**LLAMA, **KV_SAID, "n_layers": layers("num_layers", "num_hidden_layers")})


def _first_of_four_full(_: Config, row: ModelRow) -> list[str]:
    return ["local" if index % 4 else "full" for index in range(row.count("n_layers"))]


CWM = Family("cwm", {**LLAMA, **KV_SAID, **attention(_first_of_four_full, window(8192)), "head_dim": head_dim(128)})
SINKS: ColumnRules = {**KV_SAID, **attention(_first_of_four_full, window(128)), "attn_sinks": True}
GRANITE_SWA = Family("granite_swa", {**LLAMA, **SINKS, "tied_embeddings": tied(True)})
GRANITE_DOCLING = Family("granite_docling_text", {**LLAMA, "tied_embeddings": tied(True)})
HELIUM = Family("helium", {**LLAMA, "o_bias": False})

MISTRAL = Family("mistral ministral", {**GENERAL, **KV_SAID, **attention(all_local, window(4096))})
MINISTRAL3 = Family("ministral3", {**MISTRAL, **attention(all_local, window(None)), "head_dim": head_dim(128)})
PHI3 = Family("phi3 phi3_v phi4mm", {**GENERAL, **attention(all_local, window(None))})
# Its sparse layers attend to blocks of the context, which are counted as the whole context.
PHI3_SMALL = Family("phi3small", {
    **GENERAL, **KV_SAID, "d_ff": size("ff_intermediate_size", "intermediate_size"), "tied_embeddings": tied(True),
    "norm": "layernorm", "qkv_bias": True, "o_bias": True, "mlp_bias": True,
})  # fmt: skip
PHI4_MULTIMODAL = Family("phi4_multimodal", {**PHI3, **KV_SAID})

QWEN2 = Family(
    "qwen2 qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen2_5_omni_text mimo",
    {**GENERAL, **KV_SAID, **attention(after_first_full, window(4096)), "qkv_bias": True},
)
QWEN3 = Family("qwen3 qwen3_vl_text", {**QWEN2, **ATTENTION_BIAS, "head_dim": head_dim(128), "qk_norm": "per_head"})
# Molmo 2's embedding has extra rows for image tokens, which its head doesn't predict.
MOLMO2 = Family(
    "molmo2_text",
    {
        **GENERAL,
        **KV_SAID,
        "head_dim": head_dim(128),
        "qkv_bias": flag("attention_bias", "qkv_bias"),
        "qk_norm": lambda config, _: "full" if config.text("qk_norm_type") == "olmo" else "per_head",
        "extra_params_total": lambda config, row: taken(config, "additional_vocab_size", 128) * row.count("d_model"),
    },
)
# The first Qwen: its intermediate_size is the width of both input matrices together.
QWEN = Family(
    "qwen",
    {
        **GENERAL,
        "n_kv_heads": of("n_heads"),
        "head_dim": maybe("kv_channels", default=128),
        "qkv_bias": True,
        "o_bias": where("no_bias", False, True, default=True),
        "mlp_bias": where("no_bias", False, True, default=True),
        "d_ff": lambda config, _: config.said("intermediate_size", least=2) // 2,
    },
)

# OLMo's norms have no parameters; OLMo 2 norms all queries together and all keys, and after each block.
OLMO = Family("olmo", {**GENERAL, **ATTENTION_BIAS, "norms_per_layer": 0, "final_norm": False})
NANOCHAT = Family("nanochat", {**OLMO, "mlp_gated": False})
OLMO2 = Family("olmo2", {**GENERAL, **ATTENTION_BIAS, "qk_norm": "full"})
OLMO3 = Family("olmo3", {**OLMO2, **attention(one_full_in(4), window(4096))})

GLM = Family("glm", {**GENERAL, **KV_SAID, "head_dim": head_dim(128), "qkv_bias": flag("attention_bias", default=True)})
GLM4 = Family("glm4", {**GLM, "norms_per_layer": 4})
GLM4V = Family("glm4v_text", {**GLM4, "head_dim": divided, "qkv_bias": True})
GLM_OCR = Family("glm_ocr_text", {**GLM4, "head_dim": head_dim(), "qkv_bias": False})


def _chatglm_kv_heads(config: Config, row: ModelRow) -> ColumnValue:
    grouped = config.flag("multi_query_attention")
    return config.said("multi_query_group_num", least=1) if grouped else row["n_heads"]


def _chatglm_qkv_bias(config: Config, _: ModelRow) -> ColumnValue:
    return config.flag("add_bias_linear", default=True) or config.flag("add_qkv_bias")


CHATGLM = Family("chatglm", {
    **GENERAL, "n_layers": layers("num_layers", "num_hidden_layers"), "n_kv_heads": _chatglm_kv_heads,
    "head_dim": maybe("kv_channels", default=128), "vocab": size("padded_vocab_size"), "d_ff": size("ffn_hidden_size"),
    "norm": where("rmsnorm", "rmsnorm", "layernorm", default=True),
    "final_norm": flag("post_layer_norm", default=True), "qkv_bias": _chatglm_qkv_bias,
    "o_bias": flag("add_bias_linear", default=True), "mlp_bias": flag("add_bias_linear", default=True),
})  # fmt: skip

# One norm for attention and feed-forward block, which are parallel.
COHERE = Family(
    "cohere",
    {
        **GENERAL,
        **ATTENTION_BIAS,
        "tied_embeddings": tied(True),
        "norm": "layernorm_nobias",
        "norms_per_layer": 1,
        "qk_norm": where("use_qk_norm", "full", "none"),
        "max_context": maybe("model_max_length", "max_position_embeddings"),
    },
)
COHERE2 = Family(
    "cohere2", {**COHERE, **attention(one_full_in(4, "sliding_window_pattern"), window(4096)), "qk_norm": "none"}
)
COHERE_COMPASS = Family("cohere_compass_text", {**COHERE2, **attention(all_full, window(4096))})

SMOLLM3 = Family(
    "smollm3", {**LLAMA, **KV_SAID, **attention(local_where_no_rope, window(None)), "tied_embeddings": tied(True)}
)
BAICHUAN = Family(
    "baichuan",
    {**GENERAL, "n_kv_heads": of("n_heads"), "max_context": maybe("max_position_embeddings", "model_max_length")},
)
INTERNLM = Family(
    "internlm internlm2", {**GENERAL, "qkv_bias": flag("bias", default=True), "o_bias": flag("bias", default=True)}
)
INTERNLM3 = Family(
    "internlm3 iquestcoder",
    {
        **GENERAL,
        **KV_SAID,
        "head_dim": head_dim(128),
        "qkv_bias": flag("qkv_bias", "attention_bias"),
        "o_bias": flag("bias", "attention_bias"),
        "mlp_bias": flag("bias", "mlp_bias"),
    },
)
EXAONE4 = Family(
    "exaone4 exaone4_5_text", {**GENERAL, **KV_SAID, "qk_norm": "per_head", **attention(lettered, window(4096))}
)
HUNYUAN = Family("hunyuan_v1_dense", {**GENERAL, **ATTENTION_BIAS, "qk_norm": "per_head"})
# Its activation has two parameters in each layer (xIELU).
APERTUS = Family(
    "apertus",
    {
        **HUNYUAN,
        "mlp_gated": False,
        "extra_params_total": lambda config, row: (
            2 * row.count("n_layers") if config.text("hidden_act") == "xielu" else None
        ),
    },
)


def _head_rows(config: Config, _: ModelRow) -> ColumnValue:
    """The rows of the head: Apertus 1.5's may predict only the first part of the vocabulary, and computes only that."""
    rows, head = config.said("vocab_size", least=1), config.count("output_vocab_size", least=1) or 0
    if not head or config.flag("tie_word_embeddings"):
        return rows
    if head > rows:
        raise config.fault("output_vocab_size", f"is more than vocab_size {rows}", "correct one of the two")
    if head < rows:
        config.note(f"the head has {head:,} of {rows:,} rows: vocab is the head's, the embedding's others count too")
    return head


def _apertus_rest(config: Config, row: ModelRow) -> ColumnValue:
    activations = 2 * row.count("n_layers") if config.text("hidden_act") in ("", "xielu") else 0
    return activations + (config.said("vocab_size") - row.count("vocab")) * row.count("d_model") or None


APERTUS1P5 = Family("apertus1p5_text", {**APERTUS, "vocab": _head_rows, "extra_params_total": _apertus_rest})
SEED_OSS = Family(
    "seed_oss",
    {
        **LLAMA,
        **KV_SAID,
        "head_dim": head_dim(128),
        "qkv_bias": flag("attention_bias", default=True),
        "o_bias": flag("attention_out_bias"),
    },
)
# Every fourth layer from the end is global, the same number as from the start; norms of queries and
# keys have no parameters.
MUSE_GLIMMER = Family(
    "muse_glimmer_text",
    {
        **GENERAL,
        **KV_SAID,
        **ATTENTION_BIAS,
        **attention(_first_of_four_full, window(2048)),
        "head_dim": head_dim(128),
        "attn_gate": True,
        "norms_per_layer": 4,
    },
)
ERNIE = Family(
    "ernie4_5 paddleocr_vl_text",
    {
        **GENERAL,
        **KV_SAID,
        "head_dim": head_dim(128),
        "tied_embeddings": tied(True),
        "qkv_bias": flag("use_bias"),
        "o_bias": flag("use_bias"),
        "mlp_bias": flag("use_bias"),
    },
)
STABLELM = Family(
    "stablelm",
    {
        **GENERAL,
        **KV_SAID,
        "norm": "layernorm",
        "norms_per_layer": where("use_parallel_residual", 1, 2),
        "qkv_bias": flag("use_qkv_bias"),
        "qk_norm": where("qk_layernorm", "full", "none"),
    },
)


def _doge_experts(config: Config, row: ModelRow) -> ColumnValue:
    if config.flag("is_moe"):
        raise config.fault("is_moe", "gives it experts of two vectors each, which have no columns", NO_ROW)
    kept, longest = config.count("keep_window_size"), row.count("max_context")
    if kept and longest > kept:
        config.note(f"each head attends to {kept:,} keys of a longer context: it is counted as if to all")
    return 0


# A parameter per value and head selects the keys; residual scales before each block.
DOGE = Family(
    "doge",
    {
        **LLAMA,
        "qk_norm": "per_head",
        "norms_per_layer": 4,
        "moe_experts": _doge_experts,
        "extra_params_per_layer": lambda _, row: row.count("n_kv_heads") ** 2 * row.count("head_dim"),
        "extra_params_total": lambda config, row: (
            row.count("n_layers") * row.count("n_kv_heads") * (2 if config.flag("attention_bias") else 1)
        ),
    },
)


def biases(rule: ColumnValue | ColumnRule) -> ColumnRules:
    """The columns of the biases of attention and feed-forward block, from one rule."""
    return {"qkv_bias": rule, "o_bias": rule, "mlp_bias": rule}


PLAIN: ColumnRules = {**GENERAL, "mlp_gated": False, "norm": "layernorm", "head_dim": divided}

GPT2 = Family("gpt2 gpt-sw3", {
    **PLAIN, **biases(True), "n_layers": layers("n_layer", "num_hidden_layers"),
    "d_model": size("n_embd", "hidden_size"), "n_heads": size("n_head", "num_attention_heads"),
    "n_kv_heads": of("n_heads"), "d_ff": times(4, "d_model", "n_inner"), "tied_embeddings": tied(True),
    "max_context": size("n_positions", "max_position_embeddings", "n_ctx"), "pos_emb_rows": of("max_context"),
})  # fmt: skip
GPT_BIGCODE = Family(
    "gpt_bigcode",
    {**GPT2, "n_kv_heads": lambda config, row: 1 if config.flag("multi_query", default=True) else row["n_heads"]},
)
GPTJ = Family(
    "gptj codegen",
    {
        **GPT2,
        "tied_embeddings": tied(False),
        "norms_per_layer": 1,
        "qkv_bias": False,
        "o_bias": False,
        "lm_head_bias": True,
        "pos_emb_rows": 0,
    },
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


GPT_NEO = Family("gpt_neo", {
    **PLAIN, **attention(_neo_kinds, window(256, "window_size")), "n_layers": layers("num_layers", "num_hidden_layers"),
    "n_heads": size("num_heads", "num_attention_heads"), "n_kv_heads": of("n_heads"),
    "d_ff": times(4, "d_model", "intermediate_size"), "tied_embeddings": tied(True), "o_bias": True, "mlp_bias": True,
    "max_context": size("max_position_embeddings"), "pos_emb_rows": of("max_context"),
})  # fmt: skip
GPT_NEOX = Family(
    "gpt_neox",
    {
        **PLAIN,
        "n_kv_heads": of("n_heads"),
        "mlp_bias": True,
        "qkv_bias": flag("attention_bias", default=True),
        "o_bias": flag("attention_bias", default=True),
    },
)
BLOOM = Family("bloom", {
    **PLAIN, **biases(True), "n_layers": layers("n_layer", "num_hidden_layers"),
    "d_model": size("hidden_size", "n_embed"), "n_heads": size("n_head", "num_attention_heads"),
    "n_kv_heads": of("n_heads"), "d_ff": times(4, "d_model"), "tied_embeddings": tied(True), "embed_norm": True,
    "max_context": maybe("seq_length"),
})  # fmt: skip


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
OPT = Family("opt", {
    **PLAIN, **biases(flag("enable_bias", default=True)), "d_model": _opt_d_model, "n_kv_heads": of("n_heads"),
    "d_ff": size("ffn_dim"), "tied_embeddings": tied(True), "max_context": size("max_position_embeddings"),
    "pos_emb_rows": lambda _, row: row.count("max_context") + 2,
    "norms_per_layer": where("layer_norm_elementwise_affine", 2, 0, default=True), "final_norm": _opt_final_norm,
})  # fmt: skip

PHI = Family(
    "phi phi-msft",
    {
        **PLAIN,
        **biases(True),
        "n_layers": layers("num_hidden_layers", "n_layer"),
        "lm_head_bias": True,
        "n_kv_heads": lambda config, row: config.count("num_key_value_heads", "n_head_kv", least=1) or row["n_heads"],
        "d_ff": lambda config, row: (
            times(4, "d_model", "n_inner") if config.says("n_embd") else size("intermediate_size")
        )(config, row),
        "norms_per_layer": 1,
        "qk_norm_params": lambda config, row: 4 * row.count("head_dim") if config.flag("qk_layernorm") else None,
    },
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


FALCON = Family("falcon refinedweb refinedwebmodel", {
    **PLAIN, **biases(flag("bias")), "n_layers": layers("num_hidden_layers", "n_layer"),
    "d_model": size("hidden_size", "n_embed"), "n_heads": size("num_attention_heads", "n_head"),
    "n_kv_heads": _falcon_kv_heads, "d_ff": times(4, "d_model", "ffn_hidden_size"), "tied_embeddings": tied(True),
    "norms_per_layer": _falcon_norms, "max_context": maybe("max_position_embeddings", default=2048),
})  # fmt: skip

STARCODER2 = Family(
    "starcoder2",
    {
        **PLAIN,
        **KV_SAID,
        **biases(flag("use_bias", default=True)),
        **attention(all_local, window(None)),
        "tied_embeddings": tied(True),
    },
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
    {
        **PLAIN,
        **biases(where("no_bias", False, True, default=True)),
        "n_layers": layers("n_layers"),
        "d_model": size("d_model"),
        "n_heads": size("n_heads"),
        "n_kv_heads": _mpt_kv_heads,
        "tied_embeddings": tied(True),
        "d_ff": _mpt_d_ff,
        "mlp_gated": _mpt_gated,
        "norm": where("no_bias", "layernorm_nobias", "layernorm", default=True),
        "max_context": size("max_seq_len"),
        "pos_emb_rows": _mpt_positions,
    },
)

NEMOTRON = Family("nemotron", {**LLAMA, "mlp_gated": False, "norm": "layernorm"})
JAIS2 = Family(
    "jais2", {**NEMOTRON, **biases(flag("attention_bias", default=True)), "mlp_bias": flag("mlp_bias", default=True)}
)
ARCEE = Family("arcee cosmos3_edge_text", {**LLAMA, "mlp_gated": False})

"""Dense families: Llama and its successors, most with a gated feed-forward block.

Defaults of missing fields are those of transformers' configuration_*.py or of the checkpoint's own code.
"""

from __future__ import annotations

from planner.hf.config import NO_ROW, Config
from planner.hf.layers import (
    after_first_full,
    all_full,
    all_local,
    attention,
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
GROUPED: ColumnRules = {**GENERAL, **KV_SAID}  # of grouped queries: the number of KV heads must be said


def biases(rule: ColumnValue | ColumnRule) -> ColumnRules:
    """The columns of the biases of attention and feed-forward block, from one rule."""
    return {"qkv_bias": rule, "o_bias": rule, "mlp_bias": rule}


LLAMA = Family("llama yi deepseek_llm aquila granite", GENERAL, ATTENTION_BIAS, mlp_bias=flag("mlp_bias"))

# A further norm before the output projections of attention and of the feed-forward block.
BITNET = Family(
    "bitnet",
    GENERAL,
    ATTENTION_BIAS,
    extra_params_total=lambda _, row: row.count("n_layers") * (row.count("d_model") + row.count("d_ff")),
)

HYPERCLOVAX = Family("hyperclovax", LLAMA, norms_per_layer=where("use_post_norm", 4, 2, default=True))
EXAONE = Family("exaone", LLAMA, KV_SAID, n_layers=layers("num_layers", "num_hidden_layers"))
_FIRST_OF_FOUR = one_full_in(4, is_first=True)

CWM = Family("cwm", LLAMA, KV_SAID, attention(_FIRST_OF_FOUR, window(8192)), head_dim=head_dim(128))
SINKS: ColumnRules = {**KV_SAID, **attention(_FIRST_OF_FOUR, window(128)), "attn_sinks": True}
GRANITE_SWA = Family("granite_swa", LLAMA, SINKS, tied_embeddings=tied(True))
GRANITE_DOCLING = Family("granite_docling_text", LLAMA, tied_embeddings=tied(True))


def _helium_width(config: Config, row: ModelRow) -> ColumnValue:
    """The output projection is square, so the heads together are as wide as the model."""
    said = config.count("head_dim", least=1)
    if said is not None and said * row.count("n_heads") != row["d_model"]:
        raise config.fault("head_dim", f"times {row['n_heads']} heads is not d_model {row['d_model']}", "correct it")
    return divided(config, row)


HELIUM = Family("helium", LLAMA, o_bias=False, head_dim=_helium_width)

MISTRAL = Family("mistral ministral", GROUPED, attention(all_local, window(4096)))
MINISTRAL3 = Family("ministral3", MISTRAL, attention(all_local, window(None)), head_dim=head_dim(128))
PHI3 = Family("phi3 phi3_v phi4mm", GENERAL, attention(all_local, window(None)))
# Its sparse layers attend to blocks of the context, which are counted as the whole context.
PHI3_SMALL = Family(
    "phi3small", GROUPED, biases(True), d_ff=size("ff_intermediate_size", "intermediate_size"),
    tied_embeddings=tied(True), norm="layernorm",
)  # fmt: skip
PHI4_MULTIMODAL = Family("phi4_multimodal", PHI3, KV_SAID)

QWEN2 = Family(
    "qwen2 qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen2_5_omni_text mimo",
    GROUPED,
    attention(after_first_full, window(4096)),
    qkv_bias=True,
)
QWEN3 = Family("qwen3 qwen3_vl_text", QWEN2, ATTENTION_BIAS, head_dim=head_dim(128), qk_norm="per_head")
# Molmo 2's embedding has extra rows for image tokens, which its head doesn't predict.
MOLMO2 = Family(
    "molmo2_text",
    GROUPED,
    head_dim=head_dim(128),
    qkv_bias=flag("attention_bias", "qkv_bias"),
    qk_norm=lambda config, _: "full" if config.text("qk_norm_type") == "olmo" else "per_head",
    extra_params_total=lambda config, row: taken(config, "additional_vocab_size", 128) * row.count("d_model"),
)
# The first Qwen: its intermediate_size is the width of both input matrices together.
QWEN = Family(
    "qwen",
    GENERAL,
    n_kv_heads=of("n_heads"),
    head_dim=maybe("kv_channels", default=128),
    qkv_bias=True,
    o_bias=where("no_bias", False, True, default=True),
    mlp_bias=where("no_bias", False, True, default=True),
    d_ff=lambda config, _: config.said("intermediate_size", least=2) // 2,
)

# OLMo's norms have no parameters; OLMo 2 norms all queries together and all keys, and after each block.
OLMO = Family("olmo", GENERAL, ATTENTION_BIAS, norms_per_layer=0, final_norm=False)
NANOCHAT = Family("nanochat", OLMO, mlp_gated=False)
OLMO2 = Family("olmo2", GENERAL, ATTENTION_BIAS, qk_norm="full")
OLMO3 = Family("olmo3", OLMO2, attention(one_full_in(4), window(4096)))

GLM = Family("glm", GROUPED, head_dim=head_dim(128), qkv_bias=flag("attention_bias", default=True))
GLM4 = Family("glm4", GLM, norms_per_layer=4)
GLM4V = Family("glm4v_text", GLM4, head_dim=divided, qkv_bias=True)
GLM_OCR = Family("glm_ocr_text", GLM4, head_dim=head_dim(), qkv_bias=False)


def _chatglm_kv_heads(config: Config, row: ModelRow) -> ColumnValue:
    grouped = config.flag("multi_query_attention")
    return config.said("multi_query_group_num", least=1) if grouped else row["n_heads"]


def _chatglm_qkv_bias(config: Config, _: ModelRow) -> ColumnValue:
    return config.flag("add_bias_linear", default=True) or config.flag("add_qkv_bias")


CHATGLM = Family(
    "chatglm", GENERAL, n_layers=layers("num_layers", "num_hidden_layers"), n_kv_heads=_chatglm_kv_heads,
    head_dim=maybe("kv_channels", default=128), vocab=size("padded_vocab_size"), d_ff=size("ffn_hidden_size"),
    norm=where("rmsnorm", "rmsnorm", "layernorm", default=True),
    final_norm=flag("post_layer_norm", default=True), qkv_bias=_chatglm_qkv_bias,
    o_bias=flag("add_bias_linear", default=True), mlp_bias=flag("add_bias_linear", default=True),
)  # fmt: skip

# One norm for attention and feed-forward block, which are parallel.
COHERE = Family(
    "cohere",
    GENERAL,
    ATTENTION_BIAS,
    tied_embeddings=tied(True),
    norm="layernorm_nobias",
    norms_per_layer=1,
    qk_norm=where("use_qk_norm", "full", "none"),
    max_context=maybe("model_max_length", "max_position_embeddings"),
)
COHERE2 = Family("cohere2", COHERE, attention(one_full_in(4, "sliding_window_pattern"), window(4096)), qk_norm="none")
COHERE_COMPASS = Family("cohere_compass_text", COHERE2, attention(all_full, window(4096)))

SMOLLM3 = Family("smollm3", LLAMA, KV_SAID, attention(local_where_no_rope, window(None)), tied_embeddings=tied(True))
BAICHUAN = Family(
    "baichuan", GENERAL, n_kv_heads=of("n_heads"), max_context=maybe("max_position_embeddings", "model_max_length")
)
INTERNLM = Family("internlm internlm2", GENERAL, qkv_bias=flag("bias", default=True), o_bias=flag("bias", default=True))
INTERNLM3 = Family(
    "internlm3 iquestcoder",
    GROUPED,
    head_dim=head_dim(128),
    qkv_bias=flag("qkv_bias", "attention_bias"),
    o_bias=flag("bias", "attention_bias"),
    mlp_bias=flag("bias", "mlp_bias"),
)
EXAONE4 = Family(
    "exaone4 exaone4_5_text",
    GROUPED,
    attention(lettered, window(4096)),
    qk_norm="per_head",
)
HUNYUAN = Family("hunyuan_v1_dense", GENERAL, ATTENTION_BIAS, qk_norm="per_head")
# Its activation has two parameters in each layer (xIELU).
APERTUS = Family(
    "apertus",
    HUNYUAN,
    mlp_gated=False,
    extra_params_total=lambda config, row: 2 * row.count("n_layers") if config.text("hidden_act") == "xielu" else None,
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


APERTUS1P5 = Family("apertus1p5_text", APERTUS, vocab=_head_rows, extra_params_total=_apertus_rest)
SEED_OSS = Family(
    "seed_oss",
    LLAMA,
    KV_SAID,
    head_dim=head_dim(128),
    qkv_bias=flag("attention_bias", default=True),
    o_bias=flag("attention_out_bias"),
)
# Every fourth layer from the end is global, the same number as from the start; norms of queries and
# keys have no parameters.
MUSE_GLIMMER = Family(
    "muse_glimmer_text",
    GROUPED,
    ATTENTION_BIAS,
    attention(_FIRST_OF_FOUR, window(2048)),
    head_dim=head_dim(128),
    attn_gate=True,
    norms_per_layer=4,
)
ERNIE = Family(
    "ernie4_5 paddleocr_vl_text",
    GROUPED,
    biases(flag("use_bias")),
    head_dim=head_dim(128),
    tied_embeddings=tied(True),
)
STABLELM = Family(
    "stablelm",
    GROUPED,
    norm="layernorm",
    norms_per_layer=where("use_parallel_residual", 1, 2),
    qkv_bias=flag("use_qkv_bias"),
    qk_norm=where("qk_layernorm", "full", "none"),
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
    LLAMA,
    qk_norm="per_head",
    norms_per_layer=4,
    moe_experts=_doge_experts,
    extra_params_per_layer=lambda _, row: row.count("n_kv_heads") ** 2 * row.count("head_dim"),
    extra_params_total=lambda config, row: (
        row.count("n_layers") * row.count("n_kv_heads") * (2 if config.flag("attention_bias") else 1)
    ),
)


def _half_window(config: Config, _: ModelRow) -> ColumnValue:
    """Half the field's width, which counts the tokens on both sides; a decoder attends to those before only."""
    both = taken(config, "local_attention", 128)
    return both // 2 or None


def _modernbert_head(config: Config, row: ModelRow) -> ColumnValue:
    """A matrix before the head, and its bias. Its norm makes up for the one that the first layer lacks."""
    return row.count("d_model") * (row.count("d_model") + int(config.flag("classifier_bias")))


MODERNBERT_DECODER = Family(
    "modernbert-decoder",
    LLAMA,
    attention(one_full_in(3, "global_attn_every_n_layers", is_first=True), _half_window),
    n_kv_heads=of("n_heads"),
    head_dim=divided,
    tied_embeddings=tied(True),
    norm=where("norm_bias", "layernorm", "layernorm_nobias"),
    embed_norm=True,
    lm_head_bias=flag("decoder_bias", default=True),
    extra_params_total=_modernbert_head,
)

NEMOTRON = Family("nemotron", LLAMA, mlp_gated=False, norm="layernorm")
JAIS2 = Family("jais2", NEMOTRON, biases(flag("attention_bias", default=True)), mlp_bias=flag("mlp_bias", default=True))
ARCEE = Family("arcee cosmos3_edge_text", LLAMA, mlp_gated=False)

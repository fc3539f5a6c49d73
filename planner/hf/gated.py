"""Dense families with a gated feed-forward block: Llama, and what each after it changed.

What a config may leave out is as transformers' configuration_*.py has it, or as the checkpoint's own code has it.
"""

from __future__ import annotations

from planner.hf.config import Config
from planner.hf.layers import after_first_full, all_local, attention, local_where_no_rope, one_full_in, window
from planner.hf.rules import (
    Cell,
    Family,
    Row,
    flag,
    head_dim,
    kv_heads,
    kv_heads_said,
    layers,
    maybe,
    of,
    size,
    tied,
    where,
)

GENERAL: Family = {
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
ATTENTION_BIAS: Family = {"qkv_bias": flag("attention_bias"), "o_bias": flag("attention_bias")}
KV_SAID: Family = {"n_kv_heads": kv_heads_said}

LLAMA: Family = {**GENERAL, **ATTENTION_BIAS, "mlp_bias": flag("mlp_bias")}


def _first_of_four_full(_: Config, row: Row) -> list[str]:
    return ["local" if index % 4 else "full" for index in range(row.count("n_layers"))]


CWM: Family = {**LLAMA, **KV_SAID, **attention(_first_of_four_full, window(8192)), "head_dim": head_dim(128)}

MISTRAL: Family = {**GENERAL, **KV_SAID, **attention(all_local, window(4096))}
MINISTRAL3: Family = {**MISTRAL, **attention(all_local, window(None)), "head_dim": head_dim(128)}
PHI3: Family = {**GENERAL, **attention(all_local, window(None))}
# Its sparse layers see blocks of the context, which is counted as the whole.
PHI3_SMALL: Family = {
    **GENERAL, **KV_SAID, "d_ff": size("ff_intermediate_size", "intermediate_size"), "tied_embeddings": tied(True),
    "norm": "layernorm", "qkv_bias": True, "o_bias": True, "mlp_bias": True,
}  # fmt: skip
PHI4_MULTIMODAL: Family = {**PHI3, **KV_SAID}

QWEN2: Family = {**GENERAL, **KV_SAID, **attention(after_first_full, window(4096)), "qkv_bias": True}
QWEN3: Family = {**QWEN2, **ATTENTION_BIAS, "head_dim": head_dim(128), "qk_norm": "per_head"}
# The first Qwen: its intermediate_size is that of the two input matrices together.
QWEN: Family = {
    **GENERAL, "n_kv_heads": of("n_heads"), "head_dim": maybe("kv_channels", default=128), "qkv_bias": True,
    "o_bias": where("no_bias", False, True, default=True), "mlp_bias": where("no_bias", False, True, default=True),
    "d_ff": lambda config, _: config.said("intermediate_size", least=2) // 2,
}  # fmt: skip

# OLMo's norms have no parameters; OLMo 2 norms all queries together and all keys, and after each block.
OLMO: Family = {**GENERAL, **ATTENTION_BIAS, "norms_per_layer": 0, "final_norm": False}
OLMO2: Family = {**GENERAL, **ATTENTION_BIAS, "qk_norm": "full"}
OLMO3: Family = {**OLMO2, **attention(one_full_in(4), window(4096))}

GLM: Family = {**GENERAL, **KV_SAID, "head_dim": head_dim(128), "qkv_bias": flag("attention_bias", default=True)}
GLM4: Family = {**GLM, "norms_per_layer": 4}


def _chatglm_kv_heads(config: Config, row: Row) -> Cell:
    grouped = config.flag("multi_query_attention")
    return config.said("multi_query_group_num", least=1) if grouped else row["n_heads"]


def _chatglm_qkv_bias(config: Config, _: Row) -> Cell:
    return config.flag("add_bias_linear", default=True) or config.flag("add_qkv_bias")


CHATGLM: Family = {
    **GENERAL, "n_layers": layers("num_layers", "num_hidden_layers"), "n_kv_heads": _chatglm_kv_heads,
    "head_dim": maybe("kv_channels", default=128), "vocab": size("padded_vocab_size"), "d_ff": size("ffn_hidden_size"),
    "norm": where("rmsnorm", "rmsnorm", "layernorm", default=True),
    "final_norm": flag("post_layer_norm", default=True), "qkv_bias": _chatglm_qkv_bias,
    "o_bias": flag("add_bias_linear", default=True), "mlp_bias": flag("add_bias_linear", default=True),
}  # fmt: skip

# One norm for attention and the feed-forward block, which work side by side.
COHERE: Family = {
    **GENERAL, **ATTENTION_BIAS, "tied_embeddings": tied(True), "norm": "layernorm_nobias", "norms_per_layer": 1,
    "qk_norm": where("use_qk_norm", "full", "none"),
    "max_context": maybe("model_max_length", "max_position_embeddings"),
}  # fmt: skip
COHERE2: Family = {
    **COHERE, **attention(one_full_in(4, "sliding_window_pattern"), window(4096)), "qk_norm": "none",
}  # fmt: skip

SMOLLM3: Family = {
    **LLAMA, **KV_SAID, **attention(local_where_no_rope, window(None)), "tied_embeddings": tied(True),
}  # fmt: skip
BAICHUAN: Family = {
    **GENERAL, "n_kv_heads": of("n_heads"), "max_context": maybe("max_position_embeddings", "model_max_length"),
}  # fmt: skip
INTERNLM: Family = {**GENERAL, "qkv_bias": flag("bias", default=True), "o_bias": flag("bias", default=True)}
INTERNLM3: Family = {
    **GENERAL, **KV_SAID, "head_dim": head_dim(128), "qkv_bias": flag("qkv_bias", "attention_bias"),
    "o_bias": flag("bias", "attention_bias"), "mlp_bias": flag("bias", "mlp_bias"),
}  # fmt: skip
EXAONE4: Family = {
    **GENERAL, **KV_SAID, "qk_norm": "per_head", **attention(one_full_in(4, "sliding_window_pattern"), window(4096)),
}  # fmt: skip
HUNYUAN: Family = {**GENERAL, **ATTENTION_BIAS, "qk_norm": "per_head"}
SEED_OSS: Family = {
    **LLAMA, **KV_SAID, "head_dim": head_dim(128), "qkv_bias": flag("attention_bias", default=True),
    "o_bias": flag("attention_out_bias"),
}  # fmt: skip
ERNIE: Family = {
    **GENERAL, **KV_SAID, "head_dim": head_dim(128), "tied_embeddings": tied(True),
    "qkv_bias": flag("use_bias"), "o_bias": flag("use_bias"), "mlp_bias": flag("use_bias"),
}  # fmt: skip
STABLELM: Family = {
    **GENERAL, **KV_SAID, "norm": "layernorm", "norms_per_layer": where("use_parallel_residual", 1, 2),
    "qkv_bias": flag("use_qkv_bias"), "qk_norm": where("qk_layernorm", "full", "none"),
}  # fmt: skip

"""The columns of a models CSV, and the rule for each blank cell.

A file may use a checkpoint's natural names (`moe_experts`, `tied_embeddings`) or those that templates read
(`n_experts`, `is_untied`). Dense is the special case with one expert and no expert layers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from planner.catalog.columns import Field, Value, with_rules
from planner.catalog.laws import biased

_text = partial(Field, kind="text")
_count = partial(Field, source="source")
_size = partial(_count, positive=True)
_ratio = partial(_size, kind="number", blank=1.0)
_flag = partial(Field, kind="flag", blank=0.0, source="source")
_natural = partial(Field, shown=False)  # read only to derive the columns that templates read
_ATTENTION = ("mha", "gqa", "mqa", "mla", "hybrid")
_NORM_VECTORS = {"rmsnorm": 1.0, "layernorm_nobias": 1.0, "layernorm": 2.0}

# In the order in which the rules run.
_FIELDS = (
    _natural("id", "Identifier", kind="text", required=True),
    _text("name", "Name"),
    _size("year", "Year"),
    _size("n_layers", "Layers", required=True),
    _size("d_model", "Model dimension", required=True),
    _size("n_heads", "Query heads", required=True),
    _size("n_kv_heads", "Key and value heads", required=True, at_most="n_heads"),
    _size("head_dim", "Head dimension", required=True),
    _size("vocab", "Vocabulary", required=True),
    _natural("tied_embeddings", "Head tied to the embedding", kind="flag", blank=0.0),
    _flag("is_untied", "Untied head (1 or 0)"),
    _natural("mlp_gated", "Gated feed-forward block", kind="flag", blank=1.0),
    _size("mlp_matrices", "Matrices of the feed-forward block"),
    # Experts
    _natural("moe_experts", "Experts", blank=0.0),
    _natural("moe_top_k", "Experts that a token uses"),
    _natural("n_dense_layers", "Layers before the first with experts", blank=0.0, at_most="n_layers"),
    _natural("moe_layer_step", "Layers for each one with experts", blank=1.0, positive=True),
    _size("n_experts", "Experts"),
    _size("n_experts_active", "Experts that a token uses"),
    _count("n_moe_layers", "Layers with experts", at_most="n_layers"),
    _size("d_ff", "Feed-forward dimension", required=True),
    _count("d_ff_expert", "Feed-forward dimension of an expert", aliases=("moe_d_ff",)),
    _count("expert_latent_dim", "Latent dimension of experts (0: none)", blank=0.0, aliases=("moe_latent_dim",)),
    _count("n_shared_experts", "Shared experts", blank=0.0, aliases=("moe_shared_experts",)),
    _count("d_ff_shared", "Feed-forward dimension of a shared expert", aliases=("moe_shared_d_ff",)),
    _flag("n_shared_gate", "Gate on the shared expert (1 or 0)", aliases=("moe_shared_gate",)),
    _natural("router_bias", "Bias of the router", kind="flag", blank=0.0),
    _natural("router_score_bias", "Score correction of the router", kind="flag", blank=0.0),
    _count("n_router_bias", "Bias vectors of the router"),
    _flag("n_expert_bias", "Biases in the experts (1 or 0)", aliases=("expert_bias",)),
    # Latent attention (MLA); without it the head dimensions
    _count("kv_lora_rank", "Rank of the latent cache", blank=0.0),
    _count("q_lora_rank", "Rank of the query compression", blank=0.0),
    _count("qk_rope_dim", "Rotary dimension kept apart"),
    _size("qk_nope_dim", "Query and key dimension without rotation"),
    _size("v_head_dim", "Value dimension of a head"),
    _flag("kv_shared", "Keys that are the values too (1 or 0)"),
    # A grouped output projection: each group to its rank, then all ranks to the model dimension
    _count("o_lora_rank", "Rank of a group's output projection (0: one matrix for all heads)", blank=0.0),
    _count("o_groups", "Groups of heads with an output projection of their own", blank=0.0, at_most="n_heads"),
    # The attention pattern of the layers
    _count(
        "n_full_attention_layers", "Layers with softmax attention", aliases=("n_full_attn_layers",), at_most="n_layers"
    ),
    _count("n_linear_layers", "Layers with linear attention", at_most="n_layers"),
    _count(
        "linear_attention_params_layer",
        "Parameters of a linear attention layer",
        aliases=("linear_attn_params_per_layer",),
    ),
    _count("recurrent_state_elements", "Elements of a sequence's recurrent states in all layers", blank=0.0),
    _text("attention", "Attention", choices=_ATTENTION),
    _size("max_context", "Longest context"),
    _natural("n_global_layers", "Layers without a window", at_most="n_layers"),
    _count("n_local_layers", "Layers that attend within a window", at_most="n_full_attention_layers"),
    _size("window", "Window of the local layers", aliases=("sliding_window",)),
    # Layers whose heads differ from the columns n_heads, n_kv_heads and head_dim
    _ratio("global_kv_ratio", "Cache of a layer without a window over that of the heads above"),
    _ratio("local_kv_ratio", "Cache of a layer with a window over that of the heads above"),
    _ratio("global_attention_ratio", "Attention work of a layer without a window over that of the heads above"),
    _ratio("local_attention_ratio", "Attention work of a layer with a window over that of the heads above"),
    # Small parameters
    _natural("bias", "Biases: none, all, or parts such as qkv+o", kind="text", blank="none"),
    _flag("n_qkv_bias", "Biases of q, k and v (1 or 0)", aliases=("qkv_bias",)),
    _flag("n_o_bias", "Bias of the output projection (1 or 0)", aliases=("o_bias",)),
    _flag("n_mlp_bias", "Feed-forward biases (1 or 0)", aliases=("mlp_bias",)),
    _flag("n_lm_head_bias", "Bias of the head (1 or 0)", aliases=("lm_head_bias",)),
    _natural("norm", "Norm", kind="text", blank="rmsnorm", choices=tuple(_NORM_VECTORS)),
    _count("norm_vectors", "Vectors of a norm"),
    _count("norms_per_layer", "Norms of a layer", blank=2.0),
    _flag("final_norms", "Norms after the last layer", blank=1.0, aliases=("final_norm",)),
    _flag("embed_norms", "Norms after the embedding", aliases=("embed_norm",)),
    _count("pos_emb_rows", "Rows of learned positions", blank=0.0),
    _natural("qk_norm", "Norms", kind="text", blank="none", choices=("none", "per_head", "full")),
    _count("qk_norm_params", "Parameters of the query and key norms of a layer"),
    _natural("attn_sinks", "Attention sinks", kind="flag", blank=0.0),
    _count("attn_sink_params", "Attention sinks of a layer"),
    _flag("attention_gate", "Output gate on attention (1 or 0)", aliases=("attn_gate",)),
    _count("extra_params_per_layer", "Further matrix parameters of an attention layer", blank=0.0),
    # Sparse attention: an indexer selects the keys that a query attends to
    _count("indexer_params_per_layer", "Parameters of a layer's sparse-attention indexer", blank=0.0),
    _count("index_topk", "Keys that an indexer leaves a query (0: all)", blank=0.0),
    _count("index_n_heads", "Heads of an indexer", blank=0.0),
    _count("index_head_dim", "Dimension of an indexer's head", blank=0.0),
    _count("n_indexer_layers", "Layers with an indexer", at_most="n_full_attention_layers"),
    _count("n_unindexed_layers", "Layers that see every key where others have indexers", blank=0.0),
    # Compressed attention: a window, and one key for so many tokens, of which an indexer chooses (CSA) or none (HCA)
    _count("n_csa_layers", "Layers with compressed sparse attention (CSA)", blank=0.0, at_most="n_indexer_layers"),
    _size("csa_rate", "Tokens of a compressed key of CSA", blank=1.0),
    _size("index_rate", "Tokens of a key that an indexer scores"),
    _count("n_hca_layers", "Layers with heavily compressed attention (HCA)", blank=0.0, at_most="n_local_layers"),
    _size("hca_rate", "Tokens of a heavily compressed key", blank=1.0),
    _size("residual_streams", "Residual streams between the layers", blank=1.0),
    _count("extra_params_total", "Further parameters beside the layers", blank=0.0),
    _count("mtp_layers", "Layers of the multi-token prediction module", blank=0.0),
    # Published totals
    _text("published_kind", "Kind of the published count"),
    _natural("n_params_total_published", "Published parameter count", positive=True),
    _size("n_params_published", "Published parameter count, if exact"),
    _size("n_params_active_published", "Published active parameters"),
    _size("train_tokens", "Training tokens"),
    _size("run_tokens", "Tokens of a run to plan: the training tokens, else Llama 3's"),
    _text("hf_id", "Checkpoint"),
    _text("source", "Source"),
)


def _biased(bias: str, part: str) -> float:
    """Whether `bias`, such as qkv+o or all, includes a part."""
    return float(not {"all", part}.isdisjoint(biased(bias)))


def _attention(n_linear_layers: float, kv_lora_rank: float, n_heads: float, n_kv_heads: float) -> str:
    """The kind of attention, by layers and heads."""
    if n_linear_layers:
        return "hybrid"
    if kv_lora_rank:
        return "mla"
    return "mha" if n_kv_heads == n_heads else "mqa" if n_kv_heads == 1 else "gqa"


def _softmax_layers(n_layers: float, n_linear_layers: Value = None, attention: Value = None) -> Value:
    """All layers except linear ones; N/A if a hybrid model doesn't give their number."""
    if isinstance(n_linear_layers, float):
        return n_layers - n_linear_layers
    return None if attention == "hybrid" else n_layers


LLAMA_3_TOKENS = 15e12  # Llama 3, section 1: a run of a model whose training tokens nobody states

# The value of a blank cell, computed from other columns of its row; None is N/A.
_RULES: dict[str, Callable[..., Value]] = {
    "name": lambda id: id,
    "head_dim": lambda kv_lora_rank, qk_nope_dim, qk_rope_dim: qk_nope_dim + qk_rope_dim if kv_lora_rank else None,
    "is_untied": lambda tied_embeddings: 1 - tied_embeddings,
    "mlp_matrices": lambda mlp_gated: 2 + mlp_gated,
    "n_experts": lambda moe_experts: max(1.0, moe_experts),  # a dense model has one expert
    "n_experts_active": lambda n_experts, moe_top_k=None: (moe_top_k or None) if n_experts > 1 else 1.0,
    "n_moe_layers": lambda n_experts, n_layers, n_dense_layers, moe_layer_step: (
        (n_layers - n_dense_layers) // moe_layer_step if n_experts > 1 else 0.0
    ),
    "d_ff": lambda n_moe_layers, n_layers, n_experts_active, d_ff_expert: (
        n_experts_active * d_ff_expert if n_moe_layers == n_layers else None
    ),
    "d_ff_expert": lambda n_experts, d_ff: d_ff if n_experts > 1 else 0.0,
    "d_ff_shared": lambda n_shared_experts, d_ff_expert: d_ff_expert if n_shared_experts else 0.0,
    "n_router_bias": lambda router_bias, router_score_bias: router_bias + router_score_bias,
    "qk_rope_dim": lambda kv_lora_rank: None if kv_lora_rank else 0.0,
    "qk_nope_dim": lambda head_dim, qk_rope_dim: head_dim - qk_rope_dim,
    "v_head_dim": lambda kv_lora_rank, head_dim: None if kv_lora_rank else head_dim,
    "n_full_attention_layers": _softmax_layers,
    "n_linear_layers": lambda n_layers, n_full_attention_layers: n_layers - n_full_attention_layers,
    "linear_attention_params_layer": lambda n_linear_layers: None if n_linear_layers else 0.0,
    "attention": _attention,
    "n_global_layers": lambda n_full_attention_layers, window=None: n_full_attention_layers if window is None else 0.0,
    "n_local_layers": lambda n_full_attention_layers, n_global_layers: max(
        0.0, n_full_attention_layers - n_global_layers
    ),
    "n_indexer_layers": lambda index_topk, n_full_attention_layers: n_full_attention_layers if index_topk else 0.0,
    "index_rate": lambda csa_rate: csa_rate,
    "window": lambda n_local_layers, max_context: None if n_local_layers else max_context,
    "n_qkv_bias": lambda bias: _biased(bias, "qkv"),
    "n_o_bias": lambda bias: _biased(bias, "o"),
    "n_mlp_bias": lambda bias: _biased(bias, "mlp"),
    "norm_vectors": lambda norm: _NORM_VECTORS[norm],
    "qk_norm_params": lambda qk_norm, n_heads, n_kv_heads, head_dim: (
        {"none": 0.0, "per_head": 2.0, "full": n_heads + n_kv_heads}[qk_norm] * head_dim
    ),
    "attn_sink_params": lambda attn_sinks, n_heads: attn_sinks * n_heads,
    "n_params_published": lambda n_params_total_published, published_kind: (
        n_params_total_published if published_kind.startswith("exact") else None
    ),
    "run_tokens": lambda train_tokens=None: train_tokens or LLAMA_3_TOKENS,
}
MODEL_FIELDS = with_rules(_FIELDS, _RULES)

# Columns of the shipped file that inform readers and are not used in any calculation.
MODEL_NOTES = (
    "layer_pattern",
    "extra_note",
    "mtp_embed_copies",
    "fp8_scales",
    "hf_header_published",
    "hf_header_note",
    "config_cross_checked",
)

"""The columns of a models CSV, and the rule for each blank cell.

A file may use a checkpoint's natural names (`moe_experts`, `tied_embeddings`) or those that templates read
(`n_experts`, `is_untied`). Dense is the special case of the general formula: one expert, no layer of experts.
"""

from __future__ import annotations

from functools import partial

from planner.catalog import model_rules as rules
from planner.catalog.columns import Field, same_as_id

_text = partial(Field, kind="text")
_count = partial(Field, source="source")
_size = partial(_count, positive=True)
_flag = partial(Field, kind="flag", blank=0.0, source="source")
_natural = partial(Field, shown=False)  # read only to derive the columns that templates read

# In the order in which the rules run.
MODEL_FIELDS: tuple[Field, ...] = (
    _natural("id", "Identifier", kind="text", required=True),
    _text("name", "Name", blank=same_as_id),
    _size("year", "Year"),
    _size("n_layers", "Layers", required=True),
    _size("d_model", "Model dimension", required=True),
    _size("n_heads", "Query heads", required=True),
    _size("n_kv_heads", "Key and value heads", required=True, at_most="n_heads"),
    _size("head_dim", "Head dimension", required=True),
    _size("vocab", "Vocabulary", required=True),
    _natural("tied_embeddings", "Head tied to the embedding", kind="flag", blank=0.0),
    _flag("is_untied", "Untied head (1 or 0)", blank=rules.is_untied),
    _natural("mlp_gated", "Gated feed-forward block", kind="flag", blank=1.0),
    _size("mlp_matrices", "Matrices of the feed-forward block", blank=rules.mlp_matrices),
    # Experts
    _natural("moe_experts", "Experts", blank=0.0),
    _natural("moe_top_k", "Experts that a token uses", at_most="n_experts"),
    _natural("n_dense_layers", "Layers before the first with experts", blank=0.0, at_most="n_layers"),
    _natural("moe_layer_step", "Layers for each one with experts", blank=1.0, positive=True),
    _size("n_experts", "Experts", blank=rules.n_experts),
    _size("n_experts_active", "Experts that a token uses", blank=rules.n_experts_active, at_most="n_experts"),
    _count("n_moe_layers", "Layers with experts", blank=rules.n_moe_layers, at_most="n_layers"),
    _size("d_ff", "Feed-forward dimension", blank=rules.d_ff, required=True),
    _count(
        "d_ff_expert", "Feed-forward dimension of an expert", blank=rules.d_ff_expert, aliases=("moe_d_ff",),
    ),
    _count("n_shared_experts", "Shared experts", blank=0.0, aliases=("moe_shared_experts",)),
    _count(
        "d_ff_shared", "Feed-forward dimension of a shared expert",
        blank=rules.d_ff_shared, aliases=("moe_shared_d_ff",),
    ),
    _flag("n_shared_gate", "Gate on the shared expert (1 or 0)", aliases=("moe_shared_gate",)),
    _natural("router_bias", "Bias of the router", kind="flag", blank=0.0),
    _natural("router_score_bias", "Score correction of the router", kind="flag", blank=0.0),
    _count("n_router_bias", "Bias vectors of the router", blank=rules.n_router_bias),
    _flag("n_expert_bias", "Biases in the experts (1 or 0)", aliases=("expert_bias",)),
    # Latent attention (MLA); the dimensions of a head where there is none
    _count("kv_lora_rank", "Rank of the latent cache", blank=0.0),
    _count("q_lora_rank", "Rank of the query compression", blank=0.0),
    _count("qk_rope_dim", "Rotary dimension kept apart", blank=rules.qk_rope_dim),
    _size("qk_nope_dim", "Query and key dimension without rotation", blank=rules.qk_nope_dim),
    _size("v_head_dim", "Value dimension of a head", blank=rules.v_head_dim),
    # Which layers attend to what
    _count(
        "n_full_attention_layers", "Layers with softmax attention",
        blank=rules.n_full_attention_layers, aliases=("n_full_attn_layers",), at_most="n_layers",
    ),
    _count("n_linear_layers", "Layers with linear attention", blank=rules.n_linear_layers, at_most="n_layers"),
    _count(
        "linear_attention_params_layer", "Parameters of a linear attention layer",
        blank=0.0, aliases=("linear_attn_params_per_layer",),
    ),
    _text("attention", "Attention", blank=rules.attention),
    _size("max_context", "Longest context"),
    _natural("n_global_layers", "Layers without a window", blank=rules.n_global_layers, at_most="n_layers"),
    _count(
        "n_local_layers", "Layers that attend within a window",
        blank=rules.n_local_layers, at_most="n_full_attention_layers",
    ),
    _size("window", "Window of the local layers", blank=rules.window, aliases=("sliding_window",)),
    # Small parameters
    _natural("bias", "Biases: none, all, or parts such as qkv+o", kind="text", blank="none"),
    _flag("n_qkv_bias", "Biases of q, k and v (1 or 0)", blank=rules.n_qkv_bias, aliases=("qkv_bias",)),
    _flag("n_o_bias", "Bias of the output projection (1 or 0)", blank=rules.n_o_bias, aliases=("o_bias",)),
    _flag("n_mlp_bias", "Feed-forward biases (1 or 0)", blank=rules.n_mlp_bias, aliases=("mlp_bias",)),
    _flag("n_lm_head_bias", "Bias of the head (1 or 0)", aliases=("lm_head_bias",)),
    _natural("norm", "Norm", kind="text", blank="rmsnorm", choices=tuple(rules.NORM_VECTORS)),
    _count("norm_vectors", "Vectors of a norm", blank=rules.norm_vectors),
    _count("norms_per_layer", "Norms of a layer", blank=2.0),
    _flag("final_norms", "Norms after the last layer", blank=1.0, aliases=("final_norm",)),
    _flag("embed_norms", "Norms after the embedding", aliases=("embed_norm",)),
    _count("pos_emb_rows", "Rows of learned positions", blank=0.0),
    _natural("qk_norm", "Norms", kind="text", blank="none", choices=("none", "per_head", "full")),
    _count("qk_norm_params", "Parameters of the query and key norms of a layer", blank=rules.qk_norm_params),
    _natural("attn_sinks", "Attention sinks", kind="flag", blank=0.0),
    _count("attn_sink_params", "Attention sinks of a layer", blank=rules.attn_sink_params),
    _flag("attention_gate", "Output gate on attention (1 or 0)", aliases=("attn_gate",)),
    _count("extra_params_per_layer", "Further matrix parameters of an attention layer", blank=0.0),
    _count("indexer_params_per_layer", "Parameters of a layer's sparse-attention indexer", blank=0.0),
    _count("extra_params_total", "Further parameters beside the layers", blank=0.0),
    _count("mtp_layers", "Layers of the multi-token prediction module", blank=0.0),
    # What is published
    _text("published_kind", "Kind of the published count"),
    _natural("n_params_total_published", "Published parameter count", positive=True),
    _size("n_params_published", "Published parameter count, if exact", blank=rules.n_params_published),
    _size("n_params_active_published", "Published active parameters"),
    _size("train_tokens", "Training tokens"),
    _text("hf_id", "Checkpoint"),
    _text("source", "Source"),
)  # fmt: skip

# Columns of the shipped file that tell a reader more, and that nothing computes with.
MODEL_NOTES = (
    "layer_pattern", "extra_note", "mtp_embed_copies", "fp8_scales", "hf_header_published", "hf_header_note",
    "config_cross_checked",
)  # fmt: skip

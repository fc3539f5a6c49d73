"""What stands for the blank cells of a models CSV, column by column (planner.catalog.model_columns)."""

from __future__ import annotations

from planner.catalog.columns import Rule, Value

NORM_VECTORS = {"rmsnorm": 1.0, "layernorm_nobias": 1.0, "layernorm": 2.0}


@Rule
def is_untied(tied_embeddings: float) -> float:
    """The opposite of tied_embeddings."""
    return 1 - tied_embeddings


@Rule
def mlp_matrices(mlp_gated: float) -> float:
    """3 where mlp_gated, else 2."""
    return 2 + mlp_gated


@Rule
def n_experts(moe_experts: float) -> float:
    """moe_experts; 1 where that is 0: dense."""
    return max(1.0, moe_experts)


@Rule
def n_experts_active(n_experts: float, moe_top_k: Value = None) -> Value:
    """moe_top_k; 1 where dense."""
    return (moe_top_k or None) if n_experts > 1 else 1.0


@Rule
def n_moe_layers(n_experts: float, n_layers: float, n_dense_layers: float, moe_layer_step: float) -> float:
    """Whole steps of moe_layer_step after n_dense_layers; 0 where dense."""
    return (n_layers - n_dense_layers) // moe_layer_step if n_experts > 1 else 0.0


@Rule
def d_ff(n_moe_layers: float, n_layers: float, n_experts_active: float, d_ff_expert: float) -> Value:
    """Where every layer has experts the width that a token uses: n_experts_active * d_ff_expert."""
    return n_experts_active * d_ff_expert if n_moe_layers == n_layers else None


@Rule
def d_ff_expert(n_experts: float, d_ff: float) -> float:
    """d_ff; 0 where dense."""
    return d_ff if n_experts > 1 else 0.0


@Rule
def d_ff_shared(n_shared_experts: float, d_ff_expert: float) -> float:
    """d_ff_expert; 0 without shared experts."""
    return d_ff_expert if n_shared_experts else 0.0


@Rule
def n_router_bias(router_bias: float, router_score_bias: float) -> float:
    """router_bias + router_score_bias."""
    return router_bias + router_score_bias


@Rule
def qk_rope_dim(kv_lora_rank: float) -> Value:
    """0 without latent attention, else N/A."""
    return None if kv_lora_rank else 0.0


@Rule
def qk_nope_dim(head_dim: float, qk_rope_dim: float) -> float:
    """head_dim - qk_rope_dim."""
    return head_dim - qk_rope_dim


@Rule
def v_head_dim(kv_lora_rank: float, head_dim: float) -> Value:
    """head_dim without latent attention, else N/A."""
    return None if kv_lora_rank else head_dim


@Rule
def n_full_attention_layers(n_layers: float, n_linear_layers: Value = None, attention: Value = None) -> Value:
    """n_layers - n_linear_layers; without those n_layers, N/A where attention is hybrid."""
    if isinstance(n_linear_layers, float):
        return n_layers - n_linear_layers
    return None if attention == "hybrid" else n_layers


@Rule
def n_linear_layers(n_layers: float, n_full_attention_layers: float) -> float:
    """n_layers - n_full_attention_layers."""
    return n_layers - n_full_attention_layers


@Rule
def n_global_layers(n_full_attention_layers: float, window: Value = None) -> float:
    """None with a window, else n_full_attention_layers."""
    return n_full_attention_layers if window is None else 0.0


@Rule
def n_local_layers(n_full_attention_layers: float, n_global_layers: float) -> float:
    """n_full_attention_layers - n_global_layers."""
    return max(0.0, n_full_attention_layers - n_global_layers)


@Rule
def window(n_local_layers: float, max_context: float) -> Value:
    """max_context where no layer is local, else N/A."""
    return None if n_local_layers else max_context


@Rule
def attention(n_linear_layers: float, kv_lora_rank: float, n_heads: float, n_kv_heads: float) -> str:
    """hybrid, mla, mha, mqa or gqa, by the layers and heads."""
    if n_linear_layers:
        return "hybrid"
    if kv_lora_rank:
        return "mla"
    return "mha" if n_kv_heads == n_heads else "mqa" if n_kv_heads == 1 else "gqa"


def _names(bias: str, part: str) -> float:
    return float(bias == "all" or part in bias.split("+"))


@Rule
def n_qkv_bias(bias: str) -> float:
    """1 where bias is all or names qkv."""
    return _names(bias, "qkv")


@Rule
def n_o_bias(bias: str) -> float:
    """1 where bias is all or names o."""
    return _names(bias, "o")


@Rule
def n_mlp_bias(bias: str) -> float:
    """1 where bias is all or names mlp."""
    return _names(bias, "mlp")


@Rule
def norm_vectors(norm: str) -> float:
    """2 for layernorm, 1 for rmsnorm and layernorm_nobias."""
    return NORM_VECTORS[norm]


@Rule
def qk_norm_params(qk_norm: str, n_heads: float, n_kv_heads: float, head_dim: float) -> float:
    """2 * head_dim for per_head, (n_heads + n_kv_heads) * head_dim for full, else 0."""
    return {"none": 0.0, "per_head": 2.0, "full": n_heads + n_kv_heads}[qk_norm] * head_dim


@Rule
def attn_sink_params(attn_sinks: float, n_heads: float) -> float:
    """n_heads where attn_sinks, else 0."""
    return attn_sinks * n_heads


@Rule
def n_params_published(n_params_total_published: float, published_kind: str) -> Value:
    """n_params_total_published where published_kind begins with exact, else N/A."""
    return n_params_total_published if published_kind.startswith("exact") else None

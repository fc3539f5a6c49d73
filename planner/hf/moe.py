"""Families with mixture-of-experts layers: Mixtral and its successors, and Qwen's."""

from __future__ import annotations

from planner.hf.config import NO_ROW, Config
from planner.hf.dense import ATTENTION_BIAS, GENERAL, GROUPED, HUNYUAN, LLAMA, MUSE_GLIMMER, OLMO2, QWEN2, QWEN3, SINKS
from planner.hf.experts import (
    all_sparse,
    by_step,
    experts,
    interleaved,
    n_sparse,
    one_shared,
    step_sparse,
    unbiased,
    where_experts,
)
from planner.hf.layers import (
    all_full,
    all_local,
    all_where_used,
    attention,
    first_odd_local,
    local_where_rope,
    one_full_in,
    window,
)
from planner.hf.rules import (
    ColumnRule,
    ColumnRules,
    ColumnValue,
    Family,
    ModelRow,
    flag,
    head_dim,
    kv_heads_said,
    layers,
    maybe,
    size,
    taken,
    tied,
    where,
    within,
)

CHOSEN = size("num_experts_per_tok", "num_experts_per_token", "experts_per_token")
# In the first families with experts, the field of the dense width is an expert's.
_LOCAL = experts(size("num_local_experts", "num_experts"), CHOSEN, all_sparse, width=size("intermediate_size"))

MIXTRAL = Family("mixtral", GROUPED, attention(all_local, window(None)), _LOCAL)
PHIMOE = Family("phimoe", MIXTRAL, ATTENTION_BIAS, norm="layernorm", lm_head_bias=flag("lm_head_bias"))
OLMOE = Family("olmoe flex_olmo", OLMO2, _LOCAL)
GPT_OSS = Family(
    "gpt_oss",
    MIXTRAL,
    attention(one_full_in(2), window(128)),
    head_dim=head_dim(64),
    attn_sinks=True,
    qkv_bias=flag("attention_bias", default=True),
    o_bias=flag("attention_bias", default=True),
    router_bias=True,
    expert_bias=True,
)
MINIMAX_M2 = Family(
    "minimax_m2",
    MIXTRAL,
    head_dim=head_dim(128),
    qk_norm=where("use_qk_norm", "full", "none", default=True),
    router_score_bias=flag("use_routing_bias", default=True),
)
LLAMA4 = Family(
    "llama4_text",
    LLAMA,
    attention(local_where_rope, window(8192, "attention_chunk_size")),
    experts(
        size("num_local_experts"),
        CHOSEN,
        interleaved,
        width=size("intermediate_size"),
        d_ff=size("intermediate_size_mlp"),
    ),
    n_kv_heads=kv_heads_said,
    head_dim=head_dim(128),
    moe_shared_experts=1,
)


ARIA = Family(
    "aria_text",
    LLAMA,
    experts(
        size("moe_num_experts"),
        size("moe_topk"),
        all_sparse,
        width=size("moe_intermediate_size", "intermediate_size"),
    ),
    mlp_bias=unbiased("mlp_bias"),
    moe_shared_experts=maybe("moe_num_shared_experts"),
)


GRANITEMOE = Family("granitemoe", GENERAL, ATTENTION_BIAS, _LOCAL)
GRANITEMOESHARED = Family("granitemoeshared", GRANITEMOE, one_shared(maybe("shared_intermediate_size")))
GRANITEMOE_SWA = Family("granitemoe_swa", GRANITEMOESHARED, SINKS)

_QWEN = experts(size("num_experts", "num_local_experts"), CHOSEN, by_step)
QWEN2_MOE = Family(
    "qwen2_moe",
    QWEN2,
    attention(first_odd_local, window(4096)),
    _QWEN,
    qkv_bias=flag("qkv_bias", default=True),
    moe_shared_gate=True,
    moe_shared_experts=1,
    moe_shared_d_ff=size("shared_expert_intermediate_size"),
)
QWEN3_MOE = Family(
    "qwen3_moe qwen3_vl_moe_text qwen3_omni_moe_text",
    QWEN3,
    attention(all_where_used, window(4096)),
    _QWEN,
    head_dim=head_dim(),
)
_BESIDE_SHARED: ColumnRules = {
    **GROUPED,
    **_QWEN,
    **one_shared(size("shared_expert_intermediate_size")),
    "head_dim": head_dim(128),
    "qk_norm": "per_head",
}
KOLIBRI = Family(
    "kolibri1", _BESIDE_SHARED, attention(one_full_in(5), window(513)), norms_per_layer=4, router_score_bias=True
)


def _flint_kinds(_: Config, row: ModelRow) -> list[str]:
    """The first two layers, every fourth and the last have global attention."""
    last = row.count("n_layers") - 1
    return ["full" if index < 2 or index % 4 == 1 or index == last else "local" for index in range(last + 1)]


def _flint_sparse(config: Config, row: ModelRow) -> list[bool]:
    """As in Qwen; the first two layers are dense if the config doesn't list the dense ones."""
    listed = config.items("mlp_only_layers", int) is not None
    return [each and (listed or index > 1) for index, each in enumerate(by_step(config, row))]


FLINT = Family(
    "flint",
    _BESIDE_SHARED,
    ATTENTION_BIAS,
    attention(_flint_kinds, window(513)),
    experts(size("num_experts"), CHOSEN, _flint_sparse),
    attn_sinks=True,
)
MELLUM = Family("mellum", QWEN3_MOE, attention(all_full, window(1024)), head_dim=head_dim(128))


def _of_all_layers(name: str) -> ColumnRule:
    """A whole number, or a list of it per layer as Hunyuan writes it.

    Layers that differ can't be expressed in a column.
    """

    def rule(config: Config, _: ModelRow) -> ColumnValue:
        if not isinstance(config.value(name), list):
            return config.said(name, least=1)
        numbers = set(config.items(name, int) or [])
        if len(numbers) != 1:
            raise config.fault(name, "differs from layer to layer, which has no column", NO_ROW)
        return int(numbers.pop())

    return rule


# The shared expert has the width of a routed one.
HUNYUAN_MOE = Family(
    "hunyuan_v1_moe",
    HUNYUAN,
    experts(_of_all_layers("num_experts"), _of_all_layers("moe_topk"), all_sparse, width=size("intermediate_size")),
    moe_shared_experts=1,
)


DBRX = Family(
    "dbrx", GENERAL, ATTENTION_BIAS, experts(
        within("ffn_config", size("moe_num_experts")), within("ffn_config", size("moe_top_k")), all_sparse,
        width=within("ffn_config", size("ffn_hidden_size")),
    ),
    n_layers=layers("n_layers"), d_model=size("d_model"), n_heads=size("n_heads"),
    n_kv_heads=within("attn_config", size("kv_n_heads")), norm="layernorm_nobias",
    d_ff=within("ffn_config", size("ffn_hidden_size")), max_context=maybe("max_seq_len"),
)  # fmt: skip


def _grok_head(config: Config, row: ModelRow) -> ColumnValue:
    """The first Grok's head is tied to the embedding; the second one's isn't."""
    return tied(not config.flag("residual_moe"))(config, row)


GROK = Family(
    "grok-1 grok1",
    GROUPED,
    _LOCAL,
    one_shared(lambda config, _: config.said("intermediate_size") if config.flag("residual_moe") else None),
    norms_per_layer=4,
    tied_embeddings=_grok_head,
    moe_d_ff=size("moe_intermediate_size", "intermediate_size"),
)


def _arctic_sparse(config: Config, row: ModelRow) -> list[bool]:
    step = config.said("moe_layer_frequency", least=1)
    return [number % step == 0 for number in range(1, row.count("n_layers") + 1)]


# Its dense block has the model's width and its own norm.
ARCTIC = Family(
    "arctic",
    GROUPED,
    experts(size("num_local_experts"), CHOSEN, _arctic_sparse, width=size("intermediate_size")),
    one_shared(lambda config, row: row["d_model"] if config.flag("use_residual") else None),
    extra_params_total=lambda config, row: (
        n_sparse(row) * row.count("d_model") if config.flag("use_residual") else None
    ),
)


# Queries are projected through a low rank with a norm, as in latent attention; there are few KV heads.
STEP3 = Family(
    "step3_text",
    GENERAL,
    experts(size("moe_num_experts"), size("moe_top_k"), step_sparse(1)),
    one_shared(size("share_expert_dim", "share_expert_dims")),
    n_kv_heads=size("num_attention_groups"),
    q_lora_rank=size("share_q_dim"),
    max_context=maybe("max_position_embedding", "max_position_embeddings", "max_seq_len"),
)
MINICPM = Family(
    "minicpm",
    LLAMA,
    experts(lambda config, _: config.count("num_experts") or 0, CHOSEN, all_sparse, width=size("intermediate_size")),
    tied_embeddings=tied(True),
)


def _pooled(config: Config) -> int:
    return taken(config, "moe_hidden_size", 4096)


def _ways(config: Config, row: ModelRow) -> int:
    """Parameters of all expert layers' projections to the latent width and back."""
    return 2 * n_sparse(row) * row.count("d_model") * _pooled(config)


def _muse_rest(config: Config, row: ModelRow) -> ColumnValue:
    """Two norms of the latent vectors, and the remainder of the projections' even division among layers."""
    norms = 2 * n_sparse(row) * _pooled(config)
    return norms + _ways(config, row) % row.count("n_layers") or None


# One of its four norms has no parameters; each block is followed by a gate on the residual.
MUSE_SPARK = Family(
    "muse_spark_text",
    MUSE_GLIMMER,
    experts(size("num_local_experts"), CHOSEN, all_sparse),
    head_dim=head_dim(64),
    norms_per_layer=5,
    router_score_bias=True,
    moe_latent_dim=where_experts(lambda config, _: _pooled(config)),
    extra_params_per_layer=lambda config, row: _ways(config, row) // row.count("n_layers") or None,
    extra_params_total=_muse_rest,
)


def _zaya_sizes(config: Config, row: ModelRow) -> tuple[int, int, int]:
    """ZAYA's convolution channels, router width, and number of experts including the no-op one."""
    channels = (row.count("n_heads") + row.count("n_kv_heads")) * row.count("head_dim")
    return channels, taken(config, "router_hidden_size", 256), row.count("moe_experts") + 1


def _zaya_further(config: Config, row: ModelRow) -> ColumnValue:
    """Two convolutions over queries and keys, per channel and per head, and the router.

    The router's matrix counted by the other columns is subtracted. Raises UserError if it has more parameters than the
    layer's.
    """
    channels, width, classes = _zaya_sizes(config, row)
    kernels = taken(config, "cca_time0", 2) + row.count("head_dim") * taken(config, "cca_time1", 2)
    router = width * (row.count("d_model") + 2 * width + classes)
    further = channels * kernels + router - row.count("d_model") * row.count("moe_experts")
    if further < 0:
        raise config.fault("router_hidden_size", "makes a smaller router than the columns have", NO_ROW)
    return further


def _zaya_chosen(config: Config, row: ModelRow) -> ColumnValue:
    config.note("a token may use no expert in place of its last: it is counted with all")
    return CHOSEN(config, row)


def _zaya_rest(config: Config, row: ModelRow) -> ColumnValue:
    """Convolution biases; a scale of each key head; the router's biases, norm and scale; the first residual scales."""
    channels, width, _ = _zaya_sizes(config, row)
    each = 2 * channels + row.count("n_kv_heads") + 5 * width + 1
    return row.count("n_layers") * each - width + 2 * row.count("d_model")


# Scales and biases of each block's output and of the residual are counted as eight norms.
ZAYA = Family(
    "zaya", GROUPED, ATTENTION_BIAS, attention(all_full, window(None)),
    experts(size("num_experts"), _zaya_chosen, all_sparse),
    head_dim=head_dim(128),
    tied_embeddings=tied(True), lm_head_bias=flag("lm_head_bias"), norms_per_layer=10,
    router_score_bias=True, extra_params_per_layer=_zaya_further, extra_params_total=_zaya_rest,
)  # fmt: skip

"""Families whose windowed layers have more heads than the global ones: MiMo-V2-Flash, Step-3.5, Laguna, Inkling.

The columns describe the heads of the global layers, whose cache and work grow with the context.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planner.hf.config import Config
from planner.hf.dense import ATTENTION_BIAS, GENERAL, GROUPED
from planner.hf.experts import after, experts, marked, n_routed, n_shared, n_sparse, one_shared, step_sparse
from planner.hf.layers import all_full, known_kinds, listed, of_layers, one_full_in, window
from planner.hf.rules import ColumnValue, Family, ModelRow, flag, head_dim, maybe, size, taken
from planner.hf.unequal_layers import Layer, by_layer


def _layers(config: Config, row: ModelRow, heads: Sequence[tuple[int, int]], value_width: int | None) -> list[Layer]:
    """The layers with these (query heads, KV heads), all of the same head width."""
    d_model, width, biased = row.count("d_model"), row.count("head_dim"), config.flag("attention_bias")
    return [Layer(d_model, queries, kv_heads, width, 2, biased, value_width) for queries, kv_heads in heads]


# MiMo-V2-Flash: sinks in windowed layers; value heads are narrower


def _mimo_kinds(config: Config, row: ModelRow) -> list[str]:
    """The layers marked in `hybrid_layer_pattern` are windowed; by default all but the first and every sixth."""
    marks = of_layers(config, row, "hybrid_layer_pattern", int)
    if marks is not None:
        return ["local" if mark else "full" for mark in marks]
    return listed(config, row) or ["full", *one_full_in(6)(config, row)[1:]]


def _mimo_layers(config: Config, row: ModelRow) -> list[Layer]:
    full = row.count("n_heads"), row.count("n_kv_heads")
    local = (
        config.count("swa_num_attention_heads", least=1) or full[0],
        config.count("swa_num_key_value_heads", least=1) or 2 * full[1],
    )
    heads = [local if kind == "local" else full for kind in _mimo_kinds(config, row)]
    return _layers(config, row, heads, row.count("v_head_dim"))


def _mimo_sinks(config: Config, row: ModelRow) -> tuple[int, int]:
    """Parameters of the attention sinks, one per query head, in windowed or global layers as the config says."""
    has_sinks = {
        "local": config.flag("add_swa_attention_sink_bias", default=True),
        "full": config.flag("add_full_attention_sink_bias"),
    }
    pairs = zip(_mimo_kinds(config, row), _mimo_layers(config, row), strict=True)
    return 0, sum(layer.heads for kind, layer in pairs if has_sinks[kind])


MIMO_V2 = Family(
    "mimo_v2_flash mimo_v2",
    GROUPED,
    by_layer(_mimo_kinds, _mimo_layers, _mimo_sinks, window(None)),
    experts(n_routed, size("num_experts_per_tok"), marked(after(lambda _: 1))),
    head_dim=head_dim(192),
    v_head_dim=lambda config, _: taken(config, "v_head_dim", 128),
    qkv_bias=flag("attention_bias"),
    moe_shared_experts=maybe("n_shared_experts"),
    router_score_bias=True,
)


# Gates on the attention output: one per head, or one per element


def _gates(config: Config, row: ModelRow, layers: Sequence[Layer], field: str) -> int:
    """Parameters of all layers' gates: `field` is true, false, or says that each element has a gate."""
    said = config.value(field)
    if isinstance(said, str) and said not in ("per-head", "per-element"):
        raise config.fault(field, "is no kind of gate", 'known: true, false, "per-head", "per-element"')
    if said == "per-element":
        return row.count("d_model") * row.count("head_dim") * sum(layer.heads for layer in layers)
    is_gated = said == "per-head" or config.flag(field, default=True)
    return row.count("d_model") * sum(layer.heads for layer in layers) if is_gated else 0


def _step_kinds(config: Config, row: ModelRow) -> list[str]:
    """`layer_types`, to which the hub's configs append the kinds of multi-token prediction layers."""
    names = config.items("layer_types", str)
    if names is None:
        return all_full(config, row)
    has_further = len(names) == row.count("n_layers") + row.count("mtp_layers")
    return known_kinds(config, row, names[: row.count("n_layers")] if has_further else names)


def _step_layers(config: Config, row: ModelRow) -> list[Layer]:
    full = row.count("n_heads"), row.count("n_kv_heads")
    other = config.part("attention_other_setting")
    queries = config.count("num_sliding_attention_heads", least=1) or other.count("num_attention_heads", least=1)
    local = queries or full[0], other.count("num_attention_groups", least=1) or full[1]
    heads = [local if kind == "local" else full for kind in _step_kinds(config, row)]
    return _layers(config, row, heads, None)


def _step_gates(config: Config, row: ModelRow) -> tuple[int, int]:
    field = "use_head_wise_attn_gate" if config.says("use_head_wise_attn_gate") else "gating"
    return _gates(config, row, _step_layers(config, row), field), 0


STEP3P5 = Family(
    "step3p5", GENERAL, ATTENTION_BIAS, by_layer(_step_kinds, _step_layers, _step_gates, window(None)),
    experts(size("moe_num_experts", "n_routed_experts"), size("moe_top_k", "num_experts_per_tok"), step_sparse(3)),
    one_shared(size("share_expert_dim", "share_expert_dims")),
    n_kv_heads=size("num_attention_groups", "num_key_value_heads"), head_dim=head_dim(128), qk_norm="per_head",
    router_score_bias=flag("use_moe_router_bias", default=True),
    max_context=maybe("max_position_embeddings", "max_seq_len"),
)  # fmt: skip


def _laguna_heads(config: Config, row: ModelRow) -> list[int]:
    heads = of_layers(config, row, "num_attention_heads_per_layer", int)
    return [config.said("num_attention_heads", least=1)] * row.count("n_layers") if heads is None else heads


def _laguna_kinds(config: Config, row: ModelRow) -> list[str]:
    return listed(config, row) or all_full(config, row)


def _laguna_full(config: Config, row: ModelRow) -> ColumnValue:
    """The query heads of the first global layer."""
    pairs = zip(_laguna_kinds(config, row), _laguna_heads(config, row), strict=True)
    return next((heads for kind, heads in pairs if kind == "full"), None) or config.said("num_attention_heads", least=1)


def _laguna_layers(config: Config, row: ModelRow) -> list[Layer]:
    return _layers(config, row, [(heads, row.count("n_kv_heads")) for heads in _laguna_heads(config, row)], None)


def _laguna_gates(config: Config, row: ModelRow) -> tuple[int, int]:
    return _gates(config, row, _laguna_layers(config, row), "gating"), 0


LAGUNA = Family(
    "laguna", GROUPED, ATTENTION_BIAS, by_layer(_laguna_kinds, _laguna_layers, _laguna_gates, window(512)),
    experts(size("num_experts"), size("num_experts_per_tok"), after(lambda _: 1)),
    one_shared(maybe("shared_expert_intermediate_size")), n_heads=_laguna_full, head_dim=head_dim(128),
    qk_norm="per_head", router_score_bias=True,
)  # fmt: skip


# Inkling: no rotary positions but a parameter per distance; convolutions over keys, values and both blocks' outputs


def _inkling_kinds(config: Config, row: ModelRow) -> list[str]:
    """`layer_types`, else `local_layer_ids`; by default all but every sixth are windowed."""
    local = config.items("local_layer_ids", int)
    known = listed(config, row)
    if known is None and local is not None:
        known = ["local" if index in local else "full" for index in range(row.count("n_layers"))]
    return known or one_full_in(6)(config, row)


def _inkling_layers(config: Config, row: ModelRow) -> list[Layer]:
    full = Layer(row.count("d_model"), row.count("n_heads"), row.count("n_kv_heads"), row.count("head_dim"), 2, False)
    local = replace(
        full,
        heads=taken(config, "swa_num_attention_heads", 64),
        kv_heads=taken(config, "swa_num_key_value_heads", 16),
        width=taken(config, "swa_head_dim", 128),
    )
    return [local if kind == "local" else full for kind in _inkling_kinds(config, row)]


def _reach(config: Config, kind: str) -> int:
    """The number of distances with their own parameter: those within the window, if there is one."""
    if kind == "full":
        return taken(config, "rel_extent", 1024)
    return config.count("sliding_window_size", "sliding_window", least=1) or config.assumed("sliding_window_size", 512)


def _inkling_others(config: Config, row: ModelRow) -> tuple[int, int]:
    """Distance parameters, convolutions, and routes of shared experts; a scale for each feed-forward block."""
    d_model, width = row.count("d_model"), taken(config, "d_rel", 16)
    kernel = config.count("conv_kernel_size", "sconv_kernel_size", least=1) or config.assumed("conv_kernel_size", 4)
    pairs = zip(_inkling_kinds(config, row), _inkling_layers(config, row), strict=True)
    matrices = sum(
        width * (d_model * layer.heads + _reach(config, kind)) + kernel * (layer.cached + 2 * d_model)
        for kind, layer in pairs
    )
    return matrices + n_sparse(row) * row.count("moe_shared_experts") * d_model, row.count("n_layers")


# If a hub config has `dense_intermediate_size`, that is the dense layers', and `intermediate_size` an expert's.
INKLING = Family(
    "inkling_text", GROUPED,
    by_layer(
        _inkling_kinds, _inkling_layers, _inkling_others,
        lambda config, _: _reach(config, "local"),
    ),
    experts(
        n_routed, size("num_experts_per_tok"), after(lambda config: config.count("dense_mlp_idx") or 0),
        width=lambda config, row: (
            size("intermediate_size")(config, row) if config.value("dense_intermediate_size") is not None
            else size("moe_intermediate_size")(config, row)
        ),
        d_ff=size("dense_intermediate_size", "intermediate_size"),
    ),
    head_dim=head_dim(128), qk_norm="per_head", embed_norm=True, router_score_bias=True,
    moe_shared_experts=n_shared, max_context=maybe("max_position_embeddings", "model_max_length"),
    mtp_layers=maybe("num_mtp_layers"),
)  # fmt: skip

"""Families with selected or compressed keys: DeepSeek-V4, MiniMax-M3, Hy 4, GLM-5.3 Flash.

DeepSeek-V4's layers attend to a window, and beyond it to one key per group of tokens. Compressed sparse attention (CSA)
has a key for every 4 tokens, of which an indexer selects some; heavily compressed attention (HCA) has one for every 128
and attends to all. Layers are connected by several residual streams (hyper-connections). MiniMax-M3's indexers select
blocks of keys. Sizes as in transformers' modeling_*.py.
"""

from __future__ import annotations

from planner.hf.config import NO_ROW, Config, UnsaidError
from planner.hf.dense import GENERAL, GROUPED
from planner.hf.experts import after, all_sparse, always, experts, marked, n_routed, unbiased, where_experts
from planner.hf.kimi import kimi_delta, kimi_states
from planner.hf.latent import DEEPSEEK_V32, bias_sum, block_indexer, indexer, indexer_rest
from planner.hf.layers import attention, check_length, listed, of_layers, one_full_in
from planner.hf.rules import ColumnRule, ColumnValue, Family, ModelRow, flag, head_dim, maybe, size, taken, where

_RATES = {"compressed_sparse_attention": 4, "heavily_compressed_attention": 128}
_KINDS = {"sliding_attention": "", **{kind: kind for kind in _RATES}}
_BY_RATE = {0: "", 1: "", **{rate: kind for kind, rate in _RATES.items()}}
_CSA, _HCA = _RATES


def _kinds(config: Config, row: ModelRow) -> list[str]:
    """CSA, HCA or none for each layer, from `layer_types`, else `compress_ratios`, whose tail belongs to MTP layers.

    Raises UserError for an unknown kind or rate, and if the list is too short.
    """
    types = config.items("layer_types", str)
    field, known = ("layer_types", _KINDS) if types is not None else ("compress_ratios", _BY_RATE)
    said = config.items("compress_ratios", int) if types is None else types
    if said is None:
        raise UnsaidError(f"{config.prefix}compress_ratios")
    number = row.count("n_layers")
    if len(said) < number or types is not None:
        check_length(config, row, field, len(said))
    if (unknown := next((each for each in said[:number] if each not in known), None)) is not None:
        raise config.fault(field, f"has {unknown}, which has no columns", f"known: {', '.join(map(str, known))}")
    return [known[each] for each in said[:number]]


def _count(kind: str) -> ColumnRule:
    return lambda config, row: _kinds(config, row).count(kind)


def _rate(kind: str) -> ColumnRule:
    """Tokens per key, from `compress_rates` if present, else the family's default; blank without such layers.

    Raises UserError if `compress_rates` isn't a table of whole numbers.
    """

    def rule(config: Config, row: ModelRow) -> ColumnValue:
        said = config.value("compress_rates")
        rate = said.get(kind, _RATES[kind]) if isinstance(said, dict) else _RATES[kind]
        if not isinstance(rate, int) or rate < 1:
            raise config.fault("compress_rates", f"says {rate!r} for {kind}", "write a whole number of tokens")
        return rate if kind in _kinds(config, row) else None

    return rule


def _indexers(config: Config, row: ModelRow) -> int:
    """Matrix parameters of all indexers: a compressor of two windows, queries from the low rank, a weight per head."""
    heads, width = config.said("index_n_heads", least=1), config.said("index_head_dim", least=1)
    one = row.count("d_model") * (4 * width + heads) + row.count("q_lora_rank") * heads * width
    return row.count("n_csa_layers") * one


def _mixes(row: ModelRow) -> int:
    """The number of values that a hyper-connection computes: weights to read, to write and to mix the streams."""
    streams = row.count("residual_streams")
    return (2 + streams) * streams


def _joining(row: ModelRow, mixes: int) -> int:
    """Matrix parameters of a layer's two hyper-connections, each of which computes `mixes` values."""
    return 2 * mixes * row.count("residual_streams") * row.count("d_model")


def _joined(row: ModelRow, mixes: int, scales: int) -> int:
    """Offsets and scales of all hyper-connections."""
    return 2 * row.count("n_layers") * (mixes + scales)


def _last(row: ModelRow) -> int:
    """Parameters that merge the streams after the last layer."""
    streams = row.count("residual_streams")
    return streams * streams * row.count("d_model") + streams + 1


def _matrices(row: ModelRow) -> int:
    """Matrix parameters of all compressors, for values and their weights, and of two hyper-connections per layer."""
    windows = 2 * row.count("n_csa_layers") + row.count("n_hca_layers")
    compressors = windows * 2 * row.count("d_model") * row.count("head_dim")
    return compressors + row.count("n_layers") * _joining(row, _mixes(row))


def _vectors(config: Config, row: ModelRow) -> int:
    """Non-matrix parameters of all layers: compressors' norms and positions, offsets, scales, and the final merge's.

    Layers that route by a token's id have no score correction.
    """
    width, index = row.count("head_dim"), row.count("index_head_dim")
    norms = width * (row.count("n_layers") + row.count("n_csa_layers") + row.count("n_hca_layers"))
    csa = row.count("n_csa_layers") * (2 * row.count("csa_rate") * (width + index) + index)
    hca = row.count("n_hca_layers") * row.count("hca_rate") * width
    joined = _joined(row, _mixes(row), scales=3) + _last(row)
    return norms + csa + hca + joined - _n_hashed(config) * row.count("moe_experts")


def _n_hashed(config: Config) -> int:
    """The number of layers that choose experts by the token's id."""
    types = config.items("mlp_layer_types", str)
    return taken(config, "num_hash_layers", 3) if types is None else types.count("hash_moe")


def _rest(config: Config, row: ModelRow) -> ColumnValue:
    """The remainder of the matrices' even division among layers, and the vectors."""
    layers = row.count("n_layers")
    rest = _indexers(config, row) % layers + _matrices(row) % layers + _vectors(config, row)
    if rest < 0:
        raise config.fault("num_hash_layers", "is of more layers than the columns can leave out", NO_ROW)
    return rest


DEEPSEEK_V4 = Family(
    "deepseek_v4", GENERAL, experts(n_routed, size("num_experts_per_tok"), all_sparse),
    head_dim=size("head_dim"), q_lora_rank=size("q_lora_rank"), kv_shared=True,
    n_kv_heads=always("num_key_value_heads", 1), mlp_bias=unbiased("mlp_bias"),
    o_lora_rank=size("o_lora_rank"), o_groups=size("o_groups"), attn_sinks=True,
    moe_shared_experts=where_experts(always("n_shared_experts", 1)), router_score_bias=True,
    sliding_window=size("sliding_window"), n_global_layers=0,
    n_csa_layers=_count(_CSA), csa_rate=_rate(_CSA), n_hca_layers=_count(_HCA), hca_rate=_rate(_HCA),
    n_indexer_layers=_count(_CSA), index_topk=size("index_topk"),
    index_n_heads=size("index_n_heads"), index_head_dim=size("index_head_dim"),
    indexer_params_per_layer=lambda config, row: _indexers(config, row) // row.count("n_layers"),
    residual_streams=lambda config, _: taken(config, "hc_mult", 4),
    extra_params_per_layer=lambda _, row: _matrices(row) // row.count("n_layers"),
    extra_params_total=_rest,
)  # fmt: skip


def _n_first(config: Config, row: ModelRow) -> ColumnValue:
    """Hy 4's layers with their own indexer: those listed in `indexer_types`, else the first and every fourth."""
    types = of_layers(config, row, "indexer_types", str)
    if types is None:
        return sum(index == 0 or index % 4 == 1 for index in range(row.count("n_layers")))
    return types.count("full")


def _gate(config: Config, row: ModelRow) -> int:
    """Parameters of the gate that scales each head's output by the layer's input, with biases of down-projections."""
    scales = row.count("d_model") * row.count("n_heads") * row.count("v_head_dim")
    return scales + bias_sum(config, row, "attention_bias")


def _takes(row: ModelRow) -> int:
    """The number of values that Hy 4's hyper-connections compute: weights to read and to write each stream."""
    return 2 * row.count("residual_streams")


def _hy_rest(config: Config, row: ModelRow) -> int:
    rest = indexer_rest(config, row)
    return (rest if isinstance(rest, int) else 0) + _joined(row, _takes(row), scales=2) + _last(row)


HY_V4 = Family(
    "hy_v4 hy_v4_vl_text",
    DEEPSEEK_V32,
    attn_sinks=True,
    residual_streams=lambda config, _: taken(config, "hc_mult", 4),
    n_indexer_layers=_n_first,
    extra_params_per_layer=lambda config, row: _gate(config, row) + _joining(row, _takes(row)),
    extra_params_total=_hy_rest,
)


def _pooled_indexers(config: Config, row: ModelRow) -> int:
    """GLM-5.3 Flash's indexers: like DeepSeek-V3.2's, with weights that pool several tokens' keys into one."""
    width = row.count("index_head_dim")
    pooled = width * (row.count("d_model") + row.count("index_rate"))
    return row.count("n_indexer_layers") * (indexer(config, row) + pooled)


def _n_own(config: Config, row: ModelRow) -> ColumnValue:
    """The number of softmax-attention layers with their own indexer, according to `indexer_types`."""
    kinds, types = _glm_kinds(config, row), of_layers(config, row, "indexer_types", str)
    if types is None:
        return kinds.count("full")
    return sum(both == ("full", "full") for both in zip(kinds, types, strict=True))


def _glm_kinds(config: Config, row: ModelRow) -> list[str]:
    """One of four layers has attention, unless `layer_types` says otherwise."""
    return listed(config, row) or one_full_in(4, other="linear")(config, row)


GLM5_NEXT = Family(
    "glm5_next_text",
    DEEPSEEK_V32,
    attention(_glm_kinds, maybe(), lambda config, row: kimi_delta(config, row) + _joining(row, _mixes(row))),
    experts(n_routed, size("num_experts_per_tok"), after(lambda config: taken(config, "first_k_dense_replace", 3))),
    qk_rope_dim=lambda config, _: taken(config, "qk_rope_head_dim", 0),
    residual_streams=lambda config, _: taken(config, "hc_mult", 4),
    recurrent_state_elements=kimi_states,
    index_rate=lambda config, _: taken(config, "index_kpool", 16),
    n_indexer_layers=_n_own,
    indexer_params_per_layer=lambda config, row: _pooled_indexers(config, row) // row.count("n_full_attn_layers"),
    extra_params_per_layer=lambda config, row: bias_sum(config, row, "attention_bias") + _joining(row, _mixes(row)),
    extra_params_total=lambda config, row: (
        _pooled_indexers(config, row) % row.count("n_full_attn_layers") + _joined(row, _mixes(row), scales=3)
    ),
)

_BLOCKS = "sparse_attention_config"


def _chosen(config: Config, row: ModelRow) -> int:
    """The number of MiniMax-M3's layers with an indexer, from `layer_types` or `sparse_attention_freq`."""
    types = config.items("layer_types", str)
    marks = types or config.part(_BLOCKS).items("sparse_attention_freq", int)
    if marks is None:
        raise UnsaidError(f"{config.prefix}{_BLOCKS}.sparse_attention_freq")
    check_length(config, row, "layer_types" if types else _BLOCKS, len(marks))
    return sum(mark not in (0, "full_attention") for mark in marks)


def _where_indexed(rule: ColumnRule) -> ColumnRule:
    """A rule that is blank for models without indexers."""
    return lambda config, row: rule(config, row) if row["n_indexer_layers"] else None


def _of_blocks(own: str, nested: str) -> ColumnRule:
    """A size of the indexers, under transformers' name or the checkpoint's own in `sparse_attention_config`."""

    def rule(config: Config, _: ModelRow) -> ColumnValue:
        said = config.count(own, least=1)
        return config.part(_BLOCKS).said(nested, least=1) if said is None else said

    return rule


def _kept(config: Config, row: ModelRow) -> ColumnValue:
    """The number of keys in the blocks that an indexer selects for a query, including the query's own block."""
    sizes = _of_blocks("index_topk_blocks", "sparse_topk_blocks"), _of_blocks("index_block_size", "sparse_block_size")
    number, width = (rule(config, row) for rule in sizes)
    return int(number or 0) * int(width or 0)


def _block_indexers(row: ModelRow) -> int:
    """Parameters of all of MiniMax-M3's indexers."""
    return row.count("n_indexer_layers") * block_indexer(row)


MINIMAX_M3 = Family(
    "minimax_m3_vl_text minimax_m3", GROUPED, experts(
        size("num_local_experts"), size("num_experts_per_tok"), marked(all_sparse), width=size("intermediate_size"),
        d_ff=size("dense_intermediate_size"),
    ),
    head_dim=head_dim(128), qk_norm=where("use_qk_norm", "per_head", "none", default=True),
    moe_shared_experts=where_experts(lambda config, _: taken(config, "n_shared_experts", 1)),
    moe_shared_d_ff=where_experts(size("shared_intermediate_size")),
    router_score_bias=flag("use_routing_bias", default=True),
    n_indexer_layers=_chosen, index_topk=_where_indexed(_kept),
    n_unindexed_layers=_where_indexed(
        lambda _, row: row.count("n_layers") - row.count("n_indexer_layers") or None
    ),
    index_n_heads=_where_indexed(_of_blocks("index_n_heads", "sparse_num_index_heads")),
    index_head_dim=_where_indexed(_of_blocks("index_head_dim", "sparse_index_dim")),
    indexer_params_per_layer=lambda _, row: _block_indexers(row) // row.count("n_layers"),
    extra_params_total=lambda _, row: _block_indexers(row) % row.count("n_layers") or None,
)  # fmt: skip

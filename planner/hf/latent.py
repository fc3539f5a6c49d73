"""Families with latent attention (MLA): DeepSeek V2, V3 and V3.2, Kimi K2, GLM-5, A.X K2, LongCat-Flash."""

from __future__ import annotations

from planner.hf.config import NO_ROW, Config, UnsaidError
from planner.hf.dense import GENERAL
from planner.hf.experts import after, experts, n_routed, n_sparse
from planner.hf.layers import check_length, of_layers
from planner.hf.routed import ROUTED
from planner.hf.rules import ColumnRules, ColumnValue, Family, ModelRow, divided, flag, layers, of, size, taken, tied


def _query_rank(config: Config, _: ModelRow) -> ColumnValue:
    """`q_lora_rank`; null means no compression."""
    if not config.says("q_lora_rank"):
        raise UnsaidError(f"{config.prefix}q_lora_rank")
    return config.count("q_lora_rank") or 0


def bias_sum(config: Config, row: ModelRow, *flags: str) -> int:
    """The biases of the down-projections and the rotary part, if the first of these flags that is present is true.

    The output's bias has its own column.
    """
    if not config.flag(*flags):
        return 0
    return row.count("q_lora_rank") + row.count("kv_lora_rank") + row.count("qk_rope_dim")


def _score_bias(otherwise: bool) -> ColumnRules:
    """The router's score correction, which `topk_method` noaux_tc implies."""
    return {
        "router_score_bias": lambda config, _: (
            config.text("topk_method") == "noaux_tc" if config.text("topk_method") else otherwise
        )
    }


def indexer(config: Config, row: ModelRow) -> int:
    """Parameters of DeepSeek-V3.2's indexer: queries from the low rank, a key with layer norm, a weight per head."""
    heads, width = config.said("index_n_heads", least=1), config.said("index_head_dim", least=1)
    queries = row.count("q_lora_rank") * heads * width
    key = row.count("d_model") * width + 2 * width
    weights = row.count("d_model") * heads
    return queries + key + weights


def block_indexer(row: ModelRow) -> int:
    """Parameters of an indexer that selects blocks of keys: queries, a key, and a norm of both."""
    heads, width = row.count("index_n_heads"), row.count("index_head_dim")
    return row.count("d_model") * (heads + 1) * width + 2 * width


def _chosen(config: Config, _: ModelRow) -> ColumnValue:
    """`index_topk`, the number of keys that an indexer selects per query; transformers' default if missing."""
    return config.count("index_topk", least=1) or 2048


def _n_indexers(config: Config, row: ModelRow) -> int:
    """The number of layers with their own indexer; GLM-5.2 shares one indexer's selection among several layers."""
    listed = of_layers(config, row, "indexer_types", str)
    if listed is not None:
        return listed.count("full")
    pattern = config.text("index_topk_pattern")
    if pattern:
        check_length(config, row, "index_topk_pattern", len(pattern))
        return pattern.count("F")
    step, offset = config.count("index_topk_freq", least=1) or 1, config.count("index_skip_topk_offset")
    first = 2 if offset is None else offset
    return sum(max(index - first + 1, 0) % step == 0 for index in range(row.count("n_layers")))


def _indexer_share(config: Config, row: ModelRow) -> ColumnValue:
    """The indexers' parameters divided evenly among all layers, so that their work is counted.

    `indexer_rest` has the remainder.
    """
    number, layers = row.count("n_indexer_layers"), row.count("n_layers")
    if number != layers:
        config.note(f"the indexers of {number} of {layers} layers are spread over all")
    return number * indexer(config, row) // layers


def indexer_rest(config: Config, row: ModelRow) -> ColumnValue:
    """The remainder of that division. A missing size is reported for the share's column instead."""
    try:
        return row.count("n_indexer_layers") * indexer(config, row) % row.count("n_layers") or None
    except UnsaidError:
        return None


def _shared_biases(config: Config, row: ModelRow) -> ColumnValue:
    """`mlp_bias`: biases of the shared experts, which form one block. Those of dense layers have a column."""
    width = row.count("moe_shared_experts") * row.count("moe_d_ff")
    biased = config.flag("mlp_bias") and width
    return n_sparse(row) * (2 * width + row.count("d_model")) if biased else None


_LATENT: ColumnRules = {
    **GENERAL,
    "kv_lora_rank": size("kv_lora_rank"),
    "q_lora_rank": _query_rank,
    "qk_rope_dim": size("qk_rope_head_dim"),
    "qk_nope_dim": size("qk_nope_head_dim"),
    "v_head_dim": size("v_head_dim"),
    "n_kv_heads": of("n_heads"),
    "head_dim": lambda _, row: row.count("qk_nope_dim") + row.count("qk_rope_dim"),
    "o_bias": flag("attention_bias"),
    "mlp_bias": flag("mlp_bias"),
    "extra_params_per_layer": lambda config, row: bias_sum(config, row, "attention_bias") or None,
}
# In other families the value width defaults to the head width.
MINICPM3 = Family(
    "minicpm3",
    _LATENT,
    tied_embeddings=tied(True),
    v_head_dim=lambda config, row: config.count("v_head_dim", least=1) or divided(config, row),
)
YOUTU = Family("youtu youtu_llm", _LATENT, tied_embeddings=tied(True))
DEEPSEEK_V2 = Family("deepseek_v2", _LATENT, ROUTED, _score_bias(otherwise=False), extra_params_total=_shared_biases)
# Only V2 has biases in its feed-forward blocks (transformers).
DEEPSEEK_V3 = Family(
    "deepseek_v3 kimi_k2 glm4_moe_lite dots_vlm",
    DEEPSEEK_V2,
    _score_bias(otherwise=True),
    mlp_bias=None,
    extra_params_total=None,
)
SARVAM_MLA = Family("sarvam_mla", DEEPSEEK_V3, q_lora_rank=lambda config, _: taken(config, "q_lora_rank", 0))
# One further norm after the experts.
AXK1 = Family("axk1", DEEPSEEK_V3, extra_params_total=lambda _, row: n_sparse(row) * row.count("d_model") or None)
MISTRAL4 = Family("mistral4", DEEPSEEK_V3, _score_bias(otherwise=False))
DEEPSEEK_V32 = Family(
    "deepseek_v32 glm_moe_dsa",
    DEEPSEEK_V3,
    indexer_params_per_layer=_indexer_share,
    extra_params_total=indexer_rest,
    index_topk=_chosen,
    index_n_heads=size("index_n_heads"),
    index_head_dim=size("index_head_dim"),
    n_indexer_layers=_n_indexers,
)


def _gated_norms(config: Config, row: ModelRow) -> int:
    """A.X K2's norms before attention and experts: two low-rank projections that scale the normed values."""
    layers = row.count("n_layers") + n_sparse(row)
    return 2 * taken(config, "gated_norm_rank", 16) * row.count("d_model") * layers


def _axk2_further(config: Config, row: ModelRow) -> ColumnValue:
    """Query and value-gate projections from both sides of the query norm, biases, and a share of the gated norms."""
    rank, heads = row.count("q_lora_rank"), row.count("n_heads")
    queries_and_gate = rank * heads * (row.count("head_dim") + 2 * row.count("v_head_dim"))
    return (
        queries_and_gate + bias_sum(config, row, "attention_bias") + _gated_norms(config, row) // row.count("n_layers")
    )


AXK2 = Family(
    "axk2",
    DEEPSEEK_V32,
    experts(n_routed, size("num_experts_per_tok"), after(lambda config: taken(config, "first_k_dense_replace", 1))),
    extra_params_per_layer=_axk2_further,
    extra_params_total=lambda config, row: (
        int(indexer_rest(config, row) or 0) + _gated_norms(config, row) % row.count("n_layers") or None
    ),
)


def _zero_experts(config: Config, _: ModelRow) -> ColumnValue:
    """The average number of chosen experts without the zero experts, which return a token unchanged."""
    chosen, real, zero = config.said("moe_topk", least=1), config.said("n_routed_experts", least=1), _n_zero(config)
    number, rest = divmod(chosen * real, real + zero)
    if rest or not number:
        raise config.fault("moe_topk", "makes no whole number of experts with weights", NO_ROW)
    if zero:
        config.note(f"a token uses {chosen} experts, of which {number} on average have weights: these are counted")
    return number


def _n_zero(config: Config) -> int:
    return config.count("zero_expert_num") or 0


def _zero_routes(config: Config, row: ModelRow) -> int:
    """The router's parameters for zero experts, in every second layer."""
    return _n_zero(config) * row.count("d_model")


def _twice(config: Config, row: ModelRow) -> ColumnValue:
    config.note("a layer has attention and a dense block twice and experts beside them: it stands as two layers")
    number = layers("num_layers")(config, row)
    return 2 * number if isinstance(number, int) else None


# A layer has attention and a dense block twice, and experts in parallel: it counts as two, one with experts and
# its dense block as a shared expert.
LONGCAT = Family(
    "longcat_flash", _LATENT, n_layers=_twice,
    moe_experts=size("n_routed_experts"), moe_top_k=_zero_experts, moe_d_ff=size("expert_ffn_hidden_size"),
    n_dense_layers=lambda _, row: row.count("n_layers") // 2, d_ff=size("ffn_hidden_size"),
    moe_shared_experts=1, moe_shared_d_ff=size("ffn_hidden_size"), router_score_bias=True,
    extra_params_per_layer=lambda config, row: (
        bias_sum(config, row, "attention_bias") + _zero_routes(config, row) // 2
    ),
    extra_params_total=lambda config, row: (
        row.count("n_layers") // 2 * (_zero_routes(config, row) % 2 + _n_zero(config)) or None
    ),
)  # fmt: skip

"""The Gemma families. Up to Gemma 3 all layers are alike; in Gemma 3n and Gemma 4 attention layers differ in size."""

from __future__ import annotations

from planner.hf.config import Config
from planner.hf.dense import ATTENTION_BIAS, GROUPED
from planner.hf.experts import where_experts
from planner.hf.layers import attention, listed, one_full_in, window
from planner.hf.rules import ColumnValue, Family, ModelRow, head_dim, size, taken, tied, where
from planner.hf.unequal_layers import Layer, by_layer

GEMMA = Family("gemma", GROUPED, ATTENTION_BIAS, head_dim=head_dim(256), tied_embeddings=tied(True))
GEMMA2 = Family("gemma2", GEMMA, attention(one_full_in(2), window(4096)), norms_per_layer=4)
GEMMA3 = Family(
    "gemma3_text",
    GEMMA2,
    attention(one_full_in(6, "sliding_window_pattern", "_sliding_window_pattern"), window(4096)),
    qk_norm="per_head",
)
VAULTGEMMA = Family("vaultgemma", GEMMA2, norms_per_layer=2)


def _first_shared(config: Config, row: ModelRow, default: int) -> int:
    """The index of the first of the `num_kv_shared_layers` last layers, which use another layer's keys and values."""
    layers = row.count("n_layers")
    shared = min(taken(config, "num_kv_shared_layers", default), layers)
    if shared:
        config.note(
            f"{shared} of {layers} layers use the keys and values of an earlier layer: they stand as linear layers, "
            "which keep no cache; their reads of the other layers' are not counted, nor key and value matrices that a "
            "checkpoint may hold for them"
        )
    return layers - shared


def _table(config: Config, row: ModelRow) -> tuple[int, int]:
    """Per-layer embeddings: matrix parameters of all layers, and parameters of the table and its norm."""
    width, layers = taken(config, "hidden_size_per_layer_input", 256), row.count("n_layers")
    if not width:
        return 0, 0
    table = taken(config, "vocab_size_per_layer_input", 262144) * layers * width
    return 3 * layers * row.count("d_model") * width, table + width  # projections: in, out, the model's


# Gemma 3n


def _kinds_3n(config: Config, row: ModelRow) -> list[str]:
    return listed(config, row) or one_full_in(5)(config, row)


def _widths_3n(config: Config, row: ModelRow) -> list[int]:
    """The feed-forward width of each layer: a number or a list."""
    if isinstance(config.value("intermediate_size"), list):
        widths = config.items("intermediate_size", int) or []
        if len(widths) != row.count("n_layers") or min(widths) < 1:
            what = f"is no list of {row.count('n_layers')} numbers above 0, one for each layer"
            raise config.fault("intermediate_size", what, "correct it in the config")
        return widths
    return [config.said("intermediate_size", least=1)] * row.count("n_layers")


def _layers_3n(config: Config, row: ModelRow) -> list[Layer]:
    heads, kv_heads, width = row.count("n_heads"), row.count("n_kv_heads"), row.count("head_dim")
    biased = config.flag("attention_bias")
    first, usual = _first_shared(config, row, 15), Layer(row.count("d_model"), heads, kv_heads, width, 2, biased)
    return [usual if index < first else usual.without_kv() for index in range(row.count("n_layers"))]


def _others_3n(config: Config, row: ModelRow) -> tuple[int, int]:
    """Alternating updates, learned residuals and per-layer embeddings: parameters in matrices, and others."""
    d_model, layers, widths = row.count("d_model"), row.count("n_layers"), _widths_3n(config, row)
    inputs, rank = taken(config, "altup_num_inputs", 4), taken(config, "laurel_rank", 64)
    of_layers, others = _table(config, row)
    updates = layers * (inputs * d_model + inputs**2 + inputs**3) + 2 * (inputs - 1) * d_model**2
    wider = 3 * d_model * (sum(widths) - layers * min(widths))
    return of_layers + updates + 2 * layers * rank * d_model + wider, others


GEMMA3N = Family(
    "gemma3n_text",
    GEMMA,
    by_layer(_kinds_3n, _layers_3n, _others_3n, window(512)),
    qk_norm="per_head",
    d_ff=lambda config, row: min(_widths_3n(config, row)),
    norms_per_layer=8,
)


# Gemma 4


def _kinds_4(config: Config, row: ModelRow) -> list[str]:
    """The attention kind of each layer; the last one is never windowed."""
    return [*(listed(config, row) or one_full_in(6)(config, row))[:-1], "full"]


def _layers_4(config: Config, row: ModelRow) -> list[Layer]:
    """Global layers have their own head sizes, and with `attention_k_eq_v` one matrix for keys and values."""
    one_matrix, biased = config.flag("attention_k_eq_v"), config.flag("attention_bias")
    d_model, heads = row.count("d_model"), row.count("n_heads")
    local = Layer(d_model, heads, row.count("n_kv_heads"), row.count("head_dim"), 2, biased)
    kv_heads = (config.count("num_global_key_value_heads", least=1) if one_matrix else None) or local.kv_heads
    width = taken(config, "global_head_dim", 512) or local.width
    full = Layer(d_model, heads, kv_heads, width, 1 if one_matrix else 2, biased)
    overrides = config.part("per_layer_config")
    named = {int(name): name for name in overrides.fields if name.isdecimal()}  # keys such as "05" occur
    first = _first_shared(config, row, 0)
    layers = []
    for index, kind in enumerate(_kinds_4(config, row)):
        layer = full if kind == "full" else local
        if config.value("per_layer_config") is not None:
            own = overrides.part(named.get(index, ""))
            layer = layer.of(own.count("num_key_value_heads") or local.kv_heads, own.count("head_dim") or local.width)
        layers.append(layer if index < first else layer.without_kv())
    return layers


def _wide_4(config: Config, row: ModelRow) -> tuple[int, int]:
    """Layers that share keys and values may have a feed-forward block twice as wide."""
    shared = row.count("n_layers") - _first_shared(config, row, 0) if config.flag("use_double_wide_mlp") else 0
    return 3 * shared * row.count("d_model") * config.said("intermediate_size", least=1), 0


def _others_4(config: Config, row: ModelRow) -> tuple[int, int]:
    """Per-layer embeddings and wider blocks."""
    matrices, others = _table(config, row)
    return matrices + _wide_4(config, row)[0], others


def _norms_4(config: Config, row: ModelRow) -> ColumnValue:
    """Two norms before and two after; one after a layer's embedding; three and the router's scale for the experts."""
    return 4 + (_table(config, row)[1] > 0) + (4 if row["moe_experts"] else 0)


GEMMA4 = Family(
    "gemma4_text",
    GEMMA,
    by_layer(_kinds_4, _layers_4, _others_4, window(512)),
    qk_norm="per_head",
    norms_per_layer=_norms_4,
    moe_experts=lambda config, _: config.said("num_experts", least=1) if config.flag("enable_moe_block") else 0,
    moe_top_k=where_experts(size("top_k_experts")),
    moe_d_ff=where_experts(size("moe_intermediate_size")),
    # The dense block runs in parallel with the experts, like a shared expert.
    moe_shared_experts=where_experts(lambda _, __: 1),
    moe_shared_d_ff=where_experts(size("intermediate_size")),
    router_score_bias=where("enable_moe_block", True, None),
)
# The variant without an encoder has no per-layer embeddings.
GEMMA4_UNIFIED = Family(
    "gemma4_unified_text",
    GEMMA4,
    by_layer(_kinds_4, _layers_4, _wide_4, window(1024)),
    norms_per_layer=4,
    moe_experts=0,
)

"""Families after DeepSeekMoE: experts that are shared by all tokens beside routed ones, after some dense layers."""

from __future__ import annotations

from planner.hf.config import Config
from planner.hf.dense import ATTENTION_BIAS, COHERE2, ERNIE, EXAONE4, GENERAL, GROUPED, KV_SAID
from planner.hf.experts import (
    after,
    after_first_dense,
    all_sparse,
    between,
    experts,
    n_routed,
    n_shared,
    unbiased,
    where_experts,
)
from planner.hf.layers import attention, one_full_in, window
from planner.hf.moe import CHOSEN
from planner.hf.rules import (
    ColumnRule,
    ColumnRules,
    ColumnValue,
    Family,
    ModelRow,
    flag,
    head_dim,
    maybe,
    size,
    taken,
    where,
)

ROUTED: ColumnRules = {
    **experts(n_routed, CHOSEN, after_first_dense),
    "moe_shared_experts": where_experts(n_shared),
}
DEEPSEEK = Family("deepseek", GENERAL, ATTENTION_BIAS, ROUTED)  # the first: DeepSeekMoE
GLM4_MOE = Family(
    "glm4_moe",
    GROUPED,
    ROUTED,
    qkv_bias=flag("attention_bias"),
    router_score_bias=True,
    qk_norm=where("use_qk_norm", "per_head", "none"),
)
GLM4V_MOE = Family("glm4v_moe_text", GLM4_MOE, qkv_bias=flag("attention_bias", default=True))
SARVAM_MOE = Family(
    "sarvam_moe",
    GLM4_MOE,
    qkv_bias=flag("attention_bias", "use_qkv_bias"),
    head_dim=head_dim(64),
    qk_norm=where("use_qk_norm", "per_head", "none", default=True),
)
UNLIMITED_OCR = Family("unlimited_ocr_text", DEEPSEEK, KV_SAID)
DOTS1 = Family("dots1", DEEPSEEK, qk_norm="per_head", router_score_bias=True)
SOLAR_OPEN = Family(
    "solar_open",
    GLM4_MOE,
    experts(n_routed, CHOSEN, all_sparse),
    head_dim=head_dim(128),
    qk_norm="none",
)


_AFTER_DENSE: ColumnRules = {
    **GENERAL,
    "qk_norm": "per_head",
    "head_dim": head_dim(128),
    "router_score_bias": True,
    **experts(size("num_experts"), CHOSEN, after(lambda config: taken(config, "num_dense_layers", 1))),
    "moe_shared_experts": where_experts(size("num_shared_experts")),
}
AFMOE = Family(
    "afmoe",
    _AFTER_DENSE,
    ATTENTION_BIAS,
    attention(one_full_in(4, "global_attn_every_n_layers"), window(1024)),
    attn_gate=True,
    norms_per_layer=4,
)
HY_V3 = Family("hy_v3", _AFTER_DENSE, KV_SAID, ATTENTION_BIAS, mlp_bias=unbiased("mlp_bias"))
EXAONE_MOE = Family(
    "exaone_moe", EXAONE4, ROUTED, moe_shared_experts=where_experts(size("num_shared_experts")), router_score_bias=True
)

BAILING = Family(
    "bailing_moe",
    GROUPED,
    ROUTED,
    qkv_bias=flag("use_qkv_bias"),
    o_bias=flag("use_bias"),
    qk_norm=where("use_qk_norm", "per_head", "none"),
    moe_shared_experts=where_experts(maybe("num_shared_experts")),
    router_score_bias=flag("moe_router_enable_expert_bias"),
)
BAILING_V2 = Family(
    "bailing_moe_v2", BAILING, qk_norm=where("use_qk_norm", "per_head", "none", default=True), router_score_bias=True
)

ERNIE_MOE = Family(
    "ernie4_5_moe",
    ERNIE,
    experts(size("moe_num_experts"), size("moe_k"), between),
    head_dim=head_dim(),
    moe_shared_experts=lambda config, _: taken(config, "moe_num_shared_experts", 0),
    expert_bias=unbiased("use_bias"),
    router_score_bias=True,
)


def _prefix_kinds(config: Config, row: ModelRow) -> list[str]:
    """Every n-th layer has global attention, with a separate n for the first layers, which have no experts."""
    layers, first = row.count("n_layers"), _n_prefix(config)
    steps = [("prefix_dense_sliding_window_pattern", 1, first), ("sliding_window_pattern", 4, layers - first)]
    return [
        "local" if (index + 1) % (config.count(name, least=1) or usual) else "full"
        for name, usual, number in steps
        for index in range(number)
    ]


def _n_prefix(config: Config) -> int:
    return config.count("first_k_dense_replace") or 0


COHERE2_MOE = Family(
    "cohere2_moe",
    COHERE2,
    attention(_prefix_kinds, window(4096)),
    experts(
        size("num_experts"),
        CHOSEN,
        after(_n_prefix),
        width=size("intermediate_size"),
        d_ff=size("prefix_dense_intermediate_size", "intermediate_size"),
    ),
    head_dim=head_dim(128),
    moe_shared_experts=where_experts(maybe("num_shared_experts")),
)


def _of_text(rule: ColumnRule) -> ColumnRule:
    """An ERNIE 4.5 rule applied to a config whose lists contain a number for text and one for images.

    If the config doesn't say which layers have experts, all after the first have.
    """

    def first(config: Config, row: ModelRow) -> ColumnValue:
        lists = {name: value for name, value in config.fields.items() if name.startswith("moe_")}
        text = {name: value[0] for name, value in lists.items() if isinstance(value, list) and value}
        config.note("experts for images are not counted: no token of a text uses them")
        fields = {"moe_layer_start_index": 1, **config.fields, **text}
        of_text = Config(config.path, fields, config.defaults, config.prefix)
        of_text.notes = config.notes
        return rule(of_text, row)

    return first


ERNIE_VL = Family(
    "ernie4_5_moe_vl ernie4_5_vl_moe_text",
    {
        name: _of_text(rule) if callable(rule) and name.startswith(("moe_", "n_dense", "d_ff")) else rule
        for name, rule in ERNIE_MOE.items()
    },
)

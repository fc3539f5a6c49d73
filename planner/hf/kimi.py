"""Kimi Linear and Kimi K3: Kimi delta attention in most layers, latent attention in the others."""

from __future__ import annotations

from planner.hf.config import Config
from planner.hf.experts import n_routed, n_sparse, where_experts
from planner.hf.latent import DEEPSEEK_V3
from planner.hf.layers import attention, n_linear
from planner.hf.rules import ColumnValue, Family, ModelRow, apart, maybe, size, taken


def _kinds(config: Config, row: ModelRow) -> list[str]:
    """The 1-based layers in `linear_attn_config`, else every fourth after the first, have global attention.

    Raises UserError unless the two lists that it may have share out all layers.
    """
    part, number = config.part("linear_attn_config"), row.count("n_layers")
    full, linear = (part.items(name, int) for name in ("full_attn_layers", "kda_layers"))
    every = range(1, number + 1)
    if full is None:
        full = list(range(5, number + 1, 4)) if linear is None else [each for each in every if each not in linear]
    if linear is not None and sorted([*full, *linear]) != list(every):
        what = f"and full_attn_layers don't share out the layers 1 to {number}"
        raise part.fault("kda_layers", what, "name each layer once, in one of the two")
    return ["full" if each in full else "linear" for each in every]


def _sizes(config: Config) -> tuple[int, int, int]:
    """The number of heads, their width and the convolution's width in delta attention."""
    part = config.part("linear_attn_config") if config.value("linear_attn_config") is not None else None
    source, names = (
        (config, ("linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim"))
        if part is None
        else (part, ("num_heads", "head_dim", "short_conv_kernel_size"))
    )
    heads, width, kernel = (source.said(name, least=1) for name in names)
    return heads, width, kernel


def kimi_states(config: Config, row: ModelRow) -> ColumnValue:
    """State size: a square of each head's width for each delta-attention layer."""
    heads, width, _ = _sizes(config)
    return n_linear(row) * heads * width**2


def kimi_delta(config: Config, row: ModelRow) -> int:
    """Parameters of Kimi delta attention: convolutions of queries, keys and values, gates, channel decays.

    The decay is of low rank, and so is the gate of the output unless `use_full_rank_gate`.
    """
    heads, width, kernel = _sizes(config)
    d_model, all_heads = row.count("d_model"), heads * width
    low_rank = d_model * width + width * all_heads
    gate = d_model * all_heads if config.part("linear_attn_config").flag("use_full_rank_gate") else low_rank
    projections = 4 * d_model * all_heads + low_rank + gate + d_model * heads
    return projections + 3 * all_heads * kernel + all_heads + heads + width


def _output_gate(config: Config, row: ModelRow) -> ColumnValue:
    """The gate of latent attention's output in a layer, if there is one."""
    gate = row.count("d_model") * row.count("n_heads") * row.count("v_head_dim")
    return gate if config.flag("mla_use_output_gate") else None


def _latent(config: Config, _: ModelRow) -> ColumnValue:
    """The width of a token that its experts read, if it is projected for them."""
    return config.count("routed_expert_hidden_size", least=1)


def _shared_width(config: Config, row: ModelRow) -> ColumnValue:
    """With latent experts all shared experts are one, of three matrices: the two projections widen it by two thirds."""
    if not isinstance(latent := row["moe_latent_dim"], int):
        return None
    shared = config.count("n_shared_experts", "num_shared_experts") or 0
    return shared * row.count("moe_d_ff") + 2 * latent // 3


def _n_shared(config: Config, row: ModelRow) -> ColumnValue:
    return 1 if row["moe_latent_dim"] else config.count("n_shared_experts", "num_shared_experts")


def _further(config: Config, row: ModelRow) -> ColumnValue:
    """What has no column: the rest of a latent's projections and its norm, and the weights of residuals over depth."""
    d_model, latent, more = row.count("d_model"), row["moe_latent_dim"], 0
    if isinstance(latent, int):
        norm = latent if config.flag("latent_moe_use_norm") else 0
        more += n_sparse(row) * (2 * latent % 3 * d_model + norm)
    if config.value("attn_res_block_size") is not None:
        # a query and a norm before attention, before the feed-forward block, and after the last layer
        more += (4 * row.count("n_layers") + 2) * d_model
        config.note("residuals over depth count with their parameters; reading the earlier blocks takes no time")
    return more or None


KIMI_LINEAR = Family(
    "kimi_linear",
    DEEPSEEK_V3,
    attention(_kinds, maybe(), kimi_delta),
    q_lora_rank=lambda config, _: taken(config, "q_lora_rank", 0),
    max_context=maybe("max_position_embeddings", "model_max_length"),
    moe_experts=lambda config, row: config.count("num_local_experts", "num_experts") or n_routed(config, row),
    moe_top_k=size("num_experts_per_token", "num_experts_per_tok"),
    moe_latent_dim=where_experts(_latent),
    moe_shared_experts=_n_shared,
    moe_shared_d_ff=where_experts(_shared_width),
    extra_params_per_layer=_output_gate,
    extra_params_total=_further,
    recurrent_state_elements=kimi_states,
    tied_embeddings=apart,
)

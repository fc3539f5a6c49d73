"""Families with state-space blocks: Falcon-H1, Granite 4, Bamba, Jamba, Nemotron-H and Nemotron 3."""

from __future__ import annotations

from dataclasses import dataclass

from planner.errors import Place, UserError
from planner.hf.config import NO_ROW, Config, UnsaidError
from planner.hf.dense import GROUPED, KV_SAID, LLAMA
from planner.hf.experts import experts, where_experts
from planner.hf.layers import attention, check_length, n_linear
from planner.hf.moe import GRANITEMOESHARED
from planner.hf.rules import MOST_LAYERS, ColumnValue, Family, ModelRow, apart, maybe, size, taken
from planner.terminal_table import counted


@dataclass(frozen=True)
class Mamba2:
    """A Mamba-2 state-space block: its widths, and which parts have biases."""

    d_model: int
    heads: int
    inner: int  # channels
    groups: int
    state: int  # state size per channel
    kernel: int
    norm: bool
    conv_bias: bool
    bias_in: bool
    bias_out: bool

    @property
    def _convolved(self) -> int:
        return self.inner + 2 * self.groups * self.state

    @property
    def _projected(self) -> int:
        return self.inner + self._convolved + self.heads

    @property
    def matrices(self) -> int:
        """Parameters of the input and output projections and of the convolution."""
        return self.d_model * (self._projected + self.inner) + self._convolved * self.kernel

    @property
    def vectors(self) -> int:
        """Parameters of time steps, decay and skip per head, of a norm and of biases."""
        biases = self._convolved * self.conv_bias + self._projected * self.bias_in + self.d_model * self.bias_out
        return 3 * self.heads + self.inner * self.norm + biases

    @property
    def params(self) -> int:
        """All parameters."""
        return self.matrices + self.vectors

    @property
    def states(self) -> int:
        """The state size per sequence, in numbers."""
        return self.inner * self.state


def _block(config: Config, row: ModelRow, inner: int, *, norm: bool = True, bias_out: bool | None = None) -> Mamba2:
    """A block with `inner` channels.

    The output projection has a bias if the input projection has one, unless specified.
    """
    biased, heads = config.flag("mamba_proj_bias"), config.said("mamba_n_heads", least=1)
    _check_channels(config, inner, heads)
    _check_groups(config, "mamba_n_groups", heads)
    return Mamba2(
        row.count("d_model"),
        heads,
        inner,
        config.said("mamba_n_groups", least=1),
        config.said("mamba_d_state", least=1),
        config.said("mamba_d_conv", least=1),
        norm,
        config.flag("mamba_conv_bias", default=True),
        biased,
        biased if bias_out is None else bias_out,
    )


def _check_channels(config: Config, inner: int, heads: int) -> None:
    """Raise UserError unless the heads share the channels evenly, with the width that the config may say."""
    if inner % heads:
        raise config.fault("mamba_n_heads", f"does not divide the {inner} channels", "correct the one or the other")
    if config.value("mamba_d_head") in (None, "auto"):
        return
    if config.said("mamba_d_head", least=1) * heads != inner:
        what = f"times {heads} heads is not the {inner} channels"
        raise config.fault("mamba_d_head", what, 'correct it, or write "auto"')


def _check_groups(config: Config, name: str, heads: int) -> None:
    """Raise UserError unless the groups, each of which shares its inputs of the state, divide the heads."""
    if heads % config.said(name, least=1):
        raise config.fault(name, f"does not divide the {heads} heads of state spaces", "correct the one or the other")


def _expanded(config: Config, row: ModelRow) -> int:
    return config.said("mamba_expand", least=1) * row.count("d_model")


def _falcon(config: Config, row: ModelRow) -> Mamba2:
    """`mamba_d_ssm` channels; null means the model's width times the expansion factor."""
    inner = taken(config, "mamba_d_ssm", 1024) or _expanded(config, row)
    norm, bias_out = config.flag("mamba_rms_norm"), config.flag("projectors_bias")
    return _block(config, row, inner, norm=norm, bias_out=bias_out)


def _falcon_rest(config: Config, row: ModelRow) -> ColumnValue:
    config.note("the state-space block of each layer counts with its matrices; its scan takes time and counts no FLOPs")
    return row.count("n_layers") * _falcon(config, row).vectors


FALCON_H1 = Family(
    "falcon_h1",
    LLAMA,
    KV_SAID,
    extra_params_per_layer=lambda config, row: _falcon(config, row).matrices,
    extra_params_total=_falcon_rest,
    recurrent_state_elements=lambda config, row: row.count("n_layers") * _falcon(config, row).states,
)


def _granite_kinds(config: Config, row: ModelRow) -> list[str]:
    names = config.items("layer_types", str) or config.items("layers_block_type", str)
    if names is None:
        raise UnsaidError(f"{config.prefix}layer_types")
    check_length(config, row, "layer_types" if config.says("layer_types") else "layers_block_type", len(names))
    return ["linear" if name in ("mamba", "linear_attention") else "full" for name in names]


def _mamba(config: Config, row: ModelRow) -> Mamba2:
    return _block(config, row, _expanded(config, row))


def _params(config: Config, row: ModelRow) -> ColumnValue:
    return _mamba(config, row).params


def _states(config: Config, row: ModelRow) -> ColumnValue:
    return n_linear(row) * _mamba(config, row).states


def _granite_width(config: Config, row: ModelRow) -> ColumnValue:
    """Without experts the shared block serves as the dense one."""
    return config.said("intermediate_size" if row["moe_experts"] else "shared_intermediate_size", least=1)


GRANITE_HYBRID = Family(
    "granitemoehybrid",
    GRANITEMOESHARED,
    attention(_granite_kinds, maybe(), _params, whole=True),
    d_ff=_granite_width,
    moe_experts=lambda config, _: config.said("num_local_experts"),
    recurrent_state_elements=_states,
)


def _bamba_kinds(config: Config, row: ModelRow) -> list[str]:
    full = config.items("attn_layer_indices", int)
    if full is None:
        raise UnsaidError(f"{config.prefix}attn_layer_indices")
    return ["full" if index in full else "linear" for index in range(row.count("n_layers"))]


BAMBA = Family("bamba", LLAMA, KV_SAID, attention(_bamba_kinds, maybe(), _params), recurrent_state_elements=_states)


def _marked(config: Config, row: ModelRow, name: str) -> list[bool]:
    """Of every `NAME_period` layers, the one at `NAME_offset`."""
    period, offset = config.said(f"{name}_period", least=1), config.said(f"{name}_offset")
    return [index % period == offset for index in range(row.count("n_layers"))]


def _jamba_block(config: Config, row: ModelRow) -> ColumnValue:
    """Parameters of a Mamba-1 block: projections, a convolution, low-rank time steps, a decay per channel and state."""
    inner, d_model = _expanded(config, row), row.count("d_model")
    state, rank = config.said("mamba_d_state", least=1), config.value("mamba_dt_rank")
    low = -(-d_model // 16) if rank in (None, "auto") else config.said("mamba_dt_rank", least=1)
    ways = 3 * d_model * inner + inner * (low + 2 * state) + low * inner
    vectors = 2 * inner + low + 2 * state  # time-step bias and skip; norms
    biases = inner * config.flag("mamba_conv_bias", default=True) + (2 * inner + d_model) * config.flag(
        "mamba_proj_bias"
    )
    return ways + inner * (config.said("mamba_d_conv", least=1) + state) + vectors + biases


def _jamba_states(config: Config, row: ModelRow) -> ColumnValue:
    return n_linear(row) * _expanded(config, row) * config.said("mamba_d_state", least=1)


def _jamba_kinds(config: Config, row: ModelRow) -> list[str]:
    return ["full" if is_full else "linear" for is_full in _marked(config, row, "attn_layer")]


JAMBA = Family(
    "jamba",
    GROUPED,
    attention(_jamba_kinds, maybe(), _jamba_block),
    experts(
        lambda config, _: number if (number := config.said("num_experts", least=1)) > 1 else 0,
        size("num_experts_per_tok"),
        lambda config, row: _marked(config, row, "expert_layer"),
        width=size("intermediate_size"),
    ),
    recurrent_state_elements=_jamba_states,
)


# Nemotron-H: a block is a state space, attention, a feed-forward block or experts, each with one norm. A models CSV has
# layers of two parts; there are as many as feed-forward blocks and experts, and state spaces in equal parts in those
# without attention, so that parameters, their work, the cache and the states are exact.

_LETTERS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
_NAMES = {**{name: name for name in _LETTERS.values()}, "linear_attention": "mamba", "full_attention": "attention"}


def _nemotron_field(config: Config) -> str:
    """The field with the kinds of all blocks: a list of names, or else a pattern of letters."""
    names = "layers_block_type", "layer_types"
    return next((name for name in names if config.value(name) is not None), "hybrid_override_pattern")


def _nemotron_blocks(config: Config) -> list[str]:
    """The kinds of all blocks. Raises UnsaidError without them, UserError if one is unknown."""
    field = _nemotron_field(config)
    is_pattern = field == "hybrid_override_pattern"
    said = list(config.text(field)) if is_pattern else config.items(field, str)
    if not said:
        raise UnsaidError(f"{config.prefix}hybrid_override_pattern")
    known = _LETTERS if is_pattern else _NAMES
    if unknown := next((kind for kind in said if kind not in known), ""):
        raise config.fault(field, f'has the kind "{unknown}"', f"known: {', '.join(known)}")
    return [known[kind] for kind in said]


def _nemotron_layers(config: Config, _: ModelRow) -> ColumnValue:
    blocks = _nemotron_blocks(config)
    state_spaces, attention = blocks.count("mamba"), blocks.count("attention")
    layers = len(blocks) - state_spaces - attention
    if layers > MOST_LAYERS or layers < attention + (state_spaces > 0):
        what = (
            f"{counted(layers, 'feed-forward block')} for {counted(attention, 'block')} of attention and "
            f"{counted(state_spaces, 'state space')}: too few, for each layer of a row has one"
        )
        raise UserError(what, place=Place(config.path), remedy=NO_ROW)
    if (told := config.count("num_hidden_layers")) not in (None, len(blocks)):
        what = f"has {counted(len(blocks), 'block')} for {counted(told, 'layer')}"
        raise config.fault(_nemotron_field(config), what, "correct one of the two")
    config.note(
        f"its {len(blocks)} blocks stand as {layers} layers, as many as it has feed-forward blocks; its {state_spaces} "
        f"state spaces stand in equal parts in those without attention"
    )
    return layers


def _nemotron_mamba(config: Config, row: ModelRow) -> Mamba2:
    heads, biased = config.said("mamba_num_heads", least=1), config.flag("use_bias")
    _check_groups(config, "n_groups" if config.value("n_groups") is not None else "mamba_n_groups", heads)
    return Mamba2(
        row.count("d_model"),
        heads,
        heads * config.said("mamba_head_dim", least=1),
        config.said("n_groups", "mamba_n_groups", least=1),
        config.said("ssm_state_size", "mamba_d_state", least=1),
        config.said("conv_kernel", "mamba_d_conv", least=1),
        True,
        config.flag("use_conv_bias", "mamba_conv_bias", default=True),
        biased,
        biased,
    )


def _nemotron_spaces(config: Config, row: ModelRow) -> int:
    """Parameters of all state-space blocks."""
    number = _nemotron_blocks(config).count("mamba")
    return number * _nemotron_mamba(config, row).params if number else 0


def _nemotron_share(config: Config, row: ModelRow) -> ColumnValue:
    return _nemotron_spaces(config, row) // n_linear(row) if n_linear(row) else None


def _nemotron_rest(config: Config, row: ModelRow) -> ColumnValue:
    """Norms of the blocks that don't count as layers, and the remainder of the state-space blocks' division."""
    norms = (len(_nemotron_blocks(config)) - row.count("n_layers")) * row.count("d_model")
    return norms + (_nemotron_spaces(config, row) % n_linear(row) if n_linear(row) else 0)


def _nemotron_states(config: Config, row: ModelRow) -> ColumnValue:
    number = _nemotron_blocks(config).count("mamba")
    return number * _nemotron_mamba(config, row).states if number else None


def _latent(config: Config) -> int:
    """What experts read of a token, if it is projected for them; the shared expert stands for the projections."""
    return config.count("moe_latent_size", least=1) or 0


def _nemotron_bias(config: Config, row: ModelRow) -> ColumnValue:
    biased = config.flag("mlp_bias")
    if biased and row["moe_experts"]:
        raise config.fault("mlp_bias", "gives the shared expert biases, which have no column", NO_ROW)
    return biased


def _nemotron_head(config: Config, _: ModelRow) -> ColumnValue:
    return config.count("head_dim", "attention_head_dim", least=1) or config.assumed("head_dim", 128)


NEMOTRON_H = Family(
    "nemotron_h", GROUPED, experts(
        lambda config, _: config.said("n_routed_experts", least=1) if "moe" in _nemotron_blocks(config) else 0,
        size("num_experts_per_tok"),
        lambda config, _: [kind == "moe" for kind in _nemotron_blocks(config) if kind in ("mlp", "moe")],
    ),
    n_layers=_nemotron_layers, head_dim=_nemotron_head, mlp_gated=False,
    norms_per_layer=1, tied_embeddings=apart, mlp_bias=_nemotron_bias, extra_params_total=_nemotron_rest,
    n_full_attn_layers=lambda config, _: _nemotron_blocks(config).count("attention"),
    linear_attn_params_per_layer=_nemotron_share, recurrent_state_elements=_nemotron_states,
    moe_latent_dim=where_experts(lambda config, _: _latent(config) or None),
    moe_shared_experts=where_experts(lambda _, __: 1),
    moe_shared_d_ff=where_experts(
        lambda config, _: config.said("moe_shared_expert_intermediate_size", least=1) + _latent(config)
    ),
    router_score_bias=where_experts(lambda _, __: True),
)  # fmt: skip

"""Families with state-space blocks: Falcon-H1, Granite 4, Bamba, Jamba, Nemotron-H."""

from __future__ import annotations

from dataclasses import dataclass

from planner.hf.config import Config, UnsaidError
from planner.hf.dense import GENERAL, KV_SAID, LLAMA
from planner.hf.layers import attention, check_length, n_linear
from planner.hf.moe import GRANITEMOESHARED, experts
from planner.hf.rules import ColumnValue, Family, ModelRow, maybe, size, taken


@dataclass(frozen=True)
class Mamba2:
    """A state-space block of the second Mamba: its widths, and which of its parts have biases."""

    d_model: int
    heads: int
    inner: int  # channels
    groups: int
    state: int  # numbers that each channel keeps
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
        """Parameters of the ways in and out and of the convolution."""
        return self.d_model * (self._projected + self.inner) + self._convolved * self.kernel

    @property
    def vectors(self) -> int:
        """Time steps, decay and skip of each head; a norm; biases."""
        biases = self._convolved * self.conv_bias + self._projected * self.bias_in + self.d_model * self.bias_out
        return 3 * self.heads + self.inner * self.norm + biases

    @property
    def params(self) -> int:
        """All parameters."""
        return self.matrices + self.vectors

    @property
    def states(self) -> int:
        """Numbers that the block keeps of a sequence."""
        return self.inner * self.state


def _block(config: Config, row: ModelRow, inner: int, *, norm: bool = True, bias_out: bool | None = None) -> Mamba2:
    """The block of some channels; the way out has a bias where the way in has one, unless that is said otherwise."""
    biased = config.flag("mamba_proj_bias")
    return Mamba2(
        row.count("d_model"), config.said("mamba_n_heads", least=1), inner, config.said("mamba_n_groups", least=1),
        config.said("mamba_d_state", least=1), config.said("mamba_d_conv", least=1), norm,
        config.flag("mamba_conv_bias", default=True), biased, biased if bias_out is None else bias_out,
    )  # fmt: skip


def _expanded(config: Config, row: ModelRow) -> int:
    return config.said("mamba_expand", least=1) * row.count("d_model")


def _falcon(config: Config, row: ModelRow) -> Mamba2:
    """`mamba_d_ssm` channels; null is the model's width expanded."""
    inner = taken(config, "mamba_d_ssm", 1024) or _expanded(config, row)
    norm, bias_out = config.flag("mamba_rms_norm"), config.flag("projectors_bias")
    return _block(config, row, inner, norm=norm, bias_out=bias_out)


def _falcon_rest(config: Config, row: ModelRow) -> ColumnValue:
    config.note("the state-space block of each layer counts with its matrices; its scan is not counted")
    return row.count("n_layers") * _falcon(config, row).vectors


FALCON_H1 = Family("falcon_h1", {
    **LLAMA, **KV_SAID, "extra_params_per_layer": lambda config, row: _falcon(config, row).matrices,
    "extra_params_total": _falcon_rest,
    "recurrent_state_elements": lambda config, row: row.count("n_layers") * _falcon(config, row).states,
})  # fmt: skip


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
    """Without experts the shared block is the dense one."""
    return config.said("intermediate_size" if row["moe_experts"] else "shared_intermediate_size", least=1)


GRANITE_HYBRID = Family("granitemoehybrid", {
    **GRANITEMOESHARED, **attention(_granite_kinds, maybe(), _params, whole=True), "d_ff": _granite_width,
    "moe_experts": lambda config, _: config.said("num_local_experts"), "recurrent_state_elements": _states,
})  # fmt: skip


def _bamba_kinds(config: Config, row: ModelRow) -> list[str]:
    full = config.items("attn_layer_indices", int)
    if full is None:
        raise UnsaidError(f"{config.prefix}attn_layer_indices")
    return ["full" if index in full else "linear" for index in range(row.count("n_layers"))]


BAMBA = Family("bamba", {
    **LLAMA, **KV_SAID, **attention(_bamba_kinds, maybe(), _params), "recurrent_state_elements": _states,
})  # fmt: skip


def _marked(config: Config, row: ModelRow, name: str) -> list[bool]:
    """Of each `NAME_period` layers the one at `NAME_offset`."""
    period, offset = config.said(f"{name}_period", least=1), config.said(f"{name}_offset")
    return [index % period == offset for index in range(row.count("n_layers"))]


def _jamba_block(config: Config, row: ModelRow) -> ColumnValue:
    """The first Mamba: ways in and out, a convolution, time steps of low rank, a decay for each channel and number."""
    inner, d_model = _expanded(config, row), row.count("d_model")
    state, rank = config.said("mamba_d_state", least=1), config.value("mamba_dt_rank")
    low = -(-d_model // 16) if rank in (None, "auto") else config.said("mamba_dt_rank", least=1)
    ways = 3 * d_model * inner + inner * (low + 2 * state) + low * inner
    vectors = 2 * inner + low + 2 * state  # bias of the time steps, skip; norms
    biases = inner * config.flag("mamba_conv_bias", default=True) + (2 * inner + d_model) * config.flag(
        "mamba_proj_bias"
    )
    return ways + inner * (config.said("mamba_d_conv", least=1) + state) + vectors + biases


def _jamba_states(config: Config, row: ModelRow) -> ColumnValue:
    return n_linear(row) * _expanded(config, row) * config.said("mamba_d_state", least=1)


def _jamba_kinds(config: Config, row: ModelRow) -> list[str]:
    return ["full" if is_full else "linear" for is_full in _marked(config, row, "attn_layer")]


JAMBA = Family("jamba", {
    **GENERAL, **KV_SAID, **attention(_jamba_kinds, maybe(), _jamba_block), "recurrent_state_elements": _jamba_states,
    **experts(
        lambda config, _: number if (number := config.said("num_experts", least=1)) > 1 else 0,
        size("num_experts_per_tok"), size("intermediate_size"),
        lambda config, row: _marked(config, row, "expert_layer"),
    ),
})  # fmt: skip

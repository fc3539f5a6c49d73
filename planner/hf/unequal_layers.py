"""Represents attention layers with different heads in the columns of a models CSV, which have one size for all layers.

`by_layer` sets the columns to the usual layer's sizes. The other layers' extra matrix parameters are divided evenly
into `extra_params_per_layer`, so that parameters and their work are exact. The remainder of that division, with norms
and tables, goes into `extra_params_total`. What layers with and without a window cache, and their attention's work,
stand as ratios to the usual layer's. A layer that uses another one's keys and values keeps no cache: its parameters
stand as those of a linear layer, and its attention is counted with the layers of its kind that have their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from planner.hf.config import NO_ROW, Config
from planner.hf.layers import Kinds, attention
from planner.hf.rules import ColumnRule, ColumnRules, ColumnValue, ModelRow

Others = Callable[[Config, ModelRow], tuple[int, int]]  # further parameters: in matrices of all layers, and others


@dataclass(frozen=True)
class Layer:
    """An attention layer: heads, their width, matrices for keys and values (0 to 2), biases, head norms.

    `value_width` is the width of a value head if it differs from that of queries and keys.
    """

    d_model: int
    heads: int
    kv_heads: int
    width: int
    kv_matrices: int
    biased: bool
    value_width: int | None = None

    @property
    def cached(self) -> int:
        """Numbers that the layer caches per token: none where it uses another's."""
        return self.kv_heads * (self.width + self._value_width) if self.kv_matrices else 0

    @property
    def pair_width(self) -> int:
        """Multiply-accumulates of a query and a key: scores and values of all heads."""
        return self.heads * (self.width + self._value_width)

    @property
    def matrices(self) -> int:
        """Matrix parameters of queries, keys, values and output."""
        return self.d_model * (self.pair_width + self._kv_width)

    @property
    def vectors(self) -> int:
        """Parameters of query and key norms, and of biases."""
        bias = self.heads * self.width + self._kv_width + self.d_model
        return self.width * (2 if self.kv_matrices else 1) + (bias if self.biased else 0)

    @property
    def _value_width(self) -> int:
        return self.width if self.value_width is None else self.value_width

    @property
    def _kv_width(self) -> int:
        return (0, self.kv_heads * self.width, self.cached)[self.kv_matrices]

    def of(self, kv_heads: int, width: int) -> Layer:
        """The layer with other KV heads and width."""
        return replace(self, kv_heads=kv_heads, width=width)

    def without_kv(self) -> Layer:
        """The layer without its own keys and values, using another layer's."""
        return replace(self, kv_matrices=0)


def by_layer(
    kinds: Kinds, layers: Callable[[Config, ModelRow], list[Layer]], others: Others, window: ColumnRule
) -> ColumnRules:
    """The columns of attention, with the kind of each layer's attention, its sizes, and other parameters.

    The rules raise UserError if the layers are smaller than the columns say.
    """
    columns = _Columns(kinds, layers, others)
    return {
        **attention(columns.marks, window, columns.linear_params, whole=True),
        "global_kv_ratio": columns.ratio("full", lambda layer: layer.cached),
        "local_kv_ratio": columns.ratio("local", lambda layer: layer.cached),
        "global_attention_ratio": columns.ratio("full", lambda layer: layer.pair_width),
        "local_attention_ratio": columns.ratio("local", lambda layer: layer.pair_width),
        "extra_params_per_layer": columns.each,
        "extra_params_total": columns.rest,
    }


@dataclass(frozen=True)
class _Columns:
    """The rules of the columns of a family whose layers differ."""

    kinds: Kinds
    layers: Callable[[Config, ModelRow], list[Layer]]
    others: Others

    def marks(self, config: Config, row: ModelRow) -> list[str]:
        """The kinds of layers as the columns count them: those without their own keys and values are `linear`."""
        found = zip(self.kinds(config, row), self.layers(config, row), strict=True)
        return [kind if layer.kv_matrices else "linear" for kind, layer in found]

    def linear_params(self, config: Config, row: ModelRow) -> ColumnValue:
        """Parameters of a layer without its own keys and values."""
        whole, number = self._linear(config, row)
        return whole // number if number else None

    def ratio(self, kind: str, of: Callable[[Layer], int]) -> ColumnRule:
        """The sum of `of` in the layers of a kind over that of as many usual layers as have a cache; blank for 1.

        As in other columns, layers with a window as long as the context have none.
        """

        def value(config: Config, row: ModelRow) -> ColumnValue:
            kinds = self.kinds(config, row) if row["sliding_window"] else ["full"] * row.count("n_layers")
            found = [layer for each, layer in zip(kinds, self.layers(config, row), strict=True) if each == kind]
            usual = sum(of(_usual(row, layer)) for layer in found if layer.kv_matrices)
            whole = sum(of(layer) for layer in found)
            return None if whole == usual or not usual else whole / usual

        return value

    def each(self, config: Config, row: ModelRow) -> ColumnValue:
        """Further matrix parameters of a layer."""
        matrices, _, number = self._further(config, row)
        return matrices // number or None

    def rest(self, config: Config, row: ModelRow) -> ColumnValue:
        """What is left of both divisions, and vectors."""
        matrices, vectors, number = self._further(config, row)
        whole, linear = self._linear(config, row)
        return (matrices % number + vectors + (whole % linear if linear else 0)) or None

    def _linear(self, config: Config, row: ModelRow) -> tuple[int, int]:
        """All parameters of the layers without their own keys and values, and their number."""
        found = [layer for layer in self.layers(config, row) if not layer.kv_matrices]
        return sum(layer.matrices + layer.vectors for layer in found), len(found)

    def _further(self, config: Config, row: ModelRow) -> tuple[int, int, int]:
        """Matrices and vectors beyond the columns', and the number of layers that they are spread over."""
        found = [layer for layer in self.layers(config, row) if layer.kv_matrices]
        if not found:
            raise config.fault("num_hidden_layers", "of layers that all use another's keys has no column", NO_ROW)
        usual = _usual(row, found[0])
        matrices, others = self.others(config, row)
        matrices += sum(layer.matrices for layer in found) - len(found) * usual.matrices
        vectors = others + sum(layer.vectors for layer in found) - len(found) * usual.vectors
        if matrices < 0 or vectors < 0:
            what = "of layers that are smaller than the first ones has no column"
            raise config.fault("num_hidden_layers", what, NO_ROW)
        return matrices, vectors, len(found)


def _usual(row: ModelRow, layer: Layer) -> Layer:
    """The layer that the columns describe."""
    heads, width = row.count("n_heads"), row.count("head_dim")
    return replace(layer, heads=heads, kv_heads=row.count("n_kv_heads"), width=width, kv_matrices=2)

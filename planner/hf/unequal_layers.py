"""Represents attention layers with different heads in the columns of a models CSV, which have one size for all layers.

`by_layer` sets the columns to the usual layer's sizes. The other layers' extra matrix parameters are divided evenly
into `extra_params_per_layer`, so that parameters and their work are exact. The remainder of that division, with norms
and tables, goes into `extra_params_total`.
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
        """Numbers that the layer caches per token."""
        return self.kv_heads * (self.width + self._value_width)

    @property
    def matrices(self) -> int:
        """Matrix parameters of queries, keys, values and output."""
        return self.d_model * (self.heads * (self.width + self._value_width) + self._kv_width)

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
    kinds: Kinds, layers: Callable[[Config, ModelRow], list[Layer]], others_of: Others, window: ColumnRule
) -> ColumnRules:
    """The columns of attention. Layers of the kind `linear` have no cache, and their parameters have their own column.

    The rules raise UserError if the layers are smaller than the columns say.
    """

    def of_kind(config: Config, row: ModelRow, *, linear: bool) -> list[Layer]:
        marks = kinds(config, row)
        return [layer for kind, layer in zip(marks, layers(config, row), strict=True) if (kind == "linear") == linear]

    def linear_sum(config: Config, row: ModelRow) -> tuple[int, int]:
        found = of_kind(config, row, linear=True)
        return sum(layer.matrices + layer.vectors for layer in found), len(found)

    def linear_params(config: Config, row: ModelRow) -> ColumnValue:
        whole, number = linear_sum(config, row)
        return whole // number if number else None

    def further(config: Config, row: ModelRow) -> tuple[int, int, int]:
        """Matrices and vectors beyond the columns', and the number of layers that they are spread over."""
        found = of_kind(config, row, linear=False)
        if not found:
            raise config.fault("num_hidden_layers", "of layers that all use another's keys has no column", NO_ROW)
        heads, width = row.count("n_heads"), row.count("head_dim")
        usual = replace(found[0], heads=heads, kv_heads=row.count("n_kv_heads"), width=width, kv_matrices=2)
        matrices, others = others_of(config, row)
        if different := [layer for layer in found if _heads(layer) != _heads(usual)]:
            _tell(config, usual, different, len(found))
        matrices += sum(layer.matrices for layer in found) - len(found) * usual.matrices
        vectors = others + sum(layer.vectors for layer in found) - len(found) * usual.vectors
        if matrices < 0 or vectors < 0:
            what = "of layers that are smaller than the first ones has no column"
            raise config.fault("num_hidden_layers", what, NO_ROW)
        return matrices, vectors, len(found)

    def each(config: Config, row: ModelRow) -> ColumnValue:
        matrices, _, number = further(config, row)
        return matrices // number or None

    def rest(config: Config, row: ModelRow) -> ColumnValue:
        matrices, vectors, number = further(config, row)
        whole, linear = linear_sum(config, row)
        return (matrices % number + vectors + (whole % linear if linear else 0)) or None

    return {
        **attention(kinds, window, linear_params, whole=True),
        "extra_params_per_layer": each,
        "extra_params_total": rest,
    }


def _heads(layer: Layer) -> tuple[int, int, int]:
    return layer.heads, layer.kv_heads, layer.width


def _tell(config: Config, usual: Layer, different: list[Layer], number: int) -> None:
    """Add a note on what is counted as if all layers had the usual heads."""
    first, same_work = different[0], (usual.heads, usual.width) == (different[0].heads, different[0].width)
    if first.width != usual.width:
        differ, work = f"heads of {first.width} where the others have {usual.width}", f"heads of {usual.width}"
    elif not same_work:
        differ, work = f"{first.heads} query heads where the others have {usual.heads}", f"{usual.heads} of them"
    else:
        differ, work = f"{first.kv_heads} key and value heads where the others have {usual.kv_heads}", ""
    counted = ["their parameters are exact"]
    if first.cached != usual.cached:
        counted.append(f"their cache is counted with {usual.cached:,} numbers of a token, not {first.cached:,}")
    if not same_work:
        counted.append(f"their attention work is counted with {work}")
    config.note(f"{len(different)} of {number} layers have {differ}: {'; '.join(counted)}")

"""Families whose attention layers differ in size: the columns describe one layer, and what others have more is spread.

A models CSV has one size for all layers with softmax attention. `by_layer` sets it to the given columns, puts the
further matrices of all layers in equal parts into `extra_params_per_layer`, so that parameters and their work are
exact, and the rest of that division, with norms and tables, into `extra_params_total`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from planner.hf.config import Config
from planner.hf.layers import Kinds, attention
from planner.hf.rules import Cell, Family, Row, Rule

Beside = Callable[[Config, Row], tuple[int, int]]  # further matrices of all layers, and parameters that are none


@dataclass(frozen=True)
class Layer:
    """An attention layer: its heads, their width, the matrices for keys and values (0 to 2), biases, norms of heads."""

    d_model: int
    heads: int
    kv_heads: int
    width: int
    kv_matrices: int
    biased: bool

    @property
    def matrices(self) -> int:
        """Parameters of queries, keys, values and output."""
        return self.d_model * self.width * (2 * self.heads + self.kv_matrices * self.kv_heads)

    @property
    def vectors(self) -> int:
        """Parameters of the norms of queries and keys, and of the biases."""
        bias = self.width * (self.heads + self.kv_matrices * self.kv_heads) + self.d_model
        return self.width * (2 if self.kv_matrices else 1) + (bias if self.biased else 0)

    def of(self, kv_heads: int, width: int) -> Layer:
        """The layer with other heads."""
        return replace(self, kv_heads=kv_heads, width=width)

    def without_kv(self) -> Layer:
        """The layer that uses another's keys and values."""
        return replace(self, kv_matrices=0)


def by_layer(kinds: Kinds, layers: Callable[[Config, Row], list[Layer]], beside: Beside, window: Rule) -> Family:
    """The columns of attention. Layers of the kind `linear` keep no cache: they take a share of their own.

    The rules raise UserError where the layers are smaller than the columns say.
    """

    def of_kind(config: Config, row: Row, *, linear: bool) -> list[Layer]:
        marks = kinds(config, row)
        return [layer for kind, layer in zip(marks, layers(config, row), strict=True) if (kind == "linear") == linear]

    def linear_sum(config: Config, row: Row) -> tuple[int, int]:
        found = of_kind(config, row, linear=True)
        return sum(layer.matrices + layer.vectors for layer in found), len(found)

    def linear_params(config: Config, row: Row) -> Cell:
        whole, number = linear_sum(config, row)
        return whole // number if number else None

    def further(config: Config, row: Row) -> tuple[int, int, int]:
        """Matrices and vectors beyond the columns', and the number of layers that they are spread over."""
        found = of_kind(config, row, linear=False)
        usual = Layer(
            row.count("d_model"), row.count("n_heads"), row.count("n_kv_heads"), row.count("head_dim"), 2,
            config.flag("attention_bias"),
        )  # fmt: skip
        matrices, others = beside(config, row)
        if different := [layer for layer in found if layer.of(usual.kv_heads, usual.width) != layer]:
            _tell(config, usual, different, len(found))
        matrices += sum(layer.matrices for layer in found) - len(found) * usual.matrices
        vectors = others + sum(layer.vectors for layer in found) - len(found) * usual.vectors
        if matrices < 0 or vectors < 0 or not found:
            what = "of layers that are smaller than the first ones has no column"
            raise config.fault("num_hidden_layers", what, "type the row by hand")
        return matrices, vectors, len(found)

    def each(config: Config, row: Row) -> Cell:
        matrices, _, number = further(config, row)
        return matrices // number or None

    def rest(config: Config, row: Row) -> Cell:
        matrices, vectors, number = further(config, row)
        whole, linear = linear_sum(config, row)
        return (matrices % number + vectors + (whole % linear if linear else 0)) or None

    return {
        **attention(kinds, window, linear_params, whole=True),
        "extra_params_per_layer": each, "extra_params_total": rest,
    }  # fmt: skip


def _tell(config: Config, usual: Layer, different: list[Layer], number: int) -> None:
    cached, counted = different[0].kv_heads * different[0].width, usual.kv_heads * usual.width
    config.note(
        f"{len(different)} of {number} layers have heads of {different[0].width} where the others have {usual.width}: "
        f"their parameters are exact; their cache is counted with {2 * counted:,} numbers of a token, not "
        f"{2 * cached:,}, and their attention work with heads of {usual.width}"
    )

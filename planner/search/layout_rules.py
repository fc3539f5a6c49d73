"""Rules that limit a search to layouts used in practice, unless --over names others.

Each rule excludes plans whose disadvantages the formulas underestimate. What a template's checks refuse needs no rule
here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from planner.formulas import thresholds
from planner.formulas.following import divisors

Values = Mapping[str, float | str | None]
"""Values of a plan's rows, by name."""
REMATS = ("block", "save_dot_except_mlp", "minimal", "selective", "none")
"""The remat policies that a search tries, from least to most memory.

The counts `mlp` and `matmuls` are less than frameworks hold; what the link to the host takes is in no expected time.
"""

SLICE = ("slice_x", "slice_y", "slice_z")
"""The inputs with the shape of a slice."""
LINKS = ("topology", "node_size", "max_chips", "torus_axes", "tensor_axes", *SLICE)  # how chips are connected


def is_even(layers: float, stages: int) -> bool:
    """Whether this number of pipeline stages gives stages of nearly equal numbers of layers."""
    mean = layers / stages
    return mean >= 1 and math.ceil(mean) / mean <= thresholds.number("most_stage_imbalance")


def most_context_ways(seq_len: float) -> float:
    """The most ways over which a sequence is split."""
    return seq_len / thresholds.number("context_way_tokens")


def most_tensor_ways(values: Values, axes: float) -> float:
    """The most tensor ways: a switched node's chips, or on a torus those along `axes` axes (0: one) of a pod or slice.

    `values` are a plan's: its topology, and what describes it.
    """
    node, most, torus = (number(values, name, 1.0) for name in ("node_size", "max_chips", "torus_axes"))
    if values.get("topology") != "torus":
        return node
    side = max(_slice(values), default=most ** (1 / torus) * (1 + 1e-9))
    return float(side ** max(1.0, axes))


def least_tensor_ways(axes: float) -> float:
    """The fewest tensor ways that lie along `axes` torus axes (0: one): two on each of several."""
    return 2.0**axes if axes > 1 else 1.0


def _slice(values: Values) -> list[float]:
    """The chips along each axis of a slice; empty if its shape isn't given."""
    return [number(values, name, 1.0) for name in SLICE] if number(values, SLICE[0]) > 0 else []


def number(values: Values, name: str, otherwise: float = 0.0) -> float:
    """A number of a plan, or `otherwise` if it is missing."""
    value = values.get(name)
    return value if isinstance(value, float) and value == value else otherwise


def torus_axes(values: Values) -> list[int]:
    """The numbers of torus axes over which ways may extend, 0 for one: without a slice's shape, a plan's default.

    A slice whose shape is given has those along which it has several chips.
    """
    if values.get("topology") != "torus":
        return [0]
    given = _slice(values)
    most = sum(chips > 1 for chips in given) if given else int(number(values, "torus_axes", 1.0))
    return [0, *range(2, most + 1)]


def microbatches(sequences: float, data_ways: int, stages: int) -> list[int]:
    """The possible numbers of microbatches for a data way's sequences: equally large, and at least as many as stages.

    If the batch isn't a whole number of sequences, part of one is left over.
    """
    each = sequences / data_ways
    if each < 1 or (each != int(each) and sequences == int(sequences)):
        return []
    return [number for number in divisors(int(each)) if number >= stages]


def chunks(layers: float, stages: int, number: int) -> list[int]:
    """The possible chunks of a stage's layers, with `number` microbatches; 1 means that they aren't interleaved."""
    if stages == 1 or number % stages:
        return [1]
    return divisors(math.ceil(layers / stages))

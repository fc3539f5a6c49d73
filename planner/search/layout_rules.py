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
"""Numbers and texts of rows of a plan, by name."""
REMATS = ("block", "save_dot_except_mlp", "minimal", "selective", "none")
"""What a search keeps for backward, the least first.

The counts `mlp` and `matmuls` are less than frameworks hold; what the link to the host takes is in no expected time.
"""


def is_even(layers: float, stages: int) -> bool:
    """Whether so many pipeline stages have nearly as many layers each."""
    mean = layers / stages
    return mean >= 1 and math.ceil(mean) / mean <= thresholds.number("most_stage_imbalance")


def most_context_ways(seq_len: float) -> float:
    """The most ways that a sequence is split."""
    return seq_len / thresholds.number("context_way_tokens")


def most_tensor_ways(values: Values, axes: float) -> float:
    """The chips of a node of a switch; on a torus those along so many axes of a pod, or of a slice of known shape.

    `values` are a plan's: its topology, and what that is described by.
    """
    node, most, torus = (number(values, name, 1.0) for name in ("node_size", "max_chips", "torus_axes"))
    if values.get("topology") != "torus":
        return node
    given, longest = values.get("slice_x"), values.get("longest_axis")
    is_given = isinstance(given, float) and given > 0 and isinstance(longest, float)
    side = longest if is_given else most ** (1 / torus) * (1 + 1e-9)
    return float(side**axes)  # type: ignore[operator]


def number(values: Values, name: str, otherwise: float = 0.0) -> float:
    """A number of a plan, or what stands for one that it hasn't."""
    value = values.get(name)
    return value if isinstance(value, float) and value == value else otherwise


def torus_axes(values: Values) -> range:
    """How many axes of its torus ways may lie along; on a switch there is one."""
    return range(1, int(number(values, "torus_axes", 1.0)) + 1) if values.get("topology") == "torus" else range(1, 2)


def microbatches(sequences: float, data_ways: int, stages: int) -> list[int]:
    """How a data way's sequences may be shared out: as many in each microbatch, and no fewer of these than stages.

    Where the batch is no whole number of sequences, a part of one is left over.
    """
    each = sequences / data_ways
    if each < 1 or (each != int(each) and sequences == int(sequences)):
        return []
    return [number for number in divisors(int(each)) if number >= stages]


def chunks(layers: float, stages: int, number: int) -> list[int]:
    """The chunks of a stage's layers in an interleaved schedule of so many microbatches; 1 is none."""
    if stages == 1 or number % stages:
        return [1]
    return divisors(math.ceil(layers / stages))

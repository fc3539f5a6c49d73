"""The layouts of serving: how chips share a model, its sequences and experts, and which of them only prefill."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from planner.formulas.following import divisors
from planner.search import layout_rules
from planner.search.layout_rules import Values
from planner.search.space import PlanAxis

WAYS = ("serve_tensor", "serve_data", "serve_expert", "serve_pipeline")
NAMES = ("n_chips", *WAYS, "tensor_axes")
SPLIT = ("prefill_chips", "prefill_tensor")  # chips dedicated to prefill, separate from those that decode
COPIES = "redundant_experts"  # copies count as experts
READ = ("n_chips", "n_layers", "n_experts", COPIES, "least_slice", *layout_rules.LINKS)
OWN = {*NAMES, *SPLIT}  # the inputs that layouts set, or keep as given
MOST_CHIPS = 512  # most chips tried if no number is given
MOST_TIMES = 4  # largest ratio of prefill chips to decode chips, and vice versa
BATCHES = np.unique(np.concatenate([2.0 ** np.arange(17), 3 * 2.0 ** np.arange(15)]))  # tried if none is named


def chip_counts(values: Values) -> list[float]:
    """The numbers of chips to try: powers of two, on a torus those of slices."""
    if values.get("topology") != "torus":
        return _powers(MOST_CHIPS)
    most, least = (layout_rules.number(values, name) for name in ("max_chips", "least_slice"))
    return [each for each in _powers(min(MOST_CHIPS, most or MOST_CHIPS)) if each == 1 or each >= least]


def _powers(most: float) -> list[float]:
    """The powers of two up to a number."""
    return [2.0**power for power in range(int(np.log2(most)) + 1)]


def layouts(values: Values, fixed: Mapping[str, Sequence[float]], chips: Sequence[float]) -> PlanAxis | None:
    """The layouts for each number of chips; all chips as tensor ways is 0 tensor ways, the template's default.

    Unless the number of chips is given, each is combined with further chips that only prefill, and with none.
    """
    each = (
        (*layout, *split)
        for layout in dict.fromkeys(_all(values, fixed, chips))
        for split in dict.fromkeys(_splits(values, fixed, layout))
    )
    return PlanAxis.of((*NAMES, *SPLIT), each)


def _splits(
    values: Values, fixed: Mapping[str, Sequence[float]], layout: tuple[float, ...]
) -> Iterator[tuple[float, float]]:
    """Yields pairs to add to a layout: a number of chips that only prefill, and the tensor ways of their groups.

    The ways are those of the chips that decode, or a power of two that tensor parallelism may have. No chips are added
    if their number is given.
    """
    count, tensor, data, _, stages, axes = layout
    counts = fixed.get("prefill_chips") or [0.0]
    if not fixed.keys() & {"prefill_chips", "n_chips"}:
        most = min(MOST_CHIPS - count, count * MOST_TIMES)
        counts = [0.0, *(each for each in chip_counts(values) if count / MOST_TIMES <= each <= most)]
    ways = {tensor or count / data / stages, *_powers(layout_rules.most_tensor_ways(values, axes))}
    least = layout_rules.least_tensor_ways(axes)
    for chips in counts:
        for each in fixed.get("prefill_tensor") or (sorted({min(each, chips) for each in ways}) if chips else [0.0]):
            if each <= 1 or (chips % each == 0 and each >= least):
                yield chips, each


def _all(values: Values, fixed: Mapping[str, Sequence[float]], chips: Sequence[float]) -> Iterator[tuple[float, ...]]:
    layers, experts = (layout_rules.number(values, name, 1.0) for name in ("n_layers", "n_experts"))
    experts += layout_rules.number(values, COPIES)
    for count, axes in product(chips, fixed.get("tensor_axes", layout_rules.torus_axes(values))):
        least = layout_rules.least_tensor_ways(axes)
        most = layout_rules.most_tensor_ways(values, axes) if "serve_tensor" not in fixed else math.inf
        even = [stages for stages in divisors(int(count)) if layout_rules.is_even(layers, int(stages))]
        for stages in fixed.get("serve_pipeline") or even:
            chips_of_stage = count / stages
            # experts may be spread over all chips of a stage, unless there are too few
            experts_over = {1.0, chips_of_stage if 1 < chips_of_stage <= experts else 1.0}
            for data in fixed.get("serve_data") or divisors(int(chips_of_stage)):
                ways = chips_of_stage / data
                if ways != int(ways) or not least <= ways <= most:
                    continue
                for expert in fixed.get("serve_expert") or sorted(experts_over):
                    is_plain = stages == data == expert == 1
                    for tensor in fixed.get("serve_tensor") or [0.0 if is_plain else ways]:
                        yield (count, tensor, data, expert, stages, axes)

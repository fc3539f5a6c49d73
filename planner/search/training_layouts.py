"""The layouts of a training run: how the chips are split over the ways of a mesh, with microbatches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

from planner.formulas.following import divisors
from planner.formulas.slices import OF_SLICES, slice_sizes
from planner.search import layout_rules
from planner.search.layout_rules import Values
from planner.search.space import PlanAxis

WAYS = ("mesh_data", "mesh_fsdp", "mesh_tensor", "mesh_expert", "mesh_pipeline", "mesh_context")
SCHEDULE = ("n_microbatches", "pipeline_interleave")
SHARED = "shares_context_state"
OWN = ("n_chips", "n_slices", *WAYS, *SCHEDULE, "tensor_axes", SHARED)  # the inputs that layouts set, or keep as given
SIZES = ("n_chips", "batch_tokens", "seq_len", "n_layers", "n_experts", "n_heads")
READ = tuple(dict.fromkeys((*SIZES, "slices_are", *layout_rules.LINKS, *OF_SLICES)))


def layouts(values: Values, fixed: Mapping[str, Sequence[float]], chips: Sequence[float]) -> PlanAxis | None:
    """The layouts for each number of chips: ways, microbatches, chunks, torus axes, and the context ways' state.

    The axes are those of the tensor ways; several context ways hold copies of the state, or shares of it.

    `values` are the plan's own (`READ`); `fixed` are the values of names that are set or varied otherwise.
    """
    return PlanAxis.of(OWN, _all(values, fixed, chips))


def _all(values: Values, fixed: Mapping[str, Sequence[float]], chips: Sequence[float]) -> Iterator[tuple[float, ...]]:
    layers = layout_rules.number(values, "n_layers", 1.0)
    sequences = layout_rules.number(values, "batch_tokens") / layout_rules.number(values, "seq_len", 1.0)
    sliced = [(count, slices) for count in chips for slices in _slices(values, fixed, count, sequences)]
    for (count, slices), axes in product(sliced, fixed.get("tensor_axes", layout_rules.torus_axes(values))):
        each = count / slices
        joined = slices if values.get("slices_are") == "pipeline" else 1.0  # slices that are the stages of one pipeline
        for ways in _shared_out(int(each), fixed, _allowed(values, axes)) if each == int(each) else ():
            data, fsdp, _, expert, stages, context = ways
            stages *= joined
            if stages > 1 and not layout_rules.is_even(layers, int(stages)) and "mesh_pipeline" not in fixed:
                continue
            groups = int(data * fsdp * expert * slices / joined)
            for number in fixed.get("n_microbatches") or layout_rules.microbatches(sequences, groups, int(stages)):
                chunks = fixed.get("pipeline_interleave") or layout_rules.chunks(layers, int(stages), int(number))
                shared = fixed.get(SHARED) or ([0.0, 1.0] if context > 1 else [0.0])
                for chunk, shares in product(chunks, shared):
                    yield (count, slices, *ways, number, chunk, axes, shares)


def _slices(values: Values, fixed: Mapping[str, Sequence[float]], chips: float, sequences: float) -> Sequence[float]:
    """The numbers of slices: those given, else the fewest of a size that exists and with as many sequences in each.

    If there are none such, the fewest that are large enough.
    """
    if "n_slices" in fixed:
        return fixed["n_slices"]
    most = layout_rules.number(values, "max_chips", chips) if values.get("topology") == "torus" else chips
    fewest = float(math.ceil(chips / most))
    known = {name: value for name, value in values.items() if value == value and name != "n_slices"}
    if (sizes := slice_sizes(known.get)) is None:
        return (fewest,)
    is_joined = values.get("slices_are") == "pipeline"
    counts = (count for count in divisors(int(chips)) if count >= fewest and chips / count in sizes)
    shared = (count for count in counts if is_joined or layout_rules.microbatches(sequences, count, 1))
    return (float(next(shared, fewest)),)


def _allowed(values: Values, axes: float) -> dict[str, Callable[[int], bool]]:
    """By name, whether a number of ways is sensible."""
    fewest, tensor = layout_rules.least_tensor_ways(axes), layout_rules.most_tensor_ways(values, axes)
    heads, experts = layout_rules.number(values, "n_heads", 1.0), layout_rules.number(values, "n_experts", 1.0)
    layers = layout_rules.number(values, "n_layers", 1.0)
    context = layout_rules.most_context_ways(layout_rules.number(values, "seq_len"))
    return {
        "mesh_tensor": lambda ways: fewest <= ways <= tensor and heads % ways == 0,
        "mesh_expert": lambda ways: experts % ways == 0,
        "mesh_pipeline": lambda ways: layout_rules.is_even(layers, ways),
        "mesh_context": lambda ways: ways == 1 or ways <= context,
    }


def _shared_out(
    chips: int, fixed: Mapping[str, Sequence[float]], allowed: Mapping[str, Callable[[int], bool]]
) -> Iterator[tuple[float, ...]]:
    """Every choice of ways with the product `chips`; names in `fixed` only have their values."""
    dividing = divisors(chips)
    order = sorted(WAYS, key=lambda name: (name not in fixed, name in ("mesh_data", "mesh_fsdp")))
    choices = {
        name: [int(each) for each in fixed[name]]
        if name in fixed
        else [each for each in dividing if name not in allowed or allowed[name](each)]
        for name in WAYS
    }

    def rest(at: int, left: int) -> Iterator[dict[str, int]]:
        name = order[at]
        if at == len(order) - 1:
            if left in choices[name]:
                yield {name: left}
            return
        for ways in choices[name]:
            if left % ways == 0:
                for others in rest(at + 1, left // ways):
                    yield {name: ways, **others}

    for found in rest(0, chips):
        yield tuple(float(found[name]) for name in WAYS)

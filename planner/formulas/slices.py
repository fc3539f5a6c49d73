"""Slices of a torus: which numbers of chips they have, and what a plan of another number, or of lines, should tell."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from planner.catalog import Value
from planner.number_text import shown

CHIPS = "n_chips"  # the input with the chips of a slice
OF_SLICES = (
    "topology",
    "torus_axes",
    "max_chips",
    "wrap_multiple",
    "wrap_needs_all",
    "least_slice",
    "n_slices",
)  # rows that determine slice sizes
SLICED = "tpu"
"""The kind of chips that are rented in slices."""

RING_LINKS = 2  # of a chip, one each way
Known = Callable[[str], Value]
"""From the name of a row to its value in a plan; None for N/A, and if there is no such row."""


def slice_sizes(value: Known) -> np.ndarray | None:
    """The possible numbers of chips of a plan's slices, ascending; None for a chip without a torus.

    A slice has one chip or a power of two, from the fewest that are joined on; on a torus of cubes, from one cube on, a
    multiple of cubes.
    """
    topology, axes, most, multiple, is_cubes, least, slices = (value(name) for name in OF_SLICES)
    if topology != "torus":
        return None
    if not (isinstance(axes, float) and isinstance(most, float) and isinstance(multiple, float)):
        return None
    cube = multiple**axes if is_cubes else most
    sizes = np.union1d(2.0 ** np.arange(np.log2(min(cube, most)) + 1), cube * np.arange(1, most // cube + 1))
    if isinstance(least, float):
        sizes = sizes[(sizes == 1) | (sizes >= least)]
    return sizes * (slices if isinstance(slices, float) else 1.0)


def of_the_slice(value: Known, kind: str, chip: str = "this chip") -> Iterator[str]:
    """A sentence for each slice of a plan whose chips no slice has: those that decode or train, those that prefill.

    `kind` is its chip's. A check tells of more than a pod has.
    """
    sizes, slices = slice_sizes(value), value("n_slices") or 1.0
    if kind != SLICED or sizes is None or not isinstance(slices, float):
        return
    names = ("slice_chips",) if value("pools_share_slice") == 1 else (CHIPS, "prefill_chips")
    for chips in dict.fromkeys(value(name) for name in names):
        if isinstance(chips, float) and 0 < chips < sizes[-1] and chips not in sizes:
            larger = sizes[sizes > chips][0] / slices
            yield f"No slice of {chip} has {shown(chips / slices, '1')} chips: the next larger has {larger:,.0f}."


def of_rings(value: Known, kind: str) -> Iterator[str]:
    """A sentence if the axes of a training plan's slice are taken for rings, and some of them would be lines."""
    sizes, chips, slices = slice_sizes(value), value(CHIPS), value("n_slices")
    axes, multiple, is_assumed = value("torus_axes"), value("wrap_multiple"), value("slice_x") == 0
    if kind != SLICED or sizes is None or chips not in sizes or value("fsdp_ring") is None or not is_assumed:
        return
    each = chips / slices if isinstance(chips, float) and isinstance(slices, float) else 0.0
    if isinstance(axes, float) and isinstance(multiple, float) and 1 < each < multiple**axes:
        yield (
            f"Axes of a slice are taken for rings, and in one of {each:,.0f} chips some are lines, of half the "
            f"bandwidth: set its shape, such as {_settings(_even_shape(each, axes))}."
        )


def of_one_axis(value: Known, kind: str) -> Iterator[str]:
    """A sentence if collectives are planned along one axis of a TPU's slice, which has more links than a ring's two."""
    sizes, slices = slice_sizes(value), value("n_slices")
    chips, axes, multiple = (value(name) for name in (CHIPS, "torus_axes", "wrap_multiple"))
    is_one = value("slice_x") == 0 and value("collective_axes") == 0
    if kind != SLICED or sizes is None or not is_one or not isinstance(chips, float) or not isinstance(slices, float):
        return
    each = chips / slices
    if isinstance(axes, float) and isinstance(multiple, float) and chips in sizes and math.log2(each) % 1 == 0:
        shape = _even_shape(each, axes)
        wraps = [side % multiple == 0 for side in shape]
        rings = wraps if not value("wrap_needs_all") else [all(wraps)] * len(shape)
        if sum(1 + ring for side, ring in zip(shape, rings, strict=True) if side > 1) > RING_LINKS:
            yield (
                f"Collectives lie along one axis of {each:,.0f} chips, a ring: over all axes of a slice they are "
                f"quicker, such as {_settings(shape)}."
            )


def _even_shape(chips: float, axes: float) -> list[int]:
    """The chips along the axes of a slice of a power of two, as even as can be, the longest last."""
    return [2 ** int((math.log2(chips) + number) // axes) for number in range(int(axes))]


def _settings(shape: list[int]) -> str:
    """A slice's shape as inputs: `slice_x=2 slice_y=4`."""
    return " ".join(f"slice_{axis}={side}" for axis, side in zip("xyz", shape, strict=False))

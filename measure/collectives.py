"""Collectives over an axis of a mesh, as NCCL's tests run them: every device has data of its own.

Payloads are counted as those tests do: the larger of what a device sends and what it receives. All
groups along the axis run at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, PartitionSpec

from planner.errors import nearest
from planner.measure.mesh import SEVERAL
from planner.measure.workload import Arguments, CaseSkipped, Operand, Workload

Axes = tuple[str, ...]
Function = Callable[[Any], Any]
ELEMENT = jnp.dtype(jnp.float32)  # as NCCL's tests have it by default


MADE: dict[str, tuple[Callable[[Axes, int], Function], str]] = {
    "all_gather": (lambda axes, _: lambda x: lax.all_gather(x, axes, axis=1, tiled=True), "all-gather"),
    "reduce_scatter": (
        lambda axes, _: lambda x: lax.psum_scatter(x, axes, scatter_dimension=1, tiled=True), "reduce-scatter",
    ),
    "all_reduce": (lambda axes, _: lambda x: lax.psum(x, axes), "all-reduce"),
    "all_to_all": (
        lambda axes, _: lambda x: lax.all_to_all(x, axes, split_axis=1, concat_axis=1, tiled=True), "all-to-all",
    ),
    "permute": (
        lambda axes, ways: lambda x: lax.ppermute(x, axes, [(at, (at + 1) % ways) for at in range(ways)]),
        "collective-permute",
    ),
}  # fmt: skip
"""Of each collective the function that a device runs, and what HLO calls it."""


def collective(given: Arguments, mesh: Mesh, axis: str, ways: int) -> Workload:
    """One collective over `ways` devices along an axis; the row's array is over all of the group."""
    kind = given.text("collective", "all_gather").lower()
    if kind not in MADE:
        raise CaseSkipped(f"no collective is called {kind!r}; {nearest(kind, MADE)}")
    array_bytes = given.number("array_bytes", 0)
    held = array_bytes / ways if kind in ("all_gather", "all_to_all") else array_bytes
    whole = ways * ELEMENT.itemsize if kind in ("reduce_scatter", "all_to_all") else ELEMENT.itemsize
    if held % whole or held < whole:
        raise CaseSkipped(f"{array_bytes:g} bytes can't be shared out evenly by {ways} devices in {ELEMENT.name}")
    function, operation = MADE[kind]
    parts = PartitionSpec(mesh.axis_names, None)
    operand = Operand((mesh.size, int(held) // ELEMENT.itemsize), ELEMENT, partition=parts)
    made = function(tuple(axis.split(SEVERAL)), ways)
    return Workload(made, (operand,), mesh=mesh, output_partition=parts, collectives=(operation,))

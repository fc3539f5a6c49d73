"""Collectives, matmuls and transformer steps over a mesh: each device computes its shard and communicates as needed.

A collective over an axis follows NCCL's tests: every device has its own data, a payload is the larger of what a device
sends and receives, and all groups along the axis run at once.

Everything is written with `shard_map`, so that exactly the communication that the templates count takes place, whatever
a partitioner would choose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, PartitionSpec

from planner.errors import nearest
from planner.measure import cases, spread
from planner.measure.mesh import MATMUL_WAYS, SEVERAL, STEP_AXES, MeshSpec, group_size
from planner.measure.records import Inputs
from planner.measure.transformer import StepShape, Whole, in_layers
from planner.measure.workload import Arguments, CaseSkipped, Operand, Workload

SPREAD = ("collective", "sharded_matmul", "sharded_step")
"""Templates whose cases run on a mesh."""
CHUNKS = ("collective-permute",)  # the HLO operations of a collective matmul
Matmul = Callable[[jax.Array, jax.Array], jax.Array]


def workload(template: str, inputs: Inputs, spec: MeshSpec, axis: str = "") -> Workload:
    """The workload of a row on a mesh. `axis` chooses among several axes that fit.

    Raises CaseSkipped if there is none.
    """
    given, mesh = Arguments(template, inputs), spread.laid_out(spec)
    if template == "sharded_step":
        return sharded_step(given, spec, mesh)
    ways, along = _ways(template, given), axis_of(template, inputs, spec, axis)
    if not along or spec.ways(along) != ways:
        raise CaseSkipped(f"no axis of the mesh {spec} has {ways} devices")
    if template == "collective":
        return collective(given, mesh, along, ways)
    if given.count("n_chips", 1) != spec.size:
        raise CaseSkipped(
            f"the row is predicted for {given.count('n_chips', 1)} chips; the mesh {spec} has {spec.size}"
        )
    return sharded_matmul(given, mesh, along, ways)


def axis_of(template: str, inputs: Inputs, spec: MeshSpec, axis: str = "") -> str:
    """The mesh axis of a row: `axis` if given, blank if none fits, all axes for a transformer step."""
    given = Arguments(template, inputs)
    try:
        if template == "sharded_step":
            return SEVERAL.join(spec.names)
        return axis or spec.axis_of(_ways(template, given), given.count("inner_ways", 1))
    except CaseSkipped:
        return ""


def _ways(template: str, given: Arguments) -> int:
    """The number of devices in the group of a collective or a matmul."""
    if template == "collective":
        size = group_size(given.number("axis_size", 0), given.number("n_axes", 1))
        if size is None:
            raise CaseSkipped("no machine has a group of so many devices")
        return round(size)
    ways = {count for name in MATMUL_WAYS if (count := given.count(name, 1)) > 1}
    if len(ways) != 1:
        raise CaseSkipped("no case lies over two axes: set one number of ways, and 1")
    return ways.pop()


def sharded_matmul(given: Arguments, mesh: Mesh, axis: str, ways: int) -> Workload:
    """[tokens, d_in] x [d_in, d_out] over one axis; devices along the other axes repeat the work.

    The row's sharding decides which operand is gathered first: the smaller one if tokens and outputs share the axis.
    Overlapped means a collective matmul: chunks are sent while others are multiplied.
    """
    tokens, d_in, d_out = (given.count(name) for name in ("tokens", "d_in", "d_out"))
    rows, left, right, columns = (given.count(name, 1) > 1 for name in MATMUL_WAYS)
    shares, scatters, overlaps = (
        given.count(name, 0, least=0) for name in ("shares_axis", "scatters_output", "is_overlapped")
    )
    if any(size % ways for size in (tokens, d_in, d_out)) or given.count("n_matmuls", 1) > 1:
        raise CaseSkipped(f"a matmul alone is measured, of dimensions that {ways} devices share evenly")
    axes: Any = tuple(axis.split(SEVERAL))
    plain = cases.matmul(given)
    multiply, (x, w) = plain.function, plain.operands
    # d_in is shared by both operands
    is_left_smaller = tokens * x.spec.dtype.itemsize <= d_out * w.spec.dtype.itemsize

    def along(is_first: object, is_second: object) -> PartitionSpec:
        return PartitionSpec(axes if is_first else None, axes if is_second else None)

    def gathered(array: jax.Array, dimension: int = 0) -> jax.Array:
        whole: jax.Array = lax.all_gather(array, axes, axis=dimension, tiled=True)
        return whole

    function: Matmul
    used: tuple[str, ...] = ("all-gather",)
    if shares and is_left_smaller:
        together = partial(_gathered_behind, multiply, axes, ways)
        function = together if overlaps else lambda x, w: multiply(gathered(x), w)
        used = CHUNKS if overlaps else used
        takes, gives = (along(True, False), along(False, True)), along(False, True)
    elif shares:
        function = lambda x, w: multiply(x, gathered(w, 1))  # noqa: E731
        takes, gives = (along(True, False), along(False, True)), along(True, False)
    elif left and right:
        function = _row_parallel(multiply, axes, ways, scatters, overlaps)
        takes, gives = (along(False, True), along(True, False)), along(scatters, False)
        used = ("all-reduce",) if not scatters else CHUNKS if overlaps else ("reduce-scatter",)
    elif right:
        function = lambda x, w: multiply(x, gathered(w))  # noqa: E731
        takes, gives = (along(rows, False), along(True, False)), along(rows, columns)
    elif left:
        function = lambda x, w: multiply(gathered(x, 1), w)  # noqa: E731
        takes, gives = (along(False, True), along(False, columns)), along(False, columns)
    else:
        function, used = multiply, ()
        takes, gives = (along(rows, False), along(False, columns)), along(rows, columns)
    operands = tuple(replace(each, partition=partition) for each, partition in zip((x, w), takes, strict=True))
    return Workload(function, operands, mesh=mesh, output_partition=gives, collectives=used)


def _row_parallel(multiply: Matmul, axes: Any, ways: int, scatters: int, overlaps: int) -> Matmul:
    """A matmul of partial products that are summed on every device, or scattered so that each device keeps its part."""
    if not scatters:
        return lambda x, w: lax.psum(multiply(x, w), axes)
    if not overlaps:
        return lambda x, w: lax.psum_scatter(multiply(x, w), axes, tiled=True)
    return partial(_scattered_behind, multiply, axes, ways)


def _gathered_behind(multiply: Matmul, axes: Any, ways: int, x: jax.Array, w: jax.Array) -> jax.Array:
    """An all-gather of the tokens overlapped with the matmul: a chunk is multiplied while the next one arrives."""
    place, each = lax.axis_index(axes), x.shape[0]
    ring = [(at, (at - 1) % ways) for at in range(ways)]
    made = jax.eval_shape(multiply, x, w)
    output = jnp.zeros((ways * each, made.shape[1]), made.dtype)
    for step in range(ways):
        arriving = lax.ppermute(x, axes, ring) if step < ways - 1 else x
        output = lax.dynamic_update_slice(output, multiply(x, w), ((place + step) % ways * each, 0))
        x = arriving
    return output


def _scattered_behind(multiply: Matmul, axes: Any, ways: int, x: jax.Array, w: jax.Array) -> jax.Array:
    """A reduce-scatter of the outputs overlapped with the matmul: sums are sent while the next chunk is multiplied."""
    place, each = lax.axis_index(axes), x.shape[0] // ways
    ring = [(at, (at - 1) % ways) for at in range(ways)]
    parts = (
        multiply(lax.dynamic_slice_in_dim(x, (place + step) % ways * each, each), w) for step in range(1, ways + 1)
    )
    total = next(parts)
    for part in parts:
        total = lax.ppermute(total, axes, ring) + part
    return total


class Ways(Whole):
    """The communication of a step over data, FSDP and tensor axes. An axis that the mesh lacks does nothing."""

    def __init__(self, spec: MeshSpec) -> None:
        self._data, self._fsdp, self._tensor = (name if name in spec.names else "" for name in STEP_AXES)

    def gathered(self, matrix: jax.Array, dimension: int) -> jax.Array:
        """The whole matrix of a tensor shard, gathered over FSDP; its gradient is reduce-scattered."""
        return lax.all_gather(matrix, self._fsdp, axis=dimension, tiled=True) if self._fsdp else matrix

    def enter(self, x: jax.Array) -> jax.Array:
        """The activations unchanged; their gradient is summed over the tensor axis."""
        return _entered(self._tensor, x) if self._tensor else x

    def leave(self, x: jax.Array) -> jax.Array:
        """The activations summed over the tensor axis; their gradient is unchanged."""
        return _left(self._tensor, x) if self._tensor else x

    def reduced(self, gradient: jax.Array) -> jax.Array:
        """The gradient summed over the data axis."""
        return lax.psum(gradient, self._data) if self._data else gradient


def _entered(axis: str, x: jax.Array) -> jax.Array:
    same = jax.custom_vjp(lambda x: x)
    same.defvjp(lambda x: (x, None), lambda _, gradient: (lax.psum(gradient, axis),))
    unchanged: jax.Array = same(x)
    return unchanged


def _left(axis: str, x: jax.Array) -> jax.Array:
    added = jax.custom_vjp(lambda x: lax.psum(x, axis))
    added.defvjp(lambda x: (lax.psum(x, axis), None), lambda _, gradient: (gradient,))
    total: jax.Array = added(x)
    return total


def sharded_step(given: Arguments, spec: MeshSpec, mesh: Mesh) -> Workload:
    """Transformer layers over the mesh: sequences over data and FSDP, heads and feed-forward over tensor."""
    data, fsdp, tensor = (_same_ways(given, spec, name) for name in STEP_AXES)
    whole, split = StepShape.of(given), Ways(spec)
    if whole.batch % (data * fsdp) or whole.d_model % fsdp:
        raise CaseSkipped(f"{data * fsdp} ways can't split {whole.batch} sequences, or {fsdp} its d_model, evenly")
    divided = {name: getattr(whole, name) for name in ("n_heads", "n_kv_heads", "d_ff", "vocab")}
    if any(size % tensor for size in divided.values()):
        raise CaseSkipped(f"{tensor} tensor ways can't split {divided} evenly")
    parts: dict[str, Any] = {name: size // tensor for name, size in divided.items()}
    part = replace(whole, batch=whole.batch // (data * fsdp), split=split, **parts)
    reduces, gathers = tensor > 1 or (data > 1 and whole.is_training), fsdp > 1
    used = ("all-reduce",) * reduces + ("all-gather",) * gathers
    layout = Layout(spec)

    def made(n_layers: int) -> Workload:
        operands = layout.placed(whole, whole.operands(n_layers), n_layers)
        outputs = layout.outputs(whole, operands, n_layers)
        return Workload(part.function(n_layers), operands, mesh=mesh, output_partition=outputs, collectives=used)

    return in_layers(given, made)


def _same_ways(given: Arguments, spec: MeshSpec, name: str) -> int:
    ways = given.count(f"mesh_{name}", 1)
    if ways != spec.ways(name):
        raise CaseSkipped(f"the row has {ways} {name} ways, and the mesh {spec} has {spec.ways(name)}")
    return ways


class Layout:
    """The partitions of a step's arrays over the axes of a mesh."""

    def __init__(self, spec: MeshSpec) -> None:
        data, self._fsdp, self._tensor = (name if name in spec.names else None for name in STEP_AXES)
        self._batch = tuple(name for name in (data, self._fsdp) if name) or None

    def placed(self, step: StepShape, operands: tuple[Operand, ...], n_layers: int) -> tuple[Operand, ...]:
        """The operands of a step, each with its partition."""
        cotangent = (self._activation(step),) if step.is_training else ()
        caches = (self._cache,) * 2 if step.is_cached else ()
        head = (PartitionSpec(self._fsdp, self._tensor),) if step.vocab else ()
        partitions = (
            PartitionSpec(self._batch),
            *self._matrices(step) * n_layers,
            *caches * n_layers,
            *head,
            *cotangent,
        )
        return tuple(replace(each, partition=split) for each, split in zip(operands, partitions, strict=True))

    def outputs(self, step: StepShape, operands: tuple[Operand, ...], n_layers: int) -> Any:
        """The partition of each output: activations, new keys and values, and gradients like their operands."""
        if step.is_training:
            return (self._activation(step), *(operand.partition for operand in operands[:-1]))
        written = (self._cache,) * 2 * n_layers if step.is_cached else ()
        return (self._activation(step), *written) if written else self._activation(step)

    def _activation(self, step: StepShape) -> PartitionSpec:
        return PartitionSpec(self._batch, None, self._tensor if step.vocab else None)

    @property
    def _cache(self) -> PartitionSpec:
        return PartitionSpec(self._batch, None, self._tensor)

    def _matrices(self, step: StepShape) -> tuple[PartitionSpec, ...]:
        into, out = PartitionSpec(self._fsdp, self._tensor), PartitionSpec(self._tensor, None, self._fsdp)
        down = PartitionSpec(self._tensor, self._fsdp)
        return (into, into, into, out, *[into] * (step.n_matrices - 1), down)


Axes = tuple[str, ...]
Function = Callable[[Any], Any]
ELEMENT = jnp.dtype(jnp.float32)  # the default of NCCL's tests


MADE: dict[str, tuple[Callable[[Axes, int], Function], str]] = {
    "all_gather": (lambda axes, _: lambda x: lax.all_gather(x, axes, axis=1, tiled=True), "all-gather"),
    "reduce_scatter": (
        lambda axes, _: lambda x: lax.psum_scatter(x, axes, scatter_dimension=1, tiled=True),
        "reduce-scatter",
    ),
    "all_reduce": (lambda axes, _: lambda x: lax.psum(x, axes), "all-reduce"),
    "all_to_all": (
        lambda axes, _: lambda x: lax.all_to_all(x, axes, split_axis=1, concat_axis=1, tiled=True),
        "all-to-all",
    ),
    "permute": (
        lambda axes, ways: lambda x: lax.ppermute(x, axes, [(at, (at + 1) % ways) for at in range(ways)]),
        "collective-permute",
    ),
}
"""For each collective, the function that each device runs and its name in HLO."""


def collective(given: Arguments, mesh: Mesh, axis: str, ways: int) -> Workload:
    """One collective over `ways` devices along an axis; the row's array is the one of the whole group."""
    kind = given.text("collective", "all_gather").lower()
    if kind not in MADE:
        raise CaseSkipped(f"no collective is called {kind!r}; {nearest(kind, MADE)}")
    array_bytes = given.number("array_bytes", 0)
    device_bytes = array_bytes / ways if kind in ("all_gather", "all_to_all") else array_bytes
    whole = ways * ELEMENT.itemsize if kind in ("reduce_scatter", "all_to_all") else ELEMENT.itemsize
    if device_bytes % whole or device_bytes < whole:
        raise CaseSkipped(f"{array_bytes:g} bytes can't be shared out evenly by {ways} devices in {ELEMENT.name}")
    function, operation = MADE[kind]
    parts = PartitionSpec(mesh.axis_names, None)
    operand = Operand((mesh.size, int(device_bytes) // ELEMENT.itemsize), ELEMENT, partition=parts)
    made = function(tuple(axis.split(SEVERAL)), ways)
    return Workload(made, (operand,), mesh=mesh, output_partition=parts, collectives=(operation,))

"""What is timed: a function of arrays and its operands. Also reads a row's inputs to build one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from planner.errors import nearest
from planner.measure import devices, spread
from planner.measure.records import Inputs

DTYPES = {
    "fp32": jnp.float32,
    "tf32": jnp.float32,
    "bf16": jnp.bfloat16,
    "fp16": jnp.float16,
    "fp8": jnp.float8_e4m3fn,
    "int8": jnp.int8,
    "int32": jnp.int32,
}
OF_BYTES = {4: "fp32", 2: "bf16", 1: "int8"}
SHARE = 0.9  # usable part of the free memory: the allocator and the profiler take some
EVERYWHERE = PartitionSpec()  # replicated on every device
INPUT_INIT = "scaled normal; integers uniform"  # what `random_arrays` fills in


class CaseSkipped(Exception):  # noqa: N818  nothing is wrong with such a row
    """A case that can't be measured here; `reason` is shown in its row."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass(frozen=True)
class Operand:
    """An argument of a workload, filled with random numbers."""

    shape: tuple[int, ...]
    dtype: Any
    scale: float = 1.0  # standard deviation of the normals
    partition: PartitionSpec = EVERYWHERE  # on a mesh: which axes split which dimensions of the whole array

    @property
    def spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype without data, as JAX passes them around."""
        return jax.ShapeDtypeStruct(self.shape, self.dtype)


@dataclass(frozen=True)
class Workload:
    """A function of arrays, its operands and the options that it must be compiled with."""

    function: Callable[..., Any]  # of arrays to an array, or a tuple of arrays
    operands: tuple[Operand, ...]
    compiler_options: dict[str, str | bool] = field(default_factory=dict)
    shallow: Workload | None = None  # a workload of a single layer, if not all layers are timed
    transfer: str = ""  # "to device" or "from device": no function runs, its operand is copied
    timed_layers: int = 1  # layers that are run, of the `n_layers` that it represents
    n_layers: int = 1
    mesh: Mesh | None = None  # if given, `function` is what each device runs on its shards of the operands
    output_partition: Any = None  # partition of each output of the function
    collectives: tuple[str, ...] = ()  # HLO operations that the program must contain

    def over_mesh(self, function: Callable[..., Any], takes: Any, gives: Any) -> Callable[..., Any]:
        """A function of whole arrays that runs `function` on each device's shards; on one device `function` itself."""
        return function if self.mesh is None else spread.on_each(self.mesh, function, takes, gives)

    @property
    def input_partitions(self) -> tuple[PartitionSpec, ...]:
        """The partition of each operand."""
        return tuple(operand.partition for operand in self.operands)

    @property
    def specs(self) -> tuple[jax.ShapeDtypeStruct, ...]:
        """Shape, dtype and sharding of each operand."""
        return tuple(self._placed(operand.spec, operand.partition) for operand in self.operands)

    @property
    def whole(self) -> Callable[..., Any]:
        """The workload's function, taking and returning whole arrays."""
        return self.over_mesh(self.function, self.input_partitions, self.output_partition)

    @property
    def output(self) -> Any:
        """Shape, dtype and sharding of the output."""
        given = jax.eval_shape(self.whole, *self.specs)
        return jax.tree.map(self._placed, given, given if self.mesh is None else self.output_partition)

    @property
    def array_bytes(self) -> int:
        """Bytes of all operands and the output in one device's memory, or in the memory that CPU devices share."""
        arrays = [*self.specs, *jax.tree.leaves(self.output)]
        return self.sharers * sum(math.prod(_part(spec)) * int(spec.dtype.itemsize) for spec in arrays)

    @property
    def sharers(self) -> int:
        """The number of this process's devices that run the function in one shared memory."""
        return 1 if self.mesh is None else spread.sharers(self.mesh)

    def _placed(self, spec: jax.ShapeDtypeStruct, partition: Any) -> jax.ShapeDtypeStruct:
        if self.mesh is None:
            return spec
        return jax.ShapeDtypeStruct(spec.shape, spec.dtype, sharding=NamedSharding(self.mesh, partition))


def _part(spec: jax.ShapeDtypeStruct) -> tuple[int, ...]:
    """The shape of one device's shard of an array."""
    shape: tuple[int, ...] = spec.shape if spec.sharding is None else spec.sharding.shard_shape(spec.shape)
    return shape


class Arguments:
    """A row's inputs, converted to what a case needs. A missing or invalid one raises CaseSkipped."""

    def __init__(self, template: str, inputs: Inputs) -> None:
        self._template, self._inputs = template, inputs

    def but(self, **inputs: float) -> Arguments:
        """The same row with some inputs replaced."""
        return Arguments(self._template, {**self._inputs, **inputs})

    def count(self, name: str, default: int | None = None, *, least: int = 1) -> int:
        """A whole number of at least `least`."""
        value = self._inputs.get(name)
        value = default if value is None else value
        if not isinstance(value, Real) or value != value // 1 or value < least:
            raise CaseSkipped(f"{self._template} needs {name}, whole and at least {least}, not {value!r}")
        return int(value)

    def number(self, name: str, default: float) -> float:
        """A number above 0."""
        value = self._inputs.get(name)
        value = default if value is None else value
        if not isinstance(value, Real) or not value > 0:
            raise CaseSkipped(f"{self._template} needs {name}, above 0, not {value!r}")
        return float(value)

    def text(self, name: str, default: str) -> str:
        """A text."""
        return str(self._inputs.get(name) or default)

    def dtype_name(self, name: str, default: str) -> str:
        """The name of a dtype that JAX supports."""
        text = str(self._inputs.get(name) or default).lower()
        if text not in DTYPES:
            raise CaseSkipped(f"no case for {name} {text!r}; {nearest(text, DTYPES)}")
        return text

    def dtype_of_bytes(self, default: int) -> Any:
        """The dtype used for elements of `element_bytes` bytes."""
        size = self.count("element_bytes", default)
        if size not in OF_BYTES:
            raise CaseSkipped(f"no dtype of {size} bytes; known: 4 (fp32), 2 (bf16), 1 (int8)")
        return DTYPES[OF_BYTES[size]]


def check_fits(device: Any, needed: float, what: str) -> None:
    """Raise CaseSkipped if `needed` bytes for `what` don't fit into the device's free memory.

    Must be called before arrays are made, because a host that runs out of memory kills the process without a message.
    Of several processes, the one with the least free memory decides.
    """
    if device.platform == "cpu":
        devices.trim_heap()
    free = spread.least(known) if (known := devices.free_memory(device)) is not None else None
    if free is not None and needed > SHARE * free:
        raise CaseSkipped(f"{what} {needed / 1e9:.3g} GB; {free / 1e9:.3g} GB are free, {SHARE:.0%} of it to use")


def accumulator(stored: Any) -> Any:
    """The dtype in which a matmul accumulates with results of dtype `stored`."""
    return stored if stored in (jnp.float32, jnp.bfloat16, jnp.float16) else jnp.float32


def random_arrays(operands: tuple[Operand, ...], mesh: Mesh | None = None) -> tuple[jax.Array, ...]:
    """Random data made on the device. Never zeros: an H200 multiplies zeros 13 % faster.

    Floats are scaled normals; integers are uniform over their full range. The generator is the hardware's own (`rbg`),
    which compiles in a fraction of the time of JAX's default, and operands of the same shape share a program. On a mesh
    each device fills its own shard.
    """
    return tuple(
        _filled(np.uint32(seed), each.scale, each.shape, jnp.dtype(each.dtype), each.partition, mesh)
        for seed, each in enumerate(operands)
    )


@partial(jax.jit, static_argnums=(2, 3, 4, 5))
def _filled(
    seed: jax.Array, scale: float, shape: tuple[int, ...], dtype: Any, partition: PartitionSpec, mesh: Mesh | None
) -> jax.Array:
    if mesh is None:
        return _draw(jax.random.key(seed, impl="rbg"), scale, shape, dtype)
    part = NamedSharding(mesh, partition).shard_shape(shape)
    along = [(axes,) if isinstance(axes, str) else axes for axes in partition if axes]
    axes = [axis for dimension in along for axis in dimension]

    def fill(seed: jax.Array, scale: jax.Array) -> jax.Array:
        key = jax.random.key(seed, impl="rbg")
        for axis in axes:
            key = jax.random.fold_in(key, lax.axis_index(axis))
        return _draw(key, scale, part, dtype)

    array: jax.Array = spread.on_each(mesh, fill, (EVERYWHERE, EVERYWHERE), partition)(seed, scale)
    return array


def _draw(key: jax.Array, scale: Any, shape: tuple[int, ...], dtype: Any) -> jax.Array:
    if jnp.issubdtype(dtype, jnp.integer):
        bits = jax.random.bits(key, shape, f"uint{8 * dtype.itemsize}")
        return lax.bitcast_convert_type(bits, dtype)
    drawn: jax.Array = (jax.random.normal(key, shape) * scale).astype(dtype)
    return drawn

"""What is timed: a function of arrays and its operands; and a row's inputs read to make one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from planner.errors import nearest
from planner.measure import devices
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
SHARE = 0.9  # of the memory that is free: the allocator and the profiler take some
INPUT_INIT = "scaled normal; integers uniform"  # what `random_arrays` fills in


class CaseSkipped(Exception):  # noqa: N818  nothing is wrong with such a row
    """A case that can't be measured here; `reason` is shown in its row."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass(frozen=True)
class Operand:
    """An argument of a workload, filled at random; normals are multiplied by `scale`."""

    shape: tuple[int, ...]
    dtype: Any
    scale: float = 1.0

    @property
    def spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype as JAX passes them around without data."""
        return jax.ShapeDtypeStruct(self.shape, self.dtype)


@dataclass(frozen=True)
class Workload:
    """A function of arrays, its operands and the options that it must be compiled with.

    One that stands for `n_layers` but runs `timed_layers` has a `shallow` one of a single layer
    beside it.
    """

    function: Callable[..., Any]  # of arrays to an array, or a tuple of arrays
    operands: tuple[Operand, ...]
    compiler_options: dict[str, str | bool] = field(default_factory=dict)
    shallow: Workload | None = None
    transfer: str = ""  # "to device" or "from device": no function runs, its operand is copied
    timed_layers: int = 1
    n_layers: int = 1

    @property
    def array_bytes(self) -> int:
        """Bytes of all operands and of the output, as held in memory."""
        specs = [operand.spec for operand in self.operands]
        outputs = jax.tree.leaves(jax.eval_shape(self.function, *specs))
        return sum(math.prod(spec.shape) * spec.dtype.itemsize for spec in [*specs, *outputs])


class Arguments:
    """A row's inputs, read as a case needs them; one that is missing or odd skips the case."""

    def __init__(self, template: str, inputs: Inputs) -> None:
        self._template, self._inputs = template, inputs

    def but(self, **inputs: float) -> Arguments:
        """The same row with some inputs set."""
        return Arguments(self._template, {**self._inputs, **inputs})

    def count(self, name: str, default: int | None = None, *, least: int = 1) -> int:
        """A whole number of at least `least`."""
        value = self._inputs.get(name)
        value = default if value is None else value
        if not isinstance(value, Real) or value != value // 1 or value < least:
            raise CaseSkipped(f"{self._template} needs {name}, whole and at least {least}, not {value!r}")
        return int(value)

    def dtype_name(self, name: str, default: str) -> str:
        """The name of a dtype that JAX can hold."""
        text = str(self._inputs.get(name) or default).lower()
        if text not in DTYPES:
            raise CaseSkipped(f"no case for {name} {text!r}; {nearest(text, DTYPES)}")
        return text

    def dtype_of_bytes(self, default: int) -> Any:
        """The dtype that stands for any element of `element_bytes`."""
        size = self.count("element_bytes", default)
        if size not in OF_BYTES:
            raise CaseSkipped(f"no dtype of {size} bytes; known: 4 (fp32), 2 (bf16), 1 (int8)")
        return DTYPES[OF_BYTES[size]]


def check_fits(device: Any, needed: float, what: str) -> None:
    """Raise CaseSkipped where `needed` bytes, for `what`, don't fit beside what the device holds.

    Asked before arrays are made, for a host that runs out of memory says nothing and is killed.
    """
    if device.platform == "cpu":
        devices.trim_heap()
    free = devices.free_memory(device)
    if free is not None and needed > SHARE * free:
        raise CaseSkipped(f"{what} {needed / 1e9:.3g} GB; {free / 1e9:.3g} GB are free, {SHARE:.0%} of it to use")


def accumulator(held: Any) -> Any:
    """The dtype that a matmul adds up in whose result is held as `held`."""
    return held if held in (jnp.float32, jnp.bfloat16, jnp.float16) else jnp.float32


def random_arrays(operands: tuple[Operand, ...], seed: int = 0) -> tuple[jax.Array, ...]:
    """Random data, never zeros: an H200 multiplies zeros 13 % faster. Made on the device.

    Floats are scaled normals; integers are uniform over their full range. The generator is the
    hardware's own (`rbg`), which compiles in a fraction of the time of JAX's default, and operands
    of one shape share a program.
    """
    keys = jax.random.split(jax.random.key(seed, impl="rbg"), len(operands))
    return tuple(_random(key, operand) for key, operand in zip(keys, operands, strict=True))


def _random(key: jax.Array, operand: Operand) -> jax.Array:
    array: jax.Array = _filled(key, operand.scale, operand.shape, jnp.dtype(operand.dtype))
    return array


@partial(jax.jit, static_argnums=(2, 3))
def _filled(key: jax.Array, scale: float, shape: tuple[int, ...], dtype: Any) -> jax.Array:
    if jnp.issubdtype(dtype, jnp.integer):
        bits = jax.random.bits(key, shape, f"uint{8 * dtype.itemsize}")
        return lax.bitcast_convert_type(bits, dtype)
    return (jax.random.normal(key, shape) * scale).astype(dtype)

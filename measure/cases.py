"""What a template's row means in JAX: one small function for each template makes a function of arrays.

The functions only move and compute. FLOPs and bytes never come from here: the templates predict them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from planner.errors import nearest

Inputs = Mapping[str, float | str | None]
Builder = Callable[["Arguments"], "Workload"]

DTYPES = {
    "fp32": jnp.float32, "tf32": jnp.float32, "bf16": jnp.bfloat16, "fp16": jnp.float16,
    "fp8": jnp.float8_e4m3fn, "int8": jnp.int8, "int32": jnp.int32,
}  # fmt: skip
OF_BYTES = {4: "fp32", 2: "bf16", 1: "int8"}
INPUT_INIT = "scaled normal; integers uniform"  # what `random_arrays` fills in
CASES: dict[str, Builder] = {}


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

    One that stands for `n_layers` but runs `timed_layers` has a `shallow` one of a single layer beside it.
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


def case(template: str) -> Callable[[Builder], Builder]:
    """Register the function that builds the workload of a template's rows."""

    def register(build: Builder) -> Builder:
        CASES[template] = build
        return build

    return register


def workload(template: str, inputs: Inputs) -> Workload:
    """The workload of one row. Raises CaseSkipped with the reason when there is none."""
    from measure import cases_model  # noqa: F401  registers the larger cases

    if template not in CASES:
        raise CaseSkipped(f"no case measures the template {template!r}; {nearest(template, CASES)}")
    arguments = Arguments(template, inputs)
    if arguments.count("n_chips", 1) != 1:
        raise CaseSkipped("the row is predicted for several chips; set n_chips to 1 to measure one")
    return CASES[template](arguments)


@case("matmul")
def matmul(given: Arguments) -> Workload:
    """[tokens, d_in] x [d_in, d_out], n_matmuls times with their own weights, in compute_dtype.

    Operands are read at their own dtypes and cast on the way in. fp32 means fp32: without a precision, a GPU
    takes tf32 and a TPU bf16. Two epilogue passes are one relu that reads and writes the finished output.
    """
    tokens, d_in, d_out = (given.count(name) for name in ("tokens", "d_in", "d_out"))
    batch = given.count("n_matmuls", 1)
    n_relu = (given.count("epilogue_passes", 0, least=0) + 1) // 2
    activation, weight = (given.dtype_name(f"{role}_dtype", "bf16") for role in ("activation", "weight"))
    compute, output = given.dtype_name("compute_dtype", activation), given.dtype_name("output_dtype", "bf16")
    if compute.startswith("int") and {activation, weight} != {compute}:
        raise CaseSkipped(f"{activation} by {weight} needs scales to compute in {compute}; no case has them")
    precision = lax.Precision.HIGHEST if compute == "fp32" else lax.Precision.DEFAULT

    def multiply(left: jax.Array, right: jax.Array) -> jax.Array:
        left, right = left.astype(DTYPES[compute]), right.astype(DTYPES[compute])
        product = jnp.matmul(
            left, right, precision=precision, preferred_element_type=_accumulator(compute, output)
        ).astype(DTYPES[output])
        for _ in range(n_relu):
            product = jax.nn.relu(lax.optimization_barrier(product))
        return product

    lead = (batch,) if batch > 1 else ()
    scale = d_in**-0.5  # keeps products near 1 at every size, in every dtype
    rows, columns = (*lead, tokens, d_in), (*lead, d_in, d_out)
    return Workload(multiply, (Operand(rows, DTYPES[activation]), Operand(columns, DTYPES[weight], scale)))


def product(held: Any) -> Any:
    """What a matmul accumulates in whose result is held as `held`."""
    return held if held in (jnp.float32, jnp.bfloat16, jnp.float16) else jnp.float32


def _accumulator(compute: str, output: str) -> Any:
    """What a matmul accumulates in: int32 for integers, the output where that is a wide float, else fp32."""
    if compute.startswith("int"):
        return jnp.int32
    return product(DTYPES[output])


@case("elementwise")
def elementwise(given: Arguments) -> Workload:
    """A chain of n_ops operations: the first adds n_operands arrays, each other adds one more to the result.

    One array alone is a relu. Not fused means a barrier after each operation; XLA:CPU drops barriers before
    it fuses, so there the fusion itself is switched off.
    """
    n_elements, n_ops = given.count("n_elements"), given.count("n_ops", 1)
    n_operands, element_bytes = given.count("n_operands", 2), given.count("element_bytes", 2)
    if element_bytes not in OF_BYTES:
        raise CaseSkipped(f"no dtype of {element_bytes} bytes; known: 4 (fp32), 2 (bf16), 1 (int8)")
    is_fused = given.count("is_fused", 1, least=0)
    options: dict[str, str | bool] = {}
    if not is_fused and jax.default_backend() == "cpu":
        options["xla_disable_hlo_passes"] = "fusion"

    def chain(*arrays: jax.Array) -> jax.Array:
        result = sum(arrays[1:n_operands], start=arrays[0]) if n_operands > 1 else jax.nn.relu(arrays[0])
        for array in arrays[n_operands:]:
            result = (result if is_fused else lax.optimization_barrier(result)) + array
        return result

    operand = Operand((n_elements,), DTYPES[OF_BYTES[element_bytes]])
    return Workload(chain, (operand,) * (n_operands + n_ops - 1), options)


@case("host_copy")
def host_copy(given: Arguments) -> Workload:
    """One array between host and device, either way."""
    if jax.default_backend() == "cpu":
        raise CaseSkipped("a CPU is its own host: there is no link to measure")
    element_bytes = given.count("element_bytes", 4)
    if element_bytes not in OF_BYTES:
        raise CaseSkipped(f"no dtype of {element_bytes} bytes; known: 4 (fp32), 2 (bf16), 1 (int8)")
    array = Operand((given.count("n_elements"),), DTYPES[OF_BYTES[element_bytes]])
    way = "to device" if given.count("is_to_device", 1, least=0) else "from device"
    return Workload(lambda array: array, (array,), transfer=way)


def random_arrays(operands: tuple[Operand, ...], seed: int = 0) -> tuple[jax.Array, ...]:
    """Random data, never zeros: an H200 multiplies zeros 13 % faster. Made on the device.

    Floats are scaled normals; integers are uniform over their full range. The generator is the hardware's own
    (`rbg`), which compiles in a fraction of the time of JAX's default, and operands of one shape share a program.
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

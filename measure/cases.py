"""The JAX function for a row of each single-device template.

The functions only move and compute data. FLOPs and bytes are predicted by the templates and never taken from here.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

from planner.errors import nearest
from planner.measure import transformer
from planner.measure.records import Inputs
from planner.measure.workload import DTYPES, Arguments, CaseSkipped, Operand, Workload, accumulator


def workload(template: str, inputs: Inputs) -> Workload:
    """The workload of a row, given its template and inputs.

    Raises CaseSkipped with the reason if no case measures it.
    """
    if template not in CASES:
        raise CaseSkipped(f"no case measures the template {template!r}; {nearest(template, CASES)}")
    arguments = Arguments(template, inputs)
    if arguments.count("n_chips", 1) != 1:
        raise CaseSkipped("the row is predicted for several chips; set n_chips to 1 to measure one")
    return CASES[template](arguments)


def matmul(given: Arguments) -> Workload:
    """[tokens, d_in] x [d_in, d_out], repeated n_matmuls times with separate weights, in compute_dtype.

    Operands are read in their own dtypes and cast before the multiplication. fp32 sets the precision explicitly,
    because by default a GPU would use tf32 and a TPU bf16. Two epilogue passes are one relu that reads and writes the
    finished output.
    """
    tokens, d_in, d_out = (given.count(name) for name in ("tokens", "d_in", "d_out"))
    batch = given.count("n_matmuls", 1)
    n_relu = (given.count("epilogue_passes", 0, least=0) + 1) // 2
    activation, weight = (given.dtype_name(f"{role}_dtype", "bf16") for role in ("activation", "weight"))
    compute, output = given.dtype_name("compute_dtype", activation), given.dtype_name("output_dtype", "bf16")
    if compute.startswith("int") and {activation, weight} != {compute}:
        raise CaseSkipped(f"{activation} by {weight} needs scales to compute in {compute}; no case has them")
    precision = lax.Precision.HIGHEST if compute == "fp32" else lax.Precision.DEFAULT
    added_up_in = jnp.int32 if compute.startswith("int") else accumulator(DTYPES[output])

    def multiply(left: jax.Array, right: jax.Array) -> jax.Array:
        left, right = left.astype(DTYPES[compute]), right.astype(DTYPES[compute])
        product = jnp.matmul(left, right, precision=precision, preferred_element_type=added_up_in).astype(
            DTYPES[output]
        )
        for _ in range(n_relu):
            product = jax.nn.relu(lax.optimization_barrier(product))
        return product

    lead = (batch,) if batch > 1 else ()
    scale = d_in**-0.5  # keeps products near 1 at every size, in every dtype
    rows, columns = (*lead, tokens, d_in), (*lead, d_in, d_out)
    return Workload(multiply, (Operand(rows, DTYPES[activation]), Operand(columns, DTYPES[weight], scale)))


def matmul_activation(given: Arguments) -> Workload:
    """A matmul followed by a relu: fused into one pass, or with the product read and written once more."""
    is_fused = given.count("is_fused", 1, least=0)
    if not is_fused:
        return matmul(given.but(epilogue_passes=2.0))
    plain = matmul(given.but(epilogue_passes=0.0))
    return Workload(lambda *arrays: jax.nn.relu(plain.function(*arrays)), plain.operands, plain.compiler_options)


def elementwise(given: Arguments) -> Workload:
    """A chain of n_ops operations: the first adds n_operands arrays, each later one adds one more array.

    A single array gets a relu. If the row is not fused, a barrier separates the operations. XLA:CPU drops barriers
    before it fuses, so on a CPU fusion itself is switched off.
    """
    n_elements, n_ops = given.count("n_elements"), given.count("n_ops", 1)
    n_operands, dtype = given.count("n_operands", 2), given.dtype_of_bytes(2)
    is_fused = given.count("is_fused", 1, least=0)
    options: dict[str, str | bool] = {}
    if not is_fused and jax.default_backend() == "cpu":
        options["xla_disable_hlo_passes"] = "fusion"

    def chain(*arrays: jax.Array) -> jax.Array:
        result = sum(arrays[1:n_operands], start=arrays[0]) if n_operands > 1 else jax.nn.relu(arrays[0])
        for array in arrays[n_operands:]:
            result = (result if is_fused else lax.optimization_barrier(result)) + array
        return result

    operand = Operand((n_elements,), dtype)
    return Workload(chain, (operand,) * (n_operands + n_ops - 1), options)


def host_copy(given: Arguments) -> Workload:
    """A copy of one array between host and device, in either direction."""
    if jax.default_backend() == "cpu":
        raise CaseSkipped("a CPU is its own host: there is no link to measure")
    dtype = given.dtype_of_bytes(4)
    array = Operand((given.count("n_elements"),), dtype)
    way = "to device" if given.count("is_to_device", 1, least=0) else "from device"
    return Workload(lambda array: array, (array,), transfer=way)


CASES: dict[str, Callable[[Arguments], Workload]] = {
    "matmul": matmul,
    "elementwise": elementwise,
    "host_copy": host_copy,
    "matmul_activation": matmul_activation,
    "mlp": transformer.mlp,
    "attention": transformer.attention,
    "step": transformer.step,
}
"""The function that builds the workload of a template's rows."""

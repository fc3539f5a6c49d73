"""What a row runs: the right shapes, dtypes and values, and a reason where nothing can run."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from measure import cases
from measure.cases import CaseSkipped, random_arrays, workload

SQUARE = {"tokens": 8, "d_in": 16, "d_out": 4}


def dtypes(activation, weight, compute, output):
    """A small matmul at these dtypes."""
    names = {"activation": activation, "weight": weight, "compute": compute, "output": output}
    return SQUARE | {f"{role}_dtype": name for role, name in names.items()}


def run(made):
    """The workload's output on random arrays, and these arrays."""
    arrays = random_arrays(made.operands)
    return jax.jit(made.function)(*arrays), arrays


@pytest.mark.parametrize(
    ("names", "output"),
    [
        (("fp32", "fp32", "fp32", "fp32"), jnp.float32),
        (("fp32", "fp32", "tf32", "fp32"), jnp.float32),
        (("bf16", "bf16", "bf16", "bf16"), jnp.bfloat16),
        (("bf16", "int8", "bf16", "bf16"), jnp.bfloat16),
        (("fp16", "fp16", "fp16", "fp32"), jnp.float32),
        (("fp8", "fp8", "fp8", "bf16"), jnp.bfloat16),
        (("int8", "int8", "int8", "int32"), jnp.int32),
        (("int8", "int8", "int8", "bf16"), jnp.bfloat16),
    ],
)
def test_matmul_at_its_dtypes(names, output):
    """Operands and output are held at the dtypes of the row, and the product is one."""
    made = workload("matmul", dtypes(*names))
    product, (left, right) = run(made)
    assert (left.dtype, right.dtype) == (cases.DTYPES[names[0]], cases.DTYPES[names[1]])
    assert (product.shape, product.dtype) == ((8, 4), output)
    expected = np.asarray(left, np.float64) @ np.asarray(right, np.float64)
    tolerance = 1e-5 if names[2] == "fp32" else 0.02
    assert np.asarray(product, np.float64) == pytest.approx(expected, rel=tolerance, abs=tolerance)


def test_integers_accumulate_in_int32():
    """127 * 127 * d_in overflows int8 at once; the sum must be exact."""
    made = workload("matmul", dtypes("int8", "int8", "int8", "int32") | {"d_in": 4096})
    ones = [jnp.full(operand.shape, -128, jnp.int8) for operand in made.operands]
    assert int(made.function(*ones)[0, 0]) == 128 * 128 * 4096


def test_batched_matmul_has_its_own_weights():
    """n_matmuls stacks both operands."""
    made = workload("matmul", SQUARE | {"n_matmuls": 3.0})
    assert [operand.shape for operand in made.operands] == [(3, 8, 16), (3, 16, 4)]
    assert made.array_bytes == 3 * 2 * (8 * 16 + 16 * 4 + 8 * 4)


def test_epilogue_is_a_relu_of_the_finished_product():
    """Two passes are one relu; XLA keeps it apart from the dot."""
    made = workload("matmul", SQUARE | {"epilogue_passes": 2})
    product, _ = run(made)
    assert float(product.min()) == 0.0
    lowered = jax.jit(made.function).lower(*(operand.spec for operand in made.operands))
    assert "optimization_barrier" in lowered.as_text()


CHAINS = [(2, 1, 2), (2, 2, 3), (1, 1, 1), (3, 2, 4), (1, 3, 3)]


@pytest.mark.parametrize(("operands", "ops", "n_arrays"), CHAINS)
def test_elementwise_reads_as_many_arrays_as_its_template(operands, ops, n_arrays):
    """n_operands + n_ops - 1 arrays, all of them in the result."""
    inputs = {"n_elements": 64, "n_operands": operands, "n_ops": ops, "element_bytes": 4}
    result, arrays = run(workload("elementwise", inputs))
    assert len(arrays) == n_arrays
    first, *others = (np.asarray(array) for array in arrays)
    expected = sum(others, start=np.maximum(first, 0) if operands == 1 else first)
    assert np.asarray(result) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("is_fused", "n_kernels"), [(1, 1), (0, 2)])
def test_unfused_operations_stay_apart(is_fused, n_kernels):
    """A + B + C is one loop when fused and two when not: XLA:CPU would drop a barrier alone."""
    made = workload("elementwise", {"n_elements": 4096, "n_ops": 2, "element_bytes": 4, "is_fused": is_fused})
    lowered = jax.jit(made.function).lower(*(operand.spec for operand in made.operands))
    entry = lowered.compile(compiler_options=made.compiler_options).as_text().split("ENTRY")[1]
    assert entry.count(" fusion(") == n_kernels


@pytest.mark.parametrize(
    ("template", "inputs", "reason"),
    [
        ("matmull", {}, "did you mean matmul"),
        ("matmul", {"tokens": 8, "d_in": 8}, "needs d_out"),
        ("matmul", SQUARE | {"tokens": 0.5}, "needs tokens"),
        ("matmul", SQUARE | {"tokens": float("nan")}, "needs tokens"),
        ("matmul", SQUARE | {"n_chips": 4}, "several chips"),
        ("matmul", SQUARE | {"weight_dtype": "int4"}, "did you mean int8"),
        ("matmul", dtypes("bf16", "int8", "int8", "bf16"), "needs scales"),
        ("elementwise", {"n_elements": 8, "element_bytes": 3}, "no dtype of 3 bytes"),
    ],
)
def test_a_case_that_cannot_run_says_why(template, inputs, reason):
    """Skipped with a reason that names what is wrong."""
    with pytest.raises(CaseSkipped, match=reason):
        workload(template, inputs)


def test_random_arrays_are_never_zeros():
    """Scaled normals that differ from each other; int8 over its full range."""
    left, right = random_arrays(workload("matmul", SQUARE | {"d_in": 1024, "tokens": 256}).operands)
    assert float(jnp.std(left.astype(jnp.float32))) == pytest.approx(1, rel=0.05)
    assert float(jnp.std(right.astype(jnp.float32))) == pytest.approx(1024**-0.5, rel=0.05)
    (bytes_, _) = random_arrays(workload("elementwise", {"n_elements": 4096, "element_bytes": 1}).operands)
    assert (int(bytes_.min()), int(bytes_.max())) == (-128, 127)

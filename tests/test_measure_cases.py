"""What a row runs: the right shapes, dtypes and values, and a reason where nothing can run."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from planner.measure import cases
from planner.measure.cases import workload
from planner.measure.clock import HostCopy
from planner.measure.transformer import norm, rotate
from planner.measure.workload import CaseSkipped, random_arrays

SQUARE = {"tokens": 8, "d_in": 16, "d_out": 4}


def dtypes(activation, weight, compute, output):
    """A small matmul at these dtypes."""
    names = {"activation": activation, "weight": weight, "compute": compute, "output": output}
    return SQUARE | {f"{role}_dtype": name for role, name in names.items()}


def run(made):
    """The workload's output on random arrays, and these arrays: numpy makes them, for which XLA compiles no program."""
    numbers = np.random.default_rng(0)
    arrays = [
        jnp.asarray(
            numbers.integers(-128, 128, operand.shape)
            if jnp.issubdtype(operand.dtype, jnp.integer)
            else numbers.normal(0, operand.scale, operand.shape),
            operand.dtype,
        )
        for operand in made.operands
    ]
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
    left, right = random_arrays(workload("matmul", dict.fromkeys(SQUARE, 512)).operands)
    assert float(jnp.std(left.astype(jnp.float32))) == pytest.approx(1, rel=0.05)
    assert float(jnp.std(right.astype(jnp.float32))) == pytest.approx(512**-0.5, rel=0.05)
    (bytes_, _) = random_arrays(workload("elementwise", {"n_elements": 4096, "element_bytes": 1}).operands)
    assert (int(bytes_.min()), int(bytes_.max())) == (-128, 127)
    assert (left.dtype, right.dtype, bytes_.dtype) == (jnp.bfloat16, jnp.bfloat16, jnp.int8)


def test_a_cpu_has_no_link_to_its_host():
    """Skipped with the reason; the copy itself times both ways."""
    with pytest.raises(CaseSkipped, match="no link to measure"):
        workload("host_copy", {"n_elements": 8})
    operand = cases.Operand((1024,), jnp.float32)
    assert all(HostCopy(operand, is_to_device=way)() > 0 for way in (True, False))


def test_attention_sees_the_keys_up_to_its_own_place():
    """Against the same in numpy: grouped heads, a mask that ends with the last key, or none."""
    shape = {"batch": 2, "query_len": 3, "kv_len": 5, "n_heads": 4, "n_kv_heads": 2, "head_dim": 8}
    names = {f"{role}_dtype": "fp32" for role in ("activation", "kv", "compute")}
    for is_causal in (0, 1):
        result, (query, key, value) = run(workload("attention", shape | names | {"is_causal": is_causal}))
        key, value = (np.repeat(np.asarray(array), 2, axis=2) for array in (key, value))
        scores = np.einsum("btnh,bsnh->bnts", query, key) / 8**0.5
        hidden = np.arange(5)[None, :] > np.arange(3)[:, None] + 2
        shares = np.exp(np.where(hidden & bool(is_causal), -np.inf, scores))
        expected = np.einsum("bnts,bsnh->btnh", shares / shares.sum(-1, keepdims=True), value)
        assert np.asarray(result) == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
def test_a_cached_step_continues_a_prefill():
    """The last token of a prefill, done alone over the cache of the others, has the same output."""
    shape = {"d_model": 32, "n_heads": 4, "n_kv_heads": 2, "qk_nope_dim": 8, "d_ff": 64, "query_len": 6, "kv_len": 6}
    names = {f"{role}_dtype": "fp32" for role in ("activation", "weight", "kv", "compute")}
    made = workload("step", shape | names)
    output, arrays = run(made)
    normed = norm(arrays[0])
    keys = rotate(jnp.einsum("btd,dnh->btnh", normed, arrays[2]), 0)
    values = jnp.einsum("btd,dnh->btnh", normed, arrays[3])
    cached = workload("step", shape | names | {"query_len": 1})
    alone, *_ = cached.function(arrays[0][:, -1:], *arrays[1:], keys, values)
    assert np.asarray(alone[:, 0]) == pytest.approx(np.asarray(output[:, -1]), abs=1e-4)


@pytest.mark.slow
def test_training_returns_a_gradient_for_every_array():
    """Nothing can be left out of the backward pass: each gradient is an output, and so is the primal one."""
    shape = {"d_model": 32, "n_heads": 4, "n_kv_heads": 2, "qk_nope_dim": 8, "d_ff": 64, "query_len": 6, "kv_len": 6}
    outputs, arrays = run(workload("step", shape | {"is_training": 1, "vocab": 16}))
    assert [output.shape for output in outputs[1:]] == [array.shape for array in arrays[:-1]]
    with pytest.raises(CaseSkipped, match="training has no cache"):
        workload("step", shape | {"is_training": 1, "kv_len": 9})

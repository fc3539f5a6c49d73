"""Which case of a template an operation is: a matmul, attention or a collective, by its shapes, FLOPs and name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

from planner.formulas import library
from planner.measure.records import Inputs
from planner.profiles.parts import collective
from planner.profiles.profile import Operation, Shape

Case = tuple[str, Inputs]
DTYPES = {
    "bf16": "bf16", "f16": "fp16", "f32": "fp32", "f64": "fp64", "s8": "int8", "u8": "int8",
    "s32": "int32", "s4": "int4",
}  # fmt: skip
BYTES = {"pred": 1.0, "s4": 0.5, "u4": 0.5}  # of what doesn't say its bits
FEWEST = 0.97  # a fusion's FLOPs are those of its matmul and of what follows it
MOST = 1.0001
LEAST_INNER = 8  # a smaller inner dimension is no matmul's
_MATMUL = re.compile(r"conv|dot|matmul|gemm|\bb?mm\b|addmm|linear|einsum|cublas|nvjet|cutlass", re.IGNORECASE)
_ATTENTION = re.compile(r"attention|flash|fmha|sdpa|splash", re.IGNORECASE)
_HEADS_FIRST = re.compile(r"scaled_dot_product|sdpa", re.IGNORECASE)  # batch, heads, tokens, head: else tokens first
_HALF = re.compile(r"[-_](?:start|done)(?![a-z])", re.IGNORECASE)  # its time is not that of the collective
COLLECTIVES = {  # the template's name, and its array in the arrays of one chip: those of its operands or its result
    "all-gather": ("all_gather", "result"), "reduce-scatter": ("reduce_scatter", "operands"),
    "all-reduce": ("all_reduce", "result"), "all-to-all": ("all_to_all", "all"), "permute": ("permute", "result"),
}  # fmt: skip


def case_of(operation: Operation) -> Case | None:
    """The case that an operation is, with all inputs of its template; None for what is none that can be told."""
    told = f"{operation.name} {operation.source} {operation.category} {operation.opcode}"
    if operation.part == "communication":
        return _collective(operation)
    if operation.part != "compute" or operation.count == 0:
        return None
    if _ATTENTION.search(told):
        return _attention(operation, told)
    return _matmul(operation) if _MATMUL.search(told) else None


def _case(template: str, **known: float | str) -> Case:
    """A case of a template: what is known, and the defaults of its other inputs."""
    defaults = {row.name: row.default for row in library.load(template).of_kind("input")}
    return template, defaults | known


def _dtype(shape: Shape) -> str:
    return "fp8" if shape.dtype.startswith("f8") else DTYPES.get(shape.dtype, "")


def array_bytes(shapes: Sequence[Shape]) -> float:
    """The bytes of some arrays."""
    bits = [int(digits[0]) if (digits := re.findall(r"\d+", shape.dtype)) else 8 for shape in shapes]
    each = (BYTES.get(shape.dtype, number / 8) for shape, number in zip(shapes, bits, strict=True))
    return sum(prod(shape.dims) * size for shape, size in zip(shapes, each, strict=True))


def _matmul(operation: Operation) -> Case | None:
    """A matmul: its inner dimension is one of an operand by which the FLOPs are 2 MNK, or a little more."""
    arrays = [shape for shape in operation.operands if len(shape.dims) > 1]
    if not (operation.flops and operation.result and arrays and operation.result[0].dims):
        return None
    out = operation.result[0]
    size = prod(out.dims)
    inner = {dim for shape in arrays for dim in shape.dims if FEWEST <= 2 * size * dim / operation.flops <= MOST}
    for d_in in sorted(inner):
        weights = [shape for shape in arrays if len(shape.dims) == 2 and d_in in shape.dims]
        for d_out in reversed(out.dims):  # what is called tokens is the rest
            weight = next((shape for shape in weights if sorted(shape.dims) == sorted((d_in, d_out))), None)
            if weight is not None and d_in >= LEAST_INNER:
                return _of_matmul(operation, weight, d_in, d_out, size // d_out, 1)
        batch = _batch(arrays, out)
        if batch > 1 and d_in >= LEAST_INNER:
            return _of_matmul(operation, arrays[-1], d_in, out.dims[-1], size // out.dims[-1] // batch, batch)
    return None


def _batch(arrays: Sequence[Shape], out: Shape) -> int:
    """How many matmuls a batched one is: the leading dimensions that its operands and its result share."""
    shared = 1
    for dims in zip(out.dims[:-2], *(shape.dims[:-2] for shape in arrays), strict=False):
        if len(set(dims)) > 1 or len(arrays) < 2:
            break
        shared *= dims[0]
    return shared


def _of_matmul(
    operation: Operation, weight: Shape, d_in: int, d_out: int, tokens: int, n_matmuls: int
) -> Case | None:  # fmt: skip
    others = [shape for shape in operation.operands if shape is not weight and d_in in shape.dims]
    dtypes = [_dtype(weight), _dtype((others or [weight])[0]), _dtype(operation.result[0])]
    if not all(dtypes):
        return None
    return _case(
        "matmul", tokens=float(tokens), d_in=float(d_in), d_out=float(d_out), n_matmuls=float(n_matmuls),
        weight_dtype=dtypes[0], activation_dtype=dtypes[1], output_dtype=dtypes[2], compute_dtype=dtypes[1],
    )  # fmt: skip


def _attention(operation: Operation, told: str) -> Case | None:
    """Attention over queries, keys and values of four dimensions; whether it is causal is told by its FLOPs."""
    arrays = [shape for shape in operation.operands if len(shape.dims) == 4][:3]
    if len(arrays) < 3 or arrays[1].dims != arrays[2].dims or not _dtype(arrays[0]) or not _dtype(arrays[1]):
        return None
    query, key = arrays[0].dims, arrays[1].dims
    tokens, heads = (2, 1) if _HEADS_FIRST.search(told) else (1, 2)
    if query[0] != key[0] or query[3] != key[3] or query[heads] % key[heads]:
        return None
    whole = 4.0 * prod(query) * key[tokens]
    share = operation.flops / whole if operation.flops else None
    is_causal = 1.0 if query[tokens] == 1 else None if share is None else float(share < 0.75)
    if is_causal is None:
        return None
    return _case(
        "attention", batch=float(query[0]), query_len=float(query[tokens]), kv_len=float(key[tokens]),
        n_heads=float(query[heads]), n_kv_heads=float(key[heads]), head_dim=float(query[3]), is_causal=is_causal,
        activation_dtype=_dtype(arrays[0]), kv_dtype=_dtype(arrays[1]), compute_dtype=_dtype(arrays[0]),
    )  # fmt: skip


def _collective(operation: Operation) -> Case | None:
    """A collective of a known group whose time is its own; half of an asynchronous one is none."""
    kind = COLLECTIVES.get(collective(operation.name, operation.category, operation.opcode))
    ways = operation.group_size
    if kind is None or not ways or ways < 2 or _HALF.search(operation.name) or not operation.result:
        return None
    name, whole = kind
    arrays = operation.operands if whole in ("operands", "all") and operation.operands else operation.result
    size = array_bytes(arrays) * (ways if whole == "all" else 1)
    return _case("collective", collective=name, array_bytes=size, axis_size=float(ways)) if size else None

"""What is recognised of a profile as cases of templates: matmuls, attention and collectives with all their inputs."""

from __future__ import annotations

from planner.formulas import library
from planner.measure.records import Inputs
from planner.profiles.profile import Shape
from planner.profiles.recognition import Attention, Collective, Matmul

Case = tuple[str, Inputs]
DTYPES = {
    "bf16": "bf16", "f16": "fp16", "f32": "fp32", "f64": "fp64", "s8": "int8", "u8": "int8",
    "s32": "int32", "s4": "int4",
}  # fmt: skip
FAMILIES = {"f8e8m0": "", "f8": "fp8", "f4": "fp4"}  # by how their names begin; the first is no number, but a scale
COLLECTIVES = {
    "all-gather": "all_gather", "reduce-scatter": "reduce_scatter", "all-reduce": "all_reduce",
    "all-to-all": "all_to_all", "permute": "permute",
}  # fmt: skip
HALVES = ("-start", "-done")  # the time of either is not that of the collective
HALF = 0.75  # less of the FLOPs of all keys is a mask


def dtype(name: str) -> str:
    """A template's name of a type of HLO's; blank for one that no template has."""
    return next((ours for begin, ours in FAMILIES.items() if name.startswith(begin)), "") or DTYPES.get(name, "")


def case_of(found: Matmul | Attention | Collective) -> Case | None:
    """The case that a recognised operation is; None where an input of it can't be told."""
    if isinstance(found, Matmul):
        return _matmul(found)
    return _attention(found) if isinstance(found, Attention) else _collective(found)


def _case(template: str, **known: float | str) -> Case:
    """A case of a template: what is known, and the defaults of its other inputs."""
    defaults = {row.name: row.default for row in library.load(template).of_kind("input")}
    return template, defaults | known


def _matmul(found: Matmul) -> Case | None:
    """Its weights are the operand of K and N, its activations the other one."""
    arrays = [shape for shape in found.operation.operands if found.k in shape.dims]
    weight = next((shape for shape in arrays if sorted(shape.dims) == sorted((found.k, found.n))), None)
    other = next((shape for shape in arrays if shape is not weight), weight)
    kinds = [dtype(each.dtype) for each in (weight or Shape(found.dtype, ()), other or Shape(found.dtype, ()))]
    kinds += [dtype(found.operation.result[0].dtype), dtype(found.dtype)]
    if not all(kinds):
        return None
    return _case(
        "matmul", tokens=float(found.m), d_in=float(found.k), d_out=float(found.n), n_matmuls=float(found.batch),
        weight_dtype=kinds[0], activation_dtype=kinds[1], output_dtype=kinds[2], compute_dtype=kinds[3],
    )  # fmt: skip


def _attention(found: Attention) -> Case | None:
    """Whether it is causal is told by its FLOPs, and doesn't matter for a single query."""
    sizes = found.batch, found.queries, found.keys, found.heads, found.kv_heads, found.head_dim
    batch, queries, keys, heads, kv_heads, width = (float(each or 0) for each in sizes)
    flops, whole = found.operation.flops, 4 * batch * queries * keys * heads * width
    if not whole or not kv_heads or not dtype(found.dtype) or (queries > 1 and not flops):
        return None
    is_causal = float(queries == 1 or (flops or 0.0) / whole < HALF)
    return _case(
        "attention", batch=batch, query_len=queries, kv_len=keys, n_heads=heads, n_kv_heads=kv_heads, head_dim=width,
        is_causal=is_causal, activation_dtype=dtype(found.dtype), kv_dtype=dtype(found.dtype),
        compute_dtype=dtype(found.dtype),
    )  # fmt: skip


def _collective(found: Collective) -> Case | None:
    """A collective of a known group whose time is its own. Its array is what the template calls so."""
    name, ways = COLLECTIVES.get(found.kind), found.group_size or 0
    told = f"{found.operation.name} {found.operation.opcode}"
    if name is None or not found.payload or ways < 2 or any(half in told for half in HALVES):
        return None
    whole = found.payload * ways if name == "all_to_all" else found.payload
    return _case("collective", collective=name, array_bytes=whole, axis_size=float(ways))

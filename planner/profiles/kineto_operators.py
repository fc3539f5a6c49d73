"""Describes kernels of a PyTorch trace by their operator: shapes, FLOPs of matmuls and attention, bytes of collectives.

The array layouts of attention operators, and the argument that makes them causal, come from the signatures in PyTorch's
native_functions.yaml, flash-attn (FlashAttention-2) and aiter. Backward passes aren't listed, because the template
`attention` doesn't cover them.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.profiles.hlo_text import size
from planner.profiles.profile import Operation, Part, Shape
from planner.profiles.step_parts import collective, part


@dataclass(frozen=True, slots=True)
class _Signature:
    """Whether arrays are [batch, heads, length, width] or [batch, length, heads, width], and argument positions."""

    heads_first: bool
    causal: int
    window: int | None = None  # position of the left window size; the argument is -1 for none


_SIGNATURES = {
    "scaled_dot_product_attention": _Signature(True, 5),
    "_scaled_dot_product_flash_attention": _Signature(True, 4),
    "_scaled_dot_product_efficient_attention": _Signature(True, 6),
    "_scaled_dot_product_cudnn_attention": _Signature(True, 6),
    "_scaled_dot_product_fused_attention_overrideable": _Signature(True, 5),
    "_cudnn_attention_forward": _Signature(True, 10),
    "_flash_attention_forward": _Signature(False, 8),
    "_efficient_attention_forward": _Signature(False, 9),
    "_flash_attn_forward": _Signature(False, 5, 6),
    "mha_fwd": _Signature(False, 5, 6),
    "fmha_v3_fwd": _Signature(False, 5, 6),
}
_LENGTH_FIRST = ("_flash_attention_backward", "_efficient_attention_backward", "_flash_attn_backward", "mha_bwd")
_CAUSAL = {"true": True, "1": True, "2": True, "false": False, "0": False}  # 1 and 2 are kinds of custom masks


def heads_first(operator: str) -> bool:
    """Whether an operator's arrays are [batch, heads, length, width]."""
    found = _SIGNATURES.get(_name(operator))
    return found.heads_first if found else not operator.endswith(_LENGTH_FIRST)


def attention(operator: str, operands: Sequence[Shape], arguments: Sequence[str]) -> tuple[Shape | None, float | None]:
    """The result shape and FLOPs of an attention operator, from query, key and value shapes and its arguments as text.

    Counts two matmuls of each query with each key that it attends to. None if causality is unknown, if query and key
    lengths differ under a causal mask (libraries align it differently), if the window is narrower, or for packed
    sequences, whose lengths are not in the trace.
    """
    found = _SIGNATURES.get(_name(operator))
    if found is None or len(operands) < 3 or any(len(each.dims) != 4 for each in operands[:3]):
        return None, None
    if any(len(each.dims) == 1 and each.dtype.startswith(("s", "u")) for each in operands[3:]):
        return None, None  # begins of the sequences in a packed batch
    causal = _CAUSAL.get(_argument(arguments, found.causal).lower())
    if causal is None or (found.window is not None and _argument(arguments, found.window) != "-1"):
        return None, None
    heads, length = (1, 2) if found.heads_first else (2, 1)
    query, key, value = (each.dims for each in operands[:3])
    queries, keys = query[length], key[length]
    if causal and queries != keys:
        return None, None
    seen = queries * (keys + 1) // 2 if causal else queries * keys
    result = Shape(operands[0].dtype, (*query[:3], value[3]))
    return result, 2.0 * query[0] * query[heads] * seen * (query[3] + value[3])


def _name(operator: str) -> str:
    return operator.rpartition("::")[2]


def _argument(arguments: Sequence[str], at: int) -> str:
    return arguments[at].strip() if at < len(arguments) else ""


_TYPES = {
    "c10::bfloat16": "bf16", "bfloat16": "bf16", "c10::half": "f16", "half": "f16", "float": "f32", "double": "f64",
    "long int": "s64", "long": "s64", "int": "s32", "short": "s16", "signed char": "s8", "char": "s8",
    "unsigned char": "u8", "byte": "u8", "bool": "pred", "c10::float8_e4m3fn": "f8e4m3fn", "float8_e4m3fn": "f8e4m3fn",
    "c10::float8_e5m2": "f8e5m2", "float8_e5m2": "f8e5m2", "c10::float8_e4m3fnuz": "f8e4m3fnuz",
    "c10::float8_e5m2fnuz": "f8e5m2fnuz", "c10::complex<float>": "c64", "c10::complex<double>": "c128",
}  # fmt: skip
_LEFT = {
    "mm": 0,
    "bmm": 0,
    "matmul": 0,
    "addmm": 1,
    "baddbmm": 1,
    "_scaled_mm": 0,
    "_scaled_mm_v2": 0,
    "_addmm_activation": 1,
    "_int_mm": 0,
}
_MTIA = "mtia_ccp_events"  # operator names on Meta's accelerators
_MTIA_PARTS: dict[str, Part] = {"event_wait": "wait", "event_record": "wait", "dma_request": "copy"}
_SCALED_TYPES = {"_scaled_mm": 6, "_scaled_mm_v2": 9}  # positions of the result type, a number of c10::ScalarType
_SCALAR_TYPES = {"5": "f16", "6": "f32", "15": "bf16"}


@dataclass(frozen=True, slots=True)
class Operator:
    """The operator that launched a kernel: name, and its inputs' dims, types and plain arguments as in the trace."""

    name: str = ""
    dims: str = ""
    types: str = ""
    arguments: str = ""


def has_plain_inputs(operator: str) -> bool:
    """Whether an operator's plain arguments carry information besides its shapes, and must be kept."""
    return _name(operator) in _SIGNATURES or _name(operator) in _SCALED_TYPES


def kernel_operation(kernel: str, kind: str, given: Mapping[str, str], by: Operator, *, counts: bool) -> Operation:
    """The operation, without times, of a kernel and its linked operator (whose texts are empty if there is none).

    `given` are the arguments of a collective's or copy's event. `counts` says that the operator's FLOPs are assigned to
    this kernel, which is true for one kernel per operator.
    """
    communicates = collective(kernel, "", given.get("Collective name", ""))
    moved = _bytes(given, communicates)
    operator = by.name
    operands = () if communicates and moved else _shapes(by.dims, by.types)  # a collective's inputs may be outputs
    result, flops = _counted(by, operands) if counts and not communicates else (None, None)
    return Operation(
        kernel, "", communicates or operator or kind, communicates, _part(kernel, kind, operator), 0, 0.0, 0.0, 0.0,
        flops, moved, (result,) if result else (), operands,
        operands[0].dtype if operands else _dtype(given.get("dtype", "")),
        _whole(given.get("Group size", "")) if communicates else None, operator, "shapes" if flops is not None else "",
    )  # fmt: skip


def _counted(by: Operator, operands: tuple[Shape, ...]) -> tuple[Shape | None, float | None]:
    """The result shape and FLOPs of a matmul or attention; None for other operators."""
    arguments = _listed(by.arguments)
    if _name(by.name) in _SIGNATURES:
        return attention(by.name, operands, [str(each) for each in arguments])
    result, flops = matmul(by.name, operands)
    at = _SCALED_TYPES.get(_name(by.name), len(arguments))
    if result and at < len(arguments):
        result = Shape(_SCALAR_TYPES.get(str(arguments[at]), result.dtype), result.dims)
    return result, flops


def matmul(operator: str, operands: tuple[Shape, ...]) -> tuple[Shape | None, float | None]:
    """The result shape and FLOPs of a matmul from its operands; None for other operators."""
    name = _name(operator)
    left: tuple[int, ...]
    right: tuple[int, ...]
    if name == "linear" and len(operands) >= 2 and len(operands[1].dims) == 2 and operands[0].dims:
        left, right = operands[0].dims, tuple(reversed(operands[1].dims))
    elif name in _LEFT and len(operands) >= _LEFT[name] + 2:
        left, right = operands[_LEFT[name]].dims, operands[_LEFT[name] + 1].dims
    else:
        return None, None
    if len(left) < 2 or len(right) < 2 or left[-1] != right[-2]:
        return None, None
    batch = left[:-2] if len(left) >= len(right) else right[:-2]
    dims = (*batch, left[-2], right[-1])
    return Shape("s32" if name == "_int_mm" else operands[0].dtype, dims), 2.0 * math.prod(dims) * left[-1]


def _part(kernel: str, kind: str, operator: str) -> Part:
    if kind == _MTIA:
        return _MTIA_PARTS.get(kernel, "compute")
    if "memcpy" in kind or "memcpy" in kernel.lower():
        return part(kernel)
    return "compute" if kind.endswith("memset") else part(kernel, operator if "c10d" in operator else "")


def _bytes(given: Mapping[str, str], communicates: str) -> float | None:
    """The bytes that a collective takes as input (for an all-gather, its output), or that a copy moves."""
    elements = _whole(given.get("Out msg nelems" if communicates == "all-gather" else "In msg nelems", ""))
    dtype = _dtype(given.get("dtype", ""))
    if communicates and elements is not None and dtype:
        return size(Shape(dtype, (elements,)))
    return float(moved) if (moved := _whole(given.get("bytes", ""))) is not None else None


def _shapes(dims: str, types: str) -> tuple[Shape, ...]:
    """The arrays among an operator's inputs: dims `[[8, 16], []]` with types `['float', 'Scalar']`."""
    found = []
    for each, name in zip(_listed(dims), _listed(types), strict=False):
        if (dtype := _dtype(str(name))) and isinstance(each, list) and all(isinstance(n, int) for n in each):
            found.append(Shape(dtype, tuple(each)))
    return tuple(found)


def _listed(text: str) -> list[Any]:
    """A list given as text; empty if the text isn't one."""
    try:
        found = ast.literal_eval(text or "[]")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    return found if isinstance(found, list) else []


def _dtype(name: str) -> str:
    return _TYPES.get(name.strip().lower(), "")


def _whole(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None

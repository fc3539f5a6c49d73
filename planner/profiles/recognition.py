"""Recognises matmuls, attention and collectives among operations, with the sizes that a case of a measurement needs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planner.profiles.hlo_text import size
from planner.profiles.kineto_operators import heads_first
from planner.profiles.profile import Operation, Shape
from planner.profiles.step_parts import INDUCTOR, collective

# A TPU fusion's FLOPs include the epilogue: 2 x out x K / FLOPs is a little below 1.
_LEAST, _MOST = 0.97, 1.0001
_ATTENTION = re.compile(
    r"flash(?!infer)|splash|(?:^|[_./:-])mha|attention|attn|fmha|\bRPA\b|RPA-bq|ragged_paged|paged_att|scaled_dot_product"
    r"|sdpa|(?:prefill|decode)with\w*kvcache|merge_?states|(?:^|[\d:])(?:mla_(?:a\d|dec|pfl)|pa_(?:(?:bf|fp)16_|dec))|mla_reduce",
    re.I,
)
_BESIDE_IT = re.compile(  # operations around attention, or named after it
    rf"reshape_and_cache|kv_indices|quantiz|rotary|rope|metadata|{INDUCTOR}", re.I
)
_BRACKETS = re.compile(r"\[[^\]]*\]")
_MATMUL = re.compile(r"convolution|fusion|\bdot\b|dot_general|custom-call|gemm|matmul|mm|linear", re.I)
_NAMED = re.compile(r"matmul|gemm|(?:^|[_./])mm(?:[_./]|$)", re.I)
_KERNEL = re.compile(  # names of matmul kernels of libraries and engines
    r"gemm|gemv|nvjet|cijk_|matmul|marlin|machete|fused_moe_kernel|splitk_?reduce|wvsplitk|(?:grouped|scaled)_mm"
    r"|(?:^|[_:])b?mm(?:_|$)",
    re.I,
)
_CONVOLUTION = re.compile(r"implicit|conv|[fdw](?:prop|grad)", re.I)
HALVES = ("-start", "-done")
_FLOATS = ("bf16", "f16", "f32", "f64", "f8", "f4", "s8", "u8", "s4", "u4")


@dataclass(frozen=True, slots=True)
class Matmul:
    """An operation that multiplies [m, k] by [k, n] `batch` times; `dtype` is the type that is multiplied."""

    operation: Operation
    m: int
    k: int
    n: int
    batch: int
    dtype: str


@dataclass(frozen=True, slots=True)
class Attention:
    """An operation that computes attention. Sizes are known if its operands are [batch, length, heads, width]."""

    operation: Operation
    batch: int | None = None
    queries: int | None = None
    keys: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    dtype: str = ""


@dataclass(frozen=True, slots=True)
class Collective:
    """An operation that communicates: kind, input bytes per device (output for an all-gather), and group size.

    `is_half` says that its time isn't the collective's, because the operation only starts one or waits for its end.
    """

    operation: Operation
    kind: str
    payload: float | None
    group_size: int | None
    is_half: bool = False


@dataclass(frozen=True, slots=True)
class Recognised:
    """The recognised operations, and their share of the total time.

    `kernels` are matmuls recognised by name alone, of unknown sizes, such as those of a graph that a server replays.
    """

    matmuls: tuple[Matmul, ...]
    attention: tuple[Attention, ...]
    collectives: tuple[Collective, ...]
    kernels: tuple[Operation, ...]
    share: float


def recognised(operations: Iterable[Operation]) -> Recognised:
    """What each of the operations is: a matmul, attention, a collective, a matmul's kernel or none of these."""
    matmuls: list[Matmul] = []
    attentions: list[Attention] = []
    collectives: list[Collective] = []
    kernels: list[Operation] = []
    listed = list(operations)
    for each in listed:
        if each.part == "communication":
            collectives.append(_collective(each))
        elif each.part != "compute":
            continue
        elif is_attention(each):
            attentions.append(_attention(each))
        elif found := matmul(each):
            matmuls.append(found)
        elif _is_matmul_kernel(each):
            kernels.append(each)
    total = sum(each.self_time for each in listed)
    found_all: list[Matmul | Attention | Collective] = [*matmuls, *attentions, *collectives]
    known = sum(each.self_time for each in (*(one.operation for one in found_all), *kernels))
    share = known / total if total else 0.0
    return Recognised(tuple(matmuls), tuple(attentions), tuple(collectives), tuple(kernels), share)


def is_attention(operation: Operation) -> bool:
    """Whether an operation's names indicate an attention kernel, rather than a matmul before or after it."""
    kernel = operation.opcode in ("custom-call", "") or operation.category == "custom-call"
    names = (operation.name, operation.expression if not operation.opcode else "", operation.source.rpartition("::")[2])
    paths = [_of_path(name) for name in names if " = " not in name]
    return kernel and any(map(_ATTENTION.search, paths)) and not any(map(_BESIDE_IT.search, paths))


def _is_matmul_kernel(operation: Operation) -> bool:
    """Whether a GPU kernel's name indicates a matmul; a TPU's operations have sizes."""
    name = operation.name if not operation.opcode else operation.expression
    names = f"{name} {operation.name} {operation.category} {_of_path(operation.source)}"
    is_other = " = " in name or re.match(INDUCTOR, name) or _CONVOLUTION.search(names)
    return bool(_KERNEL.search(name)) and not is_other


def _of_path(name: str) -> str:
    """The decisive part of a framework's name path: the last part, or all of it if that part calls a kernel."""
    path = _BRACKETS.sub("", name)
    last = path.rpartition("/")[2]
    return path if "_call" in last else last


def matmul(operation: Operation) -> Matmul | None:
    """The matmul that an operation is, by its shapes and FLOPs. None if it isn't clearly one.

    A kernel with unknown FLOPs, such as a quantized matmul in Pallas, is recognised by name and shapes.
    """
    if operation.flops is None and operation.opcode == "custom-call":
        return _of_kernel(operation)
    if not operation.flops or not operation.result or not _MATMUL.search(f"{operation.category} {operation.opcode}"):
        return None
    arrays = [each for each in operation.operands if each.dtype.startswith(_FLOATS) and len(each.dims) >= 2]
    for out in (each for each in operation.result if math.prod(each.dims)):
        for k in sorted({n for each in arrays for n in each.dims if n > 1}, reverse=True):  # the closest is the largest
            whole = _LEAST <= 2.0 * math.prod(out.dims) * k / operation.flops <= _MOST
            if whole and (found := _split(operation, out, arrays, k)):
                return found
    return None


def _of_kernel(operation: Operation) -> Matmul | None:
    """A kernel named matmul with operands [m, k] and [k, n] or [n, k], and scales perhaps, and result [m, n]."""
    if not _NAMED.search(f"{operation.name} {operation.source}"):
        return None
    arrays = [each for each in operation.operands if each.dtype.startswith(_FLOATS) and len(each.dims) == 2]
    for out in (each for each in operation.result if len(each.dims) == 2):
        m, n = out.dims
        pairs = [
            (left, right, left.dims[1])
            for left in arrays
            for right in arrays
            if left is not right and left.dims[0] == m and right.dims in ((left.dims[1], n), (n, left.dims[1]))
        ]
        if len({k for _, _, k in pairs}) == 1:
            left, right, k = pairs[0]
            return Matmul(operation, m, k, n, 1, _dtype(left, right))
    return None


def _split(operation: Operation, out: Shape, arrays: Sequence[Shape], k: int) -> Matmul | None:
    """M, N and batch size of a matmul from its contracted size.

    With batch size B, two operands with B x M x K and B x K x N elements give the result. If only one operand, K x N,
    is there, the other is computed within the fusion. N is the result's last dimension if one of the two sizes equals
    it.
    """
    elements = math.prod(out.dims)
    sized = [each for each in arrays if k in each.dims]
    for left, right in ((left, right) for left in sized for right in sized if left is not right):
        rows, columns = math.prod(left.dims) // k, math.prod(right.dims) // k
        batch, odd = divmod(rows * columns, elements)
        if odd or not batch or rows % batch or columns % batch:
            continue
        if batch == 1 or _has_batch(batch, left, right, out):
            return _oriented(operation, out, rows // batch, k, columns // batch, batch, _dtype(left, right))
    for weights in sized:
        columns = math.prod(weights.dims) // k
        if columns and len(weights.dims) == 2 and elements % columns == 0 and columns in out.dims:
            return _oriented(operation, out, elements // columns, k, columns, 1, weights.dtype)
    return None


def _oriented(operation: Operation, out: Shape, m: int, k: int, n: int, batch: int, dtype: str) -> Matmul:
    """The matmul with M and N exchanged if M is the result's last dimension."""
    if n != out.dims[-1] and m == out.dims[-1]:
        m, n = n, m
    return Matmul(operation, m, k, n, batch, dtype)


def _has_batch(batch: int, *shapes: Shape) -> bool:
    """Whether leading or trailing dimensions of all the shapes multiply to a batch size."""
    return all(any(math.prod(each.dims[:n]) == batch for n in range(1, len(each.dims))) for each in shapes)


def _dtype(left: Shape, right: Shape) -> str:
    """The type that is multiplied: the wider one, since the other is converted to it."""
    return max((left.dtype, right.dtype), key=lambda dtype: size(Shape(dtype, (1,))))


def _attention(operation: Operation) -> Attention:
    """Sizes from its first four-dimensional arrays (query, key, value): [B, H, T, D], or PyTorch's [B, T, H, D]."""
    arrays = [each for each in operation.operands if len(each.dims) == 4 and each.dtype.startswith(_FLOATS)][:3]
    if len(arrays) < 3 or len({each.dims[3] for each in arrays}) > 1 or len({each.dims[0] for each in arrays}) > 1:
        return Attention(operation, dtype=operation.dtype)
    query, key, _ = arrays
    heads, length = (1, 2) if heads_first(operation.source) else (2, 1)
    if query.dims[heads] % max(key.dims[heads], 1):
        return Attention(operation, dtype=operation.dtype)
    return Attention(
        operation,
        query.dims[0],
        query.dims[length],
        key.dims[length],
        query.dims[heads],
        key.dims[heads],
        query.dims[3],
        query.dtype,
    )


def _collective(operation: Operation) -> Collective:
    kind = collective(operation.name, operation.category, operation.opcode)
    arrays = operation.result if kind == "all-gather" else operation.operands or operation.result
    arrays = tuple(each for each in arrays if each.dims or len(arrays) == 1)
    if operation.opcode.endswith(HALVES):
        arrays = tuple(_of_half(operation, kind))
    is_ragged = operation.opcode.startswith("ragged")  # the amount sent depends on its sizes, which are data
    payload = None if is_ragged else sum(map(size, arrays)) if arrays else operation.bytes
    return Collective(operation, kind, payload or None, operation.group_size, _is_half(operation))


def _of_half(operation: Operation, kind: str) -> Sequence[Shape]:
    """The arrays of a collective from its start (inputs, then outputs), or from its done (the largest array)."""
    inputs, both = ([each for each in found if each.dims] for found in (operation.operands, operation.result))
    if operation.opcode.endswith("-start") and inputs:
        outputs = both[len(inputs) :] if both[: len(inputs)] == inputs else both
        return outputs if kind == "all-gather" and outputs else inputs
    return sorted(inputs if kind != "all-gather" and inputs else both, key=size)[-1:]


def _is_half(operation: Operation) -> bool:
    """Whether it only starts or ends a collective.

    On a GPU the start is the kernel itself, so it is the whole collective.
    """
    words = f"{operation.name} {operation.opcode}"
    kernel = operation.expression if " = " not in operation.expression else ""
    return any(half in words for half in HALVES) and not collective(kernel)

"""Parses an HLO instruction from its text, as found in profiles and in profiler tools.

`%fusion.1 = bf16[8,128]{1,0:T(8,128)} fusion(bf16[8,64]{1,0} %a, ...), kind=kLoop, calls=%fused`
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from planner.profiles.profile import Shape

_SHAPE = re.compile(r"\b(pred|bf16|[sufc]\d+(?:e\d+m\d+\w*)?)\[([\d,<=\s?]*)\]")
_OPCODE = re.compile(r"(?<![%\w.-])([a-z][a-z0-9-]*)\(")
_HEAD = re.compile(r"^\s*(?:ROOT\s+)?%?([\w.<>~:-]+)\s*=\s*")
_GROUPS = re.compile(r"replica_groups=(?:\[(\d+),(\d+)\]|\{(\{[\d,]*\}(?:,\s*\{[\d,]*\})*)\}|(\{\}))")
_PAIRS = re.compile(r"source_target_pairs=\{((?:\{\d+,\d+\},?)+)\}")
_BRACES = re.compile(r"\{[^{}]*\}")
BYTES = {"pred": 1.0, "s4": 0.5, "u4": 0.5, "f4e2m1fn": 0.5, "s2": 0.25, "u2": 0.25, "c64": 8.0, "c128": 16.0}


@dataclass(frozen=True, slots=True)
class Instruction:
    """One HLO instruction: the shapes of its results and operands, and what its attributes say.

    `contracting` are the contracted dimensions of a dot's first operand. `kernel` is the number of multiplications per
    element of a convolution's result. `flops` is set if a reader of the whole program has summed them. `joined` are the
    devices in all groups of a collective.
    """

    name: str
    opcode: str
    result: tuple[Shape, ...] = ()
    operands: tuple[Shape, ...] = ()
    contracting: tuple[int, ...] | None = None
    kernel: int | None = None
    group_size: int | None = None
    flops: float | None = None
    calls: tuple[int, ...] = ()
    joined: int | None = None


@lru_cache(maxsize=1 << 14)
def parse(text: str) -> Instruction | None:
    """The instruction in a text. None if there is none."""
    head = _HEAD.match(text)
    if head is None:
        return None
    rest = text[head.end() :]
    plain = _BRACES.sub(lambda match: " " * len(match[0]), rest)  # layouts contain T(8,128), which is not an opcode
    opcode = _OPCODE.search(plain)
    if opcode is None:
        return None
    close = _closing(rest, opcode.end() - 1)
    attributes = rest[close:]
    operands = shapes(rest[opcode.end() : close])
    group_size, joined = _groups(attributes)
    return Instruction(
        head[1],
        opcode[1],
        shapes(rest[: opcode.start()]),
        operands,
        _contracting(attributes),
        kernel=_kernel(attributes, operands),
        group_size=group_size,
        joined=joined,
    )


def shapes(text: str) -> tuple[Shape, ...]:
    """All shapes in a text, with tuples flattened."""
    return tuple(Shape(dtype, _dims(dims)) for dtype, dims in _SHAPE.findall(text))


def size(shape: Shape) -> float:
    """Bytes of an array without padding."""
    if shape.dtype in BYTES:
        return BYTES[shape.dtype] * math.prod(shape.dims)
    bits = re.match(r"b?[a-z](\d+)", shape.dtype)
    return (int(bits[1]) / 8 if bits else 0.0) * math.prod(shape.dims)


def dot_flops(instruction: Instruction) -> float | None:
    """2 x elements of the result x contracted elements, for a dot, matmul call or convolution.

    None for other instructions.
    """
    if instruction.flops is not None:
        return instruction.flops
    if not instruction.result or not instruction.operands:
        return None
    elements = math.prod(instruction.result[0].dims)
    if instruction.kernel is not None:
        return 2.0 * elements * instruction.kernel
    if instruction.contracting is None:
        return None
    dims = instruction.operands[0].dims
    if any(axis >= len(dims) for axis in instruction.contracting):
        return None
    return 2.0 * elements * math.prod(dims[axis] for axis in instruction.contracting)


def backend_contraction(config: str) -> tuple[int, ...] | None:
    """The contracted dimensions of the first operand, from the backend_config of a GPU's matmul call."""
    try:
        found = json.loads(config)
    except ValueError:
        return None
    numbers = _inner(found, "dot_dimension_numbers")
    if numbers is None:
        return None
    try:
        return tuple(int(n) for n in numbers.get("lhs_contracting_dimensions", []))
    except (TypeError, ValueError):
        return None


def _inner(value: object, key: str) -> dict[str, list[str]] | None:
    if not isinstance(value, dict):
        return None
    if isinstance(value.get(key), dict):
        return dict(value[key])
    return next((found for inner in value.values() if (found := _inner(inner, key)) is not None), None)


def _closing(text: str, at: int) -> int:
    """The index of the parenthesis that closes this one, or the end of the text."""
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if not depth:
            return place
    return len(text)


def _dims(text: str) -> tuple[int, ...]:
    """`16,7168` or `<=8,2` as numbers; an unknown dimension is 0."""
    return tuple(int(digits) if (digits := re.sub(r"\D", "", part)) else 0 for part in text.split(",") if part.strip())


def _contracting(text: str) -> tuple[int, ...] | None:
    found = re.search(r"lhs_contracting_dims=\{([\d,]*)\}", text)
    return tuple(int(n) for n in found[1].split(",") if n) if found else None


def _kernel(text: str, operands: tuple[Shape, ...]) -> int | None:
    """Multiplications per element of a convolution's result.

    `dim_labels=bf_io->bf` says which dimensions are features.
    """
    found = re.search(r"dim_labels=\w+_(\w+)->", text)
    if found is None or len(operands) < 2 or len(found[1]) != len(operands[1].dims):
        return None
    return math.prod(size for label, size in zip(found[1], operands[1].dims, strict=True) if label != "o")


def ring_size(pairs: Iterable[tuple[int, int]]) -> int | None:
    """The group size of a collective permute: the number of devices connected by its source-target pairs."""
    after = dict(pairs)
    chains = after.keys() - set(after.values())  # first devices of open chains; all others form rings
    sizes = set()
    for at in [*chains, *after]:
        size = int(at in chains and at in after)
        while at in after:
            at, size = after.pop(at), size + 1
        sizes |= {size} - {0}
    return sizes.pop() if len(sizes) == 1 else None


def _groups(text: str) -> tuple[int | None, int | None]:
    """The size of a collective's groups and the devices in all of them; None for pairs, which needn't have all.

    `[4,2]<=[8]` is four groups of two, `{{0,1},{2,3}}` two groups of two.
    """
    if pairs := _PAIRS.search(text):
        numbers = [int(each) for each in re.findall(r"\d+", pairs[1])]
        return ring_size(zip(numbers[::2], numbers[1::2], strict=True)), None
    found = _GROUPS.search(text)
    if found is None or found[4]:
        return None, None
    if found[2]:
        return int(found[2]), int(found[1]) * int(found[2])
    return found[3].partition("}")[0].count(",") + 1, len(re.findall(r"\d+", found[3]))

"""What a program's HloProto says of its instructions: opcode, shapes and FLOPs, by name, read from its bytes.

Fields as in xla/service/hlo.proto and xla/xla_data.proto. A fusion has the FLOPs of the dots and convolutions that it
computes; a loop's body has instructions of its own.
"""

from __future__ import annotations

import math
from dataclasses import replace

from planner.profiles import wire
from planner.profiles.hlo_text import Instruction, backend_contraction, dot_flops
from planner.profiles.profile import Shape
from planner.profiles.wire import Fields

_NAMES = (
    "pred s8 s16 s32 s64 u8 u16 u32 u64 f16 f32 f64 tuple opaque c64 bf16 token c128 f8e5m2 f8e4m3fn s4 u4 "
    "f8e4m3b11fnuz f8e5m2fnuz f8e4m3fnuz s2 u2 f8e4m3 f8e3m4 - - f4e2m1fn f8e8m0fnu"
)
_TYPES = dict(enumerate(_NAMES.split(), start=1))


def instructions(data: bytes) -> dict[str, Instruction]:
    """Every instruction of a program by its name. Raises one of wire.DAMAGED where the bytes are no HloProto."""
    module = wire.grouped(wire.grouped(memoryview(data))[1][-1])
    found: dict[str, Instruction] = {}
    of_computation: dict[int, list[Instruction]] = {}
    for blob in module.get(3, []):
        computation = wire.grouped(blob)
        rows = [wire.grouped(each) for each in computation.get(2, [])]
        by_id = {wire.number(row, 35): _shape(row) for row in rows}
        made = [_instruction(row, by_id) for row in rows]
        of_computation[wire.number(computation, 5)] = made
        found.update((each.name, each) for each in made)
    return {name: _counted(each, of_computation) for name, each in found.items()}


def _instruction(row: Fields, shapes: dict[int, tuple[Shape, ...]]) -> Instruction:
    opcode, target = wire.text(row, 2), wire.text(row, 28)
    operands = tuple(shape for key in wire.numbers(row, 36) for shape in shapes.get(key, ()))
    contracting, batch = _contraction(row, opcode)
    kernel = _kernel(row, operands) if opcode == "convolution" or target.startswith("__cudnn$convForward") else None
    calls = tuple(wire.numbers(row, 38)) if opcode in ("fusion", "call", "async-start") else ()
    group = _group_size(row)
    name, result = wire.text(row, 1), _shape(row)
    return Instruction(name, opcode, result, operands, contracting, batch, kernel, group, target, None, calls)


def _counted(instruction: Instruction, computations: dict[int, list[Instruction]], depth: int = 0) -> Instruction:
    """The instruction with its FLOPs: its own, or those of what it calls."""
    if instruction.calls and depth < 8:
        inner = [each for key in instruction.calls for each in computations.get(key, [])]
        flops = [dot_flops(_counted(each, computations, depth + 1)) for each in inner]
        known = [each for each in flops if each is not None]
        return replace(instruction, flops=math.fsum(known)) if known else instruction
    return replace(instruction, flops=dot_flops(instruction))


def _shape(row: Fields) -> tuple[Shape, ...]:
    """The shapes of a ShapeProto in field 3, a tuple's one by one."""
    return tuple(shape for blob in row.get(3, []) for shape in _shapes(wire.grouped(blob), 0))


def _shapes(shape: Fields, depth: int) -> list[Shape]:
    parts = shape.get(4, [])
    if parts and depth < 8:
        return [each for blob in parts for each in _shapes(wire.grouped(blob), depth + 1)]
    dtype = _TYPES.get(wire.number(shape, 2), "")
    return [] if dtype in ("", "tuple", "token", "opaque") else [Shape(dtype, tuple(wire.numbers(shape, 3)))]


def _contraction(row: Fields, opcode: str) -> tuple[tuple[int, ...] | None, tuple[int, ...]]:
    """Contracting and batch dimensions of the first operand of a dot, or of a library's matmul."""
    if 30 in row and opcode != "fusion":
        numbers = wire.grouped(row[30][-1])
        return tuple(wire.numbers(numbers, 1)), tuple(wire.numbers(numbers, 3))
    if opcode == "custom-call" and (found := backend_contraction(wire.text(row, 43))):
        return found
    return None, ()


def _kernel(row: Fields, operands: tuple[Shape, ...]) -> int | None:
    """Multiplications for one element of a convolution's result: its kernel without the output features."""
    if 16 not in row or len(operands) < 2:
        return None
    features = wire.number(wire.grouped(row[16][-1]), 4)
    return math.prod(size for axis, size in enumerate(operands[1].dims) if axis != features)


def _group_size(row: Fields) -> int | None:
    """Devices of a group of a collective: listed, as an iota of groups x devices, or as axes of a mesh."""
    lists = [row] + [wire.grouped(blob) for blob in row.get(87, [])]
    for found, listed, iota, mesh in ((lists[0], 49, 92, 93), *((each, 1, 2, 3) for each in lists[1:])):
        for blob in found.get(listed, []):
            return len(wire.numbers(wire.grouped(blob), 1)) or None
        for blob in found.get(iota, []):
            return wire.number(wire.grouped(blob), 2) or None
        for blob in found.get(mesh, []):
            return _mesh_size(wire.grouped(blob))
    return None


def _mesh_size(group: Fields) -> int | None:
    """The product of the mesh's axes that a group lies along; of an axis that is split, its part."""
    if 1 not in group:
        return None
    axes = [wire.number(wire.grouped(blob), 2) for blob in wire.grouped(group[1][-1]).get(1, [])]
    sizes = []
    for reference in (wire.grouped(blob) for blob in group.get(2, [])):
        part = [wire.number(wire.grouped(blob), 2) for blob in reference.get(2, [])]
        sizes += part or [axes[wire.number(reference, 1)]]
    return math.prod(sizes) or None

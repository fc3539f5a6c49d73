"""Builds an operation of an XLA program from a profile: from its HLO text or its instruction in the program.

A program's bytes (HloProto) have the fields of xla/service/hlo.proto and xla/xla_data.proto. A fusion's FLOPs are those
of the dots and convolutions that it computes; a loop's body has its own instructions.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable
from dataclasses import replace
from math import isfinite, nan

from planner.profiles import hlo_text, wire
from planner.profiles.hlo_text import Instruction, backend_contraction, dot_flops, ring_size
from planner.profiles.planes import Plane, Stats
from planner.profiles.profile import Operation, Part, Shape
from planner.profiles.step_parts import collective, part
from planner.profiles.wire import Fields, Value

Programs = dict[str, dict[str, Instruction]]  # program's name and id, such as `jit_f(12)` -> its instructions by name
METADATA = "/host:metadata"
_MAIN_MEMORY = 1
_ASYNC = ("async-start", "async-done")  # their kind is that of the computation that they call


def programs(planes: Iterable[Plane]) -> Programs:
    """The programs whose HLO is in the profile; unreadable ones are left out."""
    found: Programs = {}
    bare: dict[str, list[str]] = {}  # names without an id, as in older profiles
    for plane in planes:
        if plane.name == METADATA:
            for name, stats in plane.kinds().values():
                proto = next(
                    (value for key, value in stats.items() if key.lower().replace("_", " ") == "hlo proto"), None
                )
                if isinstance(proto, bytes):
                    try:
                        found[name] = instructions(proto)
                    except (*wire.DAMAGED, KeyError, RecursionError):
                        continue
                    bare.setdefault(name.partition("(")[0], []).append(name)
            plane.forget()
    return {name: found[names[0]] for name, names in bare.items() if len(names) == 1} | found


def operation(name: str, program: str, stats: Stats, instruction: Instruction | None = None) -> Operation:
    """What all runs of an operation have in common; times are zero.

    `name` is its whole HLO text, or its name in the profile if there is a stat `long_name`. FLOPs are the file's if it
    has them, otherwise computed from the instruction. Zeros of a custom call mean unknown.
    """
    expression = next((text for text in (name, _text(stats, "long_name")) if " = " in text), "")
    read = hlo_text.parse(expression) or instruction
    if read and instruction and read.opcode.startswith("async-"):  # the operation it starts or ends is in its program
        read = instruction
    category = _text(stats, "hlo_category") or _text(stats, "category")
    opcode = read.opcode if read else ""
    short = read.name if read and expression else _text(stats, "display_name") or name.removeprefix("%")
    flops, flops_from = _flops(stats, category, opcode), "file"
    if flops is None:
        known = instruction or read
        counted = dot_flops(known) if known else None
        flops, flops_from = (counted, "hlo") if counted is not None else (None, "")
    result = read.result if read else ()
    is_collective = collective(short, category, opcode) != ""
    return Operation(
        short, program, category or opcode, opcode, part(short, category, opcode, expression), 0, 0.0, 0.0, 0.0,
        flops, _bytes(stats, opcode), result, read.operands if read else (), result[0].dtype if result else "",
        read.group_size if read and is_collective else None,
        sys.intern(_text(stats, "tf_op").rstrip(":")), flops_from, sys.intern(expression),
        joined=read.joined if read and is_collective else None,
    )  # fmt: skip


def _kernel_part(shown: str, by_operation: Part) -> Part:
    """The part of a kernel's time. A kernel that runs is never waiting."""
    if by_operation == "communication":
        return by_operation
    found = part(shown)
    return "compute" if found == "wait" else found


def _flops(stats: Stats, category: str, opcode: str) -> float | None:
    """FLOPs of one run according to the file: those of the model, else those of the device."""
    found = [value for key in ("model_flops", "flops") if (value := _number(stats.get(key))) is not None]
    if not found or ("custom-call" in (category, opcode) and not any(found)):
        return None
    return next((value for value in found if value), 0.0)


def _bytes(stats: Stats, opcode: str) -> float | None:
    """Main-memory traffic of one run in bytes, if the file separates it from on-chip traffic."""
    if isinstance(breakdown := stats.get("memory_access_breakdown"), bytes) and breakdown:
        entries = [wire.grouped(blob) for blob in wire.grouped(memoryview(breakdown)).get(1, [])]
        return float(sum(wire.number(entry, 3) for entry in entries if wire.number(entry, 2) == _MAIN_MEMORY))
    numbers = (_number(stats.get(key)) for key in ("bytes_accessed", "raw_bytes_accessed"))
    found = [value for value in numbers if value is not None]
    return None if not found or (opcode == "custom-call" and not any(found)) else found[0]


def _number(value: Value | None) -> float | None:
    try:
        found = nan if value is None or isinstance(value, bytes) else float(value)
    except (ValueError, OverflowError):
        return None
    return found if isfinite(found) else None


def _text(stats: Stats, key: str) -> str:
    value = stats.get(key, "")
    return value if isinstance(value, str) else ""


def kernel(name: str, program: str, stats: Stats, instruction: Instruction | None) -> Operation:
    """What all runs of a GPU kernel have in common; shapes and FLOPs come from its HLO operation.

    A library kernel that shares its operation with others is named after the operation, with the kernel's name as text.
    """
    made = operation(_text(stats, "hlo_op") or name, program, stats, instruction)
    shown = f"{_text(stats, 'memcpy_details')} {name}" if "memcpy" in name.lower() else name
    moved = re.search(r"\bsize:(\d+)", _text(stats, "memcpy_details"))
    return replace(
        made,
        category=made.category or ("copy" if moved else "kernel"),
        part=_kernel_part(shown, made.part),
        bytes=float(moved[1]) if moved and int(moved[1]) else made.bytes,
        source=_text(stats, "name") or made.source,
        expression=name,
    )


_NAMES = (
    "pred s8 s16 s32 s64 u8 u16 u32 u64 f16 f32 f64 tuple opaque c64 bf16 token c128 f8e5m2 f8e4m3fn s4 u4 "
    "f8e4m3b11fnuz f8e5m2fnuz f8e4m3fnuz s2 u2 f8e4m3 f8e3m4 - - f4e2m1fn f8e8m0fnu"
)
_TYPES = dict(enumerate(_NAMES.split(), start=1))


def instructions(data: bytes) -> dict[str, Instruction]:
    """Every instruction of a program by name. Raises one of wire.DAMAGED if the bytes are no HloProto."""
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
    kernel = _kernel(row, operands) if opcode == "convolution" or target.startswith("__cudnn$convForward") else None
    calls = tuple(wire.numbers(row, 38)) if opcode in ("fusion", "call", *_ASYNC) else ()
    group, joined = _groups(row)
    name, result = wire.text(row, 1), _shape(row)
    return Instruction(name, opcode, result, operands, _contraction(row, opcode), kernel, group, None, calls, joined)


def _counted(instruction: Instruction, computations: dict[int, list[Instruction]], depth: int = 0) -> Instruction:
    """The instruction with its FLOPs: its own, or those of the computations that it calls."""
    if instruction.calls and depth < 8:
        inner = [each for key in instruction.calls for each in computations.get(key, [])]
        inside = (
            next((each for each in inner if collective(each.opcode)), None) if instruction.opcode in _ASYNC else None
        )
        if inside is not None:
            half = instruction.opcode.removeprefix("async")
            named = f"{inside.opcode}{half}"
            return replace(instruction, opcode=named, group_size=inside.group_size, joined=inside.joined)
        flops = [dot_flops(_counted(each, computations, depth + 1)) for each in inner]
        known = [each for each in flops if each is not None]
        return replace(instruction, flops=math.fsum(known)) if known else instruction
    return replace(instruction, flops=dot_flops(instruction))


def _shape(row: Fields) -> tuple[Shape, ...]:
    """The shapes of a ShapeProto in field 3, with tuples flattened."""
    return tuple(shape for blob in row.get(3, []) for shape in _shapes(wire.grouped(blob), 0))


def _shapes(shape: Fields, depth: int) -> list[Shape]:
    parts = shape.get(4, [])
    if parts and depth < 8:
        return [each for blob in parts for each in _shapes(wire.grouped(blob), depth + 1)]
    dtype = _TYPES.get(wire.number(shape, 2), "")
    return [] if dtype in ("", "tuple", "token", "opaque") else [Shape(dtype, tuple(wire.numbers(shape, 3)))]


def _contraction(row: Fields, opcode: str) -> tuple[int, ...] | None:
    """The contracted dimensions of the first operand of a dot or a library's matmul."""
    if 30 in row and opcode != "fusion":
        return tuple(wire.numbers(wire.grouped(row[30][-1]), 1))
    return backend_contraction(wire.text(row, 43)) if opcode == "custom-call" else None


def _kernel(row: Fields, operands: tuple[Shape, ...]) -> int | None:
    """Multiplications per element of a convolution's result: its kernel's elements without the output features."""
    if 16 not in row or len(operands) < 2:
        return None
    features = wire.number(wire.grouped(row[16][-1]), 4)
    return math.prod(size for axis, size in enumerate(operands[1].dims) if axis != features)


def _groups(row: Fields) -> tuple[int | None, int | None]:
    """The size of a collective's groups, given as lists, an iota of groups x devices, mesh axes or pairs; and the
    devices in all of them, None for pairs, which needn't have all.
    """
    if pairs := [wire.grouped(blob) for blob in row.get(52, [])]:
        return ring_size((wire.number(each, 1), wire.number(each, 2)) for each in pairs), None
    for found, listed, iota, mesh in _group_fields(row):
        if sizes := [len(wire.numbers(wire.grouped(blob), 1)) for blob in found.get(listed, [])]:
            return sizes[0] or None, sum(sizes) or None
        for group in (wire.grouped(blob) for blob in found.get(iota, [])):
            size = wire.number(group, 2)
            return size or None, wire.number(group, 1) * size or None
        for group in (wire.grouped(blob) for blob in found.get(mesh, [])):
            return _mesh_size(group), math.prod(_axes(group)) or None
    return None, None


def _group_fields(row: Fields) -> list[tuple[Fields, int, int, int]]:
    """Where a collective's groups may be, with the numbers of the fields of lists, an iota and mesh axes."""
    inner = (wire.grouped(blob) for blob in row.get(87, []))
    return [(row, 49, 92, 93), *((each, 1, 2, 3) for each in inner)]


def _axes(group: Fields) -> list[int]:
    """The sizes of a mesh's axes; [0] where they aren't known."""
    if 1 not in group:
        return [0]
    return [wire.number(wire.grouped(blob), 2) for blob in wire.grouped(group[1][-1]).get(1, [])]


def _mesh_size(group: Fields) -> int | None:
    """The product of the mesh axes that a group spans; for a split axis, the size of its part."""
    if 1 not in group:
        return None
    axes = _axes(group)
    sizes = []
    for reference in (wire.grouped(blob) for blob in group.get(2, [])):
        part = [wire.number(wire.grouped(blob), 2) for blob in reference.get(2, [])]
        sizes += part or [axes[wire.number(reference, 1)]]
    return math.prod(sizes) or None

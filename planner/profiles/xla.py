"""An operation of an XLA program from what a profile tells of it: its HLO text, or its instruction in the program."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import replace
from math import isfinite, nan

from planner.profiles import hlo_proto, hlo_text, wire
from planner.profiles.hlo_text import Instruction, dot_flops
from planner.profiles.parts import collective, part
from planner.profiles.profile import Operation, Part
from planner.profiles.wire import Value
from planner.profiles.xspace import Plane

Stats = dict[str, Value]
Programs = dict[str, dict[str, Instruction]]  # by a program's name and id, as `jit_f(12)`: its instructions
METADATA = "/host:metadata"
_MAIN_MEMORY = 1


def programs(planes: Iterable[Plane]) -> Programs:
    """The programs whose HLO a profile holds; one that can't be read is left out."""
    found: Programs = {}
    bare: dict[str, list[str]] = {}  # names without an id, which older profiles have alone
    for plane in planes:
        if plane.name == METADATA:
            for name, stats in plane.kinds.values():
                proto = next(
                    (value for key, value in stats.items() if key.lower().replace("_", " ") == "hlo proto"), None
                )
                if isinstance(proto, bytes):
                    try:
                        found[name] = hlo_proto.instructions(proto)
                    except (*wire.DAMAGED, KeyError, RecursionError):
                        continue
                    bare.setdefault(name.partition("(")[0], []).append(name)
            plane.metadata.forget()
    return {name: found[names[0]] for name, names in bare.items() if len(names) == 1} | found


def operation(name: str, program: str, stats: Stats, instruction: Instruction | None = None) -> Operation:
    """What all runs of an operation share; times are zero.

    `name` may be its whole HLO text, or the profile's name of it beside a stat `long_name`. FLOPs are those of the
    file; else they are counted from the instruction. A custom call's zeros say nothing.
    """
    expression = next((text for text in (name, _text(stats, "long_name")) if " = " in text), "")
    read = hlo_text.parse(expression) or instruction
    category = _text(stats, "hlo_category") or _text(stats, "category")
    opcode = read.opcode if read else ""
    short = read.name if read and expression else _text(stats, "display_name") or name.removeprefix("%")
    flops, flops_from = _flops(stats, category, opcode), "file"
    if flops is None:
        known = instruction or read
        counted = dot_flops(known) if known else None
        flops, flops_from = (counted, "hlo") if counted is not None else (None, "")
    result = read.result if read else ()
    return Operation(
        short, program, category or opcode, opcode, part(short, category, opcode, expression), 0, 0.0, 0.0, 0.0,
        flops, _bytes(stats, opcode), result, read.operands if read else (), result[0].dtype if result else "",
        read.group_size if read and collective(short, category, opcode) else None,
        sys.intern(_text(stats, "tf_op").rstrip(":")), flops_from, sys.intern(expression),
    )  # fmt: skip


def _kernel_part(shown: str, program: str, by_operation: Part) -> Part:
    """What a kernel's time is: it runs, so it waits for nothing. A buffer that a program copies stays on the device."""
    if by_operation == "communication" or (program and "copybuffer" in shown.lower()):
        return "communication" if by_operation == "communication" else "compute"
    found = part(shown)
    return "compute" if found == "wait" else found


def _flops(stats: Stats, category: str, opcode: str) -> float | None:
    """FLOPs of one run by the file: what the model asks for, else what the device does."""
    found = [value for key in ("model_flops", "flops") if (value := _number(stats.get(key))) is not None]
    if not found or ("custom-call" in (category, opcode) and not any(found)):
        return None
    return next((value for value in found if value), 0.0)


def _bytes(stats: Stats, opcode: str) -> float | None:
    """Bytes of one run to and from the device's main memory, where the file tells them from those on the chip."""
    if isinstance(breakdown := stats.get("memory_access_breakdown"), bytes) and breakdown:
        entries = [wire.grouped(blob) for blob in wire.grouped(memoryview(breakdown)).get(1, [])]
        return float(sum(wire.number(entry, 3) for entry in entries if wire.number(entry, 2) == _MAIN_MEMORY))
    told = (_number(stats.get(key)) for key in ("bytes_accessed", "raw_bytes_accessed"))
    found = [value for value in told if value is not None]
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
    """What all runs of a GPU's kernel share: the HLO operation that it is of tells its shapes and FLOPs.

    A kernel of a library beside another of the same operation has that operation's name and the kernel's as text.
    """
    made = operation(_text(stats, "hlo_op") or name, program, stats, instruction)
    shown = f"{_text(stats, 'memcpy_details')} {name}" if "memcpy" in name.lower() else name
    moved = re.search(r"\bsize:(\d+)", _text(stats, "memcpy_details"))
    return replace(
        made,
        category=made.category or ("copy" if moved else "kernel"),
        part=_kernel_part(shown, program, made.part),
        bytes=float(moved[1]) if moved and int(moved[1]) else made.bytes,
        source=_text(stats, "name") or made.source,
        expression=name,
    )

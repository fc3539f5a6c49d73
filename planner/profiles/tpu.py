"""A TPU plane: programs on the line `XLA Modules`, operations on `XLA Ops`, asynchronous ones on `Async XLA Ops`.

Older TensorFlow and newer SparseCores use other line names. A Pallas kernel has neither FLOPs nor bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from planner.errors import UserError
from planner.profiles import wire, xla
from planner.profiles.device_events import (
    UNSIGNED,
    Events,
    Recording,
    Runs,
    distinct,
    joined,
    of_main_program,
    steps_of,
)
from planner.profiles.planes import AnyLine, Integers, Plane, Stats
from planner.profiles.profile import CHIP_PLACE, Operation, shown
from planner.profiles.step_parts import union

PLANE = re.compile(r"^/device:(?:TPU|CUSTOM|TPU_SYSTEM)[:\d]*", re.I)
SPARSE = re.compile(r"sparse ?core", re.I)
_OPERATIONS = ("XLA Ops", "Sparse Core Ops", "TensorFlow Ops", "Framework Ops")
_MODULES = ("XLA Modules", "Sparse Core Modules")
_STEPS = ("Steps", "Sparse Core Steps")
_FLYING = "Async XLA Ops"
_ID = re.compile(r"\((\d+)\)$")
_SHARED = 0.1  # least share of overlapping program time in files merged from several hosts


def recording(plane: Plane, host: str, programs: xla.Programs, asked: str) -> Recording | None:
    """The recording of a TPU's plane. None if nothing ran. Without operations, the programs stand in for them."""
    named = [line for name in (*_OPERATIONS, *_MODULES) for line in plane.lines if line.name == name]
    line = next((line for line in named if next(line.blocks(), None) is not None), None)
    if line is None:
        return None
    runs = _runs(plane.line(*_MODULES))
    table = _Table(runs, programs)
    made = Recording(plane.name, host, table.kinds, lambda: table.events(line), runs=runs, asked=asked)
    if flying := plane.line(_FLYING):
        made.flying = joined(list(table.events(flying)))
    made.steps = [] if asked else of_main_program(steps_of(plane.line(*_STEPS)), runs)
    stats = plane.stats
    device = stats.get("device_type_string")
    made.kind = device if isinstance(device, str) and device else None
    made.peak_flops = _scaled(stats.get("peak_teraflops_per_second"), 1e12)
    made.peak_bandwidth = _scaled(stats.get("peak_hbm_bw_gigabytes_per_second"), 1e9)
    made.facts = {key: str(value) for key, value in stats.items() if isinstance(value, int | float) and value}
    if isinstance(core := stats.get("core_details"), bytes):
        made.facts["core_details"] = core.hex()
        if place := _chip_place(core):
            made.facts[CHIP_PLACE] = place
    return made


class _Table:
    """The operations of a plane by index, collected while its events are read."""

    def __init__(self, runs: Runs, programs: xla.Programs) -> None:
        self._runs = runs
        self._shown = [shown(*each) for each in runs.programs]
        self._names = {key: name for (_, key), name in zip(runs.programs, self._shown, strict=True) if key}
        self._programs = programs
        self.kinds: list[Operation] = []
        self._numbers: dict[tuple[int, int, str], int] = {}

    def events(self, line: AnyLine) -> Iterator[Events]:
        """The events of a line, block by block.

        An event without a program id belongs to the program that runs at the time.
        """
        for block in line.blocks():
            ids, which = distinct(block.kinds)
            numbers = np.empty(len(ids), np.int64)
            for at, key in enumerate(ids.tolist()):
                name, stats = line.kinds.get(key % UNSIGNED, (f"event {key}", {}))
                program = stats.get("program_id")
                numbers[at] = (
                    -1 if program is None and len(self._runs) else self._number(line, key, name, stats, "", program)
                )
            kinds = numbers[which]
            unknown = kinds < 0
            if unknown.any():
                kinds[unknown] = self._by_run(line, block.kinds[unknown], block.begin[unknown])
            yield Events(kinds, block.begin, block.end)

    def _by_run(self, line: AnyLine, keys: Integers, begin: Integers) -> Integers:
        """The indices of operations without a program id, by the run in which each begins."""
        run = np.maximum(np.searchsorted(self._runs.begin, begin, "right") - 1, 0)
        listed, of_run = self._shown, self._runs.which[run]
        ids, which_id = distinct(keys)
        pairs, which = distinct(which_id * len(listed) + of_run)
        numbers = []
        for pair in pairs.tolist():
            key = int(ids[pair // len(listed)])
            name, stats = line.kinds.get(key % UNSIGNED, (f"event {key}", {}))
            numbers.append(self._number(line, key, name, stats, listed[pair % len(listed)], None))
        return np.array(numbers, np.int64)[which]

    def _number(self, line: AnyLine, key: int, name: str, stats: Stats, program: str, program_id: object) -> int:
        wanted = (id(line.kinds), key, program)
        if wanted not in self._numbers:
            of = program or self._names.get(str(program_id), "" if program_id is None else str(program_id))
            short = name.partition(" = ")[0].removeprefix("%")
            made = xla.operation(name, of, stats, self._programs.get(of, {}).get(short))
            self._numbers[wanted] = len(self.kinds)
            self.kinds.append(made)
        return self._numbers[wanted]


def _runs(line: AnyLine | None) -> Runs:
    """The runs of programs, named `jit_f(id)`. Raises UserError if they overlap, which is impossible on one core."""
    if line is None or not len(events := joined([Events(*block) for block in line.blocks()])):
        return Runs()
    order = np.argsort(events.begin, kind="stable")
    lasted = int((events.end - events.begin).sum())
    if line.name == _MODULES[0] and lasted - union(events.begin[order], events.end[order]) > _SHARED * lasted:
        what = "programs run at the same time on one device: this is merged of several hosts, which can't be told apart"
        raise UserError(what, remedy="give the file of each host as it was written")
    ids, which = distinct(events.kinds)
    names = [line.kinds.get(key % UNSIGNED, ("", {}))[0] for key in ids.tolist()]
    keys = [number[1] if (number := _ID.search(name)) else "" for name in names]
    programs = tuple((_ID.sub("", name), key) for name, key in zip(names, keys, strict=True))
    return Runs(programs, which, events.begin, events.end).ordered()


def _chip_place(details: bytes) -> str:
    """The core's chip within its host and globally (fields 4 and 5 of CoreDetails, omitted if 0)."""
    try:
        found = wire.grouped(memoryview(details))
        return f"{wire.number(found, 4)} of its host, {wire.number(found, 5)} of all"
    except wire.DAMAGED:
        return ""


def _scaled(value: object, factor: float) -> float | None:
    return value * factor if isinstance(value, int | float) and value > 0 else None

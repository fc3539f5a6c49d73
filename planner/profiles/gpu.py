"""A GPU plane of XLA's profiler: kernels on `Stream` lines, which name their HLO operation and module if known.

A kernel of a library's graph names neither. Steps are the marks on the host in which kernels were launched (matched by
`correlation_id`), else the line `Steps`, else the runs of a module. Runs are separated by the number of times that the
host executed the module, or by the repetition of its operations.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from planner.profiles import xla
from planner.profiles.device_events import (
    Events,
    Marked,
    Recording,
    Runs,
    grouped,
    looked_up,
    main_marks,
    of_main_program,
    steps_of,
    within,
)
from planner.profiles.planes import Columns, Event, Integers, Plane, Stats, host_events
from planner.profiles.profile import Operation, shown
from planner.profiles.step_parts import merged

PLANE = re.compile(r"^/(?:device:)?gpu:", re.I)
_STREAM = re.compile(r"^stream\b|^\s*#?\d+\s*\((?:compute|kernel|memcpy)", re.I)
_WITHIN = re.compile(r"d2d|dtod|devicetodevice", re.I)  # a copy within the device, which doesn't involve the host
_STEPS = "Steps"
_COVERED = 0.5  # least share of kernel time launched within marks for them to be steps
_DERIVED = {"XLA Modules", "XLA Ops", "Steps", "Framework Ops", "Framework Name Scope", "TensorFlow Ops", "Source code",
            "TensorFlow Name Scope", "Host Offload Ops", "Source", "XLA TraceMe"}  # fmt: skip


def recording(plane: Plane, host: str, programs: xla.Programs, launches: Launches) -> Recording | None:
    """The recording of a GPU's plane. None if nothing ran on it."""
    streams = [line for line in plane.lines if _STREAM.search(line.name)]
    lines = (
        streams
        or [line for line in plane.lines if line.name not in _DERIVED]
        or [line for line in plane.lines if line.name == "XLA Ops"]
    )
    table = _Table(programs)
    for line in lines:
        for event in line.events:
            table.add(event)
    if not len(table.kernels):
        return None
    *columns, correlation = table.kernels.arrays()
    kernels = Events(*columns)
    copies = np.array([kind.part == "copy" and not _WITHIN.search(kind.expression) for kind in table.kinds], bool)
    runs, run_of = _runs(table, kernels, copies, launches)
    duration = kernels.end - kernels.begin
    table.count_once(np.bincount(kernels.kinds, duration).astype(np.float64))
    steps, step_of = launches.steps(correlation, duration)
    if not steps and not launches.asked:
        steps = of_main_program(steps_of(plane.line(_STEPS)), runs)  # derived by the profiler itself
        step_of = within(kernels.begin, steps)
    if not steps:
        steps, step_of_run = runs.steps(launches.asked)
        step_of = step_of_run[run_of]
    operations = partial(iter, [replace(kernels, steps=step_of)])
    made = Recording(
        plane.name,
        host,
        table.kinds,
        operations,
        runs=runs.ordered(),
        steps=steps,
        nested=False,
        asked=launches.asked,
        step_kinds=launches.step_kinds,
    )
    device = plane.stats.get("device_type_string") or plane.stats.get("gpu_device_name")
    made.kind = device if isinstance(device, str) and device else None
    made.facts = {key: str(value) for key, value in plane.stats.items() if not isinstance(value, bytes)}
    return made


class Launches:
    """What host threads record about their GPUs: steps, launches, and the number of executions of each module."""

    def __init__(self, planes: Iterable[Plane], devices: int, asked: str) -> None:
        self.asked = asked
        marks: list[tuple[str, Marked]] = []
        self._launched = Columns(2)  # correlation, begin
        self._executed: Counter[str] = Counter()
        self._devices = max(devices, 1)
        for event in host_events(planes):
            self._take(event, marks)
        self._marks, self.step_kinds = main_marks(marks, asked)
        at = sorted((mark.begin, mark.end) for _, mark in marks)
        self._marked = merged(*np.array(at, np.int64).reshape(-1, 2).T)  # begins and ends of the time covered by marks

    def _take(self, event: Event, marks: list[tuple[str, Marked]]) -> None:
        if event.name.endswith("ExecuteThunks"):
            self._executed[str(event.stats.get("module_name", ""))] += 1
        elif "step_num" in event.stats and event.duration_ps:
            number = event.stats["step_num"]
            if isinstance(number, int):
                marks.append((event.name, Marked(number, event.start_ps, event.end_ps, "marker")))
        elif isinstance(correlation := event.stats.get("correlation_id"), int):
            self._launched.add(correlation, event.start_ps)

    def executed(self, module: str) -> int:
        """The number of executions of a module on each device; 0 if unknown."""
        return round(self._executed[module] / self._devices)

    def steps(self, correlation: Integers, duration: Integers) -> tuple[list[Marked], Integers]:
        """The marked steps, and the step of each kernel by its launch.

        No steps if launches inside marks account for little time. A mark may end before the code that it calls has
        launched its kernels, because JAX dispatches asynchronously.
        """
        ids, begins = self._launched.arrays()
        if not self._marks or not len(ids):
            return [], np.full(len(correlation), -1, np.int64)
        (at,) = looked_up(correlation, ids, np.arange(len(ids)))
        launched = begins[at]
        lasting = np.searchsorted(self._marked[0], launched, "right") - 1
        covered = (at >= 0) & (lasting >= 0) & (launched <= self._marked[1][lasting])
        found = np.where(at >= 0, within(launched, self._marks), -1)
        with_launch = duration[at >= 0].sum()  # time of kernels with a known launch
        is_covered = (found >= 0).any() and duration[covered].sum() >= _COVERED * with_launch
        return (self._marks if is_covered else []), found


class _Table:
    """The kernels read so far: columns of numbers, with the operations and modules they belong to."""

    def __init__(self, programs: xla.Programs) -> None:
        self.kernels = Columns(4)  # number of the kind, begin, end, correlation
        self.kinds: list[Operation] = []
        self.of_module: list[int] = []  # module of each kind; -1 for none
        self.modules: list[tuple[str, str]] = []
        self._keys: dict[tuple[object, ...], int] = {}
        self._programs = programs

    def add(self, event: Event) -> None:
        """Add a kernel."""
        stats = event.stats
        key = (event.name, stats.get("hlo_module"), stats.get("program_id"), stats.get("hlo_op"))
        if key not in self._keys:
            self._keys[key] = len(self.kinds)
            self._new(event.name, stats)
        correlation = stats.get("correlation_id")
        correlation = correlation if isinstance(correlation, int) else -1
        self.kernels.add(self._keys[key], event.start_ps, event.end_ps, correlation)

    def count_once(self, totals: npt.NDArray[np.float64]) -> None:
        """Assign an operation's FLOPs only to the longest of its kernels if it has several."""
        longest: dict[tuple[str, str], int] = {}
        for at in np.argsort(-totals, kind="stable").tolist():
            kind = self.kinds[at]
            if longest.setdefault((kind.program, kind.name), at) != at and kind.program:
                self.kinds[at] = replace(kind, flops=None, bytes=None, flops_from="")

    def _new(self, kernel: str, stats: Stats) -> None:
        name, key = str(stats.get("hlo_module", "")), str(stats.get("program_id", ""))
        program = shown(name, key) if name else ""
        of_program = self._programs.get(program) or {}
        operation = str(stats.get("hlo_op", ""))  # older versions number a library call's kernels: `gemm.1.0`
        instruction = of_program.get(operation) or of_program.get(operation.rpartition(".")[0])
        self.kinds.append(xla.kernel(kernel, program, stats, instruction))
        if name and (name, key) not in self.modules:
            self.modules.append((name, key))
        self.of_module.append(self.modules.index((name, key)) if name else -1)


def _runs(table: _Table, kernels: Events, copies: npt.NDArray[np.bool_], launches: Launches) -> tuple[Runs, Integers]:
    """The runs of each module, from first to last kernel, and the run index of each kernel (-1 for none).

    `copies` marks kinds that are copies, which may belong to the host.
    """
    found: list[tuple[tuple[str, str], int, int]] = []
    run_of = np.full(len(kernels), -1, np.int64)
    order = np.argsort(kernels.begin, kind="stable")
    modules = np.array(table.of_module, np.int64)[kernels.kinds]
    same_name = Counter(name for name, _ in table.modules)
    for at, places in grouped(modules[order]):
        if at < 0:
            continue
        module, mine = table.modules[at], order[places]
        counts = Counter(kernels.kinds[mine].tolist())
        repeats = (launches.executed(module[0]) if same_name[module[0]] == 1 else 0) or _repeats(counts)
        often = {kind: max(1, round(count / repeats)) for kind, count in counts.items()}
        for part in _turns(mine, kernels, often):
            run_of[part] = len(found)
            found.append((module, int(kernels.begin[part].min()), int(kernels.end[part].max())))
    runs = Runs.of(found)
    if found:  # a kernel without a module that isn't a copy belongs to the run in which it begins
        unnamed = np.flatnonzero((modules < 0) & ~copies[kernels.kinds])
        by_begin, begin = np.argsort(runs.begin, kind="stable"), kernels.begin[unnamed]
        place = np.searchsorted(runs.begin[by_begin], begin, "right") - 1
        inside = (place >= 0) & (begin < runs.end[by_begin][place])
        run_of[unnamed[inside]] = by_begin[place[inside]]
    return runs, run_of


def _repeats(counts: Counter[int]) -> int:
    """How often a module ran, from the count of each operation: one outside of any loop occurs once per run."""
    usual = Counter(counts.values()).most_common(1)[0][0]
    return min(count for count in counts.values() if usual % count == 0)


def _turns(mine: Integers, kernels: Events, often: dict[int, int]) -> list[Integers]:
    """An ordered sequence of kernels split into runs.

    If the first or last run is incomplete, the first kernel may be in the middle of a run. Runs are then taken to begin
    with the operation before which the device idles longest, if it idles at all.
    """
    ordered = kernels.where(mine)
    found = _cut(mine, ordered.kinds, often)
    if len(found) < 3 or len(found) * sum(often.values()) == len(mine):
        return found
    waits = ordered.begin[1:] - np.maximum.accumulate(ordered.end)[:-1]
    later = ordered.kinds[1:]
    longest, first = max(
        ((float(np.median(waits[later == kind])), kind) for kind in set(later.tolist()) if often[kind] == 1),
        default=(0.0, -1),
    )
    at = int((ordered.kinds == first).argmax()) if longest > 0 else 0
    return [mine[:at], *_cut(mine[at:], ordered.kinds[at:], often)] if at else found


def _cut(mine: Integers, kinds: Integers, often: dict[int, int]) -> list[Integers]:
    """Start a new run whenever an operation occurs more often than once per run allows; `kinds` are the operations."""
    cuts: list[int] = []
    seen: Counter[int] = Counter()
    for at, kind in enumerate(kinds.tolist()):
        if seen[kind] == often[kind]:
            cuts.append(at)
            seen.clear()
        seen[kind] += 1
    return np.split(mine, cuts)

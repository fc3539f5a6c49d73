"""What a profile says, in plain data: devices, steps and their parts, programs and operations; all times in seconds.

A fact that the format doesn't hold is None (or an empty text or tuple), and `Profile.lacks` says why.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median
from typing import Literal

import numpy as np
import numpy.typing as npt

CORES, RANKS, CHIP_PLACE = "cores", "ranks", "chip"  # facts of a profile or a device, by their names
REPLICAS = "replicas"  # of the model; the ranks are those of one
ALL_CORES = "all cores"  # the device of a tool's table, which adds them up
_CUT, _REST = 0.5, 0.1  # of a usual step's time: one that was cut off, and what is behind the last one, have less
Part = Literal["compute", "communication", "copy", "wait"]  # what an operation's time is; what is none of them is a gap
Found = Literal["marker", "line", "module", "whole", "tool"]
HOW_FOUND: dict[Found, str] = {
    "marker": "marked in the profile",
    "line": "marked in the profile",
    "module": "one for each run of the program that takes the most time of those that repeat",
    "whole": "no marker and no program that repeats for much of the time: all of the profile is one step (n = 1)",
    "tool": "as the profiler's tool lists them",
}


@dataclass(frozen=True, slots=True)
class Parts:
    """A span of time on one device in disjoint parts that add up to it.

    `compute` is when an operation computes; `communication` is exposed: nothing computes meanwhile, and so are `copy`
    (between host and device, or within it) and `wait` (for what isn't known to be one of these). `gap` is when nothing
    runs; None where the format doesn't tell.
    """

    compute: float = 0.0
    communication: float = 0.0
    copy: float = 0.0
    wait: float = 0.0
    gap: float | None = 0.0

    @property
    def busy(self) -> float:
        """Seconds in which something ran, waits included."""
        return self.compute + self.communication + self.copy + self.wait

    @property
    def span(self) -> float:
        """All of them."""
        return self.busy + (self.gap or 0.0)

    @property
    def idle(self) -> float | None:
        """The gaps' share of the span; None where it isn't known."""
        return None if self.gap is None or not self.span else self.gap / self.span


@dataclass(frozen=True, slots=True)
class StepKind:
    """Steps of one kind on one device, by what their marks or their program are called: how many, and their seconds."""

    name: str
    count: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Step:
    """One step on one device. `index` is the number in the file, or counts from 0; `name` its mark's or program's."""

    index: int
    begin: float
    end: float
    found: Found
    parts: Parts
    name: str = ""

    @property
    def seconds(self) -> float:
        """How long it took, to the picosecond: steps of one length have no spread."""
        return round(self.end - self.begin, 12)


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled program (an XLA module) and its runs on one device. `id` is the program's in the file, if any."""

    name: str
    id: str
    count: int
    total: float
    median: float

    @property
    def shown(self) -> str:
        """Its name and id, as operations name it."""
        return shown(self.name, self.id)


def shown(name: str, key: str) -> str:
    """A program by its name and id: `jit_f(12)`."""
    return f"{name}({key})" if key else name


@dataclass(frozen=True, slots=True)
class Shape:
    """An array's type (HLO's name, as bf16) and dimensions."""

    dtype: str
    dims: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.dims))}]"


@dataclass(frozen=True, slots=True)
class Operation:
    """All runs of one operation of one program on one device.

    `total` counts nested operations, `self_time` doesn't. `flops` and `bytes` are of one run. `result` and `operands`
    are its shapes; `flops_from` says where the FLOPs come from: file, hlo or shapes. `source` is the framework's name.
    `times` are the runs' own, in seconds, or every so many of very many; None where a tool added them up.
    `step_time` is what of `self_time` is of steps, where each run is told to be of one or of none.
    """

    name: str
    program: str
    category: str
    opcode: str
    part: Part
    count: int
    total: float
    median: float
    self_time: float
    flops: float | None = None
    bytes: float | None = None
    result: tuple[Shape, ...] = ()
    operands: tuple[Shape, ...] = ()
    dtype: str = ""
    group_size: int | None = None
    source: str = ""
    flops_from: str = ""
    expression: str = ""
    times: npt.NDArray[np.float64] | None = field(default=None, compare=False, repr=False)
    step_time: float | None = None

    @property
    def identity(self) -> tuple[object, ...]:
        """What tells it from every other operation, of whichever device."""
        return self.program, self.name, self.category, self.result, self.operands, self.expression


@dataclass(frozen=True, slots=True)
class Gap:
    """Time in which nothing ran on a device, with the operations before and after it."""

    seconds: float
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Device:
    """One device (as TPUs count: a core or a chip) of one host.

    `name` is its place in the file, as `/device:TPU:0`; `kind` the product's name as the file has it, else None.
    `facts` are what else tells what it is, as text. `parts` are of its whole span, from where its first program or
    operation begins to where the last ends. `busy` is when at least one operation ran: overlapping ones count once, and
    what is only under way (an asynchronous copy) doesn't. `gaps` are the largest ones. `kinds` are those of marks that
    could be its steps, if there are several. Peaks are the file's own, in FLOP/s and byte/s.
    """

    name: str
    host: str
    kind: str | None
    facts: dict[str, str]
    begin: float
    end: float
    busy: float
    parts: Parts
    steps: tuple[Step, ...] = ()
    programs: tuple[Program, ...] = ()
    operations: tuple[Operation, ...] = ()
    gaps: tuple[Gap, ...] = ()
    peak_flops: float | None = None
    peak_bandwidth: float | None = None
    kinds: tuple[StepKind, ...] = ()

    @property
    def idle(self) -> float | None:
        """The share of its span in which no operation ran; None where the span isn't known."""
        return 1 - self.busy / (self.end - self.begin) if self.end > self.begin else None


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile of one run: what was read, from which files, on which hosts and devices.

    `device` is the name that all its devices bear, else None; `facts` then tell what the device may be. `lacks` has the
    reason for each kind of fact that isn't there, by the field's name (device, steps, programs, flops, bytes, shapes,
    gap, ...). `notes` are what a reader should know of how its files belong together.
    """

    paths: tuple[str, ...]
    format: str
    device: str | None
    hosts: tuple[str, ...]
    devices: tuple[Device, ...]
    facts: dict[str, str] = field(default_factory=dict)
    lacks: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def found(self) -> Found:
        """How its steps were found."""
        return next((step.found for device in self.devices for step in device.steps), "whole")

    @property
    def stepping(self) -> str:
        """The program whose runs are its steps, as operations name it; empty where steps were found otherwise."""
        if self.found not in ("module", "line"):
            return ""
        named: dict[str, float] = defaultdict(float)
        for step in (each for device in self.devices for each in device.steps if each.name):
            named[step.name] += step.seconds
        return max(named, key=lambda name: named[name], default="")

    @property
    def step_name(self) -> str:
        """What its steps are called: the program whose runs they are, else the marks; empty where nothing tells."""
        return self.stepping or next((step.name for device in self.devices for step in device.steps), "")

    @property
    def active(self) -> tuple[Device, ...]:
        """The devices that ran anything."""
        return tuple(device for device in self.devices if device.operations)

    @property
    def step_times(self) -> list[float]:
        """Seconds of each step, on the device that took longest for it."""
        seconds: dict[int, float] = {}
        for device in self.devices:
            for step in device.steps:
                seconds[step.index] = max(step.seconds, seconds.get(step.index, 0.0))
        return [seconds[index] for index in sorted(seconds)]

    @property
    def step_distances(self) -> list[float]:
        """Seconds from the end of each step to that of the next on its device: with what is between them."""
        marked = (device.steps for device in self.devices if self.found != "tool")  # a tool tells no begins and ends
        return [after.end - before.end for steps in marked for before, after in pairwise(steps)]

    @property
    def step_parts(self) -> Parts:
        """The mean parts of a step over all steps and devices; of the whole spans where there is no step."""
        found = [step.parts for device in self.devices for step in device.steps]
        return mean_parts(found or [device.parts for device in self.active])

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The operations of all devices."""
        return tuple(operation for device in self.devices for operation in device.operations)


def step_kinds(devices: Iterable[Device]) -> list[StepKind]:
    """The kinds of what could be steps, by marks or else by programs: as many as on a device, the seconds of all."""
    found: dict[str, StepKind] = {}
    for device in devices:
        programs = (StepKind(each.shown, each.count, each.total) for each in device.programs if each.count)
        for kind in device.kinds or programs:
            known = found.get(kind.name, StepKind(kind.name, 0, 0.0))
            found[kind.name] = StepKind(kind.name, max(known.count, kind.count), known.seconds + kind.seconds)
    return sorted((kind for kind in found.values() if kind.name), key=lambda kind: -kind.seconds)


def pooled(operations: Iterable[Operation]) -> list[Operation]:
    """The operations of several devices, those of one name and program as one: runs and times of all, longest first.

    The median is of all their runs where the times are known, else of the devices' medians.
    """
    groups: dict[tuple[object, ...], list[Operation]] = {}
    for each in operations:
        groups.setdefault(each.identity, []).append(each)
    return sorted(map(_pool, groups.values()), key=lambda each: -each.self_time)


def _pool(members: list[Operation]) -> Operation:
    if len(members) == 1:
        return members[0]
    known = [each.times for each in members if each.times is not None]
    times = np.concatenate(known) if len(known) == len(members) else None
    of_steps = [each.step_time for each in members if each.step_time is not None]
    return replace(
        members[0],
        count=sum(each.count for each in members),
        total=sum(each.total for each in members),
        median=median(each.median for each in members) if times is None else float(np.median(times)),
        self_time=sum(each.self_time for each in members),
        times=times,
        step_time=sum(of_steps) if len(of_steps) == len(members) else None,
    )


def whole_steps(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps without a first or last one that the capture cut off: one under half of the others'.

    Of those that PyTorch or JAX numbers, which are whole, without a last one that holds but what came after the loop.
    """
    if len(steps) <= 2:
        return tuple(steps)
    usual = sorted(step.seconds for step in steps)[len(steps) // 2]
    is_marked = steps[0].found == "marker"
    ends, least = (steps[-1:], _REST) if is_marked else ((steps[0], steps[-1]), _CUT)
    return tuple(step for step in steps if step.seconds > usual * least or step not in ends)


def mean_parts(found: Sequence[Parts]) -> Parts:
    """The mean of each part; of none, zeros."""
    n = len(found) or 1
    gaps = [each.gap for each in found]
    known = [gap for gap in gaps if gap is not None]
    return Parts(
        sum(each.compute for each in found) / n,
        sum(each.communication for each in found) / n,
        sum(each.copy for each in found) / n,
        sum(each.wait for each in found) / n,
        sum(known) / n if len(known) == len(gaps) else None,
    )


def spread(seconds: Iterable[float]) -> tuple[float, float, int]:
    """Median, interquartile range and number of some times; raises StatisticsError where there is none."""
    ordered = sorted(seconds)
    n = len(ordered)
    half = (n + 1) // 2
    quarter, three_quarters = (median(ordered[:half]), median(ordered[n - half :])) if n else (0.0, 0.0)
    return median(ordered), three_quarters - quarter, n

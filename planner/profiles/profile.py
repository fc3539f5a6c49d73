"""The content of a profile as plain data: devices, steps and their parts, programs and operations; times in seconds.

A fact that the format doesn't record is None (or an empty text or tuple), and `Profile.lacks` gives the reason.
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

CORES, RANKS, CHIP_PLACE = "cores", "ranks", "chip"  # names of facts of a profile or device
REPLICAS = "replicas"  # name of the fact for the number of replicas of the model; RANKS are those of one
ALL_CORES = "all cores"  # device name of a tool's table, which sums over cores
_CUT, _REST = 0.5, 0.1  # shares of a usual step's time below which a step was truncated, or follows the loop
Part = Literal["compute", "communication", "copy", "wait"]  # of a step: what an operation's time counts as
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
    """A span of time on one device, divided into disjoint parts that add up to it.

    `compute` is the time in which an operation computes. `communication` is exposed, that is, without concurrent
    compute, and so are `copy` (between host and device, or within it) and `wait` (operations not known to be any of
    these). In `gap` nothing runs; None if the format doesn't record it.
    """

    compute: float = 0.0
    communication: float = 0.0
    copy: float = 0.0
    wait: float = 0.0
    gap: float | None = 0.0

    @property
    def busy(self) -> float:
        """Seconds in which anything ran, including waits."""
        return self.compute + self.communication + self.copy + self.wait

    @property
    def span(self) -> float:
        """The sum of all parts."""
        return self.busy + (self.gap or 0.0)

    @property
    def idle(self) -> float | None:
        """The gaps' share of the span; None if unknown."""
        return None if self.gap is None or not self.span else self.gap / self.span


@dataclass(frozen=True, slots=True)
class StepKind:
    """The number and total seconds of steps of one kind on one device, with the name of their marks or program."""

    name: str
    count: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Step:
    """One step on one device.

    `index` is its number in the file or counts from 0; `name` is that of its mark or program.
    """

    index: int
    begin: float
    end: float
    found: Found
    parts: Parts
    name: str = ""

    @property
    def seconds(self) -> float:
        """Its duration rounded to the picosecond, so that steps of equal length have no spread."""
        return round(self.end - self.begin, 12)


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled program (an XLA module) and its runs on one device. `id` is the program's id in the file, if any."""

    name: str
    id: str
    count: int
    total: float
    median: float

    @property
    def shown(self) -> str:
        """Its name and id, as operations refer to it."""
        return shown(self.name, self.id)


def shown(name: str, key: str) -> str:
    """A program's name and id: `jit_f(12)`."""
    return f"{name}({key})" if key else name


@dataclass(frozen=True, slots=True)
class Shape:
    """An array's type (as named in HLO, such as bf16) and dimensions."""

    dtype: str
    dims: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.dims))}]"


@dataclass(frozen=True, slots=True)
class Operation:
    """All runs of one operation of one program on one device.

    `total` includes nested operations, `self_time` doesn't. `flops` and `bytes` are per run. `result` and `operands`
    are shapes. `flops_from` says where the FLOPs come from: file, hlo or shapes. `source` is the framework's name.
    `times` are the durations of the runs in seconds, subsampled if there are very many; None if a tool added them up.
    `step_time` is the part of `self_time` that lies in steps, if known for each run. `joined` are the devices in all of
    a collective's groups.
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
    joined: int | None = None

    @property
    def identity(self) -> tuple[object, ...]:
        """The key that distinguishes it from other operations, regardless of the device."""
        return self.program, self.name, self.category, self.result, self.operands, self.expression


@dataclass(frozen=True, slots=True)
class Gap:
    """A time in which nothing ran on a device, with the operations before and after it."""

    seconds: float
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Device:
    """One device (in a TPU's counting, a core or a chip) of one host.

    `name` is its name in the file, such as `/device:TPU:0`; `kind` is the product name if the file has it. `facts` are
    other identifying facts as text. `parts` cover its whole span, from the begin of its first program or operation to
    the end of the last. `busy` is the time in which at least one operation ran, not counting pending asynchronous ones.
    `gaps` are the largest ones. `kinds` are the kinds of marks that could be its steps, if there are several. Peaks are
    the file's own, in FLOP/s and byte/s.
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
        """The share of its span in which no operation ran; None if the span is unknown."""
        return 1 - self.busy / (self.end - self.begin) if self.end > self.begin else None


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile of one run: what was read, from which files, and on which hosts and devices.

    `device` is the product name shared by all its devices, else None; `facts` then hint at it. `lacks` gives the reason
    for each kind of missing fact, by field name (device, steps, programs, flops, bytes, shapes, gap, ...). `notes` are
    remarks on how its files belong together.
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
        """The program whose runs are the steps, as operations refer to it; empty if steps were found in another way."""
        if self.found not in ("module", "line"):
            return ""
        named: dict[str, float] = defaultdict(float)
        for step in (each for device in self.devices for each in device.steps if each.name):
            named[step.name] += step.seconds
        return max(named, key=lambda name: named[name], default="")

    @property
    def step_name(self) -> str:
        """The name of its steps: that of the program whose runs they are, else of their marks; empty if unknown."""
        return self.stepping or next((step.name for device in self.devices for step in device.steps), "")

    @property
    def active(self) -> tuple[Device, ...]:
        """The devices on which anything ran."""
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
        """Seconds from the end of each step to the end of the next on its device, including the time in between."""
        marked = (device.steps for device in self.devices if self.found != "tool")  # tools report no begins and ends
        return [after.end - before.end for steps in marked for before, after in pairwise(steps)]

    @property
    def step_parts(self) -> Parts:
        """The mean parts of a step over all steps and devices, or of the whole spans if there are no steps."""
        found = [step.parts for device in self.devices for step in device.steps]
        return mean_parts(found or [device.parts for device in self.active])

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The operations of all devices."""
        return tuple(operation for device in self.devices for operation in device.operations)


def step_kinds(devices: Iterable[Device]) -> list[StepKind]:
    """The kinds of possible steps, by marks or else by programs: their number on one device, and the seconds on all."""
    found: dict[str, StepKind] = {}
    for device in devices:
        programs = (StepKind(each.shown, each.count, each.total) for each in device.programs if each.count)
        for kind in device.kinds or programs:
            known = found.get(kind.name, StepKind(kind.name, 0, 0.0))
            found[kind.name] = StepKind(kind.name, max(known.count, kind.count), known.seconds + kind.seconds)
    return sorted((kind for kind in found.values() if kind.name), key=lambda kind: -kind.seconds)


def pooled(operations: Iterable[Operation]) -> list[Operation]:
    """Operations of several devices with equal name and program pooled into one, longest first.

    The median is over all runs if their times are known, else over the devices' medians.
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
    """The steps without a first or last one that the capture truncated, that is, one under half as long as the others.

    Steps numbered by PyTorch or JAX are complete; of these only a last one that covers what follows the loop is
    dropped.
    """
    if len(steps) <= 2:
        return tuple(steps)
    usual = sorted(step.seconds for step in steps)[len(steps) // 2]
    is_marked = steps[0].found == "marker"
    ends, least = (steps[-1:], _REST) if is_marked else ((steps[0], steps[-1]), _CUT)
    return tuple(step for step in steps if step.seconds > usual * least or step not in ends)


def mean_parts(found: Sequence[Parts]) -> Parts:
    """The mean of each part; zeros if there are none."""
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
    """Median, interquartile range and number of times. Raises StatisticsError if there are none."""
    ordered = sorted(seconds)
    n = len(ordered)
    half = (n + 1) // 2
    quarter, three_quarters = (median(ordered[:half]), median(ordered[n - half :])) if n else (0.0, 0.0)
    return median(ordered), three_quarters - quarter, n

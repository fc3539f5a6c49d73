"""Traces of PyTorch's profiler (Kineto) on CUDA or ROCm: kernels by device, and the operators that launched them.

A kernel belongs to the step whose annotation contains its launch (`correlation`), though it may run later. Its shapes
are the Input Dims of the operator linked by `External id`, or else of the innermost operator running on the launching
thread. Kernels of a graph have none.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from planner.profiles.device_events import FAR, PS, Events, Recording, distinct, grouped, looked_up
from planner.profiles.kineto_operators import Operator, has_plain_inputs, kernel_operation
from planner.profiles.kineto_steps import STEP, Annotation, Launched, call, remark, steps
from planner.profiles.planes import Columns, Integers
from planner.profiles.profile import Operation
from planner.profiles.step_parts import part, union
from planner.profiles.trace_events import Clock

_KERNELS = {"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset", "mtia_ccp_events", "hpu_op"}
_LAUNCHES = {
    "cuda_runtime",
    "cuda_driver",
    "runtime",
    "hip_runtime",
    "privateuse1_runtime",
    "privateuse1_driver",
    "xpu_runtime",
    "xpu_driver",
    "mtia_runtime",
    "driver",
}
_OPERATORS = {"cpu_op", "operator"}
_ANNOTATIONS = {"user_annotation"}
_CALLS = "python_function"
_UNKNOWN_TIME = -FAR  # launch time of a kernel whose launch isn't recorded; others may be negative
_EPOCH = 1e9  # s; a smaller time counts from the machine's start
_LABEL = re.compile(r"\[([^\]]+)\] *\S|(rank[ _-]?\d+)[ _:/-]+\S", re.I)
_WITHIN = 20_000_000  # ps: a driver call with the same number begins this soon after the runtime call
_REPEATED = 0.1  # least share of repeated launch numbers in a trace merged from several ranks
_SHARED = 1 / 3  # least share of a queue's time with overlapping kernels there
_FEW = 10  # a queue with fewer kernels is not examined
CATEGORIES = _KERNELS | _LAUNCHES | _OPERATORS | _ANNOTATIONS


def rank_label(event: dict[str, Any]) -> str:
    """The rank of an event in a merged trace, as SGLang writes it into `pid`: TP03 in `[TP03] 812`."""
    pid = event.get("pid")
    found = _LABEL.match(pid) if isinstance(pid, str) else None
    return next(filter(None, found.groups())) if found else ""


class KinetoEvents:
    """Collects the events of one rank; at the end of the file `clock` must be settled."""

    def __init__(self) -> None:
        self.clock = Clock(self._timed)
        self._texts: dict[tuple[str, ...], int] = {}  # operators by name, dims and types; kernels by name and arguments
        self._operators = Columns(5)  # external id, text, thread, begin, end
        self._launches = Columns(4)  # correlation, time, external id, thread (-1: of a graph)
        self._threads: dict[tuple[Any, Any], int] = {}
        self._kernels = Columns(7)  # device, begin, duration, correlation, external id, text, queue
        self._notes: list[Annotation] = []
        self._calls: list[Annotation] = []  # calls of functions that run a server's batches
        self._processes: set[str] = set()
        self._lanes: defaultdict[int, set[str]] = defaultdict(set)  # by device, the processes of its kernels
        self.count = 0
        self.of_no_time = 0  # kernels without a duration, or with a negative one, which some versions write

    def add(self, event: dict[str, Any]) -> None:
        """Add an event of the file."""
        kind = str(event.get("cat", "")).lower()
        is_taken = kind in CATEGORIES or (kind == _CALLS and call(str(event.get("name", ""))))
        if is_taken and event.get("ph") == "X":
            self.clock.add(event)

    def _timed(self, event: dict[str, Any], begin: int, duration: int) -> None:
        """Add an event with known begin and duration in ps."""
        kind, given = str(event["cat"]).lower(), event.get("args")
        args = given if isinstance(given, dict) else {}
        self.count += 1
        name = str(event.get("name", ""))
        external = _number(args.get("External id", args.get("external id")))
        correlation = _number(args.get("correlation"))
        if kind in _KERNELS:
            device = _number(args.get("device", event.get("pid")))
            self._lanes[device].add(str(event.get("pid")))
            self.of_no_time += duration < 0 or event.get("dur") is None
            text = self._text(
                name, kind, *("" if (found := args.get(key)) is None else str(found) for key in COLLECTIVE)
            )
            queue = _number(args.get("stream", event.get("tid")))
            self._kernels.add(device, begin, max(duration, 0), correlation, external, text, queue)
        elif kind in _LAUNCHES:
            if correlation >= 0:
                self._processes.add(str(event.get("pid")))
                graph = "graphlaunch" in name.lower()  # the operator of each of its kernels is unknown
                of_operator = (-1, -1) if graph else (external, self._thread(event))
                self._launches.add(correlation, begin, *of_operator)
        elif kind in _ANNOTATIONS or STEP.match(name):
            self._notes.append(Annotation(name, begin, begin + duration))
        elif kind == _CALLS:
            self._calls.append(Annotation(call(name), begin, begin + duration))
        else:
            dims = str(args.get("Input Dims", args.get("Input dims", "")))
            arguments = str(args.get("Concrete Inputs", "")) if has_plain_inputs(name) else ""
            text = self._text(name, dims, str(args.get("Input type", "")), arguments)
            self._operators.add(external, text, self._thread(event), begin, begin + duration)

    def _thread(self, event: dict[str, Any]) -> int:
        return self._threads.setdefault((str(event.get("pid")), str(event.get("tid"))), len(self._threads))

    def _text(self, *parts: str) -> int:
        return self._texts.setdefault(parts, len(self._texts))

    @property
    def remark(self) -> str:
        """What a reader must know of its steps; empty for nothing."""
        return remark(self._notes)

    @property
    def process(self) -> str:
        """The number of the process that launched the kernels; empty if it isn't told."""
        return min(self._processes) if len(self._processes) == 1 else ""

    @property
    def merged_of(self) -> str:
        """A description of the ranks merged into this trace; empty if it wasn't merged."""
        if len(self._processes) > 1:
            return f"{len(self._processes)} processes"
        shared = [device for device, processes in self._lanes.items() if len(processes) > 1]
        if shared:
            return f"ranks that have a GPU {min(shared)} each"
        return "ranks under one process" if self._is_of_ranks() else ""

    def _is_of_ranks(self) -> bool:
        """Whether several ranks were merged under one process: launch numbers repeat, or kernels on a queue overlap.

        A process numbers each launch once, except for a driver call within a runtime call. A queue runs its kernels one
        after the other, except for those of a graph and small overlaps. Communication and copies have queues of their
        own, which AMD's tracer may not record.
        """
        device, begin, duration, correlation, _, text, queue = self._kernels.arrays()
        ids, at, _, thread = self._launches.arrays()
        order = np.lexsort((at, ids))
        order = order[np.isin(ids[order], correlation)]  # calls that launch nothing may all be numbered 0
        ids, at, thread = ids[order], at[order], thread[order]
        apart = (np.diff(at) > _WITHIN) | (np.diff(thread) != 0)
        if ((np.diff(ids) == 0) & apart).sum() > _REPEATED * len(ids):
            return True
        _, which, counts = np.unique(correlation, return_inverse=True, return_counts=True)
        computes = np.array([part(name) == "compute" for name, *_ in self._texts], bool)[text]
        alone = np.flatnonzero(((correlation < 0) | (counts == 1)[which.reshape(-1)]) & computes)
        queues, queue = distinct(queue[alone])
        lanes = (alone[places] for _, places in grouped(distinct(device[alone])[1] * len(queues) + queue))
        return any(_overlaps(begin[lane], (begin + duration)[lane]) for lane in lanes if len(lane) >= _FEW)

    def when(self, described: dict[str, Any]) -> tuple[float, float] | None:
        """The begin and end of the kernels in seconds since 1970. None if the trace's clock is unknown."""
        base = described.get("baseTimeNanoseconds")
        since = (base / 1e9 if isinstance(base, int | float) else 0.0) + self.clock.base / 1e6
        if since < _EPOCH or not len(self._kernels):
            return None
        _, begin, duration, *_ = self._kernels.arrays()
        return since + int(begin.min()) * PS, since + int((begin + duration).max()) * PS

    def recordings(self, described: dict[str, Any], host: str, asked: str = "") -> list[Recording]:
        """A recording for each device that ran a kernel.

        `described` is the rest of the file, `asked` the kind of steps.
        """
        device, begin, duration, correlation, external, text, _ = self._kernels.arrays()
        if not len(self._launches):
            correlation = np.full(len(begin), -1, np.int64)
        launched, operator, external = self._linked(correlation, external)
        main = _longest(external, duration)
        # a missing launch precedes the trace; without any launches the kernel's own begin is used
        launched = np.where((launched == _UNKNOWN_TIME) & (correlation < 0), begin, launched)
        texts = list(self._texts)
        step, marks, step_kinds = steps(self._notes, self._calls, Launched(launched, duration, text, texts), asked)
        keys, which = np.unique(np.stack([text, operator, main & (operator >= 0)]), axis=1, return_inverse=True)
        kinds = [_kind(texts, *key) for key in keys.T.tolist()]
        found = []
        for number, mine in grouped(device):
            events = Events(which.reshape(-1)[mine], begin[mine], (begin + duration)[mine], step[mine])
            operations = partial(iter, [events])
            made = Recording(f"GPU {number}", host, list(kinds), operations, steps=list(marks), nested=False)
            made.asked, made.step_kinds = asked, step_kinds
            made.kind, made.facts = _described(described.get("deviceProperties"), number)
            made.facts |= {key: str(value) for key, value in described.items() if key.endswith("_version")}
            found.append(made)
        return found

    def _linked(self, correlation: Integers, external: Integers) -> tuple[Integers, Integers, Integers]:
        """For each kernel its launch time, its operator's text index, and a number shared by the operator's kernels.

        Some versions write the correlation as the external id of kernels; it then matches no operator.
        """
        ids, time, launch_external, thread = self._launches.arrays()
        launched, by_launch, at = looked_up(correlation, ids, time, launch_external, np.arange(len(ids)))
        launched = np.where(at >= 0, launched, _UNKNOWN_TIME)
        external = np.where(external < 0, by_launch, external)
        if ((external == correlation) & (external >= 0)).sum() > len(external) / 2:
            external = np.full(len(external), -1, np.int64)
        keys, texts, threads, begins, ends = self._operators.arrays()
        operator, place = looked_up(external, keys, texts, np.arange(len(keys)))
        unlinked = np.flatnonzero((place < 0) & (at >= 0))
        unlinked = unlinked[thread[at[unlinked]] >= 0]
        if len(unlinked) and len(texts):
            wanted = at[unlinked]
            inner = innermost(time[wanted], thread[wanted], begins, ends, threads)
            place[unlinked] = inner
            operator[unlinked] = np.where(inner >= 0, texts[inner], -1)
        return launched, operator, place


def _overlaps(begin: Integers, end: Integers) -> bool:
    """Whether much of the intervals' time is covered more than once, with many intervals nested in others."""
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], end[order]
    whole = int((end - begin).sum())
    within_another = end[1:] <= np.maximum.accumulate(end)[:-1]
    return whole - union(begin, end) > _SHARED * whole and bool(within_another.mean() > _REPEATED)


COLLECTIVE = ("Collective name", "In msg nelems", "Out msg nelems", "Group size", "dtype", "bytes")


def _kind(texts: list[tuple[str, ...]], kernel: int, operator: int, main: int) -> Operation:
    name, kind, *arguments = texts[kernel]
    by = Operator(*texts[operator]) if operator >= 0 else Operator()
    return kernel_operation(name, kind, dict(zip(COLLECTIVE, arguments, strict=True)), by, counts=bool(main))


def _described(properties: Any, number: int) -> tuple[str | None, dict[str, str]]:
    """The name and facts of a device.

    If the list numbers devices differently, it is used only if it names a single product.
    """
    listed = [each for each in properties if isinstance(each, dict)] if isinstance(properties, list) else []
    mine = next((each for each in listed if each.get("id") == number), None)
    names = {str(each.get("name")) for each in listed if each.get("name")}
    if mine is None:
        if len(names) != 1:
            return None, {}
        mine = listed[0]
    facts = ("totalGlobalMem", "numSms", "computeMajor", "computeMinor", "sharedMemPerBlock", "warpSize")
    return str(mine["name"]) if mine.get("name") else None, {key: str(mine[key]) for key in facts if key in mine}


def _longest(external: Integers, duration: Integers) -> npt.NDArray[np.bool_]:
    """A mask of the longest kernel of each operator, which is the one that the operator's FLOPs are assigned to."""
    order = np.lexsort((duration, external))
    last = np.append(np.diff(external[order]) != 0, True) if len(external) else np.zeros(0, bool)
    found = np.zeros(len(external), bool)
    found[order[last]] = True
    return found & (external >= 0)


def innermost(time: Integers, thread: Integers, begin: Integers, end: Integers, threads: Integers) -> Integers:
    """The index of the innermost interval that contains each time on its thread; -1 for none."""
    found = np.full(len(time), -1, np.int64)
    lane = np.concatenate([threads, thread])
    at = np.concatenate([begin, time])
    lasts = np.concatenate([end - begin, np.full(len(time), -1, np.int64)])
    open_ones: list[int] = []
    before = -1
    for place in np.lexsort((-lasts, at, lane)).tolist():
        if lane[place] != before:
            before, open_ones = int(lane[place]), []
        while open_ones and end[open_ones[-1]] < at[place]:
            open_ones.pop()
        if place < len(begin):
            open_ones.append(place)
        elif open_ones:
            found[place - len(begin)] = open_ones[-1]
    return found


def _number(value: Any) -> int:
    try:
        found = int(value)
    except (TypeError, ValueError, OverflowError):
        return -1
    return found if abs(found) <= FAR else -1

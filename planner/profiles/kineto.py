"""A trace of PyTorch's profiler (Kineto), of CUDA or ROCm: its kernels by device, and what launched them.

A kernel is of the step in whose annotation its launch stands (`correlation`): on the device it may run later. Its
shapes are the Input Dims of the operator that it is linked with (`External id`), or else of the innermost one that runs
on the launch's thread; kernels of a graph have none. Steps are those that the profiler marked, else of the main
annotation, else by the optimizer. A server's batches of prefill and of decode are kinds of their own: by the marks in a
step of the profiler, or by its kernels.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from planner.profiles.device_events import FAR, PS, Events, Marked, Recording, distinct, grouped, looked_up, within
from planner.profiles.kineto_operators import Operator, kernel_operation, tells
from planner.profiles.parts import union
from planner.profiles.profile import Operation, StepKind
from planner.profiles.step_kinds import is_asked, phase, phase_of_kernels, unnumbered
from planner.profiles.trace_events import Clock
from planner.profiles.xspace import Integers

_KERNELS = {"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset", "mtia_ccp_events", "hpu_op"}
_LAUNCHES = {
    "cuda_runtime", "cuda_driver", "runtime", "hip_runtime", "privateuse1_runtime", "privateuse1_driver", "xpu_runtime",
    "xpu_driver", "mtia_runtime", "driver",
}  # fmt: skip
_OPERATORS = {"cpu_op", "operator"}
_ANNOTATIONS = {"user_annotation"}
_UNTOLD = -FAR  # the time of a launch that isn't in the file; others may be below 0, before the first event of it
_EPOCH = 1e9  # a clock that stands at less counts from the machine's start
STEP = re.compile(r"^ProfilerStep\s*#?\s*(\d+)")
_OPTIMIZER = "Optimizer.step#"  # PyTorch marks each call of an optimizer so, by itself
_PARTS = (  # annotations of PyTorch's own, which are parts of a step
    "Optimizer.", "enumerate(DataLoader)", "DistributedDataParallel.", "FullyShardedDataParallel.", "FSDP::",
    "Torch-Compiled Region", "## Call CompiledFxGraph", "nccl:", "rccl:", "hccl:", "xccl:", "gloo:", "c10d::",
)  # fmt: skip
_LABEL = re.compile(r"\[([^\]]+)\] *\S|(rank[ _-]?\d+)[ _:/-]+\S", re.I)
_WITHIN = 20_000_000  # ps: the driver's call begins not later in the runtime's, which has its number
_REPEATED = 0.1  # of the launches, at least, have a number of another where several ranks' are merged
_SHARED = 1 / 3  # of a queue's time, at least, is of several kernels there
_FEW = 10  # kernels of a queue that tell nothing
_COVERED = 0.5  # of the kernels' time, at least, is launched within annotations that are taken for steps
CATEGORIES = _KERNELS | _LAUNCHES | _OPERATORS | _ANNOTATIONS


class Annotation(NamedTuple):
    """An annotation on the host: its name, begin and end in ps."""

    name: str
    begin: int
    end: int


def rank_label(event: dict[str, Any]) -> str:
    """The rank that an event of a merged trace is of, as SGLang writes it into `pid`: TP03 of `[TP03] 812`."""
    pid = event.get("pid")
    found = _LABEL.match(pid) if isinstance(pid, str) else None
    return next(filter(None, found.groups())) if found else ""


class KinetoEvents:
    """Collects the events of one rank; `processes` are those that launched kernels, of which a rank is one."""

    def __init__(self) -> None:
        self._clock = Clock(self._timed)
        self._texts: dict[tuple[str, ...], int] = {}  # operators by name, dims and types; kernels by name and arguments
        self._operators = tuple(array("q") for _ in range(5))  # external id, text, thread, begin, end
        self._launches = tuple(array("q") for _ in range(4))  # correlation, time, external id, thread (-1: of a graph)
        self._threads: dict[tuple[Any, Any], int] = {}
        self._kernels = tuple(
            array("q") for _ in range(7)
        )  # device, begin, duration, correlation, external, text, queue
        self._notes: list[Annotation] = []
        self.processes: set[str] = set()
        self.count = 0
        self.below_zero = 0  # kernels that last less than nothing, as some versions write

    def add(self, event: dict[str, Any]) -> None:
        """Take one event of the file."""
        kind = str(event.get("cat", "")).lower()
        if kind not in CATEGORIES or event.get("ph") != "X":
            return
        self._clock.add(event)

    def settle(self) -> None:
        """Take the events that still wait for their clock: the file has no more."""
        self._clock.settle()

    def _timed(self, event: dict[str, Any], begin: int, duration: int) -> None:
        """Take one event whose begin and duration are known, in ps."""
        kind, told = str(event["cat"]).lower(), event.get("args")
        args = told if isinstance(told, dict) else {}
        self.count += 1
        name = str(event.get("name", ""))
        external = _number(args.get("External id", args.get("external id")))
        correlation = _number(args.get("correlation"))
        if kind in _KERNELS:
            device = _number(args.get("device", event.get("pid")))
            self.below_zero += duration < 0
            text = self._text(name, kind, *("" if (told := args.get(key)) is None else str(told) for key in COLLECTIVE))
            queue = _number(args.get("stream", event.get("tid")))
            _append(self._kernels, (device, begin, max(duration, 0), correlation, external, text, queue))
        elif kind in _LAUNCHES:
            if correlation >= 0:
                self.processes.add(str(event.get("pid")))
                graph = "graphlaunch" in name.lower()  # which operator each of its kernels is of isn't known
                row = (correlation, begin, -1, -1) if graph else (correlation, begin, external, self._thread(event))
                _append(self._launches, row)
        elif kind in _ANNOTATIONS or STEP.match(name):
            self._notes.append(Annotation(name, begin, begin + duration))
        else:
            dims = str(args.get("Input Dims", args.get("Input dims", "")))
            arguments = str(args.get("Concrete Inputs", "")) if tells(name) else ""
            text = self._text(name, dims, str(args.get("Input type", "")), arguments)
            _append(self._operators, (external, text, self._thread(event), begin, begin + duration))

    def _thread(self, event: dict[str, Any]) -> int:
        return self._threads.setdefault((str(event.get("pid")), str(event.get("tid"))), len(self._threads))

    def _text(self, *parts: str) -> int:
        return self._texts.setdefault(parts, len(self._texts))

    @property
    def is_merged(self) -> bool:
        """Whether several ranks stand under one process: launches have the numbers of others, or queues overlap.

        A process numbers each launch once, but for the driver's call within one of the runtime. A queue runs its
        kernels one after the other, but for those of a graph and for one that begins before the last one's end.
        """
        device, begin, duration, correlation, _, _, queue = (np.array(column, np.int64) for column in self._kernels)
        ids, at, _, thread = (np.array(column, np.int64) for column in self._launches)
        order = np.lexsort((at, ids))
        order = order[np.isin(ids[order], correlation)]  # what launches nothing may all be numbered 0
        ids, at, thread = ids[order], at[order], thread[order]
        apart = (np.diff(at) > _WITHIN) | (np.diff(thread) != 0)
        if ((np.diff(ids) == 0) & apart).sum() > _REPEATED * len(ids):
            return True
        _, which, counts = np.unique(correlation, return_inverse=True, return_counts=True)
        alone = np.flatnonzero((correlation < 0) | (counts == 1)[which.reshape(-1)])
        queues, queue = distinct(queue[alone])
        lanes = (alone[places] for _, places in grouped(distinct(device[alone])[1] * len(queues) + queue))
        return any(_overlaps(begin[lane], (begin + duration)[lane]) for lane in lanes if len(lane) >= _FEW)

    def when(self, described: dict[str, Any]) -> tuple[float, float] | None:
        """From when to when kernels ran, in seconds since 1970; None where the trace's clock isn't told."""
        base = described.get("baseTimeNanoseconds")
        since = (base / 1e9 if isinstance(base, int | float) else 0.0) + self._clock.base / 1e6
        if since < _EPOCH or not self._kernels[1]:
            return None
        ends = (begin + lasted for begin, lasted in zip(self._kernels[1], self._kernels[2], strict=True))
        return since + min(self._kernels[1]) * PS, since + max(ends) * PS

    def recordings(self, described: dict[str, Any], host: str, asked: str = "") -> list[Recording]:
        """One for each device that ran a kernel; `described` is what else the file holds, `asked` the kind of steps."""
        device, begin, duration, correlation, external, text, _ = (np.array(each, np.int64) for each in self._kernels)
        if not self._launches[0]:
            correlation = np.full(len(begin), -1, np.int64)
        launched, operator, external = self._linked(correlation, external)
        main = _longest(external, duration)
        # a launch that isn't in the file was before it; where none is told at all, the kernel's own begin must do
        launched = np.where((launched == _UNTOLD) & (correlation < 0), begin, launched)
        texts = list(self._texts)
        step, marks, step_kinds = steps(self._notes, Launched(launched, duration, text, texts), asked)
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
        """Of each kernel its launch's time, its operator's text, and a number that all of that operator's share.

        Some versions write the correlation as the external id of kernels, which is of no operator then.
        """
        ids, time, launch_external, thread = (np.array(column, np.int64) for column in self._launches)
        launched, by_launch, at = looked_up(correlation, ids, time, launch_external, np.arange(len(ids)))
        launched = np.where(at >= 0, launched, _UNTOLD)
        external = np.where(external < 0, by_launch, external)
        if ((external == correlation) & (external >= 0)).sum() > len(external) / 2:
            external = np.full(len(external), -1, np.int64)
        keys, texts, threads, begins, ends = (np.array(column, np.int64) for column in self._operators)
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
    """Whether much of the intervals' time is of several, and many lie within another."""
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
    """The name and facts of a device. The list may number devices otherwise: then it must name one product alone."""
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
    """Which kernel of each operator's takes longest: it is the one that its FLOPs are of."""
    order = np.lexsort((duration, external))
    last = np.append(np.diff(external[order]) != 0, True) if len(external) else np.zeros(0, bool)
    found = np.zeros(len(external), bool)
    found[order[last]] = True
    return found & (external >= 0)


def innermost(time: Integers, thread: Integers, begin: Integers, end: Integers, threads: Integers) -> Integers:
    """Which interval is the innermost that lasts at each time on its thread: its position, -1 where none does."""
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


def _append(columns: tuple[array[int], ...], row: tuple[int, ...]) -> None:
    for column, value in zip(columns, row, strict=True):
        column.append(value)


def _number(value: Any) -> int:
    try:
        found = int(value)
    except (TypeError, ValueError, OverflowError):
        return -1
    return found if abs(found) <= FAR else -1


class Launched(NamedTuple):
    """Kernels by when each was launched, how long it lasted, and which of the texts, that begin with names, it has."""

    at: Integers
    duration: Integers
    text: Integers
    texts: Sequence[tuple[str, ...]]


Steps = tuple[Integers, list[Marked], list[StepKind]]


def steps(notes: Sequence[Annotation], kernels: Launched, asked: str = "") -> Steps:
    """The step of each kernel by when it was launched (-1 for none), the steps, and the kinds of which they are one.

    Without the profiler's own steps those of a person's annotation, if kernels of most of the time are launched in
    them; else a step is from the end of one call of the optimizer to the end of the next. Steps of the kind that a
    person asked for may also lie within others.
    """
    numbered = [
        Marked(int(match[1]), note.begin, note.end, "marker") for note in notes if (match := STEP.match(note.name))
    ]
    served = _numbered(_outermost([note for note in notes if phase(note.name)]))
    wanted = _numbered(_outermost([note for note in notes if asked and is_asked(unnumbered(note.name), asked)]))
    usual = sorted(numbered, key=lambda each: each.begin)
    if not usual:
        covering = (each for each in (_main_annotation(notes), _optimizer_steps(notes)) if _covers(each, kernels))
        usual = next(covering, [])
    kinds: list[StepKind] = []
    for marks in (_phased(usual, served, kernels), wanted):
        step, found, of_them = _of_main_kind(marks, kernels, asked)
        kinds += [kind for kind in of_them if kind not in kinds]
        if found:
            return step, found, kinds
    return np.full(len(kernels.at), -1, np.int64), [], kinds


def _covers(marks: list[Marked], kernels: Launched) -> bool:
    """Whether kernels of most of the time are launched within marks."""
    inside = within(kernels.at, marks) >= 0
    return bool(marks) and bool(kernels.duration[inside].sum() >= _COVERED * kernels.duration.sum())


def _phased(marks: list[Marked], served: Sequence[Marked], kernels: Launched) -> list[Marked]:
    """Steps that are called by the server's mark in each, else by the phase that its kernels tell.

    One with marks of several kinds, as of all batches of a request, keeps its name.
    """
    if not marks or any(phase(mark.name) for mark in marks):
        return marks
    inside: list[set[str]] = [set() for _ in marks]
    at = within(np.array([note.begin for note in served], np.int64), marks).tolist()
    for note, place in zip(served, at, strict=True):
        if place >= 0:
            inside[place].add(note.name)
    if not any(inside):
        inside = _phases_of_kernels(marks, kernels)
    named = zip(marks, inside, strict=True)
    return [replace(mark, name=min(names)) if len(names) == 1 else mark for mark, names in named]


def _phases_of_kernels(marks: list[Marked], kernels: Launched) -> list[set[str]]:
    """The phase of each step, if its kernels tell one."""
    telling = np.array([bool(phase_of_kernels(text[:1])) for text in kernels.texts], bool)[kernels.text]
    names: list[set[str]] = [set() for _ in marks]
    at = within(kernels.at[telling], marks).tolist()
    for place, text in set(zip(at, kernels.text[telling].tolist(), strict=True)):
        if place >= 0:
            names[place].add(kernels.texts[text][0])
    return [{told} if (told := phase_of_kernels(each)) else set() for each in names]


def _of_main_kind(marks: list[Marked], kernels: Launched, asked: str) -> Steps:
    """Of marks by their begin those whose name is that of most of the kernels' time, or that are asked for."""
    step = within(kernels.at, marks)
    totals = np.bincount(step[step >= 0], kernels.duration[step >= 0], len(marks)) * PS
    seconds: dict[str, float] = {}
    for mark, total in zip(marks, totals.tolist(), strict=True):
        seconds[mark.name] = seconds.get(mark.name, 0.0) + total
    often = Counter(mark.name for mark in marks)
    kinds = [StepKind(name, often[name], total) for name, total in seconds.items()]
    wanted = (kind for kind in kinds if is_asked(kind.name, asked))
    main = max(wanted, key=lambda kind: kind.seconds, default=None)
    if main is None:
        return np.full(len(step), -1, np.int64), [], kinds
    ours = np.array([mark.name == main.name for mark in marks], bool)
    number = np.append(np.where(ours, np.cumsum(ours) - 1, -1), -1)  # the last is of kernels of no step
    return number[step], [mark for mark in marks if mark.name == main.name], kinds


def _main_annotation(notes: Sequence[Annotation]) -> list[Marked]:
    """The annotations of the name that takes most time, among those that lie in no other; numbers in it aside.

    Those of a server's batches count as one name, be they of prefill or of decode.
    """
    outer = _outermost([note for note in notes if not note.name.startswith(_PARTS)])
    totals: Counter[str] = Counter()
    for note in outer:
        totals[_family(note.name)] += note.end - note.begin
    main = totals.most_common(1)[0][0] if totals else ""
    return _numbered([note for note in outer if _family(note.name) == main])


def _family(name: str) -> str:
    return "" if phase(name) else unnumbered(name)


def _numbered(notes: Sequence[Annotation]) -> list[Marked]:
    """Annotations as steps in their order, or by the profiler's number, each called by its kind."""
    numbers = [int(match[1]) if (match := STEP.match(note.name)) else n for n, note in enumerate(notes)]
    named = zip(numbers, notes, strict=True)
    return [Marked(number, note.begin, note.end, "marker", unnumbered(note.name)) for number, note in named]


def _optimizer_steps(notes: Sequence[Annotation]) -> list[Marked]:
    """From the end of each call of the optimizer to the end of the next: what is before the first may be cut off.

    Of several optimizers that which is called most often, and of these the last.
    """
    calls = _outermost([note for note in notes if note.name.startswith(_OPTIMIZER)])
    if not calls:
        return []
    often = Counter(note.name for note in calls)
    last = max(calls, key=lambda note: (often[note.name], note.end)).name
    ends = [note.end for note in calls if note.name == last]
    return [Marked(n, before + 1, end, "marker") for n, (before, end) in enumerate(pairwise(ends), start=1)]


def _outermost(notes: Sequence[Annotation]) -> list[Annotation]:
    """Those that lie in no other, by their begin."""
    outer: list[Annotation] = []
    for note in sorted(notes, key=lambda note: (note.begin, -note.end)):
        if not outer or note.begin >= outer[-1].end:
            outer.append(note)
    return outer

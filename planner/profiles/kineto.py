"""A trace of PyTorch's profiler (Kineto), of CUDA or ROCm: its kernels by device, and what launched them.

A kernel is of the step in whose annotation its launch stands (`correlation`): on the device it may run later. Its
shapes are the Input Dims of the operator that it is linked with (`External id`); kernels of a graph have none.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from planner.profiles.kineto_operators import kernel_operation
from planner.profiles.profile import Operation
from planner.profiles.recording import Events, Integers, Marked, Recording, looked_up

_KERNELS = {"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"}
_LAUNCHES = {"cuda_runtime", "cuda_driver", "runtime", "hip_runtime", "privateuse1_runtime", "xpu_runtime", "driver"}
_OPERATORS = {"cpu_op", "operator"}
_ANNOTATIONS = {"user_annotation"}
_STEP = re.compile(r"^ProfilerStep\s*#?\s*(\d+)")
_COVERED = 0.5  # of the kernels' time, at least, is launched within annotations that are taken for steps
_US = 1_000_000  # ps
CATEGORIES = _KERNELS | _LAUNCHES | _OPERATORS | _ANNOTATIONS


class KinetoEvents:
    """Collects the events of one file."""

    def __init__(self) -> None:
        self._base: float | None = None
        self._texts: dict[tuple[str, ...], int] = {}  # operators by name, dims and types; kernels by name and arguments
        self._operators = (array("q"), array("q"))  # external id, text
        self._launches = (array("q"), array("q"), array("q"))  # correlation, time, external id
        self._kernels = tuple(array("q") for _ in range(6))  # device, begin, duration, correlation, external id, text
        self._notes: list[tuple[str, int, int]] = []
        self.count = 0

    def add(self, event: dict[str, Any]) -> None:
        """Take one event of the file."""
        kind = str(event.get("cat", "")).lower()
        if kind not in CATEGORIES or event.get("ph") != "X":
            return
        args = event.get("args")
        args = args if isinstance(args, dict) else {}
        try:
            begin, duration = self._time(float(event["ts"])), round(float(event.get("dur") or 0) * _US)
        except (KeyError, TypeError, ValueError):
            return
        self.count += 1
        name = str(event.get("name", ""))
        external = _number(args.get("External id", args.get("external id")))
        correlation = _number(args.get("correlation"))
        if kind in _KERNELS:
            device = _number(args.get("device", event.get("pid")))
            text = self._text(name, kind, *(_packed(args.get(key)) for key in COLLECTIVE))
            row = (device, begin, max(duration, 0), correlation, external, text)
            for column, value in zip(self._kernels, row, strict=True):
                column.append(value)
        elif kind in _LAUNCHES:
            if correlation >= 0:
                graph = "graphlaunch" in name.lower()  # which operator each of its kernels is of isn't known
                for column, value in zip(self._launches, (correlation, begin, -1 if graph else external), strict=True):
                    column.append(value)
        elif kind in _ANNOTATIONS or _STEP.match(name):
            self._notes.append((name, begin, begin + duration))
        elif external >= 0:
            text = self._text(
                name, str(args.get("Input Dims", args.get("Input dims", ""))), str(args.get("Input type", ""))
            )
            self._operators[0].append(external)
            self._operators[1].append(text)

    def _time(self, microseconds: float) -> int:
        if self._base is None:
            self._base = float(int(microseconds))
        return round((microseconds - self._base) * _US)

    def _text(self, *parts: str) -> int:
        return self._texts.setdefault(parts, len(self._texts))

    def recordings(self, described: dict[str, Any], host: str) -> list[Recording]:
        """One for each device that ran a kernel; `described` is what else the file holds."""
        device, begin, duration, correlation, external, text = (np.array(column, np.int64) for column in self._kernels)
        if not self._launches[0]:
            correlation = np.full(len(begin), -1, np.int64)
        launched, launch_external = looked_up(correlation, *(np.array(column, np.int64) for column in self._launches))
        external = np.where(external < 0, launch_external, external)
        operator = looked_up(external, *(np.array(column, np.int64) for column in self._operators))[0]
        main = _longest(external, duration)
        # a launch that isn't in the file was before it; where none is told at all, the kernel's own begin must do
        launched = np.where((launched < 0) & (correlation < 0), begin, launched)
        step, marks = self._steps(launched, duration)
        texts = list(self._texts)
        keys, which = np.unique(np.stack([text, operator, main & (operator >= 0)]), axis=1, return_inverse=True)
        kinds = [_kind(texts, *key) for key in keys.T.tolist()]
        found = []
        for number in np.unique(device).tolist():
            mine = device == number
            events = Events(which.reshape(-1)[mine], begin[mine], (begin + duration)[mine], step[mine])
            made = _recording(f"GPU {number}", host, list(kinds), events, marks)
            made.kind, made.facts = _described(described.get("deviceProperties"), number)
            made.facts |= {key: str(value) for key, value in described.items() if key.endswith("_version")}
            found.append(made)
        return found

    def _steps(self, launched: Integers, duration: Integers) -> tuple[Integers, list[Marked]]:
        """The step of each kernel by when it was launched, and the steps: ProfilerStep, else the main annotation."""
        numbered = [(int(match[1]), begin, end) for name, begin, end in self._notes if (match := _STEP.match(name))]
        notes = numbered or self._main_annotation()
        marks = [Marked(index, begin, end, "marker") for index, begin, end in sorted(notes, key=lambda note: note[1])]
        none = np.full(len(launched), -1, np.int64)
        if not marks:
            return none, []
        begins = np.array([mark.begin for mark in marks], np.int64)
        at = np.searchsorted(begins, launched, "right") - 1
        ends = np.array([mark.end for mark in marks], np.int64)
        step = np.where((at >= 0) & (launched <= ends[at]), at, -1)
        if not numbered and duration[step >= 0].sum() < _COVERED * duration.sum():
            return none, []
        return step, marks

    def _main_annotation(self) -> list[tuple[int, int, int]]:
        """The annotations of the name that takes most time, among those that lie in no other; numbers in it aside."""
        outer: list[tuple[str, int, int]] = []
        for note in sorted(self._notes, key=lambda note: (note[1], -note[2])):
            if not note[0].startswith(("nccl:", "rccl:", "c10d::")) and (not outer or note[1] >= outer[-1][2]):
                outer.append(note)
        totals: dict[str, int] = {}
        for name, begin, end in outer:
            totals[_unnumbered(name)] = totals.get(_unnumbered(name), 0) + end - begin
        if not totals:
            return []
        main = max(totals, key=lambda name: totals[name])
        ours = [note for note in outer if _unnumbered(note[0]) == main]
        return [(n, begin, end) for n, (_, begin, end) in enumerate(ours)]


COLLECTIVE = ("Collective name", "In msg nelems", "Out msg nelems", "Group size", "dtype", "bytes")


def _kind(texts: list[tuple[str, ...]], kernel: int, operator: int, main: int) -> Operation:
    name, kind, *arguments = texts[kernel]
    linked = texts[operator] if operator >= 0 else ("", "", "")
    told = dict(zip(COLLECTIVE, arguments, strict=True))
    return kernel_operation(name, kind, told, linked[0], linked[1], linked[2], counts=bool(main))


def _recording(name: str, host: str, kinds: list[Operation], events: Events, marks: list[Marked]) -> Recording:
    def operations() -> Iterator[Events]:
        yield events

    return Recording(name, host, kinds, operations, steps=list(marks), nested=False)


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


def _unnumbered(name: str) -> str:
    return re.sub(r"\d+", "#", name)


def _number(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        return -1


def _packed(value: Any) -> str:
    return "" if value is None else str(value)

"""XLA on the host's own processor: operations on any thread, each with its device, run and module.

An operation's event is only its launch. The operation lasts until its `end: <operation>` event, which may be on another
thread and is matched by the flow id (`_p` of one equals `_c` of the other). A run belongs to the step in which it was
launched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np

from planner.profiles import xla
from planner.profiles.device_events import (
    UNSIGNED,
    Events,
    Marked,
    Recording,
    Runs,
    grouped,
    looked_up,
    main_marks,
    within,
)
from planner.profiles.planes import Columns, Event, Integers, Plane, Stats, host_events
from planner.profiles.profile import Operation, shown

_END = "end: "
_COVERED = 0.5  # least share of the operations' time that marks must cover to be steps
_HALF = UNSIGNED // 2
_LAUNCH = 5  # type of the flow from a program's call to its runs


class HostOperations:
    """The operations that a host's threads ran, and the events that define their steps."""

    def __init__(self, planes: Iterable[Plane], programs: xla.Programs, asked: str) -> None:
        self._programs, self._asked = programs, asked
        self._kinds: list[Operation] = []
        self._keys: dict[tuple[object, ...], int] = {}
        self._runs: dict[tuple[int, str, str], int] = {}  # (run_id, module, program) -> run number
        self._operations = Columns(6)  # device, kind, begin, end, run, flow
        self._ends = Columns(2)  # flow, end
        self._launched: dict[int, int] = {}
        marks: list[tuple[str, Marked]] = []
        for event in host_events(planes):
            self._take(event, marks)
        self._marks, self._mark_kinds = main_marks(marks, asked)

    @property
    def found(self) -> bool:
        """Whether there are any operations."""
        return len(self._operations) > 0

    @property
    def ends(self) -> bool:
        """Whether any event says when an operation ended."""
        return len(self._ends) > 0

    def _take(self, event: Event, marks: list[tuple[str, Marked]]) -> None:
        stats = event.stats
        if event.name.startswith(_END):
            if (flow := _int(stats, "_c")) >= 0:
                self._ends.add(flow, event.end_ps)
        elif "hlo_op" in stats and "hlo_module" in stats:
            self._operation(event)
        elif "step_num" in stats and event.duration_ps:
            marks.append((event.name, Marked(_int(stats, "step_num"), event.start_ps, event.end_ps, "marker")))
        elif stats.get("_pt") == _LAUNCH:
            self._launched.setdefault(_int(stats, "_p"), event.start_ps)

    def _operation(self, event: Event) -> None:
        stats = event.stats
        module, program_id = str(stats["hlo_module"]), str(stats.get("program_id", ""))
        key = (stats["hlo_op"], module, program_id)
        if key not in self._keys:
            self._keys[key] = len(self._kinds)
            program = shown(module, program_id)
            instruction = self._programs.get(program, {}).get(str(stats["hlo_op"]))
            self._kinds.append(xla.operation(str(stats["hlo_op"]), program, stats, instruction))
        run = self._runs.setdefault((_int(stats, "run_id"), module, program_id), len(self._runs))
        device = max(_int(stats, "device_ordinal"), 0)
        self._operations.add(device, self._keys[key], event.start_ps, event.end_ps, run, _int(stats, "_p"))

    def recordings(self, host: str) -> Iterator[Recording]:
        """A recording for each device."""
        device, kind, begin, end, run, flow = self._operations.arrays()
        (ended,) = looked_up(flow, *self._ends.arrays())
        end = np.maximum(end, ended)
        step_of_run = self._steps(run, begin)
        if not self._launched and (end - begin)[step_of_run[run] >= 0].sum() < _COVERED * (end - begin).sum():
            self._marks = []  # runs begin after the step that launches them, which isn't recorded
        for number, mine in grouped(device):
            steps = step_of_run[run[mine]] if self._marks else None
            events = Events(kind[mine], begin[mine], end[mine], steps)
            numbers, runs = self._device_runs(run[mine], events)
            marks = list(self._marks)
            if not marks:
                marks, found = runs.steps(self._asked)
                of_run = np.full(len(self._runs), -1, np.int64)
                of_run[numbers] = found[:-1]
                events = Events(events.kinds, events.begin, events.end, of_run[run[mine]])
            yield Recording(
                f"/host:CPU:{number}",
                host,
                self._kinds,
                partial(iter, [events]),
                runs=runs,
                steps=marks,
                nested=False,
                asked=self._asked,
                step_kinds=self._mark_kinds,
            )

    def _steps(self, run: Integers, begin: Integers) -> Integers:
        """The step of each run: the one in which it was launched, or began if the launch is unknown; -1 for none."""
        first = np.full(len(self._runs), np.iinfo(np.int64).max, np.int64)
        np.minimum.at(first, run, begin)
        for (run_id, _, _), number in self._runs.items():
            first[number] = self._launched.get(run_id, first[number])
        return within(first, self._marks)

    def _device_runs(self, run: Integers, events: Events) -> tuple[list[int], Runs]:
        """A device's run numbers and runs, each from the begin of its first operation to the end of its last."""
        keys = list(self._runs)
        found = []
        for number, mine in grouped(run):
            _, module, program_id = keys[number]
            low, high = int(events.begin[mine].min()), int(events.end[mine].max())
            found.append((number, ((module, program_id), low, high)))
        found.sort(key=lambda each: each[1][1])
        return [number for number, _ in found], Runs.of(run for _, run in found)


def _int(stats: Stats, key: str) -> int:
    """A whole number among the stats; -1 if missing.

    A run's number may be negative, and flows write it without the sign.
    """
    value = stats.get(key)
    return (value + _HALF) % UNSIGNED - _HALF if isinstance(value, int) else -1

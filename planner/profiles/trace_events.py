"""The trace.json of XLA's profiler (JAX, TensorFlow, torch_xla) as planes and lines, like those of .xplane.pb.

It has neither the device's FLOPs nor its name, and ends after a million events. Host launches are recorded as in the
planes, but only for GPUs.

The origin of its clock is unknown: 1970, the machine's start or the profile's. The first events are therefore buffered,
and their median decides it, so that an event with an absurd time affects only itself.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np

from planner.profiles.device_events import FAR
from planner.profiles.planes import Event, EventBlock, Kinds, Plane, Stats

_LAUNCH = "correlation_id"  # shared by a kernel and the host call that launches it
_PASSING = {  # arguments of an event rather than of its operation
    "device_offset_ps", "device_duration_ps", "run_id", _LAUNCH, "flow", "id", "_c", "_p", "_ct", "_pt", "_a",
    "group_id", "Time Scale Multiplier", "queue_id", "context_id", "source_stack", "source", "context",
    "memory_access_breakdown",
}  # fmt: skip
_IDENTITY = ("long_name", "hlo_op", "hlo_module", "program_id", "device_ordinal", "step_num")
_BLOCK = 1 << 17  # events per block
LIMIT = 1_000_000  # most events that the profiler writes


@dataclass
class JsonLine:
    """The events of one thread of a trace, with the interface of EventLine."""

    name: str
    kinds: Kinds
    numbers: array[int] = field(default_factory=lambda: array("i"))
    begins: array[int] = field(default_factory=lambda: array("q"))
    durations: array[int] = field(default_factory=lambda: array("q"))
    launches: array[int] = field(default_factory=lambda: array("q"))  # number of the launch; -1 if unknown

    @property
    def events(self) -> Iterator[Event]:
        """Each event with its kind's stats, and its launch's number if it has one."""
        for number, begin, duration, launch in zip(
            self.numbers, self.begins, self.durations, self.launches, strict=True
        ):
            name, stats = self.kinds[number]
            yield Event(name, begin, duration, stats if launch < 0 else stats | {_LAUNCH: launch})

    def blocks(self) -> Iterator[EventBlock]:
        """All events ordered by begin, in blocks."""
        begins = np.array(self.begins, np.int64)
        order = np.argsort(begins, kind="stable")
        numbers, durations = np.frombuffer(self.numbers, np.int32), np.frombuffer(self.durations, np.int64)
        for at in range(0, len(order), _BLOCK):
            some = order[at : at + _BLOCK]
            yield EventBlock(numbers[some].astype(np.int64), begins[some], begins[some] + durations[some])


class TraceEvents:
    """Collects device events: those on a device's lines, and host events with an operation, step or launch.

    At the end of the file `clock` must be settled.
    """

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}
        self._threads: dict[tuple[Any, Any], str] = {}
        self._lines: dict[tuple[Any, Any], JsonLine] = {}
        self._numbers: dict[Any, dict[tuple[object, ...], int]] = {}
        self._kinds: dict[Any, Kinds] = {}
        self.clock = Clock(self._timed)
        self._shifts: dict[Any, int] = {}  # by device, the lead of the host's clock at its first event
        self.count = 0

    @property
    def processes(self) -> Iterable[str]:
        """The process names in the file."""
        return self._names.values()

    def add(self, event: dict[str, Any]) -> None:
        """Add an event of the file."""
        phase = event.get("ph")
        if phase == "M":
            self._described(event)
        elif phase == "X":
            self.count += 1
            args = _args(event)
            of_device = not self._names.get(_id(event, "pid"), "").startswith("/host:")
            if of_device or "hlo_op" in args or "step_num" in args or _LAUNCH in args:
                self.clock.add(event)

    def _described(self, event: dict[str, Any]) -> None:
        args = event.get("args")
        name = args.get("name") if isinstance(args, dict) else None
        if event.get("name") == "process_name":
            self._names[_id(event, "pid")] = str(name)
        elif event.get("name") == "thread_name":
            self._threads[_id(event, "pid"), _id(event, "tid")] = str(name)

    def _timed(self, event: dict[str, Any], begin: int, duration: int) -> None:
        """Add an event with known begin and duration in ps."""
        pid, args = _id(event, "pid"), _args(event)
        at, lasted = self._clocked(pid, args, begin, duration)
        if max(abs(at), abs(lasted)) > FAR:
            return
        name = str(event.get("name", ""))
        run = args.get("run_id") if "device_ordinal" in args else None
        identity = (name, str(run), *(str(args.get(key, "")) for key in _IDENTITY))
        numbers = self._numbers.setdefault(pid, {})
        kinds = self._kinds.setdefault(pid, {})
        number = numbers.setdefault(identity, len(numbers))
        if number not in kinds:
            stats: Stats = {key: _value(value) for key, value in args.items() if key not in _PASSING}
            kinds[number] = (name, stats if run is None else stats | {"run_id": _value(run)})
        line = self._lines.setdefault((pid, _id(event, "tid")), JsonLine("", kinds))
        line.numbers.append(number)
        line.begins.append(at)
        line.durations.append(max(lasted, 0))
        launch = _value(args.get(_LAUNCH, -1))
        line.launches.append(launch if isinstance(launch, int) and 0 <= launch < FAR else -1)

    def _clocked(self, pid: Any, args: dict[str, Any], begin: int, duration: int) -> tuple[int, int]:
        """Begin and duration on the device's own clock if recorded; `ts` and `dur` are on the host's."""
        try:
            offset, lasted = int(args["device_offset_ps"]), int(args["device_duration_ps"])
        except (KeyError, TypeError, ValueError, OverflowError):
            return begin, duration
        return offset + self._shifts.setdefault(pid, begin - offset), lasted

    def planes(self) -> tuple[Plane, ...]:
        """The collected events, a plane for each process."""
        for key, line in self._lines.items():
            line.name = self._threads.get(key, str(key[1]))
        found = []
        for pid, kinds in self._kinds.items():
            lines = tuple(line for key, line in self._lines.items() if key[0] == pid)
            found.append(Plane(self._names.get(pid, str(pid)), {}, lines, kinds.copy))
        return tuple(found)


def _args(event: dict[str, Any]) -> dict[str, Any]:
    """An event's arguments besides name and time."""
    arguments = event.get("args")
    return arguments if isinstance(arguments, dict) else {}


def _id(event: dict[str, Any], key: str) -> Any:
    """A process or thread id, which some writers give as text; invalid values are returned as text."""
    value = event.get(key)
    return value if isinstance(value, int | str | float | None) else str(value)


def _value(value: Any) -> int | float | str:
    """The value as a number if it is one, possibly written as text."""
    if isinstance(value, int | float):
        return value
    text = str(value)
    try:
        return int(text)
    except ValueError:
        return text


_US = 1_000_000  # ps
_FIRST = 999  # events to buffer, of which most have a valid time
_LATEST = 1e17  # us, some 3,000 years: larger times are absurd
_STARTED = 60e6  # us, a minute: beyond this the clock didn't start with the profile, so times near 0 are absurd

Take = Callable[[dict[str, Any], int, int], None]


class Clock:
    """Passes each event to `take` with its begin and duration in ps, except those with absurd times."""

    def __init__(self, take: Take) -> None:
        self._take = take
        self._waiting: list[tuple[dict[str, Any], float, int]] = []
        self._base: float | None = None
        self.untimed = 0  # events left out for their times

    @property
    def base(self) -> float:
        """The origin of the event times, in microseconds."""
        return self._base or 0.0

    def add(self, event: dict[str, Any]) -> None:
        """Add an event of the file, in order."""
        try:
            microseconds, duration = float(event["ts"]), round(float(event.get("dur") or 0) * _US)
        except (KeyError, TypeError, ValueError, OverflowError):
            self.untimed += 1
            return
        if not isfinite(microseconds) or abs(microseconds) > _LATEST or abs(duration) > FAR:
            self.untimed += 1
            return
        if self._base is not None:
            self._give(self._base, event, microseconds, duration)
            return
        self._waiting.append((event, microseconds, duration))
        if len(self._waiting) == _FIRST:
            self.settle()

    def settle(self) -> None:
        """Pass on the waiting events, once the clock is known or the file has ended."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            times = [microseconds for _, microseconds, _ in waiting]
            middle = sorted(times)[len(times) // 2]
            self._base = float(int(next(each for each in times if _is_near(middle, each))))
            for each in waiting:
                self._give(self._base, *each)

    def _give(self, base: float, event: dict[str, Any], microseconds: float, duration: int) -> None:
        if _is_near(base, microseconds):
            self._take(event, round((microseconds - base) * _US), duration)
        else:
            self.untimed += 1


def _is_near(known: float, microseconds: float) -> bool:
    """Whether a time is close enough to a known one to be in the same trace."""
    return abs(microseconds - known) * _US <= FAR and not microseconds <= 0 < _STARTED < known

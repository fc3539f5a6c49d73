"""The trace.json of XLA's profiler (JAX, TensorFlow, torch_xla) as planes and lines, as its .xplane.pb has them.

It has no FLOPs of the device and no device's name, and ends after a million events. What the host launches is told as
in the planes, of GPUs alone.

Since when its clock counts isn't told: since 1970, since the machine's start or since the profile's. So the first
events wait for each other: the one in the middle of them tells it, and an event of an absurd time costs only itself.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np

from planner.profiles.device_events import FAR
from planner.profiles.xspace import Event, EventBlock, Kinds, KindsInMemory, Plane, Stats

_LAUNCH = "correlation_id"  # of a kernel, and of the host's call that launches it
_PASSING = {  # what is each event's own, and not its operation's
    "device_offset_ps", "device_duration_ps", "run_id", _LAUNCH, "flow", "id", "_c", "_p", "_ct", "_pt", "_a",
    "group_id", "Time Scale Multiplier", "queue_id", "context_id", "source_stack", "source", "context",
    "memory_access_breakdown",
}  # fmt: skip
_IDENTITY = ("long_name", "hlo_op", "hlo_module", "program_id", "device_ordinal", "step_num")
_BLOCK = 1 << 17  # events that are given at once
LIMIT = 1_000_000  # events that the profiler writes at most


@dataclass
class JsonLine:
    """The events of one thread of a trace, as EventLine has them."""

    name: str
    kinds: Kinds
    numbers: array[int] = field(default_factory=lambda: array("i"))
    begins: array[int] = field(default_factory=lambda: array("q"))
    durations: array[int] = field(default_factory=lambda: array("q"))
    launches: array[int] = field(default_factory=lambda: array("q"))  # what is launched, or by which; -1: not told

    @property
    def events(self) -> Iterator[Event]:
        """Each event with the stats of its kind, and its launch's number where it has one."""
        for number, begin, duration, launch in zip(
            self.numbers, self.begins, self.durations, self.launches, strict=True
        ):
            name, stats = self.kinds[number]
            yield Event(name, begin, duration, stats if launch < 0 else stats | {_LAUNCH: launch})

    def blocks(self) -> Iterator[EventBlock]:
        """All of them by their begin, many at a time."""
        begins = np.array(self.begins, np.int64)
        order = np.argsort(begins, kind="stable")
        numbers, durations = np.frombuffer(self.numbers, np.int32), np.frombuffer(self.durations, np.int64)
        for at in range(0, len(order), _BLOCK):
            some = order[at : at + _BLOCK]
            yield EventBlock(numbers[some].astype(np.int64), begins[some], begins[some] + durations[some])


class TraceEvents:
    """Collects the events of devices: those of lines of a device, and a host's with an operation, step or launch."""

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}
        self._threads: dict[tuple[Any, Any], str] = {}
        self._lines: dict[tuple[Any, Any], JsonLine] = {}
        self._numbers: dict[Any, dict[tuple[object, ...], int]] = {}
        self._kinds: dict[Any, Kinds] = {}
        self._clock = Clock(self._timed)
        self._shifts: dict[Any, int] = {}  # what the host's clock is ahead of a device's, at its first event
        self.count = 0

    @property
    def processes(self) -> Iterable[str]:
        """The names of processes that the file tells."""
        return self._names.values()

    def add(self, event: dict[str, Any]) -> None:
        """Take one event of the file."""
        phase = event.get("ph")
        if phase == "M":
            self._described(event)
        elif phase == "X":
            self.count += 1
            args = _args(event)
            of_device = not self._names.get(_id(event, "pid"), "").startswith("/host:")
            if of_device or "hlo_op" in args or "step_num" in args or _LAUNCH in args:
                self._clock.add(event)

    def settle(self) -> None:
        """Take the events that still wait for their clock: the file has no more."""
        self._clock.settle()

    def _described(self, event: dict[str, Any]) -> None:
        args = event.get("args")
        name = args.get("name") if isinstance(args, dict) else None
        if event.get("name") == "process_name":
            self._names[_id(event, "pid")] = str(name)
        elif event.get("name") == "thread_name":
            self._threads[_id(event, "pid"), _id(event, "tid")] = str(name)

    def _timed(self, event: dict[str, Any], begin: int, duration: int) -> None:
        """Take one event whose begin and duration are known, in ps."""
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
        """Begin and duration by the device's own clock, where the event has them: `ts` and `dur` are in the host's."""
        try:
            offset, lasted = int(args["device_offset_ps"]), int(args["device_duration_ps"])
        except (KeyError, TypeError, ValueError, OverflowError):
            return begin, duration
        return offset + self._shifts.setdefault(pid, begin - offset), lasted

    def planes(self) -> tuple[Plane, ...]:
        """What was taken, a plane for each process."""
        for key, line in self._lines.items():
            line.name = self._threads.get(key, str(key[1]))
        found = []
        for pid in self._kinds:
            lines = tuple(line for key, line in self._lines.items() if key[0] == pid)
            found.append(Plane(self._names.get(pid, str(pid)), {}, lines, KindsInMemory(self._kinds[pid])))
        return tuple(found)


def _args(event: dict[str, Any]) -> dict[str, Any]:
    """What an event says of itself beside its name and time."""
    told = event.get("args")
    return told if isinstance(told, dict) else {}


def _id(event: dict[str, Any], key: str) -> Any:
    """A process or thread, whose numbers some writers give as text; a value that can't be one as text."""
    value = event.get(key)
    return value if isinstance(value, int | str | float | None) else str(value)


def _value(value: Any) -> int | float | str:
    """A number where it is one, written as text or not."""
    if isinstance(value, int | float):
        return value
    text = str(value)
    try:
        return int(text)
    except ValueError:
        return text


_US = 1_000_000  # ps
_FIRST = 999  # events that wait: of these most have a true time
_LATEST = 1e17  # us, some 3,000 years: no clock counts so far
_STARTED = 60e6  # us, a minute: a clock that stands at more has not just begun, and nothing was at 0 or before

Take = Callable[[dict[str, Any], int, int], None]


class Clock:
    """Gives each event on to `take` with its begin and duration in ps, those of absurd times aside."""

    def __init__(self, take: Take) -> None:
        self._take = take
        self._waiting: list[tuple[dict[str, Any], float, int]] = []
        self._base: float | None = None

    @property
    def base(self) -> float:
        """The microseconds since which the events are counted."""
        return self._base or 0.0

    def add(self, event: dict[str, Any]) -> None:
        """Take one event of the file, in order."""
        try:
            microseconds, duration = float(event["ts"]), round(float(event.get("dur") or 0) * _US)
        except (KeyError, TypeError, ValueError, OverflowError):
            return
        if not isfinite(microseconds) or abs(microseconds) > _LATEST or abs(duration) > FAR:
            return
        if self._base is not None:
            self._give(self._base, event, microseconds, duration)
            return
        self._waiting.append((event, microseconds, duration))
        if len(self._waiting) == _FIRST:
            self.settle()

    def settle(self) -> None:
        """Give those that still wait: the file has no more events, or the clock is known."""
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


def _is_near(known: float, microseconds: float) -> bool:
    """Whether an event may be of a trace that has one at a known time."""
    return abs(microseconds - known) * _US <= FAR and not microseconds <= 0 < _STARTED < known

"""The clock of a trace in JSON: its events' microseconds as picoseconds since a time near them all.

Since when a clock counts isn't told: since 1970, since the machine's start or since the profile's. So the first events
wait for each other: the one in the middle of them tells it, and an event of an absurd time costs only itself.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

from planner.profiles.recording import FAR

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

"""A timing of one case: three independent times, which of them counts, and its guards.

A per-call time holds the dispatch, a loop may be optimised away, a profile may lose events. Each
fails in its own way, so a time is trusted when they agree. A flagged row is shown, and never used
in a fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.measure.samples import Summary

ABOVE_PEAK = 1.05  # of the predicted least time: faster than the data sheet allows
NOISY = 0.10  # median absolute deviation over median
DISPATCH_BOUND = 5.0  # a call this few dispatch floors long times the host, not the device
AGREE = (0.8, 1.25)
STEADY = (0.9, 1.1)  # last quarter over first
GROWTH = 1.5  # a loop three times as long that takes less than this did not do its work
EMPTY_LOOP = 10.0  # dispatch floors that a loop of no iterations takes, or less
FEW = 7


@dataclass(frozen=True)
class LoopTime:
    """Time per iteration of a loop inside one program, in seconds.

    `growth` is T(3n)/T(n) and `setup_s` T(0): work that XLA hoists out of the loop turns up there.
    """

    summary: Summary
    n_inner: int
    growth: float
    setup_s: float


@dataclass(frozen=True)
class Timing:
    """All that was measured of a case, in s; `floor_s` is the predicted least time, or NaN."""

    platform: str
    wall: Summary
    drift: float
    dispatch_s: float
    loop: LoopTime | None = None
    device: Summary | None = None
    floor_s: float = math.nan
    compile_s: float = math.nan
    xla_flops: float = math.nan
    xla_bytes: float = math.nan
    temp_bytes: float = math.nan
    is_transfer: bool = False  # a copy from or to the host: no program that a loop or a profile could time

    @property
    def method(self) -> str:
        """Whose time counts: the profiler's, the loop's slope on a CPU, else a call's."""
        return self._counting[0]

    @property
    def primary(self) -> Summary:
        """The time that counts, by `method`."""
        return self._counting[1]

    @property
    def _counting(self) -> tuple[str, Summary]:
        if self.device and self.platform != "cpu":
            return "profiler", self.device
        if self.loop and not self.is_loop_elided:
            return "loop", self.loop.summary
        return "wall", self.wall

    @property
    def n_inner(self) -> int:
        """Iterations of the loop; 1 where no loop was timed."""
        return self.loop.n_inner if self.loop else 1

    @property
    def is_dispatch_bound(self) -> bool:
        """Whether a call is too short to tell from the host's own work."""
        return self.wall.median < DISPATCH_BOUND * self.dispatch_s

    @property
    def is_loop_elided(self) -> bool:
        """Whether XLA took the work out of the loop: it hardly grows, or its set-up holds a call.

        A call that is mostly dispatch has hardly any work to look for there.
        """
        if self.loop is None:
            return False
        half_call = self.wall.least / 2
        work_outside = self.loop.setup_s - EMPTY_LOOP * self.dispatch_s
        is_in_setup = self.loop.summary.median < half_call < work_outside and not self.is_dispatch_bound
        return self.loop.growth < GROWTH or is_in_setup

    @property
    def flags(self) -> tuple[str, ...]:
        """The guards that this timing fails; empty when it can be trusted."""
        found = {
            "above_peak": self.primary.median * ABOVE_PEAK < self.floor_s,
            "loop_elided": self.is_loop_elided,
            "noisy": self.primary.spread > NOISY,
            "dispatch_bound": self.is_dispatch_bound,
            "drift": _outside(self.drift, STEADY),
            "few_samples": self.primary.n_samples < FEW,
            "no_loop_time": self.loop is None and not self.is_transfer,
            "no_device_time": self.device is None and not self.is_transfer,
        }
        return (*(name for name, failed in found.items() if failed), *self._disagreements())

    def _disagreements(self) -> list[str]:
        """The loop against the two others, as `loop/device=0.71`, where they differ too much."""
        if self.loop is None:
            return []
        loop, others = self.loop.summary.median, {"wall": self.wall, "device": self.device}
        return [
            f"loop/{name}={loop / other.median:.2f}"
            for name, other in others.items()
            if other and disagree(loop, other.median)
        ]


def disagree(one: float, other: float) -> bool:
    """Whether two times of one thing differ by more than they may; an emptied loop takes 0."""
    return not AGREE[0] * other <= one <= AGREE[1] * other


def _outside(ratio: float, bounds: tuple[float, float]) -> bool:
    """Whether a ratio is outside its bounds; NaN is not, for nothing was compared."""
    return ratio < bounds[0] or ratio > bounds[1]

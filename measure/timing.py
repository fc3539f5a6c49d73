"""Repeated timings and their statistics, the choice of the time that counts, and the guards of a case.

Medians, never means: one hiccup of the host changes a mean by a factor and a median not at all.

A case has three independent times. A time per call includes the dispatch, a loop may be optimised away, and a profile
may lose events. Since each fails in its own way, a time is trusted if they agree. A flagged row is shown but never used
in a fit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from planner.measure.records import TOLERATED, time_fault

Timer = Callable[[], float]

RESAMPLES = 1000
DRIFT_NEEDS = 8  # with fewer samples a quarter would be a single one
NOISY = 0.10  # median absolute deviation over median
DISPATCH_BOUND = 5.0  # a call shorter than this many dispatch floors times the host, not the device
AGREE = (0.8, 1.25)
STEADY = (0.9, 1.1)  # last quarter over first
GROWTH = 1.5  # if a loop three times as long takes less than this factor more, it did no work
EMPTY_LOOP = 10.0  # dispatch floors that a loop without iterations takes at most
FEW = 7


@dataclass(frozen=True)
class Rules:
    """How long to warm up and how many samples to take; times in seconds."""

    warmup_calls: int = 2  # the first calls pay for page faults and thread start
    warmup_s: float = 0.5  # clocks and power ramp up within half a second
    min_samples: int = 8  # two for each of the quarters that `drift` compares
    max_samples: int = 50
    half_width: float = 0.02  # of the median: stop when its 95 % interval is this narrow
    sample_s: float = 2.0  # also stop after this, once there are min_samples
    contested_s: float = 4.0  # or after this, if the times disagree and are not settled
    patience_s: float = 30.0  # always stop after this: one call may take minutes
    loop_s: float = 0.030  # duration of a sample, at least 100 times a dispatch
    profiled_calls: int = 30  # at most this many in one profile, fewer if they last longer than a loop


STANDARD = Rules()
BRISK = Rules(
    warmup_s=0.2, max_samples=30, loop_s=0.02, sample_s=0.5, contested_s=1.5, patience_s=5.0, profiled_calls=15
)  # for the quick suite


@dataclass(frozen=True)
class TimingSummary:
    """Statistics of timings in seconds.

    `mad` is the median absolute deviation, `ci_*` the 95 % interval of the median.
    """

    n_samples: int
    median: float
    least: float
    mean: float
    p90: float
    mad: float
    ci_low: float
    ci_high: float

    @property
    def spread(self) -> float:
        """Median absolute deviation over median."""
        return self._over_median(self.mad)

    @property
    def half_width(self) -> float:
        """Half of the median's 95 % interval, relative to the median."""
        return self._over_median((self.ci_high - self.ci_low) / 2)

    def _over_median(self, width: float) -> float:
        # the slope of a loop that XLA emptied may be zero or less
        return width / abs(self.median) if self.median else math.inf


def summarize(samples: Sequence[float]) -> TimingSummary:
    """Statistics of samples in seconds; the interval is a bootstrap with a fixed seed."""
    values = np.asarray(samples, dtype=float)
    median = float(np.median(values))
    drawn = np.random.default_rng(0).choice(values, (RESAMPLES, values.size))
    low, high = np.percentile(np.median(drawn, axis=1), [2.5, 97.5])
    return TimingSummary(
        n_samples=values.size,
        median=median,
        least=float(values.min()),
        mean=fmean(values),
        p90=float(np.percentile(values, 90)),
        mad=float(np.median(np.abs(values - median))),
        ci_low=float(low),
        ci_high=float(high),
    )


def sample(take: Timer, rules: Rules, now: Timer = time.perf_counter) -> list[float]:
    """Timings from `take`, until their median is settled, within the limits of `rules`."""
    samples: list[float] = []
    repeat(lambda: samples.append(take()), rules, lambda: summarize(samples).half_width < rules.half_width, now=now)
    return samples


def repeat(
    take: Callable[[], None],
    rules: Rules,
    is_settled: Callable[[], bool],
    is_contested: Callable[[], bool] = lambda: False,
    now: Timer = time.perf_counter,
) -> None:
    """Take samples until they are settled or the time of `rules` is up, which is later for contested times."""
    begin, next_check = now(), rules.min_samples
    for taken in range(1, rules.max_samples + 1):
        take()
        elapsed = now() - begin
        if elapsed > rules.patience_s:
            return
        if taken < next_check:
            continue
        if is_settled() or elapsed > (rules.contested_s if is_contested() else rules.sample_s):
            return
        # a bootstrap between any two samples would cool caches and threads: look again 1.4 times later
        next_check = taken * 7 // 5


def drift(samples: Sequence[float]) -> float:
    """Median of the last quarter over that of the first, in the order taken. NaN if there are too few."""
    if len(samples) < DRIFT_NEEDS:
        return float("nan")
    quarter = len(samples) // 4
    return float(np.median(samples[-quarter:]) / np.median(samples[:quarter]))


@dataclass(frozen=True)
class LoopTime:
    """The time per iteration of a loop inside one program, in seconds."""

    summary: TimingSummary
    n_inner: int
    growth: float  # T(3n)/T(n)
    setup_s: float  # T(0): includes work that XLA hoisted out of the loop


@dataclass(frozen=True)
class Timing:
    """All measurements of a case in seconds. `floor_s` is the predicted lower bound of its time, or NaN."""

    platform: str
    wall: TimingSummary
    drift: float
    dispatch_s: float
    loop: LoopTime | None = None
    device: TimingSummary | None = None
    floor_s: float = math.nan
    compile_s: float = math.nan
    xla_flops: float = math.nan
    xla_bytes: float = math.nan
    temp_bytes: float = math.nan
    is_spread: bool = False  # over a mesh
    is_kept: bool | None = None  # whether program and loop contain the collectives; None if the case has none
    is_transfer: bool = False  # a copy from or to the host: no program that a loop or a profile could time

    @property
    def method(self) -> str:
        """Which time counts: the profiler's, else the loop's slope on a CPU, else a call's."""
        return self._counting[0]

    @property
    def primary(self) -> TimingSummary:
        """The time that counts, as chosen by `method`."""
        return self._counting[1]

    @property
    def _counting(self) -> tuple[str, TimingSummary]:
        if self.device and _is_time(self.device) and self.platform != "cpu":
            return "profiler", self.device
        if self.loop and not self.is_loop_elided:
            return "loop", self.loop.summary
        return "wall", self.wall

    @property
    def n_inner(self) -> int:
        """Iterations of the loop; 1 if no loop was timed."""
        return self.loop.n_inner if self.loop else 1

    @property
    def is_dispatch_bound(self) -> bool:
        """Whether a call is too short to distinguish from the host's own work."""
        return self.wall.median < DISPATCH_BOUND * self.dispatch_s

    @property
    def is_apart(self) -> bool:
        """Whether the time that counts, of a case over a mesh, can't be checked against the time of a call.

        A collective of a few KB takes less than a call on all devices. And the devices simulated by a CPU can't queue
        calls, so each call wakes the threads of all of them.
        """
        return self.is_spread and self.method != "wall" and (self.is_dispatch_bound or self.is_unprofiled)

    @property
    def is_unprofiled(self) -> bool:
        """Whether there can be no profile: the devices simulated by a CPU share one plane."""
        return self.is_spread and self.platform == "cpu"

    @property
    def is_loop_elided(self) -> bool:
        """Whether XLA optimised the work out of the loop: it hardly grows with n, or its set-up contains a call.

        Also if a loop took less than its set-up in most turns, or in one turn by more than an iteration: then the time
        of an iteration is unknown. If a call is mostly dispatch, growth isn't checked. Collectives are looked for in
        the loop's HLO.
        """
        if self.loop is None:
            return False
        if self.loop.summary.median <= 0 or self.loop.summary.least < -self.loop.summary.median:
            return True
        if self.is_kept and self.loop.summary.least > 0:
            return False
        half_call = self.wall.least / 2
        work_outside = self.loop.setup_s - EMPTY_LOOP * self.dispatch_s
        is_in_setup = self.loop.summary.median < half_call < work_outside and not self.is_dispatch_bound
        return self.loop.growth < GROWTH or is_in_setup

    @property
    def flags(self) -> tuple[str, ...]:
        """The guards that this timing fails; empty if it can be trusted."""
        found = {
            "above_peak": self.primary.median * TOLERATED < self.floor_s,
            "loop_elided": self.is_loop_elided,
            "noisy": self.primary.spread > NOISY,
            "dispatch_bound": self.is_dispatch_bound and not self.is_apart,
            "drift": self.drift < STEADY[0] or self.drift > STEADY[1],  # both false for NaN: nothing was compared
            "few_samples": self.primary.n_samples < FEW,
            "no_loop_time": self.loop is None and not self.is_transfer,
            "no_device_time": not _is_time(self.device) and not self.is_transfer and not self.is_unprofiled,
            "collective_elided": self.is_kept is False,
        }
        return (*(name for name, failed in found.items() if failed), *self._disagreements())

    def _disagreements(self) -> list[str]:
        """The loop compared with the other two times, such as `loop/device=0.71`, for each that differs too much."""
        if self.loop is None:
            return []
        loop, others = self.loop.summary.median, {"wall": self.wall, "device": self.device}
        return [
            f"loop/{name}={loop / other.median:.2f}"
            for name, other in others.items()
            if other and _is_time(other) and disagree(loop, other.median) and not (name == "wall" and self.is_apart)
        ]


def disagree(one: float, other: float) -> bool:
    """Whether two times of the same thing differ by more than the tolerance; an emptied loop takes 0."""
    return not AGREE[0] * other <= one <= AGREE[1] * other


def _is_time(summary: TimingSummary | None) -> bool:
    """Whether there are timings and their median is a possible duration of a run."""
    return summary is not None and not time_fault(summary.median)

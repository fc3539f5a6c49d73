"""Repeated timings and their statistics: medians with an interval, and when enough is enough.

Medians, never means: one hiccup of the host moves a mean by a factor and a median not at all.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

Timer = Callable[[], float]

RESAMPLES = 1000
DRIFT_NEEDS = 8  # fewer samples leave a quarter of one sample, which says nothing


@dataclass(frozen=True)
class Rules:
    """How long to warm up and how many samples to take; times in seconds."""

    warmup_calls: int = 2  # the first calls pay for page faults and thread start
    warmup_s: float = 0.5  # clocks and power ramp up within half a second
    min_samples: int = 8  # two for each of the quarters that `drift` compares
    max_samples: int = 50
    half_width: float = 0.02  # of the median: stop when its 95 % interval is this narrow
    sample_s: float = 2.0  # stop here too, once there are min_samples
    contested_s: float = 4.0  # or here, where times of one thing differ and are not settled
    patience_s: float = 30.0  # stop here whatever the number of samples: one call may take minutes
    loop_s: float = 0.030  # a sample lasts this long, 100 times a dispatch or more
    profiled_calls: int = 30  # in one profile, or fewer where they last longer than a loop


STANDARD = Rules()
BRISK = Rules(
    warmup_s=0.2, max_samples=30, loop_s=0.02, sample_s=0.5, contested_s=1.5, patience_s=5.0, profiled_calls=15
)  # of the quick suite


@dataclass(frozen=True)
class Summary:
    """Timings in seconds: `mad` is the median absolute deviation, `ci_*` the median's 95 % bounds."""

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
        """Half of the median's 95 % interval over the median."""
        return self._over_median((self.ci_high - self.ci_low) / 2)

    def _over_median(self, width: float) -> float:
        # the slope of a loop that XLA emptied may be zero or less
        return width / abs(self.median) if self.median else math.inf


def summarize(samples: Sequence[float]) -> Summary:
    """Statistics of samples in seconds; the interval is a bootstrap with a fixed seed."""
    values = np.asarray(samples, dtype=float)
    median = float(np.median(values))
    drawn = np.random.default_rng(0).choice(values, (RESAMPLES, values.size))
    low, high = np.percentile(np.median(drawn, axis=1), [2.5, 97.5])
    return Summary(
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
    """Timings from `take`, as many as settle their median, between the bounds of `rules`."""
    samples: list[float] = []
    repeat(
        lambda: samples.append(take()), rules, lambda: summarize(samples).half_width < rules.half_width, now=now
    )  # fmt: skip
    return samples


def repeat(
    take: Callable[[], None], rules: Rules, is_settled: Callable[[], bool],
    is_contested: Callable[[], bool] = lambda: False, now: Timer = time.perf_counter,
) -> None:  # fmt: skip
    """Take samples until they are settled, or time is up by `rules`: later where contested."""
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
    """Median of the last quarter over that of the first, in the order taken; NaN when too few."""
    if len(samples) < DRIFT_NEEDS:
        return float("nan")
    quarter = len(samples) // 4
    return float(np.median(samples[-quarter:]) / np.median(samples[:quarter]))

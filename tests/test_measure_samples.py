"""Statistics of repeated timings, on fixed samples and a clock that the test turns."""

from __future__ import annotations

import math
from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.measure.timing import Rules, drift, repeat, sample, summarize


def test_summary_of_fixed_samples():
    """Median, extremes and deviations of numbers that can be checked by hand."""
    summary = summarize([5.0, 1.0, 3.0, 2.0, 4.0])
    assert (summary.n_samples, summary.median, summary.least, summary.mean) == (5, 3.0, 1.0, 3.0)
    assert summary.mad == 1.0
    assert summary.p90 == pytest.approx(4.6)
    assert summary.spread == pytest.approx(1 / 3)


def test_one_hiccup_moves_the_mean_and_not_the_median():
    """The reason why rates are derived from medians."""
    summary = summarize([316e-6] * 19 + [10e-3])
    assert summary.median == 316e-6
    assert summary.mean > 2 * summary.median


def test_interval_repeats_and_narrows():
    """The bootstrap has a fixed seed, and four times the samples give a narrower interval."""
    few = [1 + 0.01 * (i * 7 % 10) for i in range(10)]
    assert summarize(few) == summarize(few)
    assert summarize(few * 4).half_width < summarize(few).half_width


@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=40))
def test_median_stands_inside_its_interval(values):
    """On any samples: low <= median <= high, all between the extremes."""
    summary = summarize(values)
    assert summary.least <= summary.ci_low <= summary.median <= summary.ci_high <= max(values)


class Clock:
    """A clock that a timing moves on by what it returns."""

    def __init__(self, durations):
        self.now, self._durations = 0.0, cycle(durations)

    def take(self):
        seconds = next(self._durations)
        self.now += seconds
        return seconds

    def run(self, **rules):
        return sample(self.take, Rules(**rules), lambda: self.now)


def test_steady_samples_stop_at_the_least_number():
    """Eight equal samples have an interval of no width."""
    assert len(Clock([0.01]).run()) == 8


def test_unsteady_samples_go_on_to_the_most():
    """Two modes far apart never settle, within the time budget."""
    assert len(Clock([1e-3, 2e-3]).run()) == 50


def test_time_budget_stops_unsteady_samples():
    """After sample_s no more are taken than the next look needs."""
    assert 8 <= len(Clock([0.1, 0.2]).run(sample_s=1.0)) < 16


def test_patience_ends_even_below_the_least_number():
    """A case of 20 s a call is not called seven times."""
    assert len(Clock([20.0]).run()) == 2


@pytest.mark.parametrize(("is_settled", "is_contested", "seconds"), [
    (True, True, 1.0), (False, False, 2.0), (False, True, 4.0)
])  # fmt: skip
def test_times_that_differ_are_given_longer_to_settle(is_settled, is_contested, seconds):
    """Settled ones are done, whether they agree or not: what is left between them is no accident."""
    clock, taken = Clock([0.125]), []
    repeat(
        lambda: taken.append(clock.take()), Rules(sample_s=2.0, contested_s=4.0), lambda: is_settled,
        lambda: is_contested, lambda: clock.now,
    )  # fmt: skip
    assert seconds <= sum(taken) <= seconds * 7 / 5 + 0.125


def test_drift_compares_quarters():
    """Twice as slow at the end is 2; too few samples say nothing."""
    assert drift([1.0] * 4 + [2.0] * 4) == 2.0
    assert math.isnan(drift([1.0] * 7))

"""Three times of one workload, taken in turns: per call, per iteration of a loop, from profiles.

What else a machine does comes and goes within seconds. Taken one after the other, the three would
each meet another machine; in turns they meet the same one. For the same reason a sample of each
lasts about as long, `Rules.loop_s`: a burst of calls, the profile of such a burst, and a loop. The
median of a short time and the median of a long one are not alike on a machine that is now fast and
now slow, not even where both had their share of either.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from statistics import fmean, median

import jax

from planner.errors import UserError
from planner.measure import profiles, spread
from planner.measure.timing import LoopTime, Rules, Timer, disagree, repeat, summarize

MODULE = "jit_measured"  # what profiles call the program; jit names it after the function
GROW_AT_MOST = 1000  # times the first guess of a loop's length: past that the loop is empty
LONG = 3  # times as long a loop shows whether a loop grows with its iterations
Runs = Callable[[int], float]  # a number of runs, or of a loop's iterations, to seconds


@dataclass
class Turns:
    """The samples so far, one a turn, in seconds."""

    n_inner: int = 1
    setup_s: float = math.nan  # a loop of no iterations
    long_s: float = math.nan  # the quickest loop of LONG times `n_inner`
    walls: list[float] = field(default_factory=list)  # a call
    loops: list[float] = field(default_factory=list)  # a whole loop
    devices: list[float] = field(default_factory=list)  # a run by its profile

    @property
    def slopes(self) -> list[float]:
        """Seconds of an iteration: (T(n) - T(0)) / n, which holds neither dispatch nor set-up."""
        return [(seconds - self.setup_s) / self.n_inner for seconds in self.loops]

    @property
    def loop(self) -> LoopTime | None:
        """What the loops say; None without any."""
        if not self.loops:
            return None
        growth = self.long_s / min(self.loops)  # the least, for a disturbed loop grows or shrinks at random
        return LoopTime(summarize(self.slopes), self.n_inner, growth, self.setup_s)

    @property
    def course(self) -> list[float]:
        """How slow each turn was beside the others: 1 for one like most."""
        each = [[seconds / middle for seconds in times] for times in self._times() if (middle := median(times)) > 0]
        return [fmean(known) for turn in zip_longest(*each) if (known := [part for part in turn if part is not None])]

    def is_settled(self, half_width: float) -> bool:
        """Whether each time's median is known to this share of it."""
        return all(summarize(times).half_width < half_width for times in self._times())

    @property
    def is_contested(self) -> bool:
        """Whether two of the times differ by more than their tolerance."""
        medians = [median(times) for times in self._times()]
        return any(disagree(one, other) for one in medians for other in medians)

    def _times(self) -> list[list[float]]:
        return [times for times in (self.walls, self.slopes, self.devices) if times]


def in_turns(
    call: Runs, loop: Runs | None, call_s: float, rules: Rules, keep: Path | None = None, *,
    is_spread: bool = False, now: Timer = time.perf_counter,
) -> Turns:  # fmt: skip
    """Samples of each time, as many as settle all their medians, or as `rules` have time for.

    `call_s` is about what a call takes: of one that tries the patience of `rules`, the calls alone are timed. Where the
    times neither settle nor agree, more is taken. A loop that fails is left out, and so is a profiler that gives
    nothing. A CPU has a profile in every turn; elsewhere one at the end is enough, since its clock is the device's.
    They are kept in the folder `keep`, if given. Over a mesh (`is_spread`) a CPU has none, since its devices share a
    plane of it; elsewhere the slowest process counts, and `now` is a clock that all of them share.
    """
    taken, is_cpu = Turns(), jax.default_backend() == "cpu"
    burst, is_patient = max(1, math.ceil(rules.loop_s / call_s)), (1 + LONG) * call_s < rules.patience_s
    timed = prepared(loop, call_s, rules, taken) if loop and is_patient else None
    takers = Takers(taken, call, timed, burst, rules, keep, is_profiled=is_cpu and is_patient and not is_spread)
    repeat(takers.turn, rules, lambda: taken.is_settled(rules.half_width), lambda: taken.is_contested, now)
    if not is_cpu:
        enough = max(3, min(rules.profiled_calls, math.ceil(rules.sample_s / call_s)))
        runs = profiled(call, enough, keep)
        taken.devices = spread.slowest(runs) if is_spread else runs
    return taken


@dataclass
class Takers:
    """What takes the samples of a turn: `burst` calls in a row, as many in a profile, the loop."""

    taken: Turns
    call: Runs
    loop: Runs | None
    burst: int
    rules: Rules
    keep: Path | None
    is_profiled: bool
    n_turns: int = 0

    def turn(self) -> None:
        """A sample of each, every turn beginning with another: none always follows the profiler."""
        self.n_turns += 1
        takers = [self._wall, self._loop, self._profile]
        first = self.n_turns % len(takers)
        for take in takers[first:] + takers[:first]:
            if self.burst > 1:
                self.call(1)  # wakes the threads that went to sleep meanwhile
            take()

    def _wall(self) -> None:
        self.taken.walls.append(self.call(self.burst) / self.burst)

    def _loop(self) -> None:
        if self.loop is not None:
            try:
                self.taken.loops.append(self.loop(self.taken.n_inner))
            except jax.errors.JaxRuntimeError:  # memory for one more copy: flagged
                self.loop, self.taken.loops = None, []

    def _profile(self) -> None:
        if self.is_profiled:
            folder = self.keep / f"turn_{self.n_turns}" if self.keep else None
            runs = profiled(self.call, min(self.burst, self.rules.profiled_calls), folder)
            self.taken.devices += [fmean(runs)] if runs else []
            self.is_profiled = bool(runs)


def prepared(loop: Runs, call_s: float, rules: Rules, taken: Turns) -> Runs | None:
    """The loop warmed up, its set-up, length and growth put into `taken`; None where it can't run.

    It is to last `rules.loop_s`, and stops growing where it plainly does nothing.
    """
    try:
        taken.setup_s = min(loop(0) for _ in range(3))
        n = first = max(1, math.ceil(rules.loop_s / call_s))
        if n > 1:
            loop(n)
        while (seconds := loop(n)) < rules.loop_s and n < GROW_AT_MOST * first:
            n = math.ceil(n * min(10.0, 1.2 * rules.loop_s / seconds))
        taken.long_s = min(loop(LONG * n) for _ in range(3 if n > 1 else 1))
    except jax.errors.JaxRuntimeError:
        return None
    taken.n_inner = n
    return loop


def profiled(call: Runs, n_runs: int, keep: Path | None = None) -> list[float]:
    """Seconds of each of so many runs in a row by their profile; none without a profiler.

    One folder for one session: profiles are named by the second. Python is not traced, for that
    slows the host.
    """
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with tempfile.TemporaryDirectory(prefix="measure-", ignore_cleanup_errors=True) as temporary:
        folder = keep or Path(temporary)
        try:
            with jax.profiler.trace(str(folder), profiler_options=options):
                call(n_runs)
            return profiles.run_times(profiles.newest(folder), MODULE, n_runs)
        except (RuntimeError, OSError, UserError):
            return []  # another profiler is running, or counters need a permission: the flag says so

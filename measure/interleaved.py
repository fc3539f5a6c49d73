"""Takes the three times of a workload in turns: a call, an iteration of a loop, a profiled run.

Other load on a machine comes and goes within seconds. Three times measured one after the other would each see a
different load; in turns they see the same one. For the same reason each sample (a burst of calls, the profile of such a
burst, a loop) lasts about `Rules.loop_s`. If the machine's speed fluctuates, medians of short and of long samples
differ even when both saw the same mixture of fast and slow phases.
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

MODULE = "jit_measured"  # the program's name in profiles, which jit takes from the function
GROW_AT_MOST = 1000  # limit on how far a loop is lengthened from the first guess: beyond it, it does no work
LONG = 3  # factor of the longer loop that shows whether time grows with iterations
Runs = Callable[[int], float]  # seconds taken by n runs, or by n iterations of a loop


@dataclass
class Turns:
    """The samples taken so far in seconds, one of each kind per turn."""

    n_inner: int = 1
    setup_s: float = math.nan  # the time of a loop with no iterations
    long_s: float = math.nan  # the quickest loop of LONG times `n_inner`
    walls: list[float] = field(default_factory=list)  # a call
    loops: list[float] = field(default_factory=list)  # a whole loop
    devices: list[float] = field(default_factory=list)  # a run by its profile

    @property
    def slopes(self) -> list[float]:
        """Seconds per iteration, (T(n) - T(0)) / n, which excludes dispatch and set-up."""
        return [(seconds - self.setup_s) / self.n_inner for seconds in self.loops]

    @property
    def loop(self) -> LoopTime | None:
        """The statistics of the loops. None if no loop was timed."""
        if not self.loops:
            return None
        growth = self.long_s / min(self.loops)  # the minimum, because a disturbed loop is longer at random
        return LoopTime(summarize(self.slopes), self.n_inner, growth, self.setup_s)

    @property
    def course(self) -> list[float]:
        """The relative slowness of each turn in the order taken: 1 for a typical one."""
        each = [[seconds / middle for seconds in times] for times in self._times() if (middle := median(times)) > 0]
        return [fmean(known) for turn in zip_longest(*each) if (known := [part for part in turn if part is not None])]

    def is_settled(self, half_width: float) -> bool:
        """Whether the confidence interval of each median is narrower than this fraction of it."""
        return all(summarize(times).half_width < half_width for times in self._times())

    @property
    def is_contested(self) -> bool:
        """Whether two of the times differ by more than the tolerance."""
        medians = [median(times) for times in self._times()]
        return any(disagree(one, other) for one in medians for other in medians)

    def _times(self) -> list[list[float]]:
        return [times for times in (self.walls, self.slopes, self.devices) if times]


def in_turns(
    call: Runs,
    loop: Runs | None,
    call_s: float,
    rules: Rules,
    keep: Path | None = None,
    *,
    is_spread: bool = False,
    now: Timer = time.perf_counter,
) -> Turns:
    """Sample each time until all medians are settled or the time allowed by `rules` is up.

    `call_s` is the approximate time of a call. If it exceeds the patience of `rules`, only calls are timed. Sampling
    goes on longer if the times neither settle nor agree. A loop that fails, or a profiler that records nothing, is left
    out. On a CPU every turn is profiled. Elsewhere one profile at the end is enough, because it uses the device's own
    clock. Profiles are kept in the folder `keep` if given. Over a mesh (`is_spread`) CPUs are not profiled, because
    their devices share a plane; elsewhere the slowest process counts, and `now` must be a clock shared by all
    processes.
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
    """Takes the samples of a turn: `burst` calls in a row, the same number of calls in a profile, and the loop."""

    taken: Turns
    call: Runs
    loop: Runs | None
    burst: int
    rules: Rules
    keep: Path | None
    is_profiled: bool
    n_turns: int = 0

    def turn(self) -> None:
        """Take one sample of each kind. The order rotates each turn, so that no kind always follows the profiler."""
        self.n_turns += 1
        takers = [self._wall, self._loop, self._profile]
        first = self.n_turns % len(takers)
        for take in takers[first:] + takers[:first]:
            if self.burst > 1:
                self.call(1)  # wakes threads that have gone to sleep
            take()

    def _wall(self) -> None:
        self.taken.walls.append(self.call(self.burst) / self.burst)

    def _loop(self) -> None:
        if self.loop is not None:
            try:
                self.taken.loops.append(self.loop(self.taken.n_inner))
            except jax.errors.JaxRuntimeError:  # no memory for one more copy: the row is flagged
                self.loop, self.taken.loops = None, []

    def _profile(self) -> None:
        if self.is_profiled:
            folder = self.keep / f"turn_{self.n_turns}" if self.keep else None
            runs = profiled(self.call, min(self.burst, self.rules.profiled_calls), folder)
            self.taken.devices += [fmean(runs)] if runs else []
            self.is_profiled = bool(runs)


def prepared(loop: Runs, call_s: float, rules: Rules, taken: Turns) -> Runs | None:
    """The warmed-up loop, with its set-up time, length and growth stored in `taken`. None if it can't run.

    The loop is lengthened until it lasts `rules.loop_s`, unless it evidently does no work.
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
    """Seconds of each of `n_runs` consecutive runs according to a profile. Empty without a profiler.

    Each session needs its own folder, because profiles are named to the second. Python is not traced, since that slows
    the host.
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

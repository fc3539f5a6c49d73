"""Three times of one workload, taken in turns: per call, per iteration of a loop in one program, and from profiles.

What else a machine does comes and goes within seconds. Taken one after the other, the three would each meet another
machine; in turns they meet the same one. For the same reason a sample of each lasts about as long: a burst of calls,
a loop, and the profile of a burst.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

import jax

from measure import profiles
from measure.samples import Rules, Timer, sample, slopes, summarize
from measure.timing import LoopTime
from planner.errors import UserError

MODULE = "jit_measured"  # what profiles call the program; jit names it after the function
GROW_AT_MOST = 1000  # times the first guess of a loop's length: past that the loop is empty
Loop = Callable[[int], float]  # a number of iterations to seconds


@dataclass
class Turns:
    """The samples so far, in seconds: `walls` and `devices` of a run, `short` and `long` of whole loops."""

    n_inner: int = 1
    setup_s: float = math.nan
    calls: list[float] = field(default_factory=list)  # one by one
    walls: list[float] = field(default_factory=list)  # the mean of each burst
    short: list[float] = field(default_factory=list)
    long: list[float] = field(default_factory=list)
    devices: list[float] = field(default_factory=list)

    @property
    def slopes(self) -> list[float]:
        """Seconds of an iteration: (T(3n) - T(n)) / 2n, which holds neither dispatch nor set-up."""
        return slopes(self.short, self.long, 2 * self.n_inner)

    def loop_twice(self, loop: Loop) -> float:
        """Take a short loop and a long one; the seconds of an iteration by these two."""
        short, long = loop(self.n_inner), loop(3 * self.n_inner)
        self.short.append(short)
        self.long.append(long)
        return (long - short) / (2 * self.n_inner)

    @property
    def loop(self) -> LoopTime | None:
        """What the loops say; None without any."""
        if not self.long:
            return None
        growth = min(self.long) / min(self.short)  # the least, for a disturbed loop grows or shrinks at random
        return LoopTime(summarize(self.slopes), self.n_inner, growth, self.setup_s)


def in_turns(call: Timer, loop: Loop | None, call_s: float, rules: Rules, keep: Path | None = None) -> Turns:
    """Samples of each time, as many as settle the median of the loop's, or of the calls' without one.

    `call_s` is about what a call takes. A loop that fails is left out, and so is a profiler that gives nothing. On a
    CPU every turn has a profile of its own; elsewhere one at the end is enough, since its clock is the device's. They
    are kept in the folder `keep`, if given.
    """
    taken, is_cpu = Turns(), jax.default_backend() == "cpu"
    burst = max(1, math.ceil(rules.loop_s / call_s))
    n_runs = min(burst, rules.profiled_calls) if is_cpu else _enough(call_s, rules)
    timed = prepared(loop, call_s, rules, taken) if loop else None

    def turn() -> float:
        nonlocal timed
        seconds = [call() for _ in range(burst)]
        taken.calls += seconds
        taken.walls.append(fmean(seconds))
        if is_cpu and len(taken.devices) == len(taken.walls) - 1:  # no session has failed
            runs = profiled(call, n_runs, keep / f"turn_{len(taken.walls)}" if keep else None)
            taken.devices += [fmean(runs)] if runs else []
        if timed is not None:
            try:
                return taken.loop_twice(timed)
            except jax.errors.JaxRuntimeError:  # memory for one more copy: flagged
                timed, taken.short, taken.long = None, [], []
        return taken.walls[-1]

    sample(turn, rules)
    if not is_cpu:
        taken.devices = profiled(call, n_runs, keep)
    return taken


def _enough(call_s: float, rules: Rules) -> int:
    return max(3, min(rules.profiled_calls, math.ceil(rules.sample_s / call_s)))


def prepared(loop: Loop, call_s: float, rules: Rules, taken: Turns) -> Loop | None:
    """The loop warmed up, its set-up and its length put into `taken`; None where it can't run.

    The short loop is to last `rules.loop_s`; it stops growing where it plainly does nothing.
    """
    try:
        taken.setup_s = min(loop(0) for _ in range(3))
        n = first = max(1, math.ceil(rules.loop_s / call_s))
        loop(n)
        while (seconds := loop(n)) < rules.loop_s and n < GROW_AT_MOST * first:
            n = math.ceil(n * min(10.0, 1.2 * rules.loop_s / seconds))
    except jax.errors.JaxRuntimeError:
        return None
    taken.n_inner = n
    return loop


def profiled(call: Timer, n_runs: int, keep: Path | None = None) -> list[float]:
    """Seconds of each run of some more calls by their profile; none where the profiler gives none.

    One folder for one session: profiles are named by the second. Python is not traced, for that slows the host.
    """
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with tempfile.TemporaryDirectory(prefix="measure-") as temporary:
        folder = keep or Path(temporary)
        try:
            with jax.profiler.trace(str(folder), profiler_options=options):
                for _ in range(n_runs):
                    call()
            return profiles.run_times(profiles.newest(folder), MODULE, n_runs)
        except (RuntimeError, OSError, UserError):
            return []  # another profiler is running, or counters need a permission: the flag says so

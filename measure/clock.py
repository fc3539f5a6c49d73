"""Times of a compiled function: per call, per iteration of a loop inside one program, and from a profile.

All three run on the same buffers. Each call writes into the output of the one before (donated), as a
program in steady state does: a fresh 64 MiB output costs a CPU ten times the work, in page faults.
"""

from __future__ import annotations

import functools
import math
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from measure import profiles, transfer
from measure.cases import Workload, random_arrays
from measure.samples import STANDARD, Rules, Summary, Timer, drift, sample, slopes, summarize
from measure.timing import LoopTime, Timing
from planner.errors import UserError

Arrays = tuple[jax.Array, ...]
State = tuple[Arrays, Any]  # what a loop carries: its operands and its latest output
Feed = Callable[[jax.Array, jax.Array], jax.Array]

MODULE = "jit_measured"  # what profiles call the program; jit names it after the function
GROW_AT_MOST = 1000  # times the first guess of a loop's length: past that the loop is empty
NO_OPS = 200


def devices() -> list[jax.Device]:
    """The devices of this process, the one that is timed first."""
    return list(jax.local_devices())


def time_workload(
    workload: Workload, rules: Rules = STANDARD, *, floor_s: float = math.nan, keep: Path | None = None
) -> Timing:
    """Compile a workload, run it on random inputs and time it in the three ways.

    `floor_s` is the predicted least time in seconds; the profile is kept in the folder `keep`, if given.
    """
    if workload.transfer:
        return _transfer_time(workload, rules, floor_s)
    call = Call(workload)
    _warm_up(call, rules)
    walls = sample(call, rules)
    wall = summarize(walls)
    device = device_time(call, wall.median, rules, keep)
    loop: LoopTime | None = None
    with suppress(jax.errors.JaxRuntimeError):  # a compiler that can't, memory for one more copy: flagged
        loop = loop_time(Loop(workload, (call.arrays, call.output)), wall.median, rules)
    return Timing(
        platform=jax.default_backend(), wall=wall, drift=drift(walls), dispatch_s=dispatch_floor(),
        loop=loop, device=device, floor_s=floor_s, compile_s=call.compile_s,
        xla_flops=call.cost.get("flops", math.nan), xla_bytes=call.cost.get("bytes accessed", math.nan),
        temp_bytes=call.temp_bytes,
    )  # fmt: skip


def _transfer_time(workload: Workload, rules: Rules, floor_s: float) -> Timing:
    copy = transfer.call_of(workload)
    _warm_up(copy, rules)
    walls = sample(copy, rules)
    return Timing(
        platform=jax.default_backend(), wall=summarize(walls), drift=drift(walls), dispatch_s=dispatch_floor(),
        floor_s=floor_s, is_transfer=True,
    )  # fmt: skip


class Call:
    """A workload compiled ahead of time; calling it runs it once and returns the seconds until it is done."""

    def __init__(self, workload: Workload) -> None:
        def measured(_: Any, *arrays: jax.Array) -> Any:
            return workload.function(*arrays)

        specs = [operand.spec for operand in workload.operands]
        output = jax.eval_shape(workload.function, *specs)
        # keep_unused: the donated output is no input of the function, only a place to write
        lowered = jax.jit(measured, donate_argnums=0, keep_unused=True).lower(output, *specs)
        begin = time.perf_counter()
        self._program = lowered.compile(compiler_options=workload.compiler_options)
        self.compile_s = time.perf_counter() - begin
        self.cost: dict[str, float] = lowered.cost_analysis() or {}
        self.temp_bytes = float(getattr(self._program.memory_analysis(), "temp_size_in_bytes", math.nan))
        self.arrays = random_arrays(workload.operands)
        self.output = jax.tree.map(lambda spec: jnp.zeros(spec.shape, spec.dtype), output)

    def __call__(self) -> float:
        seconds, self.output = _timed(self._program, self.output, *self.arrays)
        return seconds


def feed(operand: jax.Array, output: jax.Array) -> jax.Array:
    """The operand with its first element taken from the output: the next iteration can't run before this one.

    Clipped, so that no value runs away; one element in place costs next to nothing.
    """
    element = lax.slice(output, (0,) * output.ndim, (1,) * output.ndim).reshape((1,) * operand.ndim)
    value = jnp.clip(element, -1, 1).astype(operand.dtype)
    return lax.dynamic_update_slice(operand, value, (0,) * operand.ndim)


class Loop:
    """A function n times in one program; calling it with n returns the seconds. It consumes its arrays.

    Every operand is fed, for XLA would hoist the cast of one that never changes. Feeding comes after the
    function: before it, XLA fuses the update into the work and the work is another (add: four times slower).
    """

    def __init__(self, workload: Workload, state: State, feed: Feed = feed) -> None:
        def body(_: jax.Array, state: State) -> State:
            arrays, _old = state
            output = workload.function(*arrays)
            first = jax.tree.leaves(output)[0]
            return tuple(feed(array, first) for array in arrays), output

        def repeated(n: jax.Array, state: State) -> State:
            done: State = lax.fori_loop(0, n, body, state)
            return done

        self._state = state
        lowered = jax.jit(repeated, donate_argnums=1).lower(jnp.int32(1), state)
        self._program = lowered.compile(compiler_options=workload.compiler_options)

    def __call__(self, n: int) -> float:
        seconds, self._state = _timed(self._program, jnp.int32(n), self._state)
        return seconds


def loop_time(loop: Callable[[int], float], call_s: float, rules: Rules) -> LoopTime:
    """Seconds per iteration by the slope (T(3n) - T(n)) / 2n, which holds neither dispatch nor set-up."""
    setup_s = min(loop(0) for _ in range(3))
    n = _loop_length(loop, call_s, rules)
    short: list[float] = []
    long: list[float] = []

    def pair() -> float:
        short.append(loop(n))
        long.append(loop(3 * n))
        return (long[-1] - short[-1]) / (2 * n)

    sample(pair, rules)
    summary = summarize(slopes(short, long, 2 * n))
    return LoopTime(summary, n, summarize(long).median / summarize(short).median, setup_s)


def _loop_length(loop: Callable[[int], float], call_s: float, rules: Rules) -> int:
    """The n for which the loop lasts `rules.loop_s`; it stops growing where the loop plainly does nothing."""
    n = first = max(1, math.ceil(rules.loop_s / call_s))
    loop(n)  # warms up
    while (seconds := loop(n)) < rules.loop_s and n < GROW_AT_MOST * first:
        n = math.ceil(n * min(10.0, 1.2 * rules.loop_s / seconds))
    return n


def device_time(call: Timer, call_s: float, rules: Rules, keep: Path | None = None) -> Summary | None:
    """Seconds per run from a profile of some more calls; None where the profiler gives none.

    One folder for one case: profiles are named by the second. Python is not traced, for that slows the host.
    """
    n_runs = max(3, min(rules.profiled_calls, math.ceil(rules.sample_s / call_s)))
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with tempfile.TemporaryDirectory(prefix="measure-") as temporary:
        folder = keep or Path(temporary)
        try:
            with jax.profiler.trace(str(folder), profiler_options=options):
                for _ in range(n_runs):
                    call()
            runs = profiles.run_times(profiles.newest(folder), MODULE, n_runs)
        except (RuntimeError, OSError, UserError):
            return None  # another profiler is running, or counters need a permission: the flag says so
    return summarize(runs) if runs else None


@functools.cache
def dispatch_floor() -> float:
    """Median seconds of a call that computes next to nothing: what any call costs in this process."""
    one = jnp.zeros((), jnp.int32)
    program = jax.jit(lambda x: x + 1).lower(one).compile()
    return summarize([_timed(program, one)[0] for _ in range(NO_OPS)]).median


def _warm_up(call: Timer, rules: Rules) -> None:
    begin, calls = time.perf_counter(), 0
    while calls < rules.warmup_calls or time.perf_counter() - begin < rules.warmup_s:
        call()
        calls += 1


def _timed(program: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = jax.block_until_ready(program(*arguments))
    return time.perf_counter() - begin, result

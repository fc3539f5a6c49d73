"""Times of a compiled function: per call, per iteration of a loop inside one program, and from a profile.

All three run on the same buffers. Each call writes into the output of the one before (donated), as a
program in steady state does: a fresh 64 MiB output costs a CPU ten times the work, in page faults.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from measure import interrupts, transfer
from measure.cases import Workload, random_arrays
from measure.samples import STANDARD, Rules, Timer, drift, sample, summarize
from measure.timing import Timing
from measure.turns import in_turns

Arrays = tuple[jax.Array, ...]
State = tuple[Arrays, Any]  # what a loop carries: its operands and its latest output
Feed = Callable[[jax.Array, jax.Array], jax.Array]

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
    taken = in_turns(call, _loop(workload, call.buffers), _warm_up(call, rules), rules, keep)
    return Timing(
        platform=jax.default_backend(), wall=summarize(taken.walls), drift=drift(taken.calls),
        dispatch_s=dispatch_floor(), loop=taken.loop, device=summarize(taken.devices) if taken.devices else None,
        floor_s=floor_s, compile_s=call.compile_s, xla_flops=call.cost.get("flops", math.nan),
        xla_bytes=call.cost.get("bytes accessed", math.nan), temp_bytes=call.temp_bytes,
    )  # fmt: skip


def _transfer_time(workload: Workload, rules: Rules, floor_s: float) -> Timing:
    copy = transfer.call_of(workload)
    _warm_up(copy, rules)
    walls = sample(copy, rules)
    return Timing(
        platform=jax.default_backend(), wall=summarize(walls), drift=drift(walls), dispatch_s=dispatch_floor(),
        floor_s=floor_s, is_transfer=True,
    )  # fmt: skip


class Buffers:
    """The arrays that a workload reads and its latest output: every program takes them over and hands them back."""

    def __init__(self, workload: Workload, output: Any) -> None:
        self._workload, self._output = workload, output
        self.fill()

    def fill(self) -> None:
        """Make them anew, as where a program that failed has consumed them."""
        self.arrays = random_arrays(self._workload.operands)
        self.output = jax.tree.map(lambda spec: jnp.zeros(spec.shape, spec.dtype), self._output)


class Call:
    """A workload compiled ahead of time; calling it runs it once and returns the seconds until it is done."""

    def __init__(self, workload: Workload) -> None:
        def measured(_: Any, *arrays: jax.Array) -> Any:
            return workload.function(*arrays)

        specs = [operand.spec for operand in workload.operands]
        output = jax.eval_shape(workload.function, *specs)
        # keep_unused: the donated output is no input of the function, only a place to write
        lowered = jax.jit(measured, donate_argnums=0, keep_unused=True).lower(output, *specs)
        interrupts.check()
        begin = time.perf_counter()
        self._program = lowered.compile(compiler_options=workload.compiler_options)
        self.compile_s = time.perf_counter() - begin
        self.cost: dict[str, float] = lowered.cost_analysis() or {}
        self.temp_bytes = float(getattr(self._program.memory_analysis(), "temp_size_in_bytes", math.nan))
        self.buffers = Buffers(workload, output)

    def __call__(self) -> float:
        seconds, self.buffers.output = _timed(self._program, self.buffers.output, *self.buffers.arrays)
        return seconds


def feed(operand: jax.Array, output: jax.Array) -> jax.Array:
    """The operand with its first element taken from the output: the next iteration can't run before this one.

    Clipped, so that no value runs away; one element in place costs next to nothing.
    """
    element = lax.slice(output, (0,) * output.ndim, (1,) * output.ndim).reshape((1,) * operand.ndim)
    value = jnp.clip(element, -1, 1).astype(operand.dtype)
    return lax.dynamic_update_slice(operand, value, (0,) * operand.ndim)


class Loop:
    """A function n times in one program; calling it with n returns the seconds.

    Every operand is fed, for XLA would hoist the cast of one that never changes. Feeding comes after the
    function: before it, XLA fuses the update into the work and the work is another (add: four times slower).
    """

    def __init__(self, workload: Workload, buffers: Buffers, feed: Feed = feed) -> None:
        def body(_: jax.Array, state: State) -> State:
            arrays, _old = state
            output = workload.function(*arrays)
            first = jax.tree.leaves(output)[0]
            return tuple(feed(array, first) for array in arrays), output

        def repeated(n: jax.Array, state: State) -> State:
            done: State = lax.fori_loop(0, n, body, state)
            return done

        self._buffers, state = buffers, (buffers.arrays, buffers.output)
        lowered = jax.jit(repeated, donate_argnums=1).lower(jnp.int32(1), state)
        interrupts.check()
        self._program = lowered.compile(compiler_options=workload.compiler_options)

    def __call__(self, n: int) -> float:
        state = self._buffers.arrays, self._buffers.output
        try:
            seconds, (self._buffers.arrays, self._buffers.output) = _timed(self._program, jnp.int32(n), state)
        except jax.errors.JaxRuntimeError:
            self._buffers.fill()
            raise
        return seconds


def _loop(workload: Workload, buffers: Buffers) -> Loop | None:
    """The loop of a workload; None for a compiler that can't make one."""
    try:
        return Loop(workload, buffers)
    except jax.errors.JaxRuntimeError:
        return None


@functools.cache
def dispatch_floor() -> float:
    """Median seconds of a call that computes next to nothing: what any call costs in this process."""
    one = jnp.zeros((), jnp.int32)
    program = jax.jit(lambda x: x + 1).lower(one).compile()
    return summarize([_timed(program, one)[0] for _ in range(NO_OPS)]).median


def _warm_up(call: Timer, rules: Rules) -> float:
    """Call it for a while; the seconds of the quickest call."""
    begin, seconds = time.perf_counter(), [call()]
    while len(seconds) < rules.warmup_calls or time.perf_counter() - begin < rules.warmup_s:
        seconds.append(call())
    return min(seconds)


def _timed(program: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    interrupts.check()
    begin = time.perf_counter()
    result = jax.block_until_ready(program(*arguments))
    return time.perf_counter() - begin, result

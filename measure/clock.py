"""Times a workload in three ways: per call, per iteration of a loop inside one program, and from a profile.

All three use the same buffers. Each call writes into the donated output of the previous call, as a program in steady
state does. A fresh 64 MiB output would cost a CPU ten times the work, in page faults. Calls are queued without waiting
for the previous one. Waiting for each call would add the cost of putting the pool's threads to sleep and waking them,
which on a CPU is a fifth of a 512 x 512 matmul.

The text of the compiled program shows whether XLA kept the operations that are to be timed.
"""

from __future__ import annotations

import functools
import math
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from planner.measure import interrupts, spread
from planner.measure.interleaved import in_turns
from planner.measure.timing import STANDARD, Rules, Timer, Timing, drift, sample, summarize
from planner.measure.workload import CaseSkipped, Operand, Workload, check_fits, random_arrays

Arrays = tuple[jax.Array, ...]
State = tuple[Arrays, Any]  # the carry of a loop: its operands and its latest output
Feed = Callable[[Arrays, Any], Arrays]

NO_OPS = 200
ABSURD = 1e30  # larger than any output of random operands


def devices() -> list[jax.Device]:
    """The devices of this process; the first one is timed."""
    return list(jax.local_devices())


def time_workload(
    workload: Workload, rules: Rules = STANDARD, *, floor_s: float = math.nan, keep: Path | None = None
) -> Timing:
    """Compile a workload, run it on random inputs and time it in the three ways.

    `floor_s` is the predicted lower bound of the time in seconds. Profiles are kept in the folder `keep` if given.
    Raises CaseSkipped if the workload doesn't fit into memory.
    """
    if workload.transfer:
        return _transfer_time(workload, rules, floor_s)
    call, is_spread = CompiledLoop(workload), workload.mesh is not None
    loop, now = _loop(workload, call.buffers), agreed_clock() if is_spread else time.perf_counter
    taken = in_turns(call, loop, _warm_up(call, rules, now), rules, keep, is_spread=is_spread, now=now)
    looked_for = workload.collectives
    lacks = bool(missing_operations(looked_for, call.text)) or (loop is not None and loop.lacks(looked_for))
    return Timing(
        platform=jax.default_backend(),
        wall=summarize(taken.walls),
        drift=drift(taken.course),
        dispatch_s=dispatch_floor(workload.mesh),
        loop=taken.loop,
        is_spread=is_spread,
        is_kept=not lacks if looked_for else None,
        device=summarize(taken.devices) if taken.devices else None,
        floor_s=floor_s,
        compile_s=call.compile_s,
        xla_flops=call.cost.get("flops", math.nan),
        xla_bytes=call.cost.get("bytes accessed", math.nan),
        temp_bytes=call.temp_bytes,
    )


def _transfer_time(workload: Workload, rules: Rules, floor_s: float) -> Timing:
    copy = HostCopy(workload.operands[0], is_to_device=workload.transfer == "to device")
    _warm_up(copy, rules, time.perf_counter)
    walls = sample(copy, rules)
    return Timing(
        platform=jax.default_backend(),
        wall=summarize(walls),
        drift=drift(walls),
        dispatch_s=dispatch_floor(),
        floor_s=floor_s,
        is_transfer=True,
    )


class HostCopy:
    """An array on the host and on the device. Calling it copies in one direction and returns the seconds.

    No program runs, so there is no loop and no profile.
    """

    def __init__(self, operand: Operand, *, is_to_device: bool) -> None:
        (self._there,) = random_arrays((operand,))
        self._here = np.array(self._there)
        self._is_to_device = is_to_device

    def __call__(self) -> float:
        interrupts.check()
        if self._is_to_device:
            begin = time.perf_counter()
            jax.block_until_ready(jax.device_put(self._here, self._there.device))
            return time.perf_counter() - begin
        fresh = jax.block_until_ready(self._there.copy())  # a copy, because JAX caches what was fetched of an array
        begin = time.perf_counter()
        np.asarray(fresh)
        return time.perf_counter() - begin


class Buffers:
    """A workload's input arrays and its latest output. Programs take them as donated arguments and hand them back."""

    def __init__(self, workload: Workload, output: Any) -> None:
        self._workload, self._output = workload, output
        self.fill()

    def fill(self) -> None:
        """Create the arrays anew, for example after a failed program has consumed them."""
        self.arrays = jax.block_until_ready(random_arrays(self._workload.operands, self._workload.mesh))
        self.output = jax.tree.map(lambda spec: jnp.zeros(spec.shape, spec.dtype, device=spec.sharding), self._output)


class CompiledLoop:
    """A workload compiled ahead of time. Calling it with n runs it n times and returns the seconds."""

    def __init__(self, workload: Workload) -> None:
        whole, specs, output = workload.whole, workload.specs, workload.output

        def measured(_: Any, *arrays: jax.Array) -> Any:
            return whole(*arrays)

        # keep_unused: the donated output is no input of the function, only a place to write
        lowered = jax.jit(measured, donate_argnums=0, keep_unused=True).lower(output, *specs)
        interrupts.check()
        begin = time.perf_counter()
        self._program = lowered.compile(compiler_options=workload.compiler_options)
        self.compile_s = time.perf_counter() - begin
        self.cost: dict[str, float] = lowered.cost_analysis() or {}
        self.temp_bytes = float(getattr(self._program.memory_analysis(), "temp_size_in_bytes", math.nan))
        needed = workload.sharers * program_bytes(self._program, are_arguments_there=False)
        check_fits(devices()[0], needed, "the program takes")
        self._is_spread, self.buffers = workload.mesh is not None, Buffers(workload, output)
        # a CPU's devices wait for each other on threads of one pool, where runs in a queue take each other's
        self._is_waited_for = self._is_spread and jax.default_backend() == "cpu"

    @property
    def text(self) -> str:
        """The compiled program as HLO text."""
        return str(self._program.as_text())

    def __call__(self, n: int = 1) -> float:
        interrupts.check()
        output, arrays = self.buffers.output, self.buffers.arrays
        if self._is_spread:
            spread.wait_for_all()
        begin = time.perf_counter()
        for _ in range(n):
            output = self._program(output, *arrays)
            if self._is_waited_for:
                jax.block_until_ready(output)
        jax.block_until_ready(output)
        seconds = time.perf_counter() - begin
        self.buffers.output = output
        return spread.most(seconds) if self._is_spread else seconds


def program_bytes(program: Any, *, are_arguments_there: bool) -> float:
    """Memory in bytes of a compiled program: outputs not aliasing an argument, scratch, unallocated arguments.

    0 if the compiler doesn't report it.
    """
    analysis = program.memory_analysis()
    if analysis is None:
        return 0.0
    made = analysis.output_size_in_bytes - analysis.alias_size_in_bytes + analysis.temp_size_in_bytes
    return float(made + (0 if are_arguments_there else analysis.argument_size_in_bytes))


def feed(operands: Arrays, output: Any) -> Arrays:
    """The operands with their first element replaced by one from the output, clipped to stay small.

    This makes each iteration depend on the previous one; updating one element in place costs almost nothing.
    """
    first = jax.tree.leaves(output)[0]
    value = jnp.clip(lax.slice(first, (0,) * first.ndim, (1,) * first.ndim).reshape(()), -1, 1)
    return tuple(
        lax.dynamic_update_slice(array, value.astype(array.dtype).reshape((1,) * array.ndim), (0,) * array.ndim)
        for array in operands
    )


def feed_if_absurd(operands: Arrays, output: Any) -> Arrays:
    """The operands, fed only if the output holds an absurdly large number. It never does, but XLA can't know that.

    Used on CPUs, which have no bf16 in place: feeding one element widens the array to fp32 and back, and an add takes
    five times as long. On other devices the condition would wait for the host.
    """
    first = jax.tree.leaves(output)[0]
    is_absurd = lax.slice(first, (0,) * first.ndim, (1,) * first.ndim).reshape(()).astype(jnp.float32) > ABSURD
    fed: Arrays = lax.cond(is_absurd, lambda arrays: feed(arrays, output), lambda arrays: arrays, operands)
    return fed


class Loop:
    """A function run n times in one program. Calling it with n returns the seconds.

    Every operand is fed, because XLA would hoist the cast of an operand that never changes. Feeding follows the
    function. Before it, XLA would fuse the update into the work and change what is timed (an add becomes four times
    slower). A conditional feed precedes the function and reads the previous iteration's output. After the function the
    operands are still in use and would be copied.
    """

    def __init__(self, workload: Workload, buffers: Buffers, feed_with: Feed | None = None) -> None:
        is_cpu = jax.default_backend() == "cpu"
        fed = feed_with or (feed_if_absurd if is_cpu else feed)

        def body(_: jax.Array, state: State) -> State:
            arrays, output = state
            if is_cpu:
                arrays = fed(arrays, output)
                return arrays, workload.function(*arrays)
            output = workload.function(*arrays)
            return fed(arrays, output), output

        def repeated(n: jax.Array, state: State) -> State:
            done: State = lax.fori_loop(0, n, body, state)
            return done

        self._buffers, state = buffers, (buffers.arrays, buffers.output)
        partitions = workload.input_partitions, workload.output_partition
        whole = workload.over_mesh(repeated, (PartitionSpec(), partitions), partitions)
        lowered = jax.jit(whole, donate_argnums=1).lower(np.int32(1), state)
        interrupts.check()
        self._program = lowered.compile(compiler_options=workload.compiler_options)
        self._is_spread = workload.mesh is not None
        needed = workload.sharers * program_bytes(self._program, are_arguments_there=True)
        check_fits(devices()[0], needed, "the loop takes")

    def lacks(self, collectives: Sequence[str]) -> bool:
        """Whether XLA moved one of these collectives out of the loop."""
        return bool(missing_operations(collectives, in_loop(str(self._program.as_text()))))

    def __call__(self, n: int) -> float:
        state = self._buffers.arrays, self._buffers.output
        if self._is_spread:
            spread.wait_for_all()
        try:
            seconds, (self._buffers.arrays, self._buffers.output) = _timed(self._program, np.int32(n), state)
        except jax.errors.JaxRuntimeError:
            self._buffers.fill()
            raise
        return spread.most(seconds) if self._is_spread else seconds


def _loop(workload: Workload, buffers: Buffers) -> Loop | None:
    """The loop of a workload. None if the compiler can't build it or it doesn't fit."""
    try:
        return Loop(workload, buffers)
    except (jax.errors.JaxRuntimeError, CaseSkipped):
        return None


@functools.cache
def dispatch_floor(mesh: Mesh | None = None) -> float:
    """Median seconds of a nearly empty call, on one device or on a whole mesh: the cost of any call."""
    where = None if mesh is None else NamedSharding(mesh, PartitionSpec())
    one = jnp.zeros((), jnp.int32, device=where)
    program = jax.jit(lambda x: x + 1).lower(one).compile()
    floor = summarize([_timed(program, one)[0] for _ in range(NO_OPS)]).median
    return floor if mesh is None else spread.most(floor)


def agreed_clock() -> Timer:
    """A timer of the seconds since this call, whose readings are the same in every process that reads it together."""
    begin = time.perf_counter()
    return lambda: spread.most(time.perf_counter() - begin)


def _warm_up(call: Timer, rules: Rules, now: Timer) -> float:
    """Call repeatedly and return the seconds of the quickest call.

    A call longer than the patience is made only once.
    """
    begin, seconds = now(), [call()]
    while (elapsed := now() - begin) < rules.patience_s:
        if len(seconds) >= rules.warmup_calls and elapsed >= rules.warmup_s:
            break
        seconds.append(call())
    return min(seconds)


def _timed(program: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    interrupts.check()
    begin = time.perf_counter()
    result = jax.block_until_ready(program(*arguments))
    return time.perf_counter() - begin, result


_COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.-]+) .*\{$", re.MULTILINE)
_CALLED = re.compile(r"(?:body|calls|to_apply|condition|computation|branch_computations)=\{?((?:%?[\w.-]+(?:, )?)+)\}?")
_BODY = re.compile(r"\bwhile\(.*\bbody=%?([\w.-]+)")


def missing_operations(operations: Sequence[str], text: str) -> list[str]:
    """The operations, such as `all-gather`, that occur in the HLO text neither as such nor as an async start."""
    return [name for name in operations if not re.search(rf" {re.escape(name)}(?:-start)?\(", text)]


def in_loop(text: str) -> str:
    """The HLO text of all loop bodies in a program, including the computations that they call."""
    computations = _computations(text)
    waiting, seen = [name for body in computations.values() for name in _BODY.findall(body)], set[str]()
    while waiting:
        name = waiting.pop()
        if name not in seen and name in computations:
            seen.add(name)
            called = _CALLED.findall(computations[name])
            waiting += [each.strip().lstrip("%") for names in called for each in names.split(",")]
    return "\n".join(computations[name] for name in seen)


def _computations(text: str) -> dict[str, str]:
    starts = list(_COMPUTATION.finditer(text))
    ends = [start.start() for start in starts[1:]] + [len(text)]
    return {start[1]: text[start.start() : end] for start, end in zip(starts, ends, strict=True)}

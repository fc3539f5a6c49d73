"""Times on this machine: three of them, a loop that XLA emptied, and a short timing from end to end."""

from __future__ import annotations

import math
import re
import time
from statistics import median

import pytest

from planner.measure import clock, devices, interleaved
from planner.measure.cases import workload
from planner.measure.timing import LoopTime, Rules, summarize
from planner.measure.workload import CaseSkipped

QUICK = Rules(warmup_s=0.0, sample_s=0.0, contested_s=0.0, loop_s=0.003, profiled_calls=3)
FP32 = dict.fromkeys(("weight_dtype", "activation_dtype", "output_dtype", "compute_dtype"), "fp32")


def square(size):
    """An fp32 matmul of equal sides."""
    return workload("matmul", {"tokens": size, "d_in": size, "d_out": size} | FP32)


def test_a_timing_has_all_three_times(tmp_path):
    """Wall, loop and device of one small matmul, with what XLA counts; a profile of each turn is kept."""
    timing = clock.time_workload(square(256), QUICK, keep=tmp_path)
    assert min(timing.wall.median, timing.loop.summary.median, timing.device.median) > 1e-6
    assert max(timing.wall.median, timing.loop.summary.median, timing.device.median) < 0.5
    assert timing.xla_flops == pytest.approx(2 * 256**3, rel=0.01)
    assert timing.compile_s > 0
    assert len(list(tmp_path.rglob("*.xplane.pb"))) == timing.device.n_samples == timing.wall.n_samples


def test_dispatch_is_measured_once():
    """The same number for every case of a process."""
    assert clock.dispatch_floor() == clock.dispatch_floor() > 0


@pytest.mark.quiet
def test_dispatch_takes_microseconds():
    """On a machine that does nothing else."""
    assert clock.dispatch_floor() < 2e-3


@pytest.mark.quiet
def test_a_loop_that_xla_emptied_is_caught():
    """Seeded: operands that never change. XLA multiplies once, before the loop, and the guard says so."""
    call = clock.CompiledLoop(square(512))
    unfed = clock.Loop(square(512), call.buffers, feed_with=lambda operands, _: operands)
    taken = interleaved.in_turns(call, unfed, min(call() for _ in range(9)), QUICK)
    wall = summarize(taken.walls)
    timing = clock.Timing("cpu", wall, 1.0, clock.dispatch_floor(), loop=taken.loop, device=wall)
    assert taken.loop.summary.median < wall.median / 4
    assert "loop_elided" in timing.flags


@pytest.mark.parametrize("element_bytes", [1, 2, 4])
@pytest.mark.parametrize("n_operands", [1, 2])
def test_feeding_an_iteration_passes_over_no_array(n_operands, element_bytes):
    """The loop's body computes the relu or the add, and nothing else as long as an operand is: it copies none."""
    add = workload("elementwise", {"n_elements": 4096, "n_operands": n_operands, "element_bytes": element_bytes})
    text = clock.Loop(add, clock.CompiledLoop(add).buffers)._program.as_text()
    body = next(part for part in text.split("\n\n") if "conditional(" in part)
    long = [line for line in body.splitlines() if re.search(r"= \w+\[4096\]\S* (?!get-tuple-element|parameter)", line)]
    assert len(long) == 1, long


def test_the_loop_keeps_its_work():
    """The program multiplies fed operands in each iteration, and those that never change once, before the loop."""

    def place(**fed):
        """Where the product stands, itself or called: the loop's body, or the program around it."""
        parts = clock.Loop(square(64), clock.CompiledLoop(square(64)).buffers, **fed)._program.as_text().split("\n\n")
        product = next(part for part in parts if " dot(" in part)  # XLA of jax 0.9 makes no fusion of it
        calling = next((part for part in parts if re.search(rf"calls={product.split()[0]}\b(?!\.)", part)), product)
        (body,) = (found for part in parts for found in re.findall(r" body=([^,\s]+)", part))
        return "body" if calling.startswith(f"{body} ") else calling.split()[0]

    assert place() == "body"
    assert place(feed_with=lambda operands, _: operands) == "ENTRY"


@pytest.mark.quiet
def test_a_loop_that_keeps_its_work_is_what_counts():
    """An iteration takes about as long as a call, so that nothing is flagged as elided."""
    timing = clock.time_workload(square(512), QUICK)
    assert "loop_elided" not in timing.flags
    assert timing.method == "loop"


def test_calls_write_into_one_buffer():
    """The output of each call is donated to the next: the old one is gone, its place is used again."""
    call = clock.CompiledLoop(square(64))
    before = call.buffers.output
    call()
    assert before.is_deleted()
    pointer = call.buffers.output.unsafe_buffer_pointer()
    call()
    assert call.buffers.output.unsafe_buffer_pointer() == pointer


def test_calls_in_a_row_are_waited_for_once(monkeypatch):
    """Each is queued behind the one before: five runs and one wait, of all five together."""
    call = clock.CompiledLoop(square(64))
    waits, wait = [], clock.jax.block_until_ready
    monkeypatch.setattr(clock.jax, "block_until_ready", lambda made: waits.append(1) or wait(made))
    program, runs = call._program, []
    call._program = lambda *arguments: runs.append(1) or program(*arguments)
    assert call(5) > 0
    assert (len(runs), len(waits)) == (5, 1)


def test_call_and_loop_share_their_arrays():
    """In any order: each hands the arrays back, and what comes out stays finite."""
    call = clock.CompiledLoop(square(64))
    loop = clock.Loop(square(64), call.buffers)
    assert min(loop(3), call(), call(), loop(2), call()) > 0
    assert clock.jnp.isfinite(call.buffers.output).all()


class Line:
    """A loop whose time is set-up plus a slope, without a machine."""

    def __init__(self, setup_s, slope_s):
        self.setup_s, self.slope_s, self.longest = setup_s, slope_s, 0

    def __call__(self, n):
        self.longest = max(self.longest, n)
        return self.setup_s + n * self.slope_s


def loop_time(loop, call_s):
    """What seven turns find."""
    taken = interleaved.Turns()
    assert interleaved.prepared(loop, call_s, Rules(), taken) is loop
    taken.loops = [loop(taken.n_inner) for _ in range(7)]
    return taken.loop


@pytest.mark.parametrize(("call_s", "slope_s"), [(1e-3, 1e-3), (1e-3, 1e-5), (5.0, 5.0)])
def test_the_slope_leaves_out_the_set_up(call_s, slope_s):
    """Whatever a first guess from the call's time said, the loop lasts 30 ms and yields its slope."""
    loop = Line(0.01, slope_s)
    found = loop_time(loop, call_s)
    assert found.summary.median == pytest.approx(slope_s)
    assert found.setup_s == 0.01
    assert loop(found.n_inner) >= 0.03


def test_an_empty_loop_does_not_grow_for_ever():
    """T(n) that never changes: growth of one, and an end to the search."""
    loop = Line(20e-6, 0.0)
    found = loop_time(loop, 1e-3)
    assert isinstance(found, LoopTime)
    assert found.growth == pytest.approx(1)
    assert found.summary.spread == math.inf
    assert loop.longest <= 30 * 30 * interleaved.GROW_AT_MOST


def test_no_profile_is_no_error(monkeypatch):
    """Another profiler is running, say: the time is left out, and the flag says so."""

    def busy(*args, **options):
        raise RuntimeError("Only one profile may be run at a time.")

    monkeypatch.setattr(interleaved.jax.profiler, "trace", busy)
    assert interleaved.profiled(lambda _: 1.0, 3) == []


def test_every_turn_begins_with_another_time():
    """What the profiler leaves behind, a cold cache say, meets each of the other two in turn."""
    order, taken = [], interleaved.Turns()

    def call(n):
        order.append("call")
        return n * 1.0

    def loop(_n):
        order.append("loop")
        return 1.0

    takers = interleaved.Takers(taken, call, loop, 1, Rules(), None, is_profiled=False)
    for _ in range(3):
        takers.turn()
    assert order == ["loop", "call", "call", "loop", "call", "loop"]
    assert (taken.walls, taken.loops) == ([1.0] * 3, [1.0] * 3)


def test_the_course_of_a_run_is_each_turn_beside_the_others():
    """A machine that slows down by half at the end: whatever the three times are, the turns show it."""
    taken = interleaved.Turns(walls=[1.0] * 6 + [1.5] * 2, loops=[2.0] * 6 + [3.0] * 2, setup_s=0.0, devices=[9.0] * 8)
    assert taken.course == pytest.approx([1.0] * 6 + [4 / 3] * 2)


class BusyMachine:
    """A machine on which everything takes twice as long for a second, then a half second not."""

    def __init__(self):
        self.now = 0.0

    def run(self, work_s):
        begin = self.now
        while work_s > 1e-12:
            is_busy, left = self.now % 1.5 < 1.0, (1.0 if self.now % 1.5 < 1.0 else 1.5) - self.now % 1.5
            done = min(work_s, left / (2 if is_busy else 1))
            work_s -= done
            self.now += max(done * (2 if is_busy else 1), 1e-9)
        return self.now - begin


def test_what_disturbs_one_time_disturbs_all(monkeypatch):
    """Another program comes and goes: in turns, all three see as much of it, and agree."""
    machine = BusyMachine()
    monkeypatch.setattr(interleaved, "profiled", lambda call, n, _: [call(n) / n])
    taken = interleaved.in_turns(lambda n: machine.run(n * 1e-3), lambda n: machine.run(1e-4 + n * 1e-3), 1e-3, Rules())
    times = [summarize(samples).median for samples in (taken.walls, taken.slopes, taken.devices)]
    assert max(times) < 1.25 * min(times)
    assert len(taken.walls) == len(taken.slopes) == len(taken.devices)


def test_a_loop_that_fails_is_left_out():
    """No memory for one more copy: the calls are timed all the same."""

    def fails(_n):
        raise clock.jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED")

    taken = interleaved.in_turns(clock.CompiledLoop(square(64)), fails, 1e-4, QUICK)
    assert taken.loop is None
    assert len(taken.walls) >= QUICK.min_samples


def test_what_tries_patience_is_called_alone():
    """A call of a minute: no loop of three of it, no profile, and one sample."""

    def loop(_n):
        raise AssertionError("a loop of a minute and more")

    asked = []
    taken = interleaved.in_turns(
        lambda n: asked.append(n) or time.sleep(0.02) or 60.0, loop, 60.0, Rules(patience_s=0.01)
    )
    assert (asked, taken.walls, taken.loop, taken.devices) == ([1], [60.0], None, [])


def test_a_program_that_does_not_fit_is_skipped(monkeypatch):
    """Asked of the compiled program, before its arrays are made; a loop that alone doesn't fit is left out."""
    call = clock.CompiledLoop(square(64))
    needed = clock.program_bytes(call._program, are_arguments_there=False)
    assert needed >= 3 * 4 * 64**2
    monkeypatch.setattr(devices, "free_memory", lambda _: needed)
    with pytest.raises(CaseSkipped, match=r"the program takes .* GB; .* GB are free"):
        clock.CompiledLoop(square(64))
    monkeypatch.setattr(devices, "free_memory", lambda _: -1.0)
    assert clock._loop(square(64), call.buffers) is None


@pytest.mark.slow
@pytest.mark.quiet
@pytest.mark.parametrize("element_bytes", [2, 4])
def test_streaming_times_agree_where_the_output_is_recycled(element_bytes):
    """32 and 64 MiB a term: a fresh output costs several times the work in page faults, and bf16 fed in place five."""
    add = workload("elementwise", {"n_elements": 2**24, "element_bytes": element_bytes})
    timings = [clock.time_workload(add) for _ in range(5)]
    assert 0.8 < median(t.loop.summary.median / t.wall.median for t in timings) < 1.25

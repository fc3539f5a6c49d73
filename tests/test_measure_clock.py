"""Times on this machine: three that agree, a loop that XLA emptied, and a short timing from end to end."""

from __future__ import annotations

import math
from statistics import median

import pytest

from measure import clock
from measure.cases import workload
from measure.samples import Rules, summarize
from measure.timing import LoopTime

QUICK = Rules(warmup_s=0.0, sample_s=0.0, loop_s=0.003, profiled_calls=3)
FP32 = dict.fromkeys(("weight_dtype", "activation_dtype", "output_dtype", "compute_dtype"), "fp32")


def square(size):
    """An fp32 matmul of equal sides."""
    return workload("matmul", {"tokens": size, "d_in": size, "d_out": size} | FP32)


def test_a_timing_has_all_three_times(tmp_path):
    """Wall, loop and device of one small matmul, with what XLA counts; the profile is kept."""
    timing = clock.time_workload(square(256), QUICK, keep=tmp_path)
    assert timing.method == "loop"
    assert min(timing.wall.median, timing.loop.summary.median, timing.device.median) > 1e-6
    assert max(timing.wall.median, timing.loop.summary.median, timing.device.median) < 0.5
    assert timing.xla_flops == pytest.approx(2 * 256**3, rel=0.01)
    assert timing.compile_s > 0
    assert len(list(tmp_path.rglob("*.xplane.pb"))) == 1


def test_dispatch_is_measured_once():
    """Microseconds, and the same number for every case of a process."""
    assert clock.dispatch_floor() < 2e-3
    assert clock.dispatch_floor() == clock.dispatch_floor()


@pytest.mark.quiet
def test_a_loop_that_xla_emptied_is_caught():
    """Seeded: operands that never change. XLA multiplies once, before the loop, and the guard says so."""
    call = clock.Call(square(512))
    wall = summarize([call() for _ in range(9)])
    unfed = clock.Loop(square(512), (call.arrays, call.output), feed=lambda operand, _: operand)
    emptied = clock.loop_time(unfed, wall.median, QUICK)
    timing = clock.Timing("cpu", wall, 1.0, clock.dispatch_floor(), loop=emptied, device=wall)
    assert emptied.summary.median < wall.median / 4
    assert "loop_elided" in timing.flags


def test_the_loop_keeps_its_work():
    """Fed operands: nothing is flagged as elided, and an iteration takes about as long as a call."""
    timing = clock.time_workload(square(512), QUICK)
    assert "loop_elided" not in timing.flags


def test_calls_write_into_one_buffer():
    """The output of each call is donated to the next: the old one is gone, its place is used again."""
    call = clock.Call(square(64))
    before = call.output
    call()
    assert before.is_deleted()
    assert call.output.unsafe_buffer_pointer() == (call(), call.output.unsafe_buffer_pointer())[1]


class Line:
    """A loop whose time is set-up plus a slope, without a machine."""

    def __init__(self, setup_s, slope_s):
        self.setup_s, self.slope_s, self.longest = setup_s, slope_s, 0

    def __call__(self, n):
        self.longest = max(self.longest, n)
        return self.setup_s + n * self.slope_s


@pytest.mark.parametrize(("call_s", "slope_s"), [(1e-3, 1e-3), (1e-3, 1e-5), (5.0, 5.0)])
def test_the_slope_leaves_out_the_set_up(call_s, slope_s):
    """Whatever a first guess from the call's time said, the loop lasts 30 ms and yields its slope."""
    loop = Line(0.01, slope_s)
    found = clock.loop_time(loop, call_s, Rules())
    assert found.summary.median == pytest.approx(slope_s)
    assert found.setup_s == 0.01
    assert loop(found.n_inner) >= 0.03


def test_an_empty_loop_does_not_grow_for_ever():
    """T(n) that never changes: growth of one, and an end to the search."""
    loop = Line(20e-6, 0.0)
    found = clock.loop_time(loop, 1e-3, Rules())
    assert isinstance(found, LoopTime)
    assert found.growth == pytest.approx(1)
    assert found.summary.spread == math.inf
    assert loop.longest <= 30 * 30 * clock.GROW_AT_MOST


def test_no_profile_is_no_error(monkeypatch):
    """Another profiler is running, say: the time is left out, and the flag says so."""

    def busy(*args, **options):
        raise RuntimeError("Only one profile may be run at a time.")

    monkeypatch.setattr(clock.jax.profiler, "trace", busy)
    assert clock.device_time(lambda: 1.0, 1.0, QUICK) is None


@pytest.mark.slow
@pytest.mark.quiet
@pytest.mark.parametrize("size", [512, 1024, 2048])
def test_three_times_agree_within_a_fifth(size):
    """The quality check itself, in the median of five runs: loop, call and profile of an fp32 matmul."""
    timings = [clock.time_workload(square(size)) for _ in range(5)]
    loops = [timing.loop.summary.median for timing in timings]
    for others in ([t.wall.median for t in timings], [t.device.median for t in timings]):
        ratio = median(loop / other for loop, other in zip(loops, others, strict=True))
        assert 0.8 < ratio < 1.25


@pytest.mark.slow
@pytest.mark.quiet
def test_streaming_times_agree_where_the_output_is_recycled():
    """64 MiB a term: a fresh output would cost several times the work in page faults."""
    add = workload("elementwise", {"n_elements": 2**24, "element_bytes": 4})
    timings = [clock.time_workload(add) for _ in range(5)]
    assert 0.8 < median(t.loop.summary.median / t.wall.median for t in timings) < 1.25

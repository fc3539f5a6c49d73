"""Device time out of profiles of each platform's layout, written by the tests, and out of real ones."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import UserError
from planner.measure.profiles import busy_time, newest, run_times
from planner.profiles import xspace
from planner.profiles.planes import Event
from tests.measure_encoder import Span, space
from tests.measure_traces import ELEMENTWISE, V6E, real

US = 1_000_000  # ps


@pytest.fixture
def profile(tmp_path):
    """Write planes to a profile and give its path."""

    def write(planes):
        path = tmp_path / "host.xplane.pb"
        path.write_bytes(space(planes))
        return path

    return write


def test_tpu_runs_are_module_events(profile):
    """By exact module name, on the slowest device; the program id doesn't matter."""

    def modules(*microseconds):
        named = zip(["jit_f(1)", "jit_f(2)", "jit_f_other(3)", "jit_g(4)"], microseconds, strict=True)
        return [Span(name, i * 100 * US, us * US) for i, (name, us) in enumerate(named)]

    path = profile({
        "/device:TPU:0": {"XLA Modules": modules(10, 12, 90, 90), "XLA Ops": modules(5, 5, 5, 5)},
        "/device:TPU:1": {"XLA Modules": modules(11, 13, 90, 90)},
    })  # fmt: skip
    assert run_times(path, "jit_f", 2) == pytest.approx([11e-6, 13e-6])


def kernels_of(path, module):
    """A module's kernels in a profile, by begin."""
    events = (event for plane in xspace.read(path) for line in plane.lines for event in line.events)
    ours = (e for e in events if e.stats.get("hlo_module") == module and "kernel_details" in e.stats)
    return sorted(ours, key=lambda event: event.start_ps)


def kernel(begin, microseconds, module="jit_f"):
    """A GPU kernel; one of a CUDA graph has no module."""
    return Span("kernel", begin * US, microseconds * US, {"hlo_module": module} if module else {})


def test_gpu_runs_are_unions_of_kernels(profile):
    """Two runs of three kernels on two streams: overlap counts once, gaps and other modules not at all."""
    path = profile({
        "/device:GPU:0": {
            "Stream #16(Kernel)": [kernel(0, 10), kernel(20, 5, None), kernel(100, 12), kernel(120, 5, None)],
            "Stream #17(Kernel)": [kernel(5, 10), kernel(105, 10), kernel(300, 50, "jit_g")],
            "XLA Ops": [kernel(0, 400)],
        },
        "/device:GPU:1": {},
        "/host:CPU": {"python": [Span("launch", 0, 999 * US, {"run_id": 1, "hlo_module": "jit_f"})]},
    })  # fmt: skip
    assert run_times(path, "jit_f", 2) == pytest.approx([20e-6, 20e-6])


def test_gpu_kernels_that_cannot_be_dealt_out_give_the_mean(profile):
    """Three kernels in two runs: half of the union for each."""
    path = profile({"/device:GPU:0": {"Stream #1": [kernel(0, 10), kernel(20, 10), kernel(40, 10)]}})
    assert run_times(path, "jit_f", 2) == pytest.approx([15e-6, 15e-6])


def test_cpu_run_is_the_span_over_threads(profile):
    """Begin of the first to end of the last event with one run_id; other modules' runs stay out."""

    def op(begin, microseconds, run, module="jit_f"):
        return Span("op", begin * US, microseconds * US, {"run_id": run, "hlo_module": module})

    waiting = Span("wait for completion", 9 * US, 3 * US, {"run_id": -5})
    path = profile({
        "/host:CPU": {
            "tf_XLAPjRtCpuClient/1": [op(0, 4, -5), waiting, op(100, 8, -4), op(200, 9, -3, "jit_g")],
            "tf_XLAEigen/2": [op(2, 6, -5), Span("no run", 0, 999 * US)],
        }
    })  # fmt: skip
    assert run_times(path, "jit_f", 2) == pytest.approx([12e-6, 8e-6])


def test_nothing_recorded_is_empty(profile):
    """A profile without the module's runs has no times, rather than zeros."""
    assert run_times(profile({"/host:CPU": {"python": [Span("call", 0, 5)]}}), "jit_f", 3) == []


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=12))
def test_busy_time_counts_every_moment_once(spans):
    """The union's length, against a set of moments."""
    events = [Event("e", start, length, {}) for start, length in spans]
    moments = {moment for start, length in spans for moment in range(start, start + length)}
    assert busy_time(events) == pytest.approx(len(moments) * 1e-12)


def test_newest_profile_wins(tmp_path):
    """Below a folder that traces were written to, in whatever depth; none is an error."""
    with pytest.raises(UserError, match="xplane"):
        newest(tmp_path)
    for age, name in enumerate(["b/new", "a/old"]):
        path = tmp_path / f"{name}.xplane.pb"
        path.parent.mkdir()
        path.touch()
        os.utime(path, (1000 - age, 1000 - age))
    assert newest(tmp_path).name == "new.xplane.pb"


def test_copies_of_no_module_are_the_hosts(profile):
    """What a transfer does beside the program is not the program's; a copy that the program makes is."""

    def copy(begin, module):
        return Span("MemcpyH2D", begin * US, 7 * US, {"hlo_module": module} if module else {})

    stream = [kernel(0, 10), copy(20, None), kernel(100, 10), copy(120, None)]
    assert run_times(profile({"/device:GPU:0": {"Stream #1": stream}}), "jit_f", 2) == pytest.approx([10e-6] * 2)
    stream = [kernel(0, 10), copy(20, "jit_f"), kernel(100, 10), copy(120, "jit_f")]
    assert run_times(profile({"/device:GPU:0": {"Stream #1": stream}}), "jit_f", 2) == pytest.approx([17e-6] * 2)


@real
def test_mi300x_runs_leave_out_the_hosts_copies():
    """Ten adds beside as many copies of another stream: each run is its one kernel, and no copy."""
    runs = run_times(ELEMENTWISE, "jit_add", 10)
    assert runs == pytest.approx([kernel.duration_ps * 1e-12 for kernel in kernels_of(ELEMENTWISE, "jit_add")])


@real
def test_v6e_module_runs():
    """The broadcast that wrote 5.37 GB, and a hundred runs of the training-like step."""
    assert run_times(V6E, "jit_broadcast_in_dim", 1) == pytest.approx([4.444e-3], rel=1e-3)
    assert len(run_times(V6E, "jit_f", 100)) == 100


def test_reading_needs_no_jax():
    """Importing what reads profiles and records imports no JAX: proved in a process of its own."""
    names = ("measure.profiles", "measure.records", "measure.timing", "measure.devices", "profiles.reading")
    modules = ", ".join(f"planner.{name}" for name in names)
    code = f"import sys, {modules}; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

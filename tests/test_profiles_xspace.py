"""The reader of .xplane.pb: every kind of stat, real profiles, and files that are none."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import UserError
from planner.measure.profiles import busy_time
from planner.profiles import xspace
from planner.profiles.planes import Plane
from planner.profiles.reading import read as profile_read
from tests.measure_encoder import Span, space
from tests.measure_traces import MI300X, V6E, real

MS = 1e9  # ps


def parsed(data: bytes) -> tuple[Plane, ...]:
    """The planes of a file with this content."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.pb")
        path.write_bytes(data)
        return xspace.read(path)


def test_reads_what_was_written():
    """Names, picoseconds and all kinds of stats; an event's own stats stand over its metadata's."""
    stats = {"text": "jit_f", "double": 0.5, "big": 2**63 + 1, "negative": -7, "raw": b"\x00\xff"}
    span = Span("fusion.1", 5, 7, stats, {"hlo_category": "loop fusion", "text": "hidden"})
    (plane,) = parsed(space({"/device:TPU:0": {"XLA Ops": [span]}}, {"has_megacore": 1}))
    assert (plane.name, plane.stats) == ("/device:TPU:0", {"has_megacore": 1})
    (event,) = plane.lines[0].events
    assert (event.name, event.start_ps, event.end_ps) == ("fusion.1", 1_000_005, 1_000_012)
    assert event.stats == stats | {"hlo_category": "loop fusion"}


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**40))
def test_any_time_survives(offset, duration):
    """Picoseconds of every size, however many bytes they take."""
    (plane,) = parsed(space({"p": {"l": [Span("e", offset, duration)]}}))
    (event,) = plane.lines[0].events
    assert (event.start_ps - 1_000_000, event.duration_ps) == (offset, duration)


@pytest.mark.parametrize("data", [b"", b"hello, world", space({"p": {"l": [Span("e", 1, 1)]}})[:-3]])
def test_what_is_no_profile_is_refused(tmp_path, data):
    """Empty, text and cut short: one line with the file's name."""
    path = tmp_path / "a.xplane.pb"
    path.write_bytes(data)
    with pytest.raises(UserError, match="not a profile"):
        xspace.read(path)


def test_a_profile_read_as_text_is_refused(tmp_path):
    """Bytes that are no UTF-8 were replaced, as in one file at xprof's HEAD."""
    data = space({"p": {"l": [Span("e", 2**40, 2**40, {"raw": b"\xff\xfe" * 40})]}})
    path = tmp_path / "a.xplane.pb"
    path.write_bytes(data.decode("utf-8", "replace").encode())
    with pytest.raises(UserError, match="not a profile"):
        xspace.read(path)


@pytest.fixture(scope="module")
def v6e():
    """Planes of the TPU v6e profile by name."""
    return {plane.name: plane for plane in xspace.read(V6E)}


def ops(plane, prefix):
    """Milliseconds of the XLA operations of a plane whose name begins so."""
    (line,) = (line for line in plane.lines if line.name == "XLA Ops")
    return [event.duration_ps / MS for event in line.events if event.name.startswith(prefix)]


@real
def test_v6e_describes_itself(v6e):
    """The plane's stats hold the data sheet that the profiler believes in."""
    stats = v6e["/device:TPU:0"].stats
    assert stats["device_type_string"] == "TPU v6 Lite"
    assert stats["peak_teraflops_per_second"] == 918.0


@real
@pytest.mark.parametrize(
    ("operation", "low_ms", "high_ms"),
    [
        ("%broadcast_add_fusion.1 =", 7.92, 8.16),  # 5.37 GB -> 5.37 GB: 1317-1357 GB/s
        ("%broadcast_add_fusion.2 =", 7.91, 8.15),
        ("%broadcast.2 =", 4.44, 4.45),  # written only: 1208 GB/s
        ("%copy-done =", 182, 195),  # host and HBM: 28-29 GB/s
        ("%copy-done.5 =", 182, 195),
    ],
)
def test_v6e_times(v6e, operation, low_ms, high_ms):
    """The medians that the protocol reads out of this profile (section 2.5)."""
    assert low_ms < median(ops(v6e["/device:TPU:0"], operation)) < high_ms


@real
def test_v6e_all_reduce(v6e):
    """Three runs on each of four chips, all within 30 us of 121.7 ms."""
    times = [time for n in range(4) for time in ops(v6e[f"/device:TPU:{n}"], "%all-reduce =")]
    assert len(times) == 12
    assert (min(times), max(times)) == pytest.approx((121.6876, 121.7158), abs=1e-4)


@real
def test_v6e_metadata_stats(v6e):
    """What JAX's own reader leaves out: category, FLOPs and bytes of an operation."""
    (line,) = (line for line in v6e["/device:TPU:0"].lines if line.name == "XLA Ops")
    event = next(event for event in line.events if event.name.startswith("%broadcast_add_fusion.1 ="))
    assert event.stats["hlo_category"] == "loop fusion"
    assert event.stats["bytes_accessed"] == 2 * 5 * 1024 * 1024 * 256 * 4
    assert event.stats["flops"] == 5 * 1024 * 1024 * 256


@real
def test_v6e_overlap_counts_once(v6e):
    """Async copies run in parallel: their durations add up to 2.5 times the time that passed."""
    (line,) = (line for line in v6e["/device:TPU:0"].lines if line.name == "Async XLA Ops")
    total = sum(event.duration_ps for event in line.events) * 1e-12
    assert (total, busy_time(line.events)) == pytest.approx((197.6, 78.4), abs=0.05)


@real
def test_mi300x_matmul():
    """bf16 8192 x 8192 x 4096 on a MI300X: a median of 587 us, 936 TFLOP/s."""
    (plane,) = (plane for plane in xspace.read(MI300X) if plane.name == "/device:GPU:0")
    kernels = [event for line in plane.lines for event in line.events if "MT256x224x64" in event.name]
    seconds = median(event.duration_ps for event in kernels) * 1e-12
    assert seconds == pytest.approx(587e-6, rel=1e-3)
    assert 2 * 8192 * 8192 * 4096 / seconds == pytest.approx(936e12, rel=1e-3)


def test_times_since_1970_are_those_of_the_capture(tmp_path):
    """Lines that begin by the clock of the world, whose picoseconds no 64 bits hold, give the steps of any others."""
    runs = {"XLA Modules": [Span("jit_f(1)", 20_000_000 * n, 8_000_000) for n in range(3)]}
    path = tmp_path / "h.xplane.pb"
    path.write_bytes(space({"/device:TPU:0": runs, "/host:CPU": {}}, begin_ns=1_700_000_000_123_456_789))
    assert profile_read(path).step_times == pytest.approx([8e-6] * 3)

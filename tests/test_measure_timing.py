"""Guards of a timing: each seeded fault raises its own flag, and a sound timing none."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from planner.measure.timing import LoopTime, Timing, summarize


def steady(seconds, n=9):
    """Samples within a thousandth of a time."""
    return summarize([seconds * (1 + 1e-4 * i) for i in range(n)])


SOUND = Timing(
    platform="cpu", wall=steady(1.02e-3), drift=1.0, dispatch_s=10e-6,
    loop=LoopTime(steady(1e-3), n_inner=30, growth=2.95, setup_s=120e-6), device=steady(1.01e-3),
)  # fmt: skip
NOISY = summarize([1e-3, 2e-3] * 5)
HOISTED = LoopTime(steady(22e-6), n_inner=1400, growth=2.8, setup_s=1.1e-3)

FAULTS = {
    "above_peak": {"floor_s": 1.1e-3},
    "noisy": {"loop": replace(SOUND.loop, summary=NOISY)},
    "dispatch_bound": {"dispatch_s": 300e-6},
    "drift": {"drift": 1.3},
    "few_samples": {"loop": replace(SOUND.loop, summary=steady(1e-3, n=3))},
    "no_loop_time": {"loop": None},
    "no_device_time": {"device": None},
    "loop_elided": {"loop": replace(SOUND.loop, growth=1.2)},
    "loop/device=0.50": {"device": steady(2e-3)},
    "loop/wall=1.50": {"wall": steady(0.667e-3)},
}


def test_a_sound_timing_has_no_flags():
    """Three times that agree, steady, well above dispatch."""
    assert SOUND.flags == ()


@pytest.mark.parametrize("flag", FAULTS)
def test_a_seeded_fault_raises_its_flag(flag):
    """Each fault is named, and nothing is named beside it but what the same fault disturbs."""
    flags = replace(SOUND, **FAULTS[flag]).flags
    assert flag in flags
    assert {name.partition("=")[0] for name in flags} <= {flag.partition("=")[0], "loop/device", "loop/wall"}


def test_hoisted_work_shows_in_the_set_up():
    """XLA moved the work before the loop: it still grows threefold, and T(0) takes as long as a call."""
    timing = replace(SOUND, loop=HOISTED)
    assert "loop_elided" in timing.flags
    assert timing.method == "wall"


def test_a_loop_quicker_than_its_set_up_tells_no_time():
    """By differences an iteration came out at less than nothing on a busy machine: the call's time counts, flagged."""
    negative = replace(SOUND.loop, summary=steady(-1e-6))
    for is_kept in (None, True):
        timing = replace(SOUND, loop=negative, is_kept=is_kept)
        assert "loop_elided" in timing.flags
        assert timing.method == "wall"
        assert timing.primary.median > 0


def test_a_fast_loop_alone_is_not_called_elided():
    """Threads that wake up for each call make a loop faster than calls; nothing was removed."""
    fast = replace(HOISTED, setup_s=110e-6)
    flags = replace(SOUND, loop=fast).flags
    assert "loop_elided" not in flags
    assert any(flag.startswith("loop/wall") for flag in flags)


@pytest.mark.parametrize(
    ("platform", "missing", "method"),
    [
        ("tpu", None, "profiler"),
        ("gpu", None, "profiler"),
        ("cpu", None, "loop"),
        ("gpu", "device", "loop"),
        ("cpu", "loop", "wall"),
    ],
)
def test_whose_time_counts(platform, missing, method):
    """The profiler's on an accelerator, the loop's on a CPU or without a profile, else a call's."""
    timing = replace(SOUND, platform=platform, **({missing: None} if missing else {}))
    assert timing.method == method
    assert timing.primary.median == pytest.approx(1e-3, rel=0.03)


@pytest.mark.parametrize("seconds", [0.0, 1e-300])
def test_a_profile_that_tells_no_time_is_none(seconds):
    """A device's median of 0, or of less than a tick: the call or the loop counts, and no ratio is made of it."""
    odd = replace(SOUND, platform="tpu", device=steady(seconds))
    assert odd.method == "loop"
    assert odd.flags == ("no_device_time",)


def test_no_prediction_is_no_guard():
    """Without a predicted time nothing can be above peak."""
    assert "above_peak" not in replace(SOUND, floor_s=math.nan).flags

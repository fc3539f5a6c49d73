"""Memory that is kept between calls: proved in a process of its own, whose allocator it changes for good."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys

import pytest

from planner.measure import devices

FAULTS = """
import resource, sys
import numpy as np
from planner.measure import devices

def faults():
    begin = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.ones(2**24)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - begin

def resident():
    return int(open("/proc/self/statm").read().split()[1])

before = faults(), faults()
assert devices.keep_heap()
faults()
after = faults()
full = resident()
devices.trim_heap()
print(before[1], after, full - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library has no mallopt")
def test_what_is_freed_is_kept_and_can_be_given_back() -> None:
    """128 MiB made again and again: thousands of page faults, none once they are kept; trimmed, they are gone."""
    done = subprocess.run([sys.executable, "-c", FAULTS], check=True, capture_output=True, text=True)
    faults, kept, trimmed = (int(word) for word in done.stdout.split())
    assert kept < 50 < faults
    assert trimmed > 2**27 / 4096 / 2


@pytest.mark.parametrize(("system", "library"), [("win32", ""), ("darwin", ""), ("linux", "musl")])
def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch, system: str, library: str) -> None:
    """Where there is no mallopt it isn't even sought: on Windows `ctypes.CDLL(None)` is a TypeError."""

    def load(name: object) -> None:
        raise TypeError(f"argument of type {type(name).__name__!r} is not iterable")

    monkeypatch.setattr(ctypes, "CDLL", load)
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "libc_ver", lambda: (library, ""))
    devices.keep_heap.cache_clear()
    try:
        assert not devices.keep_heap()
        devices.trim_heap()
    finally:
        devices.keep_heap.cache_clear()

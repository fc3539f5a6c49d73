"""Memory that is kept between calls: proved in a process of its own, whose allocator it changes for good."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
import numpy as np
from measure import heap

def faults():
    begin = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.ones(2**24)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - begin

def resident():
    return int(open("/proc/self/statm").read().split()[1])

before = faults(), faults()
assert heap.keep()
faults()
after = faults()
full = resident()
heap.trim()
print(before[1], after, full - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library has no mallopt")
def test_what_is_freed_is_kept_and_can_be_given_back() -> None:
    """128 MiB made again and again: thousands of page faults, none once they are kept; trimmed, they are gone."""
    done = subprocess.run([sys.executable, "-c", FAULTS], check=True, capture_output=True, text=True)
    faults, kept, trimmed = (int(word) for word in done.stdout.split())
    assert kept < 50 < faults
    assert trimmed > 2**27 / 4096 / 2

"""What no run on any device can have: seconds and rates outside of these are no measurement."""

from __future__ import annotations

SHORTEST = 1e-12  # s: profilers count picoseconds, and no case takes less than one
LONGEST = 366 * 86400.0  # s
MOST = {"s": LONGEST, "1": 1e9, "FLOP/s": 1e19, "byte/s": 1e18}
"""By unit: a year, so many devices or samples, a hundred wafers' peak, ten's memory."""


def time_fault(seconds: float) -> str:
    """Why seconds can't be what a run took; blank where they can."""
    if not seconds > 0:  # NaN too
        return f"{seconds:g} s is no time of a run: it needs a time above 0"
    if seconds < SHORTEST:
        return f"{seconds:g} s is less than any profiler counts, {SHORTEST:g} s"
    return f"{seconds:g} s is above a year" if seconds > LONGEST else ""


def work_fault(work: float, seconds: float, unit: str) -> str:
    """Why no device does the work, in FLOP or bytes, in so many seconds; blank where one can, or the work is unknown.

    `unit` is that of the rate: FLOP/s or byte/s.
    """
    return f"no device does {work:g} in {seconds:g} s" if work / seconds > MOST[unit] else ""

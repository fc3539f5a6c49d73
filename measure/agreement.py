"""Times that all processes of a run agree on: a collective takes as long as on the slowest.

Every decision that a process takes on a time, as when to stop, must be that of the others, or one
waits for a collective that no other begins. Each of these is called by all processes; where a case
fails on one of them (`planner.processes`), it fails on all.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner import processes


def wait_for_all() -> None:
    """Go on when every process is here."""
    processes.join().gather(None)


def most(amount: float) -> float:
    """The largest over all processes."""
    return max(processes.join().gather(amount))


def least(amount: float) -> float:
    """The smallest over all processes."""
    return min(processes.join().gather(amount))


def slowest(runs: Sequence[float]) -> list[float]:
    """Of each run the time on the slowest process; none where a process has none."""
    return [max(times) for times in zip(*processes.join().gather(list(runs)), strict=False)]

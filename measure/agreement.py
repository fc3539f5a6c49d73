"""Times that all processes of a run agree on: a collective takes as long as on the slowest.

Every decision that a process takes on a time, as when to stop, must be that of the others, or one
waits for a collective that no other begins. Each of these is called by all processes, and so a
process whose case fails tells it in place of its next time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from planner import processes

Value = TypeVar("Value")


@dataclass(frozen=True)
class _Failure:
    reason: str


class FailedElsewhereError(RuntimeError):
    """The case failed on another process; the text is its reason."""


def is_first() -> bool:
    """Whether this is the process that tells and writes."""
    return processes.join().is_first


def count() -> int:
    """The processes of this run."""
    return processes.join().count


def wait_for_all() -> None:
    """Go on when every process is here."""
    _gathered(None)


def most(amount: float) -> float:
    """The largest over all processes."""
    return max(_gathered(amount))


def least(amount: float) -> float:
    """The smallest over all processes."""
    return min(_gathered(amount))


def slowest(runs: Sequence[float]) -> list[float]:
    """Of each run the time on the slowest process; none where a process has none."""
    return [max(times) for times in zip(*_gathered(list(runs)), strict=False)]


def tell_failure(reason: str) -> None:
    """Let the case fail on every process, as it did on this one."""
    processes.join().gather(_Failure(reason))


def _gathered(value: Value) -> list[Value]:
    """The value of each process. Raises FailedElsewhereError where one failed instead."""
    found: list[Value] = []
    for index, each in enumerate(processes.join().gather(value)):
        if isinstance(each, _Failure):
            raise FailedElsewhereError(f"process {index}: {each.reason}")
        found.append(each)
    return found

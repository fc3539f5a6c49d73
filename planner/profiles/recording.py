"""What a reader finds on one device, before it is added up: events as arrays of picoseconds, and what they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from planner.profiles.profile import Found, Operation

Integers = npt.NDArray[np.int64]
_COUNTED = 1 << 22
NONE: Integers = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Events:
    """Events in any order: the number of each one's operation, begin and end, and the step that it is of, if told."""

    kinds: Integers
    begin: Integers
    end: Integers
    steps: Integers | None = None  # positions in Recording.steps, -1 for none

    def __len__(self) -> int:
        return len(self.kinds)

    def where(self, chosen: npt.NDArray[np.bool_] | Integers | slice) -> Events:
        """Some of them, or all in another order."""
        steps = None if self.steps is None else self.steps[chosen]
        return Events(self.kinds[chosen], self.begin[chosen], self.end[chosen], steps)


def joined(events: list[Events]) -> Events:
    """Several after each other."""
    if len(events) == 1:
        return events[0]
    steps = [each.steps for each in events if each.steps is not None]
    return Events(
        np.concatenate([NONE, *(each.kinds for each in events)]),
        np.concatenate([NONE, *(each.begin for each in events)]),
        np.concatenate([NONE, *(each.end for each in events)]),
        np.concatenate(steps) if steps and len(steps) == len(events) else None,
    )


def distinct(values: Integers) -> tuple[Integers, Integers]:
    """The different values in order, and which of them each is. Small ones are counted, which sorts nothing."""
    if not len(values) or values.min() < 0 or values.max() >= _COUNTED:
        found, which = np.unique(values, return_inverse=True)
        return found, which.reshape(-1)
    present = np.zeros(int(values.max()) + 1, bool)
    present[values] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[values]


def looked_up(keys: Integers, index: Integers, *columns: Integers) -> list[Integers]:
    """The columns' values at each key of an index, -1 where it has none."""
    if not len(index):
        return [np.full(len(keys), -1, np.int64) for _ in columns]
    order = np.argsort(index, kind="stable")
    at = np.minimum(np.searchsorted(index[order], keys), len(index) - 1)
    there = (index[order][at] == keys) & (keys >= 0)
    return [np.where(there, column[order][at], -1) for column in columns]


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a program: from when to when."""

    name: str
    id: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Marked:
    """A step: its number and how it was found; its window, or that of its own operations where those are told."""

    index: int
    begin: int
    end: int
    found: Found


@dataclass
class Recording:
    """One device's events. `kinds` are the operations without their times; reading `operations` may add to them.

    `operations` gives the events in blocks, whose begins should rise from block to block; `flying` are asynchronous
    operations from their start to their end. `nested` says whether any operation may hold others, as on one queue,
    or only those of control flow, where operations run beside each other.
    """

    name: str
    host: str
    kinds: list[Operation]
    operations: Callable[[], Iterator[Events]]
    kind: str | None = None
    facts: dict[str, str] = field(default_factory=dict)
    flying: Events = field(default_factory=lambda: Events(NONE, NONE, NONE))
    runs: list[Run] = field(default_factory=list)
    steps: list[Marked] = field(default_factory=list)
    nested: bool = True
    peak_flops: float | None = None
    peak_bandwidth: float | None = None


def stepped(recording: Recording) -> None:
    """Give a recording without markers its steps: the runs of the program that takes most time, where it repeats."""
    totals: dict[tuple[str, str], int] = {}
    for run in recording.runs:
        totals[run.name, run.id] = totals.get((run.name, run.id), 0) + run.end - run.begin
    if recording.steps or not totals:
        return
    main = max(totals, key=lambda key: totals[key])
    ours = sorted((run for run in recording.runs if (run.name, run.id) == main), key=lambda run: run.begin)
    if len(ours) > 1:
        recording.steps = [Marked(index, run.begin, run.end, "module") for index, run in enumerate(ours)]

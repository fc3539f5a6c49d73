"""A device's raw events before they are summarised: arrays of times in picoseconds, and
the operations they refer to.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from planner.profiles.planes import AnyLine, Integers
from planner.profiles.profile import Found, Operation, StepKind, shown
from planner.profiles.step_kinds import is_asked, unnumbered

PS = 1e-12  # seconds
_COUNTED = 1 << 22
_NARROW = 1 << 15
FAR = 1 << 61  # ps, some weeks: beyond any event, and sums of two still fit into 64 bits
UNSIGNED = 1 << 64  # line ids are stored as signed numbers
MOST_STEPS = 1 << 17  # most steps to keep per device
_SHARE = 0.25  # least time of the main program, relative to the longest one
NONE: Integers = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Events:
    """Events in any order: for each one its operation's index, begin, end, and step if known."""

    kinds: Integers
    begin: Integers
    end: Integers
    steps: Integers | None = None  # positions in Recording.steps, -1 for none

    def __len__(self) -> int:
        return len(self.kinds)

    def where(self, chosen: npt.NDArray[np.bool_] | Integers | slice) -> Events:
        """The selected events: a subset, or all in another order."""
        steps = None if self.steps is None else self.steps[chosen]
        return Events(self.kinds[chosen], self.begin[chosen], self.end[chosen], steps)


def joined(events: list[Events]) -> Events:
    """Several sets of events concatenated."""
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
    """The sorted distinct values, and the index of each value among them.

    Small values are counted instead of sorted.
    """
    if not len(values) or values.min() < 0 or values.max() >= _COUNTED:
        found, which = np.unique(values, return_inverse=True)
        return found, which.reshape(-1)
    present = np.zeros(int(values.max()) + 1, bool)
    present[values] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[values]


def grouped(values: Integers) -> Iterator[tuple[int, Integers]]:
    """Each distinct value in ascending order with its positions, found by a single sort."""
    is_narrow = len(values) and values.min() >= -_NARROW and values.max() < _NARROW  # numpy radix-sorts 16 bits
    order = np.argsort(values.astype(np.int16) if is_narrow else values, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(values[order])) + 1) if len(values) else ():
        yield int(values[places[0]]), places


def looked_up(keys: Integers, index: Integers, *columns: Integers) -> list[Integers]:
    """The columns' values at each key of an index; -1 for a missing key."""
    if not len(index):
        return [np.full(len(keys), -1, np.int64) for _ in columns]
    order = np.argsort(index, kind="stable")
    at = np.minimum(np.searchsorted(index[order], keys), len(index) - 1)
    there = (index[order][at] == keys) & (keys >= 0)
    return [np.where(there, column[order][at], -1) for column in columns]


@dataclass(frozen=True, slots=True)
class Runs:
    """Program runs ordered by begin, as arrays: each one's program index, begin and end."""

    programs: tuple[tuple[str, str], ...] = ()  # (name, id) of each program
    which: Integers = field(default_factory=lambda: NONE)
    begin: Integers = field(default_factory=lambda: NONE)
    end: Integers = field(default_factory=lambda: NONE)

    def __len__(self) -> int:
        return len(self.which)

    @staticmethod
    def of(runs: Iterable[tuple[tuple[str, str], int, int]]) -> Runs:
        """The runs from (program, begin, end) of each, in their order."""
        numbers: dict[tuple[str, str], int] = {}
        rows = [(numbers.setdefault(program, len(numbers)), begin, end) for program, begin, end in runs]
        which, begin, end = np.array(rows, np.int64).reshape(-1, 3).T
        return Runs(tuple(numbers), which, begin, end)

    def ordered(self) -> Runs:
        """The runs sorted by begin."""
        if bool((np.diff(self.begin) >= 0).all()):
            return self
        order = np.argsort(self.begin, kind="stable")
        return Runs(self.programs, self.which[order], self.begin[order], self.end[order])

    @property
    def names(self) -> list[str]:
        """The programs' names with ids."""
        return [shown(*each) for each in self.programs]

    def main(self, chosen: npt.NDArray[np.bool_] | slice, asked: str = "") -> int | None:
        """The index of the program whose runs, among the chosen ones, are the steps. None if there is none.

        Of the programs that ran repeatedly it is the one with the largest total time, unless one that ran once takes so
        much longer that it must be the step. Among requested programs it is that with the largest total time, even if
        it ran once.
        """
        names = self.names
        counts = np.bincount(self.which[chosen], minlength=len(names)).tolist()
        totals = np.bincount(self.which[chosen], (self.end - self.begin)[chosen], len(names)).tolist()
        ran = [at for at, count in enumerate(counts) if count]
        if asked:
            return max((at for at in ran if is_asked(names[at], asked)), key=lambda at: totals[at], default=None)
        main = max((at for at in ran if counts[at] > 1), key=lambda at: totals[at], default=None)
        return None if main is None or totals[main] < _SHARE * max(totals) else main

    def steps(self, asked: str) -> tuple[list[Marked], Integers]:
        """The steps that the runs of the main (or requested) program are, and the step index of each run.

        The step index is -1 for runs of other programs; the last entry, at index -1, is also -1, for events in no run.
        """
        found = np.full(len(self) + 1, -1, np.int64)
        main = self.main(slice(None), asked)
        if main is None:
            return [], found
        mine = np.flatnonzero(self.which == main)
        found[mine] = np.arange(len(mine))
        windows = zip(self.begin[mine].tolist(), self.end[mine].tolist(), strict=True)
        name = self.names[main]
        return [Marked(index, begin, end, "module", name) for index, (begin, end) in enumerate(windows)], found


@dataclass(frozen=True, slots=True)
class Marked:
    """A step: its number, how it was found, and its window, which is that of its own operations if those are known.

    `name` is the name of its program, or of its marks without numbers if the steps come from marks.
    """

    index: int
    begin: int
    end: int
    found: Found
    name: str = ""


def main_marks(named: Iterable[tuple[str, Marked]], asked: str) -> tuple[list[Marked], list[StepKind]]:
    """The marks of the main kind (such as training, evaluation or an epoch), ordered by begin; and all kinds.

    A kind is a name without its numbers. The main one, among those that occur repeatedly, takes the most time; a
    requested kind takes precedence.
    """
    kinds: dict[str, list[Marked]] = {}
    for name, mark in named:
        kinds.setdefault(unnumbered(name), []).append(mark)
    found = [StepKind(name, len(m), sum(each.end - each.begin for each in m) * PS) for name, m in kinds.items()]
    usual = (kind for kind in found if is_asked(kind.name, asked))
    main = max(usual, key=lambda kind: (bool(asked) or kind.count > 1, kind.seconds), default=None)
    ours = [replace(mark, name=main.name if len(found) > 1 else "") for mark in kinds[main.name]] if main else []
    return sorted(ours, key=lambda mark: mark.begin), found


def of_main_program(steps: list[Marked], runs: Runs) -> list[Marked]:
    """The steps marked by the profiler itself, without those that ran other programs than the main one.

    Without user marks the profiler takes every program call for a step, be it training or the sum of two numbers. With
    user marks, which span several programs, it numbers training and evaluation alike; then other programs are those
    that run repeatedly. The main program is the repeated one with the most time.
    """
    found = within(runs.begin, steps)
    inside = found >= 0
    at, which = found[inside], runs.which[inside]
    main = runs.main(inside)
    if main is None or len(np.unique(which)) < 2:
        return steps
    programs: list[set[int]] = [set() for _ in steps]
    for step, program in zip(at.tolist(), which.tolist(), strict=True):
        programs[step].add(program)
    often = Counter(frozenset(of) for of in programs if of)
    are_calls = len(np.unique(at)) == len(at)
    ours = [main in of or not (are_calls or often[frozenset(of)] > 1) for of in programs]
    name = "" if all(ours) else runs.names[main]
    return [replace(mark, name=name) for mark, is_ours in zip(steps, ours, strict=True) if is_ours]


def within(times: Integers, steps: Sequence[Marked]) -> Integers:
    """The index of the step that contains each time; -1 for none. The steps must be ordered by begin."""
    if not steps:
        return np.full(len(times), -1, np.int64)
    ends = np.array([step.end for step in steps], np.int64)
    at = np.searchsorted(np.array([step.begin for step in steps], np.int64), times, "right") - 1
    return np.where((at >= 0) & (times <= ends[at]), at, -1)


@dataclass
class Recording:
    """One device's events. `kinds` are the operations without times; iterating over `operations` may add to them.

    `operations` yields the events in blocks, whose begins should rise from block to block. `flying` are asynchronous
    operations from start to end. `nested` says whether any operation may contain others, as on a single queue, or only
    control flow may, with operations running concurrently. `asked` is the requested kind of steps, blank for the main
    one. `step_kinds` are the kinds of the marks.
    """

    name: str
    host: str
    kinds: list[Operation]
    operations: Callable[[], Iterator[Events]]
    kind: str | None = None
    facts: dict[str, str] = field(default_factory=dict)
    flying: Events = field(default_factory=lambda: Events(NONE, NONE, NONE))
    runs: Runs = field(default_factory=Runs)
    steps: list[Marked] = field(default_factory=list)
    nested: bool = True
    peak_flops: float | None = None
    peak_bandwidth: float | None = None
    asked: str = ""
    step_kinds: Sequence[StepKind] = ()


def stepped(recording: Recording) -> None:
    """Set the steps of a recording without markers to the runs of its main program.

    Markers whose numbers repeat, for example in each epoch, are renumbered in order.
    """
    if len({step.index for step in recording.steps}) < len(recording.steps):
        recording.steps = [replace(step, index=number) for number, step in enumerate(recording.steps)]
    if not recording.steps:
        steps, _ = recording.runs.steps(recording.asked)
        recording.steps = steps[:MOST_STEPS]
        if len(steps) > MOST_STEPS:
            recording.facts["steps"] = f"the first {MOST_STEPS:,} of {len(steps):,}"


def steps_of(line: AnyLine | None) -> list[Marked]:
    """The steps on a device's step line, which the profiler derived; its events are named by step number."""
    found: list[Marked] = []
    if line is None:
        return found
    for block in line.blocks():
        for key, begin, end in zip(block.kinds.tolist(), block.begin.tolist(), block.end.tolist(), strict=True):
            name = line.kinds.get(key % UNSIGNED, ("", {}))[0]
            digits = re.search(r"\d+", name)
            found.append(Marked(int(digits[0]) if digits else len(found), begin, end, "line"))
        if len(found) > MOST_STEPS:
            break
    return sorted(found, key=lambda step: step.begin)[:MOST_STEPS]

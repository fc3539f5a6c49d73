"""What a reader finds on one device, before it is added up: events as arrays of picoseconds, and what they are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from planner.profiles.profile import Found, Operation, StepKind, shown
from planner.profiles.step_kinds import is_asked, unnumbered
from planner.profiles.xspace import AnyLine, Integers

PS = 1e-12  # seconds
_COUNTED = 1 << 22
_NARROW = 1 << 15
FAR = 1 << 61  # ps, some weeks: no event lies or lasts so far, and sums of two stay numbers of 64 bits
UNSIGNED = 1 << 64  # a line's ids come as signed numbers
MOST_STEPS = 1 << 17  # that are kept of a device
_SHARE = 0.25  # of the longest program's time, at least, takes the one whose runs are steps
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


def grouped(values: Integers) -> Iterator[tuple[int, Integers]]:
    """Each different value, the least first, with the places that have it in their order: all in one sort."""
    is_narrow = len(values) and values.min() >= -_NARROW and values.max() < _NARROW  # numpy sorts 16 bits in one pass
    order = np.argsort(values.astype(np.int16) if is_narrow else values, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(values[order])) + 1) if len(values) else ():
        yield int(values[places[0]]), places


def looked_up(keys: Integers, index: Integers, *columns: Integers) -> list[Integers]:
    """The columns' values at each key of an index, -1 where it has none."""
    if not len(index):
        return [np.full(len(keys), -1, np.int64) for _ in columns]
    order = np.argsort(index, kind="stable")
    at = np.minimum(np.searchsorted(index[order], keys), len(index) - 1)
    there = (index[order][at] == keys) & (keys >= 0)
    return [np.where(there, column[order][at], -1) for column in columns]


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """One run of a program: from when to when."""

    name: str
    id: str
    begin: int
    end: int


def main_steps(runs: Sequence[ProgramRun], asked: str = "") -> tuple[list[Marked], Integers]:
    """The runs of the main program, or of the one that a person asked for, as steps; and the step of each run.

    That is -1 for a run of another program, and for no run: the last entry, at -1.
    """
    totals: dict[str, tuple[int, float]] = {}
    names = [shown(run.name, run.id) for run in runs]
    for name, run in zip(names, runs, strict=True):
        count, total = totals.get(name, (0, 0.0))
        totals[name] = count + 1, total + run.end - run.begin
    main = _main(totals, asked)
    mine = [at for at, name in enumerate(names) if name == main]
    steps = np.full(len(runs) + 1, -1, np.int64)
    if not mine:
        return [], steps
    steps[mine] = np.arange(len(mine))
    return [Marked(n, runs[at].begin, runs[at].end, "module", names[at]) for n, at in enumerate(mine)], steps


def _main(programs: Mapping[str, tuple[int, float]], asked: str) -> str | None:
    """The program whose runs are steps, by how often each ran and its time: of those that repeat that of the most time.

    None where one that ran once takes so much more that it is the step. Of those that a person asked for that of the
    most time, be it one run.
    """
    if asked:
        wanted = [name for name in programs if is_asked(name, asked)]
        return max(wanted, key=lambda name: programs[name][1], default=None)
    again = {name: total for name, (count, total) in programs.items() if count > 1}
    main = max(again, key=lambda name: again[name], default=None)
    most = max((total for _, total in programs.values()), default=0.0)
    return None if main is None or again[main] < _SHARE * most else main


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of programs by their begin, however many: the number of each one's program, its begin and end."""

    programs: tuple[tuple[str, str], ...] = ()  # name and id
    which: Integers = field(default_factory=lambda: NONE)
    begin: Integers = field(default_factory=lambda: NONE)
    end: Integers = field(default_factory=lambda: NONE)

    def __len__(self) -> int:
        return len(self.which)

    @staticmethod
    def of(runs: Iterable[ProgramRun]) -> Runs:
        """Runs from a list of them, in any order."""
        numbers: dict[tuple[str, str], int] = {}
        rows = [(numbers.setdefault((run.name, run.id), len(numbers)), run.begin, run.end) for run in runs]
        which, begin, end = np.array(rows, np.int64).reshape(-1, 3).T
        return Runs(tuple(numbers), which, begin, end).ordered()

    def ordered(self) -> Runs:
        """By begin."""
        if bool((np.diff(self.begin) >= 0).all()):
            return self
        order = np.argsort(self.begin, kind="stable")
        return Runs(self.programs, self.which[order], self.begin[order], self.end[order])

    @property
    def names(self) -> list[str]:
        """The programs by name and id."""
        return [shown(*each) for each in self.programs]

    def main(self, chosen: npt.NDArray[np.bool_] | slice, asked: str = "") -> int | None:
        """The number of the program whose runs, of the chosen ones, are steps; None where there is none."""
        names = self.names
        counts = np.bincount(self.which[chosen], minlength=len(names))
        totals = np.bincount(self.which[chosen], (self.end - self.begin)[chosen], len(names))
        told = zip(names, counts.tolist(), totals.tolist(), strict=True)
        found = _main({name: (count, total) for name, count, total in told if count}, asked)
        return None if found is None else names.index(found)


@dataclass(frozen=True, slots=True)
class Marked:
    """A step: its number and how it was found; its window, or that of its own operations where those are told.

    `name` is its program's, or of the marks of its kind, numbers aside, where steps are the marks of one kind.
    """

    index: int
    begin: int
    end: int
    found: Found
    name: str = ""


def main_marks(named: Iterable[tuple[str, Marked]], asked: str = "") -> tuple[list[Marked], list[StepKind]]:
    """The marks of one kind by their begin, of those of training, evaluation and an epoch around them; and all kinds.

    That is the kind, by its name without numbers, whose marks take the most time, of those that come more than once; or
    of those that a person asked for.
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
    """Steps that the profiler itself marked, without those in which other programs run than the main one.

    Without a person's marks it takes every call of a program for a step, be it of training or of a sum of two numbers;
    with them, which hold several, it numbers training and evaluation alike: then programs that come again are others.
    The main program is the one that takes the most time of those that repeat.
    """
    found = within(runs.begin, steps)
    inside = found >= 0
    at, which = found[inside], runs.which[inside]
    main = runs.main(inside)
    if main is None or len(np.unique(which)) < 2:
        return steps
    held: list[set[int]] = [set() for _ in steps]
    for step, program in zip(at.tolist(), which.tolist(), strict=True):
        held[step].add(program)
    often = Counter(frozenset(of) for of in held if of)
    are_calls = len(np.unique(at)) == len(at)
    ours = [main in of or not (are_calls or often[frozenset(of)] > 1) for of in held]
    name = "" if all(ours) else runs.names[main]
    return [replace(mark, name=name) for mark, is_ours in zip(steps, ours, strict=True) if is_ours]


def within(times: Integers, steps: Sequence[Marked]) -> Integers:
    """The position of the step in whose time each lies, of steps in the order of their begins; -1 for none."""
    if not steps:
        return np.full(len(times), -1, np.int64)
    ends = np.array([step.end for step in steps], np.int64)
    at = np.searchsorted(np.array([step.begin for step in steps], np.int64), times, "right") - 1
    return np.where((at >= 0) & (times <= ends[at]), at, -1)


@dataclass
class Recording:
    """One device's events. `kinds` are the operations without their times; reading `operations` may add to them.

    `operations` gives the events in blocks, whose begins should rise from block to block; `flying` are asynchronous
    operations from their start to their end. `nested` says whether any operation may hold others, as on one queue,
    or only those of control flow, where operations run beside each other. `asked` is what kind of steps a person wants,
    blank for the main one; `step_kinds` are those of the marks.
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
    """Give a recording without markers its steps: the runs of its main program.

    Markers whose numbers come again, as those of each epoch, are numbered in their order.
    """
    runs = recording.runs
    if len({step.index for step in recording.steps}) < len(recording.steps):
        recording.steps = [replace(step, index=number) for number, step in enumerate(recording.steps)]
    main = None if recording.steps else runs.main(slice(None), recording.asked)
    if main is None:
        return
    mine = np.flatnonzero(runs.which == main)
    kept = mine[:MOST_STEPS]
    if len(mine) > len(kept):
        recording.facts["steps"] = f"the first {len(kept):,} of {len(mine):,}"
    windows = zip(runs.begin[kept].tolist(), runs.end[kept].tolist(), strict=True)
    name = runs.names[main]
    recording.steps = [Marked(index, begin, end, "module", name) for index, (begin, end) in enumerate(windows)]


def steps_of(line: AnyLine | None) -> list[Marked]:
    """The steps of a device's line of steps, which the profiler derived: its events are named by their number."""
    found: list[Marked] = []
    for block in line.blocks() if line else ():
        for key, begin, end in zip(block.kinds.tolist(), block.begin.tolist(), block.end.tolist(), strict=True):
            name = line.kinds.get(key % UNSIGNED, ("", {}))[0] if line else ""
            digits = re.search(r"\d+", name)
            found.append(Marked(int(digits[0]) if digits else len(found), begin, end, "line"))
        if len(found) > MOST_STEPS:
            break
    return sorted(found, key=lambda step: step.begin)[:MOST_STEPS]

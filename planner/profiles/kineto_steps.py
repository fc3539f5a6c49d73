"""The steps of a PyTorch trace: those that its profiler marked, else the main annotation, else by the optimizer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from planner.profiles.recording import Integers, Marked, within

STEP = re.compile(r"^ProfilerStep\s*#?\s*(\d+)")
_OPTIMIZER = "Optimizer.step#"  # PyTorch marks each call of an optimizer so, by itself
_PARTS = (  # annotations of PyTorch's own, which are parts of a step
    "Optimizer.", "enumerate(DataLoader)", "DistributedDataParallel.", "FullyShardedDataParallel.", "FSDP::",
    "Torch-Compiled Region", "## Call CompiledFxGraph", "nccl:", "rccl:", "hccl:", "xccl:", "gloo:", "c10d::",
)  # fmt: skip
_COVERED = 0.5  # of the kernels' time, at least, is launched within annotations that are taken for steps


class Note(NamedTuple):
    """An annotation on the host: its name, begin and end in ps."""

    name: str
    begin: int
    end: int


def steps(notes: Sequence[Note], launched: Integers, duration: Integers) -> tuple[Integers, list[Marked]]:
    """The step of each kernel by when it was launched (-1 for none), and the steps.

    Without the profiler's own steps those of a person's annotation, if kernels of most of the time are launched in
    them; else a step is from the end of one call of the optimizer to the end of the next.
    """
    numbered = [(int(match[1]), note.begin, note.end) for note in notes if (match := STEP.match(note.name))]
    if numbered:
        return _within(numbered, launched)
    for found in (_main_annotation(notes), _optimizer_steps(notes)):
        step, marks = _within(found, launched)
        if marks and duration[step >= 0].sum() >= _COVERED * duration.sum():
            return step, marks
    return np.full(len(launched), -1, np.int64), []


def _within(windows: Sequence[tuple[int, int, int]], launched: Integers) -> tuple[Integers, list[Marked]]:
    marks = [Marked(index, begin, end, "marker") for index, begin, end in sorted(windows, key=lambda each: each[1])]
    return within(launched, marks), marks


def _main_annotation(notes: Sequence[Note]) -> list[tuple[int, int, int]]:
    """The annotations of the name that takes most time, among those that lie in no other; numbers in it aside."""
    outer = _outermost([note for note in notes if not note.name.startswith(_PARTS)])
    totals: Counter[str] = Counter()
    for note in outer:
        totals[_unnumbered(note.name)] += note.end - note.begin
    if not totals:
        return []
    main = totals.most_common(1)[0][0]
    ours = [note for note in outer if _unnumbered(note.name) == main]
    return [(n, note.begin, note.end) for n, note in enumerate(ours)]


def _optimizer_steps(notes: Sequence[Note]) -> list[tuple[int, int, int]]:
    """From the end of each call of the optimizer to the end of the next: what is before the first may be cut off.

    Of several optimizers that which is called most often, and of these the last.
    """
    calls = _outermost([note for note in notes if note.name.startswith(_OPTIMIZER)])
    if not calls:
        return []
    often = Counter(note.name for note in calls)
    last = max(calls, key=lambda note: (often[note.name], note.end)).name
    ends = [note.end for note in calls if note.name == last]
    return [(n, before + 1, end) for n, (before, end) in enumerate(pairwise(ends), start=1)]


def _outermost(notes: Sequence[Note]) -> list[Note]:
    """Those that lie in no other, by their begin."""
    outer: list[Note] = []
    for note in sorted(notes, key=lambda note: (note.begin, -note.end)):
        if not outer or note.begin >= outer[-1].end:
            outer.append(note)
    return outer


def _unnumbered(name: str) -> str:
    return re.sub(r"\d+", "#", name)

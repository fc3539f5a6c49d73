"""Finds the steps of a PyTorch (Kineto) trace from annotations on the host and the launch times of kernels.

Steps are those that the profiler marked, else the main annotation's, else those between optimizer calls. A server's
prefill and decode batches are separate kinds, identified by the marks inside a profiler step or by its kernels.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from planner.profiles.device_events import PS, Marked, within
from planner.profiles.planes import Integers
from planner.profiles.profile import StepKind
from planner.profiles.step_kinds import DECODE, is_asked, phase, phase_of_kernels, unnumbered

STEP = re.compile(r"^ProfilerStep\s*#?\s*(\d+)")
_OPTIMIZER = "Optimizer.step#"  # PyTorch's own annotation of each optimizer call
_PARTS = (  # PyTorch's own annotations of parts of a step
    "Optimizer.", "enumerate(DataLoader)", "DistributedDataParallel.", "FullyShardedDataParallel.", "FSDP::",
    "Torch-Compiled Region", "## Call CompiledFxGraph", "nccl:", "rccl:", "hccl:", "xccl:", "gloo:", "c10d::",
)  # fmt: skip
_BACKWARD = re.compile(r"backward|\bbwd|backprop", re.I)
_CALLED = re.compile(r"step|iter(?!ator)|batch", re.I)  # names of steps within an annotation around a whole run
_RUNS = ("run_batch", "execute_model", "forward_batch_generation")  # functions of SGLang and vLLM that run a batch
_REPLAY = "/cuda_graph_runner.py("  # SGLang's file with the function that replays the decode graph
_ENDS = tuple(f"): {name}" for name in (*_RUNS, "forward_extend", "forward_decode", "replay"))
_CUT = 2  # most marks of whole steps in a capture with one call of the optimizer
_COVERED = 0.5  # least share of kernel time launched within annotations for them to be steps


class Annotation(NamedTuple):
    """An annotation on the host: name, begin and end in ps."""

    name: str
    begin: int
    end: int


def call(name: str) -> str:
    """Which server function that runs a batch or names its phase a Python call belongs to; empty for others."""
    if not name.endswith(_ENDS):
        return ""
    function = name.rpartition(": ")[2]
    return function if function != "replay" else DECODE if _REPLAY in name else ""


class Launched(NamedTuple):
    """Kernels with launch time, duration, and the index of a text that begins with the kernel's name."""

    at: Integers
    duration: Integers
    text: Integers
    texts: Sequence[tuple[str, ...]]


Steps = tuple[Integers, list[Marked], list[StepKind]]


def steps(notes: Sequence[Annotation], calls: Sequence[Annotation], kernels: Launched, asked: str = "") -> Steps:
    """The step of each kernel by launch time (-1 for none), the steps, and all kinds of steps found.

    Without the profiler's own steps, those of a user's annotation, if most of the kernel time is launched within it.
    Otherwise a step lasts from the end of one optimizer call to the end of the next, or is a server's call of a
    function that runs a batch (`calls`). Steps of a requested kind may also be nested in others. Of the profiler's own
    steps that are microbatches, as many are a step as lie between two calls of the optimizer.
    """
    numbered = [
        Marked(int(match[1]), note.begin, note.end, "marker") for note in notes if (match := STEP.match(note.name))
    ]
    with_phase = [note for note in notes if phase(note.name)] or [each for each in calls if phase(each.name)]
    served = _numbered(_outermost(with_phase))
    wanted = _numbered(_outermost([note for note in notes if asked and is_asked(unnumbered(note.name), asked)]))
    usual = sorted(numbered, key=lambda each: each.begin)
    if usual and not asked:
        usual = _of_microbatches(usual, notes) or usual
    if not usual:
        usual = next((each for each in _unnumbered_steps(notes, calls, kernels) if _covers(each, kernels)), [])
    kinds: list[StepKind] = []
    for marks in (_phased(usual, served, kernels), wanted):
        step, found, of_them = _of_main_kind(marks, kernels, asked)
        kinds += [kind for kind in of_them if kind not in kinds]
        if found:
            return step, found, kinds
    return np.full(len(kernels.at), -1, np.int64), [], kinds


def _covers(marks: list[Marked], kernels: Launched) -> bool:
    """Whether most of the kernel time was launched within the marks."""
    inside = within(kernels.at, marks) >= 0
    return bool(marks) and bool(kernels.duration[inside].sum() >= _COVERED * kernels.duration.sum())


def _phased(marks: list[Marked], served: Sequence[Marked], kernels: Launched) -> list[Marked]:
    """The steps renamed after the server's mark inside each, or else after the phase that its kernels indicate.

    A step with marks of several kinds, such as all batches of a request, keeps its name.
    """
    if not marks or any(phase(mark.name) for mark in marks):
        return marks
    inside: list[set[str]] = [set() for _ in marks]
    at = within(np.array([note.begin for note in served], np.int64), marks).tolist()
    for note, place in zip(served, at, strict=True):
        if place >= 0:
            inside[place].add(note.name)
    if not any(inside):
        inside = _phases_of_kernels(marks, kernels)
    named = zip(marks, inside, strict=True)
    return [replace(mark, name=min(names)) if len(names) == 1 else mark for mark, names in named]


def _phases_of_kernels(marks: list[Marked], kernels: Launched) -> list[set[str]]:
    """The phase of each step, if its kernels indicate one."""
    with_phase = np.array([bool(phase_of_kernels(text[:1])) for text in kernels.texts], bool)[kernels.text]
    names: list[set[str]] = [set() for _ in marks]
    at = within(kernels.at[with_phase], marks).tolist()
    for place, text in set(zip(at, kernels.text[with_phase].tolist(), strict=True)):
        if place >= 0:
            names[place].add(kernels.texts[text][0])
    return [{found} if (found := phase_of_kernels(each)) else set() for each in names]


def _of_main_kind(marks: list[Marked], kernels: Launched, asked: str) -> Steps:
    """The marks, ordered by begin, with the requested name, or the one under which most kernel time was launched."""
    step = within(kernels.at, marks)
    totals = np.bincount(step[step >= 0], kernels.duration[step >= 0], len(marks)) * PS
    seconds: dict[str, float] = {}
    for mark, total in zip(marks, totals.tolist(), strict=True):
        seconds[mark.name] = seconds.get(mark.name, 0.0) + total
    often = Counter(mark.name for mark in marks)
    kinds = [StepKind(name, often[name], total) for name, total in seconds.items()]
    wanted = (kind for kind in kinds if is_asked(kind.name, asked))
    main = max(wanted, key=lambda kind: kind.seconds, default=None)
    if main is None:
        return np.full(len(step), -1, np.int64), [], kinds
    ours = np.array([mark.name == main.name for mark in marks], bool)
    number = np.append(np.where(ours, np.cumsum(ours) - 1, -1), -1)  # the last entry is for kernels in no step
    return number[step], [mark for mark in marks if mark.name == main.name], kinds


def _unnumbered_steps(
    notes: Sequence[Annotation], calls: Sequence[Annotation], kernels: Launched
) -> Iterator[list[Marked]]:
    """Candidate steps if the profiler numbered none, most likely first.

    These are: top-level annotations; annotations called steps within one that occurs once, such as around a loop; the
    intervals between optimizer calls; a server's batch calls; and the annotation that occurs once.
    """
    named = [note for note in notes if not note.name.startswith(_PARTS)]
    outer = _outermost(named)
    main = _main_annotation(outer, kernels)
    if len(main) > 1:
        yield main
    elif main:
        around = set(outer)
        inner = [note for note in named if note not in around and (phase(note.name) or _CALLED.search(note.name))]
        yield _main_annotation(_outermost(inner), kernels)
    yield _optimizer_steps(notes)
    for name in _RUNS:
        yield _numbered(_outermost([each for each in calls if each.name == name]))
    yield main


def _main_annotation(outer: Sequence[Annotation], kernels: Launched) -> list[Marked]:
    """Of parallel annotations, those whose name (numbers aside) launches most of the kernel time.

    A server's prefill and decode batches count as one name. If a backward pass has its own annotation, each annotation
    is only a part of a step.
    """
    if any(_BACKWARD.search(note.name) for note in outer):
        return []
    at = within(kernels.at, _numbered(outer))
    launched = np.bincount(at[at >= 0], kernels.duration[at >= 0], len(outer)).tolist()
    totals: dict[str, float] = defaultdict(float)
    for note, duration in zip(outer, launched, strict=True):
        totals[_family(note.name)] += duration
    main = max(totals, key=lambda name: totals[name], default="")
    return _numbered([note for note in outer if _family(note.name) == main])


def _family(name: str) -> str:
    return "" if phase(name) else unnumbered(name)


def _numbered(notes: Sequence[Annotation]) -> list[Marked]:
    """Annotations as steps, numbered in order or by the profiler's number, and named after their kind."""
    numbers = [int(match[1]) if (match := STEP.match(note.name)) else n for n, note in enumerate(notes)]
    named = zip(numbers, notes, strict=True)
    return [Marked(number, note.begin, note.end, "marker", unnumbered(note.name)) for number, note in named]


def _optimizer_steps(notes: Sequence[Annotation]) -> list[Marked]:
    """Steps from the end of each optimizer call to the end of the next. What precedes the first may be incomplete."""
    calls = _optimizer_calls(notes)
    pairs = enumerate(pairwise(calls), start=1)
    return [
        Marked(n, before.end + 1, call.end, "marker", f"from one {call.name} to the next")
        for n, (before, call) in pairs
    ]


def _optimizer_calls(notes: Sequence[Annotation]) -> list[Annotation]:
    """The calls of the optimizer; of several optimizers, of the one called most often, or of the last of these."""
    calls = _outermost([note for note in notes if note.name.startswith(_OPTIMIZER)])
    if not calls:
        return []
    often = Counter(note.name for note in calls)
    last = max(calls, key=lambda note: (often[note.name], note.end)).name
    return [note for note in calls if note.name == last]


def remark(notes: Sequence[Annotation]) -> str:
    """That the profiler's own steps are microbatches of which no whole step was captured; empty if they aren't."""
    marked = sum(bool(STEP.match(note.name)) for note in notes)
    if marked <= _CUT or len(_optimizer_calls(notes)) != 1:
        return ""
    return f"the optimizer is called in one of {marked} marked steps: they are microbatches, and no step is whole"


def _of_microbatches(marks: Sequence[Marked], notes: Sequence[Annotation]) -> list[Marked]:
    """The steps of an optimizer, if several of the profiler's marks begin in each; empty otherwise."""
    found = _optimizer_steps(notes)
    at = within(np.array([mark.begin for mark in marks], np.int64), found)
    each = np.bincount(at[at >= 0], minlength=len(found))
    return found if found and each.min() > 1 else []


def _outermost(notes: Sequence[Annotation]) -> list[Annotation]:
    """The annotations that aren't nested in others, ordered by begin."""
    outer: list[Annotation] = []
    for note in sorted(notes, key=lambda note: (note.begin, -note.end)):
        if not outer or note.begin >= outer[-1].end:
            outer.append(note)
    return outer

"""Summarises a device's events into operations, parts of steps and gaps, piece by piece for long recordings."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from planner import progress
from planner.profiles import step_parts
from planner.profiles.device_events import PS, Events, Marked, Recording, grouped, joined, stepped
from planner.profiles.planes import Integers
from planner.profiles.profile import Device, Gap, Operation, Parts, Program, Step
from planner.profiles.step_parts import HOLDERS

GAPS = 12  # most gaps to keep
_PIECE = 1 << 17  # events to add up at once
_SAMPLES = 1 << 20  # most durations to keep for medians; beyond, every other one is dropped


def summarise(recording: Recording) -> Device | None:
    """The device of a recording. None if nothing ran on it."""
    stepped(recording)
    tally = _Tally(recording)
    count = 0
    try:
        for piece in _pieces(recording.operations()):
            tally.add(piece)
            count += len(piece)
            progress.step(f"{recording.name} of {recording.host}: {count:,} operations")
    except _UnorderedError:
        tally = _Tally(recording)
        tally.add(_ordered(joined(list(recording.operations()))))
    return tally.device()


class _UnorderedError(Exception):
    """An event begins before others that were already added up, so that all must be sorted at once."""


def _pieces(blocks: Iterator[Events]) -> Iterator[Events]:
    """The events sorted by begin, in pieces that no event extends beyond. The blocks must rise."""
    pending: list[Events] = []
    count, wanted = 0, 2 * _PIECE
    reach = None
    for block in blocks:
        if reach is not None and len(block) and int(block.begin.min()) < reach:
            raise _UnorderedError
        pending.append(block)
        count += len(block)
        if count >= wanted and block.steps is None:
            piece = _ordered(joined(pending))
            until = np.maximum.accumulate(piece.end)
            closed = np.flatnonzero(until[:-1] <= piece.begin[1:])
            at = int(closed[-1]) + 1 if len(closed) else 0
            if at:
                reach = int(until[at - 1])
                yield piece.where(slice(0, at))
            pending = [piece.where(slice(at, None))]
            count = len(pending[0])
            wanted = 2 * _PIECE if at else 2 * count  # so as not to sort uncut events again with each block
    if count:
        yield _ordered(joined(pending))


def _ordered(events: Events) -> Events:
    """Events sorted by begin, and for equal begins the longest first."""
    if bool((np.diff(events.begin) > 0).all()):
        return events
    return events.where(np.lexsort((-events.end, events.begin)))


class _Tally:
    """The running totals of a device."""

    def __init__(self, recording: Recording) -> None:
        self._of = recording
        self._sums: npt.NDArray[np.float64] = np.zeros((4, 0))  # of each kind: runs, time, self time, that in steps
        self._samples: dict[int, list[Integers]] = defaultdict(list)
        self._n_samples, self._stride = 0, 1
        self._busy = 0
        self._labels = np.zeros(step_parts.GAP + 1)
        self._begin: int | None = None
        self._until, self._last = 0, -1  # latest end so far, and the operation that ended then
        self._gaps: list[tuple[int, int, int, int]] = []  # (length, begin, kind before, kind after)
        windows = sorted(recording.steps, key=lambda step: step.begin)
        self._windows = windows
        self._starts = np.array([step.begin for step in windows], np.int64)
        ends = np.array([step.end for step in windows], np.int64)
        self._ends = np.minimum(ends, np.append(self._starts[1:], ends[-1:])) if windows else ends
        self._parts = np.zeros((len(windows), step_parts.GAP + 1))
        self._known_steps: dict[int, Step] = {}

    def add(self, events: Events) -> None:
        """Add a sorted piece of events that is later than all pieces before it."""
        kinds = self._of.kinds
        self._operations(events, len(kinds))
        self._busy += step_parts.union(events.begin, events.end)
        low = int(events.begin[0])
        if self._begin is None:
            self._begin = low
        control, layer = step_parts.CONTROL, step_parts.LAYERS
        layers = np.array([control if kind.opcode in HOLDERS else layer[kind.part] for kind in kinds], np.int8)
        reach = self._until if self._last >= 0 else min(low, *self._run_begins(low))
        high = int(events.end.max())
        everything = self._with_flying(events, reach, high)
        self._find_gaps(everything)
        if events.steps is not None:
            self._own_steps(events, layers)
        cuts = np.concatenate([self._starts, self._ends]) if events.steps is None else np.empty(0, np.int64)
        cuts = np.concatenate([cuts[(cuts >= reach) & (cuts <= high)], [reach, high]])
        found = step_parts.segments(everything.begin, everything.end, layers[everything.kinds], cuts)
        self._labels += found.within(np.array([reach]), np.array([high]))[0]
        if events.steps is None and len(self._starts):
            self._parts += found.within(self._starts, self._ends)

    def _run_begins(self, default: int) -> list[int]:
        return [int(self._of.runs.begin[0])] if len(self._of.runs) else [default]

    def _operations(self, events: Events, n: int) -> None:
        duration = events.end - events.begin
        kinds = self._of.kinds
        holds = np.array([self._of.nested or kind.opcode in HOLDERS for kind in kinds], bool)
        own = step_parts.self_times(events.begin, events.end, holds[events.kinds])
        in_steps = own if events.steps is None else np.where(events.steps >= 0, own, 0)
        self._sums = np.pad(self._sums, ((0, 0), (0, n - self._sums.shape[1])))
        self._sums += [np.bincount(events.kinds, each, n) for each in (None, duration, own, in_steps)]
        for kind, places in grouped(events.kinds):
            self._samples[kind].append(duration[places[:: self._stride]])
        self._n_samples += len(events) // self._stride
        while self._n_samples > _SAMPLES:
            for kind, pending in self._samples.items():
                self._samples[kind] = [np.concatenate(pending)[::2].copy()]
            self._stride *= 2
            self._n_samples //= 2

    def _with_flying(self, events: Events, low: int, high: int) -> Events:
        """The events together with asynchronous operations pending between two times, sorted by begin."""
        flying = self._of.flying
        some = flying.where((flying.begin < high) & (flying.end > low)) if len(flying) else flying
        if not len(some):
            return events
        clipped = Events(some.kinds, np.maximum(some.begin, low), np.minimum(some.end, high))
        return _ordered(joined([replace(events, steps=None), clipped]))

    def _find_gaps(self, events: Events) -> None:
        until = np.maximum.accumulate(events.end)
        lasting = np.maximum.accumulate(np.where(events.end >= until, np.arange(len(until)), 0))
        length = events.begin[1:] - until[:-1]
        largest = np.argsort(length)[-GAPS:]
        found = [
            (int(length[at]), int(until[at]), int(events.kinds[lasting[at]]), int(events.kinds[at + 1]))
            for at in largest.tolist()
        ]
        if self._last >= 0:
            found.append((int(events.begin[0]) - self._until, self._until, self._last, int(events.kinds[0])))
        self._gaps = heapq.nlargest(GAPS, [*self._gaps, *(gap for gap in found if gap[0] > 0)])
        ended = int(until[-1])
        self._until = ended if self._last < 0 else max(self._until, ended)  # times may be below 0
        self._last = int(events.kinds[lasting[-1]])

    def _own_steps(self, events: Events, layers: npt.NDArray[np.int8]) -> None:
        """Add up steps whose operations are known, from the begin of the first one to the end of the last.

        Compute of an overlapping step hides communication just as the step's own compute does.
        """
        assert events.steps is not None
        computing = events.where(layers[events.kinds] == step_parts.COMPUTE)
        begins, ends = step_parts.merged(computing.begin, computing.end)
        for at, places in grouped(events.steps):
            if at >= 0:
                mine = events.where(places)
                low, high = int(mine.begin.min()), int(mine.end.max())
                near = slice(np.searchsorted(ends, low, "right"), np.searchsorted(begins, high))
                begin = np.append(mine.begin, np.maximum(begins[near], low))
                end = np.append(mine.end, np.minimum(ends[near], high))
                layer = np.append(layers[mine.kinds], np.full(len(end) - len(mine), step_parts.COMPUTE, np.int8))
                found = step_parts.segments(begin, end, layer, np.array([low, high]))
                labels = found.within(np.array([low]), np.array([high]))[0]
                self._known_steps[at] = _step(self._windows[at], low, high, labels)

    def device(self) -> Device | None:
        """The device with all totals, in seconds."""
        of = self._of
        if self._begin is None:
            return None
        begin = min([self._begin, *self._run_begins(self._begin)])
        end = max(self._until, int(of.runs.end.max()) if len(of.runs) else self._until)
        steps = [self._known_steps[at] for at in sorted(self._known_steps)]
        if not self._known_steps:
            rows = zip(self._windows, self._starts.tolist(), self._ends.tolist(), self._parts, strict=True)
            steps = [_step(marked, low, high, labels) for marked, low, high, labels in rows]
        parts = _parts(self._labels, end - begin)
        if self._stride > 1:
            of.facts["medians"] = f"of every {self._stride}th run: there are very many"
        return Device(
            of.name, of.host, of.kind, of.facts, begin * PS, end * PS, self._busy * PS, parts,
            tuple(steps) or (Step(0, begin * PS, end * PS, "whole", parts),),
            _programs(of), self._rows(), self._largest(), of.peak_flops, of.peak_bandwidth, tuple(of.step_kinds),
        )  # fmt: skip

    def _rows(self) -> tuple[Operation, ...]:
        rows = []
        for at, kind in enumerate(self._of.kinds):
            if at in self._samples:
                times = np.concatenate(self._samples[at]).astype(np.float64) * PS
                count, *sums = self._sums[:, at].tolist()
                total, own, in_steps = (each * PS for each in sums)
                middle = float(times[0] if len(times) == 1 else np.median(times))  # of most there is one
                of_steps = in_steps if self._known_steps else None
                made = replace(
                    kind, count=int(count), total=total, median=middle, self_time=own, times=times, step_time=of_steps
                )
                rows.append(made)
        return tuple(sorted(rows, key=lambda row: -row.self_time))

    def _largest(self) -> tuple[Gap, ...]:
        name = self._of.kinds
        return tuple(Gap(length * PS, name[a].name, name[b].name) for length, _, a, b in self._gaps)


def _step(marked: Marked, begin: int, end: int, labels: npt.NDArray[np.float64]) -> Step:
    return Step(marked.index, begin * PS, end * PS, marked.found, _parts(labels, end - begin), marked.name)


def _parts(labels: npt.NDArray[np.float64], span: int) -> Parts:
    """The parts of a span from the picoseconds of each label; the uncovered rest is the gap."""
    compute = labels[step_parts.COMPUTE] + labels[step_parts.CONTROL]
    busy = compute + labels[step_parts.COMMUNICATION] + labels[step_parts.COPY] + labels[step_parts.WAIT]
    shares = (
        compute,
        labels[step_parts.COMMUNICATION],
        labels[step_parts.COPY],
        labels[step_parts.WAIT],
        max(span - busy, 0),
    )
    return Parts(*(float(share) * PS or 0.0 for share in shares))  # normalises -0.0


def _programs(recording: Recording) -> tuple[Program, ...]:
    runs = recording.runs
    rows = []
    for at, places in grouped(runs.which):
        times = (runs.end[places] - runs.begin[places]) * PS
        rows.append(Program(*runs.programs[at], len(times), float(times.sum()), float(np.median(times))))
    return tuple(sorted(rows, key=lambda row: -row.total))

"""Intervals of time: what covers each moment, in the order of what counts first, and how long that is in windows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.profiles.recording import Integers

COMPUTE, COMMUNICATION, COPY, WAIT, CONTROL, GAP = range(6)  # a moment is the first of what covers it
LAYERS = {"compute": COMPUTE, "communication": COMMUNICATION, "copy": COPY, "wait": WAIT}


@dataclass(frozen=True, slots=True)
class Segments:
    """Time cut where anything begins or ends: `edges` in ps, and between each two of them what counts there."""

    edges: Integers
    labels: npt.NDArray[np.int8]

    def within(self, begin: Integers, end: Integers) -> npt.NDArray[np.float64]:
        """Picoseconds of each label in disjoint windows in order, whose edges are among the edges: windows x 6."""
        if not len(begin) or len(self.edges) < 2:
            return np.zeros((len(begin), GAP + 1))
        owner = np.searchsorted(begin, self.edges[:-1], "right") - 1
        inside = (owner >= 0) & (self.edges[:-1] < end[owner])
        cell = owner[inside] * (GAP + 1) + self.labels[inside]
        length = np.diff(self.edges)[inside]
        sums = np.bincount(cell, length, len(begin) * (GAP + 1)).astype(np.float64)
        return sums.reshape(len(begin), GAP + 1)


def segments(begin: Integers, end: Integers, layers: npt.NDArray[np.int8], cuts: Integers) -> Segments:
    """What counts at each moment from intervals and their layers, cut also at `cuts`."""
    edges = np.sort(np.concatenate([begin, end, cuts]))
    edges = edges[np.append(True, np.diff(edges) > 0)]
    labels = np.full(max(len(edges) - 1, 0), GAP, np.int8)
    for layer in (CONTROL, WAIT, COPY, COMMUNICATION, COMPUTE):
        chosen = layers == layer
        if chosen.any():
            change = np.bincount(np.searchsorted(edges, begin[chosen]), minlength=len(edges))
            change = change - np.bincount(np.searchsorted(edges, end[chosen]), minlength=len(edges))
            labels[np.cumsum(change)[:-1] > 0] = layer
    return Segments(edges, labels)


def union(begin: Integers, end: Integers) -> int:
    """Picoseconds in which at least one of the intervals lasts; they are sorted by begin."""
    if not len(begin):
        return 0
    until = np.maximum.accumulate(end)
    before = np.concatenate([begin[:1], until[:-1]])
    return int(np.maximum(0, end - np.maximum(begin, before)).sum())


def self_times(begin: Integers, end: Integers, parents: npt.NDArray[np.bool_]) -> Integers:
    """Each interval's time without those that lie in it, by the innermost that may hold others (`parents`).

    Sorted by begin, and of equal begins the longest first.
    """
    own = end - begin
    if not len(begin) or not parents.any() or bool((np.maximum.accumulate(end)[:-1] <= begin[1:]).all()):
        return own
    times = own.tolist()
    open_ones: list[tuple[int, int]] = []  # end and position
    for at, (low, high, holds) in enumerate(zip(begin.tolist(), end.tolist(), parents.tolist(), strict=True)):
        while open_ones and open_ones[-1][0] <= low:
            open_ones.pop()
        if open_ones and high <= open_ones[-1][0]:
            times[open_ones[-1][1]] -= high - low
        if holds:
            open_ones.append((high, at))
    return np.maximum(np.array(times, np.int64), 0)

"""The range that errors of runs lie in: of each run by itself, and of two runs beside each other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.validation.prediction import Numbers
from planner.validation.runs import Run

LOW, HIGH = 0.1, 0.9  # quantiles of the range
FEWEST_SOURCES = 3  # of runs of a kind that have a range of their own
FEWEST_OF_A_SOURCE = 5  # runs of each of them
FEWEST_RUNS = 8
WIDER = 1.5  # times as wide in logarithms where a chip has no runs, or hardly any are of such models
FEW = 1.2  # where few sources tell of such runs
ASKED = ("stack", "optimizer", "compute_dtype", "weight_dtype", "kv_dtype", "activation_dtype", "seq_len",
         "context_len", "prompt_len", "generate_len")  # fmt: skip
"""The settings that are alike in two runs of the same question: what a search for a layout leaves as it is."""


class Range(NamedTuple):
    """Of measured over expected times, the least and the most of the 80 % in the middle."""

    low: float
    high: float

    def wider(self, times: float) -> Range:
        """The range, so many times as wide in logarithms, within its bounds."""
        return Range(max(0.1, self.low**times), min(10.0, self.high**times))


@dataclass(frozen=True)
class Errors:
    """Measured over expected times, each of a source and a kind, dense or of experts; those count that `counts` says.

    They may be of runs, or of pairs of runs: the one's over the other's. `has_kinds` says that there are several kinds.
    """

    ratio: Numbers
    sources: NDArray[np.str_]
    kinds: NDArray[np.str_]
    is_moe: NDArray[np.bool_]
    counts: NDArray[np.bool_]
    has_kinds: bool

    def range(self, kind: str, mix: str) -> Range:
        """The range of a kind, dense or of experts."""
        tells, times = self.telling(kind, mix)
        return self._range(tells).wider(times)

    def telling(self, kind: str, mix: str) -> tuple[NDArray[np.bool_], float]:
        """Which tell the range of a kind and mix, and how many times as wide it is for that.

        Where few sources tell of this kind they are all kinds of the group; where few are of mixtures of experts, dense
        models.
        """
        of_mix = self.counts & (self.is_moe == (mix == "moe"))
        own = of_mix & (self.kinds == kind)
        of_sources = Counter(self.sources[own])
        if sum(runs >= FEWEST_OF_A_SOURCE for runs in of_sources.values()) >= FEWEST_SOURCES:
            return own, 1.0
        if of_mix.sum() >= FEWEST_RUNS:
            return of_mix, FEW if self.has_kinds else 1.0
        if mix == "moe":
            tells, times = self.telling(kind, "dense")
            return tells, times * WIDER
        return self.counts, WIDER

    def _range(self, mask: NDArray[np.bool_]) -> Range:
        """Weighted so that each source counts alike; wider where few sources tell little of the next one.

        As much as a next number differs from the mean of so many more than from the mean that it is drawn from.
        """
        if not mask.any():
            return Range(1.0, 1.0)
        sources = self.sources[mask]
        counts = Counter(sources)
        weights = np.array([1 / counts[source] for source in sources])
        ratios = self.ratio[mask]
        order = np.argsort(ratios, kind="stable")
        shares = (np.cumsum(weights[order]) - weights[order] / 2) / weights.sum()
        low, high = np.interp([LOW, HIGH], shares, ratios[order])
        return Range(min(1.0, float(low)), max(1.0, float(high))).wider(math.sqrt(1 + 1 / len(counts)))


def pairs(runs: Sequence[Run], counts: NDArray[np.bool_]) -> NDArray[np.int_]:
    """The places of every two runs that count and plan the same question otherwise, in both orders: pairs x 2.

    They are of one source, model and chip, in precision, lengths and stack alike, and differ in layout, chips or batch.
    """
    groups: dict[tuple[object, ...], list[int]] = {}
    for at in np.flatnonzero(counts).tolist():
        run = runs[at]
        asked = (run.values.get(name) for name in ASKED)
        groups.setdefault((run.source, run.output, run.model, run.hardware, *asked), []).append(at)
    found = [
        pair for group in groups.values() for pair in permutations(group, 2)
        if runs[pair[0]].values != runs[pair[1]].values
    ]  # fmt: skip
    return np.array(found, dtype=np.int_).reshape(-1, 2)

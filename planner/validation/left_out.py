"""The expectations for runs of fits without their source, and the ranges of their errors.

A run's range is for a single run, that for plans to choose from is for the comparison of two runs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner import progress
from planner.catalog import Table
from planner.catalog.calibrations import COMMON, MIXES, OF_LAYOUTS, TIE, kind_of
from planner.validation.expected_times import ExpectedRuns, Numbers
from planner.validation.fitting import Fitter
from planner.validation.parameters import FAMILIES, GROUPS, Group
from planner.validation.runs import Run
from planner.validation.runs_of_group import Fit

LOW, HIGH = 0.1, 0.9  # quantiles of the range
OTHER_KINDS = 3  # all sources of a group's other kinds together weigh as much as this number of sources of the kind
FEWEST_RUNS = 8
FEWEST_SOURCES = 4  # with fewer sources, runs of other kinds tell too little of how sources differ
WIDER = 1.5  # factor on the log width if there are (almost) no runs of the chip or of such models
LEAST = 1e-3  # least relative distance of a range's end from the expected time
FEW = 1.2  # factor on the log width if there are fewer sources, of several kinds
ASKED = ("stack", "optimizer", "compute_dtype", "weight_dtype", "kv_dtype", "activation_dtype", "seq_len",
         "context_len", "prompt_len", "generate_len")  # fmt: skip
"""Settings that two runs must share to answer the same question: those that a layout search leaves alone."""


class Range(NamedTuple):
    """The 10 % and 90 % quantiles of measured over expected times."""

    low: float
    high: float

    def wider(self, times: float) -> Range:
        """The range widened by a factor in logarithms, within its bounds."""
        return Range(max(0.1, self.low**times), min(10.0, self.high**times))


@dataclass(frozen=True)
class Errors:
    """Measured over expected times of runs; or, for pairs of runs, the ratio of the two."""

    ratio: Numbers
    sources: NDArray[np.str_]
    kinds: NDArray[np.str_]
    is_moe: NDArray[np.bool_]  # True for mixtures of experts, False for dense models
    counts: NDArray[np.bool_]  # which of them contribute to a range
    has_kinds: bool  # whether there are several kinds

    def range(self, kind: str, mix: str) -> Range:
        """The range of a kind and mix (dense or experts), with equal weight for each source of the kind.

        Runs of the group's other kinds count too, all their sources together as much as `OTHER_KINDS` of the kind: they
        determine most of the range of a kind with one source or two. The range is widened by the root of 1 + 1/n for n
        sources, as for the prediction of one more.
        """
        counting, times = self.counting_runs(kind, mix)
        if not counting.any():
            return Range(1.0, 1.0)
        own = source_weights(self.sources, counting & (self.kinds == kind))
        others = source_weights(self.sources, counting & (self.kinds != kind))
        weights = own + others * min(1.0, OTHER_KINDS / max(1.0, others.sum()))
        low, high = quantiles(self.ratio, weights, (LOW, HIGH))
        sources = number_of_sources(self.sources, weights)
        return Range(min(1.0, low), max(1.0, high)).wider(times * math.sqrt(1 + 1 / sources))

    def counting_runs(self, kind: str, mix: str) -> tuple[NDArray[np.bool_], float]:
        """Which errors determine the range of a kind and mix, and the factor by which it is widened.

        For mixtures of experts with few runs, dense models count.
        """
        of_mix = self.counts & (self.is_moe == (mix == "moe"))
        if of_mix.sum() >= FEWEST_RUNS:
            is_few = self.has_kinds and len(set(self.sources[of_mix])) < FEWEST_SOURCES
            return of_mix, FEW if is_few else 1.0
        if mix == "moe":
            tells, times = self.counting_runs(kind, "dense")
            return tells, times * WIDER
        return self.counts, WIDER


def source_weights(sources: NDArray[np.str_], mask: NDArray[np.bool_]) -> Numbers:
    """A weight for each run: those of a source in the mask add up to 1, the others have none."""
    counts = Counter(sources[mask])
    return np.array([1 / counts[source] if does else 0.0 for source, does in zip(sources, mask, strict=True)])


def number_of_sources(sources: NDArray[np.str_], weights: Numbers) -> float:
    """How many sources of equal weight tell as much as these (Kish's effective sample size)."""
    _, at = np.unique(sources, return_inverse=True)
    of_sources = np.bincount(at, weights)
    return float(of_sources.sum() ** 2 / (of_sources**2).sum())


def quantiles(numbers: Numbers, weights: Numbers, shares: Sequence[float]) -> list[float]:
    """The weighted quantiles of the numbers for these shares; those without weight don't count."""
    order = np.argsort(numbers, kind="stable")
    order = order[weights[order] > 0]
    below = (np.cumsum(weights[order]) - weights[order] / 2) / weights.sum()
    return [float(each) for each in np.interp(shares, below, numbers[order])]


def pairs(runs: Sequence[Run], counts: NDArray[np.bool_]) -> NDArray[np.int_]:
    """The places of pairs of counting runs that plan the same question differently, in both orders: pairs x 2.

    They have the same source, model, chip, precision, lengths and stack, and differ in layout, chips or batch.
    """
    groups: dict[tuple[object, ...], list[int]] = {}
    for at in np.flatnonzero(counts).tolist():
        run = runs[at]
        asked = (run.values.get(name) for name in ASKED)
        groups.setdefault((run.source, run.output, run.model, run.hardware, *asked), []).append(at)
    found = [
        pair
        for group in groups.values()
        for pair in permutations(group, 2)
        if runs[pair[0]].values != runs[pair[1]].values
    ]
    return np.array(found, dtype=np.int_).reshape(-1, 2)


@dataclass(frozen=True)
class LeftOut:
    """A group's runs, the expectation of each without its source, and which of them are fitted."""

    group: Group
    fitter: Fitter
    runs: tuple[Run, ...]
    expected: Numbers
    is_moe: NDArray[np.bool_]
    _times: dict[tuple[str, str | None], float] = field(default_factory=dict, repr=False)

    @cached_property
    def ratio(self) -> Numbers:
        """Measured over expected times; the inverse for a rate."""
        return (self.fitter.measured / self.expected) ** np.where(self.fitter.is_rate, -1, 1)

    @property
    def error(self) -> float:
        """The median error on time of the fitted runs, as a fraction."""
        return float(np.median(np.abs(1 / self.ratio - 1)[self.fitter.is_fitted]))

    @cached_property
    def chips(self) -> list[str]:
        """The calibration of each run's chip."""
        return [chip for part in self.fitter.parts for chip in part.calibrations.each]

    @cached_property
    def times_of_attention(self) -> Numbers:
        """The factor, in logarithms, by which the range of each run is widened for attention that no fitted run has."""
        return np.concatenate([part.range_power for part in self.fitter.parts])

    @cached_property
    def stacks(self) -> list[str]:
        """The stack of each run."""
        return [stack for part in self.fitter.parts for stack in part.stacks.each]

    def errors(self, without: str | None = None) -> Errors:
        """The errors of runs that determine a range: without a source, unless only one other would be left."""
        others = self.fitter.is_fitted & (self.fitter.sources != without)
        counts = others if len(set(self.fitter.sources[others])) > 1 else self.fitter.is_fitted
        return self._errors(self.ratio, np.arange(len(self.runs)), counts)

    @cached_property
    def pairs(self) -> NDArray[np.int_]:
        """The places of pairs of fitted runs that plan the same question differently: pairs x 2."""
        return pairs(self.runs, self.fitter.is_fitted)

    def of_pairs(self) -> Errors:
        """For each pair, the error of the one run over that of the other."""
        one, other = self.pairs.T
        return self._errors(self.ratio[one] / self.ratio[other], one, np.ones(len(one), dtype=bool))

    def _errors(self, ratio: Numbers, places: NDArray[np.int_], counts: NDArray[np.bool_]) -> Errors:
        """Errors, each with the source and kind of the run at its place."""
        kinds = np.array([run.judged_as for run in self.runs])
        has_kinds = len(self.group.kinds) > 1
        return Errors(ratio, self.fitter.sources[places], kinds[places], self.is_moe[places], counts, has_kinds)

    def range_of_chip(self, kind: str, mix: str, chip: str, without: str | None = None) -> Range:
        """The range, widened for a calibration without its own sources."""
        errors = self.errors(without)
        own = {each for each, counts in zip(self.chips, errors.counts, strict=True) if counts}
        is_seen = chip == COMMON or (chip in own and chip not in FAMILIES)  # not so other chips of its kind
        usual = errors.range(kind, mix)
        return usual if is_seen else usual.wider(WIDER)

    def range_of(self, at: int, without: str | None = None) -> Range:
        """The range of the run at a place, by its kind, mix and chip, widened as its stack's runs require."""
        usual = self.range_of_chip(*self._range_key(at), without)
        return usual.wider(self.times_of_stack(self.stacks[at], without) * self.times_of_attention[at])

    def _range_key(self, at: int) -> tuple[str, str, str]:
        """The kind, mix and chip of the run at a place."""
        return self.runs[at].judged_as, MIXES[int(self.is_moe[at])], self.chips[at]

    def times_of_stack(self, stack: str, without: str | None = None) -> float:
        """The factor, in logarithms, by which the range must be widened to cover 80 % of the runs of a fitted stack.

        At least 1, and 1 if there are few runs or a single source, or if the group has no such factor.
        """
        if not self.group.range_factor or stack not in {name for name, *_ in self.group.stacks}:
            return 1.0
        if (stack, without) not in self._times:
            self._times[stack, without] = self._needed(stack, without)
        return self._times[stack, without]

    def _needed(self, stack: str, without: str | None) -> float:
        own = np.flatnonzero(self.errors(without).counts & (np.array(self.stacks) == stack))
        sources = self.fitter.sources[own]
        if len(own) < FEWEST_RUNS or len(set(sources)) < 2:
            return 1.0
        of_runs = [self._range_key(at) for at in own.tolist()]
        usual = {key: self.range_of_chip(*key, without) for key in set(of_runs)}
        off = np.log(self.ratio[own])
        low = np.log([min(1 - LEAST, usual[key].low) for key in of_runs])
        high = np.log([max(1 + LEAST, usual[key].high) for key in of_runs])
        needed = np.where(off > 0, off / high, off / low)
        every = np.ones(len(sources), dtype=bool)
        return max(1.0, *quantiles(needed, source_weights(sources, every), [HIGH - LOW]))


@dataclass(frozen=True)
class Fitted:
    """The fit to all runs, and each group with its runs' sources left out."""

    fit: Fit
    groups: tuple[LeftOut, ...]
    families: Mapping[str, str]


def fitted(by_template: Sequence[ExpectedRuns], hardware: Table, kinds: Container[str] | None = None) -> Fitted:
    """Fit every group to its runs, and again without each of its sources.

    With `kinds` of runs, the fits without a source are those of the groups that are fitted to any of them.
    """
    families = families_of(hardware)
    fit = Fit()
    groups: list[LeftOut] = []
    for group in GROUPS:
        if any(run.is_fitted and run.judged_as in group.kinds for each in by_template for run in each.runs):
            fitter = Fitter(group, by_template, families, fit)
            fit = fitter.fit(fitter.is_fitted)
            if kinds is not None and not any(kind in kinds for kind in group.kinds):
                continue
            groups.append(left_out(group, fitter))
            if group.range_factor:
                stacks = {stack for stack, *_ in group.stacks}
                fit.stacks |= {(stack, group.range_factor): groups[-1].times_of_stack(stack) for stack in stacks}
    return Fitted(fit, tuple(groups), families)


def left_out(group: Group, fitter: Fitter) -> LeftOut:
    """The expectations for a group's runs by fits without their source."""
    expected = np.full(len(fitter.measured), np.nan)
    known: dict[bytes, Numbers] = {}  # a fit is the same without each of the sources that none is fitted to
    sources = list(dict.fromkeys(fitter.sources))
    for at, source in enumerate(sources, 1):
        progress.step(f"fitting {group.name} without source {at} of {len(sources)}: {source}")
        own = fitter.sources == source
        others = fitter.is_fitted & ~own
        if (key := others.tobytes()) not in known:
            known[key] = fitter.expected(fitter.fit(others))
        expected[own] = known[key][own]
    runs = tuple(run for part in fitter.parts for run in part.runs)
    is_moe = np.concatenate([part.is_moe for part in fitter.parts])
    return LeftOut(group, fitter, runs, expected, is_moe)


def families_of(hardware: Table) -> dict[str, str]:
    """For each calibration of the chips, whether it is of GPUs or TPUs; families come first."""
    names = {str(cells["calibration"]) for cells in hardware.rows.values()}
    ordered = (*FAMILIES, *sorted(names.difference(FAMILIES)))
    return {name: kind_of(name) for name in ordered}


def ranges(found: Fitted) -> dict[tuple[str, str], float]:
    """The range of each kind and mix by calibration and parameter, and that of two plans of one model and chip."""
    kinds = [(each, kind, mix) for each in found.groups for kind in each.group.kinds for mix in MIXES]
    limits = {
        (owner, f"{kind}_{mix}_{end}"): value
        for each, kind, mix in kinds
        for owner in (COMMON, *found.families)
        if kind_of(owner) in each.group.families
        for end, value in zip(("low", "high"), each.range_of_chip(kind, mix, owner), strict=True)
    }
    ties = {
        (COMMON, f"{kind}_{mix}_{TIE}"): each.of_pairs().range(kind, mix).high
        for each, kind, mix in kinds
        if kind in OF_LAYOUTS and kind_of(COMMON) in each.group.families
    }
    return limits | ties

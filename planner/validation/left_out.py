"""What is expected of runs by fits that have not seen their source, and the ranges that follow from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from planner.catalog import Table
from planner.catalog.calibration_columns import COMMON, MIXES, OF_LAYOUTS, TIE
from planner.catalog.calibrations import kind_of
from planner.validation.fitting import Fit, Fitter
from planner.validation.parameters import FAMILIES, GROUPS, Group
from planner.validation.prediction import Numbers, Together
from planner.validation.ranges import WIDER, Errors, Range, pairs
from planner.validation.runs import Run


@dataclass(frozen=True)
class LeftOut:
    """A group's runs, what is expected of each without its source, and which of them count in a fit."""

    group: Group
    fitter: Fitter
    runs: tuple[Run, ...]
    expected: Numbers
    is_moe: NDArray[np.bool_]

    @cached_property
    def ratio(self) -> Numbers:
        """Measured over expected times: of a rate the inverse."""
        return (self.fitter.measured / self.expected) ** np.where(self.fitter.is_rate, -1, 1)

    @property
    def error(self) -> float:
        """The median error on time of the runs that count, as a fraction."""
        return float(np.median(np.abs(1 / self.ratio - 1)[self.fitter.is_fitted]))

    @cached_property
    def chips(self) -> list[str]:
        """The calibration of each run's chip."""
        return [chip for part in self.fitter.parts for chip in part.ids["calibration"]]

    def errors(self, without: str | None = None) -> Errors:
        """The errors of the runs that make a range: without a source, unless one other alone were left."""
        others = self.fitter.is_fitted & (self.fitter.sources != without)
        counts = others if len(set(self.fitter.sources[others])) > 1 else self.fitter.is_fitted
        return self._errors(self.ratio, np.arange(len(self.runs)), counts)

    @cached_property
    def pairs(self) -> NDArray[np.int_]:
        """The places of every two fitted runs that plan the same question otherwise: pairs x 2."""
        return pairs(self.runs, self.fitter.is_fitted)

    def of_pairs(self) -> Errors:
        """The error of the one run of each pair over that of the other."""
        one, other = self.pairs.T
        return self._errors(self.ratio[one] / self.ratio[other], one, np.ones(len(one), dtype=bool))

    def _errors(self, ratio: Numbers, places: NDArray[np.int_], counts: NDArray[np.bool_]) -> Errors:
        """Errors, each with the source and kind of the run at its place."""
        kinds = np.array([run.judged_as for run in self.runs])
        has_kinds = len(self.group.kinds) > 1
        return Errors(ratio, self.fitter.sources[places], kinds[places], self.is_moe[places], counts, has_kinds)

    def range_of_chip(self, kind: str, mix: str, chip: str, without: str | None = None) -> Range:
        """The range, and a wider one for a calibration of which no source tells."""
        errors = self.errors(without)
        own = {each for each, counts in zip(self.chips, errors.counts, strict=True) if counts}
        is_seen = chip == COMMON or (chip in own and chip not in FAMILIES)  # of its kind's other chips nothing is known
        usual = errors.range(kind, mix)
        return usual if is_seen else usual.wider(WIDER)


@dataclass(frozen=True)
class Fitted:
    """The fit to all runs, and each group with its runs' sources left out."""

    fit: Fit
    groups: tuple[LeftOut, ...]
    families: Mapping[str, str]

    def owners(self) -> list[str]:
        """The calibrations: those of families, then those of chips."""
        return list(self.families)


def fitted(together: Sequence[Together], hardware: Table) -> Fitted:
    """Fit every group to its runs, and again without each of its sources."""
    families = families_of(hardware)
    fit = Fit()
    groups: list[LeftOut] = []
    for group in GROUPS:
        if any(run.is_fitted and run.judged_as in group.kinds for each in together for run in each.runs):
            fitter = Fitter(group, together, families, fit)
            groups.append(left_out(group, fitter))
            fit = fitter.fit(fitter.is_fitted)
    return Fitted(fit, tuple(groups), families)


def left_out(group: Group, fitter: Fitter) -> LeftOut:
    """What is expected of a group's runs by fits without their source."""
    expected = np.full(len(fitter.measured), np.nan)
    for source in dict.fromkeys(fitter.sources):
        own = fitter.sources == source
        expected[own] = fitter.expected(fitter.fit(fitter.is_fitted & ~own))[own]
    runs = tuple(run for part in fitter.parts for run in part.runs)
    is_moe = np.concatenate([part.is_moe for part in fitter.parts])
    return LeftOut(group, fitter, runs, expected, is_moe)


def families_of(hardware: Table) -> dict[str, str]:
    """For each calibration of the chips whether it is of GPUs or TPUs."""
    names = {str(cells["calibration"]) for cells in hardware.rows.values()}
    ordered = (*FAMILIES, *sorted(names.difference(FAMILIES)))
    return {name: kind_of(name) for name in ordered}


def ranges(found: Fitted) -> dict[tuple[str, str], float]:
    """The range of each kind and mix by calibration and parameter, and that of two plans of one model and chip."""
    kinds = [(each, kind, mix) for each in found.groups for kind in each.group.kinds for mix in MIXES]
    alone = {
        (owner, f"{kind}_{mix}_{end}"): value
        for each, kind, mix in kinds
        for owner in (COMMON, *found.owners())
        for end, value in zip(("low", "high"), each.range_of_chip(kind, mix, owner), strict=True)
    }
    beside = {
        (COMMON, f"{kind}_{mix}_{TIE}"): each.of_pairs().range(kind, mix).high
        for each, kind, mix in kinds
        if kind in OF_LAYOUTS
    }
    return alone | beside

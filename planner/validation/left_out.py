"""What is expected of runs by fits that have not seen their source, and the ranges that follow from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.catalog import Table
from planner.catalog.calibration_columns import BY_NAME, MIXES
from planner.validation.fitting import Fit, Fitter
from planner.validation.parameters import FAMILIES, GROUPS, Group
from planner.validation.prediction import Numbers, Together
from planner.validation.runs import Run

LOW, HIGH = 0.1, 0.9  # quantiles of the range
FEWEST_SOURCES = 3  # of runs of a kind that have a range of their own
FEWEST_RUNS = 8
WIDER = 1.5  # times as wide in logarithms where a chip has no runs
UNSEEN = 1.25  # where there are hardly any of such models


class Range(NamedTuple):
    """Of measured over expected, the least and the most of the 80 % in the middle."""

    low: float
    high: float

    def wider(self, times: float) -> Range:
        """The range, so many times as wide in logarithms, within its bounds."""
        return Range(max(0.1, self.low**times), min(10.0, self.high**times))


@dataclass(frozen=True)
class LeftOut:
    """A group's runs, what is expected of each without its source, and which of them count in a fit."""

    group: Group
    fitter: Fitter
    runs: tuple[Run, ...]
    expected: Numbers
    is_moe: NDArray[np.bool_]

    @property
    def ratio(self) -> Numbers:
        """Measured over expected."""
        return self.fitter.measured / self.expected

    @property
    def error(self) -> float:
        """The median error of the runs that count, as a fraction."""
        return float(np.median(np.abs(self.expected / self.fitter.measured - 1)[self.fitter.is_fitted]))

    def range(self, kind: str, mix: str) -> Range:
        """The range of runs of a kind, dense or of experts; of all kinds of the group where there are few."""
        fitted, is_mix = self.fitter.is_fitted, self.is_moe == (mix == "moe")
        own = fitted & is_mix & np.array([run.kind == kind for run in self.runs])
        if len({run.source for run, is_own in zip(self.runs, own, strict=True) if is_own}) >= FEWEST_SOURCES:
            return self._range(own)
        if (fitted & is_mix).sum() >= FEWEST_RUNS:
            return self._range(fitted & is_mix)
        return self._range(fitted).wider(UNSEEN)

    def _range(self, mask: NDArray[np.bool_]) -> Range:
        """Weighted so that each source counts alike."""
        sources = [run.source for run, is_in in zip(self.runs, mask, strict=True) if is_in]
        counts = Counter(sources)
        weights = np.array([1 / counts[source] for source in sources])
        ratios = self.ratio[mask]
        order = np.argsort(ratios, kind="stable")
        shares = (np.cumsum(weights[order]) - weights[order] / 2) / weights.sum()
        low, high = np.interp([LOW, HIGH], shares, ratios[order])
        return Range(min(1.0, float(low)), max(1.0, float(high)))


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
        fitter = Fitter(group, together, families, fit)
        groups.append(_left_out(group, fitter))
        fit = fitter.fit(fitter.is_fitted)
    return Fitted(fit, tuple(groups), families)


def _left_out(group: Group, fitter: Fitter) -> LeftOut:
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
    return {name: "tpu" if name.startswith("tpu") else "gpu" for name in ordered}


def ranges(found: Fitted) -> dict[tuple[str, str], float]:
    """The range of each kind and mix, by calibration and parameter; wider for a calibration that has no such runs."""
    values: dict[tuple[str, str], float] = {}
    for each in found.groups:
        seen = {chip for part in each.fitter.parts for chip in part.calibrations}
        for kind in each.group.kinds:
            for mix in MIXES:
                usual = each.range(kind, mix)
                for owner in ("any", *found.owners()):
                    one = usual if owner == "any" or owner in seen else usual.wider(WIDER)
                    if owner == "any" or one != usual:
                        for name, value in zip((f"{kind}_{mix}_low", f"{kind}_{mix}_high"), one, strict=True):
                            assert BY_NAME[name].lower <= value <= BY_NAME[name].upper
                            values[owner, name] = value
    return values

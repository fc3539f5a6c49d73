"""Fits calibrations to runs: least squares of the logarithm of expected over measured, with priors.

The model functions are the templates' own rows. A source's weight is its number of runs to the power of 0.3, so that
one with a hundred runs doesn't dominate; residuals beyond 10 % count less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from threadpoolctl import ThreadpoolController

from planner.catalog.calibrations import COMMON
from planner.validation.expected_times import ExpectedRuns, Numbers
from planner.validation.moving import Cells, Moving, read_by
from planner.validation.parameters import DEVIATION, FAMILIES, START, UNMEASURED, Group, Prior, bounds, prior_of
from planner.validation.runs_of_group import Fit, parts_of

SHARE = 0.35  # a run's weight is (number of its source's runs) ** -SHARE
OUTLYING = 0.1  # residual above which a run is down-weighted


@cache
def _blas() -> ThreadpoolController:
    """The loaded BLAS libraries; finding them takes some milliseconds."""
    return ThreadpoolController()


class Fitter:
    """Runs of one group, whose expected times can be recomputed for other parameters.

    `families` says of each calibration whether it is of GPUs or TPUs. `fixed` are numbers of an earlier group's fit.
    """

    def __init__(
        self, group: Group, by_template: Sequence[ExpectedRuns], families: Mapping[str, str], fixed: Fit
    ) -> None:
        self.group, self.families, self.fixed = group, families, fixed
        self.parts = parts_of(by_template, group, families)
        self.sources = np.array([run.source for part in self.parts for run in part.runs])
        self.is_fitted = np.array([run.is_fitted for part in self.parts for run in part.runs])
        self.measured = np.concatenate([part.measured for part in self.parts])
        self.is_rate = np.concatenate([part.is_rate for part in self.parts])
        self.is_moe = np.concatenate([part.is_moe for part in self.parts])
        chips = {name for part in self.parts for name in part.calibrations.known if name}
        self.unknown = _unknown(group, sorted(chips), self._usual)
        self.cells = self._cells()
        self._read = [read_by(part, self.cells) for part in self.parts]

    def fit(self, mask: NDArray[np.bool_]) -> Fit:
        """The best-fitting parameters for the runs of the mask.

        Those of experts are fitted to such models only, after the rest.
        """
        numbers = np.array([each.start for each in self.unknown])
        is_of_experts = np.array([each.name in self.group.of_experts for each in self.unknown])
        if not is_of_experts.any():
            return self.cells.fit(self._solved(mask, ~is_of_experts, numbers))
        for rows, moving in ((mask & ~self.is_moe, ~is_of_experts), (mask & self.is_moe, is_of_experts)):
            if rows.any():
                numbers = self._solved(rows, moving, numbers)
        return self.cells.fit(numbers)

    def _solved(self, mask: NDArray[np.bool_], moving: NDArray[np.bool_], numbers: Numbers) -> Numbers:
        """The numbers with the moving ones fitted to the runs of the mask."""
        counts = Counter(self.sources[mask])
        weights = np.array([counts[name] ** -SHARE if counts[name] else 0.0 for name in self.sources])
        unknown = [each for each, moves in zip(self.unknown, moving, strict=True) if moves]
        start = numbers[moving]
        limits = np.array([(each.lower, each.upper) for each in unknown]).T
        drawn = [(at, each.prior) for at, each in enumerate(unknown) if each.prior is not None]
        priors = [at for at, _ in drawn]
        usual, strength = np.array([(prior.value, prior.weight) for _, prior in drawn]).reshape(-1, 2).T
        measured, weights = self.measured[mask], weights[mask]

        def residuals(expected: Numbers, found: Numbers) -> Numbers:
            errors = np.log(expected / measured) * weights
            towards = strength * np.log(np.maximum(found[..., priors], 1e-12) / usual)
            return np.concatenate([errors, towards], axis=-1)

        here, derivatives = self.moving(mask, moving, numbers).differentiated(residuals, limits)
        # Matrices are small: where other programs run, BLAS threads that wait for each other take thirty times as long.
        with _blas().limit(limits=1, user_api="blas"):
            solution = least_squares(
                here,
                start,
                derivatives,
                bounds=limits,
                loss="soft_l1",
                f_scale=OUTLYING,
                x_scale=np.maximum(np.abs(start), 1e-7),
            )
        solved = numbers.copy()
        solved[moving] = solution.x
        return solved

    def moving(self, mask: NDArray[np.bool_], moving: NDArray[np.bool_], numbers: Numbers) -> Moving:
        """What is expected of the runs of the mask if some of the numbers move."""
        return Moving(self.parts, self.cells, self._read, mask, np.flatnonzero(moving), numbers)

    def expected(self, fit: Fit) -> Numbers:
        """The expected number of every run with these parameters."""
        cells = Cells(0)
        cells.hold(fit)
        read, nothing = [read_by(part, cells) for part in self.parts], np.empty(0)
        every = np.ones(len(self.measured), bool)
        return Moving(self.parts, cells, read, every, nothing.astype(int), nothing).expected(nothing)

    def _cells(self) -> Cells:
        """The parameters as products of a solution's numbers and those of the earlier group's fit."""
        cells, places = Cells(len(self.unknown)), {(each.owner, each.name): at for at, each in enumerate(self.unknown)}
        cells.hold(self.fixed)
        for (owner, name), at in places.items():
            if self.unknown[at].deviates:
                cell = cells.add(places[self.families[owner], name], at, bounds(name))
            else:
                cell = cells.add(at)
            (cells.stacks if self.unknown[at].is_stack else cells.calibrations)[owner, name] = cell
        for name, _ in self.group.drawn_as:  # of calibrations that have runs of an earlier parameter alone
            for owner, family in self.families.items():
                known = (owner, name) in cells.calibrations or (owner, name) in UNMEASURED
                if not known and (family, name) in places:
                    usual = cells.stays(self._usual(owner, name))
                    cells.calibrations[owner, name] = cells.add(places[family, name], usual, bounds(name))
        return cells

    def _usual(self, owner: str, name: str) -> float:
        """The deviation that is expected of a calibration without runs: 1, or that of an earlier parameter."""
        earlier = dict(self.group.drawn_as).get(name, "")
        own, family = (self.fixed.calibrations.get((each, earlier)) for each in (owner, self.families[owner]))
        return own / family if own and family else 1.0


@dataclass(frozen=True)
class _Unknown:
    """One fitted number: its owner and name, its starting value, its bounds, and its prior."""

    owner: str
    name: str
    start: float
    lower: float
    upper: float
    prior: Prior | None = None
    is_stack: bool = False
    deviates: bool = False


def _unknown(group: Group, calibrations: Sequence[str], usual: Callable[[str, str], float]) -> list[_Unknown]:
    """The numbers of a group; those of families and of stacks before the deviations that multiply them.

    `usual` gives the deviation that is expected of a calibration's parameter.
    """
    found: list[_Unknown] = []

    def add(owner: str, name: str, limits: tuple[float, float], *, is_stack: bool = False) -> None:
        start = float(np.clip(START[name], limits[0] + 1e-9, limits[1] - 1e-9))
        found.append(_Unknown(owner, name, start, *limits, prior_of(owner, name), is_stack))

    for name in group.common:
        add(COMMON, name, bounds(name))
    for name in (*group.of_families, *group.of_chips):
        for family in group.families:
            add(family, name, bounds(name))
    for stack, name, lower, upper in group.stacks:
        add(stack, name, (lower, upper), is_stack=True)
    for name in group.of_chips:
        for owner in calibrations:
            if owner not in FAMILIES and (owner, name) not in UNMEASURED:
                start = float(np.clip(usual(owner, name), *DEVIATION))
                drawn = Prior(start, group.drawn, "the median of its kind")
                found.append(_Unknown(owner, name, start, *DEVIATION, drawn, deviates=True))
    return found

"""Fits a calibration to the user's own runs on one chip, with the shipped one as prior.

The prior is the shipped number of each parameter, as a normal distribution of its logarithm; the likelihood of the runs
is Student's distribution of the logarithm of measured over expected, so that an outlier has little weight. A parameter
is moved only if the runs determine it: greedily, the one that explains them best first, as long as each is worth it
(`WORTH`); the rest keep their shipped values. The expected time is the templates' own row, bound included, so that a
run at its bound isn't fitted and no fit is below the bound.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, least_squares

from planner.catalog.calibrations import COMMON
from planner.compare import likely_unit
from planner.validation.expected_times import Numbers
from planner.validation.fitting import SHARE, Fitter
from planner.validation.moving import Cells, Moving, read_by
from planner.validation.parameters import UNMEASURED, Group, bounds
from planner.validation.runs_of_group import Key

FREEDOM = 3.0  # degrees of freedom of Student's t distribution
OF_A_SOURCE = math.sqrt(0.5)  # share of the stated spread: half of the variance is between sources, half within one
SPREAD_OF_MEDIAN = 1.4826  # standard deviation of a normal over its median absolute error
BEFORE = 4.0  # weight of the shipped spread, as a number of runs
WORTH = 0.5  # times (1 + log n): twice the log-likelihood gain needed to change a parameter
LEAST_SPREAD = 0.02  # smallest spread of runs about their fit: no timing is more precise
WIDE = 0.5  # log spread of what differs most between machines: latencies, overheads, exposures
UNDETERMINED = 1.0  # the same for parameters that no published run determines
NARROW = 2.0  # prior spread of an efficiency over that of the runs
FEWEST = 6  # from this number of runs on, a single deviating run is not believed
USED = 4.0  # a run within this many spreads of the fit counts as used
TRIED = (0.05, 0.2, 0.5, 2.0, 5.0, 20.0)  # starting values of a parameter, as multiples of its known value
FURTHEST = 100.0  # largest factor by which a parameter may change
FOLDS = 8  # folds of the cross-validation
KEPT = 32  # sets of parameters of which is kept what is left to compute
INSIDE = 1e-6  # distance of a starting value from its bounds
OPERATIONS = (
    "gemm_efficiency",
    "operation_hbm_efficiency",
    "operation_overhead",
    "matmul_ramp",
    "attention_speed",
    "attention_read_speed",
)


def candidates(group: Group) -> tuple[str, ...]:
    """The parameters that runs of a group may move."""
    return OPERATIONS if group.name == "matmuls" else (*group.of_chips, *group.of_families, *group.common)


class OwnFit:
    """The runs of one group on one chip, and what they say about its calibration.

    `known` are the calibration's prior parameters, `error` is their stated error; `stacks` are factors of stacks that
    differ from the shipped ones.
    """

    def __init__(
        self,
        fitter: Fitter,
        chip: str,
        known: Mapping[str, float],
        error: float,
        stacks: Mapping[Key, float] = MappingProxyType({}),
    ) -> None:
        self.fitter, self.chip, self.known, self.stacks = fitter, chip, known, dict(stacks)
        self.error, self.usual = error, error * SPREAD_OF_MEDIAN * OF_A_SOURCE
        self.sign = np.where(fitter.is_rate, -1.0, 1.0)
        self.runs = [run for part in fitter.parts for run in part.runs]
        self._moving = lru_cache(KEPT)(self._made)
        self.weights = _weights(fitter) * ~self._is_of_another_unit()

    def residuals(self, moved: Mapping[str, float]) -> Numbers:
        """The logarithm of measured over expected time of each run."""
        return self._logarithms(self._moving(tuple(moved)).expected(np.array([*moved.values()])))

    def _logarithms(self, expected: Numbers) -> Numbers:
        """The logarithm of measured over expected times."""
        found: Numbers = np.log(self.fitter.measured / expected) * self.sign
        return found

    def _made(self, names: tuple[str, ...]) -> Moving:
        """What is expected of the runs as a function of these parameters, for the known values of the others."""
        cells = Cells(len(names))
        for name, value in self.known.items():
            at = names.index(name) if name in names else cells.stays(value)
            cells.calibrations[self.chip, name] = cells.add(at)
        cells.stacks = {key: cells.add(cells.stays(value)) for key, value in self.stacks.items()}
        read = [read_by(part, cells) for part in self.fitter.parts]
        every, known = np.ones(len(self.runs), bool), np.array([self.known[name] for name in names])
        return Moving(self.fitter.parts, cells, read, every, np.arange(len(names)), known)

    def _is_of_another_unit(self) -> NDArray[np.bool_]:
        """Which runs are too far off for any parameter to explain; fitting to them would only widen the range.

        Collectives are exempt, since their start-up time may differ as much between machines.
        """
        is_other = np.array([run.judged_as != "collective" for run in self.runs], bool)
        return is_other & (np.abs(self.residuals({})) >= math.log(likely_unit.FAR))

    def fit(self, names: Sequence[str]) -> dict[str, float]:
        """The parameters that the runs move, with their numbers."""
        moved: dict[str, float] = {}
        count = max(1.0, float((self.weights**2).sum()))
        left = [name for name in names if self.known.get(name, 0) > 0 and self.n_determining(name)]
        while left:
            spread = self.spread(moved, self.weights)
            tried = {name: self._solved(self._start(moved, name, spread), spread, self.weights) for name in left}
            gains = {name: self._gain(name, moved, each, spread) for name, each in tried.items()}
            worth = [name for name, gain in gains.items() if 2 * gain > WORTH * (1 + math.log(count))]
            if not worth:
                break
            best = min(worth, key=lambda name: self._cost(tried[name], spread))
            moved = tried[best]
            left.remove(best)
        confirmed = self._confirmed(self._pruned(moved, WORTH * (1 + math.log(count))))
        return self._believed(self._settled(confirmed, self.weights))

    def _pruned(self, moved: dict[str, float], worth: float) -> dict[str, float]:
        """The fitted parameters without those that later additions made redundant."""
        while len(moved) > 1:
            spread = self.spread(moved, self.weights)
            here = self._cost(moved, spread)
            others = [{name: value for name, value in moved.items() if name != left} for left in moved]
            tried = [self._solved(each, spread, self.weights) for each in others]
            best = min(tried, key=lambda each: self._cost(each, spread))
            if 2 * (self._cost(best, spread) - here) > worth:
                break
            moved = best
        return moved

    def _confirmed(self, moved: dict[str, float]) -> dict[str, float]:
        """The fitted parameters without those that don't help to predict left-out runs; the last added goes first.

        A single run confirms nothing: the chip may differ, or the run. A parameter that no published run determines
        stays nevertheless, since there may be only one run of its kind.
        """
        while determined := [name for name in moved if not self._is_undetermined(name)]:
            spread = self.spread(moved, self.weights)
            without = {name: value for name, value in moved.items() if name not in determined}
            here, left_out = (self._of_runs(each, spread) for each in (self.residuals(without), self.left_out(moved)))
            if len(self.runs) > 1 and 2 * (here - left_out).sum() > WORTH:
                break
            moved = {name: value for name, value in moved.items() if name != determined[-1]}
        return moved

    def _believed(self, moved: dict[str, float]) -> dict[str, float]:
        """The fitted parameters without those that no run in use determines, the last first: runs too far off to be
        used move nothing. Nor does a single run in use, but for parameters that no published run determines.
        """
        while moved:
            used = self.is_used(moved)
            told = used if used.sum() > 1 else np.zeros_like(used)
            idle = [name for name in moved if not self._is_undetermined(name) and not self.n_determining(name, told)]
            if not idle:
                break
            moved = self._settled({name: value for name, value in moved.items() if name != idle[-1]}, self.weights)
        return moved

    def _gain(self, name: str, before: Mapping[str, float], after: Mapping[str, float], spread: float) -> float:
        """The gain in log likelihood from moving a parameter, without the run that gains most if there are many.

        Otherwise a single outlier would move a parameter that few runs determine. For a parameter that no published run
        determines, every run counts, since there may be only one of its kind.
        """
        gain = self._cost(before, spread) - self._cost(after, spread)
        if len(self.runs) < FEWEST or self._is_undetermined(name):
            return gain
        each = [self._of_runs(self.residuals(moved), spread) for moved in (before, after)]
        return gain - float((each[0] - each[1]).max())

    def left_out(self, moved: Mapping[str, float]) -> Numbers:
        """The residual of each run when the moved parameters are fitted to the others."""
        if not moved or len(self.runs) < 2:
            return self.residuals(moved)
        found = np.empty(len(self.runs))
        folds = np.arange(len(self.runs)) % min(FOLDS, len(self.runs))
        for fold in set(folds):
            others = self._settled(moved, np.where(folds == fold, 0.0, self.weights))
            found[folds == fold] = self.residuals(others)[folds == fold]
        return found

    def spread(self, moved: Mapping[str, float], weights: Numbers) -> float:
        """The spread of measured over expected times: the runs' own, shrunk towards the usual one within a source."""
        counted = self.residuals(moved)[weights > 0]
        of_runs = SPREAD_OF_MEDIAN * float(np.median(np.abs(counted - np.median(counted)))) if counted.size else 0.0
        n = float((weights**2).sum())
        before = BEFORE**2 / (BEFORE + n)  # fades with many runs, or the priors of parameters would count too much
        return max(LEAST_SPREAD, math.sqrt((before * self.usual**2 + n * of_runs**2) / (before + n)))

    def is_used(self, moved: Mapping[str, float]) -> NDArray[np.bool_]:
        """Whether each run is close enough to the fit to have had weight in it."""
        found: NDArray[np.bool_] = np.abs(self.residuals(moved)) < USED * self.spread(moved, self.weights)
        return found & (self.weights > 0)

    def n_determining(self, name: str, among: NDArray[np.bool_] | None = None) -> int:
        """The number of runs, of all or of those in `among`, whose expected time depends on a parameter."""
        here = self.residuals({})
        others = [self.residuals({name: value}) for value in self._others(name)]
        depends = np.max([np.abs(each - here) for each in others], axis=0) * self.weights > INSIDE
        return int((depends if among is None else depends & among).sum())

    def _others(self, name: str) -> list[float]:
        """Trial values around a parameter's known number, far and near, within its bounds."""
        lower, upper = bounds(name)
        return [float(np.clip(self.known[name] * times, lower, upper)) for times in TRIED]

    def _start(self, moved: Mapping[str, float], name: str, spread: float) -> dict[str, float]:
        """The starting value of one more parameter: the most likely of several, since the likelihood may be flat."""
        starts = ({**moved, name: value} for value in (self.known[name], *self._others(name)))
        return min(starts, key=lambda each: self._cost(each, spread))

    def _settled(self, moved: Mapping[str, float], weights: Numbers) -> dict[str, float]:
        """The numbers of the moved parameters, fitted with the spread of the runs around them."""
        found = dict(moved)
        for _ in range(3 if found else 0):
            found = self._solved(found, self.spread(found, weights), weights)
        return found

    @staticmethod
    def _is_undetermined(name: str) -> bool:
        """Whether no published run depends on a parameter."""
        return (COMMON, name) in UNMEASURED

    def _before(self, name: str) -> float:
        """The prior spread of the logarithm of a parameter."""
        if self._is_undetermined(name):
            return UNDETERMINED
        return NARROW * self.usual if name.endswith("_efficiency") else WIDE

    def _scaled(self, moved: Mapping[str, float], spread: float, weights: Numbers) -> Numbers:
        """The residuals of the runs and of the prior, divided by their spreads."""
        of_known = [math.log(value / self.known[name]) / self._before(name) for name, value in moved.items()]
        return np.concatenate([self.residuals(moved) / spread * weights, of_known])

    def _cost(self, moved: Mapping[str, float], spread: float) -> float:
        """The negative log likelihood of the runs and the prior."""
        scaled = self._scaled(moved, spread, self.weights)
        return float(_student(scaled**2, len(self.runs))[0].sum() / 2)

    def _of_runs(self, residuals: Numbers, spread: float) -> Numbers:
        """The negative log likelihood of each run."""
        found: Numbers = _student((residuals / spread * self.weights) ** 2, len(self.runs))[0] / 2
        return found

    def _solved(self, start: Mapping[str, float], spread: float, weights: Numbers) -> dict[str, float]:
        """The most likely numbers of these parameters: the better optimum from the start and the runs' middle."""
        limits = np.array([_limits(name, self.known[name]) for name in start]).T
        known = np.array([self.known[name] for name in start])
        before = np.array([self._before(name) for name in start])

        def scaled(expected: Numbers, found: Numbers) -> Numbers:
            return np.concatenate([self._logarithms(expected) / spread * weights, found / before], axis=-1)

        moving = self._moving(tuple(start))
        here, derivatives = moving.differentiated(scaled, limits, lambda found: known * np.exp(found))

        def solved(begin: Numbers, loss: Callable[[Numbers, int], Numbers]) -> OptimizeResult:
            return least_squares(
                here,
                np.clip(begin, limits[0] + INSIDE, limits[1] - INSIDE),
                derivatives,
                bounds=limits,
                x_scale=0.1,
                loss=lambda squares: loss(squares, len(self.runs)),
            )

        begin = np.log(np.array([*start.values()]) / known)
        middle = solved(begin, _soft).x
        best = min((solved(each, _student) for each in (begin, middle)), key=lambda each: float(each.cost))
        return dict(zip(start, (known * np.exp(best.x)).tolist(), strict=True))


def _student(squares: Numbers, n: int) -> Numbers:
    """The cost of squared scaled residuals and two derivatives: Student's t for the first n, normal for the rest."""
    of_runs = squares[:n]
    found = _normal(squares)
    found[:, :n] = (
        (FREEDOM + 1) * np.log1p(of_runs / FREEDOM),
        (FREEDOM + 1) / (FREEDOM + of_runs),
        -(FREEDOM + 1) / (FREEDOM + of_runs) ** 2,
    )
    return found


def _soft(squares: Numbers, n: int) -> Numbers:
    """The same for the absolute instead of the squared residuals, which has a single minimum."""
    root = np.sqrt(1 + squares[:n])
    found = _normal(squares)
    found[:, :n] = 2 * (root - 1), 1 / root, -1 / (2 * root**3)
    return found


def _normal(squares: Numbers) -> Numbers:
    return np.array([squares, np.ones_like(squares), np.zeros_like(squares)])


def _limits(name: str, known: float) -> tuple[float, float]:
    """The bounds of a parameter's logarithm around the known number, slightly beyond a bound that it is at."""
    lower, upper = bounds(name)
    low, high = max(lower, known / FURTHEST), min(upper, known * FURTHEST)
    return math.log(low / known) - 2 * INSIDE, math.log(high / known) + 2 * INSIDE


def _weights(fitter: Fitter) -> Numbers:
    """The square root of each run's weight: shared among runs of one setting, 0 for one that isn't to be fitted."""
    runs = [run for part in fitter.parts for run in part.runs]
    keys = [(run.template, run.model, run.hardware, run.output, repr(sorted(run.values.items()))) for run in runs]
    counts = Counter(keys)
    return np.array(
        [run.is_fitted * math.sqrt(run.weight) * counts[key] ** -SHARE for run, key in zip(runs, keys, strict=True)]
    )

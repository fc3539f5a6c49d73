"""Fits calibrations to runs: least squares of the logarithm of expected over measured, with priors.

The model functions are the templates' own rows. A source's weight is its number of runs to the power of 0.3, so that
one with a hundred runs doesn't dominate; residuals beyond 10 % count less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from threadpoolctl import ThreadpoolController

from planner.catalog.calibrations import COMMON, kind_of
from planner.formulas.arrays import Array
from planner.formulas.evaluation import code
from planner.formulas.partial import Recompute, recomputed
from planner.formulas.template import Row
from planner.validation.expected_times import Numbers, Together, spread
from planner.validation.parameters import DEVIATION, FAMILIES, START, UNMEASURED, Group, Prior, bounds, prior_of

SHARE = 0.35  # a run's weight is (number of its source's runs) ** -SHARE
OUTLYING = 0.1  # residual above which a run is down-weighted

STACKS = ("default", "tuned", "unfused", "ideal")
Key = tuple[str, str]  # (calibration or stack, parameter)


@dataclass
class Fit:
    """Fitted numbers of calibrations (`any`, `gpu`, `tpu`, `h100`, ...) and of stacks, by id and parameter."""

    calibrations: dict[Key, float] = field(default_factory=dict)
    stacks: dict[Key, float] = field(default_factory=dict)


@cache
def _blas() -> ThreadpoolController:
    """The loaded BLAS libraries; finding them takes some milliseconds."""
    return ThreadpoolController()


class Fitter:
    """Runs of one group, whose expected times can be recomputed for other parameters.

    `families` says of each calibration whether it is of GPUs or TPUs. `fixed` are numbers of an earlier group's fit.
    """

    def __init__(self, group: Group, together: Sequence[Together], families: Mapping[str, str], fixed: Fit) -> None:
        self.group, self.families, self.fixed = group, families, fixed
        self.parts = [_Part(*each, families) for each in _of_group(together, group)]
        self.sources = np.array([run.source for part in self.parts for run in part.runs])
        self.is_fitted = np.array([run.is_fitted for part in self.parts for run in part.runs])
        self.measured = np.concatenate([part.measured for part in self.parts])
        self.is_rate = np.concatenate([part.is_rate for part in self.parts])
        self.is_moe = np.concatenate([part.is_moe for part in self.parts])
        chips = {name for part in self.parts for name in part.calibrations.known if name}
        self.unknown = _unknown(group, sorted(chips), self._usual)

    def fit(self, mask: NDArray[np.bool_]) -> Fit:
        """The best-fitting parameters for the runs of the mask.

        Those of experts are fitted to such models only, after the rest.
        """
        numbers = np.array([each.start for each in self.unknown])
        is_of_experts = np.array([each.name in self.group.of_experts for each in self.unknown])
        if not is_of_experts.any():
            return self.as_fit(self._solved(mask, ~is_of_experts, numbers))
        for rows, moving in ((mask & ~self.is_moe, ~is_of_experts), (mask & self.is_moe, is_of_experts)):
            if rows.any():
                numbers = self._solved(rows, moving, numbers)
        return self.as_fit(numbers)

    def _solved(self, mask: NDArray[np.bool_], moving: NDArray[np.bool_], numbers: Numbers) -> Numbers:
        """The numbers with the moving ones fitted to the runs of the mask."""
        counts = Counter(self.sources[mask])
        weights = np.array([counts[name] ** -SHARE if counts[name] else 0.0 for name in self.sources])
        unknown = [each for each, moves in zip(self.unknown, moving, strict=True) if moves]
        start = numbers[moving]
        drawn = [(at, each.prior) for at, each in enumerate(unknown) if each.prior is not None]

        def whole(found: Numbers) -> Numbers:
            changed = numbers.copy()
            changed[moving] = found
            return changed

        def residuals(found: Numbers) -> Numbers:
            errors = np.log(self.expected(self.as_fit(whole(found))) / self.measured) * weights
            towards = [prior.weight * np.log(max(found[at], 1e-12) / prior.value) for at, prior in drawn]
            return np.concatenate([errors[mask], towards])

        # Matrices are small: where other programs run, BLAS threads that wait for each other take thirty times as long.
        with _blas().limit(limits=1, user_api="blas"):
            solution = least_squares(
                residuals,
                start,
                bounds=([each.lower for each in unknown], [each.upper for each in unknown]),
                loss="soft_l1",
                f_scale=OUTLYING,
                x_scale=np.maximum(np.abs(start), 1e-7),
            )
        return whole(solution.x)

    def expected(self, fit: Fit) -> Numbers:
        """The expected number of every run with these parameters."""
        return np.concatenate([part.expected(fit) for part in self.parts])

    def as_fit(self, numbers: Numbers) -> Fit:
        """A solution's numbers as parameters of calibrations and stacks, with the rest from the earlier group's fit."""
        fit = Fit(dict(self.fixed.calibrations), dict(self.fixed.stacks))
        for each, number in zip(self.unknown, numbers, strict=True):
            if each.deviates:
                family = fit.calibrations[self.families[each.owner], each.name]
                lower, upper = bounds(each.name)
                fit.calibrations[each.owner, each.name] = float(np.clip(family * number, lower, upper))
            elif each.is_stack:
                fit.stacks[each.owner, each.name] = float(number)
            else:
                fit.calibrations[each.owner, each.name] = float(number)
        self._add_without_runs(fit)
        return fit

    def _add_without_runs(self, fit: Fit) -> None:
        """Add the numbers of calibrations that have runs of an earlier parameter alone."""
        for name, _ in self.group.drawn_as:
            for owner, family in self.families.items():
                if (owner, name) not in fit.calibrations and (family, name) in fit.calibrations:
                    usual = fit.calibrations[family, name] * self._usual(owner, name)
                    fit.calibrations[owner, name] = float(np.clip(usual, *bounds(name)))

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
            if owner not in FAMILIES:
                start = float(np.clip(usual(owner, name), *DEVIATION))
                drawn = Prior(start, group.drawn, "the median of its kind")
                found.append(_Unknown(owner, name, start, *DEVIATION, drawn, deviates=True))
    return found


class RunIds(NamedTuple):
    """What is called up for each run: the ids, each once, and which of them each run has; blank for none."""

    known: list[str]
    at: NDArray[np.int_]

    @classmethod
    def of(cls, codes: Numbers, known: Iterable[str]) -> RunIds:
        """The ids that codes stand for."""
        texts = {code(text): text for text in known}
        ids, places = np.unique([texts.get(float(each), "") for each in codes], return_inverse=True)
        return cls(ids.tolist(), places)

    @property
    def each(self) -> list[str]:
        """The id of each run."""
        return [self.known[place] for place in self.at]


class _Part:
    """The runs of one template that a group is fitted to."""

    def __init__(self, together: Together, chosen: NDArray[np.int_], families: Mapping[str, str]) -> None:
        template, count = together.template, len(together.runs)
        self.runs = [together.runs[at] for at in chosen]
        self.families = families
        self.measured, self.is_moe = together.measured[chosen], together.is_moe[chosen]
        self.range_power = together.range_power[chosen]
        self.is_rate, self.bound = together.is_rate[chosen], together.bound[chosen]
        self.outputs = [run.output for run in self.runs]
        arrays = {name: spread(array, count)[chosen] for name, array in together.results.arrays.items()}
        self.calibrations = RunIds.of(arrays["calibration_id"], families)
        self.stacks = RunIds.of(arrays["stack"], STACKS)
        wanted = sorted(set(self.outputs))
        needed = template.closure(wanted)
        self.lookups = [row for row in template.of_kind("calibration", "stack") if row.name in needed]
        names = [row.name for row in self.lookups]
        self.compute: Recompute = recomputed(template, arrays, names, wanted)
        self.usual = {row.name: arrays[row.name] for row in self.lookups if row.kind == "stack"}

    def expected(self, fit: Fit) -> Numbers:
        """What is expected of each run."""
        values: dict[str, Array] = {row.name: self._values(row, fit) for row in self.lookups}
        columns = self.compute(values)
        if len(columns) == 1:
            return spread(next(iter(columns.values())), len(self.runs))
        spreads = {name: spread(array, len(self.runs)) for name, array in columns.items()}
        return np.array([spreads[name][at] for at, name in enumerate(self.outputs)])

    def _values(self, row: Row, fit: Fit) -> Numbers:
        name = row.column[0]
        if row.kind == "stack":
            given = np.array([fit.stacks.get((stack, name), np.nan) for stack in self.stacks.known])[self.stacks.at]
            return np.where(np.isnan(given), self.usual[row.name], given)
        numbers = [value_of(fit, self.families, each, name) for each in self.calibrations.known]
        return np.array(numbers)[self.calibrations.at]


def value_of(fit: Fit, families: Mapping[str, str], calibration: str, name: str) -> float:
    """A parameter of a calibration: its own, that of its kind, that of all; where none is fitted, where fits begin.

    What no run tells of has the number that its prior gives to such chips.
    """
    for owner in (calibration, families.get(calibration, ""), COMMON):
        if (owner, name) in fit.calibrations:
            return fit.calibrations[owner, name]
        if (owner, name) in UNMEASURED:
            return UNMEASURED[owner, name].value
    return START[name]


def _of_group(together: Sequence[Together], group: Group) -> list[tuple[Together, NDArray[np.int_]]]:
    """Of each template the runs of a group's kinds on its chips, of which anything can be expected."""
    found = []
    for each in together:
        has_answer = np.isfinite(each.expected)
        of_kinds = [at for at, run in enumerate(each.runs) if run.judged_as in group.kinds and has_answer[at]]
        chosen = np.array([at for at in of_kinds if kind_of(each.calibration(at)) in group.families], int)
        if chosen.size:
            found.append((each, chosen))
    return found

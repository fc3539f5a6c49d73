"""The user's runs as stacks: for each of their chips a calibration, with its ranges and its reach.

A stack has the factors of the one with which the runs were made, and the calibration of its own name on chips with the
calibration of its runs; on any other chip it acts as the former.

A range narrows with the runs: its squared width is the mean of that before and that of the runs' left-out residuals,
with `BEFORE` runs' weight for the former; never below `LEAST_WIDTH`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.catalog import Table, Value
from planner.catalog.calibrations import KINDS, MIXES, Stated, kind_of, stated_calibrations
from planner.catalog.databases import Databases
from planner.catalog.hardware_columns import OWN_RUNS
from planner.compare import likely_unit
from planner.errors import UserError, nearest
from planner.fit.chip import BEFORE, SPREAD_OF_MEDIAN, OwnFit, candidates
from planner.formulas.expected import IDEAL
from planner.number_text import few, percent
from planner.validation.expected_times import ExpectedRuns, Numbers, predicted
from planner.validation.fitting import Fitter
from planner.validation.left_out import families_of
from planner.validation.parameters import GROUPS, Group, bounds
from planner.validation.reach import NAMES, reaches
from planner.validation.runs import Run
from planner.validation.runs_of_group import STACKS, Fit

USUAL_STACK = "default"
OF_TEN = 1.2816  # standard deviations from the median to the end of an 80 % range
LEAST_WIDTH = math.log(1.03)  # smallest half-width of a range, in logarithms
UNSTATED = 0.2  # error of a calibration that doesn't state one
NEEDED = {"calibration_id", "stack"}  # a template without these rows has nothing to fit
TELLING = tuple(stack for stack in STACKS if stack != IDEAL)  # stacks with factors that runs can determine
NOTHING = "nothing is fitted of it"
FAR_OFF = "far off what is expected"
FLAGS = {
    "training": "own_training",
    "serving": "own_serving",
    "serving on TPUs": "own_serving",
    "matmuls": "own_operations",
    "collectives": "own_collectives",
}
"""The column of a stack that says whether it is fitted to runs of a group, by the group of parameters."""


@dataclass(frozen=True)
class OwnRun:
    """A run, and what the fit made of it."""

    run: Run
    is_used: bool
    why_not: str = ""  # why it is not used
    before: float | None = None  # expected over measured time; None if there is no expected time
    after: float | None = None  # the same with the fitted parameters
    is_rate: bool = False


@dataclass(frozen=True)
class FittedParameter:
    """A parameter of a calibration: its number, the one before, and how many runs moved it (0: unchanged)."""

    name: str
    value: float
    before: float
    rows: int = 0
    error: float | None = None


@dataclass(frozen=True)
class OwnCalibration:
    """A stack fitted to the user's runs, for the chips of one shipped calibration."""

    id: str
    fitted_for: str
    base: str
    parameters: tuple[FittedParameter, ...]
    runs: tuple[OwnRun, ...]
    unmoved: tuple[tuple[str, str], ...] = ()  # (group of parameters, why the runs move none of it)

    @property
    def stacks(self) -> Counter[str]:
        """The number of used runs by the stack that they were made with, the base first."""
        found = Counter({self.base: 0})
        found.update(str(each.run.values.get("stack", USUAL_STACK)) for each in self.runs if each.is_used)
        return found

    @property
    def flags(self) -> dict[str, float]:
        """For each column of OWN_RUNS, 1 if a run of its workload was used, else 0."""
        kinds = {each.run.judged_as for each in self.runs if each.is_used}
        fitted = {FLAGS[group.name] for group in GROUPS if kinds.intersection(group.kinds)}
        return {name: float(name in fitted) for name in OWN_RUNS}

    @property
    def sources(self) -> list[str]:
        """The sources of the fitted runs."""
        return sorted({each.run.source.replace(" ", "_") for each in self.runs if each.run.is_fitted})

    @property
    def moved(self) -> list[FittedParameter]:
        """The parameters that the runs moved, without ranges and reach."""
        return [each for each in self.parameters if each.rows and each.name not in _ENDS and each.name not in NAMES]


_ENDS = {f"{kind}_{mix}_{end}" for kind in KINDS for mix in MIXES for end in ("low", "high")}


def fitted_stacks(runs: Sequence[Run], databases: Databases, models: Table, name: str) -> list[OwnCalibration]:
    """A stack for each calibration of the runs' chips; if there are several, their names end in the calibration's.

    Empty if no run can be fitted.
    """
    base = base_of(runs)
    by_chip: dict[str, list[Run]] = {}
    for run in runs:
        chip = str(databases.hardware.rows[run.hardware]["calibration"]) if run.hardware and not run.fault else ""
        by_chip.setdefault(chip, []).append(_on(base, run))
    chips = [chip for chip in sorted(by_chip) if chip and any(run.is_fitted for run in by_chip[chip])]
    stated = stated_calibrations(databases.calibrations_csv, only=databases.only)
    names = {chip: name if len(chips) == 1 else f"{name}-{chip}" for chip in chips}
    factors = databases.stacks.rows[base]
    families = families_of(databases.hardware)
    # case-insensitive, like a lookup formula
    by_letters = {identifier.lower(): lines for identifier, lines in stated.items()}
    for chip in chips:
        if chip.lower() not in by_letters:
            what = f"there is no calibration {chip!r}, which the hardware table names"
            raise UserError(what, remedy=nearest(chip, stated))
    by_template = {chip: predicted(by_chip[chip], databases, models) for chip in chips}
    return [
        _fitted(names[chip], chip, base, factors, by_letters[chip.lower()], by_template[chip], families)
        for chip in chips
    ]


def base_of(runs: Sequence[Run]) -> str:
    """The shipped stack with which most of the runs were made."""
    named = Counter(str(run.values.get("stack", USUAL_STACK)) for run in runs)
    return next((stack for stack, _ in named.most_common() if stack in TELLING), USUAL_STACK)


def _on(base: str, run: Run) -> Run:
    """The run with a shipped stack: the base, if its own is the bound or the user's."""
    own = run.values.get("stack", USUAL_STACK)
    return run if own in TELLING else replace(run, values={**run.values, "stack": base})


def _fitted(
    identifier: str,
    chip: str,
    base: str,
    factors: Mapping[str, Value],
    stated: Mapping[str, Stated],
    by_template: Sequence[ExpectedRuns],
    families: Mapping[str, str],
) -> OwnCalibration:
    """The stack fitted to the runs on chips of one calibration; `factors` are those of its base."""
    known = {name: line.value for name, line in stated.items()}
    parts = [each for each in by_template if each.template.by_name.keys() >= NEEDED]
    found: dict[str, FittedParameter] = {}
    runs: dict[str, OwnRun] = {}
    unmoved: list[tuple[str, str]] = []
    for group in GROUPS:
        if kind_of(chip) not in group.families or not any(_has_runs(each, group) for each in parts):
            continue
        fit = OwnFit(Fitter(group, parts, families, Fit()), chip, known, _stated_error(group, stated))
        if not fit.weights.any():
            continue
        names = [name for name in candidates(group) if name not in found]
        moved = fit.fit(names)
        unmoved += [] if moved else [(group.name, why_unmoved(fit, names))]
        times = factors.get(group.range_factor)
        found |= _moved_by(fit, moved, known, times if isinstance(times, float) else 1.0)
        runs |= _used_by(fit, moved)
        known |= {name: found[name].value for name in moved}  # last, since the fit reads them
    for (family, name), reach in reaches(parts, families, {name for name, run in runs.items() if run.is_used}).items():
        if family == kind_of(chip) and reach.sources:
            found[name] = FittedParameter(name, reach.value, stated[name].value, len(reach.sources))
    everything = (found.get(name) or FittedParameter(name, line.value, line.value) for name, line in stated.items())
    missing = (
        OwnRun(run, is_used=False, why_not=_why_unfitted(each, at))
        for each in by_template
        for at, run in enumerate(each.runs)
        if run.id not in runs
    )
    return OwnCalibration(identifier, chip, base, tuple(everything), (*runs.values(), *missing), tuple(unmoved))


def _moved_by(
    fit: OwnFit, moved: Mapping[str, float], known: Mapping[str, float], times: float
) -> dict[str, FittedParameter]:
    """The parameters that a fit moved and the ends of its ranges, by name; `known` are the numbers before.

    The base's factors make a range `times` as wide.
    """
    left_out, used, counts = fit.left_out(moved), fit.is_used(moved), fit.weights > 0
    error = float(np.median(np.abs(np.exp(-left_out[counts]) - 1)))
    found: dict[str, FittedParameter] = {}
    for name, value in moved.items():
        lower, upper = bounds(name)
        rows = fit.n_determining(name, used) or fit.n_determining(name)
        found[name] = FittedParameter(name, float(np.clip(value, lower, upper)), known[name], rows, error)
    return found | {each.name: each for each in _ranges(fit, left_out, used, known, error, times)}


def _used_by(fit: OwnFit, moved: Mapping[str, float]) -> dict[str, OwnRun]:
    """What a fit made of each of its runs, by id."""
    before, after, used = fit.residuals({}), fit.residuals(moved), fit.is_used(moved)
    runs: dict[str, OwnRun] = {}
    for at, run in enumerate(fit.runs):
        why = run.noted if used[at] else _left(run, float(np.exp(before[at]))) or far_off(used[fit.weights > 0])
        ratios = float(np.exp(-before[at])), float(np.exp(-after[at]))
        runs[run.id] = OwnRun(run, bool(used[at]), why, *ratios, bool(fit.fitter.is_rate[at]))
    return runs


def _left(run: Run, ratio: float) -> str:
    """Why a run isn't used, regardless of the others; blank if it is. `ratio` is measured over expected time."""
    if not run.is_fitted:
        return "not to be fitted"
    return likely_unit.how_far(ratio) if likely_unit.is_far(ratio) else ""


def far_off(used: NDArray[np.bool_]) -> str:
    """Why an outlier isn't used; `used` says of each run, including this one, whether it is close."""
    others = used.size - 1
    if 2 * used.sum() > others:
        return "far off the others"
    return FAR_OFF + (", and so are most of the others" if others else "")


def _why_unfitted(expected_runs: ExpectedRuns, at: int) -> str:
    """Why nothing is fitted to a run."""
    expected, run = float(expected_runs.expected[at]), expected_runs.runs[at]
    if not np.isfinite(expected):
        return expected_runs.why_not(at)
    return _left(run, run.measured / expected) or NOTHING


def _has_runs(expected_runs: ExpectedRuns, group: Group) -> bool:
    """Whether something is expected of any run of a group."""
    kinds = np.array([run.judged_as in group.kinds for run in expected_runs.runs])
    return bool((kinds & np.isfinite(expected_runs.expected)).any())


def _stated_error(group: Group, stated: Mapping[str, Stated]) -> float:
    """The stated median error of a group's parameters, with each source left out."""
    errors = [text for name in candidates(group) if (text := stated[name].cells.get("error", "").strip())]
    return max(map(float, errors)) if errors else UNSTATED


def _ranges(
    fit: OwnFit, left_out: Numbers, used: NDArray[np.bool_], known: Mapping[str, float], error: float, times: float
) -> Iterator[FittedParameter]:
    """The ends of the ranges of each kind and mix with used runs.

    The base's factors make a range `times` as wide, so the ends are stored before that.
    """
    is_moe = np.concatenate([part.is_moe for part in fit.fitter.parts])
    for kind in KINDS:
        for mix in MIXES:
            of_kind = np.array([run.judged_as == kind for run in fit.runs]) & (is_moe == (mix == "moe"))
            of_kind &= used
            own = left_out[of_kind]
            if not own.size:
                continue
            n = float((fit.weights[of_kind] ** 2).sum())
            spread = SPREAD_OF_MEDIAN * float(np.median(np.abs(own))) * OF_TEN * math.sqrt(1 + 1 / n)
            for end, sign in (("low", -1), ("high", 1)):
                name = f"{kind}_{mix}_{end}"
                before = math.log(known[name]) * sign * times
                width = max(LEAST_WIDTH, math.sqrt((BEFORE * before**2 + n * spread**2) / (BEFORE + n)))
                lower, upper = bounds(name)
                value = float(np.clip(math.exp(sign * width / times), lower, upper))
                yield FittedParameter(name, value, known[name], len(own), error)


OF_PEAKS = "_efficiency"  # names of the parameters that runs are made for: shares of peaks and bandwidths
MOST = 3  # most parameters to name


def why_unmoved(fit: OwnFit, names: Sequence[str]) -> str:
    """Why the fit moved none of the parameters `names`, none of which was fitted before."""
    used = fit.is_used({})  # an outlier that isn't contradicts nothing
    counted = used if used.any() else fit.weights > 0
    off = np.exp(-fit.residuals({})[counted]) - 1  # expected over measured
    known = [name for name in names if fit.known.get(name, 0) > 0]
    telling = [name for name in known if fit.n_determining(name)]
    silent = [name for name in known if name not in telling and name.endswith(OF_PEAKS)]
    if not telling:
        return f"the runs don't reach where {_listed(known, 'or')} matters: other limits set their times"
    ends = " to ".join(dict.fromkeys(percent(float(end), signed=True) for end in (off.min(), off.max())))
    if np.abs(off).max() <= fit.usual:
        why = f"expected times are {ends} off, within what published runs are off by, {percent(fit.error)}"
    elif off.size == 1:
        why = f"one run, of which the expected time is {ends} off, confirms none; add runs of other sizes"
    elif off.min() < 0 < off.max():
        why = f"the runs contradict each other: expected times are {ends} off"
    else:
        why = f"none explains all of the runs: expected times are {ends} off"
    return f"{why}; of {_listed(silent, 'and')} they say nothing: other limits set their times" if silent else why


def _listed(names: Sequence[str], word: str) -> str:
    return few(names, MOST) if len(names) > MOST else f" {word} ".join(names)

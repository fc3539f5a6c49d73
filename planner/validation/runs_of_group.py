"""The runs to which a group of parameters is fitted, template by template, computed anew for other parameters."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.catalog.calibrations import COMMON, kind_of
from planner.formulas.arrays import Array
from planner.formulas.evaluation import code
from planner.formulas.partial import Partial, recomputed
from planner.formulas.template import Row
from planner.validation.expected_times import ExpectedRuns, Numbers, spread
from planner.validation.parameters import START, UNMEASURED, Group

STACKS = ("default", "tuned", "unfused", "ideal")
Key = tuple[str, str]  # (calibration or stack, parameter)


@dataclass
class Fit:
    """Fitted numbers of calibrations (`any`, `gpu`, `tpu`, `h100`, ...) and of stacks, by id and parameter."""

    calibrations: dict[Key, float] = field(default_factory=dict)
    stacks: dict[Key, float] = field(default_factory=dict)


class RunIds(NamedTuple):
    """The calibration, or the stack, of each run: the distinct ids, and the index of each run's; blank for none."""

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


class Part:
    """The runs of one template that a group is fitted to."""

    def __init__(self, expected_runs: ExpectedRuns, chosen: NDArray[np.int_], families: Mapping[str, str]) -> None:
        template, count = expected_runs.template, len(expected_runs.runs)
        self.runs = [expected_runs.runs[at] for at in chosen]
        self.families = families
        self.measured, self.is_moe = expected_runs.measured[chosen], expected_runs.is_moe[chosen]
        self.range_power = expected_runs.range_power[chosen]
        self.is_rate = expected_runs.is_rate[chosen]
        arrays = {name: spread(array, count)[chosen] for name, array in expected_runs.results.arrays.items()}
        self.calibrations = RunIds.of(arrays["calibration_id"], families)
        self.stacks = RunIds.of(arrays["stack"], STACKS)
        wanted, self.outputs = np.unique([run.output for run in self.runs], return_inverse=True)
        needed = template.closure(wanted)
        self.lookups = [row for row in template.of_kind("calibration", "stack") if row.name in needed]
        names = [row.name for row in self.lookups]
        alike = {name: array[0] for name, array in arrays.items() if (array == array[0]).all()}
        self.compute = recomputed(template, {**arrays, **alike}, names, wanted.tolist())
        self.usual = {row.name: arrays[row.name] for row in self.lookups if row.kind == "stack"}

    def ids(self, row: Row) -> RunIds:
        """The stacks or the calibrations of the runs, whichever a row is looked up by."""
        return self.stacks if row.kind == "stack" else self.calibrations

    def or_usual(self, name: str, numbers: Numbers, runs: NDArray[np.int_] | slice) -> Numbers:
        """A looked-up row's numbers for some runs, with the shipped number for stacks that the fit has none for."""
        if name not in self.usual:
            return numbers
        return np.where(np.isnan(numbers), self.usual[name][runs], numbers)

    def origin(self, row: Row, identifier: str, known: Container[Key]) -> Key | float:
        """The key in `known` of a row's number for a stack or calibration, or the number itself.

        It is NaN for a stack without one.
        """
        if row.kind == "stack":
            return key if (key := (identifier, row.column[0])) in known else np.nan
        return origin(known, self.families, identifier, row.column[0])


def chosen_of(compute: Partial, values: Mapping[str, Array], outputs: NDArray[np.int_]) -> Numbers:
    """The wanted row of each run, by its index in `outputs`, for new values of the changing rows."""
    columns = [*compute(values).values()]
    if len(columns) == 1:
        return spread(columns[0], len(outputs))
    found = np.empty((len(columns), len(outputs)))
    for at, column in enumerate(columns):
        found[at] = column
    return found[outputs, np.arange(len(outputs))]


def origin(known: Container[Key], families: Mapping[str, str], calibration: str, name: str) -> Key | float:
    """The key in `known` of a calibration's parameter: its own, that of its kind or that of all chips.

    If none is known, the parameter's number: that of its prior, else the starting value of a fit.
    """
    for owner in (calibration, families.get(calibration, ""), COMMON):
        if (owner, name) in known:
            return owner, name
        if (owner, name) in UNMEASURED:
            return UNMEASURED[owner, name].value
    return START[name]


def parts_of(by_template: Sequence[ExpectedRuns], group: Group, families: Mapping[str, str]) -> list[Part]:
    """By template, the runs of a group's kinds on its kinds of chips that have an expected number."""
    found = []
    for each in by_template:
        has_answer = np.isfinite(each.expected)
        of_kinds = [at for at, run in enumerate(each.runs) if run.judged_as in group.kinds and has_answer[at]]
        chosen = np.array([at for at in of_kinds if kind_of(each.calibration(at)) in group.families], int)
        if chosen.size:
            found.append(Part(each, chosen, families))
    return found

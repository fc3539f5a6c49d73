"""The expected times of runs; those of a template are computed together, as arrays with a number for each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from planner.catalog import Table, Value
from planner.catalog.databases import Databases
from planner.formulas import library
from planner.formulas.arrays import Array
from planner.formulas.evaluation import Facts, Results, evaluate, text_of
from planner.formulas.explanation import missing
from planner.formulas.lookups import by_id
from planner.formulas.template import LOOKUPS, Row, Template
from planner.formulas.units import parse_unit
from planner.validation.runs import EXPECTED, Run

Numbers = NDArray[np.float64]
BOUNDS = {
    "step_time_expected": "step_time_lower_bound",
    "prefill_time_expected": "prefill_lower_bound_time",
    "time_to_first_token_expected": "prefill_lower_bound_time",
    "time_to_first_token_full_expected": "prefill_lower_bound_time",
    "prefill_batch_time_expected": "prefill_batch_lower_bound_time",
    "expected_time": "lower_bound_time",
}
"""Bounds whose names don't follow from their expected row; others replace `_expected` by `_bound`."""


def bound_of(output: str) -> str:
    """The name of an expected row's bound."""
    return BOUNDS.get(output) or output.removesuffix(EXPECTED) + "_bound"


def is_rate(row: Row) -> bool:
    """Whether a row decreases with time, such as tokens per second or a utilization."""
    return row.name.startswith("mfu") or any(
        symbol == "s" and power < 0 for symbol, power in parse_unit(row.unit).powers
    )


@dataclass(frozen=True)
class ExpectedRuns:
    """Runs of one template, computed together: `results` has an array for each row, with a number for each run."""

    template: Template
    runs: tuple[Run, ...]
    results: Results

    def of(self, name: str) -> Numbers:
        """A row's numbers, one for each run; NaN if the template lacks the row."""
        if name not in self.template.by_name:
            return np.full(len(self.runs), np.nan)
        return spread(self.results[name], len(self.runs))

    def chosen(self, names: Sequence[str]) -> Numbers:
        """For each run, the number of its row in `names`."""
        columns = {name: self.of(name) for name in set(names)}
        return np.array([columns[name][at] for at, name in enumerate(names)])

    @property
    def outputs(self) -> list[str]:
        """The row that each run measures."""
        return [run.output for run in self.runs]

    @cached_property
    def is_rate(self) -> NDArray[np.bool_]:
        """Whether each run's measured number is a rate."""
        return np.array([is_rate(self.template.row(name)) for name in self.outputs])

    @cached_property
    def measured(self) -> Numbers:
        return np.array([run.measured for run in self.runs])

    @cached_property
    def bound(self) -> Numbers:
        return self.chosen([bound_of(name) for name in self.outputs])

    @cached_property
    def expected(self) -> Numbers:
        return self.chosen(self.outputs)

    @cached_property
    def low(self) -> Numbers:
        return self.chosen([f"{name}_low" for name in self.outputs])

    @cached_property
    def high(self) -> Numbers:
        return self.chosen([f"{name}_high" for name in self.outputs])

    @cached_property
    def is_moe(self) -> NDArray[np.bool_]:
        """Whether each run is of a mixture of experts."""
        return self.of("n_moe_layers") > 0

    @cached_property
    def range_power(self) -> Numbers:
        """The factor, in logarithms, by which the range of each run is widened for its attention."""
        return np.where(np.isnan(powers := self.of("range_power")), 1.0, powers)

    def calibration(self, at: int) -> str:
        """The calibration of a run's chip; blank if the template reads none."""
        if "calibration_id" not in self.template.by_name:
            return ""
        return text_of(float(self.of("calibration_id")[at])) or ""

    def why_not(self, at: int) -> str:
        """Why nothing is expected of a run."""
        arrays = {name: array[at] if np.ndim(array) else array for name, array in self.results.arrays.items()}
        one = Results(self.template, arrays, {}, {})
        return ", ".join(missing(one, [self.runs[at].output])) or "its formula has no number"


def spread(array: Array, count: int) -> Numbers:
    """An array with a number for each run, broadcast from a scalar if needed."""
    return np.array(np.broadcast_to(np.asarray(array, dtype=np.float64), (count,)))


def predicted(runs: Sequence[Run], databases: Databases, models: Table) -> list[ExpectedRuns]:
    """The runs without a fault, grouped by template."""
    sound = [run for run in runs if not run.fault]
    templates = {name: library.load(name) for name in dict.fromkeys(run.template for run in sound)}
    groups: dict[tuple[str, frozenset[str]], list[Run]] = {}
    for run in sound:
        groups.setdefault((run.template, _overridden(run, templates[run.template])), []).append(run)
    return [_expected_of(templates[name], found, databases, models) for (name, _), found in groups.items()]


def _overridden(run: Run, template: Template) -> frozenset[str]:
    """The settings of a run that override a lookup by another row's text, which have no default."""
    rows = [template.row(name) for name in run.values]
    return frozenset(row.name for row in rows if row.kind in LOOKUPS and not _is_plain(row))


def _is_plain(row: Row) -> bool:
    """Whether a row is looked up directly in the model's or chip's row."""
    return row.kind in ("model", "hardware") and not row.column[1]


def _rows_of(table: Table, ids: Sequence[str]) -> list[Mapping[str, Value]]:
    """The row of each run's id, each row made once; an empty one for a blank id."""
    rows: dict[str, Mapping[str, Value]] = {each: table.rows[each] for each in {*ids} - {""}}
    return [rows.get(each, {}) for each in ids]


def _expected_of(template: Template, runs: list[Run], databases: Databases, models: Table) -> ExpectedRuns:
    chips = _rows_of(databases.hardware, [run.hardware for run in runs])
    architectures = _rows_of(models, [run.model for run in runs])
    given: dict[str, list[Value]] = {}
    for name in {name for run in runs for name in run.values}:
        row = template.row(name)
        if _is_plain(row):
            tables = chips if row.kind == "hardware" else architectures
            usual: list[Value] = [cells.get(row.column[0]) for cells in tables]
        else:
            usual = [row.default if row.kind == "input" else None] * len(runs)
        given[name] = [run.values.get(name, other) for run, other in zip(runs, usual, strict=True)]
    facts = Facts(
        {column.name: [cells.get(column.name) for cells in architectures] for column in models.columns},
        {column.name: [cells.get(column.name) for cells in chips] for column in databases.hardware.columns},
        by_id(template, databases),
    )
    return ExpectedRuns(template, tuple(runs), evaluate(template, facts, given))

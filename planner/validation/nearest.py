"""The published runs nearest to a plan, with what they reported and what is expected of them.

The distance reflects what a practitioner considers a similar run. Each number counts by how often it must be doubled or
halved to reach the plan's: parameters most, since they determine the shapes of all matmuls, then the work of a step
(tokens of a batch and sequence length, or sequences and context) and the number of chips. Each text that differs counts
as some doublings: another generation of chip (by its calibration), another kind of chip (TPU or GPU), another dtype of
the matmuls, a mixture of experts instead of a dense model, another software stack. The distance is the root of the sum
of squares; ties are in file order. Runs with inferred dimensions are excluded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from planner.catalog import Table, Value
from planner.catalog.databases import Databases
from planner.formulas.evaluation import code
from planner.formulas.expected import FAMILIES, chip_calibration
from planner.formulas.template import Template
from planner.number_text import PERCENT, percent, spoken
from planner.terminal_table import digits
from planner.validation.expected_times import ExpectedRuns, Numbers, predicted
from planner.validation.runs import Run, models_of, read, shipped

FEW = 5
NUMBERS: Mapping[str, Mapping[str, float]] = {
    "training": {"n_params_total": 1.0, "n_params_active": 1.0, "n_chips": 0.4, "batch_tokens": 0.4, "seq_len": 0.5},
    "inference": {"n_params_total": 1.0, "n_params_active": 1.0, "n_chips": 1.0, "batch": 0.5, "context_len": 0.5},
    "collectives": {"collective_bytes": 0.5, "n_chips": 1.0},
    "matmul": {"tokens": 0.5, "d_in": 0.5, "d_out": 0.5},
}
"""For each template the numbers to compare, and the distance that a doubling of each adds."""
SIZES: Mapping[str, Mapping[str, str]] = {
    "training": {"n_chips": "chips", "batch_tokens": "tokens/step", "seq_len": "seq len"},
    "inference": {"n_chips": "chips", "batch": "batch", "context_len": "context"},
    "collectives": {"n_chips": "chips", "collective_bytes": "bytes"},
    "matmul": {"tokens": "B", "d_in": "D", "d_out": "F"},
}
"""For each template the sizes of a run to show, and their column titles."""
TEXTS = {"chip_calibration": 2.0, "compute_dtype": 1.5, "stack": 1.0}
"""The distance that a differing text adds, in doublings of parameters."""
ANOTHER_KIND, EXPERTS = 3.0, 3.0
"""The distance between TPU and GPU, and between mixture of experts and dense model, in doublings of parameters."""
UNKNOWN = 3.0
"""The distance added by a number that the plan lacks."""


class NearColumn(NamedTuple):
    """A column of the table of nearest runs: its name, its label, and the unit of its numbers."""

    name: str
    label: str
    unit: str


class NearCell(NamedTuple):
    """A number or text of that table, its unit, and its display text."""

    value: float | str
    unit: str
    text: str


class NearRun(NamedTuple):
    """A published run: the measured and the expected number, in the unit of `output`'s row."""

    run: Run
    model: str  # its name
    what: str  # label of the compared row
    unit: str
    sizes: tuple[float, ...]  # the numbers named by SIZES, in order
    expected: float
    distance: float  # distance from the plan in doublings of parameters

    @property
    def cells(self) -> list[NearCell]:
        """A line of the table of nearest runs, by `Nearest.columns`."""
        measured, error = self.run.measured, self.expected / self.run.measured - 1
        return [
            *(NearCell(text, "text", text) for text in (self.run.id, self.model, self.run.hardware)),
            *(NearCell(size, "1", digits(size)) for size in self.sizes),
            NearCell(self.what, "text", self.what),
            NearCell(measured, self.unit, spoken(measured, self.unit)),
            NearCell(self.expected, self.unit, spoken(self.expected, self.unit, measured)),
            NearCell(error, PERCENT, percent(error, 0, signed=True)),
        ]


class Nearest(NamedTuple):
    """The published runs nearest to a plan, nearest first."""

    runs: tuple[NearRun, ...]
    sizes: tuple[str, ...]  # the labels of their sizes
    own: int  # number of runs of the template on the plan's chip, or on chips with its calibration

    @property
    def columns(self) -> list[NearColumn]:
        """The columns of a table of the runs: identity, sizes, reported and expected numbers, error."""
        who = [("run", "run"), ("model", "model"), ("hardware", "chip")]
        return [
            *(NearColumn(name, label, "text") for name, label in who),
            *(NearColumn(label.replace(" ", "_").replace("/", "_"), label, "1") for label in self.sizes),
            NearColumn("what", "what", "text"),
            NearColumn("reported", "reported", "s"),
            NearColumn("expected", "expected", "s"),
            NearColumn("error", "off by", PERCENT),
        ]


@dataclass(frozen=True)
class PublishedRuns:
    """The published runs of a template with their expectations, computed once for many plans."""

    expected_runs: ExpectedRuns
    models: Table

    def nearest(self, value: Callable[[str], Value], hardware: str) -> Nearest:
        """The runs nearest to a plan; `value` gives its rows by name, None for N/A, `hardware` is its chip's id."""
        found = self.expected_runs
        known = np.isfinite(found.expected) & np.isfinite(found.low) & np.isfinite(found.high)
        distances = np.where(known, _distances(found, value), np.inf)
        order = [int(at) for at in np.argsort(distances, kind="stable")[:FEW] if np.isfinite(distances[at])]
        runs = tuple(_near(found, self.models, at, float(distances[at])) for at in order)
        same = np.array([run.hardware == hardware for run in found.runs])
        if (calibration := chip_calibration(value)) not in FAMILIES:
            same |= found.of("chip_calibration") == _code(calibration)
        return Nearest(runs, tuple(SIZES[found.template.name].values()), int(same.sum()))


def published_runs(template: Template, databases: Databases | None = None) -> PublishedRuns | None:
    """The published runs of a template; None if there are none.

    Their expectations use the shipped models and chips, and the calibrations of `databases` before the shipped ones.
    """
    if template.name not in NUMBERS:
        return None
    ours = Databases(calibrations_csv=databases.calibrations_csv if databases else None)
    models = models_of(ours)
    runs = [run for run in read(shipped(), ours, models, [template.name]) if run.is_fitted]
    (expected_runs,) = predicted(runs, ours, models)
    return PublishedRuns(expected_runs, models)


def nearest(
    template: Template, value: Callable[[str], Value], hardware: str = "", databases: Databases | None = None
) -> Nearest | None:
    """The published runs of a template nearest to one plan; None if there are none."""
    found = published_runs(template, databases)
    return found.nearest(value, hardware) if found else None


def _near(expected_runs: ExpectedRuns, models: Table, at: int, distance: float) -> NearRun:
    run = expected_runs.runs[at]
    row = expected_runs.template.row(run.output)
    what = row.label.removeprefix("Expected ").removesuffix(": expected time")
    model = str(models.rows[run.model]["name"]).removeprefix("x-") if run.model else ""
    sizes = tuple(float(expected_runs.of(name)[at]) for name in SIZES[expected_runs.template.name])
    return NearRun(
        run, model, what[:1].upper() + what[1:], row.unit, sizes, float(expected_runs.expected[at]), distance
    )


def _distances(expected_runs: ExpectedRuns, value: Callable[[str], Value]) -> Numbers:
    """The distance of each run from the plan."""
    squares = np.zeros(len(expected_runs.runs))
    for name, weight in NUMBERS[expected_runs.template.name].items():
        own = value(name)
        if isinstance(own, (int, float)) and own > 0:
            with np.errstate(divide="ignore", invalid="ignore"):
                doublings = weight * np.log2(expected_runs.of(name) / own)
            squares += np.where(np.isfinite(doublings), doublings, UNKNOWN) ** 2
        else:
            squares += UNKNOWN**2
    for name, weight in TEXTS.items():
        if name in expected_runs.template.by_name:
            own_text = chip_calibration(value) if name == "chip_calibration" else value(name)
            squares += weight**2 * (expected_runs.of(name) != _code(own_text))
    is_tpu = np.array([run.hardware.startswith("tpu") for run in expected_runs.runs])
    squares += ANOTHER_KIND**2 * (is_tpu != str(chip_calibration(value)).startswith("tpu"))
    if "n_moe_layers" in expected_runs.template.by_name:
        own_layers = value("n_moe_layers")
        squares += EXPERTS**2 * (expected_runs.is_moe != (isinstance(own_layers, float) and own_layers > 0))
    distances: Numbers = np.sqrt(squares)
    return distances


def _code(text: Value) -> float:
    """A text's code in arrays; NaN for N/A, which equals nothing."""
    return code(text) if isinstance(text, str) else float("nan")

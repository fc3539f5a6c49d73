"""The reach of the fitted runs: the most chips, ways and stages and the smallest microbatch, for GPUs and for TPUs."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from planner.validation.expected_times import ExpectedRuns
from planner.validation.left_out import FEWEST_RUNS
from planner.validation.parameters import FAMILIES
from planner.validation.runs_of_group import Key

EXTREMES = {
    "train_most_chips": ("training", "n_chips", max),
    "train_most_tensor": ("training", "mesh_tensor", max),
    "train_most_pipeline": ("training", "mesh_pipeline", max),
    "train_most_context": ("training", "mesh_context", max),
    "train_least_tokens": ("training", "microbatch_tokens", min),
    "serve_most_chips": ("inference", "n_chips", max),
}
"""The parameters that are the maximum or minimum of a row of a template over the fitted runs."""
TELLS = {
    "train_tells_moe": ("training", "n_moe_layers"),
    "serve_tells_moe": ("inference", "n_moe_layers"),
    "serve_tells_sparse": ("inference", "index_topk"),
}
"""The parameters that say whether enough fitted runs of a template have a nonzero value of a row."""
NAMES = {*EXTREMES, *TELLS}
"""Every such parameter."""


class Reach(NamedTuple):
    """The reach of runs: a number, and the sources of the runs that determine it."""

    value: float
    sources: tuple[str, ...]


def reaches(
    by_template: Sequence[ExpectedRuns], families: Mapping[str, str], used: Container[str] | None = None
) -> dict[Key, Reach]:
    """The reach of the fitted runs by kind of chip, `gpu` or `tpu`, and parameter; 0 if there are none.

    `used` are the ids of the runs that a fit used; without it, all runs that are to be fitted count.
    """
    found: dict[Key, Reach] = {}
    for family in FAMILIES:
        masks = [(part, _fitted_on(part, family, families, used)) for part in by_template]
        for parameter, (template, row, extreme) in EXTREMES.items():
            chosen = [(part, mask) for part, mask in masks if part.template.name == template]
            numbers = [float(each) for part, mask in chosen for each in part.of(row)[mask]]
            found[family, parameter] = Reach(extreme(numbers, default=0.0), _sources(chosen))
        for parameter, (template, row) in TELLS.items():
            chosen = [(part, mask & (part.of(row) > 0)) for part, mask in masks if part.template.name == template]
            nonzero = _sources(chosen)
            found[family, parameter] = Reach(float(len(nonzero) >= FEWEST_RUNS), nonzero)
    return found


def _fitted_on(part: ExpectedRuns, family: str, families: Mapping[str, str], used: Container[str] | None) -> np.ndarray:
    """A mask of the runs that are fitted and on such chips."""
    chips = [families.get(part.calibration(at), "") for at in range(len(part.runs))]
    counts = [run.is_fitted if used is None else run.id in used for run in part.runs]
    return np.array([does and chip == family for does, chip in zip(counts, chips, strict=True)], bool)


def _sources(chosen: Iterable[tuple[ExpectedRuns, np.ndarray]]) -> tuple[str, ...]:
    """The source of each run that the masks choose."""
    return tuple(part.runs[at].source for part, mask in chosen for at in np.flatnonzero(mask))

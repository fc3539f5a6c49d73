"""The reach of the fitted runs: the most chips, ways and stages and the smallest microbatch, for GPUs and for TPUs."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from planner.validation.expected_times import Together
from planner.validation.fitting import Key
from planner.validation.left_out import FEWEST_RUNS
from planner.validation.parameters import FAMILIES

MOST: Mapping[str, Mapping[str, str]] = {
    "training": {
        "train_most_chips": "n_chips",
        "train_most_tensor": "mesh_tensor",
        "train_most_pipeline": "mesh_pipeline",
        "train_most_context": "mesh_context",
    },
    "inference": {"serve_most_chips": "n_chips"},
}
"""For each template the parameters that are the maximum of a row over the fitted runs."""
LEAST = {"training": {"train_least_tokens": "microbatch_tokens"}}
TELLS = {
    "training": {"train_tells_moe": "n_moe_layers"},
    "inference": {"serve_tells_moe": "n_moe_layers", "serve_tells_sparse": "index_topk"},
}
"""For each template the parameters that say whether enough fitted runs have a nonzero value of a row."""


class Reach(NamedTuple):
    """The reach of runs: a number, and the sources of the runs that determine it."""

    value: float
    sources: tuple[str, ...]


NAMES = {name for names in (*MOST.values(), *LEAST.values(), *TELLS.values()) for name in names}
"""Every such parameter."""


def reaches(
    together: Sequence[Together], families: Mapping[str, str], used: Container[str] | None = None
) -> dict[Key, Reach]:
    """The reach of the fitted runs by kind of chip, `gpu` or `tpu`, and parameter; 0 if there are none.

    `used` are the ids of the runs that a fit used; without it, all runs that are to be fitted count.
    """
    found: dict[Key, Reach] = {}
    for template in MOST:
        parts = [each for each in together if each.template.name == template]
        for family in FAMILIES:
            masks = [_fitted_on(part, family, families, used) for part in parts]
            sources = tuple(_sources(parts, masks))
            for parameter, row in MOST[template].items():
                found[family, parameter] = Reach(_over(parts, masks, row, max), sources)
            for parameter, row in LEAST.get(template, {}).items():
                found[family, parameter] = Reach(_over(parts, masks, row, min), sources)
            for parameter, row in TELLS[template].items():
                nonzero = tuple(
                    _sources(parts, [mask & (part.of(row) > 0) for part, mask in zip(parts, masks, strict=True)])
                )
                found[family, parameter] = Reach(float(len(nonzero) >= FEWEST_RUNS), nonzero)
    return found


def _fitted_on(part: Together, family: str, families: Mapping[str, str], used: Container[str] | None) -> np.ndarray:
    """A mask of the runs that are fitted and on such chips."""
    chips = [families.get(part.calibration(at), "") for at in range(len(part.runs))]
    counts = [run.is_fitted if used is None else run.id in used for run in part.runs]
    return np.array([does and chip == family for does, chip in zip(counts, chips, strict=True)], bool)


def _over(
    parts: Sequence[Together], masks: Sequence[np.ndarray], row: str, of: Callable[[list[float]], float]
) -> float:
    """The maximum or minimum (`of`) of a row over the chosen runs; 0 if there are none."""
    numbers = [float(each) for part, mask in zip(parts, masks, strict=True) for each in part.of(row)[mask]]
    return of(numbers) if numbers else 0.0


def _sources(parts: Sequence[Together], masks: Sequence[np.ndarray]) -> list[str]:
    return [part.runs[at].source for part, mask in zip(parts, masks, strict=True) for at in np.flatnonzero(mask)]

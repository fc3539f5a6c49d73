"""Ranks plans: by one objective, with ties that published runs can't distinguish, or by the front of several
objectives.

The range of a single run covers differences between runs, sources and models. Two plans of one model on one chip share
most of these errors, and so do two chips of one calibration, which is fitted to the same runs. The rest is measured: in
pairs of published runs of one source, model and chip that differ in layout, 80 % of the errors agree within the
calibration's `tie` (planner/validation/left_out.py). No tie is wider than a range.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from planner.catalog import Value
from planner.catalog.calibrations import MIXES, OF_LAYOUTS, TIE
from planner.formulas.evaluation import Results, evaluate
from planner.formulas.expected import FAMILIES
from planner.search.request import Subject

CALIBRATION = "calibration"


def share_errors(one: Subject, other: Subject) -> bool:
    """Whether two subjects share errors: one model on one chip, or on chips of one calibration with own runs."""
    if one.model != other.model:
        return False
    calibrations = {(each.facts.hardware or {}).get(CALIBRATION) for each in (one, other)}
    return one.hardware == other.hardware or (len(calibrations) == 1 and not calibrations & {None, *FAMILIES})


def unshared(subject: Subject, plan: Results) -> Results:
    """A plan of a subject with ranges for only the error that another plan doesn't share with it."""
    by_id = subject.facts.by_id
    rows = {name: {**cells, **dict(_ends(cells))} for name, cells in by_id.get(CALIBRATION, {}).items()}
    return evaluate(plan.template, replace(subject.facts, by_id={**by_id, CALIBRATION: rows}), plan.given)


def _ends(cells: Mapping[str, Value]) -> Iterator[tuple[str, Value]]:
    """Yields the ends of each kind's range, narrowed to those of a tie."""
    for name in (f"{kind}_{mix}_" for kind in OF_LAYOUTS for mix in MIXES):
        tie, low, high = cells.get(name + TIE), cells.get(name + "low"), cells.get(name + "high")
        if isinstance(tie, float) and isinstance(low, float) and isinstance(high, float):
            yield name + "low", max(low, 1 / tie)
            yield name + "high", min(high, tie)


Costs = np.ndarray  # [plans, objectives], lower is better


def off(cost: float, best: float) -> float | None:
    """A cost's relative deviation from the best one; None if the best is 0 and the cost isn't."""
    return cost / best - 1 if best else None if cost else 0.0


def front(costs: Costs) -> np.ndarray:
    """The places of the non-dominated plans, in ascending order of the objectives; of equal plans the first.

    One plan dominates another if it is better in one objective and no worse in the others.
    """
    order = np.lexsort([np.arange(len(costs)), *costs.T[::-1]])
    found: list[int] = []
    if costs.shape[1] <= 2:
        last = np.minimum.accumulate(costs[order, -1]) if len(order) else np.array([])
        keeps = np.ones(len(order), dtype=bool)
        keeps[1:] = costs[order, -1][1:] < last[:-1]
        return order[keeps]
    while len(order):
        found.append(int(order[0]))
        order = order[(costs[order] < costs[order[0]]).any(axis=1)]
    return np.array(found, dtype=np.int64)


def within(values: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The places of plans whose value is within the range of the best one; values are to be minimized.

    `ends` are the worse ends of the plans' ranges.
    """
    if not len(values):
        return np.array([], dtype=np.int64)
    end = ends[np.argmin(values)]
    return np.flatnonzero(values <= max(end, values.min()) if end == end else values == values.min())

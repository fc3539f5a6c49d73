"""Ranks plans: by one objective, with ties that published runs can't distinguish, or by the front of several
objectives.

The range of a single run covers differences between runs, sources and models. Two plans of one model on one chip share
most of these errors, and so do two chips of one calibration, which is fitted to the same runs. The rest is measured: in
pairs of published runs of one source, model and chip that differ in layout, 80 % of the errors agree within the
calibration's `tie` (planner/validation/left_out.py). No tie is wider than a range.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from planner.catalog import Value
from planner.catalog.calibrations import MIXES, OF_LAYOUTS, TIE
from planner.formulas.evaluation import Results, evaluate
from planner.formulas.expected import FAMILIES
from planner.formulas.headlines import RANGE
from planner.search.found import Found, FoundPlan, Objective
from planner.search.request import Subject

CALIBRATION = "calibration"
DECILE = 1.2815515655446004  # of the normal distribution: a range holds 80 %, from the first to the ninth decile


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


def chances(found: Found) -> Iterator[tuple[FoundPlan, float | None]]:
    """The best plan of each model and chip, and the probability that it is better than the first, the best of all."""
    aim, (best, *_) = found.objectives[0], found.of_each
    for plan in found.of_each:
        yield plan, better(aim, plan, best) if plan is not best else None


def better(objective: Objective, one: FoundPlan, other: FoundPlan) -> float | None:
    """The probability that `one` is better than `other`; None if the objective has no range.

    Each number is taken as log-normal around its expected value, as wide as its range, with independent errors. Two
    plans of one model on chips of one calibration share most of their error; only the remainder, that of a tie, counts.
    """
    name = objective.row.name
    shares = share_errors(one.subject, other.subject)
    values, widths = [], []
    for plan in (one, other):
        if any(name + end not in plan.results for end in RANGE):
            return None
        results = unshared(plan.subject, plan.results) if shares else plan.results
        number, low, high = (float(results[each]) for each in (name, *(name + end for end in RANGE)))
        if not (0 < low <= high and number > 0):
            return None
        values.append(number)
        widths.append(math.log(high / low) / (2 * DECILE))
    distance = math.log(values[1] / values[0]) * (1 if objective.is_least else -1)
    width = max(widths) if shares else math.hypot(*widths)
    return 0.5 * (1 + math.erf(distance / (width * math.sqrt(2)))) if width else float(distance > 0)

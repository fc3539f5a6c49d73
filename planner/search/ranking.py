"""Ranks plans: by one objective, with ties that its error can't distinguish, or the front of several objectives."""

from __future__ import annotations

import numpy as np

Costs = np.ndarray  # plans x objectives, the less the better


def front(costs: Costs) -> np.ndarray:
    """The places of the plans that no other beats: none is better in one objective and no worse in the others.

    Of equal plans the first; in rising order of the first objective, then the next.
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
    """The places of the plans that are no worse than the error bar of the best ends; the less the better.

    `ends` are the worse ends of the plans' error bars.
    """
    if not len(values):
        return np.array([], dtype=np.int64)
    end = ends[np.argmin(values)]
    return np.flatnonzero(values <= max(end, values.min()) if end == end else values == values.min())

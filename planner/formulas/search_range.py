"""The values of an input that a search goes through: all that it may sensibly be, near to each other where it is small.

Around the value that it has now: a rate or a size from a billionth of it to a billion times as much, a count up to ten
thousand times as much. A looked-up number that is there is above 0.
"""

from __future__ import annotations

import numpy as np

from planner.formulas.limits import COUNTED, is_share, is_whole, limits
from planner.formulas.template import Row

SMALLEST = 1e-15  # of what may be any number above 0 and is not known yet
AROUND = 1e9  # how far from the value of now a number is looked for
MOST_COUNTED, TIMES = 1e9, 1e4  # as far as a count is looked for, and how far beyond the one of now
EXACT = 1e15  # beyond it neighbouring counts differ by less than the results are exact to
FEW = 1024  # whole numbers up to it are all swept
STEPS = 4096  # values of the sweep beyond them


def is_count(row: Row, present: float | None) -> bool:
    """Whether only whole numbers mean anything; of a chip's numbers those without a dimension that are whole now."""
    if row.kind != "hardware":
        return is_whole(row)
    return row.unit in COUNTED and not is_share(row) and present is not None and present == int(present)


def swept(row: Row, present: float | None) -> np.ndarray:
    """The values in rising order; `present` is what the row has without them, None for N/A."""
    allowed = limits(row)
    if allowed.is_flag:
        return np.array([0.0, 1.0])
    if allowed.is_stage:
        return np.arange(allowed.most + 1)
    known = present if present is not None and present > 0 else None
    from_zero = not allowed.is_positive and (row.kind == "input" or known is None)
    if is_count(row, present):
        most = min(EXACT, max(MOST_COUNTED, TIMES * (known or 0)))
        few = np.arange(0.0 if from_zero else 1.0, FEW + 1)
        return np.concatenate([few, np.unique(np.round(np.geomspace(FEW + 1, most, STEPS)))])
    most = 1.0 if is_share(row) else allowed.most
    low, high = (known / AROUND, min(most, known * AROUND)) if known else (SMALLEST, most)
    above = np.geomspace(low, high, STEPS)
    above[0], above[-1] = low, high
    return np.concatenate([[0.0], above]) if from_zero else above

"""The candidate values for `--solve`: any number, any count, or the counts in a list.

Slices of a torus have only certain numbers of chips, and ways that others follow divide the chips.

Candidates are around the input's present value: for a rate or size from 1e-9 to 1e9 times as much, for a count up to
10,000 times as much.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from planner.catalog import Value
from planner.errors import UserError
from planner.formulas.evaluation import Results
from planner.formulas.following import shares, step
from planner.formulas.input_values import COUNTED, is_share, is_whole, limits
from planner.formulas.slices import CHIPS, slice_sizes
from planner.formulas.template import Row

SMALLEST = 1e-15  # least candidate for a positive number without a present value
AROUND = 1e9  # largest factor between a candidate and the present value
MOST_COUNTED, TIMES = 1e9, 1e4  # largest count to try, and largest factor over the present one
EXACT = 1e15  # beyond it adjacent counts differ by less than the results' precision
FEW = 1024  # all whole numbers up to it are tried
STEPS = 4096  # number of values tried beyond


@dataclass(frozen=True)
class TriedValues:
    """The values of an input to try first, ascending, and which others lie between them.

    A count changes by `step`, which is 0 for other numbers; if they are `listed_as` something there are no others.
    """

    values: np.ndarray
    step: float
    listed_as: str = ""

    def between(self, inside: float, outside: float) -> np.ndarray:
        """Some values from `inside` to `outside`, in this order, both included."""
        if self.listed_as:
            return np.array([inside, outside])
        found = np.linspace(inside, outside, 1026)
        found = np.unique(np.round(found / self.step) * self.step) if self.step else np.unique(found)
        return found[::-1] if inside > outside else found

    def next_count(self, at: float, sign: int) -> float:
        """The next count, larger for `sign` 1 and smaller for -1; in a list there must be one."""
        if self.listed_as:
            return float(self.values[np.searchsorted(self.values, at) + sign])
        return at + sign * self.step


def search_space(row: Row, values: Mapping[str, Value], now: Results) -> TriedValues:
    """The candidate values of a template's row; `values` are typed, `now` are the results with them.

    Raises UserError if no slice of the chip has a multiple of the typed ways.
    """
    present = now.value(row.name)
    assert not isinstance(present, str), "a number is no text"
    if not is_count(row, present):
        return TriedValues(_tried_values(row, present), 0.0)
    counts = step(now.template, row.name, values)
    sizes = slice_sizes(now.known) if row.name == CHIPS else None
    if sizes is None and len(dividing := shares(now.template, row.name, values)):
        return TriedValues(dividing, counts, listed_as="number that divides the chips")
    if sizes is None:
        return TriedValues(_tried_values(row, present) * counts, counts)
    fitting = sizes[sizes % counts == 0]
    if not len(fitting):
        what = f"no slice of this chip, of up to {sizes[-1]:,.0f} chips, has a multiple of {counts:g}"
        raise UserError(what, remedy="set other ways")
    return TriedValues(fitting, counts, listed_as="size that slices have")


def is_count(row: Row, present: float | None) -> bool:
    """Whether only whole numbers make sense; for a chip's numbers, if dimensionless and whole now."""
    if row.kind != "hardware":
        return is_whole(row)
    return row.unit in COUNTED and not is_share(row) and present is not None and present == int(present)


def _tried_values(row: Row, present: float | None) -> np.ndarray:
    """The values of any other input, ascending; `present` is its present value, None for N/A."""
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

"""The candidate values for `--solve`: any number, a count, or those counts of which there are only some.

Slices of a torus have only some numbers of chips, and ways that others follow divide the chips.

They lie around the input's present value: for a rate or a size from a billionth of it to a billion times as much, for
a count up to ten thousand times as much.
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
from planner.formulas.template import Row

SMALLEST = 1e-15  # of what may be any number above 0 and is not known yet
AROUND = 1e9  # how far from the value of now a number is looked for
MOST_COUNTED, TIMES = 1e9, 1e4  # as far as a count is looked for, and how far beyond the one of now
EXACT = 1e15  # beyond it neighbouring counts differ by less than the results are exact to
FEW = 1024  # whole numbers up to it are all swept
STEPS = 4096  # values of the sweep beyond them
CHIPS = "n_chips"  # the input that says how large slices are
OF_SLICES = ("topology", "torus_axes", "max_chips", "wrap_multiple", "wrap_needs_all")  # a chip's, which say of what


@dataclass(frozen=True)
class TriedValues:
    """The values of an input that are tried first, in rising order, and which others there are between them.

    A count goes up by `step`, which is 0 for what is none; where they are `listed_as` something there are no others.
    """

    values: np.ndarray
    step: float
    listed_as: str = ""

    def between(self, inside: float, outside: float) -> np.ndarray:
        """Some values from one of two to the other, in this order, both included."""
        if self.listed_as:
            return np.array([inside, outside])
        found = np.linspace(inside, outside, 1026)
        found = np.unique(np.round(found / self.step) * self.step) if self.step else np.unique(found)
        return found[::-1] if inside > outside else found

    def beside(self, at: float, sign: int) -> float:
        """The next count, larger for a `sign` of 1 and smaller for -1; of a list there is one in that direction."""
        if self.listed_as:
            return float(self.values[np.searchsorted(self.values, at) + sign])
        return at + sign * self.step


def search_space(row: Row, values: Mapping[str, Value], now: Results) -> TriedValues:
    """Where a row of a template is looked for; `values` are typed, `now` is what the template gives with them.

    Raises UserError where no slice of the chip has a multiple of the ways that are typed.
    """
    present = now.value(row.name)
    assert not isinstance(present, str), "a number is no text"
    if not is_count(row, present):
        return TriedValues(_around(row, present), 0.0)
    counts = step(now.template, row.name, values)
    sizes = slice_sizes(now) if row.name == CHIPS else None
    if sizes is None and len(dividing := shares(now.template, row.name, values)):
        return TriedValues(dividing, counts, listed_as="number that divides the chips")
    if sizes is None:
        return TriedValues(_around(row, present) * counts, counts)
    fitting = sizes[sizes % counts == 0]
    if not len(fitting):
        what = f"no slice of this chip, of up to {sizes[-1]:,.0f} chips, has a multiple of {counts:g}"
        raise UserError(what, remedy="set other ways")
    return TriedValues(fitting, counts, listed_as="size that slices have")


def slice_sizes(now: Results) -> np.ndarray | None:
    """How many chips a plan's slices may have together, in rising order; None for a chip that no torus joins.

    A slice has a power of two; of a torus whose slices are made of cubes, from a cube on, so many cubes.
    """
    if not {CHIPS, *OF_SLICES} <= now.template.by_name.keys() or now.value("topology") != "torus":
        return None
    axes, most, multiple, is_cubes = (now.value(name) for name in OF_SLICES[1:])
    if not (isinstance(axes, float) and isinstance(most, float) and isinstance(multiple, float)):
        return None
    cube = multiple**axes if is_cubes else most
    sizes = np.union1d(2.0 ** np.arange(np.log2(min(cube, most)) + 1), cube * np.arange(1, most // cube + 1))
    slices = now.value("n_slices") if "n_slices" in now.template.by_name else 1.0
    return sizes * (slices if isinstance(slices, float) else 1.0)


def is_count(row: Row, present: float | None) -> bool:
    """Whether only whole numbers mean anything; of a chip's numbers those without a dimension that are whole now."""
    if row.kind != "hardware":
        return is_whole(row)
    return row.unit in COUNTED and not is_share(row) and present is not None and present == int(present)


def _around(row: Row, present: float | None) -> np.ndarray:
    """The values of any other input in rising order; `present` is what it has without them, None for N/A."""
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

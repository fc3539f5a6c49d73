"""The expected numbers of runs as a function of the parameters that a fit moves, and how they change with each.

A fit needs them at one point after the other, and around each point once for every number that moves. These are
computed together, each for only the runs that it affects: the most that a fit does, and one evaluation instead of
dozens.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from planner.formulas.partial import Partial
from planner.formulas.template import Row
from planner.validation.expected_times import Numbers
from planner.validation.runs_of_group import Fit, Key, Part, chosen_of

STEP = math.sqrt(np.finfo(float).eps)  # of a difference quotient, for a number of 1 and less
Places = NDArray[np.int_]
Mask = NDArray[np.bool_]


class Cells:
    """Every parameter of a fit as the product of two numbers, between limits; `moving` of the numbers move."""

    def __init__(self, moving: int) -> None:
        self.moving = moving
        self.calibrations: dict[Key, int] = {}  # the cell of each key
        self.stacks: dict[Key, int] = {}
        self._stay = [1.0]  # the numbers that stay, after those that move
        self._products: list[tuple[int, int, float, float]] = []

    def hold(self, fit: Fit) -> None:
        """Add the parameters of a fit as cells that stay."""
        self.calibrations |= {key: self.add(self.stays(value)) for key, value in fit.calibrations.items()}
        self.stacks |= {key: self.add(self.stays(value)) for key, value in fit.stacks.items()}

    def stays(self, number: float) -> int:
        """The place of a number that stays."""
        self._stay.append(number)
        return self.moving + len(self._stay) - 1

    def add(self, first: int, second: int | None = None, limits: tuple[float, float] = (-math.inf, math.inf)) -> int:
        """The cell of a product of the numbers at two places, or of the one at the first."""
        self._products.append((first, self.moving if second is None else second, *limits))
        return len(self._products) - 1

    @cached_property
    def _columns(self) -> tuple[Places, Places, Numbers, Numbers]:
        first, second, lower, upper = zip(*self._products, strict=True)
        return np.array(first), np.array(second), np.array(lower), np.array(upper)

    def at(self, points: Numbers) -> Numbers:
        """The cells at points of the moving numbers: points x cells."""
        first, second, lower, upper = self._columns
        numbers = np.empty((len(points), self.moving + len(self._stay)))
        numbers[:, : self.moving], numbers[:, self.moving :] = points, self._stay
        found: Numbers = np.clip(numbers[:, first] * numbers[:, second], lower, upper)
        return found

    def moved_by(self, places: Places) -> Mask:
        """Which cells change with each of the moving numbers at some places: places x cells."""
        first, second, *_ = self._columns
        found: Mask = (first == places[:, None]) | (second == places[:, None])
        return found

    def fit(self, numbers: Numbers) -> Fit:
        """The moving numbers as parameters of calibrations and stacks, with those that stay."""
        (cells,) = self.at(numbers[None]).tolist()
        return Fit(
            {key: cells[at] for key, at in self.calibrations.items()},
            {key: cells[at] for key, at in self.stacks.items()},
        )


class Moving:
    """The expected numbers of the runs of a mask as a function of the cells' numbers at `places`.

    All other numbers are those of `numbers`.
    """

    def __init__(
        self, parts: Sequence[Part], cells: Cells, read: Sequence[Mapping[str, Places]], mask: Mask, places: Places,
        numbers: Numbers,
    ) -> None:  # fmt: skip
        self.cells, self.places, self.numbers = cells, places, numbers
        self.count = int(mask.sum())
        ends = np.cumsum([0, *(len(part.runs) for part in parts)])
        runs = [np.flatnonzero(mask[start:end]) for start, end in pairwise(ends)]
        (at,) = cells.at(numbers[None])
        moved = cells.moved_by(places)
        self.parts = [
            _MovingPart(part, at, moved, each, some)
            for part, each, some in zip(parts, read, runs, strict=True)
            if some.size
        ]

    def expected(self, found: Numbers) -> Numbers:
        """The expected number of each run for these moving numbers."""
        (cells,) = self._cells(found[None])
        return np.concatenate([np.empty(0), *(part.expected(cells) for part in self.parts)])

    def differentiated(
        self,
        of: Callable[[Numbers, Numbers], Numbers],
        limits: Numbers,
        numbers: Callable[[Numbers], Numbers] = lambda found: found,
    ) -> tuple[Callable[[Numbers], Numbers], Callable[[Numbers], Numbers]]:
        """Residuals as a function of a solution, and their derivatives (the Jacobian): residuals x unknowns.

        `of` gives the residuals for expected numbers and a solution, and `numbers` the moving numbers for a solution,
        element by element; both take one solution or several. `limits` are the lower and upper bounds of a solution.
        The derivatives are difference quotients with a step away from 0, or towards it at a bound.
        """
        lower, upper = limits
        last: list[Numbers] = [np.empty(0), np.empty(0)]  # a solver mostly asks for both at the same solution

        def expected(found: Numbers) -> Numbers:
            if not np.array_equal(found, last[0]):
                last[:] = found.copy(), self.expected(numbers(found))
            return last[1]

        def derivatives(found: Numbers) -> Numbers:
            steps = STEP * np.where(found >= 0, 1.0, -1.0) * np.maximum(1.0, np.abs(found))
            steps = np.where((found + steps < lower) | (found + steps > upper), -steps, steps)
            points, here = found + np.diag(steps), expected(found)
            differences = of(self.around(numbers(points), here), points) - of(here, found)
            return (differences / (points.diagonal() - found)[:, None]).T

        return lambda found: of(expected(found), found), derivatives

    def around(self, points: Numbers, expected: Numbers) -> Numbers:
        """The expected numbers at points that each differ in one number from that of `expected`: points x runs."""
        found, start = expected[None].repeat(len(points), axis=0), 0
        cells = self._cells(points)
        for part in self.parts:
            found[part.at, start + part.run] = part.around(cells)
            start += part.count
        return found

    def _cells(self, points: Numbers) -> Numbers:
        whole = self.numbers[None].repeat(len(points), axis=0)
        whole[:, self.places] = points
        return self.cells.at(whole)


class _MovingPart:
    """The same of one template's runs."""

    def __init__(self, part: Part, cells: Numbers, moved: Mask, read: Mapping[str, Places], runs: Places) -> None:
        self.part, self.runs, self.count = part, runs, len(runs)
        of_runs = {row.name: read[row.name][part.ids(row).at[runs]] for row in part.lookups}
        affects = {name: moved[:, each] for name, each in of_runs.items()}
        self.read = {name: each for name, each in of_runs.items() if affects[name].any()}
        stays = {
            name: part.or_usual(name, cells[each], runs) for name, each in of_runs.items() if name not in self.read
        }
        self.compute = part.compute.at(runs).knowing(stays)
        self.at, self.run = np.nonzero(np.any(list(affects.values()), axis=0))

    @cached_property
    def compute_around(self) -> Partial:
        """The partial computation of each affected run, for the points around one."""
        return self.compute.at(self.run)

    def expected(self, cells: Numbers) -> Numbers:
        values = {name: self.part.or_usual(name, cells[each], self.runs) for name, each in self.read.items()}
        return chosen_of(self.compute, values, self.part.outputs[self.runs])

    def around(self, cells: Numbers) -> Numbers:
        """The expected number of each affected run, for each point."""
        runs = self.runs[self.run]
        values = {
            name: self.part.or_usual(name, cells[self.at, each[self.run]], runs) for name, each in self.read.items()
        }
        return chosen_of(self.compute_around, values, self.part.outputs[runs])


def read_by(part: Part, cells: Cells) -> dict[str, Places]:
    """The cell that each looked-up row of a part reads for each of its ids; numbers that no fit has become cells."""

    def place(row: Row, identifier: str) -> int:
        known = cells.stacks if row.kind == "stack" else cells.calibrations
        found = part.origin(row, identifier, known)
        return cells.add(cells.stays(found)) if isinstance(found, float) else known[found]

    return {row.name: np.array([place(row, each) for each in part.ids(row).known]) for row in part.lookups}

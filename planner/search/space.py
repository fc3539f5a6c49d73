"""A space of plans: all combinations of some axes, in blocks whose arrays broadcast against each other.

An axis is one or more names that vary together, such as the ways of a mesh. The last axis varies fastest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from planner.formulas.arrays import Array

BLOCK = 1 << 16  # plans per block, so that its arrays fit into a core's cache


@dataclass(frozen=True)
class PlanAxis:
    """Names that vary together: an array of values for each, all of one length; float64, codes for texts."""

    columns: Mapping[str, np.ndarray]

    @classmethod
    def of(cls, names: Sequence[str], rows: Iterable[Sequence[float]]) -> PlanAxis | None:
        """The axis of rows with a value for each name; None without rows."""
        found = list(rows)
        table = np.array(found, dtype=np.float64).reshape(-1, len(names)).T.copy()
        return cls(dict(zip(names, table, strict=True))) if found else None

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


@dataclass(frozen=True)
class PlanBlock:
    """The plans numbered from `start` on: the arrays of the axes, which broadcast to `shape`."""

    start: int
    shape: tuple[int, ...]
    arrays: Mapping[str, Array]

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    def flat(self, array: Array) -> np.ndarray:
        """The array with a number for each plan of the block, in order."""
        return np.broadcast_to(array, self.shape).reshape(-1)


@dataclass(frozen=True)
class PlanSpace:
    """All combinations of some axes."""

    axes: Sequence[PlanAxis]

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        return tuple(len(axis) for axis in self.axes)

    @cached_property
    def count(self) -> int:
        """The number of plans."""
        return math.prod(self.lengths)

    @property
    def names(self) -> tuple[str, ...]:
        """The varied names, in the order of the axes."""
        return tuple(name for axis in self.axes for name in axis.columns)

    def blocks(self, size: int = BLOCK) -> Iterator[PlanBlock]:
        """All plans in order, at most `size` per block: last axes whole, one in slices, single values of the others."""
        whole = len(self.axes)
        while whole > 0 and math.prod(self.lengths[whole - 1 :]) <= size:
            whole -= 1
        if self.count == 0:
            return
        tail = self.lengths[whole:]
        if whole == 0:
            yield PlanBlock(0, tail, self._arrays((), slice(None), 0))
            return
        sliced, step = whole - 1, max(1, size // math.prod(tail))
        for outer in range(math.prod(self.lengths[:sliced])):
            place = np.unravel_index(outer, self.lengths[:sliced]) if sliced else ()
            for first in range(0, self.lengths[sliced], step):
                last = min(first + step, self.lengths[sliced])
                start = (outer * self.lengths[sliced] + first) * math.prod(tail)
                arrays = self._arrays(tuple(int(each) for each in place), slice(first, last), sliced)
                yield PlanBlock(start, (last - first, *tail), arrays)

    def _arrays(self, place: tuple[int, ...], part: slice, sliced: int) -> dict[str, Array]:
        """The arrays of a block: scalars for axes before the `sliced` one, `part` of that, and whole axes after it."""
        found: dict[str, Array] = {}
        for at, axis in enumerate(self.axes):
            for name, column in axis.columns.items():
                if at < sliced:
                    found[name] = np.float64(column[place[at]])
                else:
                    shape = [-1 if each == at else 1 for each in range(sliced, len(self.axes))]
                    found[name] = (column[part] if at == sliced else column).reshape(shape)
        return found

    def plan(self, number: int) -> dict[str, float]:
        """The values of one plan, by name."""
        return {name: float(column[0]) for name, column in self.plans(np.array([number])).items()}

    def plans(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        """The values of the plans with these numbers, by name."""
        places = np.unravel_index(numbers, self.lengths)
        return {
            name: column[place]
            for axis, place in zip(self.axes, places, strict=True)
            for name, column in axis.columns.items()
        }

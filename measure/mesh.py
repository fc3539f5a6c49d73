"""A requested device mesh: named axes, their sizes, and the order of the devices along them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf, prod

from planner.errors import UserError, nearest

AXES = ("data", "fsdp", "tensor", "expert", "context", "pipeline")
STEP_AXES = ("data", "fsdp", "tensor")  # over which a transformer step is sharded; it is replicated over any others
MATMUL_WAYS = ("tokens_ways", "d_in_ways_left", "d_in_ways_right", "d_out_ways")  # inputs of a sharded matmul
FORM = "write axes as data=2,tensor=4"
MOST_DIGITS = 9  # of the number of devices on an axis
SEVERAL = "+"  # joins the axes of a group that spans several
Group = tuple[int, ...]


@dataclass(frozen=True)
class MeshSpec:
    """Axes with their sizes, outermost first, and device ids in that order. An empty order leaves it to JAX."""

    axes: tuple[tuple[str, int], ...]
    order: tuple[int, ...] = ()

    @classmethod
    def parse(cls, text: str, order: str = "") -> MeshSpec:
        """The mesh described by `data=2,tensor=4` and an order such as `0,1,3,2`.

        Raises UserError for an axis that is unknown, repeated or smaller than two devices.
        """
        axes: dict[str, int] = {}
        for piece in text.split(","):
            name, equals, size = (word.strip() for word in piece.partition("="))
            if not equals or not size.isdecimal() or len(size) > MOST_DIGITS:
                raise UserError(f"--mesh: {piece.strip()!r} is no axis with a size", remedy=FORM)
            if name not in AXES:
                raise UserError(f"--mesh: no axis is called {name!r}", remedy=nearest(name, AXES))
            if name in axes:
                raise UserError(f"--mesh: the axis {name} stands there twice", remedy=FORM)
            if int(size) < 2:
                raise UserError(f"--mesh: the axis {name} has {size} device", remedy="leave it out: it splits nothing")
            axes[name] = int(size)
        return cls(tuple(axes.items()), _order(order))

    def __str__(self) -> str:
        return ",".join(f"{name}={size}" for name, size in self.axes)

    @property
    def names(self) -> tuple[str, ...]:
        """The axis names, in order."""
        return tuple(name for name, _ in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """The axis sizes, in order."""
        return tuple(size for _, size in self.axes)

    @property
    def size(self) -> int:
        """The number of devices in the mesh."""
        return prod(self.shape)

    def ways(self, axis: str) -> int:
        """The number of devices along an axis or several joined ones (`data+tensor`).

        1 for an axis that the mesh lacks.
        """
        sizes = dict(self.axes)
        return prod(sizes.get(name, 1) for name in axis.split(SEVERAL))

    def stride(self, axis: str) -> int:
        """The distance in device order between neighbours along an axis: the product of the inner axes' sizes."""
        at = max((self.names.index(name) for name in axis.split(SEVERAL) if name in self.names), default=0)
        return prod(self.shape[at + 1 :])

    def axis_of(self, ways: int, stride: int) -> str:
        """The axis with this many devices, preferring the one with this stride; else all axes joined; else blank."""
        fitting = [name for name in self.names if self.ways(name) == ways]
        best = [name for name in fitting if self.stride(name) == stride] or fitting
        return best[0] if best else SEVERAL.join(self.names) if self.size == ways else ""

    def groups(self, axis: str) -> Iterator[Group]:
        """The positions in the mesh of each group of devices along an axis."""
        along = [name in axis.split(SEVERAL) for name in self.names]
        sizes = list(zip(self.shape, along, strict=True))
        for fixed in product(*(range(1 if free else size) for size, free in sizes)):
            moves = product(*(range(size if free else 1) for size, free in sizes))
            yield tuple(self._place([a + b for a, b in zip(fixed, move, strict=True)]) for move in moves)

    def _place(self, indices: Sequence[int]) -> int:
        place = 0
        for index, size in zip(indices, self.shape, strict=True):
            place = place * size + index
        return place


def _order(text: str) -> tuple[int, ...]:
    """The distinct device ids in a comma-separated text."""
    words = [word.strip() for word in text.split(",")] if text.strip() else []
    for word in words:
        if not word.isdecimal() or len(word) > MOST_DIGITS:
            raise UserError(f"--device-order: {word!r} is no device's id", remedy="write ids as 0,1,3,2")
    ids = tuple(int(word) for word in words)
    twice = next((each for each in ids if ids.count(each) > 1), None)
    if twice is not None:
        raise UserError(f"--device-order: the device {twice} stands there twice", remedy="name each device once")
    return ids


def group_size(axis_size: float, n_axes: float) -> float | None:
    """The number of devices in a group over `n_axes` axes of one size. None if it isn't a whole number of devices."""
    try:
        size = axis_size**n_axes
    except (OverflowError, ZeroDivisionError):
        return None
    return size if isinstance(size, float) and 0 < size < inf else None


def varying(coords: Sequence[Sequence[int]]) -> list[int]:
    """The torus axes along which these coordinates differ."""
    return [axis for axis, values in enumerate(zip(*coords, strict=True)) if len(set(values)) > 1]


def extents(coords: Sequence[Sequence[int]]) -> list[int]:
    """The number of devices along each axis of the smallest box that contains these coordinates."""
    return [max(values) - min(values) + 1 for values in zip(*coords, strict=True)]

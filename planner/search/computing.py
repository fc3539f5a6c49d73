"""The plans of a space computed by a template's own formulas, block by block on the machine's cores, in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import TypeVar

import numpy as np

from planner.catalog import Value
from planner.formulas.arrays import Arithmetic, Array
from planner.formulas.evaluation import Facts, encoded, run
from planner.formulas.following import Follower, followers, with_followers
from planner.formulas.partial import Partial, partial
from planner.formulas.template import Template
from planner.search import devices
from planner.search.space import Block, Space

Found = TypeVar("Found")
THREADS = min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


@dataclass(frozen=True)
class Plans:
    """The plans of a space: a template, what its lookups read, what is typed, and what moves.

    `wanted` are the rows that are computed of each. What follows an input that moves, moves with it. `backend` is
    `numpy`, or `jax`: all its devices.
    """

    template: Template
    facts: Facts
    given: Mapping[str, Value]
    space: Space
    wanted: Sequence[str]
    backend: str = "numpy"

    @cached_property
    def _moving(self) -> list[Follower]:
        return followers(self.template, self.given, self.space.names)

    @cached_property
    def _stays(self) -> dict[str, Array]:
        """What is typed, and what follows it, as arrays."""
        moving = {*self.space.names, *(each.name for each in self._moving)}
        known = with_followers(self.template, self.given)
        return {
            name: encoded(self.template.row(name), value, {}) for name, value in known.items() if name not in moving
        }  # fmt: skip

    @cached_property
    def left(self) -> Partial:
        """What is to be computed of each plan."""
        moving = [*self.space.names, *(each.name for each in self._moving)]
        wanted = dict.fromkeys(self.wanted)
        return partial(self.template, self.facts, self._stays, moving, wanted, xp=_library(self.backend))

    def _values(self, block: Block) -> dict[str, Array]:
        """What moves in a block, and what follows it: arrays that broadcast to its shape."""
        arrays, arithmetic = dict(block.arrays), Arithmetic(np)
        for each in self._moving:
            names = {name: self._value(name, arrays) for name in each.formula.names}
            with np.errstate(all="ignore"):
                number = run(each.formula, names, arithmetic)
                arrays[each.name] = np.where((number >= 1) & (number == np.round(number)), number, each.default)
        return arrays

    def _value(self, name: str, arrays: Mapping[str, Array]) -> Array:
        if name in arrays:
            return arrays[name]
        return encoded(self.template.row(name), self.given.get(name, self.template.row(name).default), {})

    def each(
        self, reduce: Callable[[Block, dict[str, Array]], Found], is_ours: Callable[[int], bool] = lambda _: True
    ) -> Iterator[tuple[Block, Found]]:
        """What `reduce` makes of each block and its rows, in order; a few blocks are under way at a time.

        `is_ours` says by the number of a block's first plan whether this process computes it.
        """
        _ = self.left, self._moving  # before threads ask for it
        if self.backend != "numpy":
            yield from devices.each(self.space, self._values, self.left, reduce, is_ours)
            return

        def work(block: Block) -> tuple[Block, Found]:
            with np.errstate(all="ignore"):
                return block, reduce(block, self.left(self._values(block)))

        under_way: deque[Future[tuple[Block, Found]]] = deque()
        with ThreadPoolExecutor(THREADS) as pool:
            try:
                for block in self.space.blocks():
                    if not is_ours(block.start):
                        continue
                    under_way.append(pool.submit(work, block))
                    if len(under_way) > 2 * THREADS:
                        yield under_way.popleft().result()
                while under_way:
                    yield under_way.popleft().result()
            finally:
                for waiting in under_way:
                    waiting.cancel()


def _library(backend: str) -> ModuleType:
    """The array library of a backend. JAX is loaded where it is asked for alone: that takes longer than most sweeps."""
    if backend == "numpy":
        return np
    import jax.numpy as jnp

    return jnp

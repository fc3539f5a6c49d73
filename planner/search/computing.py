"""Computes the plans of a space by a template's own formulas, block by block, in order, on CPU cores or on devices.

With numpy, a few threads compute a block each; with JAX, blocks of one size are each sharded over this process's
devices. XLA compiles a template once for this size and caches the program on disk, so that the next run of the same
question starts at once. On a host without an accelerator numpy is as fast.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TypeVar

import numpy as np

from planner.catalog import Value
from planner.formulas.arrays import Array
from planner.formulas.evaluation import Facts, encoded, run
from planner.formulas.following import Follower, followers, with_followers
from planner.formulas.partial import Partial, partial
from planner.formulas.template import Template
from planner.search.space import PlanBlock, PlanSpace

Found = TypeVar("Found")
THREADS = min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
BLOCK = 1 << 20  # plans per block
COMPILED = "jax"  # the folder of compiled programs in the user's cache
Values = Mapping[str, Array]


@dataclass(frozen=True)
class Plans:
    """The plans of a space. Inputs that follow varied ones vary too."""

    template: Template
    facts: Facts  # what the template's lookups read
    given: Mapping[str, Value]  # typed inputs
    space: PlanSpace  # the axes of the search
    wanted: Sequence[str]  # the rows to compute for each plan
    backend: str = "numpy"  # `numpy`, or `jax` on all its devices

    @cached_property
    def _moving(self) -> list[Follower]:
        return followers(self.template, self.given, self.space.names)

    @cached_property
    def _stays(self) -> dict[str, Array]:
        """The fixed inputs, and those that follow them, as arrays."""
        moving = {*self.space.names, *(each.name for each in self._moving)}
        known = with_followers(self.template, self.given)
        return {
            name: encoded(self.template.row(name), value, {}) for name, value in known.items() if name not in moving
        }

    @cached_property
    def left(self) -> Partial:
        """The computation that is left for each plan."""
        moving = [*self.space.names, *(each.name for each in self._moving)]
        wanted = dict.fromkeys(self.wanted)
        return partial(self.template, self.facts, self._stays, moving, wanted, xp=_library(self.backend))

    def _values(self, block: PlanBlock) -> dict[str, Array]:
        """The varied inputs of a block, and those that follow them, as arrays that broadcast to its shape."""
        arrays = dict(block.arrays)
        for each in self._moving:
            names = {name: self._value(name, arrays) for name in each.formula.names}
            with np.errstate(all="ignore"):
                number = run(each.formula, names)
                arrays[each.name] = np.where((number >= 1) & (number == np.round(number)), number, each.default)
        return arrays

    def _value(self, name: str, arrays: Mapping[str, Array]) -> Array:
        if name in arrays:
            return arrays[name]
        return encoded(self.template.row(name), self.given.get(name, self.template.row(name).default), {})

    def each(
        self, reduce: Callable[[PlanBlock, dict[str, Array]], Found], is_ours: Callable[[int], bool] = lambda _: True
    ) -> Iterator[tuple[PlanBlock, Found]]:
        """Yields each block with `reduce(block, rows)`, in order; a few blocks are computed at a time.

        `is_ours` says, by the number of a block's first plan, whether this process computes it.
        """
        _ = self.left, self._moving  # computed once, before threads use it
        if self.backend != "numpy":
            yield from _on_devices(self.space, self._values, self.left, reduce, is_ours)
            return

        def work(block: PlanBlock) -> tuple[PlanBlock, Found]:
            with np.errstate(all="ignore"):
                return block, reduce(block, self.left(self._values(block)))

        under_way: deque[Future[tuple[PlanBlock, Found]]] = deque()
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
    """The array library of a backend. JAX is imported only on demand, since that takes longer than most sweeps."""
    if backend == "numpy":
        return np
    import jax.numpy as jnp

    return jnp


def _on_devices(
    space: PlanSpace,
    values: Callable[[PlanBlock], Values],
    left: Partial,
    reduce: Callable[[PlanBlock, dict[str, Array]], Found],
    is_ours: Callable[[int], bool],
) -> Iterator[tuple[PlanBlock, Found]]:
    """Yields each block with `reduce(block, rows)`, in order, for blocks that are ours by their first plan's number.

    `values` gives the arrays of a block's varied inputs; `left` is the computation in JAX's arithmetic.
    """
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    _keep_compiled()
    devices = jax.local_devices()
    share = -(-space.count // jax.process_count())
    size = -(-min(BLOCK, share) // len(devices)) * len(devices)  # rounded up to a multiple of the number of devices
    sharing = NamedSharding(Mesh(np.array(devices), ("plans",)), PartitionSpec("plans"))
    with jax.enable_x64(True):
        computed = jax.jit(lambda moving: left(moving))  # a dataclass of arrays can't be a key of jit's cache
        for block in space.blocks(size):
            if not is_ours(block.start):
                continue
            moving = {name: _padded(block.flat(array), size) for name, array in values(block).items()}
            rows = computed(jax.device_put(moving, sharing))
            yield block, reduce(block, {name: _shaped(array, block) for name, array in rows.items()})


def _padded(array: np.ndarray, size: int) -> np.ndarray:
    """The array padded with its last number to `size`, so that it can be sharded evenly."""
    return np.pad(np.asarray(array, dtype=np.float64), (0, size - len(array)), mode="edge")


def _shaped(array: Array, block: PlanBlock) -> Array:
    """A row's numbers in the block's shape, without padding; a scalar is unchanged."""
    host = np.asarray(array)
    return host[: block.count].reshape(block.shape) if host.ndim else host


def _keep_compiled() -> None:
    """Cache compiled programs in the user's cache folder, unless JAX is configured otherwise."""
    import jax

    if jax.config.values["jax_compilation_cache_dir"] is None:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        jax.config.update("jax_compilation_cache_dir", str(caches / "planner" / COMPILED))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)

"""Computes the plans of a space with JAX on the devices of this process: blocks of one size, each split over them.

XLA compiles a template once for blocks of one size and keeps what it made on disk, so that the next run of the same
question begins at once. On a host without an accelerator numpy is as quick.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np

from planner.formulas.arrays import Array
from planner.formulas.partial import Partial
from planner.search.space import Block, Space

Found = TypeVar("Found")
BLOCK = 1 << 20  # plans of a block
COMPILED = "jax"  # the folder of compiled programs among a user's caches
Values = Mapping[str, Array]


def each(
    space: Space, values: Callable[[Block], Values], left: Partial, reduce: Callable[[Block, dict[str, Array]], Found],
    is_ours: Callable[[int], bool],
) -> Iterator[tuple[Block, Found]]:  # fmt: skip
    """What `reduce` makes of each block and its rows, in order; of those that are ours by their first plan's number.

    `values` gives the arrays of all that moves in a block; `left` is what is to be computed, in JAX's arithmetic.
    """
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    _keep_compiled()
    devices = jax.local_devices()
    share = -(-space.count // jax.process_count())
    size = -(-min(BLOCK, share) // len(devices)) * len(devices)  # a whole share of it for each device
    sharing = NamedSharding(Mesh(np.array(devices), ("plans",)), PartitionSpec("plans"))
    with jax.enable_x64(True):
        computed = jax.jit(lambda moving: left(moving))  # a dataclass of arrays can't be a key of its cache
        for block in space.blocks(size):
            if not is_ours(block.start):
                continue
            moving = {name: _padded(block.flat(array), size) for name, array in values(block).items()}
            rows = computed(jax.device_put(moving, sharing))
            yield block, reduce(block, {name: _shaped(array, block) for name, array in rows.items()})


def _padded(array: np.ndarray, size: int) -> np.ndarray:
    """The array with its last number again and again, so long that it shares out evenly."""
    return np.pad(np.asarray(array, dtype=np.float64), (0, size - len(array)), mode="edge")


def _shaped(array: Array, block: Block) -> Array:
    """A row's numbers as an array of the block's shape, without what it was filled up with; one number as it is."""
    host = np.asarray(array)
    return host[: block.count].reshape(block.shape) if host.ndim else host


def _keep_compiled() -> None:
    """Compiled programs are kept among the user's caches, unless JAX is told where else."""
    import jax

    if jax.config.values["jax_compilation_cache_dir"] is None:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        jax.config.update("jax_compilation_cache_dir", str(caches / "planner" / COMPILED))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)

"""Finds, arranges and describes the devices of a mesh, and runs a function on each device's shard.

Also times that all processes agree on, since a collective is as slow as its slowest process. Any decision based on a
time, such as when to stop, must be the same in all processes, or one waits for a collective that the others never
start. All processes must call each of these functions. A case that fails on one process (`planner.processes`) fails on
all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.experimental import mesh_utils
from jax.sharding import Mesh

from planner import processes
from planner.errors import UserError
from planner.measure.mesh import MeshSpec

FORCED = "XLA_FLAGS=--xla_force_host_platform_device_count={}"


def laid_out(spec: MeshSpec) -> Mesh:
    """The mesh over the devices of all processes, or over those listed in the spec's order.

    Without an order, TPUs are arranged along their torus and other devices by id. Raises UserError if the number of
    devices doesn't match or an id is unknown.
    """
    found = {device.id: device for device in jax.devices()}
    unknown = [each for each in spec.order if each not in found]
    if unknown:
        known = ", ".join(map(str, sorted(found)))
        raise UserError(f"--device-order: there is no device {unknown[0]}", remedy=f"there are {known}")
    devices = [found[each] for each in spec.order or sorted(found)]
    if len(devices) != spec.size:
        there = "the order names" if spec.order else "there are"
        raise UserError(f"the mesh {spec} has {spec.size} devices, and {there} {len(devices)}", remedy=_remedy(spec))
    if not spec.order and devices[0].platform == "tpu":
        return Mesh(mesh_utils.create_device_mesh(spec.shape, devices), spec.names)
    return Mesh(np.array(devices).reshape(spec.shape), spec.names)


def _remedy(spec: MeshSpec) -> str:
    if spec.order:
        return "name as many ids as the mesh has devices"
    if jax.default_backend() == "cpu" and len(jax.devices()) < spec.size and jax.process_count() == 1:
        return f"a CPU stands for more with {FORCED.format(spec.size)}"
    return "let the sizes multiply to that, or name some of them with --device-order"


def order(mesh: Mesh) -> str:
    """The device ids in the order of the mesh."""
    return " ".join(str(device.id) for device in mesh.devices.flat)


def coordinates(mesh: Mesh) -> list[tuple[int, ...]]:
    """The torus coordinates of the devices in mesh order. Empty if they have none."""
    places = [getattr(device, "coords", None) for device in mesh.devices.flat]
    return [tuple(place) for place in places if place is not None] if all(places) else []


def on_each(mesh: Mesh, function: Callable[..., Any], takes: Any, gives: Any) -> Callable[..., Any]:
    """A function of whole arrays that runs `function` on each device's shards, with these partitions."""
    mapped: Callable[..., Any] = jax.shard_map(function, mesh=mesh, in_specs=takes, out_specs=gives, check_vma=False)
    return mapped


def sharers(mesh: Mesh) -> int:
    """The number of this process's devices that share one memory: all of a CPU's."""
    here: Sequence[Any] = [device for device in mesh.devices.flat if device.process_index == jax.process_index()]
    return max(1, len(here)) if jax.default_backend() == "cpu" else 1


def wait_for_all() -> None:
    """A barrier: return when every process has reached it."""
    processes.join().gather(None)


def most(amount: float) -> float:
    """The largest amount over all processes."""
    return max(processes.join().gather(amount))


def least(amount: float) -> float:
    """The smallest amount over all processes."""
    return min(processes.join().gather(amount))


def slowest(runs: Sequence[float]) -> list[float]:
    """The time of each run on the slowest process. Empty if a process has no times."""
    return [max(times) for times in zip(*processes.join().gather(list(runs)), strict=False)]

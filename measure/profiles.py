"""Device time out of a profile: how long each run of one program took, on each platform.

| platform | plane | what a run is |
|---|---|---|
| TPU | /device:TPU:n | one event of the line `XLA Modules`: hardware timestamps |
| GPU | /device:GPU:n | the kernels of one run, as the union of their intervals over the `Stream` lines |
| CPU | /host:CPU | from the first to the last event of one run_id, over all threads |

On a CPU the operations of a run share the cores with each other and wait for threads to wake up:
their sum counts cores twice and their union leaves out the hand-overs. The span counts both once,
and it is what a call takes beside its dispatch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import median

import numpy as np

from planner.errors import Place, UserError
from planner.profiles import parts, wire, xspace
from planner.profiles.device_events import PS
from planner.profiles.xspace import Event, Plane

HOST = "/host:CPU"
COPIES = ("memcpy", "memset", "copybuffer", "fillbuffer")


def newest(folder: Path) -> Path:
    """The latest profile under a folder that jax.profiler.trace wrote to."""
    found = sorted(folder.rglob("*.xplane.pb"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise UserError("no *.xplane.pb here", place=Place(folder), remedy="give the folder of a JAX profile")
    return found[-1]


def run_times(path: Path, module: str, n_runs: int) -> list[float]:
    """Seconds of each run of the program `module` in a profile, on the slowest device that ran it.

    `n_runs` is how often it was called, which a GPU's profile doesn't say. Empty where nothing was
    recorded.
    """
    by_plane = {plane.name: plane_runs(plane, module, n_runs) for plane in xspace.read(path)}
    host = by_plane.pop(HOST, [])  # beside a device it only launches
    return max((runs for runs in by_plane.values() if runs), key=median, default=host)


def plane_runs(plane: Plane, module: str, n_runs: int) -> list[float]:
    """Seconds of each run of a program on one plane; empty for a plane that ran none."""
    if plane.name.startswith("/device:TPU:"):
        return _tpu_runs(plane, module)
    if plane.name.startswith("/device:GPU:"):
        return _gpu_runs(plane, module, n_runs)
    return _cpu_runs(plane, module) if plane.name == HOST else []


def _tpu_runs(plane: Plane, module: str) -> list[float]:
    """Events of the line `XLA Modules`, whose names are `module(program_id)`."""
    modules = (line.events for line in plane.lines if line.name == "XLA Modules")
    return [event.duration_ps * PS for events in modules for event in events if event.name.partition("(")[0] == module]


def _gpu_runs(plane: Plane, module: str, n_runs: int) -> list[float]:
    """The kernels dealt out to runs in order: each run launches the same ones, and none overlap.

    Kernels of a CUDA graph or a library carry no module and count; those of another module don't,
    nor do copies without one, which are the host's. Where they can't be dealt out evenly, every run
    is given the mean.
    """
    streams = (line for line in plane.lines if line.name.startswith("Stream"))
    events = (event for line in streams for event in line.events)
    kernels = sorted((event for event in events if _is_of(event, module)), key=lambda event: event.start_ps)
    if not kernels:
        return []
    each, odd = divmod(len(kernels), n_runs)
    if odd or not each:
        return [busy_time(kernels) / n_runs] * n_runs
    return [busy_time(kernels[at : at + each]) for at in range(0, len(kernels), each)]


def _cpu_runs(plane: Plane, module: str) -> list[float]:
    """The span of each run_id that ran an operation of the module, on whatever threads."""
    runs: dict[wire.Value, list[Event]] = defaultdict(list)
    for line in plane.lines:
        for event in line.events:
            if "run_id" in event.stats:
                runs[event.stats["run_id"]].append(event)
    ours = (events for events in runs.values() if any(e.stats.get("hlo_module") == module for e in events))
    return [(max(e.end_ps for e in events) - min(e.start_ps for e in events)) * PS for events in ours]


def busy_time(events: Iterable[Event]) -> float:
    """Seconds during which at least one of the events ran: overlapping ones count once."""
    times = np.array(sorted((event.start_ps, event.end_ps) for event in events), np.int64).reshape(-1, 2)
    return parts.union(times[:, 0], times[:, 1]) * PS


def _is_of(event: Event, module: str) -> bool:
    """Whether a kernel is of a program. What names none is; not so a copy, which is the host's."""
    # MemcpyH2D of CUDA, say, or __amd_rocclr_copyBuffer.kd of ROCm
    is_copy = any(word in event.name.lower() for word in COPIES)
    return event.stats.get("hlo_module", "" if is_copy else module) == module

"""Device times from a profile: the duration of each run of one program, on each platform.

| platform | plane | what a run is |
|---|---|---|
| TPU | /device:TPU:n | one event of the line `XLA Modules`: hardware timestamps |
| GPU | /device:GPU:n | the kernels of one run, as the union of their intervals over the `Stream` lines |
| CPU | /host:CPU | from the first to the last event of one run_id, over all threads |

On a CPU the operations of a run share the cores and wait for threads to wake up: their sum counts cores twice, and the
union of their intervals omits the gaps between threads. The span counts both once, and equals the time of a call
without its dispatch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import median

import numpy as np

from planner.errors import Place, UserError
from planner.profiles import step_parts, wire, xspace
from planner.profiles.device_events import PS
from planner.profiles.planes import Event, Plane

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

    `n_runs` is the number of calls, which a GPU's profile doesn't record. Empty if nothing was recorded.
    """
    by_plane = {plane.name: plane_runs(plane, module, n_runs) for plane in xspace.read(path)}
    host = by_plane.pop(HOST, [])  # if there is a device plane, the host only launches
    return max((runs for runs in by_plane.values() if runs), key=median, default=host)


def plane_runs(plane: Plane, module: str, n_runs: int) -> list[float]:
    """Seconds of each run of a program on one plane. Empty if the plane ran none."""
    if plane.name.startswith("/device:TPU:"):
        return _tpu_runs(plane, module)
    if plane.name.startswith("/device:GPU:"):
        return _gpu_runs(plane, module, n_runs)
    return _cpu_runs(plane, module) if plane.name == HOST else []


def _tpu_runs(plane: Plane, module: str) -> list[float]:
    """Durations of the program's events on the line `XLA Modules`, which are named `module(program_id)`."""
    modules = (line.events for line in plane.lines if line.name == "XLA Modules")
    return [event.duration_ps * PS for events in modules for event in events if event.name.partition("(")[0] == module]


def _gpu_runs(plane: Plane, module: str, n_runs: int) -> list[float]:
    """Seconds of each run: the kernels are divided among the runs in order, since each run launches the same ones.

    Kernels of a CUDA graph or a library name no module and are counted. Kernels of another module, and copies that name
    no module (the host's), are not. If the kernels don't divide evenly, every run gets the mean.
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
    """The span of each run_id that ran an operation of the module, over all threads."""
    runs: dict[wire.Value, list[Event]] = defaultdict(list)
    for line in plane.lines:
        for event in line.events:
            if "run_id" in event.stats:
                runs[event.stats["run_id"]].append(event)
    ours = (events for events in runs.values() if any(e.stats.get("hlo_module") == module for e in events))
    return [(max(e.end_ps for e in events) - min(e.start_ps for e in events)) * PS for events in ours]


def busy_time(events: Iterable[Event]) -> float:
    """Seconds during which at least one of the events ran (the union of their intervals)."""
    times = np.array(sorted((event.start_ps, event.end_ps) for event in events), np.int64).reshape(-1, 2)
    return step_parts.union(times[:, 0], times[:, 1]) * PS


def _is_of(event: Event, module: str) -> bool:
    """Whether a kernel belongs to a program.

    One that names no module does, unless it is a copy, which is the host's.
    """
    # MemcpyH2D of CUDA, say, or __amd_rocclr_copyBuffer.kd of ROCm
    is_copy = any(word in event.name.lower() for word in COPIES)
    return event.stats.get("hlo_module", "" if is_copy else module) == module

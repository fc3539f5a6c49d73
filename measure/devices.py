"""Identifies the device by its JAX name and its hardware-table rows, and reads its free memory.

Everything is read from the device object that JAX hands out, so JAX itself is not imported here.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

MEMINFO = Path("/proc/meminfo")
CPUINFO = Path("/proc/cpuinfo")
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
CGROUP = Path("/sys/fs/cgroup")
KIBI = 1024.0
M_TRIM_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX = -1, -4, -8  # parameters of glibc's mallopt, from malloc.h
NEVER = 2**31 - 1


@dataclass(frozen=True)
class TimedDevice:
    """The timed device and its software environment. Results are comparable only if these agree."""

    platform: str
    device_kind: str
    hardware_ids: tuple[str, ...]  # rows of the hardware table with this device_kind; CPUs share one
    n_devices: int
    n_processes: int
    cores_per_device: int
    coords: str
    host: str
    jax: str
    jaxlib: str
    runtime_version: str
    xla_flags: str
    libtpu_init_args: str


def describe(devices: Sequence[Any], kinds: Mapping[str, str | None]) -> TimedDevice:
    """The first of JAX's devices. `kinds` maps hardware_id to the jax_device_kind of the hardware table."""
    first = devices[0]
    client = getattr(first, "client", None)
    return TimedDevice(
        platform=str(first.platform),
        device_kind=str(first.device_kind),
        hardware_ids=matching(str(first.device_kind), kinds),
        n_devices=len(devices),
        n_processes=1 + max(int(getattr(device, "process_index", 0)) for device in devices),
        cores_per_device=int(getattr(first, "num_cores", None) or 1),
        coords=" ".join(str(axis) for axis in getattr(first, "coords", None) or ()),
        host=platform.node(),
        jax=_version("jax"),
        jaxlib=_version("jaxlib"),
        runtime_version=str(getattr(client, "platform_version", "")).partition("\n")[0],
        xla_flags=os.environ.get("XLA_FLAGS", ""),
        libtpu_init_args=os.environ.get("LIBTPU_INIT_ARGS", ""),
    )


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def matching(device_kind: str, kinds: Mapping[str, str | None]) -> tuple[str, ...]:
    """The hardware ids whose jax_device_kind equals this one, ignoring case.

    Never a prefix match: `TPU v5` is the v5p, and it is a prefix of `TPU v5 lite`, the v5e.
    """
    wanted = device_kind.strip().casefold()
    return tuple(key for key, kind in kinds.items() if kind and kind.strip().casefold() == wanted)


def free_memory(device: Any) -> float | None:
    """Bytes that arrays can still take on the device (for a CPU, on the host). None if unknown."""
    stats = getattr(device, "memory_stats", lambda: None)() or {}
    if "bytes_limit" in stats:
        return float(stats["bytes_limit"] - stats.get("bytes_in_use", 0))
    if device.platform == "cpu":
        return min((free for free in (_host_memory(), _group_memory()) if free is not None), default=None)
    return None


def _host_memory() -> float | None:
    """Available bytes of host memory. None if the system doesn't report it."""
    with suppress(OSError):
        for line in MEMINFO.read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024  # given in KiB
    return next(iter(_windows_memory()[1:]), None)


class _MemoryStatus(ctypes.Structure):
    """Windows' MEMORYSTATUSEX."""

    _fields_ = (
        ("length", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        *((name, ctypes.c_uint64) for name in ("total", "free", "_page", "_page_free", "_own", "_own_free", "_more")),
    )


def _windows_memory() -> list[float]:
    """Total and available bytes of a Windows host's memory. Empty on other systems."""
    kernel = getattr(getattr(ctypes, "windll", None), "kernel32", None)
    status = _MemoryStatus(length=ctypes.sizeof(_MemoryStatus))
    if kernel is None or not kernel.GlobalMemoryStatusEx(ctypes.byref(status)):
        return []
    return [float(status.total), float(status.free)]


def _group_memory() -> float | None:
    """Bytes that a container may still take (cgroup v2), including page cache. None without a limit."""
    with suppress(OSError, ValueError):
        limit = float((CGROUP / "memory.max").read_text(encoding="utf-8"))  # `max` where there is none: a ValueError
        used = float((CGROUP / "memory.current").read_text(encoding="utf-8"))
        stat = dict(line.split() for line in (CGROUP / "memory.stat").read_text(encoding="utf-8").splitlines())
        return max(0.0, limit - used + float(stat.get("inactive_file", 0)))
    return None


@functools.cache
def keep_heap() -> bool:
    """Keep freed memory in one arena until `trim_heap`. Returns whether the C library supports it.

    An accelerator's allocator works like this. glibc returns freed blocks of 32 MiB and more to the system. XLA:CPU
    allocates its scratch memory at every call, so a program with much scratch would spend half of each call on page
    faults, but none in a loop inside one program.
    """
    if sys.platform != "linux" or platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return all([mallopt(M_MMAP_MAX, 0), mallopt(M_TRIM_THRESHOLD, NEVER), mallopt(M_ARENA_MAX, 1)])


def trim_heap() -> None:
    """Return free heap memory to the system, so that it counts as available for the next case."""
    if keep_heap():
        ctypes.CDLL(None).malloc_trim(0)


def memory(device: Any) -> float | None:
    """Bytes that arrays may take on an empty device (for a CPU, the host's memory). None if unknown."""
    limit = (getattr(device, "memory_stats", lambda: None)() or {}).get("bytes_limit")
    if limit is not None or device.platform != "cpu":
        return limit and float(limit)
    known = [float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))] if hasattr(os, "sysconf") else []
    known += _windows_memory()[:1]
    with suppress(OSError, ValueError):
        known.append(float((CGROUP / "memory.max").read_text(encoding="utf-8")))  # `max` where there is none
    return min(known, default=None)


def last_level_cache() -> float:
    """Size of the host's largest cache in bytes. 64 MiB if the system doesn't report it."""
    sizes = []
    for path in CACHES.glob("index*/size"):
        with suppress(OSError, ValueError):
            text = path.read_text(encoding="utf-8").strip()  # as 32768K
            sizes.append(float(text[:-1]) * KIBI ** (" KMG".index(text[-1])))
    return max(sizes, default=64 * KIBI**2)


def host_name() -> str:
    """The name of the host's processor and its number of cores, such as `AMD EPYC 7B12, 8 cores`."""
    name = platform.processor() or platform.machine()
    with suppress(OSError):
        heads = (line.partition(":") for line in CPUINFO.read_text(encoding="utf-8").splitlines())
        name = next((text.strip() for head, _, text in heads if head.strip() == "model name"), name)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{name}, {cores} cores"

"""A profile as a pod leaves it: a folder of a run with a trace of each host, four training steps of a small model.

The times are made up, near to those of a TPU v5p. A trace.json has no name of its device.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

STEPS, HOSTS = 4, 2
MODULES, OPERATIONS = 2, 3  # the threads of a device
MODULE = "jit_train_step(4711)"
WITHIN, BEHIND = 25_000.0, 5_000.0  # us without work in a step and behind it
LATER = (0.0, 900.0, -700.0, 400.0)  # us that each step took longer


class Kind(NamedTuple):
    """An operation: its name, category and HLO text, how often a step has it, and of each run us, FLOPs and bytes."""

    name: str
    category: str
    hlo: str
    runs: int
    time: float
    flops: float
    bytes: float


def _matmul(name: str, runs: int, tokens: int, inner: int, outer: int, time: float) -> Kind:
    shapes = f"bf16[{tokens},{inner}]{{1,0}} %x, bf16[{inner},{outer}]{{1,0}} %w"
    hlo = f"%{name} = bf16[{tokens},{outer}]{{1,0}} fusion({shapes}), kind=kOutput, calls=%matmul"
    size = 2.0 * (tokens * inner + inner * outer + tokens * outer)
    return Kind(name, "convolution fusion", hlo, runs, time, 2.0 * tokens * inner * outer, size)


KINDS = (
    _matmul("fusion.1", 288, 8192, 4096, 14336, 4300.0),
    _matmul("fusion.2", 192, 8192, 4096, 4096, 1400.0),
    _matmul("fusion.3", 3, 8192, 4096, 128256, 37_000.0),
    Kind("splash_mha.1", "custom-call", "%splash_mha.1 = bf16[1,32,8192,128]{3,2,1,0} custom-call("
         "bf16[1,32,8192,128]{3,2,1,0} %q, bf16[1,8,8192,128]{3,2,1,0} %k, bf16[1,8,8192,128]{3,2,1,0} %v), "
         'custom_call_target="tpu_custom_call"', 96, 2600.0, 0.0, 1.7e8),
    Kind("add_fusion.1", "loop fusion", "%add_fusion.1 = bf16[8192,4096]{1,0} fusion(bf16[8192,4096]{1,0} %a, "
         "bf16[8192,4096]{1,0} %b), kind=kLoop, calls=%add", 200, 110.0, 3.4e7, 2.0e8),
    Kind("all-gather.1", "all-gather", "%all-gather.1 = bf16[14336,4096]{1,0} all-gather(bf16[1792,4096]{1,0} %s), "
         "channel_id=1, replica_groups=[1,8]<=[8], dimensions={0}, use_global_device_ids=true",
         32, 4800.0, 0.0, 1.2e8),
)  # fmt: skip


def write(folder: Path, run: str = "2026_05_01_10_00_00") -> Path:
    """Write the profile below a folder, as TensorBoard lays it out; returns the folder."""
    place = folder / "plugins" / "profile" / run
    place.mkdir(parents=True)
    for host in range(HOSTS):
        data = json.dumps({"displayTimeUnit": "ns", "traceEvents": list(events(host))}).encode()
        (place / f"host-{host}.trace.json.gz").write_bytes(gzip.compress(data, mtime=0))
    return folder


def step_time(step: int) -> float:
    """The seconds of a step."""
    return (sum(kind.runs * kind.time for kind in KINDS) + LATER[step] + WITHIN) * 1e-6


def events(host: int) -> Iterator[dict[str, Any]]:
    """The events of a host's device: of a later host a us more is behind each step."""
    yield {"ph": "M", "pid": 3, "name": "process_name", "args": {"name": "/device:TPU:0"}}
    for thread, name in ((MODULES, "XLA Modules"), (OPERATIONS, "XLA Ops")):
        yield {"ph": "M", "pid": 3, "tid": thread, "name": "thread_name", "args": {"name": name}}
    at = 1000.0
    for step in range(STEPS):
        yield _event(MODULES, MODULE, at, step_time(step) * 1e6, {"run_id": str(step)})
        for kind in KINDS:
            at += WITHIN if kind is KINDS[-1] else 0.0
            told = {
                "hlo_category": kind.category, "long_name": kind.hlo, "model_flops": f"{kind.flops:.0f}",
                "bytes_accessed": f"{kind.bytes:.0f}", "raw_bytes_accessed": f"{kind.bytes:.0f}",
            }  # fmt: skip
            for number in range(kind.runs):
                longer = LATER[step] if kind is KINDS[0] and number == 0 else 0.0
                yield _event(OPERATIONS, kind.name, at, kind.time + longer, told)
                at += kind.time + longer
        at += BEHIND + host


def _event(thread: int, name: str, at: float, time: float, told: dict[str, str]) -> dict[str, Any]:
    clock = {"device_offset_ps": f"{at * 1e6:.0f}", "device_duration_ps": f"{time * 1e6:.0f}"}
    return {"ph": "X", "pid": 3, "tid": thread, "ts": at, "dur": time, "name": name, "args": told | clock}

"""A case, measured or not, as a record: the columns of measurements.csv with units and meanings."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

VERSION = 1
STATUSES = ("measured", "skipped", "failed", "interrupted")


def _column(unit: str, meaning: str, default: Any = "") -> Any:
    return field(default=default, metadata={"unit": unit, "meaning": meaning})


def _figure(unit: str, meaning: str) -> Any:
    return _column(unit, meaning, math.nan)


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One case, measured or not. A number that nobody knows is NaN, blank in the file; never 0."""

    schema: int = _column("1", "version of these columns", VERSION)
    run_id: str = _column("text", "one for each run of measure")
    timestamp: str = _column("text", "when the case was measured, UTC, ISO 8601")
    case_id: str = _column("text", "key of the row in the workbook")
    case_key: str = _column("text", "template|dtypes|parameters: finds the row without the workbook")
    source: str = _column("text", "microbench, xplane or manual", "manual")
    host: str = _column("text", "name of the machine")
    profile_path: str = _column("text", "folder of the profile, where kept")
    template: str = _column("text", "template of the case")
    inputs: str = _column("text", "inputs of the case, JSON")
    input_init: str = _column("text", "what the arrays held")
    platform: str = _column("text", "tpu, gpu or cpu")
    device_kind: str = _column("text", "as JAX says it, verbatim")
    hardware_id: str = _column("text", "row of the hardware table")
    n_devices: int = _column("1", "devices of this process", 0)
    n_processes: int = _column("1", "processes", 0)
    cores_per_device: int = _column("1", "2 on megacore TPUs", 0)
    mesh: str = _column("text", "axes and sizes that the case is spread over; blank is one device")
    coords: str = _column("text", "place in the torus")
    t_median: float = _figure("s", "median of the time that counts, by method")
    t_min: float = _figure("s", "its least sample")
    t_mean: float = _figure("s", "its mean; never used to derive anything")
    t_p90: float = _figure("s", "its 90th percentile")
    t_mad: float = _figure("s", "its median absolute deviation")
    ci95_low: float = _figure("s", "95 % interval of the median, from")
    ci95_high: float = _figure("s", "to")
    t_wall_call: float = _figure("s", "a call in a row of calls: median over bursts")
    t_dispatch: float = _figure("s", "median of a call that computes nothing")
    t_loop: float = _figure("s", "median of one iteration inside one program")
    t_device: float = _figure("s", "a run in the profile: median over runs, on a CPU over bursts")
    drift: float = _figure("1", "last quarter of the turns over the first")
    method: str = _column("text", "profiler, loop or wall: whose time counts")
    n_samples: int = _column("1", "samples of the time that counts", 0)
    n_inner: int = _column("1", "iterations of the loop", 0)
    compile_time: float = _figure("s", "ahead-of-time compilation, or what a compilation cache took")
    flops: float = _figure("FLOP", "of one run on one device, from the template")
    memory_bytes: float = _figure("byte", "of one run on one device, from the template")
    xla_flops: float = _figure("FLOP", "as XLA counts them")
    xla_bytes: float = _figure("byte", "as XLA counts them, fused or not")
    temp_bytes: float = _figure("byte", "scratch memory of the program")
    achieved_flops: float = _figure("FLOP/s", "flops over t_median")
    achieved_bandwidth: float = _figure("byte/s", "memory_bytes over t_median")
    status: str = _column("text", "measured, skipped, failed or interrupted", "measured")
    reason: str = _column("text", "why it was not measured")
    flags: str = _column("text", "guards that it fails, joined by a semicolon; blank is good")
    jax: str = _column("text", "version")
    jaxlib: str = _column("text", "version")
    runtime_version: str = _column("text", "of libtpu, CUDA or XLA:CPU")
    xla_flags: str = _column("text", "XLA_FLAGS")
    libtpu_init_args: str = _column("text", "LIBTPU_INIT_ARGS")

    @property
    def spread(self) -> float:
        """Median absolute deviation over median."""
        return self.t_mad / self.t_median

    @property
    def compiler_flags(self) -> str:
        """XLA_FLAGS and LIBTPU_INIT_ARGS on one line: under others it is another experiment."""
        return " ".join(f"{self.xla_flags} {self.libtpu_init_args}".split())

    @property
    def experiment(self) -> tuple[str, ...]:
        """What is timed where and how: of two rows of one experiment the later counts."""
        return self.case_key, self.hardware_id or self.device_kind, self.compiler_flags, self.mesh

    @property
    def is_trusted(self) -> bool:
        """Whether it may be used in a fit: measured, and no guard failed."""
        return self.status == "measured" and not self.flags


SCHEMA = {f.name: (f.metadata["unit"], f.metadata["meaning"]) for f in fields(Measurement)}
TYPES = {f.name: type(f.default) for f in fields(Measurement)}

"""The columns of measurements.csv with units and meanings, plausibility limits of their
values, and the key of a case.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any
from urllib.parse import quote, unquote

Inputs = Mapping[str, float | str | None]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)

VERSION = 1
STATUSES = ("measured", "skipped", "failed", "interrupted")
SHORTEST = 1e-12  # s: the resolution of profilers
LONGEST = 366 * 86400.0  # s
TOLERATED = 1.05  # a time shorter than the chip's lower bound by more than this factor is flagged above_peak
MOST = {"s": LONGEST, "1": 1e9, "FLOP/s": 1e19, "byte/s": 1e18}
"""Largest plausible value by unit: a year, a number of devices or samples, and rates of a hundred or ten wafers."""


def _column(unit: str, meaning: str, default: Any = "") -> Any:
    return field(default=default, metadata={"unit": unit, "meaning": meaning})


def _figure(unit: str, meaning: str) -> Any:
    return _column(unit, meaning, math.nan)


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One case, measured or not. An unknown number is NaN (blank in the file), never 0."""

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
    axis: str = _column("text", "axis of the mesh that the case lies along, several joined by a plus sign")
    group_size: int = _column("1", "devices of a group along it", 0)
    device_order: str = _column("text", "ids of the mesh's devices, in its order")
    coords: str = _column("text", "place in the torus; of a mesh's devices in its order, with semicolons between")
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
    bus_bandwidth: float = _figure("byte/s", "of a collective, as NCCL's tests count it")
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
        """XLA_FLAGS and LIBTPU_INIT_ARGS on one line; other flags make it another experiment."""
        return " ".join(f"{self.xla_flags} {self.libtpu_init_args}".split())

    def experiment(self, key_now: Callable[[str], str]) -> tuple[str, ...]:
        """The case, hardware, flags and mesh placement. Of two rows with the same experiment the later one counts.

        `key_now` normalises a case key, whatever version wrote it.
        """
        return key_now(self.case_key), self.hardware_id or self.device_kind, self.compiler_flags, *self.mesh_placement

    @property
    def mesh_placement(self) -> tuple[str, str, str]:
        """The mesh, the axis and the device order of the case; blank for one device."""
        return self.mesh, self.axis, self.device_order

    @property
    def is_trusted(self) -> bool:
        """Whether it may be used in a fit: measured, and no guard failed."""
        return self.status == "measured" and not self.flags


SCHEMA = {f.name: (f.metadata["unit"], f.metadata["meaning"]) for f in fields(Measurement)}
TYPES = {f.name: type(f.default) for f in fields(Measurement)}


EXPECTING = ("stack",)
"""Inputs that affect the prediction of a case but not what is run."""


def case_key(template: str, inputs: Inputs) -> str:
    """A case as text, such as `matmul|weight_dtype=bf16|tokens=2048`: dtypes first, groups sorted by name.

    Equal cases give equal keys, however their numbers were typed: 2048, 2048.0 and "2048" are the same.
    """
    run_inputs = {name: value for name, value in inputs.items() if name not in EXPECTING}
    known = {name: value for name, value in run_inputs.items() if value not in (None, "") and value == value}
    dtypes = {name for name in known if name.endswith("_dtype")}
    groups = (sorted(dtypes), sorted(known.keys() - dtypes))
    written = [",".join(f"{name}={_canonical(known[name])}" for name in group) for group in groups]
    return "|".join([template.lower(), *filter(None, written)])


def parse_key(key: str) -> tuple[str, dict[str, float | str | None]]:
    """The template and inputs of a key written by `case_key`. Raises ValueError for other text."""
    template, *groups = key.split("|")
    inputs: dict[str, float | str | None] = {}
    for piece in ",".join(groups).split(",") if groups else ():
        name, equals, text = piece.partition("=")
        if not (name and equals and text) or name in inputs:
            raise ValueError(f"{piece!r} is no input=value")
        inputs[name] = float(text) if _NUMBER.fullmatch(text) else unquote(text)
    if not re.fullmatch("[a-z][a-z0-9_]*", template):
        raise ValueError(f"{template!r} is no template")
    return template, inputs


def in_our_order(key: str) -> str:
    """A key with its inputs in `case_key`'s order. Text that isn't a key is returned as is."""
    try:
        template, inputs = parse_key(key)
    except ValueError:
        return key
    known = {name: value for name, value in inputs.items() if name not in EXPECTING}
    return case_key(template, inputs) if inputs and known == inputs else key


def inputs_json(inputs: Inputs) -> str:
    """Inputs as one line of JSON, sorted by name; N/A is null."""
    return json.dumps({name: _plain(inputs[name]) for name in sorted(inputs)}, allow_nan=False)


def _canonical(value: Any) -> str:
    if isinstance(value, str):
        text = value.strip()
        if not _NUMBER.fullmatch(text):
            return quote(text.lower(), safe=" ._-")
        value = text
    return in_digits(float(value))


def in_digits(number: float) -> str:
    """A number in full precision, whole numbers without an exponent."""
    return str(int(number)) if number.is_integer() else repr(number)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    number = float(value)
    if math.isnan(number):
        return None
    return int(number) if number.is_integer() else number


def time_fault(seconds: float) -> str:
    """Why these seconds can't be the duration of a run. Blank if they can."""
    if not seconds > 0:  # NaN too
        return f"{seconds:g} s is no time of a run: it needs a time above 0"
    if seconds < SHORTEST:
        return f"{seconds:g} s is less than any profiler counts, {SHORTEST:g} s"
    return f"{seconds:g} s is above a year" if seconds > LONGEST else ""


def work_fault(work: float, seconds: float, unit: str) -> str:
    """Why no device can do this work (FLOP or bytes) in so many seconds. Blank if one can or the work is unknown.

    `unit` is the unit of the rate: FLOP/s or byte/s.
    """
    return f"no device does {work:g} in {seconds:g} s" if work / seconds > MOST[unit] else ""

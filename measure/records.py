"""measurements.csv: one row for each measured case, in SI units, readable without the workbook or JAX.

The fields of `Measurement` are the columns, each with its unit and meaning: the one table of the schema.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from planner import csvfile, progress
from planner.errors import Place, UserError, nearest

REQUIRED = ("case_key", "hardware_id", "t_median")
VERSION = 1
FOUND_BY = ("case_id", "case_key", "template", "hardware_id", "status", "method")  # blanks around these don't count
AMOUNTS = ("t_mad", "flops", "memory_bytes")  # as counts they are never negative; a time by differences may be
STATUSES = ("measured", "skipped", "failed", "interrupted")
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "'")


def _column(unit: str, meaning: str, default: Any = "") -> Any:
    return field(default=default, metadata={"unit": unit, "meaning": meaning})


def _figure(unit: str, meaning: str) -> Any:
    return _column(unit, meaning, math.nan)


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One case, measured or not. A number that nobody knows is NaN, and blank in the file; never 0."""

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
        """XLA_FLAGS and LIBTPU_INIT_ARGS on one line: times under others are another experiment's."""
        return " ".join(f"{self.xla_flags} {self.libtpu_init_args}".split())

    @property
    def is_trusted(self) -> bool:
        """Whether it may be used in a fit: measured, and no guard failed."""
        return self.status == "measured" and not self.flags


SCHEMA = {f.name: (f.metadata["unit"], f.metadata["meaning"]) for f in fields(Measurement)}
_TYPES = {f.name: type(f.default) for f in fields(Measurement)}


def write_measurements(path: Path, rows: Iterable[Measurement]) -> None:
    """Write measurements.csv: UTF-8, every column, floats to the last digit; whole or not at all."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(SCHEMA)
    writer.writerows([_cell(getattr(row, name)) for name in SCHEMA] for row in rows)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text.getvalue(), encoding="utf-8", newline="")
        progress.replacing(path, temporary)
        temporary.replace(path)
    except OSError as error:
        raise UserError(f"can't be written: {error.strerror}", place=Place(path)) from None
    finally:
        temporary.unlink(missing_ok=True)


def read_measurements(path: Path) -> list[Measurement]:
    """The rows of a measurements.csv, ours or one typed by hand; columns may be left out but for `REQUIRED`.

    Raises UserError with the line and column of what can't be read.
    """
    return [row for _, row in numbered_measurements(path)]


def numbered_measurements(path: Path) -> list[tuple[int, Measurement]]:
    """The rows as `read_measurements` has them, each with its line."""
    sheet = csvfile.read(path, known=tuple(SCHEMA))
    unknown = [name for name in sheet.header if name not in SCHEMA]
    if not any(map(_is_converted, unknown)):  # of t_median_ms nobody is told to rename it
        csvfile.require(sheet.header, path, REQUIRED, tuple(SCHEMA))
    for name in sorted(unknown, key=_is_converted, reverse=True):
        what = f"unknown column {name!r}" if name else f"column {sheet.header.index(name) + 1} has no name"
        raise UserError(what, place=Place(path, 1), remedy=_meant(name) if name else "name it, or delete it")
    return [(line, _row(cells, path, line)) for line, cells in sheet.records()]


def _row(cells: Mapping[str, str], path: Path, line: int) -> Measurement:
    values: dict[str, Any] = {}
    for name, text in cells.items():
        if text and not text.isspace():
            try:
                values[name] = _value(name, text)
            except UserError as error:
                raise UserError(error.what, place=Place(path, line, name), remedy=error.remedy) from None
    return Measurement(**values)


def _is_converted(name: str) -> bool:
    """Whether an unknown column is a known one with something behind it, as a unit is."""
    return _beginning(name) is not None


def _beginning(name: str) -> str | None:
    """The known column whose name an unknown one begins with."""
    return next((known for known in sorted(SCHEMA, key=len, reverse=True) if name.startswith(known)), None)


def _meant(name: str) -> str:
    """What to do about an unknown column: a known one with a unit behind it is to be converted."""
    column = _beginning(name)
    if column is None:
        return nearest(name, SCHEMA)
    return f"did you mean {column}? it is in {SCHEMA[column][0]}: convert it if need be, and name it {column}"


def _cell(value: str | float) -> str:
    """A value as it stands in the file; text that a spreadsheet would take for a formula is quoted."""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA_STARTS) else value
    return "" if math.isnan(value) else repr(value)


def _value(name: str, text: str) -> str | float:
    """A cell's text as its column's type: the inverse of `_cell`."""
    kind = _TYPES[name]
    if kind is str:
        text = (text.strip() if name in FOUND_BY else text).removeprefix("'")
        if name == "status" and text not in STATUSES:
            raise UserError(f"unknown status {text!r}", remedy=nearest(text, STATUSES))
        return text
    try:
        number = float(text) if text.isascii() and "_" not in text else math.nan  # Python reads 1_000, nobody else
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or (kind is int and not number.is_integer()):
        wanted = "a whole number" if kind is int else "a number"
        raise UserError(f"{text!r} is not {wanted}", remedy="write it with digits and a point")
    if number < 0 and (kind is int or name in AMOUNTS):
        raise UserError(f"{text!r} is negative", remedy="write 0 or more, or leave it blank")
    if name == "schema" and number != VERSION:
        raise UserError(f"the columns are of version {number:g}, not {VERSION}", remedy="use the planner that wrote it")
    return int(number) if kind is int else number

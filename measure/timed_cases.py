"""Measures cases one by one. Each yields a row, whether or not it succeeds; Ctrl-C keeps the rows so far."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from planner import processes
from planner import progress as screen
from planner.errors import UserError
from planner.measure import cases, clock, devices, interrupts, sharded, spread
from planner.measure.mesh import MeshSpec
from planner.measure.records import MOST, Inputs, Measurement, case_key, inputs_json, time_fault, work_fault
from planner.measure.timing import STANDARD, Rules, Timing
from planner.measure.workload import INPUT_INIT, CaseSkipped, Workload, check_fits

PREFIXES = {12: "T", 9: "G", 6: "M", 3: "k", 0: "", -3: "m", -6: "u", -9: "n"}
UNSUPPORTED = ("RESOURCE_EXHAUSTED", "UNIMPLEMENTED", "unsupported", "not supported", "not implemented")


@dataclass(frozen=True)
class Case:
    """A workbook row to measure. Its numbers are predictions, NaN if unknown."""

    key: str  # key of its row in the workbook
    template: str
    inputs: Inputs
    label: str = ""  # its name for a person
    hardware_id: str = ""  # if given, measured only on this hardware
    floor_s: float = math.nan  # the lower bound of its time
    flops: float = math.nan  # on one device
    memory_bytes: float = math.nan  # on one device
    bus_bytes: float = math.nan  # bytes counted by a collective's bus bandwidth
    axis: str = ""  # its mesh axis; blank for any that fits
    skip: str = ""  # if given, the reason not to measure it


def measure_cases(
    cases: Sequence[Case],
    *,
    kinds: Mapping[str, str | None],
    progress: Callable[[str], None] | None = None,
    budget_s: float = math.inf,
    rules: Rules = STANDARD,
    profiles_to: Path | None = None,
    mesh: MeshSpec | None = None,
    late: Callable[[Case], str] | None = None,
) -> Iterator[Measurement]:
    """Measure each case on this process's first device or over a mesh, and yield its row, in order.

    `kinds` maps hardware_id to jax_device_kind. `progress` receives one line per case. After `budget_s` seconds the
    remaining cases are skipped, and so is any case for which `late`, called before it begins, gives a reason why it
    can't finish in time. Profiles are kept under `profiles_to`. On Ctrl-C the current case is yielded as interrupted,
    and measuring ends. Raises UserError if JAX finds no device.
    """
    device = _device(kinds)
    common, now = replace(_common(device), **_of_mesh(mesh)), clock.agreed_clock()
    with interrupts.noted():
        for number, case in enumerate(cases, start=1):
            row = replace(common, **_identity(case, device.hardware_ids), **_place(case, mesh))
            at = f"{number}/{len(cases)} {case.label or row.case_key}"
            screen.step(at)
            if now() > budget_s:
                row = replace(row, status="skipped", reason=f"the time budget of {budget_s:g} s is spent")
            elif why := late(case) if late else "":
                row = replace(row, status="skipped", reason=why)
            else:
                keep = profiles_to / f"case_{number}" if profiles_to else None
                row = replace(row, **_attempt(case, device, rules, keep, len(cases) - number, mesh))
            screen.clear()
            if progress:
                progress(f"{at}: {outcome(row)}")
            yield row
            if row.status == "interrupted":
                return


def outcome(row: Measurement) -> str:
    """One line on a case for a person: its time, rates and failed guards, or why it has no time."""
    if row.status != "measured":
        return f"{row.status}, {row.reason}"
    rates = [(row.achieved_flops, "FLOP/s"), (row.achieved_bandwidth, "B/s"), (row.bus_bandwidth, "B/s bus")]
    said = [f"{_scaled(row.t_median, 's')} by {row.method}", f"{row.n_samples} samples"]
    said += [_scaled(rate, unit) for rate, unit in rates if rate > 0]
    return ", ".join(said) + (f" [{row.flags.replace(';', '; ')}]" if row.flags else "")


def _scaled(value: float, unit: str) -> str:
    """A number with an SI prefix that leaves it between 1 and 1000: 0.0025 s is 2.5 ms."""
    exponent = next((each for each in PREFIXES if abs(value) >= 10.0**each), min(PREFIXES))
    return f"{value / 10.0**exponent:.4g} {PREFIXES[exponent]}{unit}"


def _attempt(
    case: Case, device: devices.TimedDevice, rules: Rules, keep: Path | None, left: int, mesh: MeshSpec | None
) -> dict[str, Any]:
    """The columns of a measured case, or its status and the reason if it wasn't measured. `left` cases remain."""
    try:
        interrupts.check()
        with processes.join().agreed():
            workload = _workload(case, device, mesh)
            timing = clock.time_workload(workload, rules, floor_s=case.floor_s, keep=keep)
            flat = clock.time_workload(workload.shallow, rules) if workload.shallow is not None else None
        columns = _columns(timing, case) if flat is None else _extrapolated(workload, timing, flat, case)
    except KeyboardInterrupt:
        return {"status": "interrupted", "reason": f"stopped by the user; {left} more not measured"}
    except CaseSkipped as skipped:
        return {"status": "skipped", "reason": skipped.reason}
    except NoTime as error:
        return {"status": "failed", "reason": str(error)}
    except Exception as error:  # a failing case must not stop the others; its row says what happened
        reason = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
        lacking = any(mark.lower() in str(error).lower() for mark in UNSUPPORTED)
        return {"status": "skipped" if lacking else "failed", "reason": reason}
    return columns | ({"profile_path": str(keep or "")} if flat is None else {})


def _workload(case: Case, device: devices.TimedDevice, mesh: MeshSpec | None) -> Workload:
    """The workload of a case. Raises CaseSkipped if it is for other hardware, needs a mesh, or is too large."""
    if case.skip:
        raise CaseSkipped(case.skip)
    if case.hardware_id and case.hardware_id not in device.hardware_ids:
        raise CaseSkipped(f"the row is for {case.hardware_id}, and this is {device.device_kind!r}")
    if case.template not in sharded.SPREAD:
        workload = cases.workload(case.template, case.inputs)
    elif mesh is None:
        raise CaseSkipped("it lies over several devices: give --mesh, such as --mesh tensor=4")
    else:
        workload = sharded.workload(case.template, case.inputs, mesh, case.axis)
    check_fits(clock.devices()[0], workload.array_bytes, "its arrays take")
    return workload


def _device(kinds: Mapping[str, str | None]) -> devices.TimedDevice:
    try:
        return devices.describe(clock.devices(), kinds)
    except RuntimeError as error:
        first = str(error).strip().partition("\n")[0]
        remedy = "check JAX_PLATFORMS and the driver"
        raise UserError(f"JAX finds no device: {first}", remedy=remedy) from None


def _of_mesh(mesh: MeshSpec | None) -> dict[str, Any]:
    """The columns shared by all rows of a mesh. Raises UserError if the devices don't fit it."""
    if mesh is None:
        return {}
    laid = spread.laid_out(mesh)
    coords = ";".join(" ".join(map(str, place)) for place in spread.coordinates(laid))
    return {
        "mesh": str(mesh),
        "device_order": spread.order(laid),
        "coords": coords,
        "n_processes": processes.join().count,
    }


def _place(case: Case, mesh: MeshSpec | None) -> dict[str, Any]:
    """The mesh axis of a case and its group size; all axes for a transformer step."""
    if mesh is None or case.template not in sharded.SPREAD:
        return {}
    axis = sharded.axis_of(case.template, case.inputs, mesh, case.axis)
    return {"axis": axis, "group_size": mesh.ways(axis) if axis else 0}


def _common(device: devices.TimedDevice) -> Measurement:
    """The columns shared by all rows of this run."""
    facts = {name: value for name, value in asdict(device).items() if name != "hardware_ids"}
    run_id = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:6]}"
    return Measurement(run_id=run_id, source="microbench", input_init=INPUT_INIT, **facts)


def _identity(case: Case, hardware_ids: Sequence[str]) -> dict[str, Any]:
    """The columns that identify a case. CPUs share a device_kind, so the row names the hardware."""
    only = hardware_ids[0] if len(hardware_ids) == 1 else ""
    return {
        "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
        "case_id": case.key,
        "case_key": case_key(case.template, case.inputs),
        "template": case.template,
        "inputs": inputs_json(case.inputs),
        "hardware_id": case.hardware_id or only,
        "flops": case.flops,
        "memory_bytes": case.memory_bytes,
    }


class NoTime(Exception):  # noqa: N818  a case, as CaseSkipped is, and no error of the program
    """A timing that can't be true for the case; the message says why."""


def _extrapolated(workload: Workload, deep: Timing, flat: Timing, case: Case) -> dict[str, Any]:
    """The columns of a case of which only a few layers were run; each further layer is taken to cost the same.

    Raises NoTime as `_columns` does, and if the layers take no time.
    """
    columns = _columns(deep, case)
    layer = (deep.primary.median - flat.primary.median) / (workload.timed_layers - 1)
    if layer <= 0:
        raise NoTime(f"{workload.timed_layers} layers took no longer than one: too noisy to extrapolate from")
    factor = (flat.primary.median + (workload.n_layers - 1) * layer) / deep.primary.median
    _refuse(deep.primary.median * factor, case)
    scaled = {name: value * factor for name, value in columns.items() if name.startswith(("t_", "ci95"))}
    scaled["t_dispatch"] = columns["t_dispatch"]
    for name in ("xla_flops", "xla_bytes"):
        one, all_timed = getattr(flat, name), getattr(deep, name)
        scaled[name] = one + (workload.n_layers - 1) * (all_timed - one) / (workload.timed_layers - 1)
    work = {name: columns[name] / factor for name in ("achieved_flops", "achieved_bandwidth", "bus_bandwidth")}
    label = f"{columns['method']}, extrapolated from {workload.timed_layers} of {workload.n_layers} layers"
    flags = dict.fromkeys(flag for timing in (deep, flat) for flag in timing.flags if flag != "above_peak")
    return columns | scaled | work | {"method": label, "flags": ";".join(flags)}


def _refuse(seconds: float, case: Case) -> None:
    """Raise NoTime for a time that is too short for the case's work on any device."""
    work = ((case.flops, "FLOP/s"), (case.memory_bytes, "byte/s"), (case.bus_bytes, "byte/s"))
    faults = (time_fault(seconds), *(work_fault(amount, seconds, unit) for amount, unit in work if seconds > 0))
    if why := next(filter(None, faults), ""):
        raise NoTime(f"what was timed is no time of it: {why}")


def _known(number: float, most: float = math.inf) -> float:
    """The number if it is above 0 and at most `most`, otherwise NaN."""
    return number if 0 < number <= most else math.nan


def _columns(timing: Timing, case: Case) -> dict[str, Any]:
    """The timing's columns in seconds; achieved rates are the template's work over the median.

    Raises NoTime for a median that no run of the case can take.
    """
    primary, loop, device = timing.primary, timing.loop, timing.device
    _refuse(primary.median, case)
    return {
        "t_median": primary.median,
        "t_min": primary.least,
        "t_mean": primary.mean,
        "t_p90": primary.p90,
        "t_mad": primary.mad,
        "ci95_low": primary.ci_low,
        "ci95_high": primary.ci_high,
        "t_wall_call": _known(timing.wall.median),
        "t_dispatch": timing.dispatch_s,
        "t_loop": loop.summary.median if loop else math.nan,
        "t_device": _known(device.median) if device else math.nan,
        "drift": _known(timing.drift, MOST["1"]),
        "method": timing.method,
        "n_samples": primary.n_samples,
        "n_inner": timing.n_inner,
        "compile_time": timing.compile_s,
        "xla_flops": timing.xla_flops,
        "xla_bytes": timing.xla_bytes,
        "temp_bytes": timing.temp_bytes,
        "achieved_flops": case.flops / primary.median,
        "achieved_bandwidth": case.memory_bytes / primary.median,
        "bus_bandwidth": _known(case.bus_bytes / primary.median),
        "flags": ";".join(timing.flags),
    }

"""Measure cases one by one: each yields a row, whatever becomes of it; Ctrl-C keeps the rest."""

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
    """A row to measure; its figures are predictions, NaN where unknown."""

    key: str  # of its row in the workbook
    template: str
    inputs: Inputs
    label: str = ""  # what a person calls it
    hardware_id: str = ""  # measured on this hardware alone, where given
    floor_s: float = math.nan  # the lower bound of its time
    flops: float = math.nan  # on one device
    memory_bytes: float = math.nan  # on one device
    bus_bytes: float = math.nan  # what a collective's bus bandwidth counts
    axis: str = ""  # of the mesh, where it lies; blank for any that fits
    skip: str = ""  # why not to measure it at all


def measure_cases(
    cases: Sequence[Case], *, kinds: Mapping[str, str | None], progress: Callable[[str], None] | None = None,
    budget_s: float = math.inf, rules: Rules = STANDARD, profiles_to: Path | None = None, mesh: MeshSpec | None = None,
    late: Callable[[Case], str] | None = None,
) -> Iterator[Measurement]:  # fmt: skip
    """Measure each case on this process's first device, or over a mesh, and yield its row, in order.

    `kinds` is hardware_id -> jax_device_kind; `progress` is told one line for each case; after
    `budget_s` seconds the rest is skipped, and any case of which `late`, asked before it begins,
    says why it can't end in time; profiles are kept below `profiles_to`. Ctrl-C yields the row
    that it hit as interrupted, and ends. Raises UserError where JAX finds no device.
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
    """What a person is told of a case: its time, rates and failed guards, or why it has no time."""
    if row.status != "measured":
        return f"{row.status}, {row.reason}"
    rates = [(row.achieved_flops, "FLOP/s"), (row.achieved_bandwidth, "B/s"), (row.bus_bandwidth, "B/s bus")]
    said = [f"{_scaled(row.t_median, 's')} by {row.method}", f"{row.n_samples} samples"]
    said += [_scaled(rate, unit) for rate, unit in rates if rate > 0]
    return ", ".join(said) + (f" [{row.flags.replace(';', '; ')}]" if row.flags else "")


def _scaled(value: float, unit: str) -> str:
    """A number with the prefix that leaves it between 1 and 1000: 0.0025 s is 2.5 ms."""
    exponent = next((each for each in PREFIXES if abs(value) >= 10.0**each), min(PREFIXES))
    return f"{value / 10.0**exponent:.4g} {PREFIXES[exponent]}{unit}"


def _attempt(
    case: Case, device: devices.TimedDevice, rules: Rules, keep: Path | None, left: int, mesh: MeshSpec | None
) -> dict[str, Any]:
    """The columns of a case that was measured, or its status and the reason why it was not; `left` cases follow."""
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
    except Exception as error:  # one bad case must not cost the others; its row says what happened
        reason = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
        lacking = any(mark.lower() in str(error).lower() for mark in UNSUPPORTED)
        return {"status": "skipped" if lacking else "failed", "reason": reason}
    return columns | ({"profile_path": str(keep or "")} if flat is None else {})


def _workload(case: Case, device: devices.TimedDevice, mesh: MeshSpec | None) -> Workload:
    """The workload of a case. Raises CaseSkipped: for other hardware, without its mesh, or too large for this."""
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
    """What all rows of a mesh have in common. Raises UserError where the devices don't fit it."""
    if mesh is None:
        return {}
    laid = spread.laid_out(mesh)
    coords = ";".join(" ".join(map(str, place)) for place in spread.coordinates(laid))
    return {
        "mesh": str(mesh), "device_order": spread.order(laid), "coords": coords, "n_processes": processes.join().count,
    }  # fmt: skip


def _place(case: Case, mesh: MeshSpec | None) -> dict[str, Any]:
    """The axis that a case lies along, and the devices of a group; of a step all axes."""
    if mesh is None or case.template not in sharded.SPREAD:
        return {}
    axis = sharded.axis_of(case.template, case.inputs, mesh, case.axis)
    return {"axis": axis, "group_size": mesh.ways(axis) if axis else 0}


def _common(device: devices.TimedDevice) -> Measurement:
    """What all rows of this run have in common."""
    facts = {name: value for name, value in asdict(device).items() if name != "hardware_ids"}
    run_id = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:6]}"
    return Measurement(run_id=run_id, source="microbench", input_init=INPUT_INIT, **facts)


def _identity(case: Case, hardware_ids: Sequence[str]) -> dict[str, Any]:
    """What tells a case from the others. CPUs share a device_kind: the row names their hardware."""
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
    """What a clock said of a case is no time of it; the message says why."""


def _extrapolated(workload: Workload, deep: Timing, flat: Timing, case: Case) -> dict[str, Any]:
    """The columns of a case of which a few layers were run: each further one takes what one took.

    Raises NoTime as `_columns` does, and where the layers take no time.
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
    """Raise NoTime for seconds that no run of the case can take on any device."""
    work = ((case.flops, "FLOP/s"), (case.memory_bytes, "byte/s"), (case.bus_bytes, "byte/s"))
    faults = (time_fault(seconds), *(work_fault(amount, seconds, unit) for amount, unit in work if seconds > 0))
    if why := next(filter(None, faults), ""):
        raise NoTime(f"what was timed is no time of it: {why}")


def _known(number: float, most: float = math.inf) -> float:
    """A number that is above 0 and at most `most` wherever it is known; NaN for another."""
    return number if 0 < number <= most else math.nan


def _columns(timing: Timing, case: Case) -> dict[str, Any]:
    """A timing as columns, in seconds; what was achieved is the template's work over the median.

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

"""Reads and checks a measurements.csv of unknown origin; an impossible row is refused with its line and column.

Inputs are checked against the rules of the case's template, and the numbers of a row against each other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from math import isclose, isfinite, isnan, nan
from pathlib import Path
from sys import float_info
from typing import NamedTuple

from planner.compare.case_keys import key_as_ours, without_set
from planner.dates import moment_of
from planner.errors import Place, UserError, closest, nearest
from planner.formulas import library
from planner.formulas.input_values import LARGEST, case_fault
from planner.measure.measurements_csv import numbered
from planner.measure.mesh import SEVERAL, MeshSpec, group_size
from planner.measure.records import (
    LONGEST,
    MOST,
    SCHEMA,
    SHORTEST,
    TYPES,
    Inputs,
    Measurement,
    case_key,
    inputs_json,
    parse_key,
    time_fault,
    work_fault,
)

ROUNDING = 1e-6  # numbers of one row agree to this
MAGNITUDE = 10.0  # within it a bus bandwidth may differ from the template's: conventions do, by less than 2
BUS_BYTES = "bus_bytes"
SI = "write seconds, FLOP/s and byte/s"
FLAGS = (
    "above_peak", "loop_elided", "noisy", "dispatch_bound", "drift", "few_samples", "collective_elided", "no_loop_time",
    "no_device_time", "unknown_device", "part_of_chip", "other_hardware", "other_chip_count", "no_steps",
)  # fmt: skip
DISAGREEING = re.compile(r"(loop/(?:wall|device))(=-?\d+(\.\d+)?)?")  # two times that should be alike, with their ratio
METHODS = ("profiler", "loop", "wall", "recorded")  # what is timed, before a comma
LIKE = 0.8  # how alike a word is to a flag or method that was meant
PLACES = re.compile(r"-?\d+( -?\d+)*(;-?\d+( -?\d+)*)*")  # coordinates, of several devices with semicolons between
WHOLE = 1e-3  # how near a group's size is to a whole number: a geometric mean of axes is written with some digits


class RowFault(NamedTuple):
    """Something impossible in a row: its column, what is wrong, and the remedy."""

    column: str
    what: str
    remedy: str


def checked_measurements(path: Path) -> list[Measurement]:
    """The rows of a measurements.csv, with case keys normalized.

    Raises UserError, with the line, for wrong columns or values, inputs that the template doesn't take, numbers that
    contradict each other (as after a conversion of units), or a key that doesn't match the row's template and inputs.
    """
    rows = [(line, _as_now(row)) for line, row in numbered(path)]
    if not rows:
        raise UserError("there are no rows below the header", place=Place(path), remedy="planner measure writes some")
    for line, row in rows:
        for fault in row_faults(row):
            raise UserError(fault.what, place=Place(path, line, fault.column), remedy=fault.remedy)
    return [row for _, row in rows]


def place_of(path: Path, key: str) -> Place:
    """Where the first row with a case key, as `checked_measurements` returns it, stands in its file."""
    lines = (line for line, row in numbered(path) if _as_now(row).case_key == key)
    return Place(path, next(lines, None), "case_key")


def _as_now(row: Measurement) -> Measurement:
    """The row with its case key and inputs as planner writes them now."""
    key, inputs = key_as_ours(row.case_key), row.inputs
    if key == row.case_key:
        return row
    with suppress(ValueError, AttributeError, TypeError, OverflowError, RecursionError):  # which a fault tells of
        inputs = inputs_json(without_set(row.template.lower(), json.loads(inputs)))
    return replace(row, case_key=key, case_id=key if row.case_id == row.case_key else row.case_id, inputs=inputs)


def number_fault(value: float, unit: str) -> str:
    """Why a number in a unit can't be a measurement; blank if it can."""
    if not (isfinite(value) and value >= float_info.min):  # below it a cell holds 0
        return "it is no measured number above 0"
    if unit == "s" and value < SHORTEST:
        return time_fault(value)
    most = LONGEST if unit == "s" else LARGEST
    return f"{value:g} is too large for {unit}: it is at most {most:g}" if value > most else ""


def row_faults(row: Measurement) -> Iterator[RowFault]:
    """The faults of a row."""
    if not row.case_key.strip():
        yield RowFault("case_key", "the key is empty", "every row names its case")
    if row.status == "measured":  # of any other nothing is used, and it may say why the case can't be run
        yield from _key_faults(row.case_key)
        yield from _case_faults(row)
    for column, most in _LIMITS.items():
        if abs(getattr(row, column)) > most:
            what = f"{getattr(row, column):g} is too large for {SCHEMA[column][0]}"
            yield RowFault(column, what, f"write at most {most:.0f}" if SCHEMA[column][0] in COUNTED else SI)
    for column in POSITIVE:
        if getattr(row, column) <= 0:
            yield RowFault(
                column, f"{getattr(row, column):g} is not above 0", "write what was measured, or leave it blank"
            )
    yield from _place_faults(row)
    yield from _flag_faults(row)
    yield from _method_faults(row)
    if row.status == "measured":
        yield from _unit_faults(row)


COUNTED = ("1", "s")  # units whose largest number is told
POSITIVE = ("t_wall_call", "t_device", "drift", "bus_bandwidth")
_LIMITS = {name: MOST.get(unit, LARGEST) for name, (unit, _) in SCHEMA.items() if TYPES[name] is not str}


@cache
def _case(key: str) -> tuple[str, Inputs]:
    """The template and inputs of a case key; both empty for a free text of an analyst's."""
    try:
        return parse_key(key)
    except ValueError:
        return "", {}


@cache
def _key_faults(key: str) -> tuple[RowFault, ...]:
    """The faults of the inputs in a case key."""
    template, inputs = _case(key)
    return tuple(_input_faults("case_key", template, inputs)) if inputs else ()


def _input_faults(column: str, template: str, inputs: Inputs) -> Iterator[RowFault]:
    """The faults of a case's inputs, reported for `column`."""
    if template not in library.names():
        yield RowFault(column, f"there is no template {template!r}", nearest(template, library.names()))
        return
    loaded = library.load(template)
    for name, value in inputs.items():
        row = loaded.by_name.get(name)
        if row is None or row.kind != "input":
            known = (each.name for each in loaded.of_kind("input"))
            yield RowFault(column, f"{template} has no input {name!r}", nearest(name, known))
        elif value is not None and (what := case_fault(row, value)):
            yield RowFault(column, f"{name}={value if isinstance(value, str) else f'{value:g}'}: {what}", _BY_HAND)


_BY_HAND = "write the case that was run, as planner measure --list shows cases"


def _case_faults(row: Measurement) -> Iterator[RowFault]:
    """A fault if the row's key isn't that of its template and inputs, where these are given."""
    template, (other, keyed) = row.template.lower(), _case(row.case_key)
    if template and not row.inputs and keyed and other != template:
        yield RowFault(
            "case_key", f"it is no key of the template beside it, {row.template}", "write the one that was run"
        )
    if not template or not row.inputs or row.inputs == "{}":
        return
    try:
        inputs = json.loads(row.inputs)
        own = case_key(template, inputs)
    except (ValueError, AttributeError, TypeError, OverflowError, RecursionError):  # of many brackets
        yield RowFault("inputs", "it is no JSON of inputs", 'write {"name": value, ...}, or leave it blank')
        return
    yield from _input_faults("inputs", template, inputs)
    if own != row.case_key:
        yield RowFault("case_key", "it is not the key of the template and inputs beside it", f"it would be {own}")


def _place_faults(row: Measurement) -> Iterator[RowFault]:
    """Faults of the timestamp, the coordinates and the mesh; blank cells have none."""
    if row.timestamp.strip() and moment_of(row.timestamp) is None:
        yield RowFault("timestamp", f"{row.timestamp!r} is no date", "write it as 2026-05-01T10:00:00+00:00")
    if row.coords.strip() and not PLACES.fullmatch(row.coords.strip()):
        yield RowFault(
            "coords", f"{row.coords!r} is no place in a torus", "write 0 1 2, of several devices 0 1 2;0 1 3"
        )
    mesh = None
    try:
        mesh = MeshSpec.parse(row.mesh) if row.mesh.strip() else None
    except UserError as error:
        yield RowFault("mesh", _bare(error), error.remedy)
    if mesh is not None:
        yield from _mesh_faults(row, mesh)
    elif not row.mesh.strip():
        for column in ("axis", "device_order"):
            if text := getattr(row, column).strip():
                yield RowFault(
                    column, f"{text!r} is of a mesh, and the row names none", "write the mesh: data=2,tensor=4"
                )
    yield from _group_faults(row, mesh)


def _bare(error: UserError) -> str:
    """What is wrong, without the command-line option that the parser's message begins with."""
    return error.what.partition(": ")[2] or error.what


def _mesh_faults(row: Measurement, mesh: MeshSpec) -> Iterator[RowFault]:
    """Faults of an axis that the mesh doesn't have, and of a device order that isn't a permutation of its devices."""
    for name in filter(None, row.axis.strip().split(SEVERAL)):
        if name not in mesh.names:
            yield RowFault("axis", f"{name!r} is no axis of the mesh {mesh}", nearest(name, mesh.names))
            return
    try:
        order = MeshSpec.parse(row.mesh, ",".join(row.device_order.replace(",", " ").split())).order
    except UserError as error:
        yield RowFault("device_order", _bare(error), "write ids as 0 1 3 2, each device once")
        return
    if order and len(order) != mesh.size:
        what = f"{len(order)} devices are named, and the mesh {mesh} has {mesh.size}"
        yield RowFault("device_order", what, "name each device of the mesh once")


def _group_faults(row: Measurement, mesh: MeshSpec | None) -> Iterator[RowFault]:
    """Faults of a group's size: less than 2, or different from that of its mesh axis or its case."""
    ways = mesh.ways(row.axis.strip()) if mesh and row.axis.strip() else 0
    if row.group_size and row.group_size != ways and ways:
        yield RowFault("group_size", f"{row.group_size} is not the size of the axis {row.axis}, {ways}", "write that")
    elif row.group_size == 1:
        yield RowFault("group_size", "a group of 1 device shares nothing", "leave it blank, or write at least 2")
    size = _of_case(row.case_key)
    if size is None:
        return
    if not isclose(size, round(size), rel_tol=WHOLE):
        yield RowFault("case_key", f"a group of {size:g} devices is none", "write the axis_size that was run")
    elif row.group_size and row.group_size != round(size):
        what = f"{row.group_size} is not the size of the case's group, {size:.0f}"
        yield RowFault("group_size", what, "write the group that was run")


def _of_case(key: str) -> float | None:
    """The group size, in devices, in a collective's key; None if the key has none."""
    _, inputs = _case(key)
    size, over = inputs.get("axis_size"), inputs.get("n_axes", 1.0)
    return group_size(size, over) if isinstance(size, float) and isinstance(over, float) else None


def _flag_faults(row: Measurement) -> Iterator[RowFault]:
    """Faults for words in `flags` that are misspelt flags, which no command would recognize.

    Any other word is the user's own flag: the row is shown, but no fit uses it.
    """
    for word in filter(None, (each.strip() for each in row.flags.split(";"))):
        if word in FLAGS or DISAGREEING.fullmatch(word):
            continue
        first = re.split("[=,]", word)[0].strip()
        if meant := closest(first, [*FLAGS, "loop/wall", "loop/device"], 1, LIKE):
            remedy = f"did you mean {meant[0]}? several are joined by a semicolon"
            yield RowFault("flags", f"unknown flag {word!r}", remedy)


def _method_faults(row: Measurement) -> Iterator[RowFault]:
    """A fault if the method is a misspelling of one of planner's, since its time would then not be checked.

    Others are allowed. Text after a comma says what the time is extrapolated from.
    """
    method = row.method.partition(",")[0].strip()
    if method not in METHODS and (meant := closest(method, METHODS, 1, LIKE)):
        yield RowFault("method", f"unknown method {method!r}", f"did you mean {meant[0]}?")


def _unit_faults(row: Measurement) -> Iterator[RowFault]:
    if isnan(row.t_median):
        yield RowFault("t_median", "a measured row needs a time above 0", "write seconds, or another status")
        return
    if what := time_fault(row.t_median):
        yield RowFault("t_median", what, "write seconds, or another status")
        return
    same = {"wall": row.t_wall_call, "loop": row.t_loop, "profiler": row.t_device}.get(row.method, row.t_median)
    if not _agree(same, row.t_median):
        yield RowFault("t_median", f"{row.t_median:g} is not the time by {row.method}, {same:g}", SI)
    for low, high in (("t_min", "t_p90"), ("ci95_low", "ci95_high")):
        if not _is_between(getattr(row, low), row.t_median, getattr(row, high)):
            yield RowFault("t_median", f"{row.t_median:g} is not between {low} and {high}", SI)
    if not _is_between(row.t_min, row.t_mean, nan):
        yield RowFault("t_mean", f"{row.t_mean:g} is below t_min", SI)
    for column in ("t_min", "ci95_low"):
        if getattr(row, column) < -row.t_median:
            what = f"{getattr(row, column):g} is below 0 by more than t_median, {row.t_median:g}"
            yield RowFault(column, what, "write what was measured, or leave it blank")
    if row.t_mad > row.t_median * (1 + ROUNDING) and not row.t_min < 0:  # of times above 0 it can't be
        yield RowFault("t_mad", f"{row.t_mad:g} is above t_median, {row.t_median:g}", SI)
    for column, name in (("achieved_flops", "flops"), ("achieved_bandwidth", "memory_bytes")):
        achieved, work = getattr(row, column), getattr(row, name)
        if not _agree(achieved, work / row.t_median):
            yield RowFault(column, f"{achieved:g} is not the work over t_median, {work / row.t_median:g}", SI)
        if what := work_fault(work, row.t_median, SCHEMA[column][0]):
            yield RowFault(name, what, "write FLOP, bytes and seconds")
    if not isnan(row.bus_bandwidth):
        yield from _bus_faults(row)


def _bus_faults(row: Measurement) -> Iterator[RowFault]:
    """A fault if the case has no bus bandwidth, or it isn't of the order of the case's bytes over its time."""
    known = _bus_bytes(row.case_key)
    if known is None:
        return
    if not known:
        yield RowFault("bus_bandwidth", "the case is no collective", "leave it blank")
    elif not 1 / MAGNITUDE < row.bus_bandwidth * row.t_median / known < MAGNITUDE:
        what = f"{row.bus_bandwidth:g} is not the case's bytes over t_median, some {known / row.t_median:.3g}"
        yield RowFault("bus_bandwidth", what, SI)


@cache
def _bus_bytes(key: str) -> float | None:
    """The bytes of a case that count for its bus bandwidth; 0 if it has none, None if that is unknown."""
    from planner.compare.prediction import predict  # here, for it loads numpy

    template, inputs = _case(key)
    try:
        if BUS_BYTES not in library.load(template).by_name:
            return 0.0
        found = predict(template, inputs, "").value(BUS_BYTES)
    except (ValueError, UserError):
        return None
    return found if isinstance(found, float) and found > 0 else None


def _is_between(low: float, number: float, high: float) -> bool:
    """Whether low <= number <= high, up to rounding; NaN counts as unknown and passes."""
    slack = ROUNDING * abs(number)
    return not (low > number + slack or high < number - slack)


def _agree(one: float, other: float) -> bool:
    """Whether two numbers are equal up to rounding; NaN counts as unknown and passes."""
    return isnan(one) or isnan(other) or isclose(one, other, rel_tol=ROUNDING)

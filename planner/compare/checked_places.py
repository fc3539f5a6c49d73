"""Where and when a row of a measurements.csv says that it was timed: the date, the mesh, its axis and its devices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from math import isclose
from typing import NamedTuple

from planner.dates import moment_of
from planner.errors import UserError, nearest
from planner.measure.mesh import SEVERAL, MeshSpec, group_size
from planner.measure.records import Measurement, parse_key

PLACES = re.compile(r"-?\d+( -?\d+)*(;-?\d+( -?\d+)*)*")  # coordinates, of several devices with semicolons between
WHOLE = 1e-3  # how near a group's size is to a whole number: a geometric mean of axes is written with some digits


class RowFault(NamedTuple):
    """What can't be right in a row: its column, what is wrong, and what to do."""

    column: str
    what: str
    remedy: str


def place_faults(row: Measurement) -> Iterator[RowFault]:
    """What can't be right about when and where a row was timed; nothing of what is blank."""
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
    """What is wrong, without the option of the command line that the same parser serves."""
    return error.what.partition(": ")[2] or error.what


def _mesh_faults(row: Measurement, mesh: MeshSpec) -> Iterator[RowFault]:
    """An axis that the mesh hasn't, and an order of other devices than its own."""
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
    """A group that is none, or of another size than its axis and its case say."""
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
    """The devices of the group that a collective's key names; None where it names none."""
    with suppress(ValueError):
        _, inputs = parse_key(key)
        size, over = inputs.get("axis_size"), inputs.get("n_axes", 1.0)
        if isinstance(size, float) and isinstance(over, float):
            return group_size(size, over)
    return None

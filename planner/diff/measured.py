"""The cells that one measurement fills, as one change: its time, and how that compares with the prediction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from planner.align.matched import Matched
from planner.diff.differences import InputChange
from planner.xlsx.address import coordinates
from planner.xlsx.cellvalue import is_number

TIME, RATIO = "measured_time", "time_ratio"
BESIDE = (
    "spread", "n_samples", "flags", "compiler_flags", "device", "mesh", "mesh_axis", "device_order", "method",
    "run_id", "measured_on", "measured_source",
)  # fmt: skip
"""The columns of Comparison that a measurement fills beside its time."""


class Measured(NamedTuple):
    """The change of a case's measured time, and the number of cells that changed with it."""

    time: InputChange
    beside: int


def ratios(side: Matched, changes: Iterable[InputChange]) -> dict[str, float]:
    """The measured time over the prediction, by the name of the changed cell, of the cases of a sheet."""
    found: dict[str, float] = {}
    for change in changes:
        sheet, _, ref = change.cell.rpartition("!")
        if sheet == side.sheet.name and change.name.endswith(f".{TIME}"):
            row = coordinates(ref)[0]
            at = next((column for column in side.sheet.filled.get(row, ()) if side.title(row, column) == RATIO), 0)
            if is_number(value := side.sheet.value(row, at)):
                found[change.name] = float(value)
    return found


def folded(changes: Iterable[InputChange]) -> Iterator[InputChange | Measured]:
    """The changes in order; those of a case whose measured time changed are one, in place of the time."""
    changes = list(changes)
    by_case: dict[str, dict[str, InputChange]] = {}
    for change in changes:
        case, _, column = change.name.rpartition(".")
        if column in (TIME, *BESIDE):
            by_case.setdefault(case, {})[column] = change
    measured: Mapping[str, dict[str, InputChange]] = {case: each for case, each in by_case.items() if TIME in each}
    for change in changes:
        case, _, column = change.name.rpartition(".")
        if case not in measured or column not in measured[case]:
            yield change
        elif column == TIME:
            yield Measured(change, len(measured[case]) - 1)

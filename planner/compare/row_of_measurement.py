"""Which row of a Comparison is that of a measurement, and what it types there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from math import isnan

from planner.catalog.checked_table import Ids
from planner.compare.case_keys import complete_key
from planner.compare.comparison_sheet import CaseRow, is_missing
from planner.dates import moment_of
from planner.measure.devices import matching
from planner.measure.records import TOLERATED, Measurement
from planner.xlsx.cellvalue import Value

OTHER_HARDWARE = "other_hardware"  # measured on another chip than the one that the row predicts
ABOVE_PEAK = "above_peak"  # faster than the chip's data sheet allows, by more than `TOLERATED`
RAN_AS = ("compiler_flags", "mesh", "mesh_axis", "device_order")  # columns of where and how a row's time was taken
_NEVER = datetime.min.replace(tzinfo=UTC)  # of a time whose moment isn't said
FLOOR = "lower_bound_time"  # the column of the least time that the chip allows
EXPECTED = "expected_time"  # the column of what current software reaches
FAR_SLOWER = 1000  # times the expected: that much slower is a time in ms or us, written as seconds


def latest(measured: Iterable[Measurement], skipped: list[tuple[str, str]]) -> list[Measurement]:
    """The measurements, of each experiment the last; `skipped` gets the keys of others, and why."""
    kept: dict[tuple[str, ...], Measurement] = {}
    for one in measured:
        experiment = one.experiment(complete_key)
        first = kept.get(experiment)
        if first is None:
            kept[experiment] = one
            continue
        older, newer = sorted(
            (first, one), key=lambda row: (row.status == "measured", moment_of(row.timestamp) or _NEVER)
        )
        kept[experiment] = newer
        skipped.append((older.case_key, f"measured again at {newer.timestamp or 'a later line'}"))
    return list(kept.values())


def row_of(measured: Measurement, called: Iterable[CaseRow]) -> CaseRow | None:
    """The row of a measurement among those of its case; None where each is of another chip, flags or mesh."""
    return min((row for row in called if _fits(row, measured)), key=lambda row: _distance(row, measured), default=None)


def _fits(row: CaseRow, measured: Measurement) -> bool:
    """Whether the row can be this measurement's: same chip, flags and mesh, where both are known."""
    chip = row.text("hardware_id")
    is_fresh = not row.text("compiler_flags") and is_missing(row.value("measured_time"))
    same_chip = not chip or not measured.hardware_id or is_chip(chip, measured.hardware_id)
    return same_chip and (is_fresh or tuple(map(row.text, RAN_AS)) == (measured.compiler_flags, *measured.lies))


def _distance(row: CaseRow, measured: Measurement) -> tuple[bool, bool, bool, int]:
    """How far a row that fits is from a measurement: the least is its own."""
    other_chip = not is_chip(row.text("hardware_id"), measured.hardware_id)
    return other_chip, keeps(row, measured), row.text("compiler_flags") != measured.compiler_flags, row.number


def is_chip(chip: str, other: str) -> bool:
    """Whether two ids are of one chip: as the formulas do, whatever their letters' case."""
    return chip.lower() == other.lower()


def called_so(said: str, kinds: Mapping[str, str]) -> tuple[str, ...]:
    """The ids of the chips that a driver or a person calls so: by the name that JAX has for each, else the id."""
    return matching(said, kinds) or tuple(filter(None, [Ids(kinds).meant(said)]))


def is_other(said: str, chip: str, kinds: Mapping[str, str]) -> bool:
    """Whether a device, called as its driver or as a person calls it, is another chip than `chip`.

    `kinds` has the name that JAX has for each known chip. A device that nobody knows is none of them.
    """
    named = called_so(said, kinds)
    return bool(chip and named) and not any(is_chip(chip, each) for each in named)


def keeps(row: CaseRow, measured: Measurement) -> bool:
    """Whether a row holds a time of a known chip, and the measurement would replace it by that of an unknown device."""
    chip = row.text("hardware_id")
    if not chip or measured.status != "measured" or is_missing(row.value("measured_time")):
        return False
    is_foreign = OTHER_HARDWARE in row.text("flags")  # what it holds isn't the chip's either
    is_known = is_chip(chip, measured.hardware_id) or row.text("device") == measured.device_kind != ""
    return not (is_foreign or is_known or row.value("measured_time") == measured.t_median)


def cells_of(row: CaseRow | None, measured: Measurement) -> dict[str, Value]:
    """What a measurement types into a row, or into a new one (None).

    Where a case was not measured, and never was, its flags say why.
    """
    if measured.status != "measured":
        unknown = row is None or is_missing(row.value("measured_time"))
        return {"flags": f"{measured.status}: {measured.reason}"} if unknown else {}
    chip, floor = (row.text("hardware_id"), row.number_in(FLOOR)) if row else ("", None)
    return {
        "measured_time": measured.t_median,
        "spread": None if isnan(measured.spread) else measured.spread,
        "n_samples": measured.n_samples or None,
        "flags": flags_of(measured, chip, floor),
        "compiler_flags": measured.compiler_flags or None,
        "device": measured.device_kind or None,
        "mesh": measured.mesh or None,
        "mesh_axis": measured.axis or None,
        "device_order": measured.device_order or None,
        "method": measured.method or None,
        "run_id": measured.run_id or None,
        "measured_on": measured.timestamp or None,
        "measured_source": _source(measured),
    }


def flags_of(measured: Measurement, chip: str, floor: float | None) -> str | None:
    """The guards that a time fails: its own, and those of a row that predicts `floor` s on `chip`."""
    flags = [flag.strip() for flag in measured.flags.split(";") if flag.strip()]
    if measured.source == "microbench" and chip and not is_chip(chip, measured.hardware_id):
        flags.append(OTHER_HARDWARE)
    elif floor is not None and measured.t_median * TOLERATED < floor and ABOVE_PEAK not in flags:
        flags.append(ABOVE_PEAK)
    return "; ".join(flags) or None


def is_far_slower(measured: Measurement, expected: float | None) -> bool:
    """Whether a time is so much longer than the expected one, in s, that it has another unit; None is not known."""
    return expected is not None and measured.t_median > FAR_SLOWER * expected


def jax_of(source: str) -> str:
    """The version of JAX that the text of a time's source names; blank where it names none."""
    found = _JAX.search(source)
    return found[1] if found else ""


_JAX = re.compile(r"\bJAX (\S+) on ")


def _source(measured: Measurement) -> str:
    """Where a time comes from, for a reader."""
    if measured.source == "manual":
        return "recorded by hand"
    where = f"JAX {measured.jax} on {measured.platform}" if measured.jax else measured.device_kind
    return f"planner measure, {where}" if measured.source == "microbench" else f"{measured.source}, {where}"

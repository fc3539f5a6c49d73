"""Which row of a Comparison a measurement belongs to, and what it writes there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from math import isnan

from planner.catalog import Table
from planner.catalog.checked_table import Ids
from planner.compare import likely_unit
from planner.compare.case_keys import complete_key
from planner.compare.comparison_sheet import CaseRow, is_missing
from planner.dates import moment_of
from planner.measure.devices import matching
from planner.measure.records import TOLERATED, Measurement
from planner.xlsx.cellvalue import Value

OTHER_HARDWARE = "other_hardware"  # measured on another chip than the one that the row predicts
ABOVE_PEAK = "above_peak"  # faster than the chip's data sheet allows, by more than `TOLERATED`
RAN_AS = ("compiler_flags", "mesh", "mesh_axis", "device_order")  # columns of where and how a row's time was taken
_NEVER = datetime.min.replace(tzinfo=UTC)  # in place of an unknown moment
FLOOR = "lower_bound_time"  # the column of the least time that the chip allows
EXPECTED = "expected_time"  # the column of what current software reaches
EXPLAINED = (OTHER_HARDWARE, "dispatch_bound")  # flags of times that may be far off in the right unit


def latest(measured: Iterable[Measurement], skipped: list[tuple[str, str]]) -> list[Measurement]:
    """The last measurement of each experiment; the key of each other one and the reason are appended to `skipped`."""
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
    """A measurement's row among the rows of its case; None if each is for another chip, flags or mesh."""
    return min((row for row in called if _fits(row, measured)), key=lambda row: _distance(row, measured), default=None)


def _fits(row: CaseRow, measured: Measurement) -> bool:
    """Whether the row may be this measurement's: equal chip, flags and mesh, where both are known."""
    chip = row.text("hardware_id")
    is_fresh = not row.text("compiler_flags") and is_missing(row.value("measured_time"))
    same_chip = not chip or not measured.hardware_id or is_chip(chip, measured.hardware_id)
    return same_chip and (
        is_fresh or tuple(map(row.text, RAN_AS)) == (measured.compiler_flags, *measured.mesh_placement)
    )


def _distance(row: CaseRow, measured: Measurement) -> tuple[bool, bool, bool, int]:
    """The distance of a measurement from a row that fits; the row with the least is its own."""
    other_chip = not is_chip(row.text("hardware_id"), measured.hardware_id)
    return other_chip, keeps(row, measured), row.text("compiler_flags") != measured.compiler_flags, row.number


def is_chip(chip: str, other: str) -> bool:
    """Whether two chip ids are equal ignoring case, as formulas compare them."""
    return chip.lower() == other.lower()


def device_kinds(table: Table) -> dict[str, str]:
    """The JAX device kind of each chip in a hardware table; blank if it has none."""
    return {key: str(row["jax_device_kind"] or "") for key, row in table.rows.items()}


def called_so(said: str, kinds: Mapping[str, str]) -> tuple[str, ...]:
    """The ids of chips with this name: by their JAX device kind, else by id."""
    return matching(said, kinds) or tuple(filter(None, [Ids(kinds).meant(said)]))


def is_other(said: str, chip: str, kinds: Mapping[str, str]) -> bool:
    """Whether a device, as named by its driver or the user, is another chip than `chip`.

    `kinds` has the JAX device kind of each known chip. A text that is the beginning of some chips' names, such as A100,
    is one of these. An unknown device counts as no other chip.
    """
    word = said.strip().lower()
    begun = [each for each, kind in kinds.items() if each.lower().startswith(word) or kind.lower().startswith(word)]
    named = called_so(said, kinds) or begun
    return bool(chip and named) and not any(is_chip(chip, each) for each in named)


def keeps(row: CaseRow, measured: Measurement) -> bool:
    """Whether a row has a time on its known chip and the measurement, on an unknown device, must not replace it."""
    chip = row.text("hardware_id")
    if not chip or measured.status != "measured" or is_missing(row.value("measured_time")):
        return False
    is_foreign = OTHER_HARDWARE in row.text("flags")  # what it holds isn't the chip's either
    is_known = is_chip(chip, measured.hardware_id) or row.text("device") == measured.device_kind != ""
    return not (is_foreign or is_known or row.value("measured_time") == measured.t_median)


def cells_of(row: CaseRow | None, measured: Measurement) -> dict[str, Value]:
    """What a measurement writes into a row, or into a new one (None), by machine name.

    For a case that failed and has no earlier time, its flags say why.
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


def told_by(row: CaseRow, measured: Measurement, typed: Mapping[str, Value]) -> Mapping[str, Value]:
    """The cells `typed` that a measurement tells of. Where its time is the row's, what it leaves blank is kept.

    A CSV with times alone, backfilled once more, says neither that a run had no id nor that it was on another device.
    """
    if row.value("measured_time") != measured.t_median:
        return typed
    blank = {name for name, value in typed.items() if value is None and name != "flags"}
    if not (measured.hardware_id or measured.device_kind):
        blank |= {"flags", "measured_source"}
    return {name: value for name, value in typed.items() if name not in blank}


def flags_of(measured: Measurement, chip: str, floor: float | None) -> str | None:
    """The flags of a time: its own, and those from comparison with a row that predicts at least `floor` s on `chip`."""
    flags = [flag.strip() for flag in measured.flags.split(";") if flag.strip()]
    if measured.source == "microbench" and chip and not is_chip(chip, measured.hardware_id):
        flags.append(OTHER_HARDWARE)
    elif floor is not None and measured.t_median * TOLERATED < floor and ABOVE_PEAK not in flags:
        flags.append(ABOVE_PEAK)
    return "; ".join(flags) or None


def is_far_slower(measured: Measurement, expected: float | None, flags: str) -> bool:
    """Whether a time is so much longer than the expected one, in s, that its unit is likely wrong; None is unknown.

    It isn't if the `flags` of its row explain why.
    """
    is_explained = any(flag in flags for flag in EXPLAINED)
    return expected is not None and not is_explained and measured.t_median >= likely_unit.FAR * expected


def jax_of(source: str) -> str:
    """The JAX version in the text of a time's source; blank if it names none."""
    found = _JAX.search(source)
    return found[1] if found else ""


_JAX = re.compile(r"\bJAX (\S+) on ")


def _source(measured: Measurement) -> str:
    """The text for a time's source."""
    if measured.source == "manual":
        return "recorded by hand"
    where = f"JAX {measured.jax} on {measured.platform}" if measured.jax else measured.device_kind
    return f"planner measure, {where}" if measured.source == "microbench" else f"{measured.source}, {where}"

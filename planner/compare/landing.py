"""Which row of a Comparison each measurement belongs to, and what it types into that row's cells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan

from planner.compare.sheet import KEY, CaseRow, ComparisonSheet, is_missing
from planner.measure.records import Measurement
from planner.xlsx.cellvalue import Value, same_value

OTHER_HARDWARE = "other_hardware"  # measured on another chip than the one that the row predicts
ABOVE_PEAK = "above_peak"  # faster than the chip's data sheet allows, by more than `TOLERATED`
TOLERATED = 1.05  # as `measure` has it
FLOOR = "lower_bound_time"  # the column of the least time that the chip allows
WRITTEN = (
    "measured_time", "spread", "n_samples", "flags", "compiler_flags", "device", "mesh", "method", "run_id",
    "measured_on", "measured_source",
)  # fmt: skip
Cells = Mapping[str, Value]


@dataclass
class Landing:
    """Row number -> what is typed there; the measurements that have no row yet; those that are left out, and why."""

    values: dict[int, Cells] = field(default_factory=dict)
    homeless: list[Measurement] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    unchanged: int = 0
    other_hardware: list[tuple[str, str]] = field(default_factory=list)  # predicted for, timed on
    above_peak: list[str] = field(default_factory=list)  # the keys of those that are too fast to be true

    def put(self, sheet: ComparisonSheet, row: CaseRow, measured: Measurement) -> None:
        """Type a measurement into a row, but for what it holds already; a formula there is left."""
        if sheet.is_computed(row.number, "measured_time"):
            reason = f"row {row.number} of {sheet.name} holds a formula as its measured time"
            self.skipped.append((measured.case_key, reason))
            return
        typed = cells_of(row, measured)
        if OTHER_HARDWARE in str(typed.get("flags")):
            self.other_hardware.append((row.text("hardware_id"), measured.hardware_id or measured.device_kind))
        if ABOVE_PEAK in str(typed.get("flags")):
            self.above_peak.append(measured.case_key)
        cells = {
            name: value for name, value in typed.items()
            if name in sheet.columns and not same_value(row.cells.get(name), value, 0.0)
            and not sheet.is_computed(row.number, name)
        }  # fmt: skip
        if cells:
            self.values[row.number] = cells
        else:
            self.unchanged += 1


def land(sheet: ComparisonSheet, measured: Iterable[Measurement]) -> Landing:
    """Find the row of each measurement: by its key, and among those by its chip and its compiler flags.

    Of two of the same case the later one counts. One that was not measured has no say where there is a time.
    """
    landing = Landing()
    rows: dict[str, list[CaseRow]] = defaultdict(list)
    for row in sheet.rows:
        for key in row.keys:
            rows[key].append(row)
    taken: set[int] = set()
    for one in latest(measured, landing):
        called = rows.get(one.case_key) or rows.get(one.case_id) or []
        fitting = [row for row in called if row.number not in taken and _fits(row, one)]
        if fitting:
            best = min(fitting, key=lambda row: _distance(row, one))
            taken.add(best.number)
            landing.put(sheet, best, one)
        elif one.status == "measured":
            landing.homeless.append(one)
        if one.status != "measured":
            landing.skipped.append((one.case_key, f"{one.status}: {one.reason}"))
    return landing


def latest(measured: Iterable[Measurement], landing: Landing) -> Sequence[Measurement]:
    """The measurements, of each case on a chip under the same flags the last; the others are skipped."""
    kept: dict[tuple[str, ...], Measurement] = {}
    for one in measured:
        case = (one.case_key, one.hardware_id or one.device_kind, one.compiler_flags, one.mesh)
        first = kept.get(case)
        if first is None:
            kept[case] = one
            continue
        older, newer = sorted((first, one), key=lambda row: (row.status == "measured", row.timestamp))
        kept[case] = newer
        landing.skipped.append((older.case_key, f"measured again at {newer.timestamp or 'a later line'}"))
    return list(kept.values())


def _fits(row: CaseRow, measured: Measurement) -> bool:
    """Whether the row can be this measurement's: the same chip and compiler flags, where both are known."""
    chip, flags = row.text("hardware_id"), row.text("compiler_flags")
    is_fresh = not flags and is_missing(row.cells.get("measured_time"))
    same_chip = not chip or not measured.hardware_id or chip == measured.hardware_id
    return same_chip and (is_fresh or flags == measured.compiler_flags)


def _distance(row: CaseRow, measured: Measurement) -> tuple[bool, bool, int]:
    return (
        row.text("hardware_id") != measured.hardware_id,
        row.text("compiler_flags") != measured.compiler_flags,
        row.number,
    )


def cells_of(row: CaseRow, measured: Measurement) -> dict[str, Value]:
    """What a measurement types into a row; where a case was not measured, and never was, its flags say why."""
    if measured.status != "measured":
        unknown = is_missing(row.cells.get("measured_time"))
        return {"flags": f"{measured.status}: {measured.reason}"} if unknown else {}
    return {
        "measured_time": measured.t_median,
        "spread": None if isnan(measured.spread) else measured.spread,
        "n_samples": measured.n_samples or None,
        "flags": flags_of(measured, row.text("hardware_id"), row.number_in(FLOOR)),
        "compiler_flags": measured.compiler_flags or None,
        "device": measured.device_kind or None,
        "mesh": measured.mesh or None,
        "method": measured.method or None,
        "run_id": measured.run_id or None,
        "measured_on": measured.timestamp or None,
        "measured_source": source_of(measured),
    }


def flags_of(measured: Measurement, chip: str, floor: float | None) -> str | None:
    """The guards that a time fails: its own, and those of a row that predicts `floor` seconds at least on `chip`."""
    flags = [flag.strip() for flag in measured.flags.split(";") if flag.strip()]
    if measured.source == "microbench" and chip not in ("", measured.hardware_id):
        flags.append(OTHER_HARDWARE)
    elif floor is not None and measured.t_median * TOLERATED < floor and ABOVE_PEAK not in flags:
        flags.append(ABOVE_PEAK)
    return "; ".join(flags) or None


def too_fast(keys: Sequence[str]) -> str:
    """A line about times that no chip of their rows can reach; blank where there are none."""
    if not keys:
        return ""
    rows = "1 row is" if len(keys) == 1 else f"{len(keys):,} rows are"
    return (
        f"{rows} faster than the chip's peak FLOP/s and bandwidth allow, such as {keys[0]}: flagged {ABOVE_PEAK}; "
        "is the time in seconds, of one run, on that chip?"
    )


def source_of(measured: Measurement) -> str:
    """Where a time comes from, for a reader."""
    if measured.source == "manual":
        return "recorded by hand"
    where = f"JAX {measured.jax} on {measured.platform}" if measured.jax else measured.device_kind
    return f"planner measure, {where}" if measured.source == "microbench" else f"{measured.source}, {where}"


def identity_of(measured: Measurement) -> dict[str, Value]:
    """What names a row's case, for a row that is new."""
    return {KEY: measured.case_key, "template": measured.template, "hardware_id": measured.hardware_id or None}

"""A time that someone measured elsewhere, put into one row of a workbook's Comparison."""

from __future__ import annotations

from datetime import UTC, datetime
from math import isfinite
from pathlib import Path

from measure.records import Measurement
from planner.comparison import sheet as comparison
from planner.comparison.filling import write_values
from planner.comparison.landing import ABOVE_PEAK, cells_of, too_fast
from planner.comparison.sheet import NOTE, CaseRow, ComparisonSheet
from planner.errors import Place, UserError, nearest
from planner.xlsx.locked import locked
from planner.xlsx.opc import Package
from planner.xlsx.parts import parse_sheets

METHOD = "recorded"
ON_TRUST = "as its recorder says"  # the device of a row that names no chip


def record(path: Path, key: str, seconds: float, note: str | None = None) -> str:
    """Type a time in s into the row that `key` means, and say what follows from it.

    It stands as one sample, on the chip that the row predicts, of a run of its own.

    Raises UserError for a time that is none, and for a key that means no row, or several.
    """
    if not (isfinite(seconds) and seconds > 0):
        raise UserError(f"{seconds:g} s is no time", remedy="give seconds, above 0")
    with locked(path):
        package = Package.read(path)
        parsed = parse_sheets(package)
        sheet = comparison.find(package, parsed)
        row = _row(package.name, sheet, key)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        measured = Measurement(
            case_key=key, t_median=seconds, source="manual", method=METHOD, timestamp=now,
            run_id=f"{METHOD} {now}", device_kind=row.text("hardware_id") or ON_TRUST, n_samples=1,
        )  # fmt: skip
        cells = cells_of(row, measured) | ({NOTE: note} if note else {})
        write_values(package, parsed, sheet, {row.number: cells})
        package.write(path)
    line = too_fast([key] if ABOVE_PEAK in str(cells["flags"]) else [])
    return _outcome(package, row.number) + (f"\n  {line}" if line else "")


def _row(name: str, sheet: ComparisonSheet, key: str) -> CaseRow:
    """The one row whose key or label is this text, or else has it in it."""
    wanted = key.strip().lower()
    texts = {row.number: [text.lower() for text in (*row.keys, row.text("case_label"))] for row in sheet.rows}
    exact = [row for row in sheet.rows if wanted in texts[row.number]]
    found = exact or [row for row in sheet.rows if any(wanted in text for text in texts[row.number])]
    place = Place(name, cell=sheet.name)
    if not found:
        known = [text for row in sheet.rows for text in (*row.keys, row.text("case_label")) if text]
        raise UserError(f"no row is called {key!r}", place=place, remedy=nearest(key, known))
    if len(found) > 1:
        shown = ", ".join(f"{row.number} ({row.text('case_label') or min(row.keys)})" for row in found[:4])
        raise UserError(f"{key!r} means {len(found)} rows", place=place, remedy=f"say more: rows {shown}")
    return found[0]


def _outcome(package: Package, number: int) -> str:
    row = next(row for row in comparison.find(package).rows if row.number == number)
    time, ratio, mfu = (row.number_in(name) for name in ("measured_time", "time_ratio", "mfu"))
    line = f"row {number} ({row.text('case_label')}) took {time:g} s"
    line += f", {ratio:.3g} times the prediction" if ratio is not None else ""
    return line + (f", MFU {mfu:.1%}" if mfu is not None else "")

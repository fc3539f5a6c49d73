"""Writes a time that the user measured elsewhere into one row of a workbook's Comparison."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from planner import progress
from planner.catalog.checked_table import Ids
from planner.compare import likely_unit
from planner.compare.appended_rows import predicted_again
from planner.compare.comparison_cases import is_meant, refuse_blank
from planner.compare.comparison_sheet import NOTE, CaseRow, ComparisonSheet, find
from planner.compare.landing import Landing, land
from planner.compare.measuring import kinds_on
from planner.compare.row_of_measurement import cells_of, is_chip, is_other
from planner.errors import Place, UserError, nearest
from planner.measure.records import LONGEST, Measurement, time_fault
from planner.number_text import DIGITS, PERCENT, shown, spoken
from planner.typed_numbers import read
from planner.xlsx.workbook_part import parse_sheets

METHOD = "recorded"
ON_TRUST = "as its recorder says"  # the device of a row that names no chip
_ROW = re.compile(r"(?:row\s*)?([0-9]+)", re.IGNORECASE)


def seconds_of(text: str) -> float:
    """A typed time in s: `0.003`, `3ms`, `250 us`. Raises UserError for another text."""
    try:
        return read(text, "s")
    except UserError as error:
        raise UserError(f"{text!r} is no time: {error.what}", remedy="write seconds, as 0.003, or 3ms, 250us") from None


def record(path: Path, key: str, time: str, note: str | None = None, chip: str = "", device: str = "") -> str:
    """Type a time, as the user wrote it, into the row that `key` selects; returns a line with the outcome.

    The key is a label, a key or a part of one, or the row's number; `chip` chooses among rows on several. The time
    counts as one sample of a run of its own, on the chip that the row predicts; `device` is the recorder's name for
    that chip.

    Raises UserError for an impossible time, for a key that selects no or several rows, and for a device of another
    chip.
    """
    seconds = seconds_of(time)
    if what := time_fault(seconds):
        raise UserError(f"no case takes it: {what}", remedy=f"give seconds, above 0 and at most {LONGEST:.0f}")
    refuse_blank(key)
    numbers: list[int] = []

    def choose(landing: Landing) -> None:
        place = Place(landing.package.name, sheet=landing.sheet.name)
        row = _row(place, landing.sheet, key, chip)
        own = row.text("hardware_id")
        if device and is_other(device, own, kinds_on(landing.sheet, parse_sheets(landing.package))):
            what = f"row {row.number} is of {own}, and {device} is said to have run it"
            raise UserError(what, place=place, remedy="name a row of that chip")
        measured = _recorded(key, seconds, device or own)
        again = predicted_again(landing.sheet, row, measured)
        typed = again | cells_of(row, measured) | ({NOTE: note} if note else {})
        landing.type(row, measured, typed, over_formulas=True)
        numbers.append(row.number)

    landing = land(path, choose)
    row = next(row for row in find(landing.package).rows if row.number == numbers[0])
    if doubted := likely_unit.doubt(time, "s", row.number_in("time_ratio")):
        progress.warn(doubted)
    return "\n  ".join([_outcome(row), *filter(None, [landing.too_fast()])])


def _recorded(key: str, seconds: float, device: str) -> Measurement:
    """The Measurement of a recorded time."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Measurement(
        case_key=key,
        t_median=seconds,
        source="manual",
        method=METHOD,
        timestamp=now,
        run_id=f"{METHOD} {now}",
        device_kind=device or ON_TRUST,
        n_samples=1,
    )


def _row(place: Place, sheet: ComparisonSheet, key: str, chip: str) -> CaseRow:
    """The one row that `key` and `chip` select. Raises UserError for none or several."""
    found = _called(sheet, key)
    if not found:
        known = [row.text("case_label") or text for row in sheet.rows for text in row.keys]
        raise UserError(f"no row is called {key!r}", place=place, remedy=nearest(key, known))
    on = {row.number: row.text("hardware_id") for row in found}
    if chip:
        meant = Ids(set(on.values()) - {""}).meant(chip)
        found = [row for row in found if meant and is_chip(on[row.number], meant)]
        if not found:
            known_chips = ", ".join(sorted(set(filter(None, on.values())))) or "none"
            raise UserError(f"no row called {key!r} is on {chip}", place=place, remedy=f"its rows are on {known_chips}")
    if len(found) > 1:
        shown = ", ".join(_shown(row) for row in found[:4]) + (", ..." if len(found) > 4 else "")
        by_chip = "-H CHIP or " if len({on[row.number] for row in found}) > 1 else ""
        remedy = f"say more: rows {shown}; or choose by {by_chip}row: --case {found[0].number}"
        raise UserError(f"{key!r} means {len(found)} rows", place=place, remedy=remedy)
    return found[0]


def _called(sheet: ComparisonSheet, key: str) -> list[CaseRow]:
    """The rows that a text selects: by a whole key or label, else by row number, else by part of a label or key."""
    wanted, number = key.strip().lower(), _ROW.fullmatch(key.strip())
    exact = [row for row in sheet.rows if wanted in [text.lower() for text in (*row.keys, row.text("case_label"))]]
    numbered = [row for row in sheet.rows if number and row.number == int(number[1])]
    meant = (row for row in sheet.rows if is_meant(key, row.text("case_label"), row.keys))
    return exact or numbered or list(meant)


def _shown(row: CaseRow) -> str:
    chip = row.text("hardware_id")
    return f"{row.number} ({row.text('case_label') or min(row.keys)})" + (f" on {chip}" if chip else "")


def _outcome(row: CaseRow) -> str:
    """A line with the results of the row of a recorded time."""
    time, ratio, mfu = (row.number_in(name) for name in ("measured_time", "time_ratio", "mfu"))
    line = f"row {row.number} ({row.text('case_label')}) took {spoken(time, 's')}"
    line += f", {shown(ratio, '1', DIGITS)} times the prediction" if ratio is not None else ""
    return line + (f", MFU {spoken(mfu, PERCENT)}" if mfu is not None else "")

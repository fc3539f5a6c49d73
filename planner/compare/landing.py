"""Writes measurements into the Comparison of a workbook on disk: one read, one edit, one write.

`land` is the only entry point. Its caller decides which row a measurement belongs to: `backfill` finds it by the case's
key, `planner measure` and `planner record` know it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path

from planner import garbage_collection
from planner.compare import likely_unit
from planner.compare.appended_rows import AppendedRows, appended, predicted_again, unknown_chips
from planner.compare.case_keys import complete_key
from planner.compare.comparison_cases import case_in_words
from planner.compare.comparison_sheet import CaseRow, ComparisonSheet, find, find_to_time
from planner.compare.extended_ranges import (
    extend_charts,
    extend_names,
    extend_ranges,
    extend_tables,
    offer_templates,
    too_short,
)
from planner.compare.row_of_measurement import (
    ABOVE_PEAK,
    EXPECTED,
    FLOOR,
    OTHER_HARDWARE,
    cells_of,
    flags_of,
    is_far_slower,
    keeps,
    latest,
    row_of,
    told_by,
)
from planner.compare.runs_table import make_room
from planner.measure.records import Measurement, parse_key
from planner.recalc import Recalculated, edit
from planner.terminal_table import counted
from planner.xlsx.address import address
from planner.xlsx.atomic import locked
from planner.xlsx.cellvalue import Value, same_value
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import Content
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.workbook_part import parse_sheets


@dataclass
class Landing:
    """The effect of measurements on a Comparison: changed cells, new rows, and skipped measurements.

    `recalculated` is None if nothing had to change.
    """

    package: Package
    sheet: ComparisonSheet
    values: dict[int, Mapping[str, Value]] = field(default_factory=dict)  # row number -> name -> value
    failures: dict[int, Mapping[str, Value]] = field(default_factory=dict)  # of those not measured: their row's flags
    unplaced: list[Measurement] = field(default_factory=list)  # those that get new rows
    skipped: list[tuple[str, str]] = field(default_factory=list)  # keys, and why
    unchanged: int = 0
    other_hardware: list[tuple[str, str]] = field(default_factory=list)  # predicted for, timed on
    above_peak: list[tuple[str, str]] = field(default_factory=list)  # those too fast to be true: key, label if known
    far_slower: list[tuple[str, str]] = field(default_factory=list)  # those of another unit, it seems: the same
    timed: list[tuple[str, str]] = field(default_factory=list)  # templates and chips of rows whose times are landed
    unknown_chips: dict[str, str] = field(default_factory=dict)  # those of these that the workbook hasn't: a line each
    unpredicted: list[str] = field(default_factory=list)  # chips of new rows of values without a prediction
    left_alone: list[str] = field(default_factory=list)  # chips: the new times' device is unknown
    too_short: str = ""  # a line about a person's ranges that end above new rows
    recalculated: Recalculated | None = None

    def put(self, row: CaseRow | None, measured: Measurement) -> None:
        """Type a measurement into its row, or into a new one if `row` is None. Equal values and formulas are left."""
        if measured.status != "measured":
            self.skipped.append((measured.case_key, f"{measured.status}: {measured.reason}"))
            if row is not None and not self.sheet.is_computed(row.number, "measured_time"):
                self.failures |= self._changed(row, cells_of(row, measured), over_formulas=False)
        elif row is None:
            self.unplaced.append(measured)
        elif self.sheet.is_computed(row.number, "measured_time"):
            what = f"row {row.number} of {self.sheet.name} holds a formula as its measured time"
            self.skipped.append((measured.case_key, what))
        elif keeps(row, measured):
            self.left_alone.append(row.text("hardware_id"))
        else:
            chip = row.text("hardware_id")  # a row without one predicts nothing: the measured one is held to the list
            self.timed.append((row.text("template") if chip else "", chip or measured.hardware_id))
            typed = predicted_again(self.sheet, row, measured) | cells_of(row, measured)
            self.type(row, measured, told_by(row, measured, typed))

    def type(
        self, row: CaseRow, measured: Measurement, typed: Mapping[str, Value], *, over_formulas: bool = False
    ) -> None:
        """Type these cells of a measurement into its row, except those that are equal already."""
        flags = str(typed.get("flags"))
        if OTHER_HARDWARE in flags:
            pair = row.text("hardware_id"), measured.hardware_id or measured.device_kind
            self.other_hardware.append(pair)
        if ABOVE_PEAK in flags:
            self.above_peak.append((measured.case_key, row.text("case_label")))
        if is_far_slower(measured, row.number_in(EXPECTED), flags):
            self.far_slower.append((measured.case_key, row.text("case_label")))
        if new := self._changed(row, typed, over_formulas=over_formulas):
            self.values |= new
        else:
            self.unchanged += 1

    def _changed(
        self, row: CaseRow, typed: Mapping[str, Value], *, over_formulas: bool
    ) -> dict[int, Mapping[str, Value]]:
        """The cells of a row that change, under its number; empty if none does."""
        new = {
            name: value
            for name, value in typed.items()
            if name in self.sheet.columns
            and not same_value(row.value(name), value, 0.0)
            and (over_formulas or not self.sheet.is_computed(row.number, name))
        }
        return {row.number: new} if new else {}

    def lines(self) -> list[str]:
        """What was written, appended and skipped, as lines of text."""
        counts = {
            "updated": len(self.values),
            "appended": len(self.unplaced),
            "unchanged": self.unchanged,
            "skipped": len(self.skipped) + len(self.left_alone),
        }
        head = ", ".join(f"{count} {what}" for what, count in counts.items())
        head += f"; {self.recalculated.note}" if self.recalculated else "; nothing to write"
        new = [f"appended {case_in_words(one.case_key)}" for one in self.unplaced]
        skipped = [f"skipped {case_in_words(key)}: {reason}" for key, reason in self.skipped]
        return [head, *new, *skipped, *self.warnings()]

    def warnings(self) -> list[str]:
        """What to know before reading the ratios, such as which rows were timed on another chip than they predict."""
        pairs = [
            f"{count} {'row predicts' if count == 1 else 'rows predict'} {chip} and "
            f"{'was' if count == 1 else 'were'} timed on {here}: flagged {OTHER_HARDWARE}; "
            "change the Chip to compare like with like"
            for (chip, here), count in Counter(self.other_hardware).items()
        ]
        about_chips = [self._kept(), *self.unknown_chips.values(), *self._unformulated()]
        return [*filter(None, [*pairs, *about_chips, self.too_fast(), self._too_slow(), self.too_short])]

    def _kept(self) -> str:
        """A line about times that were kept because the new ones' device is unknown; blank if there are none."""
        if not self.left_alone:
            return ""
        chips = ", ".join(dict.fromkeys(self.left_alone))
        rows = _rows_that(len(self.left_alone), "holds a time", "hold times")
        return (
            f"{rows} of {chips} and the new one's device isn't known to be that: left alone; say the device by its "
            "hardware_id in the CSV (planner measure -H, planner ingest --device), or clear the measured times"
        )

    def _unformulated(self) -> Iterator[str]:
        """A line for each chip of the user's whose new rows are values without a prediction, if the workbook has it."""
        for chip, count in Counter(self.unpredicted).items():
            if chip not in self.unknown_chips:
                rows = _rows_that(count, "has", "have", "new row")
                yield f"{rows} no prediction for {chip}, a chip of your own: planner update brings their formulas"

    def too_fast(self) -> str:
        """A line about times below what the rows' chips allow; blank if there are none."""
        if not self.above_peak:
            return ""
        first, rows = case_in_words(*self.above_peak[0]), _rows_that(len(self.above_peak), "is", "are")
        return (
            f"{rows} faster than the chip's peak FLOP/s and bandwidth allow, such as {first}: "
            f"flagged {ABOVE_PEAK}; is the time in seconds, of one run, on that chip?"
        )

    def _too_slow(self) -> str:
        """A line about times that seem to be in another unit; blank if there are none."""
        if not self.far_slower:
            return ""
        first, rows = case_in_words(*self.far_slower[0]), _rows_that(len(self.far_slower), "takes", "take")
        times = f"{likely_unit.FAR:,.0f} times what is expected or more"
        return f"{rows} {times}, such as {first}: is the time in seconds, of one run?"


def _rows_that(count: int, does: str, do: str, noun: str = "row") -> str:
    """The subject of a sentence with its verb: `1 row is`, `2 rows are`."""
    return f"{counted(count, noun)} {does if count == 1 else do}"


def backfill(path: Path, measured: Sequence[Measurement]) -> Landing:
    """Write measurements into the rows of their cases, or into new rows below."""
    return land(path, lambda landing: put_by_key(landing, measured))


def land(path: Path, choose: Callable[[Landing], None]) -> Landing:
    """Write into the workbook at `path` what `choose` puts into a landing, and recalculate.

    A file that already has all of it stays byte for byte. Raises UserError as reading and writing do.
    """
    with locked(path), garbage_collection.paused():
        package = Package.read(path)
        landing = land_in(package, choose)
        if landing.recalculated:
            landing.sheet.xml.forget()  # to write takes memory too
            package.write(path)
    return landing


def land_in(package: Package, choose: Callable[[Landing], None]) -> Landing:
    """The same in a package, in place."""
    parsed = parse_sheets(package)
    landing = Landing(package, find_to_time(package, parsed))
    choose(landing)
    if make_room(package, landing.sheet, len(landing.unplaced)):
        parsed = parse_sheets(package)
        landing.sheet = find(package, parsed)
    if landing.values or landing.failures or landing.unplaced:
        landing.recalculated = _type(landing, parsed)
    new = [(parse_key(one.case_key)[0], one.hardware_id) for one in landing.unplaced]
    landing.unknown_chips = unknown_chips(landing.sheet, parsed, [*landing.timed, *new])
    return landing


def _type(landing: Landing, parsed: Mapping[str, SheetXml]) -> Recalculated:
    """Write a landing's cells and new rows into its package."""
    package, sheet = landing.package, landing.sheet
    new = appended(sheet, [(one, cells_of(None, one)) for one in landing.unplaced])
    contents: dict[str, Content] = {
        address(number, sheet.columns[name]): value
        for number, row in (landing.failures | landing.values).items()
        for name, value in row.items()
    }
    before = replace(package, parts=dict(package.parts))
    landing.unpredicted = new.unpredicted
    if new.measured:
        landing.too_short = too_short(package, sheet, parsed)
        extend_tables(package, sheet, new.measured)
        extend_names(package, sheet, new.measured)
        extend_charts(package, sheet, new.measured)
    flagged = partial(_flags_of_new, landing, new)
    done = edit(package, parsed, sheet.name, contents | new.contents, new.like, new.copies, before, flagged)
    if new.measured:
        extend_ranges(package, sheet, new.measured)
        offer_templates(package, sheet, landing.unplaced)
    return done


def _flags_of_new(landing: Landing, new: AppendedRows, value: Callable[[str], Content]) -> dict[str, Value]:
    """The flags of appended rows that are impossibly fast, by address. `value` gives a cell's recalculated value."""
    columns = landing.sheet.columns
    if not {FLOOR, "flags"} <= columns.keys():
        return {}
    found: dict[str, Value] = {}
    for number, one in new.measured.items():
        floor = value(address(number, columns[FLOOR]))
        flags = flags_of(one, "", floor if isinstance(floor, float) else None)
        expected = value(address(number, columns[EXPECTED])) if EXPECTED in columns else None
        if is_far_slower(one, expected if isinstance(expected, float) else None, flags or ""):
            landing.far_slower.append((one.case_key, ""))
        if flags and ABOVE_PEAK in flags:
            landing.above_peak.append((one.case_key, ""))
            found[address(number, columns["flags"])] = flags
    return found


def _by_key(rows: Iterable[CaseRow], written: Callable[[str], str]) -> Mapping[str, list[CaseRow]]:
    """The rows by each of their keys, mapped by `written`."""
    found: dict[str, list[CaseRow]] = defaultdict(list)
    for row in rows:
        for key in row.keys:
            found[written(key)].append(row)
    return found


def put_by_key(landing: Landing, measured: Iterable[Measurement]) -> None:
    """Put each measurement into its row, found by key, chip and compiler flags.

    A key that no row has is retried with the defaults of missing inputs, as newer templates add some. Of two
    measurements of one experiment the later counts; one that failed never replaces a time.
    """
    rows = _by_key(landing.sheet.rows, lambda key: key)
    complete = cache(lambda: _by_key(landing.sheet.rows, complete_key))
    taken: set[int] = set()
    for one in latest(measured, landing.skipped):
        called = rows.get(one.case_key) or rows.get(one.case_id) or complete().get(complete_key(one.case_key), [])
        best = row_of(one, [row for row in called if row.number not in taken])
        if best is not None:
            taken.add(best.number)
        landing.put(best, one)

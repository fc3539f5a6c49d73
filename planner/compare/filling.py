"""Measurements typed into a workbook on disk: one read, one edit, one write, and nobody else in between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from planner.collector import still
from planner.compare import chips, reach
from planner.compare import sheet as comparison
from planner.compare.appending import NewCells, appended
from planner.compare.landing import ABOVE_PEAK, FLOOR, OTHER_HARDWARE, WRITTEN, Cells, Landing, flags_of, land, too_fast
from planner.compare.sheet import ComparisonSheet
from planner.measure.records import Measurement
from planner.recalc import Recalculated, edit
from planner.xlsx.address import address
from planner.xlsx.cellvalue import Value
from planner.xlsx.locked import locked
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import Content
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.workbook_part import parse_sheets


@dataclass(frozen=True)
class Filled:
    """What became of the measurements; `recalculated` is None where nothing had to change."""

    landing: Landing
    recalculated: Recalculated | None
    caution: str = ""  # about rows that nothing reaches
    strangers: Sequence[str] = ()  # about chips of new rows that the workbook hasn't

    def lines(self) -> list[str]:
        """What was written, appended and skipped, for a person."""
        landing = self.landing
        counts = (len(landing.values), "updated"), (len(landing.homeless), "appended"), (landing.unchanged, "unchanged")
        line = ", ".join([*(f"{count} {what}" for count, what in counts), f"{len(landing.skipped)} skipped"])
        head = f"{line}; {self.recalculated.note}" if self.recalculated else f"{line}; nothing to write"
        new = [f"appended {one.case_key}" for one in landing.homeless]
        skipped = [f"skipped {key}: {reason}" for key, reason in landing.skipped]
        return [head, *new, *skipped, *self.warnings()]

    def warnings(self) -> list[str]:
        """What a person should know before reading the ratios: one line for each pair of chips that differ."""
        pairs = Counter(self.landing.other_hardware)
        return [
            f"{count} {'row predicts' if count == 1 else 'rows predict'} {chip} and {'was' if count == 1 else 'were'} "
            f"timed on {here}: flagged {OTHER_HARDWARE}; change the Chip to compare like with like"
            for (chip, here), count in pairs.items()
        ] + [line for line in (*self.strangers, too_fast(self.landing.above_peak), self.caution) if line]


def fill_file(path: Path, measured: Sequence[Measurement]) -> Filled:
    """Type measurements into the Comparison of the workbook at `path` and refresh what depends on them.

    A file in which all of it stands already keeps every byte. Raises UserError as reading and writing do.
    """
    with locked(path), still():
        package = Package.read(path)
        filled = fill(package, measured)
        if filled.recalculated is not None:
            package.write(path)
    return filled


def fill(package: Package, measured: Sequence[Measurement]) -> Filled:
    """Type measurements into the Comparison of a package, in place."""
    parsed = parse_sheets(package)
    sheet = comparison.find(package, parsed)
    sheet.load(WRITTEN)
    landing = land(sheet, measured)
    new = appended(sheet, landing.homeless) if landing.homeless else NewCells()
    if not (landing.values or new.rows):
        return Filled(landing, None)
    done = write_values(package, parsed, sheet, landing.values, new)
    landing.above_peak += new.above_peak
    return Filled(landing, done, reach.outside(sheet, new.rows), chips.unknown(sheet, parsed, new.measured.values()))


def write_values(
    package: Package, parsed: Mapping[str, SheetXml], sheet: ComparisonSheet, values: Mapping[int, Cells],
    new: NewCells | None = None,
) -> Recalculated:  # fmt: skip
    """Type values (row number -> machine name -> value) and new rows into a package's Comparison, and refresh."""
    contents: dict[str, Content] = {
        address(number, sheet.columns[name]): value
        for number, row in values.items() for name, value in row.items() if name in sheet.columns
    }  # fmt: skip
    new = new or NewCells()
    floors = partial(_flags, sheet, new)
    before = replace(package, parts=dict(package.parts))
    if new.rows:
        reach.extend_tables(package, sheet, new.rows)
        reach.extend_names(package, sheet, new.rows)
    done = edit(package, parsed, sheet.name, contents | new.contents, new.like, new.copies, before, floors)
    if new.rows:
        reach.extend_ranges(package, sheet, new.rows)
    return done


def _flags(sheet: ComparisonSheet, new: NewCells, value: Callable[[str], Value]) -> dict[str, Value]:
    """The flags of appended rows that are too fast to be true: by address, from what their formulas give."""
    if not {FLOOR, "flags"} <= sheet.columns.keys():
        return {}
    found: dict[str, Value] = {}
    for number, one in new.measured.items():
        floor = value(address(number, sheet.columns[FLOOR]))
        flags = flags_of(one, "", floor if isinstance(floor, float) else None)
        if flags and ABOVE_PEAK in flags:
            new.above_peak.append(one.case_key)
            found[address(number, sheet.columns["flags"])] = flags
    return found

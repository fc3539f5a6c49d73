"""Measurements typed into a workbook on disk: one read, one edit, one write, and nobody else in between."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from measure.records import Measurement
from planner.comparison import reach
from planner.comparison import sheet as comparison
from planner.comparison.appending import NewCells, appended
from planner.comparison.landing import OTHER_HARDWARE, Cells, Landing, land
from planner.comparison.sheet import ComparisonSheet
from planner.recalc import Recalculated, edit
from planner.xlsx.address import address
from planner.xlsx.locked import locked
from planner.xlsx.opc import Package
from planner.xlsx.parts import parse_sheets
from planner.xlsx.sheetxml import Content, SheetXml


@dataclass(frozen=True)
class Filled:
    """What became of the measurements; `recalculated` is None where nothing had to change."""

    landing: Landing
    recalculated: Recalculated | None
    caution: str = ""  # about rows that nothing reaches

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
        ] + [self.caution] * bool(self.caution)


def fill_file(path: Path, measured: Sequence[Measurement]) -> Filled:
    """Type measurements into the Comparison of the workbook at `path` and refresh what depends on them.

    A file in which all of it stands already keeps every byte. Raises UserError as reading and writing do.
    """
    with locked(path), _no_pauses():
        package = Package.read(path)
        filled = fill(package, measured)
        if filled.recalculated is not None:
            package.write(path)
    return filled


@contextmanager
def _no_pauses() -> Iterator[None]:
    """Without the collector of cycles: of the hundreds of thousands of objects that a large sheet makes none is one."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def fill(package: Package, measured: Sequence[Measurement]) -> Filled:
    """Type measurements into the Comparison of a package, in place."""
    parsed = parse_sheets(package)
    sheet = comparison.find(package, parsed)
    landing = land(sheet, measured)
    new = appended(sheet, landing.homeless) if landing.homeless else NewCells({}, {})
    if not (landing.values or new.contents):
        return Filled(landing, None)
    done = write_values(package, parsed, sheet, landing.values, new)
    return Filled(landing, done, reach.outside(sheet, new.rows))


def write_values(
    package: Package, parsed: Mapping[str, SheetXml], sheet: ComparisonSheet, values: Mapping[int, Cells],
    new: NewCells | None = None,
) -> Recalculated:  # fmt: skip
    """Type values (row number -> machine name -> value) and new rows into a package's Comparison, and refresh."""
    contents: dict[str, Content] = {
        address(number, sheet.columns[name]): value
        for number, row in values.items() for name, value in row.items() if name in sheet.columns
    }  # fmt: skip
    new = new or NewCells({}, {})
    if new.rows:
        reach.extend_tables(package, sheet, new.rows)
    done = edit(package, parsed, sheet.name, contents | new.contents, new.like)
    if new.rows:
        reach.extend_ranges(package, sheet, new.rows)
    return done

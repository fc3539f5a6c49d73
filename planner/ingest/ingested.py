"""A profile read, with its chip, peaks and cases, before it is printed or written into a workbook."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from planner.book.reading import read_plan
from planner.compare.prediction import hardware
from planner.errors import Place, UserError
from planner.ingest.cases import cases_of
from planner.ingest.device import chip_of
from planner.ingest.into_workbook import Ingested, the_scenario
from planner.ingest.peaks import peaks_of
from planner.profiles.reading import read


def ingested(paths: Sequence[Path], device: str, into: Path | None, scenario: str) -> Ingested:
    """The profile in files or folders, its chip, peaks and cases; `device` is what a person says the chip is.

    The workbook and the scenario that it is for are checked first: to read a profile can take minutes.
    Raises UserError as reading either does, and first for a profile that isn't there.
    """
    for path in paths:
        if not path.exists():
            raise UserError("there is no such file or folder", place=Place(path))
    table = hardware()
    if device:
        table.identify(device)
    if into is not None:
        the_scenario(read_plan(into), scenario)
    profile = read(*paths)
    chip = chip_of(profile, device, table)
    peaks = peaks_of(next(iter(profile.active), None), chip)
    return Ingested(profile, chip, peaks, cases_of(profile, chip))

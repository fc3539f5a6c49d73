"""Where each number of a calibration is from: the runs that it is fitted on and their error, or a prior."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from planner.catalog.calibrations import stated_calibrations
from planner.spoken import percent

MOST_NAMED = 3  # sources that a line names


def calibration_origins(own: Path | None = None, *, only: bool = False) -> dict[tuple[str, str], str]:
    """By calibration and parameter what its number is from, in a sentence that names the calibration which states it.

    `own` is a person's file, whose lines stand before the shipped ones, or with `only` in their place. Raises UserError
    for a file that holds no calibrations.
    """
    return {
        (identifier, name): f"{line.calibration} in {line.file.name}: {_said(line.cells) or f'line {line.line}'}"
        for identifier, lines in stated_calibrations(own, only=only).items()
        for name, line in lines.items()
    }


def _said(cells: Mapping[str, str]) -> str:
    """`fitted on 194 runs of 8 sources (mpt, titan, ...), error 9.6 % with each left out, from 0.3 to 1`."""
    rows, sources = cells.get("rows", "").strip(), cells.get("sources", "").strip()
    if not rows:
        return sources
    named = sources.split()
    few = ", ".join(named[:MOST_NAMED]) + (", ..." if len(named) > MOST_NAMED else "")
    said = [f"fitted on {rows} runs of {len(named)} source{'s' if len(named) != 1 else ''} ({few})"]
    if error := cells.get("error", "").strip():
        said.append(f"median error {percent(float(error))} with each left out")
    if cells.get("lower", "").strip() and cells.get("upper", "").strip():
        said.append(f"may be {cells['lower'].strip()} to {cells['upper'].strip()}")
    return ", ".join(said)

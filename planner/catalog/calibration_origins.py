"""Where each number of a calibration is from: the runs that it is fitted on and their error, or a prior."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from planner import csvfile, data
from planner.catalog.calibration_columns import BY_NAME, COMMON
from planner.catalog.calibrations import COLUMNS, REQUIRED, SHIPPED
from planner.spoken import percent

MOST_NAMED = 3  # sources that a line names


def calibration_origins(own: Path | None = None, *, only: bool = False) -> dict[tuple[str, str], str]:
    """By calibration and parameter what its number is from, in a sentence; what one leaves open is as `any` has it.

    `own` is a person's file, whose lines stand before the shipped ones, or with `only` in their place. It was read as
    calibrations before: raises UserError for a file that is none.
    """
    shipped = data.folder("hardware_db") / SHIPPED
    files = [own] if own and only else [shipped] if own is None else [own, shipped]
    found: dict[tuple[str, str], str] = {}
    for file in files:
        for line, cells in csvfile.read(file, required=REQUIRED, known=COLUMNS).records():
            key = cells["calibration"].strip(), cells["parameter"].strip()
            found.setdefault(key, f"{key[0]} in {file.name}: {_said(cells) or f'line {line}'}")
    common = {name: said for (identifier, name), said in found.items() if identifier == COMMON}
    owners = {identifier for identifier, _ in found}
    open_ones = {(owner, name): common[name] for owner in owners for name in BY_NAME if name in common}
    return open_ones | found


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

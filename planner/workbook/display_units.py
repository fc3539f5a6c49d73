"""The factors from display units to a template's units: constants on Inputs, by which shown numbers are divided."""

from __future__ import annotations

import re
from collections.abc import Iterable

from planner.formulas.template import Row
from planner.number_text import PERCENT
from planner.scaled_units import factor
from planner.workbook.cell_styles import PERCENT as PERCENT_FORMAT
from planner.workbook.cell_styles import RATIO, SAID, row_format

FEW_DIGITS = ("s", "USD", "1/s")  # units that are displayed as they are
US, MS = "us", "ms"  # the units of the time of a case and of a step


def constant(display: str, unit: str) -> Row:
    """The constant for a display unit and the SI unit: `one_ms`, 0.001 s."""
    name = "one_" + re.sub(r"[^a-z0-9]+", "_", display.lower().replace("%", "percent")).strip("_")
    return Row(
        name,
        f"One {display}",
        unit,
        "constant",
        f"{factor(display, unit):.15g}",
        "SI",
        "what is shown is divided by it",
        "thresholds",
    )


OF_A_SHARE = constant(PERCENT, "1")  # for a share as text; a cell's format shows percent by itself
OF_TIMES = [constant(each, "s") for each in (US, MS)]


def needed(rows: Iterable[Row]) -> list[Row]:
    """The constants of these rows' display units, without repetition."""
    pairs = {(row.display, row.unit) for row in rows if row.display and row.display != PERCENT}
    found = (constant(*pair) for pair in sorted(pairs))
    return list({each.name: each for each in found if each.default != 1}.values())


def shown_format(row: Row) -> str:
    """The number format of a row in its display unit: three or four digits, except for counts."""
    form = row_format(row)
    if row.display == PERCENT:
        return PERCENT_FORMAT
    return SAID if row.unit in FEW_DIGITS or form == RATIO or (row.display and row.unit != "chip") else form

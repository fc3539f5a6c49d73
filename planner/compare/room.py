"""Room for new cases above the table of runs: it stands below them, and moves down where they need its rows."""

from __future__ import annotations

from planner.compare.comparison_sheet import ComparisonSheet
from planner.compare.runs_table import GAP
from planner.recalc import recalculate
from planner.xlsx.inserted_rows import insert_rows
from planner.xlsx.opc import Package


def make_room(package: Package, sheet: ComparisonSheet, wanted: int) -> bool:
    """Let so many new cases fit above the table of runs of a package; returns whether it had to move.

    It moves as by rows inserted above its title. A workbook that has cases below the table stays as it is: new ones go
    on there.
    """
    title, last = sheet.runs_title_row, max((row.number for row in sheet.rows), default=sheet.header)
    if not wanted or not title or last > title:
        return False
    free = [number for number in range(last + 1, title) if sheet.is_blank(number)]
    end = free[wanted - 1] if wanted <= len(free) else title - 1 + wanted - len(free)
    if (lacking := end + GAP + 1 - title) <= 0:
        return False
    insert_rows(package, sheet.name, title, lacking)
    recalculate(package)  # what tells the place of a run in the table, on Dashboard, has another value now
    return True

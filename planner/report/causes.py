"""Why a cell has no number: its formula followed back to the first cell that lacks one, and what is missing there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planner.book.plan import Plan, Quantity
from planner.xlsx.address import Spot, coordinates
from planner.xlsx.cellvalue import CellError, Value
from planner.xlsx.pattern import Pattern

MOST_CELLS = 4096  # of a range that is looked through
_LOOKED_UP = re.compile(
    r"(?:override or )?(models|hardware|dtypes|calibration|stacks)\[(\w+)\](?:\.(\w+)(?:\[(\w+)\])?)?"
)
_FAMILY = re.compile(r'"(\w+_)"&(\$?[A-Z]{1,3}\$?[0-9]+)')


def cause(plan: Plan, spot: Spot) -> str:
    """The reason in a sentence: what is missing, where it is missing, in which cell."""
    first = _first(plan, spot)
    row, key = _row_of(plan, first)
    value = plan.at(*first)
    if row is not None and key is not None:
        return _said(plan, row, key, first, value)
    if value is None:
        return f"{first} is blank"
    if found := _looked_up_for_a_case(plan, first):
        return found
    return f"{value} begins in {first}" if isinstance(value, CellError) else f"{first} is no number"


def _looked_up_for_a_case(plan: Plan, spot: Spot) -> str:
    """What a case's cell looked up in a database in vain; blank for a cell that looks nothing up."""
    case = next((case for case in plan.book.cases if case.sheet.name == spot.sheet and spot.row in case.rows), None)
    formula = plan.book.sheets[spot.sheet].patterns.get((spot.row, spot.column))
    databases = {table.sheet.name for table in plan.book.databases.values()}
    read = next((r.sheet for r in formula.references if r.sheet in databases), "") if formula else ""
    if case is None or formula is None or not read:
        return ""
    column = case.columns.get(spot.column, "number")
    if family := _FAMILY.search(formula.at(spot.row, spot.column)):
        column = f"{family[1]}{plan.at(spot.sheet, *coordinates(family[2].replace('$', '')))}"
    chip = next((at for at, title in case.columns.items() if title == "hardware_id"), None)
    which = f" for {plan.at(spot.sheet, spot.row, chip)}" if chip else ""
    return f"{read} has no {column}{which} ({spot})"


def _first(plan: Plan, spot: Spot) -> Spot:
    """The last cell on the way back from one without a number whose own references all have one."""
    seen = {spot}
    while True:
        found = next((read for read in _reads(plan, spot) if read not in seen and _is_error(plan.at(*read))), None)
        if found is None:
            return spot
        seen.add(found)
        spot = found


def _reads(plan: Plan, spot: Spot) -> Iterator[Spot]:
    """The cells that a cell's formula reads, ranges cell by cell as far as that is sensible."""
    sheet = plan.book.sheets.get(spot.sheet)
    formula: Pattern | None = sheet.patterns.get((spot.row, spot.column)) if sheet else None
    for reference in formula.references if formula else ():
        area = reference.area(spot.row, spot.column)
        if (area.bottom - area.top + 1) * (area.right - area.left + 1) > MOST_CELLS:
            continue
        for row in range(area.top, area.bottom + 1):
            for column in range(area.left, area.right + 1):
                yield Spot(reference.sheet or spot.sheet, row, column)


def _is_error(value: Value) -> bool:
    return isinstance(value, CellError)


def _row_of(plan: Plan, spot: Spot) -> tuple[Quantity | None, str | None]:
    """The row of a calculation sheet or of Inputs that a cell is in, and its scenario."""
    rows = (row for table in (*plan.tables.values(), plan.inputs, plan.overrides) for row in table)
    for row in rows:
        if row.sheet == spot.sheet and row.row == spot.row:
            return row, next((key for key, entry in row.cells.items() if entry.spot == spot), None)
    return None, None


def _said(plan: Plan, row: Quantity, key: str, spot: Spot, value: Value) -> str:
    scenario = plan.by_key[key]
    looked_up = _LOOKED_UP.fullmatch(row.text)
    if looked_up and value == CellError("#N/A"):
        table, key_name, column, selector = looked_up.groups()
        if table not in ("models", "hardware"):
            wanted = plan.value(key_name, key) or "row for a blank"
            return f"{table.capitalize()} has no {wanted} ({row.title.lower()}, {spot})"
        which = scenario.model if table == "models" else scenario.hardware
        what = f"{column} for {plan.value(selector, key)}" if selector else (column or row.name)
        return f"{table.capitalize()} has no {what} for {which or 'a blank id'} ({row.title.lower()}, {spot})"
    if row.text.startswith("Inputs["):
        return f"the input {row.name} is blank"
    if row in plan.overrides or row in plan.inputs:
        return f"{row.name} is typed as {value} in {spot}"
    what = "is N/A" if value == CellError("#N/A") else f"is {value}"
    return f"{row.title} {what} by its formula ({row.text}, {spot})"

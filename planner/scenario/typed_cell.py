"""What is wrong with a typed cell of Inputs, said with the cell, by the commands that copy or export it."""

from __future__ import annotations

from planner.errors import Place, UserError
from planner.formulas.input_values import is_flag, limits
from planner.formulas.template import Row
from planner.number_text import wanted_number
from planner.xlsx.address import Spot
from planner.xlsx.cellvalue import ONLY_BLANKS, CellError, Value, exact_text, said_text


def refuse_text(spot: Spot, name: str, unit: str, value: Value, place: Place | None = None) -> None:
    """Raise UserError if a text stands where a number of a unit is wanted; `place` is the file."""
    if isinstance(value, str) and not isinstance(value, CellError) and value and unit != "text":
        said = f"{said_text(value)} is no number" if value.strip() else ONLY_BLANKS
        remedy = f"type {wanted_number(unit)} there, without separators or a unit, or empty the cell"
        raise UserError(f"{spot} ({name}): {said}", place=place, remedy=remedy)


def refuse_number(spot: Spot, row: Row, value: Value) -> None:
    """Raise UserError for TRUE, FALSE or a number that a row of a template doesn't take, as when a CSV is read."""
    if row.unit == "text" or isinstance(value, (str, CellError)) or value is None:
        return
    if isinstance(value, bool):
        said = "" if is_flag(row.name, row.unit) else f"{str(value).upper()} is no number"
    else:
        fault = limits(row).fault(float(value))
        said = fault and f"{exact_text(value)} is out of range: {fault}"
    if said:
        raise UserError(f"{spot} ({row.name}): {said}", remedy="type another value there, or empty the cell")

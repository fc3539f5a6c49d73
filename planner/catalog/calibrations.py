"""Calibrations: a CSV with a line for each parameter, read as a table with a row for each calibration.

Columns: calibration, parameter, value, unit, lower, upper, rows, sources, error. `rows` and `sources` are the runs
that the value is fitted on; where `rows` is blank the value is a prior, and `sources` says whose. `error` is the median
error of the runs when their source is left out. What a shipped calibration leaves open is as `any` has it; what one of
a person's own leaves open, as `tpu` where its name begins so, else as `gpu`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from planner import csvfile, data
from planner.catalog.calibration_columns import BY_NAME, COMMON, PARAMETERS, Parameter
from planner.catalog.columns import Column, UnfitCellError, Value, plain_number
from planner.catalog.table import Table
from planner.errors import Place, UserError, nearest

COLUMNS = ("calibration", "parameter", "value", "unit", "lower", "upper", "rows", "sources", "error")
REQUIRED = ("calibration", "parameter", "value")
SHOWN = (
    *(Column(each.name, each.unit, each.label) for each in PARAMETERS),
    Column("source", "text", "What the values are fitted on"),
)
SHIPPED = "calibrations.csv"


def load_calibrations(path: Path | None = None, *, only: bool = False) -> Table:
    """The shipped calibrations, with a file's own parameters in the place of ours; the file's alone with `only`.

    Raises UserError for an unknown parameter, a value beyond its bounds, one that stands there twice, and for
    calibrations none of which is `any`, so that a parameter of another may be open.
    """
    shipped = data.folder("hardware_db") / SHIPPED
    files = [path] if path and only else [shipped] if path is None else [path, shipped]
    values: dict[str, dict[str, Value]] = {}
    said: dict[str, dict[str, None]] = {}
    digests: dict[str, str] = {}
    shipped_ids: set[str] = set()
    for file in files:
        sheet = csvfile.read(file, required=REQUIRED, known=COLUMNS)
        digests[file.name] = sheet.digest
        own: set[tuple[str, str]] = set()
        for line, cells in sheet.records():
            key, value = _read(cells, Place(file, line))
            if key in own:
                raise UserError(f"{key[1]} of {key[0]} is there already", place=Place(file, line), remedy="keep one")
            own.add(key)
            if file == shipped:
                shipped_ids.add(key[0])
            if values.setdefault(key[0], {}).setdefault(key[1], value) is value:
                said.setdefault(key[0], {})[_origin(cells, file)] = None
    if COMMON not in values:
        what = f"there is no calibration {COMMON!r}, which stands for what others leave open"
        raise UserError(what, place=Place(files[0]), remedy=f"add its lines, or leave --only away to read {SHIPPED}")
    common = values[COMMON]
    rows: dict[str, dict[str, Value]] = {}
    for identifier, known in values.items():
        kind = {} if identifier in shipped_ids else values.get(kind_of(identifier), {})
        usual = {**common, **kind, **known}
        found = {each.name: usual.get(each.name) for each in PARAMETERS}
        rows[identifier] = {**found, "source": "; ".join(said[identifier])}
    sources = {identifier: str(row["source"]) for identifier, row in rows.items()}
    return Table("calibration", files[0], SHOWN, rows, sources, digests)


def kind_of(calibration: str) -> str:
    """The calibration of the chips of a kind, `tpu` or `gpu`, whose median stands for what one of them leaves open."""
    return "tpu" if calibration.lower().startswith("tpu") else "gpu"


def _read(cells: dict[str, str], place: Place) -> tuple[tuple[str, str], float]:
    """A line's calibration and parameter, and its value. Raises UserError."""
    identifier, name = cells["calibration"].strip(), cells["parameter"].strip()
    if not identifier:
        raise UserError("the calibration has no name", place=replace(place, column="calibration"), remedy="name it")
    if name not in BY_NAME:
        raise UserError(
            f"unknown parameter {name!r}", place=replace(place, column="parameter"), remedy=nearest(name, BY_NAME)
        )
    parameter = BY_NAME[name]
    if (unit := cells.get("unit", "").strip()) not in ("", parameter.unit):
        raise UserError(
            f"{name} is in {parameter.unit}, not {unit}", place=replace(place, column="unit"), remedy="convert it"
        )
    try:
        value = plain_number(cells["value"].strip())
    except UnfitCellError as error:
        raise UserError(error.what, place=replace(place, column="value"), remedy=error.remedy) from None
    _check_bounds(parameter, value, replace(place, column="value"))
    return (identifier, name), value


def _check_bounds(parameter: Parameter, value: float, place: Place) -> None:
    if not parameter.lower <= value <= parameter.upper:
        what = f"{parameter.name} of {value:g} is beyond its bounds"
        raise UserError(what, place=place, remedy=f"it is from {parameter.lower:g} to {parameter.upper:g}")


def _origin(cells: dict[str, str], file: Path) -> str:
    """What a value is fitted on, in a few words."""
    runs, sources = cells.get("rows", "").strip(), cells.get("sources", "").strip()
    return f"fitted on {runs} runs of {sources}" if runs else sources or file.name

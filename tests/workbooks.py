"""Workbooks for the tests: built once, read by machine name and scenario, edited as an analyst would."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path

import openpyxl
from openpyxl.formula.translate import Translator
from openpyxl.utils import get_column_letter

from planner import catalog, library
from planner.evaluate import Facts, evaluate
from planner.facts import bytes_of_dtypes
from planner.scenarios import plan_of
from planner.workbook import layout
from planner.workbook.book import build
from planner.workbook.plan import Plan
from planner.xlsx.cellvalue import CellError, Value

CALCULATION_SHEETS = {"Transformer": "transformer", "Inference": "inference"}
Grid = Mapping[str, Mapping[str, Value]]


def write_plan(path: Path, models: Sequence[str] = (), chips: Sequence[str] = (), **settings: object) -> Plan:
    """Build a workbook of models on chips at `path`; without any, the default one."""
    plan = plan_of(models, chips, (), None, [f"{name}={value}" for name, value in settings.items()])
    path.write_bytes(build(plan))
    return plan


def by_name(grid: Grid, sheet: str) -> dict[str, int]:
    """The row of each machine name on a sheet."""
    column = layout.letter(layout.NAME)
    found = {}
    for reference, value in grid[sheet].items():
        if reference.rstrip("0123456789") == column and isinstance(value, str) and value:
            found.setdefault(value, int(reference[len(column) :]))
    return found


def cached(path: Path) -> dict[str, dict[str, Value]]:
    """Every cell's value as the file has it."""
    from planner.xlsx.opc import Package
    from planner.xlsx.parts import parse_sheets

    sheets = parse_sheets(Package.read(path))
    return {name: {ref: cell.value for ref, cell in sheet.cells.items()} for name, sheet in sheets.items()}


def differences(grid: Grid, scenarios: Sequence[tuple[int, str, str, Mapping[str, Value]]]) -> Iterator[str]:
    """Where a workbook's values differ from the array functions, for (column, model, chip, typed values)."""
    models, chips, dtypes = catalog.load_models(), catalog.load_hardware(), bytes_of_dtypes()
    for sheet, name in CALCULATION_SHEETS.items():
        template, rows = library.load(name), by_name(grid, sheet)
        for column, model, chip, values in scenarios:
            known = {key: value for key, value in values.items() if key in template.by_name}
            results = evaluate(template, Facts(models.row(model), chips.row(chip), dtypes), known)
            for row in template.rows:
                found = grid[sheet].get(f"{get_column_letter(column)}{rows[row.name]}")
                expected = results.value(row.name)
                if not agree(found, expected):
                    yield f"{sheet}!{row.name} of {model} on {chip}: cell {found}, array {expected}"


def agree(found: Value, expected: Value, tolerance: float = 1e-9) -> bool:
    """Whether a cell holds what an array holds: N/A for N/A, numbers within a relative tolerance."""
    if expected is None or isinstance(found, CellError):
        return expected is None and isinstance(found, CellError)
    if isinstance(expected, str) or isinstance(found, str):
        return found == expected
    return found is not None and math.isclose(float(found), float(expected), rel_tol=tolerance)


def copy_scenario(path: Path, source: int, target: int, values: Mapping[str, object]) -> None:
    """Copy a scenario's column as the Cover says, then type its id, model, chip and inputs."""
    book = openpyxl.load_workbook(path)
    for name in ("Inputs", *CALCULATION_SHEETS, "Checks", "Dashboard"):
        sheet = book[name]
        for row in range(1, sheet.max_row + 1):
            cell = sheet.cell(row=row, column=source)
            moved = sheet.cell(row=row, column=target)
            moved.value = cell.value
            moved._style = copy(cell._style)
            if cell.data_type == "f":
                moved.value = Translator(cell.value, cell.coordinate).translate_formula(moved.coordinate)
    inputs = book["Inputs"]
    rows = {inputs.cell(row=row, column=layout.NAME).value: row for row in range(1, inputs.max_row + 1)}
    for name, value in values.items():
        inputs.cell(row=rows[name], column=target).value = value
    book.save(path)

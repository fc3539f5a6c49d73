"""The tables of a workbook that `planner export-inputs` writes as CSVs: models, chips, and stacks of one's own."""

from __future__ import annotations

from collections.abc import Collection

from planner import csvfile
from planner.book.plan import Plan
from planner.catalog import Table
from planner.catalog.calibrations import BY_NAME, OF_STACKS, REQUIRED
from planner.csvfile import guarded
from planner.xlsx.cellvalue import CellError, Value, exact_text, is_number

MISSING = "N/A"
CALIBRATIONS = "calibrations"
OPTIONS = {"models": "--models", "hardware": "--hardware-csv", CALIBRATIONS: "--calibrations"}
"""The option that reads a CSV, by its kind."""


def calibrations(plan: Plan, stacks: Collection[str]) -> str:
    """The CSV of these stacks, like that of `planner fit`: their rows of Stacks, and those of Calibration, if any."""
    lines: list[list[str]] = [[*REQUIRED, "sources"]]
    for kind, known in (("stacks", OF_STACKS), ("calibration", BY_NAME)):
        database = plan.book.databases[kind]
        columns = {name: column for name, column in database.columns.items() if name in known}
        for row in database.rows:
            identifier = str(plan.at(database.sheet.name, row, database.id_column) or "")
            if identifier in stacks:
                texts = {name: written(plan.at(database.sheet.name, row, at), "") for name, at in columns.items()}
                source = written(plan.at(database.sheet.name, row, database.columns["source"]), "")
                lines += [[identifier, name, text, source] for name, text in texts.items() if text]
    return csvfile.written(lines)


def has_own(plan: Plan, shipped: Table) -> bool:
    """Whether a scenario uses a model (or chip) that is in the workbook's database but not in `shipped`."""
    kept = ids_of(plan, shipped.kind)
    chosen = {scenario.model if shipped.kind == "models" else scenario.hardware for scenario in plan.scenarios}
    return any(identifier and identifier in kept and not shipped.has(identifier) for identifier in chosen)


def ids_of(plan: Plan, kind: str) -> set[str]:
    """The ids in the workbook's database of a kind; none if it has no such database."""
    database = plan.book.databases.get(kind)
    if database is None:
        return set()
    return {str(plan.at(database.sheet.name, row, database.id_column) or "") for row in database.rows}


def own_rows(plan: Plan, shipped: Table) -> str:
    """The CSV of the workbook's own table of the kind of `shipped`, with its columns; blanks and N/A are blank."""
    database = plan.book.databases[shipped.kind]
    columns = [column.name for column in shipped.columns if column.name in database.columns]
    lines = [["id", *columns]]
    for row in database.rows:
        identifier = plan.at(database.sheet.name, row, database.id_column)
        if identifier not in (None, ""):
            values = (plan.at(database.sheet.name, row, database.columns[name]) for name in columns)
            lines.append([str(identifier), *(written(value, missing="") for value in values)])
    return csvfile.written(lines)


def written(value: Value, missing: str = MISSING) -> str:
    """A value for a CSV: a number with all digits, a whole one without `.0`."""
    if value is None or isinstance(value, CellError):
        return missing
    if is_number(value):
        return exact_text(float(value))
    return guarded(str(value))

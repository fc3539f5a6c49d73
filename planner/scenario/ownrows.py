"""The models and chips of a workbook as the CSVs that `--models` and `--hardware-csv` read."""

from __future__ import annotations

import csv
import io

from planner.book.plan import Plan
from planner.catalog import Table
from planner.workbook.scenarios import guarded
from planner.xlsx.cellvalue import CellError, Value

OPTIONS = {"models": "--models", "hardware": "--hardware-csv"}
"""The option that reads a database's CSV, by the database's kind."""


def has_own(plan: Plan, shipped: Table) -> bool:
    """Whether a scenario has a model (a chip) that stands in the workbook's own database, and not in the shipped one.

    `shipped` says which of the two databases it is about.
    """
    database = plan.book.databases.get(shipped.kind)
    if database is None:
        return False
    kept = {str(plan.at(database.sheet.name, row, database.id_column) or "")
            for row in range(database.first_row, database.last_row + 1)}  # fmt: skip
    chosen = {scenario.model if shipped.kind == "models" else scenario.hardware for scenario in plan.scenarios}
    return any(identifier and identifier in kept and not shipped.has(identifier) for identifier in chosen)


def as_csv(plan: Plan, shipped: Table) -> str:
    """Every row of the workbook's database as it stands there now, under the columns that planner reads.

    What is blank or N/A is left blank. `shipped` says which database it is, and names its columns.
    """
    database = plan.book.databases[shipped.kind]
    columns = [column.name for column in shipped.columns if column.name in database.columns]
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["id", *columns])
    for row in range(database.first_row, database.last_row + 1):
        identifier = plan.at(database.sheet.name, row, database.id_column)
        if identifier not in (None, ""):
            values = (plan.at(database.sheet.name, row, database.columns[name]) for name in columns)
            writer.writerow([identifier, *map(_written, values)])
    return stream.getvalue()


def _written(value: Value) -> str:
    """A cell's value to the last digit, a whole number without its `.0`."""
    if value is None or isinstance(value, CellError):
        return ""
    if isinstance(value, (float, int)) and not isinstance(value, bool):
        return repr(float(value)).removesuffix(".0")
    return guarded(str(value))

"""`planner.models` and `planner.hardware`: the databases as tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from planner.api import warned
from planner.api.calc import File, own_tables
from planner.catalog import Table, load_hardware

if TYPE_CHECKING:
    from pandas import DataFrame


@warned
def models(models_csv: File = None, *, only: bool = False) -> DataFrame:
    """A row for each model by its id: the columns that templates read, and `source`. N/A is None or NaN.

    Rows of `models_csv` come first; with `only` there are no others. `attrs["units"]` has the units of the columns.
    Raises UserError for an error in the file.
    """
    return _frame(own_tables(models_csv, None, None, only=only).databases.models)


@warned
def hardware(hardware_csv: File = None, *, only: bool = False) -> DataFrame:
    """A row for each accelerator by its id, in the form of `models`. It may name a calibration of any file."""
    return _frame(load_hardware(None if hardware_csv is None else Path(hardware_csv), only=only))


def _frame(table: Table) -> DataFrame:
    import pandas

    frame = pandas.DataFrame.from_dict(dict(table.rows), orient="index")
    frame.index.name = "id"
    frame["source"] = pandas.Series(dict(table.sources))
    frame.attrs["units"] = {column.name: column.unit for column in table.columns} | {"source": "text"}
    return frame

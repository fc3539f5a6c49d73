"""`planner.build`: write a workbook from a table of scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner import csvfile, garbage_collection, progress
from planner.api import warned
from planner.api.calc import File, own_tables
from planner.errors import UserError
from planner.regularfile import refuse_existing, refuse_other
from planner.workbook import book
from planner.workbook.lacking import unanswered, without
from planner.workbook.scenarios import ID_COLUMNS, plan_of
from planner.xlsx.atomic import write_atomically
from planner.xlsx.cellvalue import exact_text

if TYPE_CHECKING:
    from pandas import DataFrame

NAME = Path("the frame")  # how errors refer to it
OF_A_SEARCH = "is_tie"  # a column that only the frames of planner.optimize have, among results that are no inputs


@warned
@garbage_collection.paused()
def build(
    frame: DataFrame,
    path: str | Path,
    *,
    templates: Sequence[str | Path] = (),
    models_csv: File = None,
    hardware_csv: File = None,
    calibrations_csv: File = None,
    only: bool = False,
    force: bool = False,
) -> Path:
    """Write a workbook with a scenario for each row of a frame, and return its path.

    Columns are those of the CSV of `planner build --scenarios`: scenario (or the index of that name), name, model,
    hardware, and any row of a template. Columns that are missing have the template's defaults.
    Raises UserError for the same reasons as the command; also if the file exists, unless `force` is true.
    """
    if OF_A_SEARCH in frame.columns:
        remedy = 'planner.optimize(..., workbook="plan.xlsx") writes its plans as scenarios'
        raise UserError(f"{NAME} is what planner.optimize returned", remedy=remedy)
    output = Path(path)
    refuse_other(output, ".xlsx", "a workbook")
    refuse_existing(output, force=force, by="force=True")
    databases = own_tables(models_csv, hardware_csv, calibrations_csv, only=only).databases
    sheet = csvfile.sheet_of(_csv(frame).encode(), NAME)
    plan = plan_of((), (), [str(each) for each in templates], sheet, (), databases)
    write_atomically(output, book.build(plan))
    for lack in (*without(plan), *unanswered(plan)):
        progress.warn(lack)
    return output


def _csv(frame: DataFrame) -> str:
    if frame.index.name in ID_COLUMNS:
        frame = frame.reset_index()
    rows = ([_text(value) for value in row] for row in frame.itertuples(index=False, name=None))
    return csvfile.written([frame.columns, *rows])


def _text(value: Any) -> str:
    """A cell as the CSV has it; blank for what is missing, in whatever way pandas says so."""
    import pandas

    if isinstance(value, str):
        return value
    if pandas.isna(value):
        return ""
    return exact_text(float(value))

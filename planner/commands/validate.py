"""`planner validate`: compares expected times with measured ones and reports their errors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner.commands import options
from planner.commands.options import PATH, WORKBOOKS

if TYPE_CHECKING:
    from planner.catalog.databases import Databases

USUAL = "the calibrations"
WITHOUT = "fits to all sources but a run's own"


@click.command("validate")
@click.argument("runs", type=PATH, required=False)
@options.databases
@click.option("--json", "as_json", is_flag=True, help="One object: kinds, mixes, sources, rows; errors as fractions.")
@click.option("--leave-one-out", is_flag=True, help="Predict each source's runs with a fit to all other sources.")
def command(runs: Path | None, databases: Databases, as_json: bool, leave_one_out: bool) -> None:
    """Compare the measured runs of RUNS, a CSV, with their expected times; by default the published runs.

    Its columns are those of hardware_db/published_runs.csv: id, kind, template, model, hardware, settings
    (`name=value name=value`), output, measured, unit, source.
    """
    from planner import progress
    from planner.errors import Place, UserError
    from planner.terminal_table import counted
    from planner.validation import errors_text
    from planner.validation.judged import doubted, validated, without_effect

    if leave_one_out and databases.calibrations_csv is not None:
        what, remedy = "--leave-one-out fits calibrations of its own", "leave one of the two options away"
        raise UserError(what, place=Place(databases.calibrations_csv), remedy=remedy)
    if runs is not None and runs.suffix.lower() in WORKBOOKS:
        remedy = "planner fit fits to the runs of a workbook, and planner report shows each beside what was expected"
        raise UserError("this is a workbook, and no CSV of runs", place=Place(runs), remedy=remedy)
    progress.step("expecting the runs" if not leave_one_out else "fitting without each source")
    rows = validated(runs, databases, leave_one_out=leave_one_out)
    progress.clear()
    if not as_json and all(row.expected is None for row in rows):
        first = rows[0].run
        what = f"nothing can be expected of any run; {first.id}: {rows[0].fault}"
        place = Place(runs, first.line, first.column) if first.column else Place(runs)
        raise UserError(what, place=place, remedy="mend the rows")
    if said := without_effect(rows, databases):
        progress.warn(said)
    if runs is not None and (said := doubted(rows)):
        progress.warn(f"{runs.name}: {said}")
    name = runs.name if runs else "the published runs"
    about = f"{counted(len(rows), 'run')} of {name}, expected by {WITHOUT if leave_one_out else USUAL}"
    is_own = databases.calibrations_csv is not None
    click.echo(
        errors_text.as_json(rows)
        if as_json
        else errors_text.as_text(rows, about, is_own=is_own, is_each=runs is not None)
    )

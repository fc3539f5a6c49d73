"""`planner backfill`: writes a measurements.csv into the Comparison of a workbook that an analyst has edited."""

from __future__ import annotations

from pathlib import Path

import click

from planner.commands.options import PATH, WORKBOOKS, say


@click.command("backfill")
@click.argument("file", type=PATH)
@click.argument("measurements", type=PATH)
def command(file: Path, measurements: Path) -> None:
    """Write the times in MEASUREMENTS, a CSV from `planner measure`, into the Comparison sheet of the workbook FILE.

    Each time goes to the row with the key of its case; a case without a row is appended. Nothing else in FILE
    changes except the values that depend on these times. Running it again changes nothing.
    """
    from planner.compare.appended_rows import UnknownCaseError
    from planner.compare.checked_measurements import checked_measurements, place_of
    from planner.compare.landing import backfill
    from planner.errors import Place, UserError

    if measurements.suffix.lower() in WORKBOOKS:
        what, remedy = "this is a workbook, and no CSV of measurements", "name the workbook first, and then the CSV"
        raise UserError(what, place=Place(measurements), remedy=remedy)

    try:
        done = backfill(file, checked_measurements(measurements))
    except UnknownCaseError as error:
        raise error.at(place_of(measurements, error.key)) from None
    say(file, done.lines())

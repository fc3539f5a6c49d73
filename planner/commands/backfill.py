"""`planner backfill`: a measurements.csv into the Comparison of a workbook that an analyst has been editing."""

from __future__ import annotations

from pathlib import Path

import click

from planner.commands.options import PATH


@click.command("backfill")
@click.argument("file", type=PATH)
@click.argument("measurements", type=PATH)
def command(file: Path, measurements: Path) -> None:
    """Write the measured numbers of MEASUREMENTS (a CSV of `planner measure`) into the Comparison of FILE.

    Rows are found by the key of their case and columns by their header; a case without a row gets one below the
    others. Nothing else in FILE changes but the values that depend on them. A second run changes nothing.
    """
    from planner.compare.checked_measurements import checked_measurements
    from planner.compare.landing import backfill

    first, *others = backfill(file, checked_measurements(measurements)).lines()
    click.echo(f"{file}: {first}")
    for line in others:
        click.echo(f"  {line}")

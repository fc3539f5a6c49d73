"""`planner recalc`: stores fresh cached values in every formula cell of a workbook, and changes nothing else."""

from __future__ import annotations

from pathlib import Path

import click

from planner.commands.options import PATH


@click.command("recalc")
@click.argument("file", type=PATH)
def command(file: Path) -> None:
    """Recalculate FILE and store the values. Formats, charts, notes and every other part stay byte for byte."""
    from planner import progress
    from planner.recalc import recalculate
    from planner.xlsx.atomic import locked
    from planner.xlsx.opc import Package

    with locked(file):
        progress.step(f"computing {file}")
        package = Package.read(file)
        result = recalculate(package, is_as_saved=True)
        package.write(file)
    progress.clear()
    click.echo(f"{file}: {result.note}")

"""`planner report`: a workbook as a page for those who won't open it."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("report")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True,
              help="The report: its name ends in .html, .pdf, .md, .csv or .json.")  # fmt: skip
@click.option("--template", type=click.Path(path_type=Path), metavar="FILE",
              help="A house style: a Jinja page for .html and .md, a Typst file for .pdf.")  # fmt: skip
def command(file: Path, output: Path, template: Path | None) -> None:
    """Report FILE: what fits, what binds, the headline numbers, pictures, sweeps, measured times, every assumption.

    The formulas are recalculated in memory; FILE itself stays as it is. An older report is replaced.
    """
    from planner.report.write import write

    for line in write(file, output, template):
        click.echo(line, err=line.startswith("Note"))

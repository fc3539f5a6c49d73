"""`planner report`: a workbook as a page for those who won't open it."""

from __future__ import annotations

from pathlib import Path

import click

from planner.commands.options import PATH, refuse_existing

ENDINGS = ".html, .pdf, .md, .csv or .json"
TEMPLATES = "a Jinja page for .html and .md, a Typst file for .pdf"


@click.command("report")
@click.argument("file", type=PATH)
@click.option("-o", "--output", type=PATH, required=True, help=f"The report: its name ends in {ENDINGS}.")
@click.option("--template", type=PATH, metavar="FILE", help=f"A house style: {TEMPLATES}.")
@click.option("--force", is_flag=True, help="Replace the report where it exists.")
def command(file: Path, output: Path, template: Path | None, force: bool) -> None:
    """Report FILE: what fits, what binds, the headline numbers, pictures, sweeps, measured times, every assumption.

    The formulas are recalculated in memory; FILE itself stays as it is.
    """
    refuse_existing(output, force=force)
    from planner.report.write import write

    for line in write(file, output, template):
        click.echo(line, err=line.startswith("Note"))

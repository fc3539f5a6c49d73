"""`planner report`: a workbook as a page or document for readers without a spreadsheet program."""

from __future__ import annotations

from pathlib import Path

import click

from planner.commands.options import PATH, refuse_existing

ENDINGS = ".html, .pdf, .md, .csv or .json"
TEMPLATES = "a Jinja page for .html and .md, a Typst file for .pdf"


@click.command("report")
@click.argument("file", type=PATH)
@click.option("-o", "--output", type=PATH, required=True, help=f"The file to write; it ends in {ENDINGS}.")
@click.option("--template", type=PATH, metavar="FILE", help=f"Your own layout: {TEMPLATES}.")
@click.option("--force", is_flag=True, help="Replace the report where it exists.")
def command(file: Path, output: Path, template: Path | None, force: bool) -> None:
    """Write the workbook FILE as a report: what fits, what binds, headlines, charts, sweeps, measured times, sources.

    The formulas are recalculated in memory; FILE stays as it is.
    """
    refuse_existing(output, force=force)
    from planner.report.write import write

    for line in write(file, output, template):
        click.echo(line, err=line.startswith("Note"))

"""`planner diff`: what changed between two workbooks, and its effect on the headline numbers."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click

from planner.commands.options import PATH, refuse_existing


@click.command("diff")
@click.argument("old", type=PATH)
@click.argument("new", type=PATH)
@click.option("--json", "as_json", is_flag=True, help="One object with a list for each kind of change.")
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the changes as one self-contained HTML file.",
)
@click.option("--force", is_flag=True, help="Replace the HTML file where it exists.")
@click.option("--all", "whole", is_flag=True, help="List every change instead of the first few of each kind.")
@click.pass_context
def command(
    ctx: click.Context, old: Path, new: Path, as_json: bool, page: Path | None, force: bool, whole: bool
) -> None:
    """Show what changed from OLD to NEW: inputs, formulas, sheets, rows, notes, formats, and the headlines.

    Rows are matched by name and scenarios by id, wherever they are. Both workbooks are recalculated in memory; the
    files stay as they are. Exit code 0: no differences; 1: differences; 2: a file can't be read.
    """
    if page is not None:
        from planner.regularfile import refuse_other

        refuse_other(page, ".html", "a page")
        refuse_existing(page, force=force)
    from planner import garbage_collection
    from planner.diff.as_html import as_html
    from planner.diff.as_text import as_object, as_text
    from planner.diff.two_workbooks import compare, read_both
    from planner.xlsx.atomic import write_atomically

    with garbage_collection.paused():
        found = compare(*read_both(old, new))
    if page is not None:
        write_atomically(page, as_html(found).encode())
    width = max(40, shutil.get_terminal_size((100, 24)).columns) if sys.stdout.isatty() else None
    click.echo(as_object(found) if as_json else as_text(found, width, whole=whole))
    ctx.exit(0 if found.is_empty else 1)

"""`planner update`: updates an edited workbook to today's templates and databases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner.commands import options
from planner.commands.options import PATH, Greedy, as_it_was, repeatable, say

if TYPE_CHECKING:
    from planner.catalog.databases import Databases


@click.command("update", cls=Greedy)
@click.argument("file", type=PATH)
@repeatable("--template", "templates", metavar="FILE", help="A template of your own, a CSV. Repeatable.")
@options.databases
@click.option("-o", "--output", type=PATH, help="Write the updated workbook here and leave FILE as it is.")
@click.option("--all", "in_full", is_flag=True, help="List every row, cell and number instead of the first few.")
def command(file: Path, templates: tuple[str, ...], databases: Databases, output: Path | None, in_full: bool) -> None:
    """Update the workbook FILE to the templates and databases of this version, and keep your edits.

    Your inputs, overrides, notes, formats and sheets stay; what is kept and what is not is listed. Your models and
    chips stay below the shipped ones; --models or --hardware-csv replaces them with those of a CSV.

    The old file is kept as FILE.bak.xlsx.
    """
    from planner.errors import Place, UserError
    from planner.update.outcome import lines
    from planner.update.update import update_file

    if output is not None and output.exists():
        raise UserError("the file exists", place=Place(output), remedy="choose another with -o")
    updated, backup = update_file(file, templates, databases, output)
    say(output or file, [*lines(updated, None if in_full else 4), *as_it_was(backup)])

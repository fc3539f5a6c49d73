"""`planner build`: a planning workbook from templates, models and chips."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner import garbage_collection
from planner.commands import options
from planner.commands.options import PATH, Greedy, force, refuse_existing, repeatable, settings

if TYPE_CHECKING:
    from planner.catalog.databases import Databases

BOOK = "book"  # not a template but templates/book.csv, whose problems name their templates


@click.command("build", cls=Greedy)
@click.argument("models", nargs=-1, metavar="[MODEL ...]")
@repeatable("-m", "--model", "named", metavar="MODEL", help="A model's id: as MODEL by itself.")
@repeatable("-H", "--hardware", metavar="CHIP", help="A chip's id. Repeatable: each model on each chip is a scenario.")
@repeatable("--template", "templates", metavar="NAME|FILE", help="A template, by name or path. Repeatable.")
@click.option("--scenarios", "scenarios_csv", type=PATH, help="A CSV with a row for each scenario.")
@settings
@options.databases
@click.option(
    "--mesh", metavar="AXES", default="", help="Add the cases of a device mesh to Comparison: data=2,tensor=4."
)
@click.option("-o", "--output", type=PATH, default="plan.xlsx", show_default=True)
@force
@garbage_collection.paused()
def command(
    models: tuple[str, ...],
    named: tuple[str, ...],
    hardware: tuple[str, ...],
    templates: tuple[str, ...],
    scenarios_csv: Path | None,
    settings: tuple[str, ...],
    databases: Databases,
    mesh: str,
    output: Path,
    force: bool,
) -> None:
    """Write a workbook with a scenario for each MODEL on each CHIP; without arguments, Llama 3 70B in four scenarios.

    `--template book` writes a workbook of worked problems instead: those of How to Scale Your Model and of High
    Performance LLMs From First Principles, each as live formulas.
    """
    from planner.errors import UserError
    from planner.regularfile import refuse_other
    from planner.xlsx.atomic import write_atomically

    refuse_other(output, ".xlsx", "a workbook")
    refuse_existing(output, force=force)
    models = (*models, *named)
    if BOOK in templates:
        if len(templates) > 1 or models or hardware or scenarios_csv or settings or mesh:
            what = "the book's problems bring their own models, chips and values"
            raise UserError(what, remedy=f"build it alone: planner build --template {BOOK} -o book.xlsx")
        click.echo(f"Wrote {output}: {_book(output, databases)}.")
        return
    from planner import progress
    from planner.measure.mesh import MeshSpec
    from planner.terminal_table import counted
    from planner.workbook.book import build
    from planner.workbook.lacking import unanswered, without
    from planner.workbook.scenarios import plan_of, with_mesh

    progress.step("reading templates and databases")
    plan = plan_of(models, hardware, templates, scenarios_csv, settings, databases)
    plan = with_mesh(plan, MeshSpec.parse(mesh)) if mesh else plan
    count = counted(len(plan.scenarios), "scenario")
    progress.step(f"writing and computing {count}")
    write_atomically(output, build(plan))
    progress.clear()
    for lack in without(plan):
        progress.warn(f"{lack}: what needs one is N/A there; choose it on Inputs")
    for lack in unanswered(plan):
        progress.warn(f"{lack}; give it in the CSV, or type it on Inputs")
    click.echo(f"Wrote {output}: {count}, sheets {', '.join(plan.sheets.values())}.")


def _book(output: Path, databases: Databases) -> str:
    """Write the teaching workbook; returns a description of its content."""
    from planner.teaching.lesson import build
    from planner.xlsx.atomic import write_atomically

    made, count = build(databases)
    write_atomically(output, made)
    return f"{count} worked problems, listed on the sheet Book"

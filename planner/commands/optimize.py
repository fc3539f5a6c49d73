"""`planner optimize`: the best plans of a template."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner.commands import options
from planner.commands.options import PATH, Greedy, force, refuse_existing, repeatable, settings
from planner.errors import Place, UserError

if TYPE_CHECKING:
    from planner.catalog.databases import Databases
    from planner.processes import Processes


@click.command("optimize", cls=Greedy, context_settings={"show_default": True})
@click.argument("template")
@repeatable("-m", "--model", "models", metavar="MODEL", help="A model's id; of several, the best over all.")
@repeatable("-H", "--hardware", "chips", metavar="CHIP", help="A chip's id; of several, the best over all.")
@settings
@repeatable("--minimize", "least", metavar="NAME", help="The row to minimize. Several give a Pareto front.")
@repeatable("--maximize", "most", metavar="NAME", help="The row to maximize. Several give a Pareto front.")
@repeatable("--and", "others", metavar="NAME", help="Another objective, in the direction of the first.")
@repeatable(
    "--over", "overs", metavar="NAME=SPEC", help="Also search over this input, or limit a layout's: mesh_tensor=1..8*2."
)
@click.option("--alone", is_flag=True, help="Search only over what --over names, not over layouts.")
@repeatable("--where", "wheres", metavar="EXPR", help="Keep only plans that meet this: 'train_time_expected<=90days'.")
@click.option("--top", type=click.IntRange(1, 200), default=5, help="How many plans to print.")
@options.databases
@options.backend
@click.option("--workbook", type=PATH, help="Add the plans to this workbook as scenarios; it is created if absent.")
@click.option(
    "-o",
    "--output",
    type=PATH,
    help="Write the plans as a .csv, .parquet or .xlsx; with several objectives, the front.",
)
@force
def command(
    template: str, models: tuple[str, ...], chips: tuple[str, ...], settings: tuple[str, ...], least: tuple[str, ...],
    most: tuple[str, ...], others: tuple[str, ...], overs: tuple[str, ...], alone: bool, wheres: tuple[str, ...],
    top: int, databases: Databases, backend: str, among: Processes, workbook: Path | None, output: Path | None,
    force: bool,
) -> None:  # fmt: skip
    """Find the best plans of TEMPLATE that pass every check.

    Training is searched over mesh shapes, microbatches, pipeline interleaving, remat and ZeRO stages; serving over
    chips, layouts and batch. What --set sets is fixed; so are precision, batch tokens and lengths, unless --over
    names them. Layouts that are avoided in practice are left out (docs/search.md) unless --over asks for them. Plans
    closer to the best than published runs can distinguish count as ties; the simplest of them comes first.
    """
    from planner.formulas.headlines import headlines
    from planner.regularfile import refuse_other
    from planner.search import plans_as_scenarios, table_files
    from planner.search.found import objectives_of
    from planner.search.optimum import optimum
    from planner.search.request import request
    from planner.search.search_text import of_search

    with among.agreed():
        if output is not None:
            refuse_existing(output, force=force)
            table_files.check_writable(output)
        if workbook is not None:
            refuse_other(workbook, ".xlsx", "a workbook")
            if output is not None and output.resolve() == workbook.resolve():
                what = "-o and --workbook name the same file"
                raise UserError(what, place=Place(workbook), remedy="name another with -o")
        asked = request(template, models, chips, settings, overs, wheres, databases, backend, among)
        if not least and not most:
            example = next((each.row.name for each in headlines(asked.template)), "NAME")
            raise UserError("no objective is given", remedy=f"write --minimize {example}, or --maximize")
        if workbook is not None:
            plans_as_scenarios.check_takes(workbook, asked)
        first, second = ((*least, *others), most) if least else (least, (*most, *others))
        objectives = objectives_of(asked.template, first, second)
        found = optimum(asked, objectives, top, alone=alone)
    with among.agreed():
        if not among.is_first:
            return
        click.echo("\n".join(of_search(asked, found)))
        if output is not None:
            click.echo(f"Wrote {output}: {table_files.write_found(output, asked, found):,} plans.")
        if workbook is not None:
            click.echo(plans_as_scenarios.write(workbook, asked, found, databases))

"""`planner sensitivity`: how much an output depends on each input, as a table and a tornado chart."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner.commands import options
from planner.commands.options import PATH, Greedy, force, refuse_existing, settings
from planner.errors import UserError
from planner.terminal_table import counted

if TYPE_CHECKING:
    from planner.catalog.databases import Databases

TOP = 20


@click.command("sensitivity", cls=Greedy)
@click.argument("template", metavar="TEMPLATE|FILE.xlsx")
@click.option("-m", "--model", metavar="MODEL", help="A model's id, as `planner models list` shows it.")
@click.option("-H", "--hardware", metavar="CHIP", help="A chip's id, as `planner hardware list` shows it.")
@settings
@click.option(
    "--of",
    "name",
    metavar="NAME",
    default="",
    help="The output; by default the first headline that is no number of chips.",
)
@click.option(
    "--top", type=click.IntRange(min=0), default=TOP, show_default=True, help="How many to print; 0 prints all."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON; for a workbook, an object for each scenario.")
@click.option("-o", "--output", type=PATH, help="Write all of them as a CSV.")
@force
@click.option(
    "--write", "writes", is_flag=True, help="Write them into the workbook as the sheet Elasticities, as values."
)
@options.databases
def command(
    template: str, model: str | None, hardware: str | None, settings: tuple[str, ...], name: str, top: int,
    as_json: bool, output: Path | None, force: bool, writes: bool, databases: Databases,
) -> None:  # fmt: skip
    """Show how an output of TEMPLATE, or of each scenario of a workbook, depends on each input.

    An elasticity is the percent by which the output changes for each percent of a quantity. Counts change by whole
    steps. Flags, stages and texts have no elasticity and are listed as left out.
    """
    from planner.api.calc import PreparedPlan
    from planner.api.sensitivity import OWN, as_csv, as_object, lines, of_plan, of_scenarios
    from planner.formulas import library
    from planner.formulas.input_values import values
    from planner.regularfile import refuse_other
    from planner.xlsx.atomic import write_atomically

    if output is not None:
        refuse_other(output, ".csv", "a table")
        refuse_existing(output, force=force)
    if template.lower().endswith(".xlsx"):
        if model or hardware or settings:
            raise UserError(OWN, remedy="change them in the workbook, or name a template")
        results = of_scenarios(Path(template), name)
    elif writes:
        raise UserError("--write is for a workbook", remedy="name FILE.xlsx")
    else:
        plan = PreparedPlan.of(library.load(template), model, hardware, databases)
        results = {"": of_plan(plan, values(plan.template, settings), name)}
    if output is not None:
        write_atomically(output, as_csv(results).encode())
        click.echo(f"Wrote {output}: {counted(sum(len(found.elasticities) for found in results.values()), 'row')}.")
    elif writes:
        from planner.api.elasticities_sheet import write

        click.echo(
            f"{template}: wrote the sheet {write(Path(template), results)}, {counted(len(results), 'scenario')}."
        )
    elif as_json:
        objects = {scenario: as_object(found) for scenario, found in results.items()}
        click.echo(jsonlib.dumps(objects.get("", objects), indent=2))
    else:
        pages = ([*([f"{scenario}:"] if scenario else []), *lines(found, top)] for scenario, found in results.items())
        click.echo("\n\n".join("\n".join(page) for page in pages))

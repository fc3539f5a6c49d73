"""`planner scenario add`: a scenario more in a workbook that an analyst has been editing."""

from __future__ import annotations

from pathlib import Path

import click

from planner.commands.options import PATH, Greedy, settings


@click.group("scenario")
def command() -> None:
    """The scenarios of a workbook."""


@command.command("add", cls=Greedy)
@click.argument("file", type=PATH)
@click.argument("name")
@click.option("-m", "--model", metavar="MODEL", help="An id of the workbook's Models sheet.")
@click.option("-H", "--hardware", metavar="CHIP", help="An id of the workbook's Hardware sheet.")
@settings
@click.option("--like", metavar="SCENARIO", help="The scenario to start from, by id or name; else the last one.")
@click.option("--keep-overrides", is_flag=True, help="Copy its overrides of looked-up and calculated numbers too.")
def add(
    file: Path, name: str, model: str | None, hardware: str | None, settings: tuple[str, ...], like: str | None,
    keep_overrides: bool,
) -> None:  # fmt: skip
    """Add a scenario called NAME to FILE: a column more on Inputs, Dashboard, Checks and every calculation sheet.

    Its inputs are those of the last scenario, but for what -m, -H and --set say. Its formulas are those that the rows
    are meant to have: what was typed over a formula is not copied, nor are overrides.
    """
    from planner.formulas.input_values import parsed
    from planner.scenario.add import Request, add_to_file

    request = Request(name, model, hardware, parsed(settings), like, keep_overrides)
    added = add_to_file(file, request)
    click.echo(f"{file}: added {added.id} in {added.where}, like {added.like}.")
    for remark in added.remarks:
        click.echo(f"  {remark}")
    if added.recalculated is not None:
        click.echo(f"  {added.recalculated.note}")

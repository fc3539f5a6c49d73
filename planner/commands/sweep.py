"""`planner sweep`: every combination of some values as a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner import garbage_collection
from planner.commands import options
from planner.commands.options import PATH, Greedy, force, refuse_existing, repeatable, settings

if TYPE_CHECKING:
    from planner.catalog.databases import Databases
    from planner.processes import Processes


@click.command("sweep", cls=Greedy)
@click.argument("template")
@repeatable("-m", "--model", "models", metavar="MODEL", help="A model's id; several give a line for each.")
@repeatable("-H", "--hardware", "chips", metavar="CHIP", help="A chip's id; several give a line for each.")
@settings
@repeatable("--over", "overs", metavar="NAME=SPEC", help="The values: 1,2,8 or 1..64 or 2^7..2^16 or 8..4096*2.")
@repeatable("--where", "wheres", metavar="EXPR", help="Keep only plans that meet this: 'memory_bytes_per_chip<=70GB'.")
@repeatable("--get", "names", metavar="NAME", help="Rows to show; 'kv_*' is a pattern. By default the headlines.")
@options.databases
@options.backend
@click.option("-o", "--output", type=PATH, help="Write a .csv, .parquet or .xlsx; else the first lines are printed.")
@force
@garbage_collection.paused()
def command(
    template: str, models: tuple[str, ...], chips: tuple[str, ...], settings: tuple[str, ...], overs: tuple[str, ...],
    wheres: tuple[str, ...], names: tuple[str, ...], databases: Databases, backend: str, among: Processes,
    output: Path | None, force: bool,
) -> None:  # fmt: skip
    """Calculate TEMPLATE for every combination of the values of --over; the last one named varies fastest.

    --over model=a,b and --over hardware=a,b vary models and chips. An input whose default depends on another, such as
    FSDP ways on chips, is adjusted for each plan. --where takes a formula over any row of the template. How many plans
    fail a check is told on stderr; they are in the table all the same.
    """
    from planner.processes import ALONE
    from planner.search import table_files
    from planner.search.request import request, wanted
    from planner.search.search_text import first_lines, of_sweep
    from planner.search.sweep import SweptPlans

    with among.agreed():
        if output is not None:
            refuse_existing(output, force=force, may_be_folder=among.count > 1)
            table_files.check_writable(output, among)
        sharing = ALONE if output is None else among
        asked = request(template, models, chips, settings, overs, wheres, databases, backend, sharing)
        sweep = SweptPlans(asked, wanted(asked.template, names), [row.name for row in asked.template.of_kind("check")])
        asked.warn_unread(sweep.wanted)
    with among.agreed():
        if output is None:
            said = "\n".join(first_lines(sweep)) if among.is_first else ""
        else:
            count = table_files.write(output, asked, sweep.columns, sweep.parts(), among)
            of = f" of {sweep.count:,}" if wheres else ""
            parts = f", in {among.count} parts" if among.count > 1 else ""
            said = f"Wrote {output}: {count:,}{of} plans, {len(sweep.columns)} columns{parts}."
        for other in among.gather(sweep.failing)[1:]:
            sweep.failing.add(other)  # which the first process tells
    if among.is_first:
        for said_of_plans in (sweep.failing.words(asked.template), *of_sweep(sweep)):
            if said_of_plans:
                click.echo(said_of_plans, err=True)
        click.echo(said)

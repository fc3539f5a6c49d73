"""`planner hardware`: the accelerators of the database, and measuring this machine into a user's own CSV."""

from __future__ import annotations

from pathlib import Path

import click

from planner import catalog
from planner.commands.listing import group
from planner.commands.options import PATH, SECONDS
from planner.measure import interrupts

BUDGET_S = 60.0


command = group(
    "hardware",
    catalog.load_hardware,
    ("name", "peak_bf16", "hbm_bytes", "hbm_bandwidth"),
    "List the accelerators, show one with its sources, or measure this machine as one.",
    "--hardware-csv",
)


@command.command("add")
@click.option("--this-host", "name", metavar="NAME", required=True, help="The id of this machine's row.")
@click.option("--to", required=True, metavar="CSV", type=PATH, help="The CSV to add to, or to create.")
@click.option(
    "--budget",
    metavar="SECONDS",
    type=SECONDS,
    default=BUDGET_S,
    show_default=True,
    help="Start no case after this time, nor one that can't end by then.",
)
@click.option("--force", is_flag=True, help="Replace the row of the same id.")
def add(name: str, to: Path, budget: float, force: bool) -> None:
    """Measure this machine and add it to a CSV for --hardware-csv: matmul peaks, memory bandwidth, links.

    Each number is the best median over several sizes; the row's source columns say how it was measured and its
    spread. Ctrl-C leaves the CSV as it is.
    """
    from planner.compare.this_host import add as add_host
    from planner.number_text import percent, shown
    from planner.terminal_table import aligned

    with interrupts.noted():
        added = add_host(name, to, force=force, budget_s=budget, progress=lambda line: click.echo(line, err=True))
    click.echo(f"Added {name} to {to}")
    body = [[each.column, shown(each.value, each.unit), percent(each.spread), each.how] for each in added.figures]
    click.echo(aligned(["column", "value", "spread", "how"], body, right=["value", "spread"]))
    for note in added.notes:
        click.echo(f"Note: {note}")

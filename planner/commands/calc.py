"""`planner calc`: a template on the command line, one number explained down to its sources."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path

import click

from planner.commands.options import Greedy, databases, settings


@click.command("calc", cls=Greedy, context_settings={"show_default": True})
@click.argument("template")
@click.option("-m", "--model", metavar="MODEL", help="A model's id, as `planner models list` shows it.")
@click.option("-H", "--hardware", metavar="CHIP", help="A chip's id, as `planner hardware list` shows it.")
@settings
@click.option("--get", "wanted", metavar="NAME", multiple=True, help="Print only these rows. Repeatable.")
@click.option("--json", "as_json", is_flag=True, help="One object: name to raw number, null for N/A.")
@click.option("--why", metavar="NAME", help="Explain a number down to its inputs and their sources.")
@databases
def command(
    template: str, model: str | None, hardware: str | None, settings: tuple[str, ...], wanted: tuple[str, ...],
    as_json: bool, why: str | None, models_csv: Path | None, hardware_csv: Path | None,
) -> None:  # fmt: skip
    """Calculate TEMPLATE (a name, or a path that ends in .csv) for a model on a chip."""
    from planner import library, table, trace
    from planner.evaluate import evaluate
    from planner.facts import facts
    from planner.settings import values

    loaded = library.load(template)
    found = facts(loaded, model, hardware, models_csv, hardware_csv)
    results = evaluate(loaded, found, values(loaded, settings))
    if why is not None:
        click.echo(trace.explain(results, why, found))
        return
    names = [loaded.row(name).name for name in wanted] or [row.name for row in loaded.rows]
    if as_json:
        click.echo(jsonlib.dumps({name: results.value(name) for name in names}, indent=2))
        return
    rows = [loaded.row(name) for name in names]
    click.echo(table.aligned(
        ["name", "value", "unit", "formula"],
        [[row.name, table.shown(results.value(row.name)), row.unit, trace.in_names(row)] for row in rows],
        right=["value"],
    ))  # fmt: skip
    if unknown := trace.missing(results, names):
        click.echo(f"N/A because {', '.join(unknown)}: --set a value", err=True)
    for row in trace.failed(results):
        click.echo(f"Check failed: {row.label} ({row.name})", err=True)

"""`planner calc`: a template on the command line, one number explained down to its sources."""

from __future__ import annotations

import json as jsonlib
from typing import TYPE_CHECKING

import click

from planner.commands import options
from planner.commands.options import Greedy, settings

SENSES = "no more of a time, cost or memory, no less of a rate; say which with '<=' or '>='"

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planner.catalog import Value
    from planner.catalog.databases import Databases
    from planner.formulas.evaluation import Facts, Results
    from planner.formulas.template import Template


@click.command("calc", cls=Greedy, context_settings={"show_default": True})
@click.argument("template")
@click.option("-m", "--model", metavar="MODEL", help="A model's id, as `planner models list` shows it.")
@click.option("-H", "--hardware", metavar="CHIP", help="A chip's id, as `planner hardware list` shows it.")
@settings
@click.option("--get", "wanted", metavar="NAME", multiple=True, help="Print only these rows. Repeatable.")
@click.option("--json", "as_json", is_flag=True, help="One object: name to raw number, null for N/A.")
@click.option("--why", metavar="NAME", help="Explain a number down to its inputs and their sources.")
@click.option("--solve", "unknown", metavar="NAME", help="Find the input that meets the target of --for.")
@click.option("--for", "target", metavar="NAME=VALUE", help=f"The target: {SENSES}.")
@options.databases
def command(
    template: str, model: str | None, hardware: str | None, settings: tuple[str, ...], wanted: tuple[str, ...],
    as_json: bool, why: str | None, unknown: str | None, target: str | None, databases: Databases,
) -> None:  # fmt: skip
    """Calculate TEMPLATE (a name, or a path that ends in .csv) for a model on a chip.

    Numbers are printed where a check of the template fails too, and stderr names the check.
    """
    from planner.formulas import explanation as trace
    from planner.formulas import library
    from planner.formulas.evaluation import evaluate
    from planner.formulas.following import with_followers
    from planner.formulas.input_values import check_together, values, wholes
    from planner.formulas.lookups import facts

    loaded = library.load(template)
    found = facts(loaded, model, hardware, databases)
    given = values(loaded, settings)
    if unknown is not None or target is not None:
        given = given if unknown is None else with_followers(loaded, given, unknown)
        _solve(loaded, found, given, unknown, target, wanted, as_json)
        return
    results = evaluate(loaded, found, with_followers(loaded, given))
    check_together(given, {name: results.value(name) for name in (*given, *wholes(given)) if name in loaded.by_name})
    if why is not None:
        click.echo(trace.explain(results, why, _with_origins(found, databases)))
        _say_failed(results)
        return
    names = [loaded.row(name).name for name in wanted] or [row.name for row in loaded.rows]
    if as_json:
        click.echo(jsonlib.dumps({name: results.value(name) for name in names}, indent=2))
        return
    if not wanted:
        _lead(results, model, hardware, databases)
    _print(results, names)
    _say_failed(results)


def _with_origins(found: Facts, databases: Databases) -> Facts:
    """The facts, and where each number of a calibration is from."""
    from dataclasses import replace

    from planner.catalog.calibration_origins import calibration_origins

    said = calibration_origins(databases.calibrations_csv, only=databases.only)
    fitted = {("calibration", f"{identifier}.{name}"): text for (identifier, name), text in said.items()}
    return replace(found, origins={**found.origins, **fitted})


def _lead(results: Results, model: str | None, hardware: str | None, databases: Databases) -> None:
    """What to expect, before the table of all rows; nothing for a template that leads with nothing."""
    from planner.commands import leading

    if said := leading.lines(results, model, hardware, databases):
        click.echo("\n".join([*said, "", "All rows:"]))


def _print(results: Results, names: Sequence[str]) -> None:
    """A table of rows; on stderr what is missing for them."""
    from planner import table
    from planner.formulas import explanation as trace

    rows, whole = [results.template.row(name) for name in names], len(results.template.rows)
    click.echo(table.aligned(
        ["name", "value", "unit", "formula"],
        [[row.name, table.shown(results.value(row.name)), row.unit, trace.in_names(row)] for row in rows],
        right=["value"],
    ))  # fmt: skip
    # What a chip hasn't, as the torus of a switch's, is no reason as long as no calculated row waits for it; nor is a
    # published count, for which a check alone waits.
    waiting = [row.name for row in rows if row.kind in ("calc", "output") or len(rows) < whole]
    if missing := trace.missing(results, waiting):
        click.echo(f"N/A because {', '.join(missing)}: --set a value", err=True)


def _say_failed(results: Results) -> None:
    """Name the checks that fail, on stderr."""
    from planner.formulas import explanation as trace

    for row in trace.failed(results):
        click.echo(f"Check failed: {row.label} ({row.name})", err=True)


def _solve(
    template: Template, facts: Facts, given: Mapping[str, Value], unknown: str | None, target: str | None,
    wanted: Sequence[str], as_json: bool,
) -> None:  # fmt: skip
    """Print the input that meets a target."""
    from planner.errors import UserError
    from planner.formulas import solutions as solved
    from planner.formulas import solving as solve

    if unknown is None or target is None:
        what = "--solve NAME and --for NAME=VALUE belong together"
        raise UserError(what, remedy="write --solve batch --for time_per_output_token_expected=0.03")
    solution = solve.solve(template, facts, given, unknown, solve.parse_target(template, target))
    names = [template.row(name).name for name in wanted]
    if as_json:
        click.echo(jsonlib.dumps(solved.as_object(solution, names), indent=2))
        return
    click.echo("\n".join(solved.lines(solution)))
    for results in solution.answers.values() if names else ():
        click.echo("")
        _print(results, names)

"""`planner calc`: calculates a template on the command line, and explains numbers down to their sources."""

from __future__ import annotations

import json as jsonlib
from typing import TYPE_CHECKING, Any

import click

from planner.commands import options
from planner.commands.options import Greedy, settings
from planner.errors import UserError

SENSES = "at most, for a time, cost or memory; at least, for a rate; '<=' or '>=' says which"

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planner.api.calc import Calculation, PreparedPlan
    from planner.catalog import Value
    from planner.catalog.databases import Databases
    from planner.formulas.evaluation import Results


@click.command("calc", cls=Greedy, context_settings={"show_default": True})
@click.argument("template")
@click.option("-m", "--model", metavar="MODEL", help="A model's id, as `planner models list` shows it.")
@click.option("-H", "--hardware", metavar="CHIP", help="A chip's id, as `planner hardware list` shows it.")
@settings
@click.option(
    "--get", "wanted", metavar="NAME", multiple=True, help="Print only these rows; 'kv_*' is a pattern. Repeatable."
)
@click.option("--all", "in_full", is_flag=True, help="Print every row below the summary.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="One JSON object: name to number in SI units, null for N/A; without --get also `failed_checks`, `missing`.",
)
@click.option(
    "--why",
    "whys",
    metavar="NAME",
    multiple=True,
    help="Explain a number, down to its inputs and their sources. Repeatable.",
)
@click.option("--depth", type=click.IntRange(min=0), help="How many levels --why explains; by default all.")
@click.option("--solve", "unknown", metavar="NAME", help="Find the value of this input that meets --for.")
@click.option("--for", "target", metavar="NAME=VALUE", help=f"The target: {SENSES}.")
@options.databases
def command(
    template: str, model: str | None, hardware: str | None, settings: tuple[str, ...], wanted: tuple[str, ...],
    in_full: bool, as_json: bool, whys: tuple[str, ...], depth: int | None, unknown: str | None, target: str | None,
    databases: Databases,
) -> None:  # fmt: skip
    """Calculate TEMPLATE (a name such as training or inference, or the path of a CSV) for a model on a chip.

    A check that fails is named on stderr; the numbers are printed all the same.
    """
    from planner.api import leading
    from planner.api.calc import PreparedPlan
    from planner.formulas import library, requested_rows
    from planner.formulas.input_values import values

    if depth is not None and not whys:
        raise UserError("--depth says how far --why goes down", remedy="write --why NAME --depth 2")
    _refuse_together({"--solve": unknown is not None or target is not None, "--why": whys}, {"--all": in_full})
    _refuse_together({"--why": whys}, {"--json": as_json, "--get": wanted, "--all": in_full})
    loaded = library.load(template)
    plan = PreparedPlan.of(loaded, model, hardware, databases)
    given = values(loaded, settings)
    names = requested_rows.named(loaded, wanted)
    plan.warn_of_untaken(given)
    if unknown is not None or target is not None:
        _solve(plan, given, unknown, target, names, as_json)
        return
    calculation = plan.calculated(given)
    everything = None if in_full or as_json else leading.asked(loaded)
    chosen = requested_rows.named(loaded, whys) or names
    _warn_unread(plan, given, chosen or everything, is_summary=not chosen)
    if whys:
        click.echo(calculation.why(*whys, depth=depth))
    elif as_json:
        numbers = {name: calculation[name] for name in names or calculation}
        click.echo(jsonlib.dumps(numbers if names else _problems(calculation) | numbers, indent=2))
        if names:
            _say_missing(calculation.results, names)
    else:
        _say_failed(calculation)
        if not names:
            click.echo("\n".join(calculation.lines(in_full=in_full)))
        if names or in_full:
            _print(calculation.results, names or list(calculation))
    if whys or (as_json and names):
        _say_failed(calculation)


def _refuse_together(first: Mapping[str, object], others: Mapping[str, object]) -> None:
    """Raise UserError if two outputs are requested of which only one would be given."""
    asked = [name for name, is_asked in (*first.items(), *others.items()) if is_asked]
    if len(asked) > 1 and asked[0] in first:
        raise UserError(f"{asked[0]} and {asked[1]} ask for different answers", remedy="write one of them")


def _warn_unread(
    plan: PreparedPlan, given: Mapping[str, Value], asked: Sequence[str] | None, *, is_summary: bool = False
) -> None:
    """Warn of settings that affect neither the printed rows, nor whether the plan fits, nor a check on them.

    In a summary, also of those that are read and change nothing in this plan.
    """
    from planner import progress
    from planner.formulas.headlines import headline_template, memory_check
    from planner.formulas.requested_rows import unread, without_effect

    template = plan.template
    fits = memory_check(headline_template(template))
    checks = template.of_kind("check")
    targets = given.keys() - {name for row in template.rows if row.kind != "check" for name in row.reads}
    names_of_checks = [row.name for row in checks if row.name == fits or not targets.isdisjoint(row.reads)]
    warnings = unread(template, given, None if asked is None else [*asked, *names_of_checks])
    if is_summary and asked and plan.calculated(given)[asked[0]] is not None:  # with blanks nothing can be told
        printed = {*asked, *(row.name for row in checks)} - given.keys()
        warnings = without_effect(plan.prepared, given, printed) | warnings
    for warning in warnings.values():
        progress.warn(warning)


def _problems(calculation: Calculation) -> dict[str, Any]:
    """The failed checks, and why numbers are N/A, if there are any; for a program that asks for all rows."""
    parts = {"failed_checks": calculation.failed_checks, "missing": calculation.missing}
    return {key: said for key, said in parts.items() if said}


def _print(results: Results, names: Sequence[str]) -> None:
    """Print a table of rows, and on stderr what they lack."""
    from planner import terminal_table
    from planner.formulas import explanation as trace

    rows, whole = [results.template.row(name) for name in names], len(results.template.rows)
    click.echo(
        terminal_table.aligned(
            ["name", "value", "unit", "formula"],
            [[row.name, terminal_table.digits(results.value(row.name)), row.unit, trace.in_names(row)] for row in rows],
            right=["value"],
        )
    )
    # A missing property, such as the torus of a switched network, isn't reported unless a calculated row needs it;
    # nor is a published count that only a check needs.
    _say_missing(results, [row.name for row in rows if row.kind in ("calc", "output") or len(rows) < whole])


def _say_missing(results: Results, names: Sequence[str]) -> None:
    """Print on stderr what some rows lack."""
    from planner.formulas import explanation as trace

    if missing := trace.missing(results, names):
        click.echo(f"N/A because {', '.join(missing)}: --set a value", err=True)


def _say_failed(calculation: Calculation) -> None:
    """Print the failed checks on stderr, each with the numbers that it compares."""
    for line in calculation.failures:
        click.echo(line, err=True)


def _solve(
    plan: PreparedPlan, given: Mapping[str, Value], unknown: str | None, target: str | None, wanted: Sequence[str],
    as_json: bool,
) -> None:  # fmt: skip
    """Print the input that meets a target."""
    from planner import progress
    from planner.formulas import solutions as solved
    from planner.formulas import solving as solve
    from planner.formulas.following import with_followers
    from planner.terminal_table import digits

    if unknown is None or target is None:
        what = "--solve NAME and --for NAME=VALUE belong together"
        raise UserError(what, remedy="write --solve batch --for time_per_output_token_expected=0.03")
    template, is_own = plan.template, plan.databases.calibrations_csv is not None
    aim = solve.parse_target(template, target)
    solution = solve.solve(template, plan.facts, with_followers(template, given, unknown), unknown, aim)
    _warn_unread(plan, {name: value for name, value in given.items() if name != unknown}, [aim.row.name, *wanted])
    if unknown in given:
        progress.warn(f"--solve {unknown} replaces --set {unknown}={digits(given[unknown])}")
    if as_json:
        click.echo(jsonlib.dumps(solved.as_object(solution, wanted), indent=2))
        return
    click.echo("\n".join(solved.lines(solution, is_own=is_own)))
    for results in solution.answers.values() if wanted else ():
        click.echo("")
        _print(results, wanted)

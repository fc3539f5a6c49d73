"""`planner scenario`: lists, adds, renames and removes the scenarios of a workbook that an analyst has edited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from planner.commands.options import PATH, Greedy, Group, as_it_was, repeatable, say, settings


@click.group("scenario", cls=Group)
def command() -> None:
    """List, add, rename or remove the scenarios of a workbook."""


@command.command("list")
@click.argument("file", type=PATH)
def list_scenarios(file: Path) -> None:
    """List the scenarios of FILE: id, shown name, model, chip and workload."""
    from planner.scenario.which import scenarios
    from planner.terminal_table import aligned
    from planner.xlsx.opc import Package

    header, rows = scenarios(Package.read(file))
    click.echo(aligned(header, rows))


@command.command("add", cls=Greedy)
@click.argument("file", type=PATH)
@click.argument("name", required=False)
@click.option("-m", "--model", metavar="MODEL", help="An id of the workbook's Models sheet.")
@click.option("-H", "--hardware", metavar="CHIP", help="An id of the workbook's Hardware sheet.")
@settings
@click.option("--workload", metavar="NAME", help="training or inference. Its sheets are added if absent.")
@click.option("--like", metavar="SCENARIO", help="The scenario to copy; by default the last of the workload.")
@click.option("--keep-overrides", is_flag=True, help="Also copy its overrides.")
@repeatable("--template", "templates", metavar="FILE", help="A template of your own, if its sheet is to be added.")
def add(
    file: Path,
    name: str | None,
    model: str | None,
    hardware: str | None,
    settings: tuple[str, ...],
    workload: str | None,
    like: str | None,
    keep_overrides: bool,
    templates: tuple[str, ...],
) -> None:
    """Add a scenario called NAME to FILE: one more column on Inputs, Dashboard, Checks and every calculation sheet.

    Its inputs are those of the last scenario of the same workload, except what -m, -H and --set change. Its formulas
    are the original ones: overrides, and numbers typed over formulas, are not copied. Without a NAME it is named
    after its model and chip.

    If FILE lacks the sheets of the workload, they are added, and the old file is kept as FILE.bak.xlsx.
    """
    from planner import progress
    from planner.formulas.input_values import parsed
    from planner.scenario.add import NewScenario, add_to_file
    from planner.scenario.which import columns_in_words
    from planner.update.outcome import lines

    request = NewScenario(name, model, hardware, parsed(settings), like, keep_overrides, workload, templates)
    added, backup = add_to_file(file, request)
    for lack in added.unanswered:
        progress.warn(f"{lack}; type it on Inputs, or in the workbook's tables of models and chips")
    meant = f", for {added.workload}" if added.workload else ""
    done = f"added {added.id} in {columns_in_words(added.columns)}, like {added.like}{meant}."
    remarks = added.remarks + (lines(added.updated, 4)[1:] if added.updated else [])
    say(file, _outcome(done, remarks, added.recalculated.note if added.recalculated else "", backup))


@command.command("rename")
@click.argument("file", type=PATH)
@click.argument("scenario", metavar="ID")
@click.argument("name", metavar="NEW_NAME")
def rename(file: Path, scenario: str, name: str) -> None:
    """Give the scenario ID of FILE another shown name; "" goes back to its model and chip. Its id stays."""
    from planner.scenario.which import rename_in_file

    identifier, recalculated = rename_in_file(file, scenario, name)
    done = f"{identifier} is shown as {name.strip() or 'its model and chip'}."
    say(file, _outcome(done, [], recalculated.note))


@command.command("remove")
@click.argument("file", type=PATH)
@click.argument("scenario", metavar="ID")
def remove(file: Path, scenario: str) -> None:
    """Remove the scenario ID from FILE: its column on every sheet.

    What you typed elsewhere stays. Your formulas that read the scenario become #REF! and are listed. The old file is
    kept as FILE.bak.xlsx.
    """
    from planner.scenario.remove import remove_from_file
    from planner.scenario.which import columns_in_words

    removed, backup = remove_from_file(file, scenario)
    done = f"removed {removed.id}, {columns_in_words(removed.columns)}."
    say(file, _outcome(done, removed.remarks, removed.recalculated.note, backup))


def _outcome(done: str, remarks: Iterable[str], note: str, backup: Path | None = None) -> Iterator[str]:
    """Lines on what was done, and remarks for the user."""
    return filter(None, (done, *remarks, note, *as_it_was(backup)))

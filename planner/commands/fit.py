"""`planner fit`: fits a stack to a user's own runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner.commands import options
from planner.commands.options import PATH, as_it_was, force, refuse_existing, say

if TYPE_CHECKING:
    from planner.catalog.databases import Databases


@click.command("fit")
@click.argument("file", type=PATH)
@options.databases
@click.option("-o", "--output", type=PATH, help="The CSV of calibrations to write; else FILE-calibrations.csv.")
@click.option("--name", default="mine", show_default=True, help="What the stack is called.")
@click.option("-H", "--hardware", "chip", metavar="CHIP", default="", help="The chip of measurements that name none.")
@click.option("--device", metavar="TEXT", default="", help="What the runs were on, where FILE doesn't say it.")
@force
def command(
    file: Path, databases: Databases, output: Path | None, name: str, chip: str, device: str, force: bool
) -> None:
    """Fit the runs of FILE, and write them as a stack of your own for --calibrations and the dropdown of stack.

    FILE is a workbook with measured cases or a table of runs on Comparison; a CSV of runs, with the columns of
    `planner validate`; or the measurements.csv of `planner measure`. The fit starts from the shipped calibration, so
    that a few runs change only what they determine. Without -o, the stack is also written into the workbook, with a
    sheet Fit that says which runs were used; where nothing moves, the workbook stays as it is.
    """
    from planner import progress
    from planner.fit.fit import fit
    from planner.update.outcome import lines

    target = output or file.parent / f"{file.stem}-calibrations.csv"
    refuse_existing(target, force=force)
    progress.step("fitting the runs")
    found = fit(file, databases, name, device, chip)
    progress.clear()
    into = file if output is None and found.is_workbook else None
    filled = found.write(target, into)
    for line in found.lines():
        click.echo(line)
    if filled is not None:
        note = f"Sheet {filled.sheet}: what was fitted, and which runs were used"
        note += f"; choose the stack {found.first} on Inputs to expect by it"
        note += ", and as the software stack of cases on Comparison" if found.has_cases else ""
        say(file, [*lines(filled.updated, 4, rest=""), note, *as_it_was(filled.backup)])
    elif into is not None:
        say(
            into,
            [f"as it was, for no parameter moved; planner update {into} --calibrations {target} brings the ranges"],
        )
    click.echo(f"Wrote {target}: --calibrations {target} reads it, and --set stack={found.first} uses it.")

"""`planner export-inputs`: the scenarios of a workbook as a CSV that `planner build --scenarios` reads."""

from __future__ import annotations

import os
from pathlib import Path

import click

from planner.commands.options import PATH, force, refuse_existing


@click.command("export-inputs")
@click.argument("file", type=PATH)
@click.option("-o", "--output", type=PATH, default="scenarios.csv", show_default=True, help="The CSV; - prints it.")
@force
def command(file: Path, output: Path, force: bool) -> None:
    """Write the inputs of each scenario of FILE as a CSV: its inputs, overrides, model and chip.

    `planner build --scenarios` makes a workbook with the same results from it. What the CSV can't hold is listed.
    If a scenario uses a model or a chip of your own, the sheet Models or Hardware is written as a CSV too, and if it
    uses a stack of your own, its calibration.
    """
    from planner.book.read_plan import read_plan
    from planner.formulas import library
    from planner.scenario.export import export
    from planner.scenario.exported_tables import CALIBRATIONS, OPTIONS
    from planner.terminal_table import counted
    from planner.xlsx.atomic import write_atomically

    to_screen = str(output) == "-"
    refuse_existing(output, force=force or to_screen)
    exported = export(read_plan(file))
    databases = {kind: output.with_name(f"{output.stem}-{kind}.csv") for kind in exported.databases}
    for path in databases.values():
        refuse_existing(path, force=force or to_screen)
    if to_screen:
        click.echo(exported.text().encode(), nl=False)  # always UTF-8, which its readers expect
    else:
        write_atomically(output, exported.text().encode())
        for kind, path in databases.items():
            write_atomically(path, exported.databases[kind].encode())
    shipped = library.names()
    places = {each: None if each in shipped else _file_of(each, file, output) for each in exported.templates}
    named = (each if each in shipped else str(places[each] or f"{each}.csv") for each in exported.templates)
    templates = "" if exported.is_default else "".join(f" --template {quoted(name)}" for name in named)
    options = "".join(f" {OPTIONS[kind]} {quoted(str(path))}" for kind, path in databases.items())
    if not to_screen:
        count = counted(len(exported.rows), "scenario")
        click.echo(f"Wrote {output}: {count}, {len(exported.header)} columns.")
        tables = {path: kind for kind, path in databases.items() if kind != CALIBRATIONS}
        if tables:
            written = " and ".join(f"{path} ({kind})" for path, kind in tables.items())
            click.echo(f"Wrote {written}: those of this workbook, yours among them.")
        if CALIBRATIONS in databases:
            click.echo(f"Wrote {databases[CALIBRATIONS]}: the scenarios' stacks of your own.")
        click.echo(f"planner build --scenarios {quoted(str(output))}{templates}{options} makes a workbook of it.")
    lost = [f"{each}.csv" for each, place in places.items() if place is None and each not in shipped]
    lacking = (f"{each} is neither here nor beside {file}: write its folder before it" for each in lost)
    for remark in (*exported.remarks, *lacking):
        click.echo(f"  {remark}", err=to_screen)


def _file_of(template: str, *beside: Path) -> Path | None:
    """The file of a template of the user's in the current folder, else beside one of these files; None if it isn't."""
    places = (folder / f"{template}.csv" for folder in (Path(), *(each.parent for each in beside)))
    return next((place for place in places if place.is_file()), None)


def quoted(word: str) -> str:
    """A command-line word quoted for this system's shell."""
    import shlex
    import subprocess

    return subprocess.list2cmdline([word]) if os.name == "nt" else shlex.quote(word)

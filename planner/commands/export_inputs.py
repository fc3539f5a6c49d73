"""`planner export-inputs`: the scenarios of a workbook as a CSV that `planner build --scenarios` reads."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("export-inputs")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("scenarios.csv"), show_default=True,
              help="The CSV; - prints it.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace the output where it exists.")
def command(file: Path, output: Path, force: bool) -> None:
    """Write what is typed for each scenario of FILE as a CSV: its inputs, its overrides, its model and chip.

    `planner build --scenarios` makes a workbook with the same results of it. What the CSV can't say is listed.
    """
    from planner.editing.export import export
    from planner.errors import Place, UserError
    from planner.reading import read_plan
    from planner.scenarios import DEFAULT_TEMPLATES
    from planner.xlsx.atomic import write_atomically

    to_screen = str(output) == "-"
    if output.exists() and not force and not to_screen:
        remedy = "choose another with -o, or replace it with --force"
        raise UserError("the file exists", place=Place(output), remedy=remedy)
    exported = export(read_plan(file))
    if to_screen:
        click.echo(exported.text(), nl=False)
    else:
        write_atomically(output, exported.text().encode())
    count = len(exported.rows)
    templates = "".join(f" --template {name}" for name in exported.templates)
    if list(DEFAULT_TEMPLATES) == exported.templates:
        templates = ""
    if not to_screen:
        click.echo(f"Wrote {output}: {count} scenario{'s' if count != 1 else ''}, {len(exported.header)} columns.")
        click.echo(f"planner build --scenarios {output}{templates} makes a workbook of it.")
    for remark in exported.remarks:
        click.echo(f"  {remark}", err=to_screen)

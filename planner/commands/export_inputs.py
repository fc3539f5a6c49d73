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

    `planner build --scenarios` makes a workbook with the same results of it. What the CSV can't say is listed. Where a
    scenario has a model or a chip of your own, the workbook's Models or Hardware are written beside it as a CSV.
    """
    from shlex import quote

    from planner.book.reading import read_plan
    from planner.errors import Place, UserError
    from planner.formulas import library
    from planner.scenario.export import OPTIONS, export
    from planner.workbook.scenarios import DEFAULT_TEMPLATES
    from planner.xlsx.atomic import write_atomically

    to_screen = str(output) == "-"

    def refuse(path: Path) -> None:
        if path.exists() and not force and not to_screen:
            remedy = "choose another with -o, or replace it with --force"
            raise UserError("the file exists", place=Place(path), remedy=remedy)

    refuse(output)
    exported = export(read_plan(file))
    databases = {kind: output.with_name(f"{output.stem}-{kind}.csv") for kind in exported.databases}
    for path in databases.values():
        refuse(path)
    if to_screen:
        click.echo(exported.text(), nl=False)
    else:
        for kind, path in databases.items():
            write_atomically(path, exported.databases[kind].encode())
        write_atomically(output, exported.text().encode())
    count = len(exported.rows)
    shipped = library.names()
    files = (name if name in shipped else f"{name}.csv" for name in exported.templates)
    templates = "".join(f" --template {quote(name)}" for name in files)
    if list(DEFAULT_TEMPLATES) == exported.templates:
        templates = ""
    tables = "".join(f" {OPTIONS[kind]} {quote(str(path))}" for kind, path in databases.items())
    if not to_screen:
        click.echo(f"Wrote {output}: {count} scenario{'s' if count != 1 else ''}, {len(exported.header)} columns.")
        if databases:
            held = " and ".join(f"{path} ({kind})" for kind, path in databases.items())
            click.echo(f"Wrote {held}: those of this workbook, yours among them.")
        click.echo(f"planner build --scenarios {quote(str(output))}{templates}{tables} makes a workbook of it.")
    for remark in exported.remarks:
        click.echo(f"  {remark}", err=to_screen)

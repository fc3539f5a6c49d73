"""`list` and `show` for a database: the models or the accelerators."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Callable
from pathlib import Path

import click

from planner.catalog import Table, Value
from planner.commands.options import PATH, own_csv
from planner.errors import UserError

Loader = Callable[..., Table]


def group(
    name: str, loader: Callable[[], Loader], columns: tuple[str, ...], help_text: str, option: str
) -> click.Group:
    """A command group with `list` and `show`. `loader` is called late, so that --help stays quick.

    `option` is called as in the commands that calculate: it adds a CSV of a person's own.
    """

    @click.group(name, help=help_text)
    def commands() -> None: ...

    file = click.option("--file", type=PATH, help="Read this CSV instead of the shipped one.")
    added = own_csv(option, "own", help="Read this CSV of yours before the shipped one.")
    as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON; null for N/A.")

    def table(file: Path | None, own: Path | None) -> Table:
        if file and own:
            what = f"{option} adds to the shipped rows, --file stands in their place"
            raise UserError(what, remedy="give one of the two")
        return loader()(file or own, only=own is None)

    @commands.command("list")
    @file
    @added
    @as_json
    def list_rows(file: Path | None, own: Path | None, as_json: bool) -> None:
        """List them, a line each."""
        from planner.terminal_table import aligned, digits

        rows = table(file, own).rows
        if as_json:
            found: list[dict[str, Value]] = [
                {"id": key, **{name: row.get(name) for name in columns}} for key, row in rows.items()
            ]
            click.echo(jsonlib.dumps(found, indent=2))
            return
        body = [[key, *(digits(row.get(name)) for name in columns)] for key, row in rows.items()]
        click.echo(aligned(["id", *columns], body, right=columns[1:]))

    @commands.command("show")
    @click.argument("identifier", metavar="ID")
    @file
    @added
    @as_json
    def show_row(identifier: str, file: Path | None, own: Path | None, as_json: bool) -> None:
        """Show every number of one, with units and sources."""
        from planner.terminal_table import aligned, digits

        found = table(file, own)
        row = found.row(identifier)
        if as_json:
            click.echo(jsonlib.dumps({"id": found.identify(identifier)} | dict(row), indent=2))
            return
        body = [[column.name, column.unit, digits(row.get(column.name), column.name)] for column in found.columns]
        click.echo(aligned(["column", "unit", "value"], body))

    return commands

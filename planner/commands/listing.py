"""`list` and `show` for a database: the models or the accelerators."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Callable
from pathlib import Path

import click

from planner.catalog import Table
from planner.commands.options import PATH, Group, own_csv
from planner.errors import UserError


def group(name: str, load: Callable[..., Table], columns: tuple[str, ...], help_text: str, option: str) -> click.Group:
    """A command group with `list`, of these columns, and `show` for the table that `load` reads.

    `option` is the name of the option that adds a user's CSV, as in the commands that calculate.
    """

    @click.group(name, cls=Group, help=help_text)
    def commands() -> None: ...

    file = click.option("--file", type=PATH, help="Read this CSV instead of the shipped one.")
    added = own_csv(option, "own", help="Read this CSV of yours before the shipped one.")
    as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON; null for N/A.")

    def table(file: Path | None, own: Path | None) -> Table:
        if file and own:
            what = f"{option} adds to the shipped rows, --file stands in their place"
            raise UserError(what, remedy="give one of the two")
        return load(file or own, only=own is None)

    @commands.command("list")
    @file
    @added
    @as_json
    def list_rows(file: Path | None, own: Path | None, as_json: bool) -> None:
        """List them, a line each."""
        click.echo(_list(table(file, own), columns, as_json))

    @commands.command("show")
    @click.argument("identifier", metavar="ID")
    @file
    @added
    @as_json
    def show_row(identifier: str, file: Path | None, own: Path | None, as_json: bool) -> None:
        """Show every number of one, with units and sources."""
        click.echo(_row(table(file, own), identifier, as_json))

    return commands


def _list(found: Table, columns: tuple[str, ...], as_json: bool) -> str:
    """These columns of all rows."""
    from planner.terminal_table import aligned, digits

    if as_json:
        return jsonlib.dumps(
            [{"id": key, **{name: row.get(name) for name in columns}} for key, row in found.rows.items()], indent=2
        )
    body = [[key, *(digits(row.get(name)) for name in columns)] for key, row in found.rows.items()]
    return aligned(["id", *columns], body, right=columns[1:])


def _row(found: Table, identifier: str, as_json: bool) -> str:
    """All columns of one row."""
    from planner.terminal_table import aligned, digits

    row = found.row(identifier)
    if as_json:
        return jsonlib.dumps({"id": found.identify(identifier)} | dict(row), indent=2)
    body = [[column.name, column.unit, digits(row.get(column.name), column.name)] for column in found.columns]
    return aligned(["column", "unit", "value"], body)

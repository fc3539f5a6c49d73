"""`planner templates`: the shipped templates, and the rows of one."""

from __future__ import annotations

import json as jsonlib

import click


@click.group("templates")
def command() -> None:
    """List the templates, or show one row by row."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def list_templates(as_json: bool) -> None:
    """One line for each template: its name and what it calculates."""
    from planner import library
    from planner.table import aligned

    loaded = [library.load(name) for name in library.names()]
    if as_json:
        click.echo(jsonlib.dumps([{"name": t.name, "rows": len(t.rows)} for t in loaded], indent=2))
        return
    body = [[t.name, str(len(t.rows)), ", ".join(row.name for row in t.of_kind("output"))] for t in loaded]
    click.echo(aligned(["template", "rows", "outputs"], body, right=["rows"]))


@command.command("show")
@click.argument("template")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def show_template(template: str, as_json: bool) -> None:
    """Every row of TEMPLATE, includes laid out: name, unit, kind, formula and source."""
    from planner import library
    from planner.table import aligned
    from planner.trace import in_names

    fields = ("name", "label", "unit", "kind", "formula", "source", "note")
    rows = library.load(template).rows
    if as_json:
        click.echo(jsonlib.dumps([{field: getattr(row, field) for field in fields} for row in rows], indent=2))
        return
    body = [[row.name, row.unit, row.kind, in_names(row) or row.formula, row.source] for row in rows]
    click.echo(aligned(["name", "unit", "kind", "formula", "source"], body))

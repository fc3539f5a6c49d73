"""`planner templates`: lists the shipped templates, shows the rows of one, and writes a Markdown page for each."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path

import click

from planner.commands.options import PATH, Group


@click.group("templates", cls=Group)
def command() -> None:
    """List the templates, show one row by row, or write a page for each."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def list_templates(as_json: bool) -> None:
    """List the templates, with what each calculates."""
    from planner.formulas import library
    from planner.formulas.synonyms import about
    from planner.terminal_table import aligned

    shelf = library.shelf()
    if as_json:
        listed = [{"name": each.name, "rows": len(each.rows), "about": about(each.name)} for each in shelf]
        click.echo(jsonlib.dumps(listed, indent=2))
        return
    body = [[each.name, str(len(each.rows)), about(each.name)] for each in shelf]
    click.echo(aligned(["template", "rows", "what it calculates"], body, right=["rows"]))


@command.command("show")
@click.argument("template")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def show_template(template: str, as_json: bool) -> None:
    """Show every row of TEMPLATE and of what it includes: name, unit, kind, formula and source."""
    from planner.formulas import library
    from planner.formulas.explanation import in_names
    from planner.terminal_table import aligned

    fields = ("name", "label", "unit", "kind", "formula", "source", "note")
    rows = library.load(template).rows
    if as_json:
        click.echo(jsonlib.dumps([{field: getattr(row, field) for field in fields} for row in rows], indent=2))
        return
    body = [[row.name, row.unit, row.kind, in_names(row) or row.formula, row.source] for row in rows]
    click.echo(aligned(["name", "unit", "kind", "formula", "source"], body))


@command.command("page")
@click.argument("templates", nargs=-1, metavar="[TEMPLATE ...]")
@click.option("--to", "folder", type=PATH, help="Write the pages, those of included templates, and an index.")
def page_of_template(templates: tuple[str, ...], folder: Path | None) -> None:
    """Write a Markdown page for TEMPLATE (a name, or the path of a CSV); without one, for all shipped templates."""
    from planner.errors import UserError
    from planner.formulas import library
    from planner.formulas.template_page import page, pages
    from planner.xlsx.atomic import write_atomically

    if folder is None and len(templates) != 1:
        raise UserError("several pages need a folder", remedy="name one template, or the folder with --to")
    loaded = [library.load(name) for name in templates or library.names()]
    if folder is None:
        click.echo(page(loaded[0]), nl=False)
        return
    written = pages(loaded)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in written.items():
        write_atomically(folder / name, text.encode())
    click.echo(f"Wrote {len(written)} pages to {folder}.")

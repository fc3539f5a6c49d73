"""`planner show`: a workbook as text for `git diff`."""

from __future__ import annotations

from pathlib import Path

import click

from planner.commands.options import PATH


@click.command("show")
@click.argument("file", type=PATH)
@click.option("--sheet", "names", multiple=True, metavar="NAME", help="Print only this sheet. Repeatable.")
@click.option("--formulas/--values", "formulas", default=None, help="Only formulas, or only values; by default both.")
def command(file: Path, names: tuple[str, ...], formulas: bool | None) -> None:
    """Print FILE as text: each row by its name, each value by its scenario.

    The same workbook gives the same text; an inserted row or a moved column changes no other line. For `git diff`,
    put `*.xlsx diff=planner` into .gitattributes and run `git config diff.planner.textconv "planner show"`.
    """
    from planner.book.read_plan import read_workbook
    from planner.diff.workbook_as_text import Shown, lines, plain_lines
    from planner.errors import Place, UserError, nearest
    from planner.xlsx.opc import Package
    from planner.xlsx.workbook_part import parse_sheets

    shown: Shown = "both" if formulas is None else "formulas" if formulas else "values"
    package = Package.read(file)
    known = list(package.sheets())
    for name in names:
        if name not in known:
            raise UserError(f"there is no sheet {name!r}", place=Place(file), remedy=nearest(name, known))
    wanted = names or known
    try:
        plan = read_workbook(package)
    except UserError:  # not a planner workbook; shown nevertheless
        sheets = parse_sheets(package)
        for name in wanted:
            click.echo("\n".join(plain_lines(name, sheets[name], shown)))
        return
    click.echo("\n".join(lines(plan, wanted, shown)))

"""`planner check`: checks a workbook against the rules that it must keep."""

from __future__ import annotations

from pathlib import Path

import click

from planner import garbage_collection
from planner.commands.options import PATH


@click.command("check")
@click.argument("file", type=PATH)
@click.option("--json", "as_json", is_flag=True, help="One object: file, findings, overrides, notes, rules_checked.")
@click.pass_context
@garbage_collection.paused()
def command(ctx: click.Context, file: Path, as_json: bool) -> None:
    """Check the workbook FILE: failed checks of the plan, inputs out of range, overrides, broken or stale formulas.

    Sheets, rows, notes and charts that you added are allowed. The rules are listed in docs/checking.md. Exit code 0:
    no findings; 1: findings, or numbers typed over formulas; 2: the file can't be checked.
    """
    from planner import progress
    from planner.check.run import as_object, as_text, check
    from planner.xlsx.opc import Package

    progress.step(f"reading, computing and checking {file}")
    report = check(Package.read(file))
    progress.clear()
    click.echo(as_object(report) if as_json else as_text(report))
    ctx.exit(0 if report.is_clean else 1)

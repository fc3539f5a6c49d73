"""`planner measure`: time the cases of a workbook's Comparison on this machine and write the numbers in."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("measure")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--case", "only", metavar="KEY", multiple=True, help="Only the cases whose key or label holds this text.")
@click.option(
    "--budget",
    metavar="SECONDS",
    type=float,
    default=float("inf"),
    help="Begin no further case after this long.",
)
@click.option("--keep-profiles", type=click.Path(path_type=Path), help="Keep the profiler's files in this folder.")
def command(file: Path, only: tuple[str, ...], budget: float, keep_profiles: Path | None) -> None:
    """Measure the cases that the Comparison of FILE lists, and write the medians beside the predictions.

    Nothing else in FILE changes but the values that depend on them. Ctrl-C keeps what was measured.
    """
    from planner.comparison import measuring
    from planner.xlsx.opc import Package

    package = Package.read(file)
    cases = measuring.cases_of(package, only)
    done = measuring.measure(
        cases, budget_s=budget, profiles_to=keep_profiles, progress=lambda line: click.echo(line, err=True)
    )
    result = measuring.fill(package, cases, done)
    package.write(file)
    counts = {status: sum(row.status == status for row in done) for status in dict.fromkeys(row.status for row in done)}
    click.echo(f"{file}: " + ", ".join(f"{count} {status}" for status, count in counts.items()) + f"; {result.note}")

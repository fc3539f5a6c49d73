"""`planner record`: a time from someone's own run, into its row of a workbook's Comparison."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("record")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--case", "key", metavar="KEY", required=True, help="The key or the label of the row, or a part of one.")
@click.option("--time", "seconds", metavar="SECONDS", type=float, required=True, help="The time of one run.")
@click.option("--note", help="What a reader should know about the run.")
def command(file: Path, key: str, seconds: float, note: str | None) -> None:
    """Write a time of SECONDS into the row of FILE's Comparison that KEY means; its ratio and MFU follow."""
    from planner.comparison.recording import record

    click.echo(f"{file}: {record(file, key, seconds, note)}")

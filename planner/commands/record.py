"""`planner record`: a time from someone's own run, into its row of a workbook's Comparison."""

from __future__ import annotations

from pathlib import Path

import click

from planner.commands.options import PATH


@click.command("record")
@click.argument("file", type=PATH)
@click.option("--case", "key", metavar="KEY", required=True, help="The row: its label, its key, a part of one, or 24.")
@click.option("-H", "--hardware", "chip", metavar="CHIP", default="", help="Which of the case's rows, by its chip.")
@click.option("--time", "time", metavar="TIME", required=True, help="The time of one run: seconds, or 3ms, 250us.")
@click.option("--note", help="What a reader should know about the run.")
def command(file: Path, key: str, chip: str, time: str, note: str | None) -> None:
    """Write a TIME into the row of FILE's Comparison that KEY means; its ratio and MFU follow."""
    from planner.compare.recording import record, seconds_of

    click.echo(f"{file}: {record(file, key, seconds_of(time), note, chip)}")

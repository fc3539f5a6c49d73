"""`planner record`: a run of someone's own, a case of a workbook's Comparison or a run of the plan itself."""

from __future__ import annotations

from pathlib import Path

import click

from planner.commands.options import PATH


@click.command("record")
@click.argument("file", type=PATH)
@click.option("--case", "key", metavar="KEY", help="A case: its label, its key, a part of one, or its row, as 24.")
@click.option("-H", "--hardware", "chip", metavar="CHIP", default="", help="Which of the case's rows, by its chip.")
@click.option("--scenario", metavar="ID", help="A run of the plan: the scenario, by its id or its name.")
@click.option("--time", "time", metavar="TIME", help="The time of one run: seconds, or 6.4s, 3ms, 250us.")
@click.option("--tokens-per-second", "rate", metavar="N", help="In place of a time, of a scenario.")
@click.option("--mfu", metavar="SHARE", help="In place of a time, of a scenario that trains: 41%, 0.41.")
@click.option("--of", "row", metavar="NAME", default="", help="What took the time, if not the step: a headline's name.")
@click.option("--device", metavar="TEXT", default="", help="What a scenario's run was on, as its driver names it.")
@click.option("--note", help="What a reader should know about the run.")
def command(
    file: Path, key: str | None, chip: str, scenario: str | None, time: str | None, rate: str | None, mfu: str | None,
    row: str, device: str, note: str | None,
) -> None:  # fmt: skip
    """Write a run into FILE's Comparison: a TIME of the case that KEY means, or a run of a scenario.

    A case's ratio and MFU follow. A run of a scenario has a row in the table of runs below the cases, beside what the
    plan expects of it today; later edits of the plan don't move that. --of is a step by default: of training the step,
    of inference the decode step; or time_per_output_token, time_to_first_token, prefill_time, static_batch_time.
    """
    from planner.compare.recording import record, seconds_of
    from planner.errors import UserError
    from planner.scenario import record as runs

    told = [
        (text, unit) for text, unit in ((time, runs.TIME), (rate, runs.RATE), (mfu, runs.SHARE)) if text is not None
    ]
    if (key is None) == (scenario is None):
        raise UserError("say what was run", remedy="--case KEY for a row of the Comparison, or --scenario ID")
    if len(told) != 1 or (key is not None and time is None):
        remedy = "--time TIME" if key is not None else "--time TIME, --tokens-per-second N or --mfu SHARE"
        raise UserError("say how fast it was, once", remedy=remedy)
    if key is not None:
        click.echo(f"{file}: {record(file, key, seconds_of(told[0][0]), note, chip)}")
    elif scenario is not None:
        facts = {"note": note or "", "device": device}
        click.echo(f"{file}: {runs.record(file, scenario, runs.Told(*told[0], row), facts)}")

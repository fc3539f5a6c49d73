"""`planner record`: records a user's own run, as a case of a workbook's Comparison or a run of the plan."""

from __future__ import annotations

from pathlib import Path

import click

from planner.commands.options import PATH, as_it_was, say


@click.command("record")
@click.argument("file", type=PATH)
@click.option("--case", "key", metavar="KEY", help="A case: its label or key, part of one, or its row number.")
@click.option(
    "-H", "--hardware", "chip", metavar="CHIP", default="", help="The chip: which row of a case; a scenario's own."
)
@click.option("--scenario", metavar="ID", help="The scenario that was run, by id or name; not needed for one.")
@click.option("--time", "time", metavar="TIME", help="The time of one run: seconds, or 6.4s, 3ms, 250us.")
@click.option("--tokens-per-second", "rate", metavar="N", help="For a scenario, instead of --time.")
@click.option("--mfu", metavar="SHARE", help="For training, instead of --time: 41% or 0.41.")
@click.option("--of", "what", metavar="NAME", default="", help="What was timed, if not a step: a headline's name.")
@click.option("--device", metavar="TEXT", default="", help="The device that ran it, as its driver names it.")
@click.option("--note", help="What a reader should know about the run.")
@click.option("--remove", "row", metavar="ROW", type=int, help="Remove a run of a scenario, by its row on Comparison.")
def command(
    file: Path, key: str | None, chip: str, scenario: str | None, time: str | None, rate: str | None, mfu: str | None,
    what: str, device: str, note: str | None, row: int | None,
) -> None:  # fmt: skip
    """Write a measured run into the Comparison sheet of FILE: the time of a case, or a run of a whole scenario.

    A run of a scenario is a row of the table of runs below the cases, with what the plan expects of it now; later
    edits of the plan leave that number as it is. --of says what was timed: by default the training step or the
    decode step; else time_per_output_token (tpot), time_to_first_token (ttft) or request_time (end to end) on an idle
    machine, time_to_first_token_full or request_time_full with as many requests in flight as the batch, prefill_time
    or static_batch_time.

    --remove takes such a run out again; those below it move up. The old file is kept as FILE.bak.xlsx.
    """
    from planner.compare.recorded_time import record
    from planner.errors import UserError
    from planner.scenario import record as runs

    stated = [
        (text, unit) for text, unit in ((time, runs.TIME), (rate, runs.RATE), (mfu, runs.SHARE)) if text is not None
    ]
    if row is not None:
        if stated or key is not None or scenario is not None:
            raise UserError("--remove takes no run to record", remedy=f"give the row alone: --remove {row}")
        done, backup = runs.remove(file, row)
        say(file, [*done, *as_it_was(backup)])
        return
    if key is not None and scenario is not None:
        raise UserError("a run is of a case or of a scenario", remedy="give --case KEY or --scenario ID, not both")
    if len(stated) != 1 or (key is not None and time is None):
        remedy = "--time TIME" if key is not None else "--time TIME, --tokens-per-second N or --mfu SHARE"
        raise UserError("give one measured value", remedy=remedy)
    if key is not None and what:
        raise UserError("--of is of a scenario", remedy="leave it away: a case has one time")
    if key is not None:
        click.echo(f"{file}: {record(file, key, stated[0][0], note, chip, device)}")
    else:
        facts = {"note": note or "", "device": device}
        click.echo(f"{file}: {runs.record(file, scenario or '', runs.StatedRun(*stated[0], what), facts, chip)}")

"""`planner ingest`: reads a profile of a run, and writes it into the workbook of its plan."""

from __future__ import annotations

from pathlib import Path

import click

from planner.commands.options import PATH, say


@click.command("ingest")
@click.argument("profiles", metavar="PROFILE...", type=PATH, nargs=-1, required=True)
@click.option("--csv", "csv_path", type=PATH, help="Write the operations that are cases here, for planner backfill.")
@click.option("--into", type=PATH, metavar="FILE", help="The workbook of the plan whose run it is.")
@click.option("--scenario", metavar="ID", default="", help="Which scenario it is a run of, by its id or its name.")
@click.option("--of", "row", metavar="NAME", default="", help="What a step of it is, as in planner record.")
@click.option("--steps", metavar="KIND", default="", help="Which: prefill, decode, mixed, or a part of their name.")
@click.option("-H", "--device", "--hardware", "device", metavar="CHIP", default="", help="The chip, if it isn't named.")
@click.option("--note", default="", help="What a reader should know about the run.")
def command(
    profiles: tuple[Path, ...],
    csv_path: Path | None,
    into: Path | None,
    scenario: str,
    row: str,
    steps: str,
    device: str,
    note: str,
) -> None:
    """Read a profile: files or folders of one run, of XLA, TensorBoard, xprof or PyTorch.

    Without --into it prints the device, the steps, where their time goes, and the largest operations. With --into it
    writes the step next to the expected step of a scenario, the operations as cases on Comparison, all else on a sheet
    Profile. A device that the file doesn't name is unknown until --device says it.
    """
    from planner.errors import UserError
    from planner.ingest.into_workbook import ingested
    from planner.ingest.profile_text import lines

    if into is None and (scenario or row or note):
        raise UserError("--scenario, --of and --note are of a workbook", remedy="name it: --into plan.xlsx")
    found = ingested(profiles, device, into, scenario, steps, row)
    if into is None:
        for line in lines(found):
            click.echo(line)
    if csv_path is not None:
        from planner.compare.case_keys import complete_key
        from planner.measure.measurements_csv import keep_measurements

        if found.cases.rows:
            keep_measurements(csv_path, found.cases.rows, complete_key)
        click.echo(f"{csv_path}: {len(found.cases.rows)} written; {found.cases.said}")
    if into is not None:
        from planner.ingest.into_workbook import land

        say(into, land(into, found, scenario, row, note))

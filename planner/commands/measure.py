"""`planner measure`: time cases on this machine, of a workbook's Comparison or of a suite of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner.errors import UserError
from planner.measure import interrupts

if TYPE_CHECKING:
    from planner.compare.filling import Filled
    from planner.measure.records import Measurement

SUITES = ("quick", "full")
LEFT_OVER = ".measurements.csv"  # beside a workbook that could not be written


@click.command("measure")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--suite", type=click.Choice(SUITES), help="Our own cases instead of a workbook's; needs --csv.")
@click.option("--csv", "csv", type=click.Path(path_type=Path), help="Keep the measurements in this CSV, row by row.")
@click.option(
    "--case",
    "only",
    metavar="NAME",
    multiple=True,
    help="Only cases that NAME means: part of a label, a template, a key, or a value in it.",
)
@click.option("--list", "is_list", is_flag=True, help="List the cases with their keys, and measure nothing.")
@click.option("-H", "--hardware", metavar="CHIP", default="", help="What this machine is, where JAX can't tell.")
@click.option(
    "--flags",
    "variants",
    metavar="FLAGS",
    multiple=True,
    help="Measure under these XLA flags. Repeatable: side by side.",
)
@click.option("--budget", metavar="SECONDS", type=float, default=float("inf"), help="Begin no case after this long.")
@click.option("--keep-profiles", metavar="DIR", type=click.Path(path_type=Path), help="Keep the profiler's files here.")
def command(
    file: Path | None, suite: str | None, csv: Path | None, only: tuple[str, ...], is_list: bool, hardware: str,
    variants: tuple[str, ...], budget: float, keep_profiles: Path | None,
) -> None:  # fmt: skip
    """Measure the cases of FILE's Comparison and write the medians in, or those of a --suite into a --csv.

    Nothing else in FILE changes but the values that depend on them. Ctrl-C keeps what was measured.
    """
    if (file is None) == (suite is None) or (suite and csv is None and not is_list):
        raise click.UsageError("give a workbook, or --suite quick (or full) with --csv FILE")
    if file is not None and hardware:
        raise click.UsageError("-H is for --suite: in a workbook each row names its chip")
    with interrupts.noted():
        if is_list:
            _list(file, suite or "", only)
        elif variants:
            _side_by_side(file, suite, csv, only, hardware, variants, budget, keep_profiles)
        elif file is not None:
            _workbook(file, csv, only, budget, keep_profiles)
        elif suite is not None and csv is not None:
            _suite(suite, csv, only, hardware, budget, keep_profiles)


def _list(file: Path | None, suite: str, only: Sequence[str]) -> None:
    from planner.compare import measuring
    from planner.compare import suite as suites
    from planner.xlsx.opc import Package

    interrupts.check()
    if file is None:
        called = [(case.label, case.key) for case in suites.listed(suite, only)]
    else:
        called = [(each.label, each.key) for each in measuring.cases_of(Package.read(file), only)]
    for label, key in called:
        click.echo(f"{label}  {key}")


def _workbook(file: Path, csv: Path | None, only: Sequence[str], budget: float, profiles: Path | None) -> None:
    from planner.compare import measuring
    from planner.compare.suite import keep
    from planner.xlsx.opc import Package

    interrupts.check()
    cases = measuring.cases_of(Package.read(file), only)
    rows = measuring.measured(cases, progress=_tell, budget_s=budget, profiles_to=profiles)
    done = keep(csv, rows) if csv else list(rows)
    _land(file, csv, done, lambda: measuring.fill(file, cases, done))


def _suite(
    suite: str, csv: Path, only: Sequence[str], hardware: str, budget: float, profiles: Path | None
) -> None:  # fmt: skip
    from planner.compare import suite as suites
    from planner.measure.samples import BRISK, STANDARD

    interrupts.check()
    asked = suites.cases(suite, only, hardware)
    rules = BRISK if suite == "quick" else STANDARD
    rows = suites.measured(asked, progress=_tell, budget_s=budget, profiles_to=profiles, rules=rules)
    done = suites.keep(csv, rows)
    _refuse_nothing(csv, done)
    click.echo(f"{csv}: {_counts(done)}")


def _side_by_side(
    file: Path | None, suite: str | None, csv: Path | None, only: Sequence[str], hardware: str,
    variants: Sequence[str], budget: float, profiles: Path | None,
) -> None:  # fmt: skip
    from planner.compare import variants as flags
    from planner.compare.filling import fill_file
    from planner.compare.suite import keep

    arguments = ["--suite", suite] if suite else []
    arguments += [word for text in only for word in ("--case", text)]
    arguments += ["--hardware", hardware] if hardware else []
    arguments += ["--budget", str(budget)] if budget != float("inf") else []
    done = flags.measured(variants, arguments, file, profiles)
    if csv is not None:
        keep(csv, iter(done))
    if file is not None:
        _land(file, csv, done, lambda: fill_file(file, done))
        return
    _refuse_nothing(csv, done)
    click.echo(f"{csv}: {_counts(done)}")


def _land(file: Path, csv: Path | None, done: Sequence[Measurement], fill: Callable[[], Filled]) -> None:
    """Write what was measured into the workbook; where that fails, into a CSV beside it."""
    from planner.compare.suite import keep

    _refuse_nothing(file, done)
    try:
        with interrupts.noted() as ctrl_c, ctrl_c.held_off():
            filled = fill()
    except UserError as error:
        left = csv or file.with_name(file.name + LEFT_OVER)
        keep(left, iter(done))
        raise UserError(f"{error}; the measurements are in {left}", remedy="planner backfill writes them") from None
    click.echo(f"{file}: {_counts(done)}; {filled.lines()[0]}")
    for line in filled.warnings():
        click.echo(f"  {line}")


def _refuse_nothing(path: Path | None, done: Sequence[Measurement]) -> None:
    """Raise UserError where Ctrl-C came before the first time was there."""
    statuses = {row.status for row in done}
    if "interrupted" in statuses and "measured" not in statuses:
        raise UserError("interrupted before anything was measured", remedy=f"{path} is as it was")


def _tell(line: str) -> None:
    click.echo(line, err=True)


def _counts(done: Sequence[Measurement]) -> str:
    counts = {status: sum(row.status == status for row in done) for status in dict.fromkeys(row.status for row in done)}
    return ", ".join(f"{count} {status}" for status, count in counts.items())

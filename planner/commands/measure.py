"""`planner measure`: time cases on this machine, from a workbook's Comparison sheet or a built-in suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from planner import processes
from planner.commands.options import PATH, SECONDS, hardware_csv, repeatable
from planner.errors import UserError
from planner.measure import interrupts
from planner.measure.mesh import MeshSpec

if TYPE_CHECKING:
    from planner.compare.landing import Landing
    from planner.compare.measuring import PlannedCase
    from planner.measure.records import Measurement
    from planner.measure.timed_cases import Case
    from planner.measure.timing import Rules
    from planner.xlsx.opc import Package

MEANT = "part of a label, template or key, or a value in the key"
SUITES = ("quick", "full")
LEFT_OVER = ".measurements.csv"  # next to a workbook that could not be written


@click.command("measure")
@click.argument("file", type=PATH, required=False)
@click.option("--suite", type=click.Choice(SUITES), help="The built-in cases instead of a workbook's; needs --csv.")
@click.option("--csv", "csv", type=PATH, help="Put each measurement into this CSV, over an older one of the same case.")
@repeatable("--case", "only", metavar="NAME", help=f"Only cases that match NAME: {MEANT}.")
@click.option("--list", "is_list", is_flag=True, help="List the cases with their keys, and measure nothing.")
@click.option("-H", "--hardware", metavar="CHIP", default="", help="This machine's chip, if JAX doesn't name it.")
@hardware_csv
@repeatable("--flags", "variants", metavar="FLAGS", help="Measure with these XLA flags. Repeatable, to compare.")
@click.option("--mesh", metavar="AXES", default="", help="Run cases over several devices: data=2,tensor=4.")
@click.option("--device-order", metavar="IDS", default="", help="Order of the mesh's devices: 0,1,3,2.")
@click.option("--budget", metavar="SECONDS", type=SECONDS, default=float("inf"), help="Start no case after this time.")
@click.option("--keep-profiles", metavar="DIR", type=PATH, help="Keep the profiler's files here.")
def command(is_list: bool, mesh: str, device_order: str, **options: Any) -> None:
    """Time the cases on the Comparison sheet of FILE and write the medians there, or those of a --suite into a --csv.

    Nothing else in FILE changes except the values that depend on them. Ctrl-C keeps what was measured so far.
    With --mesh the cases are collectives, sharded matmuls and steps, over all devices of all processes that run
    the same command; the first process writes.
    """
    if device_order and not mesh:
        raise click.UsageError("--device-order is of a --mesh")
    spec = MeshSpec.parse(mesh, device_order) if mesh else None
    asked = Asked(**options, mesh=spec, together=processes.join() if spec else processes.Processes())
    if (asked.file is None) == (asked.suite is None) or (asked.suite and asked.csv is None and not is_list):
        raise click.UsageError("give a workbook, or --suite quick (or full) with --csv FILE")
    if asked.file is not None and (asked.hardware or asked.hardware_csv):
        raise click.UsageError("-H and --hardware-csv are for --suite: in a workbook each row names its chip")
    with interrupts.noted():
        if is_list:
            _list(asked)
        elif asked.variants:
            _side_by_side(asked)
        elif asked.file is not None:
            _workbook(asked.file, asked)
        elif asked.suite is not None and asked.csv is not None:
            _suite(asked.suite, asked.csv, asked)


@dataclass(frozen=True)
class Asked:
    """The arguments and options of the command line."""

    file: Path | None
    suite: str | None
    csv: Path | None
    only: tuple[str, ...]
    hardware: str
    hardware_csv: Path | None
    variants: tuple[str, ...]
    budget: float
    keep_profiles: Path | None
    mesh: MeshSpec | None
    together: processes.Processes


def _list(asked: Asked) -> None:
    from planner.compare import measuring
    from planner.xlsx.opc import Package

    interrupts.check()
    if asked.file is None:
        called = [(case.label, case.key) for case in measuring.listed(asked.suite or "", asked.only, asked.mesh)]
    else:
        planned = _planned(Package.read(asked.file), asked)
        called = [(each.label, each.key) for each in planned]
    if asked.together.is_first:
        for label, key in called:
            click.echo(f"{label}  {key}")


def _planned(package: Package, asked: Asked) -> list[PlannedCase]:
    """The requested rows of the Comparison; with a mesh, only those that run on one."""
    from planner.compare import measuring

    planned = measuring.planned_in(package, asked.only)
    return measuring.over_mesh(planned, package.name) if asked.mesh else planned


def _workbook(file: Path, asked: Asked) -> None:
    from planner.compare import measuring
    from planner.measure.timing import STANDARD
    from planner.xlsx.opc import Package

    interrupts.check()
    with asked.together.agreed():
        package = Package.read(file)
        planned, kinds = _planned(package, asked), measuring.kinds_in(package)
    for line in measuring.foreign(planned, kinds) if asked.together.is_first else ():
        _tell(line)
    done = _measured(measuring.for_here(planned, kinds), kinds, STANDARD, asked)
    with asked.together.agreed():
        if asked.together.is_first:
            _land(file, asked.csv, done, lambda: measuring.land_planned(file, planned, done))


def _suite(suite: str, csv: Path, asked: Asked) -> None:
    from planner import catalog
    from planner.compare import measuring
    from planner.compare.row_of_measurement import device_kinds
    from planner.measure.timing import BRISK, STANDARD

    interrupts.check()
    with asked.together.agreed():
        kinds = device_kinds(catalog.load_hardware(asked.hardware_csv, only=False))
        cases = measuring.of_suite(suite, asked.only, asked.hardware, asked.hardware_csv, asked.mesh)
    done = _measured(cases, kinds, BRISK if suite == "quick" else STANDARD, asked)
    _refuse_nothing(csv, done)
    if asked.together.is_first:
        click.echo(f"{csv}: {_counts(done)}")


def _measured(cases: Sequence[Case], kinds: Mapping[str, str], rules: Rules, asked: Asked) -> list[Measurement]:
    """Time the cases, writing each into the CSV, if there is one, as soon as it is timed."""
    from planner.compare.case_keys import complete_key
    from planner.measure.measurements_csv import keep_measurements
    from planner.measure.timed_cases import measure_cases

    is_first = asked.together.is_first
    rows = measure_cases(
        cases,
        kinds=kinds,
        progress=_tell if is_first else None,
        budget_s=asked.budget,
        profiles_to=asked.keep_profiles,
        rules=rules,
        mesh=asked.mesh,
    )
    return keep_measurements(asked.csv, rows, complete_key) if asked.csv and is_first else list(rows)


def _side_by_side(asked: Asked) -> None:
    from planner.compare import measuring
    from planner.compare.case_keys import complete_key
    from planner.compare.landing import backfill
    from planner.measure.measurements_csv import keep_measurements

    if asked.together.count > 1:
        raise UserError("--flags starts processes of its own", remedy="set XLA_FLAGS on each host")
    file, csv = asked.file, asked.csv
    arguments = ["--suite", asked.suite] if asked.suite else []
    arguments += [word for text in asked.only for word in ("--case", text)]
    arguments += ["--hardware", asked.hardware] if asked.hardware else []
    arguments += ["--hardware-csv", str(asked.hardware_csv)] if asked.hardware_csv else []
    if asked.mesh:
        arguments += ["--mesh", str(asked.mesh), "--device-order", ",".join(map(str, asked.mesh.order))]
    arguments += ["--budget", str(asked.budget)] if asked.budget != float("inf") else []
    done = measuring.under_flags(asked.variants, arguments, file, asked.keep_profiles)
    if csv is not None:
        keep_measurements(csv, done, complete_key)
    if file is not None:
        _land(file, csv, done, lambda: backfill(file, done))
        return
    _refuse_nothing(csv, done)
    click.echo(f"{csv}: {_counts(done)}")


def _land(file: Path, csv: Path | None, done: Sequence[Measurement], land: Callable[[], Landing]) -> None:
    """Write the measurements into the workbook, or into a CSV next to it if that fails."""
    from planner.compare.case_keys import complete_key
    from planner.measure.measurements_csv import keep_measurements

    _refuse_nothing(file, done)
    try:
        with interrupts.noted() as ctrl_c, ctrl_c.deferred():
            landing = land()
    except UserError as error:
        left = csv or file.with_name(file.name + LEFT_OVER)
        keep_measurements(left, done, complete_key)
        raise UserError(f"{error}; the measurements are in {left}", remedy="planner backfill writes them") from None
    click.echo(f"{file}: {_counts(done)}; {landing.lines()[0]}")
    for line in landing.warnings():
        click.echo(f"  {line}")


def _refuse_nothing(path: Path | None, done: Sequence[Measurement]) -> None:
    """Raise UserError if Ctrl-C came before the first measurement."""
    statuses = {row.status for row in done}
    if "interrupted" in statuses and "measured" not in statuses:
        raise UserError("interrupted before anything was measured", remedy=f"{path} is as it was")


def _tell(line: str) -> None:
    click.echo(line, err=True)


def _counts(done: Sequence[Measurement]) -> str:
    """The number of measurements by status, in order of first occurrence."""
    counts = Counter(row.status for row in done)
    return ", ".join(f"{count} {status}" for status, count in counts.items())

"""`planner fit`: reads the runs of a file, fits calibrations to them, and writes these."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from planner.book.plan import Plan
from planner.book.read_plan import read_plan
from planner.catalog.calibrations import known_files
from planner.catalog.columns import refuse_new_id
from planner.catalog.databases import Databases
from planner.compare.comparison_sheet import find
from planner.errors import Place, UserError
from planner.fit import fit_output, fit_sheet
from planner.fit.runs_to_fit import NO_CHIP, OF_CASE, OWN, runs_of_csv, runs_of_workbook
from planner.fit.stack import FAR_OFF, OwnCalibration, OwnRun, fitted_stacks
from planner.scenario.export import export
from planner.scenario.exported_tables import CALIBRATIONS
from planner.terminal_table import counted
from planner.update.outcome import Updated
from planner.update.update import update_file
from planner.validation.runs import models_of
from planner.workbook import added_sheet
from planner.xlsx.atomic import locked, write_atomically
from planner.xlsx.opc import Package

WORKBOOKS = (".xlsx", ".xlsm")


class FilledWorkbook(NamedTuple):
    """The outcome for a workbook into which the stacks were written."""

    sheet: str  # name of the sheet that reports the fit
    updated: Updated
    backup: Path | None  # the file before the update; None if nothing was updated


@dataclass(frozen=True)
class FittedFile:
    """The stacks fitted to a file's runs, and the runs that no fit could use."""

    stacks: list[OwnCalibration]
    skipped: list[OwnRun]
    origin: fit_output.Provenance
    databases: Databases
    is_workbook: bool
    known: Collection[str] = ()  # the stacks that the workbook has

    @property
    def first(self) -> str:
        """The name of the first stack."""
        return self.stacks[0].id

    @property
    def has_cases(self) -> bool:
        """Whether cases of Comparison, each of which has a stack of its own there, are among the runs in use."""
        return any(each.is_used and each.run.id.startswith(OF_CASE) for own in self.stacks for each in own.runs)

    @property
    def is_moved(self) -> bool:
        """Whether any parameter is, or the workbook has one of the stacks already, from runs that it had before."""
        return any(own.moved or own.id in self.known for own in self.stacks)

    def lines(self) -> Iterator[str]:
        """The summary to print."""
        return fit_output.lines(self.stacks, self.skipped, self.origin)

    def write(self, target: Path, into: Path | None) -> FilledWorkbook | None:
        """Write the CSV of calibrations, and the stacks into a workbook if they move anything; returns that outcome.

        Raises UserError as writing and updating do; for a workbook with a template of the user's, which only `planner
        update` supports, the CSV is written nevertheless.
        """
        text = fit_output.calibrations_csv(self.stacks, self.databases.stacks, self.origin)
        write_atomically(target, text.encode())
        if into is None or not self.is_moved:
            return None
        try:
            updated, backup = update_file(into, databases=replace(self.databases, calibrations_csv=target))
        except UserError as error:
            if "--template" not in error.remedy:
                raise
            remedy = f"planner update {into} --template FILE --calibrations {target} brings the stack in"
            what = f"only {target} is written: {error.what}"
            raise UserError(what, place=error.place, remedy=remedy) from None
        with locked(into):
            package = Package.read(into)
            fill = partial(fit_sheet.write, found=self.stacks, skipped=self.skipped, origin=self.origin)
            name = added_sheet.put(package, fit_sheet.KIND, fit_sheet.PURPOSE, fill, fit_sheet.may_replace)
            package.write(into)
        return FilledWorkbook(name, updated, backup)


def fit(path: Path, databases: Databases, name: str, device: str = "", chip: str = "") -> FittedFile:
    """Fit the runs of a workbook, a CSV of runs or a measurements.csv; `chip` is for measurements that name none.

    Raises UserError for an unreadable file, a name that a shipped stack or calibration has, and if there is no run to
    fit.
    """
    _refuse_name(name, databases)
    is_workbook, known = path.suffix.lower() in WORKBOOKS, set[str]()
    with TemporaryDirectory(prefix="fit-") as folder:
        if is_workbook:
            given, plan = _of_workbook(path, databases, Path(folder))
            models, known = models_of(given), _stacks(plan)
            runs, devices = runs_of_workbook(find(plan.book.package, plan.book.parsed), given, models)
            aside = fit_sheet.set_aside(plan.book.sheets.values())
            by_hand = {run.id for run in runs if fit_sheet.key_of(run.id, run.measured) in aside}
            runs = [replace(run, fault=fit_sheet.BY_HAND) if run.id in by_hand else run for run in runs]
        else:
            given, models = databases, models_of(databases)
            runs, devices = runs_of_csv(path, given, models, chip)
        named = [replace(run, source=path.name) if run.source == OWN else run for run in runs]
        found = fitted_stacks([run for run in named if not run.fault], given, models, name)
    stacks = [own for own in found if any(each.is_used for each in own.runs)]
    skipped = [each for own in found if own not in stacks for each in own.runs]
    skipped += [OwnRun(run, is_used=False, why_not=run.fault) for run in runs if run.fault]
    if not stacks:
        why = next((f": {each.run.id}: {each.why_not}" for each in skipped), "")
        what = f"none of {counted(len(runs), 'run')} can be fitted to{why}" if runs else "there are no measured runs"
        remedy = "" if runs else "planner measure, planner backfill and planner record bring some"
        if NO_CHIP in why:
            remedy = "--hardware-csv FILE reads chips of your own"
        elif FAR_OFF in why:
            remedy = "are they of that chip? planner hardware add --this-host measures this machine as one"
        raise UserError(what, place=Place(path), remedy=remedy)
    jax = sorted({each.run.jax for own in stacks for each in own.runs if each.is_used and each.run.jax})
    origin = fit_output.Provenance(path.name, device or devices, datetime.now(UTC).strftime("%Y-%m-%d"), " ".join(jax))
    return FittedFile(stacks, skipped, origin, databases, is_workbook, known)


def _refuse_name(name: str, databases: Databases) -> None:
    """Raise UserError for a name that no stack can have, or that one of the databases has already."""
    if not name.strip() or name.strip().upper() in ("N/A", "NA"):
        raise UserError(f"{name!r} can't be the name of a stack", remedy="give yours a word with --name")
    try:
        refuse_new_id(name)
    except UserError as error:
        raise UserError(f"--name: {error.what}", remedy=error.remedy) from None
    if databases.stacks.has(name) or databases.calibration.has(name):
        raise UserError(f"{name!r} is a stack or a calibration already", remedy="give yours another with --name")


def _stacks(plan: Plan) -> set[str]:
    """The ids of a workbook's stacks."""
    table = plan.book.databases.get("stacks")
    return {table.sheet.text(row, table.id_column) for row in table.rows} if table else set()


def _of_workbook(path: Path, databases: Databases, folder: Path) -> tuple[Databases, Plan]:
    """The databases with a workbook's own models and chips (CSVs in `folder`), and the workbook."""
    with locked(path):
        package = Package.read(path)
        plan = read_plan(package)
    own = export(plan).databases
    files = {kind: folder / f"{kind}.csv" for kind in own}
    for kind, text in own.items():
        files[kind].write_text(text, encoding="utf-8")
    known_files(files.get(CALIBRATIONS))  # so that its chips may name them
    given = replace(
        databases,
        models_csv=databases.models_csv or files.get("models"),
        hardware_csv=databases.hardware_csv or files.get("hardware"),
    )
    return given, plan

"""The user's own runs as runs of templates, from a CSV of runs, a measurements.csv, or the Comparison of a workbook.

A row that can't be fitted becomes a run with a fault, so that it is never lost: measured on other hardware, flagged by
a guard, or of a template without fitted parameters.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from planner import csvfile
from planner.catalog import Table, Value
from planner.catalog.databases import Databases
from planner.compare import runs_table
from planner.compare.checked_measurements import checked_measurements, number_fault
from planner.compare.comparison_sheet import CaseRow, ComparisonSheet, is_missing
from planner.compare.row_of_measurement import EXPECTED, jax_of
from planner.errors import Place, UserError
from planner.formulas import library
from planner.measure.measurements_csv import REQUIRED
from planner.measure.records import Measurement, parse_key
from planner.validation.runs import Run, read
from planner.xlsx.cellvalue import said_text

OWN = "own"  # the source of runs that don't come from a CSV of runs
NO_CHIP = "no accelerator"  # how the fault of an unknown chip begins
OF_CASE = "row "  # how the label of a measured case begins; that of a recorded run doesn't
OF_NOISE = {"noisy", "drift", "few_samples"}
ENOUGH = 3  # sound runs needed per template, so that the median is confirmed by another
BY_TIME = {"collective"}  # templates whose short and long runs determine different parameters
ALIKE = 10  # times within this factor determine the same parameter
COUNTS_HALF = "counts half"  # the remark on such a run
COUNTS = 0.5  # weight of a noisy run, relative to a sound one
FLAGGED = "flagged: "  # prefix of the fault of a run whose guards failed


def runs_of_csv(path: Path, databases: Databases, models: Table, chip: str) -> tuple[list[Run], str]:
    """The runs of a CSV of runs or of a measurements.csv, and their device, if the file says so.

    `chip` is for measurements that name none. Raises UserError with the line of an invalid row.
    """
    sheet = csvfile.read(path)
    if set(REQUIRED) <= set(sheet.header):
        rows = checked_measurements(path)
        devices = dict.fromkeys(row.device_kind for row in rows if row.device_kind)
        cases = [_of_measurement(f"row {at}", row, databases, chip) for at, row in enumerate(rows, 1)]
        return with_noisy(cases), ", ".join(devices)
    runs = read(path, databases, models)
    for run in runs:
        if run.fault:
            raise UserError(f"{run.id}: {run.fault}", place=Place(path, run.line, run.column), remedy="mend the row")
    return runs, ""


def runs_of_workbook(sheet: ComparisonSheet, databases: Databases, models: Table) -> tuple[list[Run], str]:
    """The measured cases of a Comparison and its table of runs, and their devices."""
    timed = [row for row in sheet.rows if not is_missing(time := row.value("measured_time")) and str(time).strip()]
    cases = [_of_case(row, databases) for row in timed]
    recorded = dict(runs_table.numbered(sheet))
    runs = [
        _of_run(f"run {at}", recorded[number], databases, models) if number in recorded else _unreadable(at, number)
        for at, number in enumerate(sheet.run_rows, 1)
    ]
    named = [row.text("device") for row in sheet.rows] + [run.device for run in recorded.values()]
    return [*with_noisy(cases), *runs], ", ".join(dict.fromkeys(filter(None, named)))


def _unreadable(at: int, number: int) -> Run:
    """The run of a row, by its place and number, that can't be read."""
    return Run(f"run {at}: row {number}", "", "", "", "", "", 0.0, OWN, {}, fault=runs_table.UNREADABLE)


def _of_measurement(identifier: str, row: Measurement, databases: Databases, chip: str) -> Run:
    template, inputs = row.template, json.loads(row.inputs) if row.inputs else {}
    if not (template and inputs):
        try:
            template, inputs = parse_key(row.case_key)
        except ValueError:
            template = ""
    fault = "" if row.is_trusted else f"{FLAGGED}{row.flags}" if row.flags else f"{row.status}: {row.reason}"
    run = _operation(identifier, template, inputs, row.hardware_id or chip, row.t_median, fault, databases)
    return replace(run, jax=row.jax)


def _of_case(row: CaseRow, databases: Databases) -> Run:
    template = row.template.name if row.template else ""
    flags, time = row.text("flags"), row.number_in("measured_time") or 0.0
    texts = (f"{name} is {said_text(text)}, not a number" for name, text in row.texts_for_numbers.items())
    fault = next(texts, f"{FLAGGED}{flags}" if flags else "")
    label = f"{OF_CASE}{row.number}: {row.text('case_label')}"
    run = _operation(label, template, row.inputs, row.text("hardware_id"), time, fault, databases)
    return replace(run, jax=jax_of(row.text("measured_source")))


def _operation(
    identifier: str,
    template: str,
    inputs: Mapping[str, Value],
    hardware: str,
    time: float,
    fault: str,
    databases: Databases,
) -> Run:
    """A measured operation as a run, with a fault if nothing can be fitted to it."""
    known = library.load(template).by_name if template in library.names() else {}
    if not fault or fault.startswith(FLAGGED):  # a flagged run may still count
        if EXPECTED not in known:
            fault = f"nothing is expected of {template or 'a case that no template has'}"
        elif not databases.hardware.has(hardware):
            fault = f"{NO_CHIP} {hardware!r}" if hardware else "it names no chip; -H CHIP names one for all such"
        else:
            fault = number_fault(time, "s") or fault
    chip = _identified(databases.hardware, hardware)
    return Run(identifier, template, template, "", chip, EXPECTED, time, OWN, _values(inputs, known), fault=fault)


def _values(inputs: Mapping[str, Value], known: Container[str]) -> dict[str, Value]:
    """The non-blank inputs of a run that its template has; numbers as floats."""
    given = {name: value for name, value in inputs.items() if name in known and value not in (None, "")}
    return {name: float(value) if isinstance(value, int) else value for name, value in given.items()}


def _identified(table: Table, name: str) -> str:
    """An id as a table spells it; an unknown one unchanged."""
    return table.identify(name) if name and table.has(name) else name


def _of_run(identifier: str, run: runs_table.RecordedRun, databases: Databases, models: Table) -> Run:
    """A row of the table of runs, with the plan's inputs at the time."""
    known = library.load(run.template).by_name if run.template in library.names() else {}
    fault = f"{FLAGGED}{run.flags}" if run.flags else ""
    if not fault and run.row not in known:
        fault = f"{run.template or 'no template'} has no row {run.row or 'of a blank name'}"
    if not fault:
        fault = number_fault(run.measured, known[run.row].unit)
    if not fault and not run.inputs:
        fault = "its row has no inputs of the plan; planner record writes them"
    for table, name in ((databases.hardware, run.chip), (models, run.model)):
        if not fault and name and not table.has(name):
            fault = f"no {name!r} in the databases"
    given = {**(run.inputs or {}), **({"stack": run.stack} if run.stack else {})}
    values = _values(given, known)
    chip, model = _identified(databases.hardware, run.chip), _identified(models, run.model)
    label = f"{identifier}: {run.name or run.scenario}, {run.quantity}"
    return Run(label, run.template, run.template, model, chip, run.row, run.measured, OWN, values, fault=fault)


def with_noisy(runs: Sequence[Run]) -> list[Run]:
    """The runs; one flagged only for noise is accepted, with half weight, if its kind has few sound ones.

    A noisy time is less certain; any other flag may mean that something else was timed, and never counts. A kind is a
    template on a chip; for collectives also a similar time, since short ones determine the latency and long ones the
    bandwidth. Without noisy runs, a kind that a busy machine never times steadily would keep its shipped values.
    """
    sound = [run for run in runs if not run.fault]
    return [
        replace(run, fault="", weight=COUNTS, noted=f"{run.fault}; {COUNTS_HALF}")
        if _is_noisy(run) and sum(_are_alike(run, other) for other in sound) < ENOUGH
        else run
        for run in runs
    ]


def _are_alike(run: Run, other: Run) -> bool:
    if (run.hardware, run.template) != (other.hardware, other.template):
        return False
    return run.template not in BY_TIME or 1 / ALIKE < run.measured / other.measured < ALIKE


def _is_noisy(run: Run) -> bool:
    flags = {flag.strip() for flag in run.fault.removeprefix(FLAGGED).replace(",", ";").split(";")}
    return run.fault.startswith(FLAGGED) and flags <= OF_NOISE

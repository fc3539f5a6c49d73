"""What `planner measure` times: rows of a workbook's Comparison, or a suite of shipped cases."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from planner import catalog
from planner.catalog import Table
from planner.compare import comparison_cases, mesh_cases
from planner.compare.comparison_cases import ComparisonCase, closest_labels, is_meant, refuse_blank
from planner.compare.comparison_sheet import CaseRow, ComparisonSheet, find, find_to_time, listed_chips
from planner.compare.landing import Landing, land
from planner.compare.prediction import predict
from planner.compare.row_of_measurement import OTHER_HARDWARE, device_kinds
from planner.errors import Place, UserError
from planner.formulas import library
from planner.measure import clock, devices, interrupts, sharded, spread
from planner.measure.measurements_csv import read_measurements
from planner.measure.mesh import MeshSpec
from planner.measure.records import Inputs, Measurement
from planner.measure.timed_cases import Case
from planner.xlsx.opc import Package
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.workbook_part import parse_sheets

Of = TypeVar("Of")


@dataclass(frozen=True)
class PlannedCase:
    """A row of the Comparison with the case that it describes."""

    row: CaseRow
    case: Case

    @property
    def label(self) -> str:
        """Its label."""
        return self.row.text("case_label")

    @property
    def key(self) -> str:
        """The key of its inputs, or the analyst's free text; never that of a row from which it was copied."""
        return self.case.key if self.case.key in self.row.keys else min(self.row.keys)


def planned_in(package: Package, only: Sequence[str] = ()) -> list[PlannedCase]:
    """The cases in a workbook's Comparison; `only` keeps those that one of its texts selects.

    Raises UserError for a row of an unknown template, or if no row is left. Rows with a free-text key and no template,
    which only `planner record` fills, are left out.
    """
    sheet = find_to_time(package)
    place = Place(package.name, sheet=sheet.name)
    planned = [PlannedCase(row, _of_row(place, row)) for row in sheet.rows if row.text("template")]
    if not planned:
        raise UserError("the Comparison lists no case", place=Place(package.name), remedy="add a row")
    return meant(planned, only, lambda each: (each.label, *each.row.keys), package.name)


def meant(cases: Sequence[Of], only: Sequence[str], called: Callable[[Of], tuple[str, ...]], where: str) -> list[Of]:
    """The cases that one of the texts `only` selects; all if it is empty. `called` gives a case's label and keys.

    Raises UserError for a text that selects no case; `where` is the workbook or suite option for the message.
    """
    found: set[int] = set()
    for text in only:
        refuse_blank(text)
        new = {at for at, case in enumerate(cases) if is_meant(text, called(case)[0], called(case)[1:])}
        if not new:
            close = closest_labels(text, ((called(case)[0] or called(case)[1]) for case in cases))
            raise UserError(f"no case is called {text!r}", remedy=f"{close}; planner measure {where} --list shows all")
        found |= new
    return [case for at, case in enumerate(cases) if not only or at in found]


def _of_row(place: Place, row: CaseRow) -> Case:
    """The case of a row of the Comparison."""
    name = row.text("template")
    try:
        has_floor = "lower_bound_time" in library.load(name).by_name
    except UserError as error:
        raise UserError(f"row {row.number}: {error.what}", place=place, remedy=error.remedy) from None

    def figure(column: str) -> float:
        value = row.number_in(column)
        return nan if value is None else value

    case = _case(row.text("case_key"), row.text("case_label"), name, row.inputs, row.text("mesh_axis"), figure)
    return case if has_floor else replace(case, floor_s=nan)


def _case(key: str, label: str, template: str, inputs: Inputs, axis: str, figure: Callable[[str], float]) -> Case:
    """A case with its predictions from `figure`, by name; work over all chips is divided by their number."""
    count = figure("n_chips")
    chips = count if count > 0 else 1.0
    return Case(
        key,
        template,
        inputs,
        label,
        floor_s=figure("lower_bound_time"),
        flops=figure("flops") / chips,
        memory_bytes=figure("memory_bytes") / chips,
        bus_bytes=figure("bus_bytes"),
        axis=axis,
    )


def listed(suite: str, only: Sequence[str], mesh: MeshSpec | None = None) -> list[ComparisonCase]:
    """The cases of a suite for this machine's platform; with `mesh`, those over the mesh.

    Raises UserError if a text of `only` selects none, and if the devices don't fit the mesh.
    """
    if mesh is not None:
        places, found = spread.coordinates(spread.laid_out(mesh)), _here(device_kinds(catalog.load_hardware()))
        cases = mesh_cases.cases_of(mesh, suite, _platform(), places, found[0] if len(found) == 1 else "")
    else:
        cases = [case for case in comparison_cases.load(suite) if case.on in ("", _platform())]
    return meant(cases, only, lambda case: (case.label, case.key), f"--suite {suite}")


def of_suite(
    suite: str, only: Sequence[str], hardware: str = "", hardware_csv: Path | None = None, mesh: MeshSpec | None = None
) -> list[Case]:
    """The cases of a suite with their predictions. `hardware` is the chip's id, needed if JAX can't identify it.

    A chip in the user's CSV takes precedence over a shipped one. Raises UserError if no case is selected, and for a
    chip that is unknown or that this machine isn't.
    """
    kept, table = listed(suite, only, mesh), catalog.load_hardware(hardware_csv, only=False)
    own = catalog.load_hardware(hardware_csv) if hardware_csv else None
    found = _here(device_kinds(table))
    hardware = table.identify(hardware) if hardware else ""
    if hardware and hardware not in found:
        known = ", ".join(found) or "none that the hardware table knows"
        raise UserError(f"this machine is no {hardware}", remedy=f"by its device kind it is: {known}")
    likeliest = [chip for chip in found if own and own.has(chip)] or found
    chip = hardware or (likeliest[0] if len(likeliest) == 1 else "")
    return [predicted(case, chip, table) for case in kept]


def predicted(case: ComparisonCase, chip: str, table: Table | None = None) -> Case:
    """A case with its prediction for a chip of a hardware table; without a chip (blank) with its work alone."""
    results = predict(case.template.name, case.inputs, chip, table)

    def figure(name: str) -> float:
        value = results.value(name) if name in results.template.by_name else None
        return value if isinstance(value, float) else nan

    has_bound = _platform() == "cpu" or case.template.name in sharded.SPREAD
    lacking = not has_bound and chip and isnan(figure("lower_bound_time"))
    skip = f"{chip} publishes no number that bounds it, such as a peak for its dtype" if lacking else ""
    made = _case(case.key, case.label, case.template.name, case.inputs, case.axis, figure)
    return replace(made, hardware_id=chip, skip=skip)


def _platform() -> str:
    return "cpu" if clock.devices()[0].platform == "cpu" else "accelerator"


def kinds_in(package: Package) -> dict[str, str]:
    """The JAX device kind of each chip that a workbook lists, and of the shipped ones."""
    parsed = parse_sheets(package)
    return kinds_on(find(package, parsed), parsed)


def kinds_on(sheet: ComparisonSheet, parsed: Mapping[str, SheetXml]) -> dict[str, str]:
    """As `kinds_in`, for a workbook that was read already."""
    found = listed_chips(sheet, parsed)
    return device_kinds(catalog.load_hardware()) | dict(found.kinds if found else {})


def _here(kinds: Mapping[str, str]) -> tuple[str, ...]:
    """The ids of chips with these device kinds that this process's device may be."""
    return devices.describe(clock.devices(), kinds).hardware_ids


def over_mesh(planned: Sequence[PlannedCase], file: str) -> list[PlannedCase]:
    """The cases that run over a mesh. Raises UserError if there are none."""
    found = [each for each in planned if each.case.template in sharded.SPREAD]
    if not found:
        remedy = "planner build --mesh lists some; so does planner backfill with those of --suite quick --mesh"
        raise UserError("the Comparison lists no collective and no sharded case", place=Place(file), remedy=remedy)
    return found


def for_here(planned: Sequence[PlannedCase], kinds: Mapping[str, str]) -> list[Case]:
    """The cases to time here, without the lower bound of rows that predict another chip. `kinds` as from `kinds_in`."""
    here = _here(kinds)
    chips = [(each.case, each.row.text("hardware_id")) for each in planned]
    return [replace(case, hardware_id=chip) if chip in here else replace(case, floor_s=nan) for case, chip in chips]


def foreign(planned: Sequence[PlannedCase], kinds: Mapping[str, str]) -> list[str]:
    """A line for each chip that rows predict and this machine isn't: how their times will be flagged."""
    here, device = _here(kinds), clock.devices()[0].device_kind
    chips = Counter(chip for each in planned if (chip := each.row.text("hardware_id")))
    return [
        f"{count} {'row predicts' if count == 1 else 'rows predict'} {chip} and this machine is {device}: "
        f"times taken here are flagged {OTHER_HARDWARE}, and replace none of {chip}"
        for chip, count in chips.items()
        if chip not in here
    ]


def land_planned(path: Path, planned: Sequence[PlannedCase], done: Sequence[Measurement]) -> Landing:
    """Write measurements into the rows for which they were planned, in the file as it is now.

    A case that failed keeps its earlier numbers; without any, its flags say why. A row that an analyst changed or
    removed in the meantime is left alone.
    """

    def choose(landing: Landing) -> None:
        rows = {row.number: row for row in landing.sheet.rows}
        for each, one in zip(planned, done, strict=False):
            row = rows.get(each.row.number)
            if row is None or row.keys != each.row.keys:
                landing.skipped.append((one.case_key, "its row has changed meanwhile"))
            else:
                landing.put(row, one)

    return land(path, choose)


TPU_FLAG = "--xla_tpu"  # libtpu knows these, and XLA_FLAGS stops at them


def under_flags(
    variants: Sequence[str], arguments: Sequence[str], workbook: Path | None = None, profiles_to: Path | None = None
) -> list[Measurement]:
    """The rows of `planner measure ARGUMENTS` under each variant's XLA flags, one run after the other.

    A blank variant leaves the flags as they are. A workbook's cases are measured on a copy of it, and each variant's
    profiles are kept in their own folder. Raises UserError if a variant can't even start.
    """
    rows: list[Measurement] = []
    with TemporaryDirectory(prefix="measure-") as folder, interrupts.noted() as ctrl_c:
        for number, flags in enumerate(variants, start=1):
            path = Path(folder) / f"{number}.csv"
            command = [sys.executable, "-m", "planner", "measure", *arguments, "--csv", str(path)]
            if workbook is not None:
                command.append(shutil.copy(workbook, folder))
            if profiles_to is not None:
                command += ["--keep-profiles", str(profiles_to / f"variant_{number}")]
            try:
                process = subprocess.run(
                    command, env=os.environ | environment(flags), check=False, stdout=subprocess.DEVNULL
                )  # its progress is on stderr; what it says of the copy is nobody's
                code = process.returncode
            except KeyboardInterrupt:
                ctrl_c.pressed = True
            stopped = Measurement(status="interrupted", reason="stopped by the user", xla_flags=flags)
            if ctrl_c.pressed:  # the process was told as well, and has kept what it had
                return rows + (read_measurements(path) if path.exists() else [stopped])
            if not path.exists():
                what = f"nothing was measured under the flags {flags!r} (exit code {code})"
                raise UserError(what, remedy="its message stands above")
            rows += read_measurements(path)
    return rows


def environment(flags: str) -> dict[str, str]:
    """The environment variables with these flags appended; libtpu's go to LIBTPU_INIT_ARGS."""
    words: dict[str, list[str]] = {"XLA_FLAGS": [], "LIBTPU_INIT_ARGS": []}
    for word in flags.split():
        words["LIBTPU_INIT_ARGS" if word.startswith(TPU_FLAG) else "XLA_FLAGS"].append(word)
    return {name: " ".join([*os.environ.get(name, "").split(), *given]) for name, given in words.items() if given}

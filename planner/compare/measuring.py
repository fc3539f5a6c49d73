"""From the rows of a Comparison to cases that can be timed, and their timings back into those rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from typing import TypeVar

from planner.compare import naming
from planner.compare import sheet as comparison
from planner.compare.filling import Filled, write_values
from planner.compare.landing import OTHER_HARDWARE, Landing
from planner.compare.prediction import hardware
from planner.compare.sheet import CaseRow
from planner.errors import Place, UserError
from planner.formulas import library
from planner.formulas.template import Template
from planner.measure.records import Measurement
from planner.measure.run import Case, measure_cases
from planner.measure.samples import STANDARD, Rules
from planner.xlsx.locked import locked
from planner.xlsx.opc import Package
from planner.xlsx.workbook_part import parse_sheets

__all__ = ["OTHER_HARDWARE", "Planned", "Progress", "cases_of", "fill", "meant", "measured"]

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Planned:
    """A row of the Comparison with the case that it describes."""

    row: CaseRow
    case: Case

    @property
    def label(self) -> str:
        """What a person calls it."""
        return self.row.text("case_label")

    @property
    def key(self) -> str:
        """The key of its inputs, or a text of the analyst's own; never that of the row that it was copied from."""
        return self.case.key if self.case.key in self.row.keys else min(self.row.keys)


def cases_of(package: Package, only: Sequence[str] = ()) -> list[Planned]:
    """The cases that a workbook's Comparison lists; `only` keeps those that one of the texts means.

    Raises UserError for a row whose template is unknown, or where no row is left. A row with a key of its own and no
    template, which only `planner record` fills, is left out.
    """
    sheet = comparison.find(package)
    rows = [row for row in sheet.rows if row.text("template")]
    planned = [Planned(row, _case(package, sheet.name, row)) for row in rows]
    if not planned:
        raise UserError("the Comparison lists no case", place=Place(package.name), remedy="add a row")
    return meant(planned, only, lambda each: (each.label, *each.row.keys), package.name)


Of = TypeVar("Of")


def meant(cases: Sequence[Of], only: Sequence[str], called: Callable[[Of], tuple[str, ...]], where: str) -> list[Of]:
    """The cases that one of the texts means by their label and keys (`called`), or all where there is no text.

    Raises UserError for a text that means no case; `where` is what `planner measure` was given.
    """
    found: set[int] = set()
    for text in only:
        naming.refuse_blank(text)
        new = {at for at, case in enumerate(cases) if naming.is_meant(text, called(case)[0], called(case)[1:])}
        if not new:
            close = naming.likest(text, ((called(case)[0] or called(case)[1]) for case in cases))
            raise UserError(f"no case is called {text!r}", remedy=f"{close}; planner measure {where} --list shows all")
        found |= new
    return [case for at, case in enumerate(cases) if not only or at in found]


def _case(package: Package, sheet: str, row: CaseRow) -> Case:
    name = row.text("template")
    try:
        template = library.load(name)
    except UserError as error:
        raise UserError(
            f"row {row.number}: {error.what}", place=Place(package.name, sheet=sheet), remedy=error.remedy
        ) from None
    return Case(
        key=row.text("case_key"), template=name, inputs=row.inputs, label=row.text("case_label"),
        floor_s=_floor(row, template), flops=_figure(row, "flops"), memory_bytes=_figure(row, "memory_bytes"),
    )  # fmt: skip


def _figure(row: CaseRow, name: str) -> float:
    """A predicted figure of the row; NaN where it has none."""
    value = row.number_in(name)
    return nan if value is None else value


def _floor(row: CaseRow, template: Template) -> float:
    """The least time that the row predicts, in s; NaN where the chip lacks a number."""
    return _figure(row, "lower_bound_time") if "lower_bound_time" in template.by_name else nan


def measured(
    cases: Sequence[Planned], *, progress: Progress, budget_s: float = float("inf"),
    profiles_to: Path | None = None, rules: Rules = STANDARD,
) -> Iterator[Measurement]:  # fmt: skip
    """Time each case on this process's first device; Ctrl-C ends it and keeps what is done."""
    kinds = device_kinds()
    here = hardware_ids(kinds)
    asked = [_for_here(each, here) for each in cases]
    return measure_cases(
        asked, kinds=kinds, progress=progress, budget_s=budget_s, profiles_to=profiles_to, rules=rules
    )  # fmt: skip


def device_kinds() -> dict[str, str]:
    """The name that JAX has for each chip of the hardware table; blank where it has none."""
    return {key: str(row["jax_device_kind"] or "") for key, row in hardware().rows.items()}


def hardware_ids(kinds: dict[str, str]) -> tuple[str, ...]:
    """The rows of the hardware table that this process's device can be."""
    from planner.measure import clock, devices

    return devices.describe(clock.devices(), kinds).hardware_ids


def _for_here(planned: Planned, here: Sequence[str]) -> Case:
    """The case; another chip's prediction is no floor for a time measured here."""
    chip = planned.row.text("hardware_id")
    return replace(planned.case, hardware_id=chip) if chip in here else replace(planned.case, floor_s=nan)


def fill(path: Path, cases: Sequence[Planned], done: Sequence[Measurement]) -> Filled:
    """Type measured numbers into the rows that they were measured for, as the file is now, and refresh.

    A case that was not measured keeps the numbers that it had; where it had none its flags say why. A row that an
    analyst has changed or removed meanwhile is left alone.
    """
    with locked(path):
        package = Package.read(path)
        parsed = parse_sheets(package)
        sheet = comparison.find(package, parsed)
        landing = Landing()
        rows = {row.number: row for row in sheet.rows}
        for planned, one in zip(cases, done, strict=False):
            row = rows.get(planned.row.number)
            if row is None or row.keys != planned.row.keys:
                landing.skipped.append((one.case_key, "its row has changed meanwhile"))
                continue
            landing.put(sheet, row, one)
            if one.status != "measured":
                landing.skipped.append((one.case_key, f"{one.status}: {one.reason}"))
        if not landing.values:
            return Filled(landing, None)
        filled = Filled(landing, write_values(package, parsed, sheet, landing.values))
        package.write(path)
    return filled

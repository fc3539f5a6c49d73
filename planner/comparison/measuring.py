"""From the rows of a Comparison to cases that can be timed, and their timings back into those rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from typing import TypeVar

from measure.records import Measurement
from measure.run import Case, measure_cases
from measure.samples import STANDARD, Rules
from planner import library
from planner.comparison import sheet as comparison
from planner.comparison.filling import Filled, write_values
from planner.comparison.landing import OTHER_HARDWARE, Landing
from planner.comparison.prediction import hardware
from planner.comparison.sheet import CaseRow
from planner.errors import Place, UserError, closest
from planner.template import Template
from planner.xlsx.locked import locked
from planner.xlsx.opc import Package
from planner.xlsx.parts import parse_sheets

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


def cases_of(package: Package, only: Sequence[str] = ()) -> list[Planned]:
    """The cases that a workbook's Comparison lists; `only` keeps those whose key or label holds one of the texts.

    Raises UserError for a row whose template is unknown, or where no row is left. A row with a key of its own and no
    template, which only `planner record` fills, is left out.
    """
    sheet = comparison.find(package)
    rows = [row for row in sheet.rows if row.text("template")]
    planned = [Planned(row, _case(package, sheet.name, row)) for row in rows]
    if not planned:
        raise UserError("the Comparison lists no case", place=Place(package.name), remedy="add a row")
    return meant(planned, only, lambda each: (each.label, each.case.key), package.name)


Of = TypeVar("Of")


def meant(cases: Sequence[Of], only: Sequence[str], called: Callable[[Of], tuple[str, str]], where: str) -> list[Of]:
    """The cases whose label or key (`called`) holds one of the texts, or all where there is no text.

    Raises UserError for a text that no case holds; `where` is what `planner measure` was given.
    """
    texts = [" ".join(called(case)).lower() for case in cases]
    for part in only:
        if not any(part.lower() in text for text in texts):
            names = {(called(case)[0] or called(case)[1]) for case in cases}
            close = [f"the closest: {', '.join(found)}"] if (found := closest(part, names)) else []
            remedy = "; ".join([*close, f"planner measure {where} --list shows all"])
            raise UserError(f"no case is called {part!r}", remedy=remedy)
    return [case for case, text in zip(cases, texts, strict=True) if not only or any(p.lower() in text for p in only)]


def _case(package: Package, sheet: str, row: CaseRow) -> Case:
    name = row.text("template")
    try:
        template = library.load(name)
    except UserError as error:
        raise UserError(
            error.what, place=Place(package.name, cell=f"{sheet}!{row.number}"), remedy=error.remedy
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
    from measure import clock, devices

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

"""From the rows of a Comparison to cases that can be timed, and from timings back to its cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from math import isnan, nan
from pathlib import Path

from measure.records import Measurement
from measure.run import Case, measure_cases
from planner import catalog, library
from planner.comparison import sheet as filling
from planner.comparison.sheet import CaseRow
from planner.errors import Place, UserError, nearest
from planner.recalc import Recalculated, recalculate
from planner.template import Template
from planner.xlsx.cellvalue import Value
from planner.xlsx.opc import Package

OTHER_HARDWARE = "other_hardware"  # measured on another chip than the one that the row predicts


@dataclass(frozen=True)
class Planned:
    """A row of the Comparison with the case that it describes."""

    row: CaseRow
    case: Case


def cases_of(package: Package, only: Sequence[str] = ()) -> list[Planned]:
    """The cases that a workbook's Comparison lists; `only` keeps those whose key or label holds one of the texts.

    Raises UserError for a row whose template is unknown, or where no row is left.
    """
    sheet = filling.find(package)
    planned = [Planned(row, _case(package, sheet.name, row)) for row in sheet.rows]
    wanted = [text.lower() for text in only]
    kept = [
        each for each in planned
        if not wanted or any(text in f"{each.case.key} {each.row.text('case_label')}".lower() for text in wanted)
    ]  # fmt: skip
    if not kept:
        keys = [each.case.key for each in planned]
        raise UserError(
            "no case of the Comparison is meant",
            place=Place(package.name),
            remedy=nearest(only[0], keys) if only else "add a row",
        )
    return kept


def _case(package: Package, sheet: str, row: CaseRow) -> Case:
    name = row.text("template")
    if not name:
        raise UserError("the template is empty", place=Place(package.name, cell=f"{sheet}!{row.number}"),
                        remedy=f"name one: {', '.join(library.names())}")  # fmt: skip
    try:
        template = library.load(name)
    except UserError as error:
        raise UserError(
            error.what, place=Place(package.name, cell=f"{sheet}!{row.number}"), remedy=error.remedy
        ) from None
    inputs = {inner.name: _plain(row.cells.get(inner.name)) for inner in template.of_kind("input")}
    return Case(
        key=row.text("case_key"), template=name, inputs=inputs, floor_s=_floor(row, template),
        flops=_figure(row, "flops"), memory_bytes=_figure(row, "memory_bytes"),
    )  # fmt: skip


def _figure(row: CaseRow, name: str) -> float:
    """A predicted figure of the row; NaN where it has none."""
    value = row.number_in(name)
    return nan if value is None else value


def _floor(row: CaseRow, template: Template) -> float:
    """The least time that the row predicts, in s; NaN where the chip lacks a number."""
    return _figure(row, "lower_bound_time") if "lower_bound_time" in template.by_name else nan


def _plain(value: Value) -> float | str | None:
    return value if isinstance(value, (int, float, str)) and not isinstance(value, bool) else None


def measure(
    cases: Sequence[Planned], *, budget_s: float, profiles_to: Path | None, progress: Callable[[str], None]
) -> list[Measurement]:  # fmt: skip
    """Time each case on this process's first device; Ctrl-C ends it and keeps what is done."""
    kinds = {key: str(row["jax_device_kind"] or "") for key, row in catalog.load_hardware().rows.items()}
    here = _hardware_ids(kinds)
    asked = [_for_here(each, here) for each in cases]
    return list(measure_cases(asked, kinds=kinds, progress=progress, budget_s=budget_s, profiles_to=profiles_to))


def _hardware_ids(kinds: dict[str, str]) -> tuple[str, ...]:
    from measure import clock, devices

    return devices.describe(clock.devices(), kinds).hardware_ids


def _for_here(planned: Planned, here: Sequence[str]) -> Case:
    """The case; another chip's prediction is no floor for a time measured here."""
    return planned.case if planned.row.text("hardware_id") in here else replace(planned.case, floor_s=nan)


def fill(package: Package, cases: Sequence[Planned], done: Iterable[Measurement]) -> Recalculated:
    """Type measured numbers into the Comparison and refresh what depends on them, in place.

    A case that was not measured keeps the numbers that it had; where it had none its flags say why.
    """
    before = copy(package)
    before.parts = dict(package.parts)
    sheet = filling.find(package)
    values = {
        planned.row.number: cells
        for planned, measured in zip(cases, done, strict=False) if (cells := _cells(planned.row, measured))
    }  # fmt: skip
    package.replace(sheet.part, sheet.with_values(values))
    return recalculate(package, before=before)


def _cells(row: CaseRow, measured: Measurement) -> dict[str, Value]:
    if measured.status != "measured":
        unknown = filling.is_missing(row.cells.get("measured_time"))
        return {"flags": f"{measured.status}: {measured.reason}"} if unknown else {}
    flags = [flag for flag in measured.flags.split(";") if flag]
    if row.text("hardware_id") != measured.hardware_id:
        flags.append(OTHER_HARDWARE)
    return {
        "measured_time": measured.t_median,
        "spread": None if isnan(measured.spread) else measured.spread,
        "n_samples": measured.n_samples,
        "flags": "; ".join(flags) or None,
        "device": measured.device_kind,
        "method": measured.method,
        "run_id": measured.run_id,
        "measured_on": measured.timestamp,
        "measured_source": f"planner measure, JAX {measured.jax} on {measured.platform}",
    }

"""A suite of our own cases, timed without a workbook: into measurements.csv, row by row as they are done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan, nan
from pathlib import Path

from planner.compare import cases as shipped
from planner.compare.measuring import Progress, device_kinds, hardware_ids, meant
from planner.compare.prediction import predict
from planner.errors import UserError
from planner.measure import clock
from planner.measure.records import Measurement, read_measurements, write_measurements
from planner.measure.run import Case, measure_cases
from planner.measure.samples import Rules


def cases(suite: str, only: Sequence[str], hardware: str = "") -> list[Case]:
    """The cases of a suite with what the templates predict on this chip; `hardware` where JAX can't tell which.

    Raises UserError where no case is meant.
    """
    platform = _platform()
    kept = listed(suite, only)
    found = hardware_ids(device_kinds())
    if hardware and hardware not in found:
        known = ", ".join(found) or "none that the hardware table knows"
        raise UserError(f"this machine is no {hardware}", remedy=f"by its device kind it is: {known}")
    chip = hardware or (found[0] if len(found) == 1 else "")
    return [_case(case, chip, platform) for case in kept]


def listed(suite: str, only: Sequence[str]) -> list[shipped.ComparisonCase]:
    """The cases of a suite that are for this machine. Raises UserError for a text of `only` that means none."""
    cases = [case for case in shipped.load(suite) if case.on in ("", _platform())]
    return meant(cases, only, lambda case: (case.label, case.key), f"--suite {suite}")


def _platform() -> str:
    return "cpu" if clock.devices()[0].platform == "cpu" else "accelerator"


def _case(case: shipped.ComparisonCase, chip: str, platform: str) -> Case:
    results = predict(case.template.name, case.inputs, chip)

    def figure(name: str) -> float:
        value = results.value(name) if name in results else None
        return value if isinstance(value, float) else nan

    lacking = platform != "cpu" and chip and isnan(figure("lower_bound_time"))
    return Case(
        key=case.key, template=case.template.name, inputs=case.inputs, label=case.label, hardware_id=chip,
        floor_s=figure("lower_bound_time"), flops=figure("flops"), memory_bytes=figure("memory_bytes"),
        skip=f"{chip} publishes no number that bounds it, such as a peak for its dtype" if lacking else "",
    )  # fmt: skip


def measured(
    asked: Sequence[Case], *, progress: Progress, budget_s: float, profiles_to: Path | None, rules: Rules
) -> Iterator[Measurement]:
    """Time each case on this process's first device; Ctrl-C ends it and keeps what is done."""
    return measure_cases(
        asked, kinds=device_kinds(), progress=progress, budget_s=budget_s, profiles_to=profiles_to, rules=rules
    )


def keep(path: Path, rows: Iterator[Measurement]) -> list[Measurement]:
    """Put each row into measurements.csv as soon as it is there, in the place of an older one of the same case.

    A row that was not measured leaves an older time of its case alone; where Ctrl-C came before the first time, the
    file is as it was. Returns the new rows.
    """
    kept = {_case_of(row): row for row in read_measurements(path)} if path.exists() else {}
    done: list[Measurement] = []
    has_time = False
    for row in rows:
        done.append(row)
        old = kept.get(_case_of(row))
        if row.status == "measured" or old is None or old.status != "measured":
            kept[_case_of(row)] = row
        has_time = has_time or row.status == "measured"
        if has_time:
            write_measurements(path, kept.values())
    if done and not has_time and done[-1].status != "interrupted":
        write_measurements(path, kept.values())
    return done


def _case_of(row: Measurement) -> tuple[str, str, str, str]:
    return row.case_key, row.hardware_id or row.device_kind, row.compiler_flags, row.mesh

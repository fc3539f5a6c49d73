"""Evaluates the templates for a case without a workbook, and judges a measured time against the result."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from planner.catalog import Table, Value
from planner.catalog.databases import Databases
from planner.compare.comparison_sheet import RESULTS, SHOWN
from planner.errors import UserError, nearest
from planner.formulas import library
from planner.formulas.evaluation import Facts, Results, evaluate
from planner.formulas.lookups import by_id
from planner.scaled_units import factor

ABSENT = {"flops": "", "compute_time": "", "memory_time": "lower_bound_time", "expected_time": "lower_bound_time"}
"""What stands in for a row that a template lacks: another one, or 0."""
NEEDS = {
    "mfu": "compute_time",
    "predicted_low": "expected_time_low",
    "predicted_high": "expected_time_high",
    "achieved_bandwidth": "memory_bytes",
    "achieved_algorithm_bandwidth": "payload_bytes",
    "achieved_bus_bandwidth": "bus_bytes",
}
"""The row of a case's template without which a column of results stays blank."""

COMM = "comm_expected_time"  # the row of a template whose work is beside communication


def predict(template: str, inputs: Mapping[str, Value], hardware_id: str, chips: Table | None = None) -> Results:
    """A case on a chip of a hardware table (default: the shipped one).

    For an unknown chip, times are N/A and work is known. Raises UserError for an unknown template or input.
    """
    loaded = library.load(template)
    unknown = [name for name in inputs if name not in loaded.by_name]
    if unknown:
        raise UserError(f"{template} has no input {unknown[0]!r}", remedy=nearest(unknown[0], loaded.by_name))
    table = chips or hardware()
    chip = table.rows.get(hardware_id) or {column.name: None for column in table.columns}
    return evaluate(loaded, Facts({}, chip, by_id(loaded, _databases())), inputs)


def judge(case: Results, measured_time: float) -> dict[str, Value]:
    """The columns of templates/measured.csv for a predicted case and its measured time in s, and what binds."""
    known = {name: case.value(name) for name in case} | {"measured_time": measured_time}
    for name, instead in ABSENT.items():
        known.setdefault(name, known.get(instead, 0.0))
    template = library.load(RESULTS)
    results = evaluate(template, Facts(), {name: known[name] for name in template.by_name if name in known})
    own = case.template.by_name
    judged = {row.name: results.value(row.name) for row in template.of_kind("calc", "output")}
    kept = {name: value for name, value in judged.items() if NEEDS.get(name, "") in ("", *own)}
    times = kept | {"measured_time": measured_time}
    shown = {
        row.name + SHOWN: value / factor(row.display, row.unit)
        for row in template.rows
        if row.display and isinstance(value := times.get(row.name), float)
    }
    return kept | shown | {"bound": _bound(case)}


def _bound(case: Results) -> str | None:
    """What binds, in the words of the sheet's formula; None if the times are N/A."""
    names = [name for name in ("lower_bound_time", "compute_time", "memory_time") if name in case.template.by_name]
    times = [time for name in names if isinstance(time := case.value(name), float)]
    if not times or len(times) < len(names):
        return None
    bound, *parts = times
    if len(parts) < len(("compute", "memory")):
        return "memory" if "memory_bytes" in case.template.by_name else "network"
    if COMM in case.template.by_name and bound > max(parts):
        return "network"
    compute, memory = parts
    return "compute" if compute >= memory else "memory"


def hardware() -> Table:
    """The shipped hardware table."""
    return _databases().hardware


@cache
def _databases() -> Databases:
    return Databases()

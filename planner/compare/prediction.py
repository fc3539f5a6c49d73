"""What the templates predict of a case without a workbook, and what a measured time says of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from planner.catalog import Table, Value
from planner.catalog.databases import Databases
from planner.compare.comparison_sheet import RESULTS
from planner.errors import UserError, nearest
from planner.formulas import library
from planner.formulas.evaluation import Facts, Results, evaluate
from planner.formulas.lookups import by_id

ABSENT = {
    "flops": "", "compute_time": "", "memory_time": "lower_bound_time", "expected_time": "lower_bound_time",
}  # fmt: skip
"""What stands in for a row that a template lacks: another one, or 0."""


def predict(template: str, inputs: Mapping[str, Value], hardware_id: str, chips: Table | None = None) -> Results:
    """A case on a chip of a hardware table, by default the shipped one; without one its times are N/A, its work known.

    Raises UserError for an unknown template or input.
    """
    loaded = library.load(template)
    unknown = [name for name in inputs if name not in loaded.by_name]
    if unknown:
        raise UserError(f"{template} has no input {unknown[0]!r}", remedy=nearest(unknown[0], loaded.by_name))
    return evaluate(
        loaded, Facts({}, _chip(hardware_id, chips or _databases().hardware), by_id(loaded, _databases())), inputs
    )


def judge(case: Results, measured_time: float) -> dict[str, Value]:
    """The columns of templates/measured.csv for a predicted case, such as its ratio."""
    known = {name: case.value(name) for name in case} | {"measured_time": measured_time}
    for name, instead in ABSENT.items():
        known.setdefault(name, known.get(instead, 0.0))
    template = library.load(RESULTS)
    results = evaluate(template, Facts(), {name: known[name] for name in template.by_name if name in known})
    return {row.name: results.value(row.name) for row in template.of_kind("calc", "output")}


@cache
def _databases() -> Databases:
    return Databases()


def _chip(hardware_id: str, table: Table) -> Mapping[str, Value]:
    blank: dict[str, Value] = dict.fromkeys(column.name for column in table.columns)
    return table.rows.get(hardware_id, blank)

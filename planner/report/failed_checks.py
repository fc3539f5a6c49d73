"""The checks that fail, each with the numbers that it compares."""

from __future__ import annotations

from planner.book.plan import CheckRow, Quantity
from planner.formulas.comparisons import Compared, in_numbers
from planner.report.contents import CheckResult
from planner.report.figures import CellFigures
from planner.terminal_table import joined


def check_results(cells: CellFigures) -> tuple[tuple[CheckResult, ...], tuple[CheckResult, ...]]:
    """The checks of all scenarios that fail, and those that can't be told because a number is missing."""
    failed: list[CheckResult] = []
    untold: list[CheckResult] = []
    for scenario in cells.plan.scenarios:
        for row in cells.plan.checks:
            if not is_counted(row, scenario.key) or row.holds(scenario.key):
                continue
            fails = row.failed(scenario.key)
            (failed if fails else untold).append(check_result(cells, row, scenario.key, fails))
    return tuple(failed), tuple(untold)


def is_counted(row: CheckRow, key: str) -> bool:
    """Whether a check is one of the scenario's; a text stands where it is not."""
    return key in row.cells and not isinstance(row.value(key), str)


def check_result(cells: CellFigures, row: CheckRow, key: str, fails: bool) -> CheckResult:
    """A check in a scenario, with the numbers that it compares where it fails."""
    figure, scenario = cells.of(row, key), cells.plan.by_key[key]
    meaning = joined(row.text, row.source)
    numbers = in_numbers(row.text, lambda each: _compared(cells, row, each, key)) if fails else ""
    return CheckResult(scenario.title, row.title, meaning, figure.cell, fails, "" if fails else figure.why, numbers)


def _compared(cells: CellFigures, check: CheckRow, name: str, key: str) -> Compared:
    """What a name of a check is in a scenario. Raises LookupError for an unknown one."""
    row = _row(cells, check, name)
    entry = row.cells.get(key, row.cells.get(""))  # a constant has one for all scenarios
    value = entry.value if entry else None
    return Compared(row.title, row.unit, value if isinstance(value, (int, float, str)) else None)


def _row(cells: CellFigures, check: CheckRow, name: str) -> Quantity:
    """The row of a name on the sheet that calculates the check, else the first of the name.

    Raises LookupError where there is none.
    """
    template, _, own = check.name.rpartition(".")
    found = [table for table in cells.tables if own in table and name in table]
    first = next((table[name] for table in found if cells.template_of(table[name].sheet) == template), None)
    row = first or (found[0][name] if found else cells.row(name))
    if row is None:
        row = next((each for each in cells.plan.constants if each.name == name), None)
    if row is None:
        raise LookupError(name)
    return row

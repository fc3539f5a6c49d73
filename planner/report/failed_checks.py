"""The failed checks, each with the numbers that it compares."""

from __future__ import annotations

from contextlib import suppress

from planner.book.plan import CheckRow, Quantity
from planner.book.workbook import MISSING
from planner.errors import UserError
from planner.formulas.comparisons import Compared, in_numbers
from planner.formulas.text import FormulaError, parse
from planner.report.contents import CheckResult
from planner.report.figures import CellFigures
from planner.terminal_table import joined


def check_results(cells: CellFigures) -> tuple[tuple[CheckResult, ...], tuple[CheckResult, ...]]:
    """The failed checks of all scenarios, and those with an unknown result because a number is missing."""
    failed: list[CheckResult] = []
    untold: list[CheckResult] = []
    for scenario in cells.plan.scenarios:
        for row in cells.plan.checks:
            if row.failed(scenario.key):
                failed.append(check_result(cells, row, scenario.key, fails=True))
            elif is_untold(cells, row, scenario.key):
                untold.append(check_result(cells, row, scenario.key, fails=False))
    return tuple(failed), tuple(untold)


def is_counted(row: CheckRow, key: str) -> bool:
    """Whether a check applies to the scenario; otherwise its cell contains text."""
    return key in row.cells and not isinstance(row.value(key), str)


def is_untold(cells: CellFigures, row: CheckRow, key: str) -> bool:
    """Whether the result of a check that applies to the scenario is unknown.

    A check of the databases alone asks nothing of a user's own model, which has no published count: Checks lists no
    such number as missing, and nor is the check told.
    """
    if not is_counted(row, key) or row.holds(key) or row.failed(key):
        return False
    listed = {line.name.rpartition(".")[2] for line in cells.plan.book.checks.lines if line.name.startswith(MISSING)}
    with suppress(UserError, LookupError, FormulaError):  # of a check of the sheets, which asks in words
        read = [_row(cells, row, name) for name in parse(row.text).names]
        lacking = [each for each in read if not isinstance(each.value(key), (int, float, str))]
        return not lacking or any(each.name in listed or "[" not in each.text for each in lacking)
    return True


def check_result(cells: CellFigures, row: CheckRow, key: str, fails: bool) -> CheckResult:
    """The result of a check in a scenario, with the compared numbers if it fails."""
    figure, scenario = cells.of(row, key), cells.plan.by_key[key]
    meaning = joined(row.text, row.source)
    numbers = in_numbers(row.text, lambda each: _compared(cells, row, each, key)) if fails else ""
    return CheckResult(scenario.title, row.title, meaning, figure.cell, fails, "" if fails else figure.why, numbers)


def _compared(cells: CellFigures, check: CheckRow, name: str, key: str) -> Compared:
    """The value of a name in a check's formula in a scenario. Raises LookupError for an unknown one."""
    row = _row(cells, check, name)
    value = row.value(key if key in row.cells else "")  # a constant has one cell for all scenarios
    return Compared(row.title, row.unit, value if isinstance(value, (int, float, str)) else None)


def _row(cells: CellFigures, check: CheckRow, name: str) -> Quantity:
    """The row of a name on the check's own sheet, else the first of that name. Raises LookupError if there is none."""
    template, _, own = check.name.rpartition(".")
    found = [table for table in cells.tables if own in table and name in table]
    first = next((table[name] for table in found if cells.template_of(table[name].sheet) == template), None)
    row = first or (found[0][name] if found else cells.row(name))
    if row is None:
        row = next((each for each in cells.plan.constants if each.name == name), None)
    if row is None:
        raise LookupError(name)
    return row

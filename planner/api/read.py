"""`planner.read`: an edited workbook as tables, with its formulas recalculated."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.api import warned
from planner.book.plan import Plan
from planner.book.read_plan import read_plan
from planner.compare.comparison_sheet import IDENTITY, RESULTS, find
from planner.formulas import library
from planner.report.failed_checks import check_result, is_counted
from planner.report.figures import CellFigures
from planner.scenario.export import export
from planner.scenario.exported_tables import MISSING
from planner.xlsx.cellvalue import Value, is_number

if TYPE_CHECKING:
    from pandas import DataFrame

TEXT = "text"
CASES = [name for name in IDENTITY if name != "hardware_row"]


@warned
def read(path: str | Path) -> Workbook:
    """Read a workbook, with its formulas recalculated in memory; the file is not changed.

    Raises UserError for a file that is not a workbook of planner.
    """
    return Workbook(CellFigures(read_plan(Path(path))))


@dataclass(frozen=True, eq=False)
class Workbook:
    """A workbook as tables. The units of a table's columns are in its `attrs["units"]`, by the column's name."""

    cells: CellFigures

    def __repr__(self) -> str:
        return f"<planner.read of {self.plan.file}: {len(self.plan.scenarios)} scenarios>"

    @property
    def plan(self) -> Plan:
        """The workbook as read."""
        return self.cells.plan

    @cached_property
    def scenarios(self) -> DataFrame:
        """A row for each scenario by its id: name, model, hardware and every typed value. `planner.build` takes it.

        A blank means the template's default; the text `N/A` marks a number that was deleted. What the table can't
        hold, such as an edited formula, is listed in `attrs["remarks"]`. Raises UserError for a text where a number
        belongs.
        """
        found = export(self.plan)
        typed = (*self.plan.inputs, *self.plan.overrides, *(row for rows in self.plan.tables.values() for row in rows))
        units = {row.name: row.unit for row in reversed(typed)}
        shipped = [library.load(name) for name in found.templates if name in library.names()]
        blank = {row.name for template in shipped for row in template.of_kind("input") if row.default is None}
        index, *columns = (list(column) for column in zip(*found.rows, strict=True))
        made = {}
        for name, texts in zip(found.header[1:], columns, strict=True):
            empty = {"", MISSING} if name in blank else {""}
            if units.get(name, TEXT) == TEXT:
                made[name] = [None if text in empty else text for text in texts]
            else:
                made[name] = [math.nan if text in empty else text if text == MISSING else float(text) for text in texts]
        frame = _frame(made, {name: units.get(name, TEXT) for name in made}, "scenario", index)
        frame.attrs["remarks"] = list(found.remarks)
        return frame

    @cached_property
    def headlines(self) -> DataFrame:
        """A row for each scenario with the headlines of Dashboard, by name, in the units of the templates.

        A name that two templates have gets a prefix: `training.memory_bytes_per_chip`. Headlines of workloads that a
        scenario isn't meant for are missing.
        """
        twice = Counter(row.name for row in self.plan.headlines)
        units, made = {}, {}
        for row in self.plan.headlines:
            name = (
                row.name
                if twice[row.name] == 1
                else f"{self.plan.book.templates.get(row.origin, row.origin)}.{row.name}"
            )
            units[name] = row.unit
            values = [row.value(key) if self.cells.counts(row.origin, key) else None for key in self.cells.keys]
            made[name] = _cells(values, row.unit)
        return _frame(made, units, "scenario", self.cells.keys)

    @cached_property
    def measured(self) -> DataFrame:
        """A row for each case of the Comparison: its predicted time, and its measured time if there is one.

        Raises UserError for a workbook without a Comparison.
        """
        sheet = find(self.plan.book.package, self.plan.book.parsed)
        units = dict.fromkeys(CASES, TEXT) | {row.name: row.unit for row in library.load(RESULTS).rows}
        units = {name: unit for name, unit in units.items() if name in sheet.columns}
        made = {
            name: _cells([self.plan.at(sheet.name, row.number, sheet.columns[name]) for row in sheet.rows], unit)
            for name, unit in units.items()
        }
        return _frame(made, units)

    @cached_property
    def checks(self) -> DataFrame:
        """A row for each check that counts for a scenario: whether it holds, or None if a number is missing.

        `compared` has the numbers that a failed check compares.
        """
        pairs = [(row, key) for key in self.cells.keys for row in self.plan.checks if is_counted(row, key)]
        made: dict[str, list[Any]] = {
            "scenario": [key for _, key in pairs],
            "check": [row.name for row, _ in pairs],
            "label": [row.title for row, _ in pairs],
            "holds": [False if row.failed(key) else True if row.holds(key) else None for row, key in pairs],
            "compared": [
                check_result(self.cells, row, key, fails=True).numbers if row.failed(key) else "" for row, key in pairs
            ],
        }
        return _frame(made, dict.fromkeys(made, TEXT) | {"holds": "1"})


def _cells(values: Sequence[Value], unit: str) -> list[Any]:
    """Cells as a column: NaN for missing numbers, None for missing texts."""
    if unit == TEXT:
        return [value if isinstance(value, str) and value else None for value in values]
    return [float(value) if is_number(value) else math.nan for value in values]


def _frame(
    columns: Mapping[str, Sequence[Any]], units: Mapping[str, str], index: str = "", keys: Sequence[str] = ()
) -> DataFrame:
    """A table of columns with units, with a named index of keys or a running index."""
    import pandas

    made = {name: pandas.Series(list(values), dtype=_dtype(values)) for name, values in columns.items()}
    frame = pandas.DataFrame(made)
    if index:
        frame.index = pandas.Index(keys, name=index, dtype=object)
    frame.attrs["units"] = dict(units)
    return frame


def _dtype(values: Sequence[Any]) -> type:
    return float if values and all(type(value) is float for value in values) else object

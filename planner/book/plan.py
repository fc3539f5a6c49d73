"""What a planning workbook says, as plain data: scenarios, inputs, calculated rows, headlines, checks, notes.

Everything is found by machine names and scenario ids, so that inserted rows, moved columns and renamed sheets make no
difference. Values are those that the formulas give now (recalculated in memory), whatever the file has cached.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from planner.book.workbook import Book, by_spot
from planner.recalc.engine import EngineError
from planner.xlsx.address import Spot
from planner.xlsx.cellvalue import CellError, Value
from planner.xlsx.comments import Note
from planner.xlsx.pattern import Pattern


class Entry(NamedTuple):
    """A cell's value now, and its formula's pattern, None where the value is typed or the cell empty."""

    spot: Spot
    value: Value
    pattern: Pattern | None = None

    @property
    def formula(self) -> str | None:
        """The text of its formula, without `=`; None where it has none."""
        return None if self.pattern is None else self.pattern.at(self.spot.row, self.spot.column)

    @property
    def is_blank(self) -> bool:
        """Whether nothing stands in the cell."""
        return self.pattern is None and self.value in (None, "")

    @property
    def is_missing(self) -> bool:
        """Whether there is no number or text to show: a blank, or an error such as N/A."""
        return self.value in (None, "") or isinstance(self.value, CellError)


@dataclass(frozen=True)
class Scenario:
    """A scenario's column of Inputs. `key` tells it from the others: its id, or id and column where two share it."""

    key: str
    id: str
    name: str
    model: str
    hardware: str
    column: int

    @property
    def title(self) -> str:
        """What to call it: its name, or its id where it has none."""
        return self.name or self.id


@dataclass(frozen=True)
class Quantity:
    """A row: its machine name, and a cell for each scenario by the scenario's key.

    `text` is the formula in names of a calculated row, the note of an input; `section` the heading above it.
    `source` is its note and source, as the sheet has them. `cells` of a constant has the one key `""`.
    """

    sheet: str
    row: int
    name: str
    label: str
    unit: str
    section: str
    text: str
    source: str
    cells: Mapping[str, Entry]

    def value(self, key: str) -> Value:
        """The value in a scenario; None where the row has no cell for it."""
        entry = self.cells.get(key)
        return None if entry is None else entry.value

    @property
    def title(self) -> str:
        """What to call it: its label, or its name where an analyst took the label away."""
        return self.label or self.name


@dataclass(frozen=True)
class DashboardHeadline(Quantity):
    """A row of Dashboard with a number; `origin` is the sheet that calculates it, `bound_by` what binds it if said.

    Where Dashboard shows it in a unit that people say, the unit and the cells are those of the row that it reads.
    """

    origin: str = ""
    bound_by: Mapping[str, Entry] | None = None

    def binds(self, key: str) -> Value:
        """What binds it in a scenario, in words; None where that isn't said."""
        entry = (self.bound_by or {}).get(key)
        return None if entry is None else entry.value


def fails(value: Value) -> bool:
    """Whether a check with this value fails: 0, or the FALSE of a comparison that a person typed over it."""
    return isinstance(value, (int, float)) and value == 0


@dataclass(frozen=True)
class CheckRow(Quantity):
    """A row of Checks: 1 holds, 0 fails, an error or a blank can't be told."""

    def failed(self, key: str) -> bool:
        """Whether it fails in a scenario."""
        return fails(self.value(key))

    def holds(self, key: str) -> bool:
        """Whether it holds in a scenario."""
        value = self.value(key)
        return isinstance(value, (int, float)) and value == 1


@dataclass(frozen=True)
class Plan:
    """A workbook as read, edited or not; what is to be built is another thing (`planner.workbook`).

    `inputs` are the rows of Inputs that a person types, `overrides` the blank cells that take the place of looked-up
    or calculated numbers when they are filled, `constants` the numbers that all scenarios share. `tables` holds the
    rows of each calculation sheet by the sheet's name as it is now.
    """

    file: str
    book: Book
    scenarios: tuple[Scenario, ...]
    inputs: tuple[Quantity, ...]
    overrides: tuple[Quantity, ...]
    constants: tuple[Quantity, ...]
    tables: Mapping[str, tuple[Quantity, ...]]
    headlines: tuple[DashboardHeadline, ...]
    checks: tuple[CheckRow, ...]
    notes: tuple[Note, ...]

    @cached_property
    def stale(self) -> tuple[Spot, ...]:
        """Where the formulas are whose cached value is missing or another; errors count as one."""
        return tuple(spot for spot, new in self.book.fresh.items() if not self.book.is_current(spot, new))

    @cached_property
    def unknown(self) -> Mapping[Spot, str]:
        """Why formulas could not be computed here; their value is the cached one."""
        if self.not_computed:
            return {}
        return by_spot(self.book.computed.doubts)

    @cached_property
    def not_computed(self) -> str:
        """Why nothing was computed, where the engine refused the whole workbook; else blank."""
        try:
            self.book.computed  # noqa: B018 (computed when it is asked for)
        except EngineError as error:
            return str(error)
        return ""

    @property
    def sheets(self) -> list[str]:
        """The worksheets' names, in the order of the tabs."""
        return list(self.book.sheets)

    @cached_property
    def by_key(self) -> dict[str, Scenario]:
        """The scenarios by key."""
        return {scenario.key: scenario for scenario in self.scenarios}

    def quantity(self, name: str) -> Quantity | None:
        """The first row of a machine name: of a calculation sheet, else of Inputs."""
        rows = (row for table in (*self.tables.values(), self.inputs, self.constants) for row in table)
        return next((row for row in rows if row.name == name), None)

    def value(self, name: str, key: str) -> Value:
        """A row's value in a scenario; None where there is no such row or no cell."""
        row = self.quantity(name)
        return None if row is None else row.value(key)

    def at(self, sheet: str, row: int, column: int) -> Value:
        """The value of any cell now; None for an empty one."""
        return self.book.value(sheet, row, column)

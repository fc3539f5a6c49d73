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
    """A cell's current value, and the pattern of its formula (None for a typed value or an empty cell)."""

    spot: Spot
    value: Value
    pattern: Pattern | None = None

    @property
    def formula(self) -> str | None:
        """The formula without `=`; None if there is none."""
        return None if self.pattern is None else self.pattern.at(self.spot.row, self.spot.column)

    @property
    def is_blank(self) -> bool:
        """Whether the cell is empty."""
        return self.pattern is None and self.value in (None, "")

    @property
    def is_missing(self) -> bool:
        """Whether there is no number or text to show: a blank, or an error such as N/A."""
        return self.value in (None, "") or isinstance(self.value, CellError)


@dataclass(frozen=True)
class Scenario:
    """A scenario's column of Inputs. `key` is unique: its id, or id and column letters where two share an id."""

    key: str
    id: str
    name: str
    model: str
    hardware: str
    column: int

    @property
    def title(self) -> str:
        """Its name, or its id if it has none."""
        return self.name or self.id


@dataclass(frozen=True)
class Quantity:
    """A row: its machine name, and a cell for each scenario, by the scenario's key.

    `text` is a calculated row's formula in names, or an input's note; `section` the heading above; `source` the note
    and source beside it. A constant's `cells` has the single key `""`.
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
        """Its label, or its machine name if the label was deleted."""
        return self.label or self.name


@dataclass(frozen=True)
class DashboardHeadline(Quantity):
    """A numeric row of Dashboard.

    `origin` is the sheet that calculates it, `bound_by` names what binds it, if the sheet does. If Dashboard shows it
    in a display unit, the unit and cells are those of the row that it reads.
    """

    origin: str = ""
    bound_by: Mapping[str, Entry] | None = None

    def binds(self, key: str) -> Value:
        """What binds it in a scenario, in words; None if the sheet doesn't say."""
        entry = (self.bound_by or {}).get(key)
        return None if entry is None else entry.value


def fails(value: Value) -> bool:
    """Whether a check with this value fails: 0, or FALSE from a comparison that the user typed over it."""
    return isinstance(value, (int, float)) and value == 0


@dataclass(frozen=True)
class CheckRow(Quantity):
    """A row of Checks: 1 holds, 0 fails; an error or a blank is neither."""

    def failed(self, key: str) -> bool:
        """Whether it fails in a scenario."""
        return fails(self.value(key))

    def holds(self, key: str) -> bool:
        """Whether it holds in a scenario."""
        value = self.value(key)
        return isinstance(value, (int, float)) and value == 1


@dataclass(frozen=True)
class Plan:
    """A workbook as read, edited or not; the plan of a workbook to build is `planner.workbook.build_plan.BuildPlan`.

    `inputs` are the typed rows of Inputs, `overrides` the cells that replace a looked-up or calculated number if
    filled, `constants` the numbers that all scenarios share. `tables` has the rows of each calculation sheet, by its
    present name.
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
        """The formulas whose cached value is missing or wrong; all errors count as equal."""
        return tuple(spot for spot, new in self.book.fresh.items() if not self.book.is_current(spot, new))

    @cached_property
    def unknown(self) -> Mapping[Spot, str]:
        """Why a formula couldn't be computed here, by cell; its value is then the cached one."""
        if self.not_computed:
            return {}
        return by_spot(self.book.computed.doubts)

    @cached_property
    def not_computed(self) -> str:
        """Why nothing could be computed, if the engine refused the whole workbook; else blank."""
        try:
            self.book.computed  # noqa: B018 (computed when it is asked for)
        except EngineError as error:
            return str(error)
        return ""

    @property
    def sheets(self) -> list[str]:
        """The worksheets' names, in tab order."""
        return list(self.book.sheets)

    @cached_property
    def by_key(self) -> dict[str, Scenario]:
        """The scenarios by key."""
        return {scenario.key: scenario for scenario in self.scenarios}

    def quantity(self, name: str) -> Quantity | None:
        """The first row with a machine name, on a calculation sheet or else on Inputs."""
        rows = (row for table in (*self.tables.values(), self.inputs, self.constants) for row in table)
        return next((row for row in rows if row.name == name), None)

    def value(self, name: str, key: str) -> Value:
        """A row's value in a scenario; None if there is no such row or cell."""
        row = self.quantity(name)
        return None if row is None else row.value(key)

    def at(self, sheet: str, row: int, column: int) -> Value:
        """The current value of any cell; None for an empty one."""
        return self.book.value(sheet, row, column)

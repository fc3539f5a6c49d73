"""The kinds of differences between two workbooks, as plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Literal, NamedTuple

from planner.xlsx.cellvalue import Value

How = Literal["overridden", "edited", "restored", "removed", "added"]
"""What happened to a formula."""


class InputChange(NamedTuple):
    """A typed value that changed, of a scenario or (blank) of a database, such as `Hardware[tpu-v5e].hbm_bytes`."""

    scenario: str
    name: str
    label: str
    unit: str
    cell: str
    old: Value
    new: Value


class RunChange(NamedTuple):
    """A recorded run that was added (`old` is None), removed (`new` is None) or typed over, in SI units or shares.

    `scenario` is its name, `quantity` what was measured, `on` its time of UTC, `cell` that of the measured number.
    """

    scenario: str
    quantity: str
    on: str
    unit: str
    cell: str
    old: float | None
    new: float | None

    @property
    def how(self) -> Literal["added", "removed", "changed"]:
        """What happened to it."""
        return "added" if self.old is None else "removed" if self.new is None else "changed"


class FormulaChange(NamedTuple):
    """A formula that changed: overridden by a value, edited, restored, removed or added.

    `old` and `new` are the cell's content: a formula with its `=`, or a typed value. If both formulas have the same
    text but read different cells, they state the names of the rows that they read. `by_planner` says that planner wrote
    the new one, and the old one unless it is added, outside of the rows of templates.
    """

    how: How
    scenario: str
    name: str
    cell: str
    old: Value
    new: Value
    by_planner: bool = False


class Structure(NamedTuple):
    """A sheet, scenario, row or column that was added, removed, renamed or moved; `name` is the new one.

    `by_planner` says that planner wrote the row, as it does where it shows what a plan comes to.
    """

    what: Literal["sheet", "scenario", "row", "column"]
    how: Literal["added", "removed", "renamed", "moved"]
    sheet: str
    name: str
    old_name: str = ""
    at: str = ""
    by_planner: bool = False


class CellChange(NamedTuple):
    """Any other cell: a text of planner's, or content of an analyst's own sheet. `by_planner` as of a formula."""

    cell: str
    old: Value
    new: Value
    by_planner: bool = False


class NoteChange(NamedTuple):
    """A note added, removed or changed."""

    how: Literal["added", "removed", "changed"]
    cell: str
    old: str
    new: str


class FormatChange(NamedTuple):
    """The number of cells of a sheet whose format changed, and the first of them."""

    sheet: str
    cells: int
    first: str
    old: str
    new: str


class OutcomeChange(NamedTuple):
    """A scenario's headline that changed; `relative` is None if there is no ratio, as from or to N/A.

    `sheet` is the one that calculates it if several have a headline of this name, else blank. `leads` says whether
    `calc` and the report lead with it, for a scenario meant for its workload. `better` is `less` or `more`, blank if
    neither is better. `meant` says whether the scenario is meant for the workload. `said_in` is the unit to print it
    in, such as `%` for a share; blank for `unit`.
    """

    scenario: str
    name: str
    label: str
    unit: str
    old: Value
    new: Value
    sheet: str = ""
    leads: bool = True
    better: str = ""
    meant: bool = True
    said_in: str = ""

    @property
    def called(self) -> str:
        """Its name, with the sheet if several have it: `Training!memory_bytes_per_chip`."""
        return f"{self.sheet}!{self.name}" if self.sheet else self.name

    @property
    def relative(self) -> float | None:
        """The change relative to the old value."""
        old, new = self.old, self.new
        if isinstance(old, (int, float)) and isinstance(new, (int, float)) and old != 0:
            return (new - old) / abs(old)
        return None

    @property
    def verdict(self) -> str:
        """`better` or `worse`; blank if it didn't move by a ratio, or neither way is known to be better."""
        if not self.relative or not self.better:
            return ""
        return "better" if (self.relative > 0) == (self.better == "more") else "worse"

    @property
    def size(self) -> float:
        """The sort key, largest first: a number that appears, vanishes or was 0 is the largest."""
        relative = self.relative
        if relative is not None:
            return abs(relative)
        return 0.0 if isinstance(self.old, str) and isinstance(self.new, str) else math.inf


class CheckChange(NamedTuple):
    """A check whose result changed: it holds (1), fails (0), or is unknown."""

    scenario: str
    name: str
    label: str
    old: Value
    new: Value


@dataclass
class Difference:
    """All differences between two workbooks.

    `unsure` lists what could not be recalculated, and is compared as saved. `ratios` has the measured time over the
    prediction of cases whose measured time changed, by the change's name.
    """

    old: str
    new: str
    structure: list[Structure] = field(default_factory=list)
    inputs: list[InputChange] = field(default_factory=list)
    runs: list[RunChange] = field(default_factory=list)
    formulas: list[FormulaChange] = field(default_factory=list)
    checks: list[CheckChange] = field(default_factory=list)
    notes: list[NoteChange] = field(default_factory=list)
    cells: list[CellChange] = field(default_factory=list)
    formats: list[FormatChange] = field(default_factory=list)
    headlines: list[OutcomeChange] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    ratios: dict[str, float] = field(default_factory=dict)

    @property
    def changes(self) -> dict[str, list[NamedTuple]]:
        """The changes by kind."""
        return {part.name: getattr(self, part.name) for part in fields(self) if part.name not in _NO_CHANGES}

    @property
    def is_empty(self) -> bool:
        """Whether there are no changes."""
        return not any(self.changes.values())


_NO_CHANGES = ("old", "new", "unsure", "ratios")

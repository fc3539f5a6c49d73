"""The kinds of differences between two workbooks, as plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Literal, NamedTuple

from planner.xlsx.cellvalue import Value

How = Literal["overridden", "edited", "restored", "removed", "added"]
"""What became of a formula."""


class InputChange(NamedTuple):
    """A typed value that changed: of a scenario, or of a database (`Hardware[tpu-v5e].hbm_bytes`), then of none."""

    scenario: str
    name: str
    label: str
    unit: str
    cell: str
    old: Value
    new: Value


class FormulaChange(NamedTuple):
    """A formula that changed: overridden by a value, edited, restored, removed or added.

    `old` and `new` are what a person sees in the cell: a formula with its `=`, or the value typed there. Two formulas
    that are written alike and read other cells have the names of the rows that they read.
    """

    how: How
    scenario: str
    name: str
    cell: str
    old: Value
    new: Value


class Structure(NamedTuple):
    """Something added, removed, renamed or moved: a sheet, a scenario, a row or a column; `name` is the new one."""

    what: Literal["sheet", "scenario", "row", "column"]
    how: Literal["added", "removed", "renamed", "moved"]
    sheet: str
    name: str
    old_name: str = ""
    at: str = ""


class CellChange(NamedTuple):
    """Any other cell that changed: a text of planner's, or anything on a sheet of the analyst's own."""

    cell: str
    old: Value
    new: Value


class NoteChange(NamedTuple):
    """A note added, removed or changed."""

    how: Literal["added", "removed", "changed"]
    cell: str
    old: str
    new: str


class FormatChange(NamedTuple):
    """How many cells of a sheet look different, and the first of them."""

    sheet: str
    cells: int
    first: str
    old: str
    new: str


class OutcomeChange(NamedTuple):
    """A headline of a scenario that moved; `relative` is None where there is no ratio, as from or to N/A.

    `sheet` is the one that calculates it, where several have a headline of this name; else blank. `leads` is whether
    `calc` and the report lead with it for a scenario that is meant for its workload: no range, no bound.
    """

    scenario: str
    name: str
    label: str
    unit: str
    old: Value
    new: Value
    sheet: str = ""
    leads: bool = True

    @property
    def called(self) -> str:
        """Its name, with the sheet where the name is on several: `Training!memory_bytes_per_chip`."""
        return f"{self.sheet}!{self.name}" if self.sheet else self.name

    @property
    def relative(self) -> float | None:
        """The change as a share of the old value."""
        old, new = self.old, self.new
        if isinstance(old, (int, float)) and isinstance(new, (int, float)) and old != 0:
            return (new - old) / abs(old)
        return None

    @property
    def size(self) -> float:
        """The sort key, largest first: a number that appears, vanishes or leaves 0 is largest of all."""
        relative = self.relative
        if relative is not None:
            return abs(relative)
        return 0.0 if isinstance(self.old, str) and isinstance(self.new, str) else math.inf


class CheckChange(NamedTuple):
    """A check that comes out differently: it holds (1), fails (0), or can't be told."""

    scenario: str
    name: str
    label: str
    old: Value
    new: Value


@dataclass
class Difference:
    """All that differs. `unsure` says of each workbook what could not be recalculated, and so is as saved."""

    old: str
    new: str
    structure: list[Structure] = field(default_factory=list)
    inputs: list[InputChange] = field(default_factory=list)
    formulas: list[FormulaChange] = field(default_factory=list)
    checks: list[CheckChange] = field(default_factory=list)
    notes: list[NoteChange] = field(default_factory=list)
    cells: list[CellChange] = field(default_factory=list)
    formats: list[FormatChange] = field(default_factory=list)
    headlines: list[OutcomeChange] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)

    @property
    def changes(self) -> dict[str, list[NamedTuple]]:
        """The changes by their kind."""
        return {part.name: getattr(self, part.name) for part in fields(self) if part.name not in _NO_CHANGES}

    @property
    def is_empty(self) -> bool:
        """Whether the two workbooks say the same."""
        return not any(self.changes.values())


_NO_CHANGES = ("old", "new", "unsure")

"""What an update kept and changed."""

from __future__ import annotations

from dataclasses import dataclass, field

from planner.recalc import Recalculated


@dataclass
class Kept:
    """What of a person's work stands in the new workbook, and what planner changed, cell by cell."""

    typed: list[str] = field(default_factory=list)
    typed_over: list[str] = field(default_factory=list)
    formulas: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    own_cells: int = 0
    formats: int = 0
    renewed: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)


@dataclass
class Updated:
    """What became of the workbook, for a person."""

    kept: Kept = field(default_factory=Kept)
    own_sheets: list[str] = field(default_factory=list)
    own_rows: list[str] = field(default_factory=list)
    own_columns: list[str] = field(default_factory=list)
    new_rows: list[str] = field(default_factory=list)
    gone_rows: list[str] = field(default_factory=list)
    new_sheets: list[str] = field(default_factory=list)
    notes: int = 0
    rules: int = 0
    remarks: list[str] = field(default_factory=list)
    recalculated: Recalculated | None = None

    @property
    def is_needed(self) -> bool:
        """Whether anything of planner's is other than it was."""
        return bool(self.kept.renewed or self.kept.numbers or self.new_rows or self.gone_rows or self.new_sheets)

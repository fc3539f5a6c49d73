"""What an update kept and changed."""

from __future__ import annotations

from dataclasses import dataclass, field

from planner.editing.transplant import Kept
from planner.recalc import Recalculated


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

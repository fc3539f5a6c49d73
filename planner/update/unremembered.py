"""The base of the merge for a file without a record of what planner wrote: an earlier version's, or one with Cover
deleted.

Labels, formulas and notes in planner's cells count as planner's; typed numbers, cells beside planner's, and everything
else count as the user's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cached_property

from planner.align.keys import COMPARISON, KeyedSheet
from planner.book.rowkeys import COVER, DATABASES, TEXTS
from planner.update.base import Base
from planner.update.fresh import Fresh
from planner.update.places import is_filled
from planner.workbook import cell_styles
from planner.workbook.memory import Remembered
from planner.xlsx.address import Position
from planner.xlsx.styles import Look
from planner.xlsx.xmltree import Element

TITLE = 1  # the row of a sheet's title and of its count of failed checks
MANY = 3  # so many cells of equal look, with one of these styles, come from a version of planner


class Unremembered(Base):
    """A base guessed from the fresh workbook alone: rows and columns with equal keys are taken to be the same."""

    looks: Counter[Look]

    @classmethod
    def of_fresh(cls, sheets: Mapping[str, KeyedSheet], fresh: Fresh, looks: Counter[Look]) -> Unremembered:
        """Match the sheets of a file with those of a fresh workbook. `looks` counts the file's cells of each look."""
        base = Base.of(fresh.draft.memory, sheets, fresh)
        found = cls(base.memory, base.sheets, base.as_built, base.fresh, base.fresh_as_built)
        found.looks = looks
        return found

    def rekeyed(self, keyed: KeyedSheet) -> KeyedSheet:
        """The sheet with its present row keys, and on plain sheets the built columns."""
        found = super().rekeyed(keyed)
        return keyed if found.line_table is not None or keyed.kind in DATABASES else found

    def wrote(self, keyed: KeyedSheet, at: Position) -> Remembered | None:
        """None: what planner wrote isn't known."""
        del keyed, at
        return None

    def is_row(self, keyed: KeyedSheet, row: int) -> bool:
        """Whether the fresh sheet has a row of this key."""
        sheet = self.fresh.sheets.get(keyed.kind)
        return sheet is not None and keyed.rows.get(row, "") in sheet.row_of

    def is_ours(self, keyed: KeyedSheet, at: Position) -> bool:
        """Whether a cell is of a kind that planner writes: a formula, or a label or note of one of its rows."""
        fresh, key, column = self.fresh.sheets.get(keyed.kind), keyed.rows.get(at[0], ""), keyed.columns.get(at[1], "")
        if fresh is None or not is_filled(keyed, *at):
            return True
        is_live, value = at in keyed.sheet.patterns, keyed.sheet.value(*at)
        if key not in fresh.row_of:
            is_text = is_live or isinstance(value, str)
            return self._is_gone(keyed, at[0]) and (is_live or column in TEXTS or (is_text and not keyed.line_table))
        theirs = fresh.row_of[key], fresh.column_of.get(column, 0)
        cell = fresh.cells.get(theirs)
        if cell is None or is_live:
            return is_live and column in fresh.column_of
        if keyed.kind == COVER:
            return theirs != (1, 1) or value == fresh.value(1, 1)
        is_number = cell.formula is None and value == fresh.value(*theirs)
        # Earlier versions wrote as text what is a link to a line's number now.
        is_worded = cell.formula is None or theirs[0] == TITLE or theirs in fresh.page.links
        return is_number or (isinstance(value, str) and is_worded)

    def _is_gone(self, keyed: KeyedSheet, row: int) -> bool:
        """Whether a row that the fresh sheet lacks was planner's: only planner's lines have a machine name."""
        table = keyed.line_table
        if table is None:
            return keyed.kind not in (COMPARISON, *DATABASES)
        if any(line.row == row and line.name for line in table.lines):
            return True
        values = [column for column in keyed.scenario_columns if is_filled(keyed, row, column)]
        return not values and row < max(line.row for line in table.lines)

    def is_our_rule(self, keyed: KeyedSheet, rule: Element) -> bool:
        """Whether planner writes such a rule now, or one with the same prompt."""
        rules = self.fresh.sheets[keyed.kind].page.rules
        prompts = {text for _, _, title, *_, prompt in rules for text in (title, prompt) if text}
        is_said = bool(prompts & {rule.get("promptTitle"), rule.get("prompt")})
        return is_said or super().is_our_rule(keyed, rule)

    def is_our_look(self, keyed: KeyedSheet, at: Position, look: Look) -> bool:
        """Whether a look is the usual one of a named style of planner's, and is common or in the fresh file."""
        del keyed, at
        bare, usual = look._replace(number_format=""), self._usual.get(look.style)
        return (
            look.style.startswith(cell_styles.PREFIX)
            and (look in self._fresh_looks or self.looks[look] >= MANY)
            and (usual is None or bare == usual)
        )

    @cached_property
    def _fresh_looks(self) -> frozenset[Look]:
        return frozenset(self.fresh.looks)

    @cached_property
    def _usual(self) -> dict[str, Look]:
        """The most common look of each named style, apart from number formats."""
        counted: dict[str, Counter[Look]] = {}
        for look, count in self.looks.items():
            counted.setdefault(look.style, Counter())[look._replace(number_format="")] += count
        return {style: looks.most_common(1)[0][0] for style, looks in counted.items()}

"""Finds the sheets that planner built among renamed ones, copies of them, and the user's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from planner.book.sheet import Sheet
from planner.book.tables import case_tables, database, line_table

CASE_KEY = "case_key"  # the first machine name of Comparison
TELLING = "Place on the chart", "What changed"  # titles in a table of Roofline and in that of Log


class BuiltSheets:
    """Which of a workbook's sheets, given by name, are those that planner built."""

    def __init__(self, sheets: Mapping[str, Sheet]) -> None:
        self._sheets = sheets

    def built_as(self, names: Collection[str]) -> dict[str, Sheet]:
        """The sheets built under these names, by name and in their order: the title in their corner survives a renamed
        tab.

        A title that is a formula belongs to a sheet of the user's that shows content of planner's. A title may be below
        a text that the user put above it: on the sheet with the built name, else on the only one that others read.
        """
        titled: dict[str, list[Sheet]] = {}
        for sheet in self._sheets.values():
            if sheet.title and not sheet.cells[sheet.title_at].kind:
                titled.setdefault(sheet.title, []).append(sheet)
        found = {name: self.original(name, titled[name]) for name in names if name in titled}
        for name in (name for name in names if name not in found):
            known = {sheet.name for sheet in found.values()}
            below = [sheet for sheet in self._sheets.values() if sheet.name not in known and sheet.has_title(name)]
            called = [sheet for sheet in below if sheet.name == name]
            read = called or [sheet for sheet in below if self._readers[sheet.name]]
            found |= {name: read[0]} if len(read) == 1 else {}
        untitled = (self._sheets[name] for name in names if name not in found and name in self._sheets)
        found |= {sheet.name: sheet for sheet in untitled if _has_lost_its_title(sheet)}
        return {name: found[name] for name in names if name in found}

    def original(self, name: str, sheets: Sequence[Sheet]) -> Sheet:
        """The original among a sheet and its copies: the one that most other sheets read.

        Formulas follow a renamed sheet, and a copy may have taken its name. If none is read, the sheet with the built
        name counts as the original, else the first.
        """
        if len(sheets) == 1:
            return sheets[0]
        return min(sheets, key=lambda sheet: (-self._readers[sheet.name], sheet.name != name))

    @cached_property
    def _readers(self) -> Counter[str]:
        """How many other sheets read each sheet."""
        found: Counter[str] = Counter()
        for sheet in self._sheets.values():
            patterns = set(sheet.patterns.values())
            read = {reference.sheet for pattern in patterns for reference in pattern.references}
            found.update(read - {"", sheet.name})
        return found


def _has_lost_its_title(sheet: Sheet) -> bool:
    """Whether a sheet with a built name has a table that only planner's have: its title was deleted or reworded."""
    cases = (title for table in case_tables(sheet) for title in table.columns.values())
    is_told = CASE_KEY in cases or any(map(sheet.has_title, TELLING))
    return is_told or database(sheet) is not None or line_table(sheet) is not None

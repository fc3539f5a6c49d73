"""The first failed checks of each scenario, with the two sides that each compares: a block at the end of Checks.

No formula finds the second 0 of a column, so a closed group counts the failures down to each check; it also has the
two sides of every check.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.formulas.comparisons import sides
from planner.formulas.template import Row
from planner.formulas.text import parse
from planner.workbook import layout
from planner.workbook.calculation import Calculation
from planner.workbook.cell_styles import MAGNITUDE, number_format
from planner.workbook.page import LINE_HEIGHT, RED, Page
from planner.xlsx.address import address, column_letters
from planner.xlsx.grid import HERE

SHOWN = 3  # failures of a scenario
LABELS = column_letters(layout.SOURCE)
OWN = "checks"  # how the names of the rows begin that are no check's


class Failures:
    """The rows from `first` on; `checks` are the rows above of the checks, in whose order the blocks stand."""

    def __init__(
        self, page: Page, columns: layout.ScenarioColumns, checks: range,
        compared: Sequence[tuple[str, Calculation | None, Row | None]],
    ) -> None:  # fmt: skip
        self.page, self.columns, self.checks, self.compared = page, columns, checks, compared
        self.at = 0

    def count(self, first: int) -> int:
        """Write the working, a closed group from the row `first` on; returns the row below it."""
        self.at = self.first = first
        for at, (label, sheet, row) in zip(self.checks, self.compared, strict=True):
            unit = self._sides(sheet, row)[2]
            told = f"{label} ({unit})" if unit != "1" else label
            self._row(f"{label}: failures so far", "1", f"{self._key(sheet, row)}.count", "", told,
                      f"COUNTIF({HERE}${self.checks.start}:{HERE}{at},0)")  # fmt: skip
        for side in range(2):
            for label, sheet, row in self.compared:
                *texts, unit = self._sides(sheet, row)
                formula = parse(texts[side]).substitute(sheet.here) if sheet and texts[side] else '""'
                name = f"{self._key(sheet, row)}.side_{side + 1}"
                self._row(f"{label}: side {side + 1}", unit, name, texts[side], "", formula, number_format(unit))
        self.places = self.at
        for place in range(SHOWN):
            before = f"{HERE}{self.at - 1}"
            sought = f"INDEX({self._block(0)},{before},1)+1" if place else "1"
            found = f"IFERROR(MATCH({sought},{self._block(0)},0),0)"
            self._row(f"Place of failure {place + 1}", "1", f"{OWN}.place_{place + 1}", "", "",
                      f"IF({before}>0,{found},0)" if place else found)  # fmt: skip
        self.page.close_rows(range(first, self.at))
        return self.at

    def show(self, first: int) -> None:
        """Write the first failures, from the row `first` on: check, and both sides; blank where fewer fail."""
        self.at = first
        for place in range(SHOWN):
            titles = f"${LABELS}${self.first}:${LABELS}${self.first + len(self.checks) - 1}"
            blocks = ((titles, "", "plan_words", "@"), *((self._block(side), f": side {side}", "plan_output", MAGNITUDE)
                                                         for side in (1, 2)))  # fmt: skip
            at = f"{HERE}${self.places + place}"
            self.page.sheet.row_dimensions[self.at].height = 2 * LINE_HEIGHT + 2
            for number, (block, what, style, form) in enumerate(blocks):
                told = "what it compares: the numbers in its unit" if number else "that fails, from the top"
                formula = f'IF({at}>0,INDEX({block},{at},1),"")'
                self._row(f"Check {place + 1}{what}", "1" if number else "text",
                          f"{OWN}.failed_{place + 1}_{number}", "", told, formula, form, style)  # fmt: skip
        area = self.columns.area(first, self.at - 1)
        self.page.colour(area, f'{address(first, layout.FIRST_SCENARIO)}<>""', ink=RED)

    def _sides(self, sheet: Calculation | None, row: Row | None) -> tuple[str, str, str]:
        found = sides(row, {each.name: each for each in sheet.template.rows}) if sheet and row else None
        return found or ("", "", "1")

    def _key(self, sheet: Calculation | None, row: Row | None) -> str:
        return f"{OWN}.{sheet.template.name}.{row.name}" if sheet and row else f"{OWN}.inputs.unique_id"

    def _block(self, number: int) -> str:
        """The range of a block in a scenario's column: the counts, one side, the other."""
        start = self.first + number * len(self.checks)
        return f"{HERE}${start}:{HERE}${start + len(self.checks) - 1}"

    def _row(
        self, label: str, unit: str, name: str, names: str, told: str, formula: str, form: str = "0",
        style: str = "plan_formula",
    ) -> None:  # fmt: skip
        self.page.describe(self.at, (label, unit, name, names, told))
        self.page.across(self.at, self.columns, formula, style, form)
        self.at += 1

"""Tables on a workbook's sheets, found by the titles of their columns wherever an analyst has moved them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from planner.book.plan import Plan
from planner.report.cells import Cells
from planner.report.data import Figure


@dataclass(frozen=True)
class Found:
    """A table: its sheet, the row of its titles, and the column of each title, from left to right."""

    sheet: str
    header: int
    columns: dict[str, int]
    cells: Cells

    def rows(self) -> Iterator[int]:
        """The rows below the titles, to the first that has nothing in the table's first column."""
        sheet, first = self.cells.plan.book.sheets[self.sheet], min(self.columns.values())
        row = self.header + 1
        while (row, first) in sheet.cells and self.cells.plan.at(self.sheet, row, first) not in (None, ""):
            yield row
            row += 1

    def figure(self, row: int, title: str, unit: str) -> Figure:
        """A cell of the table."""
        return self.cells.at(self.sheet, row, self.columns[title], unit)

    def above(self, title: str) -> str:
        """What stands above a column's title."""
        return self.cells.plan.book.sheets[self.sheet].text(self.header - 1, self.columns[title])


def find(cells: Cells, titles: Collection[str], sheets: Collection[str] = ()) -> Iterator[Found]:
    """The tables whose titles are among others all of these; on `sheets` alone where some are given."""
    plan: Plan = cells.plan
    wanted = set(titles)
    for name, sheet in plan.book.sheets.items():
        if sheets and name not in sheets:
            continue
        at: dict[int, dict[str, int]] = defaultdict(dict)
        for row, column in sheet.cells:
            if sheet.text(row, column) in wanted and (row, column) not in sheet.patterns:
                at[row].setdefault(sheet.text(row, column), column)
        for row, columns in at.items():
            if columns.keys() == wanted:
                yield Found(name, row, _titles(cells, name, row, min(columns.values())), cells)


def _titles(cells: Cells, name: str, row: int, first: int) -> dict[str, int]:
    """The titles side by side from a column on."""
    sheet, column = cells.plan.book.sheets[name], first
    found: dict[str, int] = {}
    while text := sheet.text(row, column):
        found.setdefault(text, column)
        column += 1
    return found

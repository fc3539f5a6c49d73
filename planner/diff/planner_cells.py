"""Tells the cells that planner wrote from those that a person edited, by the record on a workbook's Cover."""

from __future__ import annotations

from planner.book.rowkeys import DATABASES
from planner.book.workbook import Book
from planner.workbook.memory import BuiltSheet, of_formula, of_value, remembered
from planner.xlsx.address import Position

LISTS = ("inputs", "comparison", *DATABASES)
"""The kinds of sheets whose rows are a plan's inputs, cases, models, chips and the like."""


class PlannerCells:
    """The cells of Dashboard, Inputs, Checks and the like that hold, where planner wrote it, what it wrote.

    The rows of templates aren't among them: their changes are changes of the plan. Neither is a cell of a sheet in
    which rows or columns were inserted since, nor of a workbook without a record.
    """

    def __init__(self, book: Book) -> None:
        self._book = book
        self._memory = remembered(book.designed.get("Cover"))
        built = {each.name: each for each in self._memory.sheets.values()} if self._memory else {}
        self._sheets: dict[str, BuiltSheet] = {
            sheet.name: built[name] for name, sheet in book.designed.items() if name in built
        }
        self._of_templates = {
            (table.sheet.name, line.row) for table in book.calculations for line in table.lines if line.name
        }

    def is_of_one_writing(self, other: PlannerCells) -> bool:
        """Whether planner wrote both workbooks alike: what differs between them, a person did."""
        return self._memory == other._memory

    def has_row(self, sheet: str, row: int) -> bool:
        """Whether a row of a sheet that shows what a plan comes to is as planner wrote it there: its texts stand in it.

        Rows of inputs, cases, models, chips and the like are none.
        """
        built = self._sheets.get(sheet)
        if built is None or built.kind in LISTS or row not in built.rows:
            return False
        columns = self._book.sheets[sheet].filled.get(row, ())
        return any(self.has(sheet, (row, column)) for column in columns)

    def has(self, sheet: str, at: Position) -> bool:
        """Whether a cell of a sheet, by its present name, has the formula or the text that planner wrote there."""
        if sheet not in self._sheets or (sheet, at[0]) in self._of_templates:
            return False
        wrote, cells = self._sheets[sheet].cell(*at), self._book.sheets[sheet]
        if wrote is None:
            return False
        formula = cells.patterns.get(at)
        held = of_value(cells.value(*at)) if formula is None else of_formula(formula.at(*wrote.first))
        return held == wrote.digest

"""The Models, Hardware and Dtypes sheets: a row for each id, a column for each number, their sources beside them."""

from __future__ import annotations

from dataclasses import dataclass

from openpyxl.workbook import Workbook

from planner.catalog import Table
from planner.workbook import layout
from planner.workbook.layout import letter
from planner.workbook.page import Page
from planner.workbook.styles import number_format

TITLES = {
    "models": ("Models", "The architecture of each model; add a row below for a model of your own."),
    "hardware": (
        "Hardware",
        "Peaks are dense and per chip; bandwidths are one-way. Add a row below for your own chip.",
    ),
    "dtypes": ("Dtypes", "Bytes of an element of each dtype."),
}


PRINTED = 14  # columns of a database on paper; the rest is for the screen


@dataclass(frozen=True)
class Database:
    """Where a table's columns stand on its sheet, and ranges over them that leave room for more rows."""

    page: Page
    columns: dict[str, int]
    last_row: int

    def range(self, column: str) -> str:
        """All cells of a column: `Hardware!$H$6:$H$152`."""
        return self._range(self.columns[column], self.columns[column])

    @property
    def ids(self) -> str:
        """The ids, for MATCH and for dropdowns."""
        return self._range(1, 1)

    @property
    def header(self) -> str:
        """The header row: the machine names of all columns."""
        row = layout.TABLE_HEADER_ROW
        return f"{self.page.name}!$A${row}:${letter(max(self.columns.values()))}${row}"

    @property
    def body(self) -> str:
        """All cells below the header."""
        return self._range(1, max(self.columns.values()))

    def _range(self, first: int, last: int) -> str:
        return f"{self.page.name}!${letter(first)}${layout.TABLE_FIRST_ROW}:${letter(last)}${self.last_row}"


def write(book: Workbook, table: Table) -> Database:
    """Write a table's sheet: units above the header, one row for each id."""
    title, purpose = TITLES[table.kind]
    page = Page(book, title, title, purpose)
    columns = {column.name: index for index, column in enumerate(table.columns, start=2)}
    page.put(1, 3, "", "plan_text")
    page.put(1, 4, "unit", "plan_text")
    page.put(1, layout.TABLE_HEADER_ROW, "id", "plan_header")
    for column in table.columns:
        page.put(columns[column.name], 3, column.label, "plan_note")
        page.put(columns[column.name], 4, column.unit, "plan_text")
        page.put(columns[column.name], layout.TABLE_HEADER_ROW, column.name, "plan_header")
    for at, (identifier, cells) in enumerate(table.rows.items(), start=layout.TABLE_FIRST_ROW):
        page.put(1, at, identifier, "plan_key")
        for column in table.columns:
            value = cells.get(column.name)
            if value is not None:
                whole = isinstance(value, float) and value == int(value) and abs(value) < 2**53
                kept = int(value) if whole else value
                page.put(
                    columns[column.name],
                    at,
                    kept,
                    "plan_data",
                    "0" if column.name == "year" else number_format(column.unit),
                )
    page.sheet.row_dimensions[3].height = 42
    last = layout.TABLE_FIRST_ROW + len(table.rows) - 1
    page.sheet.print_area = f"A1:{letter(min(len(table.columns) + 1, PRINTED))}{last}"
    page.widths(20, *[_width(column.name, column.unit) for column in table.columns])
    return Database(page, columns, layout.TABLE_FIRST_ROW + len(table.rows) - 1 + layout.SPARE_ROWS)


def _width(name: str, unit: str) -> float:
    if name.startswith(("source", "conflict", "note")):
        return 40
    scaled = 20.0 if unit.startswith(("FLOP", "byte")) else 13.0  # room for `1979.000 TFLOP/s/chip`
    return 22 if unit == "text" else max(scaled, len(name) * 1.05)

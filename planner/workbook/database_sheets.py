"""The Models, Hardware and Dtypes sheets, with a row for each id and a column for each number; and lookup formulas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from openpyxl.workbook import Workbook

from planner.book.formulas_in_names import or_missing
from planner.catalog import Table, Value
from planner.catalog.checked_table import TABLES
from planner.formulas.template import BY_ID, Row
from planner.workbook import layout
from planner.workbook.cell_styles import number_format
from planner.workbook.page import Page, whole_as_int
from planner.workbook.wrapping import LINE_HEIGHT, PER_WIDTH, lines_of
from planner.xlsx.address import column_letters

TITLES = {
    "models": ("Models", "The architecture of each model; add a row below for a model of your own."),
    "hardware": (
        "Hardware",
        "Peaks are dense and per chip; bandwidths are one-way. Add a row below for your own chip.",
    ),
    "dtypes": ("Dtypes", "Bytes of an element of each dtype."),
    "calibration": (
        "Calibration",
        "What stands between a roofline and a run, fitted to published runs. Add a row below for a fit of your own.",
    ),
    "stacks": ("Stacks", "Factors of a software stack on its chip's calibration. Add a row below for one of your own."),
}


LOWEST = 42.0  # points of the row of labels
PRINTED = 14  # columns of a database that are printed
WIDEST = 120.0  # of a column; the last one may overflow to the right


@dataclass(frozen=True)
class DatabaseSheet:
    """The columns of a table on its sheet, and ranges over them with spare rows."""

    page: Page
    columns: dict[str, int]
    last_row: int

    def range(self, column: str) -> str:
        """The range of a column: `Hardware!$H$6:$H$152`."""
        return self._range(self.columns[column], self.columns[column])

    @property
    def ids(self) -> str:
        """The range of the ids, for MATCH and drop-downs."""
        return self._range(1, 1)

    @property
    def header(self) -> str:
        """The range of the header row, with the machine names of all columns."""
        row = layout.TABLE_HEADER_ROW
        return f"{self.page.name}!$A${row}:${column_letters(max(self.columns.values()))}${row}"

    @property
    def body(self) -> str:
        """The range of all cells below the header."""
        return self._range(1, max(self.columns.values()))

    def _range(self, first: int, last: int) -> str:
        left, right = column_letters(first), column_letters(last)
        return f"{self.page.name}!${left}${layout.TABLE_FIRST_ROW}:${right}${self.last_row}"


def write(book: Workbook, table: Table) -> DatabaseSheet:
    """Write a table's sheet: units above the header, one row for each id."""
    title, purpose = TITLES[table.kind]
    page = Page(book, title, title, purpose)
    columns = {column.name: index for index, column in enumerate(table.columns, start=2)}
    page.put(3, 1, "", "plan_text")
    page.put(4, 1, "unit", "plan_text")
    page.put(layout.TABLE_HEADER_ROW, 1, "id", "plan_header")
    for column in table.columns:
        is_text = column.unit == "text"
        page.put(3, columns[column.name], column.label, "plan_note" if is_text else "plan_note_right")
        page.put(4, columns[column.name], column.unit, "plan_beside" if is_text else "plan_unit")
        header = "plan_header_text" if is_text else "plan_header_right"
        page.put(layout.TABLE_HEADER_ROW, columns[column.name], column.name, header)
    rows = dict(table.rows)  # read once, since each is completed on access
    looks = {
        column.name: (
            "plan_data_text" if column.unit == "text" else "plan_data",
            "0" if column.name == "year" else number_format(column.unit),
        )
        for column in table.columns
    }
    for at, (identifier, cells) in enumerate(rows.items(), start=layout.TABLE_FIRST_ROW):
        page.put(at, 1, identifier, "plan_key")
        for name, look in looks.items():
            if (value := cells.get(name)) is not None:
                page.put(at, columns[name], whole_as_int(value), *look)
    widths = [_width(rows.values(), column.name, column.unit) for column in table.columns]
    notes = zip(table.columns, widths, strict=True)
    lines = max(lines_of(column.label, max(int(width * PER_WIDTH) - 1, 8)) for column, width in notes)
    page.rows[3].height = max(LOWEST, LINE_HEIGHT * lines + 3)
    last = layout.TABLE_FIRST_ROW + len(rows) - 1
    page.sheet.print_area = f"A1:{column_letters(min(len(table.columns) + 1, PRINTED))}{last}"
    page.widths(20, *widths)
    return DatabaseSheet(page, columns, last + layout.SPARE_ROWS)


def _width(rows: Iterable[Mapping[str, Value]], name: str, unit: str) -> float:
    """The width for a column's longest text, up to a limit, or for its largest number with unit."""
    if unit == "text":
        texts = (str(cells.get(name) or "") for cells in rows)
        return min(WIDEST, max(len(name) * 1.2, 0.95 * max(map(len, texts), default=0)) + 2.0)
    scaled = 21.0 if unit.startswith(("FLOP", "byte")) else 13.0  # room for `1,979.000 TFLOP/s/chip`
    return max(scaled, len(name) * 1.05 + 2.0)


DatabaseSheets = dict[str, DatabaseSheet]
Cell = Callable[[str], str]  # from a name to the reference of its cell


def looked_up(row: Row, databases: DatabaseSheets, matched: Cell, cell: Cell) -> str:
    """The formula that looks up a number in a database; N/A if the database is blank.

    `matched` gives for `model` or `hardware` the cell with the matched row of its sheet. `cell` gives the cell of a
    row: of the id by which other tables are looked up, or of the dtype in `peak[compute_dtype]`.
    """
    database, (column, selector) = databases[TABLES[row.kind]], row.column
    chosen = cell(selector) if selector else ""
    if row.kind in BY_ID:
        number = f"INDEX({database.range(column)},MATCH({chosen},{database.ids},0))"
    elif selector:
        which = f'MATCH("{column}_"&{chosen},{database.header},0)'
        number = f"INDEX({database.body},{matched(row.kind)},{which})"
    else:
        number = f"INDEX({database.range(column)},{matched(row.kind)})"
    return number if row.kind == "dtype" else or_missing(number)

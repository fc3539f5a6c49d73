"""One sheet being written: cells with a style that says what they are, header rows, print set-up."""

from __future__ import annotations

import textwrap
from copy import copy
from typing import Any

from openpyxl.cell import Cell
from openpyxl.formatting.rule import FormulaRule
from openpyxl.styles import Font, PatternFill
from openpyxl.styles.cell_style import StyleArray
from openpyxl.workbook import Workbook
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.hyperlink import Hyperlink
from openpyxl.worksheet.properties import PageSetupProperties
from openpyxl.worksheet.worksheet import Worksheet

from planner.workbook import layout
from planner.workbook.layout import Columns, cell
from planner.xlsx.grid import Grid

RED, PALE_RED, GREY, ORANGE = "FFB42318", "FFFEE4E2", "FF9CA3AF", "FFFDE9CF"
TOLD, LINE_HEIGHT, PER_WIDTH = "plan_told", 13.0, 1.15  # the style of notes; points a line, letters a unit of width
MASTER_CHECK = "C1"  # on every sheet: the count of failed checks


class Page:
    """A worksheet with the marks that every sheet bears: a title that links back, and the master check."""

    def __init__(
        self, book: Workbook, name: str, title: str, purpose: str, *, corner: str = "B6", titles: str = "5:5"
    ) -> None:
        self.corner = corner  # the first cell that scrolls
        self.pages_high = 0  # as many as it takes
        self.titles = titles  # the rows that each printed page repeats
        self.sheet: Worksheet = book.create_sheet(name)
        self.name = name
        self.formulas = Grid()  # the other cells are openpyxl's
        self._styles: dict[tuple[str, str | None], tuple[StyleArray, int]] = {}
        self._told: dict[tuple[int, int], str] = {}  # the notes that wrap
        self.put(1, 1, title, "plan_title")
        if name != "Cover":
            self.link(1, 1, "Cover", "A1")
        self.put(1, 2, purpose, "plan_text")

    def put(self, column: int, row: int, value: object, style: str, number_format: str | None = None) -> None:
        """Write one cell. Only a Live text becomes a formula, whatever a text begins with."""
        array, number = self._style(style, number_format)
        if isinstance(value, Live):
            self.formulas.put_formula(row, column, value, number)
            self.sheet._cells.pop((row, column), None)
            return
        target = Cell(self.sheet, row=row, column=column, style_array=array)
        self.sheet._cells[row, column] = target
        self.formulas.discard(row, column)
        if isinstance(value, str):
            target._value, target.data_type = target.check_string(value), "e" if value == "#N/A" else "s"
            if value[:1] in ("=", "+", "-", "@"):
                target._style = copy(target._style)
                target.quotePrefix = True
            if style == TOLD:
                self._told[row, column] = value
        elif value is not None:
            target.value = value
            if number_format:
                target._style = array  # a date would bring a format of its own

    def _style(self, style: str, number_format: str | None) -> tuple[StyleArray, int]:
        """The style as openpyxl keeps it, one array for all cells that look alike, and its number in the workbook."""
        key = (style, number_format)
        if key not in self._styles:
            probe = Cell(self.sheet, row=1, column=1)
            probe.style = style
            if number_format:
                probe.number_format = number_format
            self._styles[key] = probe._style, probe.style_id
        return self._styles[key]

    def link(self, column: int, row: int, sheet: str, target: str) -> None:
        """Make a cell a link to a place in this workbook."""
        reference = cell(column, row)
        holder = self.sheet.cell(row=row, column=column)
        value = holder._value
        holder.hyperlink = Hyperlink(ref=reference, location=f"{sheet}!{target}")
        holder._value = value  # openpyxl would type the place into a cell that it takes for empty

    def header(self, titles: list[str], row: int = layout.HEADER_ROW) -> None:
        """A table's header row."""
        for index, title in enumerate(titles, start=1):
            self.put(index, row, title, "plan_header")

    def section(self, row: int, title: str, last_column: int) -> None:
        """A heading inside a table, over its whole width."""
        for column in range(1, last_column + 1):
            self.put(column, row, title if column == 1 else None, "plan_section")

    def validate(self, reference: str, **rule: Any) -> None:
        """A data validation with its message, over the cells and ranges that `reference` lists."""
        validation = DataValidation(showErrorMessage=True, showInputMessage=True, allow_blank=True, **rule)
        for area in reference.split():
            validation.add(area)
        self.sheet.add_data_validation(validation)

    def colour(self, reference: str, condition: str, *, ink: str, fill: str | None = None, bold: bool = False) -> None:
        """A conditional format: the cells of `reference` for which the formula `condition` holds."""
        filled = PatternFill("solid", bgColor=fill) if fill else None
        rule = FormulaRule(formula=[condition], font=Font(color=ink, bold=bold), fill=filled)
        self.sheet.conditional_formatting.add(reference, rule)

    def widths(self, *widths: float, scenarios: Columns | None = None, each: float = 16) -> None:
        """Column widths from A on, then one width for the scenario columns."""
        for index, width in enumerate(widths, start=1):
            self.sheet.column_dimensions[layout.letter(index)].width = width
        for column in scenarios or ():
            self.sheet.column_dimensions[layout.letter(column)].width = each

    def fit(self) -> None:
        """Make rows as high as their notes need, which wrap: not every program does when it opens the file."""
        for (row, column), text in self._told.items():
            width = self.sheet.column_dimensions[layout.letter(column)].width
            lines = len(textwrap.wrap(text, max(int(width * PER_WIDTH), 8)))
            height = self.sheet.row_dimensions[row].height or 0
            if lines > 1:
                self.sheet.row_dimensions[row].height = max(height, LINE_HEIGHT * lines + 2)

    def finish(self, *, freeze: str, titles: str, master: str | None) -> None:
        """Freeze panes, put the master check into the header, fit the notes, and set the page up for printing."""
        sheet = self.sheet
        self.fit()
        sheet.freeze_panes = freeze
        sheet.sheet_view.showGridLines = False
        sheet.sheet_view.zoomScale = 100
        if master:
            self.put(2, 1, "Failed checks", "plan_text")
            self.put(3, 1, Live(master), "plan_check", "0")
            self.colour(MASTER_CHECK, f"{MASTER_CHECK}>0", ink=RED, fill=PALE_RED, bold=True)
        sheet.page_setup.orientation = "landscape"
        sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight = 1, self.pages_high
        sheet.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
        sheet.print_title_rows = titles
        sheet.oddFooter.left.text, sheet.oddFooter.center.text, sheet.oddFooter.right.text = (
            "&F",
            "&A",
            "&P of &N",
        )


class Live(str):
    """A formula's text without its equals sign: this, and nothing a user typed, becomes a formula."""

    __slots__ = ()

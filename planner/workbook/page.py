"""A sheet being written: cells with a style for their role, header rows, print settings."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import count, islice

from openpyxl.formatting.rule import Rule
from openpyxl.workbook import Workbook
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.properties import PageSetupProperties
from openpyxl.worksheet.worksheet import Worksheet

from planner.book.rowkeys import FAILED
from planner.dates import cell_number
from planner.formulas.template import Row
from planner.workbook import layout
from planner.workbook.build_plan import BuildPlan
from planner.workbook.cell_styles import FAILED_CHECKS, GREY, PALE_RED, RED, style_numbers
from planner.workbook.layout import ScenarioColumns
from planner.workbook.wrapping import BOLD_PER_WIDTH, LINE_HEIGHT, PER_WIDTH, height_of
from planner.xlsx.address import address, column_letters
from planner.xlsx.cellvalue import NA, Value
from planner.xlsx.grid import HERE, Grid
from planner.xlsx.worksheet import PLAIN_COLUMN

WRAPS = ("plan_told", "plan_told_link", "plan_wrapped", "plan_lead_label")  # the styles of texts that wrap
FORMULA_LIKE = ("=", "+", "-", "@")  # a text that begins so is marked as text, lest a program take it for a formula
LONGEST_TITLE, LONGEST_PROMPT = 32, 255  # most characters of a validation's title and prompt

Filling = tuple[int, int, int, Value]
"""Cells as filled: rows down, columns across, style number, and a value or a Live text."""


@dataclass(slots=True)
class RowLook:
    """A row's properties: its height in points (0: automatic), and its outline group."""

    height: float = 0.0
    is_grouped: bool = False
    hidden: bool = False
    collapsed: bool = False

    @property
    def attributes(self) -> dict[str, str]:
        """The same as attributes of the row's element."""
        said = {"hidden": self.hidden, "outlineLevel": self.is_grouped, "collapsed": self.collapsed}
        found = {name: "1" for name, there in said.items() if there}
        return found | {"ht": f"{self.height:g}", "customHeight": "1"} if self.height else found


class Rows(dict[int, RowLook]):
    """The rows of a page that are used, by number: openpyxl's would take a tenth of a build's time."""

    def __missing__(self, row: int) -> RowLook:
        return self.setdefault(row, RowLook())


class Page:
    """A worksheet with what every sheet has: a title that links back, and the count of failed checks."""

    def __init__(
        self, book: Workbook, name: str, title: str, purpose: str, *, corner: str = "B6", titles: str = "5:5"
    ) -> None:
        self.corner = corner  # the first cell that scrolls
        self.master_at = 0  # the column of the count of failed checks; 0: the second open one
        self.pages_high = 0  # 0: as many as needed
        self.titles = titles  # the rows that each printed page repeats
        self.columns = ScenarioColumns(0)  # none, unless `scenario_header` writes some
        self.sheet: Worksheet = book.create_sheet(name)
        self.sheet.row_dimensions = self.rows = Rows()
        self.name, self.purpose = name, purpose
        self.grid = Grid()  # the content of cells, which openpyxl doesn't get
        self.links: dict[tuple[int, int], str] = {}  # the targets of links within this workbook
        self._styles = style_numbers(book)
        self.filled: dict[tuple[int, int], Filling] = {}  # by the first of the cells
        self.may_show: dict[tuple[int, int], Collection[str]] = {}  # the texts that a cell may show
        self.swept: dict[str, list[float]] = {}  # the values of each axis of a sweep
        self.rules: list[tuple[str, ...]] = []  # of validations and formats: area, kind, title, formulas, prompt
        self.put(1, 1, title, "plan_title")
        if name != "Cover":
            self.link(1, 1, "Cover", "A1")
        self.put(2, 1, purpose, "plan_text")

    def put(self, row: int, column: int, value: object, style: str, number_format: str | None = None) -> None:
        """Write one cell. Only a Live text becomes a formula, whatever a text begins with."""
        look = self._look(style, number_format)
        if isinstance(value, Live):
            self.grid.put_formula(row, column, value, look)
            self.filled[row, column] = 1, 1, look, value
            return
        if isinstance(value, str) and value.startswith(FORMULA_LIKE):
            look = self._styles.quoted(self.sheet, style, number_format)
        stored = _stored(value)
        self.grid.put(row, column, stored, look)
        self.filled[row, column] = 1, 1, look, stored

    def _look(self, style: str, number_format: str | None) -> int:
        """The style number of a cell."""
        return self._styles.get((style, number_format)) or self._styles.add(self.sheet, style, number_format)

    def across(
        self, row: int, pattern: str, style: str, number_format: str | None = None, columns: Iterable[int] = ()
    ) -> None:
        """Write one formula into several columns of a row, by default the scenarios'.

        `pattern` has HERE for the letters of each column.
        """
        look = self._look(style, number_format)
        filled = list(columns or self.columns)
        self.grid.put_across(row, filled, pattern, look)
        text = pattern if len(filled) > 1 else pattern.replace(HERE, column_letters(filled[0]))
        self.filled[row, filled[0]] = 1, len(filled), look, Live(text)

    def down(
        self, rows: Sequence[int], column: int, pattern: str, style: str, number_format: str | None = None
    ) -> None:
        """Write one formula into several rows of a column: `pattern` has HERE for the number of each row."""
        look = self._look(style, number_format)
        self.grid.put_down(column, rows, pattern, look)
        text = pattern if len(rows) > 1 else pattern.replace(HERE, str(rows[0]))
        self.filled[rows[0], column] = len(rows), 1, look, Live(text)

    def is_choice(self, row: int, column: int) -> bool:
        """Whether a cell is meant to be typed into."""
        return self.filled[row, column][2] in self._styles.of(("plan_input", "plan_input_words"))

    def link(self, row: int, column: int, sheet: str, target: str) -> None:
        """Make a cell a link to a place in this workbook."""
        self.links[row, column] = f"{sheet}!{target}"

    def leads(self, row: int, sheet: str, to: int, *, said: str = "") -> None:
        """Name a line's source, the row `to` of a sheet or the text `said`, and link to it.

        The text is a formula with ROW, so that it stays right when rows are inserted above.
        """
        target = address(to, layout.LABEL)
        self.put(row, layout.FORMULA, said or Live(f'"{sheet} row "&ROW({sheet}!{target})'), "plan_link")
        self.link(row, layout.FORMULA, sheet, target)

    def header(self, titles: Iterable[str], row: int = layout.HEADER_ROW, right: Container[int] = ()) -> None:
        """Write a table's header row; the titles of the columns `right` are right-aligned, as numbers are."""
        for column, title in enumerate(titles, start=1):
            self.put(row, column, title, "plan_header_right" if column in right else "plan_header")

    def section(self, row: int, title: str, last_column: int = 0) -> None:
        """Write a heading inside a table, over its whole width: by default up to the last scenario."""
        for column in range(1, (last_column or self.columns.last_filled) + 1):
            self.put(row, column, title if column == 1 else None, "plan_section")

    def choose(self, reference: str, source: str, title: str, prompt: str) -> None:
        """Add a drop-down list to cells: `source` is a range, or quoted texts."""
        self.validate(reference, title, prompt, "Choose from the list.", type="list", formula1=source)

    def validate(self, reference: str, title: str, prompt: str, error: str, **rule: str) -> None:
        """Add a data validation to the cells and ranges in `reference`, with its messages.

        `rule` has its type, operator and formulas by openpyxl's names.
        """
        assert len(title) <= LONGEST_TITLE, f"{self.name}: {title!r} is longer than a title may be"
        prompt = prompt[:LONGEST_PROMPT]
        validation = DataValidation(
            showErrorMessage=True,
            showInputMessage=True,
            allow_blank=True,
            promptTitle=title,
            errorTitle=title,
            prompt=prompt,
            error=error,
            **rule,
        )
        for area in reference.split():
            validation.add(area)
        self.sheet.add_data_validation(validation)
        self.rules.append((reference, rule["type"], title, rule["formula1"], rule.get("formula2", ""), prompt))

    def colour(self, reference: str, condition: str, *, ink: str, fill: str | None = None, bold: bool = False) -> None:
        """Add a conditional format to the cells of `reference` for which the formula `condition` holds.

        It may only read this sheet: Google Sheets drops one that reads another.
        """
        assert "!" not in condition, f"{self.name}: a conditional format can't read {condition}"
        change = self._styles.conditional(self.sheet.parent, ink, fill, bold)
        self.sheet.conditional_formatting.add(reference, Rule("expression", dxfId=change, formula=[condition]))
        self.rules.append((reference, "", "", condition, "", ""))

    def grey_missing(self, area: str) -> None:
        """Show N/A in grey in an area."""
        self.colour(area, f"ISNA({area.partition(':')[0]})", ink=GREY)

    def widths(self, *widths: float, each: float = 16) -> None:
        """Set column widths from A on, then one width for the scenario columns, if there are any."""
        for index, width in enumerate(widths, start=1):
            self.sheet.column_dimensions[column_letters(index)].width = width
        for column in self.columns:
            self.sheet.column_dimensions[column_letters(column)].width = each

    def pixels(self, column: int) -> int:
        """The width of a column in pixels; 0 if it is closed."""
        columns, name = self.sheet.column_dimensions, column_letters(column)
        if name not in columns:
            return PLAIN_COLUMN
        return 0 if columns[name].hidden else int(7 * columns[name].width + 5)

    def describe(self, row: int, texts: Iterable[str]) -> None:
        """Write a row's description into its first columns: label, unit, name, formula or note, source."""
        for column, (text, style) in enumerate(zip(texts, layout.DESCRIBED, strict=False), start=1):
            self.put(row, column, text, style)

    def scenario_header(self, plan: BuildPlan, titles: Iterable[str]) -> None:
        """Write the header rows of a sheet with scenario columns, except the cells that identify each scenario."""
        self.columns = plan.columns
        self.header(["Quantity", "Unit", "Name", *titles])
        for column in self.columns:
            self.put(layout.HEADER_ROW, column, None, "plan_header")
        self.corner = address(layout.HARDWARE_ROW + 1, layout.FIRST_SCENARIO)
        self.titles = f"{layout.HEADER_ROW}:{layout.HARDWARE_ROW}"
        for row in (layout.ID_ROW, layout.TITLE_ROW):
            self.rows[row].height = 2 * LINE_HEIGHT + 4
        identities = ((each.id, each.name, each.model or "", each.hardware or "") for each in plan.scenarios)
        for row, texts in zip(layout.HEADERS, zip(*identities, strict=True), strict=True):
            self.may_show[row, layout.FIRST_SCENARIO] = set(texts)
        for row, (name, label) in layout.HEADERS.items():
            self.put(row, layout.LABEL, label, "plan_label")
            self.put(row, layout.UNIT, "text", "plan_text")
            self.put(row, layout.NAME, name, "plan_told")
            for column in (layout.FORMULA, layout.SOURCE):
                self.put(row, column, None, "plan_text")

    def scenario_widths(self, *widths: float, is_closed: bool = False) -> None:
        """Set the column widths of such a sheet, and group formulas and sources; closed, with the names."""
        self.widths(*widths, each=layout.SCENARIO_WIDTH)
        if is_closed:
            self.close_columns(range(layout.NAME, layout.FIRST_SCENARIO))
        for column in (layout.FORMULA, layout.SOURCE):
            self.sheet.column_dimensions[column_letters(column)].outlineLevel = 1

    def close_rows(self, rows: Collection[int], is_open: Container[int] = ()) -> None:
        """Make rows closed groups, each opened from the row below; those of `is_open` are in a group, but visible."""
        closed = set(rows)
        for row in rows:
            self.group_row(row, is_open=row in is_open)
            if row + 1 not in closed:
                self.rows[row + 1].collapsed = True

    def group_row(self, row: int, *, is_open: bool = False) -> None:
        """Group a row, closed unless it `is_open`."""
        look = self.rows[row]
        look.is_grouped, look.hidden = True, not is_open

    def close_columns(self, columns: Collection[int]) -> None:
        """Make columns closed groups, each opened from the column on its right."""
        for column in columns:
            group = self.sheet.column_dimensions[column_letters(column)]
            group.outlineLevel, group.hidden = 1, True
            if column + 1 not in columns:
                self.sheet.column_dimensions[column_letters(column + 1)].collapsed = True

    def heads(self, at: int, column: int, label: str, name: str, *, right: bool) -> None:
        """Write a case column's title: its label in row `at`, and its machine name in the closed row below."""
        side = "_right" if right else ""
        self.put(at, column, label, f"plan_column{side}")
        self.put(at + 1, column, name, f"plan_note{side}")

    def fit(self) -> None:
        """Set the heights of rows with wrapped texts, since not every program does so on opening the file."""
        columns, wrapping = self.sheet.column_dimensions, self._styles.of(WRAPS)
        wrapped = {at: text for at, (_, _, look, text) in self.filled.items() if look in wrapping}
        letters_of = {column: column_letters(column) for column in {column for _, column in wrapped}}
        wide = {column: columns[name].width for column, name in letters_of.items() if not columns[name].hidden}
        for (row, column), text in wrapped.items():
            if column in wide and type(text) is str:
                self._heighten(row, text, wide[column] * PER_WIDTH)
        for (row, column), texts in self.may_show.items():
            for text in texts:
                self._heighten(row, text, columns[column_letters(column)].width * BOLD_PER_WIDTH)

    def _heighten(self, row: int, text: str, letters: float) -> None:
        """Make a row high enough for a text in lines of so many letters."""
        if height := height_of(text, letters):
            self.rows[row].height = max(self.rows[row].height, height)

    def _open_columns(self) -> tuple[int, int]:
        """The first two columns after the labels that are not closed."""
        closed = {letters for letters, column in self.sheet.column_dimensions.items() if column.hidden}
        first, second = islice((at for at in count(2) if column_letters(at) not in closed), 2)
        return first, second

    def finish(self, master: str | None) -> None:
        """Freeze panes, add the count of failed checks to the header, fit the row heights, and set up printing.

        `master` is the formula that counts failed checks; None for Cover, which has a row for it.
        """
        sheet = self.sheet
        self.fit()
        sheet.freeze_panes = self.corner
        sheet.sheet_view.showGridLines = False
        sheet.sheet_view.zoomScale = 100
        if master:
            said, counted = (0, self.master_at) if self.master_at else self._open_columns()
            if said:
                self.put(1, said, FAILED, "plan_text")
            self.put(1, counted, Live(master), "plan_check", "0" if said else FAILED_CHECKS)
            self.colour(address(1, counted), f"{address(1, counted)}>0", ink=RED, fill=PALE_RED, bold=True)
        sheet.page_setup.orientation = "landscape"
        sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight = 1, self.pages_high
        sheet.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
        sheet.print_title_rows = self.titles
        footer = sheet.oddFooter
        footer.left.text, footer.center.text, footer.right.text = "&F", "&A", "&P of &N"


def titled(row: Row) -> str:
    """The title of a row's validation messages: its label, or its machine name if that is too long."""
    return next((text for text in (row.label, row.name) if len(text) <= LONGEST_TITLE), "")


def _stored(value: object) -> Value:
    """The value that a cell stores; for a date its day number."""
    if isinstance(value, str):
        return NA if value == "#N/A" else value
    if isinstance(value, date):
        return cell_number(value)
    assert value is None or isinstance(value, (bool, int, float)), f"a cell can't hold {value!r}"
    return value


def whole_as_int(value: Value) -> Value:
    """A whole number as an integer, so that the file has 8 instead of 8.0."""
    return int(value) if isinstance(value, float) and value == int(value) and abs(value) < 2**53 else value


class Live(str):
    """A formula's text without its =. Only this becomes a formula; a text in a cell has the type str itself."""

    __slots__ = ()

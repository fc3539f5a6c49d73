"""Tables of plans on a sheet, with a chart; and a sweep as a workbook of its own, with its assumptions."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import cycle, groupby, islice
from typing import NamedTuple

from openpyxl.chart import ScatterChart
from openpyxl.workbook import Workbook

from planner.csvfile import guarded
from planner.dates import made_now
from planner.errors import UserError
from planner.formulas.following import followers
from planner.formulas.template import Row
from planner.number_text import PERCENT
from planner.scaled_units import factor
from planner.search.request import Request
from planner.search.sweep import Part, SweepColumn
from planner.workbook import cell_styles, charts, saving
from planner.workbook.cell_styles import COUNT, row_format
from planner.workbook.display_units import shown_format
from planner.workbook.page import Live, Page
from planner.workbook.wrapping import PER_WIDTH, lines_of
from planner.xlsx import chart_caches
from planner.xlsx.address import Area, column_letters

MOST = 50_000  # plans; with more a spreadsheet takes too long to open
SERIES = 8  # series in the chart
FIRST_ROW = 4  # of a table on a sheet of its own
NARROW, WIDE = 13.0, 36.0  # column widths in characters
FAR = 20  # ratio of an axis's ends above which it is logarithmic
FEW = 40  # up to this many points of a series have markers
NOTE = "Values of one moment, not formulas: planner makes them anew."


class ColumnHead(NamedTuple):
    """The head of a table's column."""

    label: str
    name: str
    form: str | None = None  # number format of its cells; None for texts
    factor: float = 1.0  # one unit of its cells in the row's unit

    def cell(self, value: object) -> object:
        """The content of a cell for a value: a number in the column's unit; "N/A" for N/A."""
        if value is None or (isinstance(value, float) and value != value):
            return "N/A"
        return guarded(value) if isinstance(value, str) else float(value) / self.factor  # type: ignore[arg-type]


def head(row: Row) -> ColumnHead:
    """The column head of a row, in its display unit."""
    if row.unit == "text":
        return ColumnHead(row.label, row.name)
    form, scale = shown_format(row), 1.0 if row.display in ("", PERCENT) else factor(row.display, row.unit)
    says_unit = '"' in form or row.unit == "chip" or row.said_in in ("1", PERCENT)
    return ColumnHead(row.label if says_unit else f"{row.label} ({row.said_in})", row.name, form, scale)


def put_table(page: Page, at: int, heads: Sequence[ColumnHead], rows: Iterable[Sequence[object]]) -> int:
    """Write a table from row `at` on: labels, machine names, then its rows; returns the next free row.

    Values are converted by their `ColumnHead`; a Live text is a formula.
    """
    for column, each in enumerate(heads, start=1):
        page.heads(at, column, each.label, each.name, right=each.form is not None)
    styles = ["plan_formula" if each.form else "plan_told" for each in heads]
    row = at + 1
    for row, cells in enumerate(rows, start=at + 2):
        for column, (each, style, value) in enumerate(zip(heads, styles, cells, strict=True), start=1):
            page.put(row, column, value if isinstance(value, Live) else each.cell(value), style, each.form)
    return row + 1


def widen(page: Page, at: int, heads: Sequence[ColumnHead], below: int, *, with_names: bool) -> None:
    """Fit the columns of a table, with its head in row `at`, to their texts; with names, to the machine names too.

    Else the row of names is closed.
    """
    wide = []
    for column, each in enumerate(heads, start=1):
        cells = [page.filled[row, column][3] for row in range(at + 2, below)] if each.form is None else []
        wanted = [*(len(cell) for cell in cells if isinstance(cell, str)), len(each.name) if with_names else 0]
        wide.append(max(NARROW, min(max(wanted) + 2, WIDE)))
    page.widths(*wide)
    raise_titles(page, at, heads)
    if not with_names:
        page.close_rows([at + 1])


def raise_titles(page: Page, at: int, heads: Sequence[ColumnHead]) -> None:
    """Set the height of a table's titles in row `at` for the widths of the columns."""
    wide = (page.sheet.column_dimensions[column_letters(column)].width for column in range(1, len(heads) + 1))
    lines = (lines_of(each.label, int(PER_WIDTH * letters)) for each, letters in zip(heads, wide, strict=True))
    page.sheet.row_dimensions[at].height = 11.5 * max(lines) + 5


def workbook(asked: Request, columns: Sequence[SweepColumn], parts: Iterable[Part]) -> tuple[bytes, int]:
    """A sweep as the bytes of a workbook, and its number of plans. Raises UserError for more than `MOST`."""
    book = cell_styles.new_book()
    page = Page(book, "Sweep", "Sweep", f"{asked.template.name}: every combination. {NOTE}", corner=f"A{FIRST_ROW + 2}")
    heads = [head(each.row) if each.row else ColumnHead(each.name.capitalize(), each.name) for each in columns]
    below = put_table(page, FIRST_ROW, heads, _rows(columns, parts))
    widen(page, FIRST_ROW, heads, below, with_names=True)
    last = below - 1
    if last > FIRST_ROW + 1:
        page.sheet.auto_filter.ref = str(Area(FIRST_ROW + 1, 1, last, len(heads)))
        _draw(page, asked, columns, heads, last)
    return finished(book, [page, assumptions(book, asked, [each.name for each in columns])]), last - FIRST_ROW - 1


def finished(book: Workbook, pages: Sequence[Page]) -> bytes:
    """The bytes of a workbook of values; reproducible for the same SOURCE_DATE_EPOCH."""
    for page in pages:
        page.links.clear()
        page.finish(None)
    package = saving.write(book, pages).package
    chart_caches.refresh(package)
    return package.to_bytes(stamp=made_now().timetuple()[:6])


def _rows(columns: Sequence[SweepColumn], parts: Iterable[Part]) -> Iterator[Sequence[object]]:
    count = 0
    for part in parts:
        for cells in zip(*(part[column.name].tolist() for column in columns), strict=True):
            count += 1
            if count > MOST:
                raise UserError(f"a sheet of more than {MOST:,} plans", remedy="write a .csv, or add a --where")
            yield cells


def _draw(page: Page, asked: Request, columns: Sequence[SweepColumn], heads: Sequence[ColumnHead], last: int) -> None:
    """Chart the first shown row over the last axis: a line for each combination of the other axes."""
    moving = [at for at, column in enumerate(columns) if column.row is None or column.name in asked.moving]
    along = [at for at in moving if columns[at].unit != "text"]
    shown = [at for at in range(len(columns)) if at not in moving and columns[at].unit != "text"]
    if not along or not shown:
        return
    x, y = along[-1], shown[0]
    chart = scatter(page, heads[y].label, heads, x, y, FIRST_ROW + 2, last)
    others = [at for at in moving if at != x]
    lines = islice(_runs(page, heads, others, last), SERIES)
    for (first, end, title), colour in zip(lines, cycle(charts.PALETTE), strict=False):
        across, up = (charts.column(page, at + 1, first, end) for at in (x, y))
        make = charts.line if end - first >= FEW else charts.joined
        chart.series.append(make(across, up, title or heads[y].label, colour))
    chart.legend = chart.legend if others else None
    page.sheet.add_chart(chart, f"{column_letters(len(heads) + 2)}{FIRST_ROW + 1}")


def _runs(page: Page, heads: Sequence[ColumnHead], others: Sequence[int], last: int) -> Iterator[tuple[int, int, str]]:
    """Yields the first and last row of each line of the chart, where only the last axis varies, and its label."""

    def key(row: int) -> tuple[object, ...]:
        return tuple(page.filled[row, at + 1][3] for at in others)

    for values, rows in groupby(range(FIRST_ROW + 2, last + 1), key):
        lines = list(rows)
        said = (
            f"{heads[at].label} {value:g}" if isinstance(value, float) else str(value)
            for at, value in zip(others, values, strict=True)
        )
        yield lines[0], lines[-1], ", ".join(said)


def scatter(page: Page, title: str, heads: Sequence[ColumnHead], x: int, y: int, first: int, last: int) -> ScatterChart:
    """An empty chart of one column of a table over another, with logarithmic axes if the numbers range widely."""
    chart = charts.log_log(title)
    for axis, at in ((chart.x_axis, x), (chart.y_axis, y)):
        numbers = [each for row in range(first, last + 1) if isinstance(each := page.filled[row, at + 1][3], float)]
        is_far = numbers and min(numbers) > 0 and max(numbers) > FAR * min(numbers)
        (charts.axis if is_far else charts.plain_axis)(axis, heads[at].label, "General")
    return chart


def assumptions(book: Workbook, asked: Request, columns: Container[str]) -> Page:
    """A sheet with what all rows share, or what defines the plans: every input, typed or not."""
    page = Page(book, "Assumptions", "Assumptions", f"What the numbers are: {NOTE}", corner=f"A{FIRST_ROW + 1}")
    lines = question(asked)
    put_lines(page, lines)
    top = FIRST_ROW + len(lines) + 1
    page.corner, page.titles = f"A{top + 1}", f"{top}:{top}"
    page.header(["Input", "Value", "Unit", "Name", "Where from"], top, right=(2,))
    lengths = {name: f"{len(column):,} values" for axis in asked.axes for name, column in axis.columns.items()}
    following = {each.name for each in followers(asked.template, asked.given, lengths)}
    for at, row in enumerate(asked.template.of_kind("input"), start=top + 1):
        value = asked.given.get(row.name, row.default)
        source = "typed" if row.name in asked.given else f"default of {row.template}"
        if row.name in following and row.name not in columns:
            value, source = "follows", "what moves"
        elif row.name in columns and row.name not in asked.given:
            value, source = lengths.get(row.name, "moves"), "a column of the table"
        unit = "" if row.unit in ("1", "text") else row.unit
        page.put(at, 1, row.label, "plan_wrapped")
        form = COUNT if unit else row_format(row)  # the unit is in the next cell
        page.put(at, 2, "N/A" if value is None else value, "plan_formula", form)
        for column, text in enumerate((unit, row.name, source), start=3):
            page.put(at, column, text, "plan_text")
    page.widths(58, 24, 12, 30, 26)
    return page


def put_lines(page: Page, lines: Iterable[tuple[str, str]]) -> None:
    """Write (label, text) lines below the page's title."""
    for row, (label, text) in enumerate(lines, start=FIRST_ROW):
        page.put(row, 1, label, "plan_label")
        page.put(row, 2, text, "plan_text")


def question(asked: Request) -> list[tuple[str, str]]:
    """The request as (title, text) lines: template, models, chips, conditions."""
    found = [("Template", asked.template.name)]
    for kind, title in (("model", "Models"), ("hardware", "Chips")):
        names = dict.fromkeys(filter(None, (getattr(subject, kind) for subject in asked.subjects)))
        found += [(title, ", ".join(names))] if names else []
    return [*found, *(("Condition", asked.template.row(name).label) for name in asked.conditions)]

"""A table as a workbook: a sheet of plans with a chart, and beside it what is assumed of every line."""

from __future__ import annotations

import io
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import groupby

from openpyxl import Workbook
from openpyxl.chart import Reference, ScatterChart, Series
from openpyxl.styles import Font
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from planner.errors import UserError
from planner.formulas.following import followers
from planner.search.request import Request
from planner.search.sweep import Column, Part
from planner.workbook.scenarios import guarded

MOST = 50_000  # plans: more take a spreadsheet longer to open than a reader waits
SERIES = 8  # lines of the chart
BOLD = Font(name="Calibri", size=11, bold=True)
FRACTION, WHOLE = "[>=1000]#,##0;[>=0.001]0.0000;0.00E+00", "#,##0"
NOTE = "Values of one moment, not formulas: planner makes them anew."


def workbook(
    asked: Request, columns: Sequence[Column], parts: Iterable[Part], title: str = "Sweep", drawn: Sequence[str] = ()
) -> tuple[bytes, int]:
    """The bytes of the workbook, and how many plans it has.

    `drawn` are two columns whose points the chart draws; else it draws the first row that is shown over the last axis.
    Raises UserError for more plans than `MOST`.
    """
    book = Workbook()
    sheet, assumed = book.active, book.create_sheet("Assumptions")
    sheet.title = title
    sheet.append([column.name for column in columns])
    sheet.append([column.row.label if column.row else "" for column in columns])
    sheet.append([column.unit if column.unit not in ("1", "text") else "" for column in columns])
    for part in parts:
        for cells in zip(*(part[column.name] for column in columns), strict=True):
            if sheet.max_row - 3 >= MOST:
                raise UserError(f"a sheet of more than {MOST:,} plans", remedy="write a .csv, or add a --where")
            sheet.append([_cell(value) for value in cells])
            for cell in sheet[sheet.max_row]:
                if isinstance(cell.value, float):
                    cell.number_format = WHOLE if cell.value == int(cell.value) else FRACTION
    for at, column in enumerate(columns, 1):
        sheet.cell(1, at).font = BOLD
        sheet.column_dimensions[get_column_letter(at)].width = max(12, min(34, len(column.name) + 2))
    sheet.freeze_panes = "A4"
    if sheet.max_row > 3:
        sheet.auto_filter.ref = f"A3:{get_column_letter(len(columns))}{sheet.max_row}"
        names = [column.name for column in columns]
        x, y, others = (names.index(drawn[0]), names.index(drawn[1]), []) if drawn else _axes(asked, columns)
        if x is not None and y is not None:
            _chart(sheet, columns, x, y, others)
    _assume(assumed, asked, [column.name for column in columns])
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue(), sheet.max_row - 3


def _cell(value: object) -> object:
    """A cell's value: N/A as text, a whole number as such."""
    if value is None or (isinstance(value, float) and value != value):
        return "N/A"
    return guarded(value) if isinstance(value, str) else float(value)  # type: ignore[arg-type]


def _axes(asked: Request, columns: Sequence[Column]) -> tuple[int | None, int | None, list[int]]:
    """The columns of the last axis, of the first row that is shown, and of what moves beside."""
    moving = [at for at, column in enumerate(columns) if column.row is None or column.name in asked.moving]
    along = [at for at in moving if columns[at].unit != "text"]
    shown = [at for at in range(len(columns)) if at not in moving and columns[at].unit != "text"]
    x = along[-1] if along else None
    return x, shown[0] if shown else None, [at for at in moving if at != x]


def _chart(sheet: Worksheet, columns: Sequence[Column], x: int, y: int, others: Sequence[int]) -> None:
    """A column over another: a line for each combination of others."""
    chart = ScatterChart()
    chart.style, chart.height, chart.width = 13, 9, 18
    chart.title = _titled(columns[y])
    chart.x_axis.title, chart.y_axis.title = _titled(columns[x]), _titled(columns[y])
    chart.x_axis.delete = chart.y_axis.delete = False
    for first, last, title in list(_runs(sheet, others))[:SERIES]:
        values = Reference(sheet, min_col=y + 1, min_row=first, max_row=last)
        series = Series(values, Reference(sheet, min_col=x + 1, min_row=first, max_row=last), title=title or None)
        series.marker.symbol = "circle" if last - first < 40 else "none"
        chart.series.append(series)
    chart.legend = chart.legend if others else None
    sheet.add_chart(chart, f"{get_column_letter(len(columns) + 2)}2")


def _titled(column: Column) -> str:
    label = column.row.label if column.row else column.name
    return label if column.unit in ("1", "text") else f"{label}, {column.unit}"


def _runs(sheet: Worksheet, others: Sequence[int]) -> Iterator[tuple[int, int, str]]:
    """The lines from one to another in which nothing else than the last axis moves, and what stands there."""

    def key(row: int) -> tuple[object, ...]:
        return tuple(sheet.cell(row, at + 1).value for at in others)

    for values, rows in groupby(range(4, sheet.max_row + 1), key):
        lines = list(rows)
        yield (
            lines[0],
            lines[-1],
            ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values),
        )


def _assume(sheet: Worksheet, asked: Request, columns: Container[str]) -> None:
    """What is the same in every line, or says of which plans they are: models, chips, conditions, every input."""
    sheet.append(["Template", asked.template.name, "", asked.template.digests.get(asked.template.name, "")])
    for kind, title in (("model", "Models"), ("hardware", "Chips")):
        names = dict.fromkeys(filter(None, (getattr(subject, kind) for subject in asked.subjects)))
        if names:
            sheet.append([title, ", ".join(names)])
    for name in asked.conditions:
        sheet.append(["Condition", asked.template.row(name).label])
    sheet.append(["What the numbers are", NOTE])
    sheet.append([])
    sheet.append(["Input", "Value", "Unit", "Name", "Where from"])
    top = sheet.max_row
    lengths = {name: f"{len(column):,} values" for axis in asked.axes for name, column in axis.columns.items()}
    following = {each.name for each in followers(asked.template, asked.given, lengths)}
    for row in asked.template.of_kind("input"):
        value = asked.given.get(row.name, row.default)
        source = "typed" if row.name in asked.given else f"default of {row.template}"
        if row.name in following and row.name not in columns:
            value, source = "follows", "what moves"
        elif row.name in columns and row.name not in asked.given:
            value, source = lengths.get(row.name, "moves"), "a column of the table"
        unit = "" if row.unit in ("1", "text") else row.unit
        sheet.append([row.label, "N/A" if value is None else value, unit, row.name, source])
    for each in [*sheet["A"][: top - 2], *sheet[top]]:
        each.font = BOLD
    for letter, width in zip("ABCDE", (58, 24, 12, 26, 24), strict=True):
        sheet.column_dimensions[letter].width = width

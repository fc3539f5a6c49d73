"""Charts with settings that work in every spreadsheet program: visible axes, thin grid, no smoothing, markers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from openpyxl.chart import BarChart, Reference, ScatterChart, Series
from openpyxl.chart.data_source import StrRef
from openpyxl.chart.label import DataLabelList
from openpyxl.chart.legend import Legend, LegendEntry
from openpyxl.chart.marker import Marker
from openpyxl.chart.series import SeriesLabel
from openpyxl.chart.shapes import GraphicalProperties
from openpyxl.chart.text import RichText
from openpyxl.drawing.line import LineProperties
from openpyxl.drawing.spreadsheet_drawing import AnchorMarker, OneCellAnchor
from openpyxl.drawing.text import CharacterProperties, Font, Paragraph, ParagraphProperties, RichTextProperties
from openpyxl.drawing.xdr import XDRPositiveSize2D
from openpyxl.utils.units import pixels_to_EMU

from planner.workbook.page import Page

PALETTE = ("1F4FBF", "B42318", "11734B", "B45F06", "5B2A86")
STACK = ("1F4FBF", "0E9F6E", "D97706", "7C3AED", "0891B2", "9D174D", "65A30D", "6B7280", "A16207", "DB2777")
GRID, AXIS, INK = "E3E6EA", "6B7280", "1F2937"
PALE = "C9CED6"  # for references: a bound, a range, the capacity
SIZE = (22.0, 13.0)  # cm
WIDE, GAP, ABREAST = 325, 8, 4  # pixels; a laptop's screen has room for four such places side by side
LINE_ROWS, ROW_POINTS = 15, 15.0  # sheet rows of a line of charts, and their height
TOP = pixels_to_EMU(4)
SLANT = -45 * 60_000  # in the file's unit of angles: upwards to the right


def placed(page: Page, top: int, down: int, right: int, places: int = 1, high: int = LINE_ROWS) -> OneCellAnchor:
    """An anchor for a chart below row `top`: offset by `down` and `right` places, `places` wide and `high` rows high.

    Its rows get an explicit height. The offset is within its column, since Excel cuts a larger one.
    """
    first, pixels, column = top + down * high, right * (WIDE + GAP), 1
    for row in range(first, first + high):
        page.rows[row].height = ROW_POINTS
    while pixels >= (wide := page.pixels(column)):
        pixels, column = pixels - wide, column + 1
    marker = AnchorMarker(col=column - 1, colOff=pixels_to_EMU(pixels), row=first - 1, rowOff=TOP)
    size = XDRPositiveSize2D(pixels_to_EMU(places * (WIDE + GAP) - GAP), pixels_to_EMU(high * 20 - 16))
    return OneCellAnchor(_from=marker, ext=size)


def log_log(title: str) -> ScatterChart:
    """An empty scatter chart with its title, and its legend at the bottom."""
    chart = ScatterChart()
    chart.scatterStyle = "lineMarker"
    chart.style = None
    dress(chart, title)
    return chart


def bars(
    title: str, x_title: str, y_title: str, gap: int, *, down: bool = True, stacked: bool = True, form: str = "General"
) -> BarChart:
    """An empty bar chart, with `stacked` bars on top of each other, and gaps of `gap` percent of a bar.

    With `down`, bars are horizontal, with the first on top and the number axis at the bottom; `form` is its format.
    """
    chart = BarChart()
    chart.type, chart.gapWidth = "bar" if down else "col", gap
    chart.grouping, chart.overlap = ("stacked", 100) if stacked else ("clustered", None)
    dress(chart, title)
    plain_axis(chart.x_axis, x_title, "General")
    plain_axis(chart.y_axis, y_title, form)
    chart.x_axis.majorGridlines = None
    if down:
        chart.x_axis.scaling.orientation = "maxMin"
        chart.y_axis.crosses, chart.y_axis.tickLblPos = "max", "nextTo"
    return chart


def bar(cells: Reference, title: str | None, colour: str | None) -> Series:
    """A series of bars in a colour; None makes them invisible."""
    made = Series(cells, title=title)
    made.graphicalProperties = filled(colour)
    return made


def filled(colour: str | None) -> GraphicalProperties:
    """A bar's fill without an edge; None makes it invisible."""
    look = GraphicalProperties(solidFill=colour) if colour else GraphicalProperties(noFill=True)
    look.line.noFill = True
    return look


def dress(chart, title: str) -> None:  # type: ignore[no-untyped-def]
    """Set a chart's title, size and legend at the bottom."""
    chart.title = title
    chart.title.overlay = False
    chart.title.tx.rich.p[0].r[0].rPr = _text(1100, bold=True)
    chart.roundedCorners = False
    chart.visible_cells_only = False  # its data may be in a closed group
    chart.width, chart.height = SIZE
    chart.legend = Legend()
    chart.legend.position = "b"
    chart.legend.txPr = _rich(900)


def line(x: Reference, y: Reference, title: str, colour: str = "1F3A5F", width: int = 28575) -> Series:
    """A line without markers; `width` in EMU."""
    made = Series(y, x, title=title)
    made.marker = Marker(symbol="none")
    made.smooth = False
    made.graphicalProperties = GraphicalProperties(ln=LineProperties(w=width, solidFill=colour))
    return made


def joined(x: Reference, y: Reference, title: str, colour: str) -> Series:
    """A thin line with a marker at each point."""
    made = line(x, y, title, colour, 12700)
    made.marker = Marker(symbol="circle", size=5)
    made.marker.graphicalProperties = GraphicalProperties(solidFill=colour, ln=LineProperties(solidFill=colour))
    return made


def markers(x: Reference, y: Reference, title: str, colour: str = PALETTE[0]) -> Series:
    """Markers without a line."""
    made = Series(y, x, title=title)
    mark(made, colour)
    return made


def ring(x: Reference, y: Reference, title: str, colour: str = PALETTE[1], size: int = 14) -> Series:
    """A ring around a point, which another series may mark."""
    made = markers(x, y, title, colour)
    made.marker = Marker(symbol="circle", size=size)
    edge = LineProperties(w=size * 1800, solidFill=colour)
    made.marker.graphicalProperties = GraphicalProperties(noFill=True, ln=edge)
    return made


def column(page: Page, number: int, first: int, last: int) -> Reference:
    """A reference to the rows `first` to `last` of a column."""
    return Reference(page.sheet, min_col=number, min_row=first, max_row=last)


def axis(  # type: ignore[no-untyped-def]
    axis, title: str, form: str, low: float | None = None, high: float | None = None
) -> None:
    """Make an axis logarithmic from `low` to `high` (None: automatic), with a grid line at each power of ten."""
    axis.scaling.logBase = 10
    axis.scaling.min, axis.scaling.max = low, high
    axis.majorUnit = 10
    plain_axis(axis, title, form)


def plain_axis(axis, title: str, form: str, *, slanted: bool = False) -> None:  # type: ignore[no-untyped-def]
    """Show an axis with its title, and numbers in the given format, slanted if they are long."""
    axis.title = title
    axis.title.overlay = False
    axis.title.tx.rich.p[0].r[0].rPr = _text(900)
    axis.delete = False
    axis.number_format = form
    axis.numFmt.sourceLinked = False
    axis.crosses = "min"
    axis.tickLblPos = "low"
    axis.majorTickMark = "out"
    if axis.majorGridlines is not None:
        axis.majorGridlines.spPr = GraphicalProperties(ln=LineProperties(w=6350, solidFill=GRID))
    axis.graphicalProperties = GraphicalProperties(ln=LineProperties(w=9525, solidFill=AXIS))
    axis.txPr = _rich(900, slanted=slanted)


def mark(series: Series, colour: str, symbol: str = "circle", size: int = 8, edge: str = "FFFFFF") -> None:
    """Give a series markers and no line."""
    series.marker = Marker(symbol=symbol, size=size)
    series.marker.graphicalProperties = GraphicalProperties(solidFill=colour, ln=LineProperties(solidFill=edge))
    series.graphicalProperties = GraphicalProperties(ln=LineProperties(noFill=True))
    series.smooth = False


def labelled(page: Page, x: int, y: int, row: int, colour: str = PALETTE[0], side: str = "r") -> Series:
    """One point with a label on its right (r) or left (l): the text in column A of its row."""
    series = Series(column(page, y, row, row), column(page, x, row, row))
    series.tx = SeriesLabel(strRef=StrRef(f"{page.name}!$A${row}"))
    mark(series, colour)
    series.dLbls = labels("showSerName")
    series.dLbls.showBubbleSize = False
    series.dLbls.dLblPos = side
    series.dLbls.txPr = _rich(800)
    return series


def labels(shown: str) -> DataLabelList:
    """Data labels that show one property of each point, by openpyxl's name: `showVal`."""
    kinds = ("showVal", "showSerName", "showCatName", "showLegendKey", "showPercent")
    return DataLabelList(**{kind: kind == shown for kind in kinds})


def hide_from_legend(chart: ScatterChart, series: Iterable[int]) -> None:
    """Leave the series with these indices out of the legend."""
    chart.legend.legendEntry = [LegendEntry(idx=index, delete=True) for index in series]


@cache  # charts share objects, which are never changed
def _text(size: int, *, bold: bool = False) -> CharacterProperties:
    return CharacterProperties(sz=size, b=bold, latin=Font(typeface="Calibri"), solidFill=INK)


@cache
def _rich(size: int, *, slanted: bool = False) -> RichText:
    paragraph = Paragraph(pPr=ParagraphProperties(defRPr=_text(size)), endParaRPr=CharacterProperties())
    turn = RichTextProperties(rot=SLANT, vert="horz") if slanted else None
    return RichText(bodyPr=turn, p=[paragraph])

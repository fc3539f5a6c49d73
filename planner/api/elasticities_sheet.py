"""The sheet Elasticities of a workbook: the elasticities of each scenario as a table and a tornado chart."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from openpyxl.chart import BarChart, Series
from openpyxl.chart.shapes import GraphicalProperties

from planner.formulas.elasticities import Elasticity, Sensitivity, Tried
from planner.number_text import few, printed, within
from planner.workbook import charts
from planner.workbook.added_sheet import FIRST_ROW, put
from planner.workbook.cell_styles import row_format
from planner.workbook.page import Page
from planner.xlsx.opc import in_place

KIND = "Elasticities"
PURPOSE = "By how many percent a number changes for each percent of what it is made of, the largest first."
TITLES = ("Quantity", "Name", "Unit", "Now", "1 % less of it", "1 % more of it", "Note")
VALUE, LESS, MORE, NOTE = range(4, 8)
RIGHT = range(VALUE, NOTE)
DRAWN = (9, 10)  # grouped columns with the lengths of the bars
WIDTHS = (44.0, 30.0, 14.0, 18.0, 14.0, 14.0, 40.0)
TOP = 12  # most bars of a chart
SLOPE, SIDES = "+0.000;-0.000;0.000", ("1 % less of it", "1 % more of it")
LEFT, PLACES = 4, 2  # a chart's position and width, in quarters of a laptop's screen


def write(path: Path, by_scenario: Mapping[str, Sensitivity]) -> str:
    """Write the sheet into the workbook at `path`, with the sensitivities by scenario id; returns the sheet's name.

    Raises UserError as reading and writing do.
    """
    with in_place(path) as package:
        return put(package, KIND, PURPOSE, lambda page: _fill(page, by_scenario))


def _fill(page: Page, by_scenario: Mapping[str, Sensitivity]) -> None:
    page.widths(*WIDTHS)
    page.close_columns(range(DRAWN[0], DRAWN[-1] + 1))
    page.corner = f"B{FIRST_ROW - 1}"
    at = FIRST_ROW
    for scenario, found in by_scenario.items():
        at = max(_block(page, at, scenario, found), at + charts.LINE_ROWS + 1) + 1


def _block(page: Page, at: int, scenario: str, found: Sensitivity) -> int:
    """Write a scenario's table with its chart; returns the next free row."""
    value = printed(found.value, found.row.unit)
    page.section(at, f"{scenario}: {within(found.row.label)} ({found.row.name}), {value}", len(TITLES))
    page.header(TITLES, at + 1, right=RIGHT)
    row = at + 1
    for row, each in enumerate(found.elasticities, start=at + 2):
        _line(page, row, each, found.scale)
    row += 1
    for why, names in found.left_out.items():
        page.put(row, 1, f"Left out, {why}", "plan_wrapped")
        page.put(row, 2, few(names), "plan_text")
        row += 1
    if found.elasticities:
        last = at + 1 + min(TOP, len(found.elasticities))
        page.sheet.add_chart(_tornado(page, scenario, found, at + 2, last), charts.placed(page, at, 0, LEFT, PLACES))
    return row


def _line(page: Page, row: int, each: Elasticity, most: float) -> None:
    """Write a quantity's name, value, and effects of less and more of it; grouped columns have bars cut at `most`."""
    texts = (each.row.label, "plan_wrapped"), (each.row.name, "plan_text"), (each.row.unit, "plan_text")
    for column, (text, style) in enumerate(texts, start=1):
        page.put(row, column, text, style)
    page.put(row, VALUE, each.value, "plan_formula", row_format(each.row))
    for column, drawn, tried, sign in zip((LESS, MORE), DRAWN, (each.down, each.up), (-1, 1), strict=True):
        page.put(row, column, _said(tried), "plan_formula", SLOPE)
        page.put(row, drawn, max(-most, min(most, sign * ((tried and tried.elasticity) or 0.0))), "plan_text")
    counted = "whole steps" if each.is_count else ""
    page.put(row, NOTE, "; ".join(filter(None, (counted, each.note))), "plan_told")


def _said(tried: Tried | None) -> float | str | None:
    if tried is None:
        return None
    return "N/A" if tried.elasticity is None else tried.elasticity


def _tornado(page: Page, scenario: str, found: Sensitivity, first: int, last: int) -> BarChart:
    """A bar chart of the percent change of the number for 1 % less and 1 % more of each quantity."""
    chart = charts.bars(f"{scenario}: {within(found.row.label)}", "", "", 30, stacked=False)
    charts.plain_axis(chart.y_axis, "% of change for 1 % (a longer bar is cut)", "0.0#")
    chart.x_axis.title, chart.overlap = None, 0
    chart.y_axis.scaling.min, chart.y_axis.scaling.max = -found.scale, found.scale
    chart.x_axis.crosses, chart.y_axis.crosses, chart.x_axis.tickLblSkip = "autoZero", "max", 1
    for column, title, colour in zip(DRAWN, SIDES, charts.PALETTE, strict=False):
        bars = Series(charts.column(page, column, first, last), title=title)
        bars.graphicalProperties = GraphicalProperties(solidFill=colour)
        bars.invertIfNegative = False
        chart.series.append(bars)
    chart.set_categories(charts.column(page, 1, first, last))
    return chart

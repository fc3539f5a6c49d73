"""The chart of a search: the front of several objectives, or the best plans of one with their ranges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle

from openpyxl.chart import ScatterChart

from planner.formulas.headlines import RANGE
from planner.formulas.template import Row
from planner.search.optimum import Found, Plan
from planner.search.sheet import FEW, Head, scatter
from planner.workbook import charts
from planner.workbook.layout import within
from planner.workbook.page import Page


def chart(
    page: Page, heads: Sequence[Head], place: Mapping[str, int], found: Found, plans: Sequence[Plan], rows: range
) -> ScatterChart:
    """The chart of a table of plans, which stands in these rows; `place` has the columns of numbers, counted from 0."""
    aims = [each.row for each in found.objectives]
    return (_front if len(aims) > 1 else _best)(page, heads, place, aims, plans, rows)


def _front(
    page: Page, heads: Sequence[Head], place: Mapping[str, int], aims: Sequence[Row], plans: Sequence[Plan], rows: range
) -> ScatterChart:
    """The second objective over the first. The points of each model and chip are drawn from a closed column."""
    x, y = (place[row.name] for row in aims[:2])
    chart = scatter(page, f"{aims[1].label} over {within(aims[0].label)}", heads, x, y, rows.start, rows.stop - 1)
    subjects = list(dict.fromkeys(plan.subject.said for plan in plans))
    closed = range(len(heads) + 2, len(heads) + 2 + len(subjects))
    for column, subject, colour in zip(closed, subjects, cycle(charts.PALETTE), strict=False):
        page.put(rows.start - 1, column, subject, "plan_note")
        for row, plan in zip(rows, plans, strict=True):
            if plan.subject.said == subject:
                page.put(row, column, page.filled[row, y + 1][3], "plan_data")
        across, up = (charts.column(page, each, rows.start, rows.stop - 1) for each in (x + 1, column))
        chart.series.append(charts.markers(across, up, subject, colour))
    page.close_columns(closed)
    return chart


def _best(
    page: Page, heads: Sequence[Head], place: Mapping[str, int], aims: Sequence[Row], plans: Sequence[Plan], rows: range
) -> ScatterChart:
    """The objective of each plan in their order, and the ends of its range."""
    (aim,) = aims
    x = next(at for at, each in enumerate(heads) if each.name == "plan")
    title = f"{aim.label} of the best plans"
    chart = scatter(page, title, heads, x, place[aim.name], rows.start, rows.stop - 1)
    for end, said in (("", "expected"), *zip(RANGE, ("least", "most"), strict=True)):
        if aim.name + end in place:
            across, up = (charts.column(page, at + 1, rows.start, rows.stop - 1) for at in (x, place[aim.name + end]))
            chart.series.append(charts.markers(across, up, said, charts.AXIS if end else charts.PALETTE[0]))
            chart.series[-1].marker.symbol = "dash" if end else "circle"
    chart.x_axis.scaling.min, chart.x_axis.scaling.max = 0, len(plans) + 1
    chart.x_axis.majorUnit = 1 if len(plans) <= FEW else None
    return chart

"""The Sweep sheet: tables over an input of the chosen scenario, one formula for each column and a case for each row.

Only what depends on a table's axis is recalculated; everything else is the scenario's value, in a block above the
tables. The intermediate columns of a table are a closed group, left of the shown ones; the chart data are right of
them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from openpyxl.worksheet.pagebreak import Break

from planner.number_text import within
from planner.workbook.calculation import Earlier
from planner.workbook.chosen_scenario import ChosenScenario
from planner.workbook.page import Live, Page
from planner.workbook.sweep_table import SweepColumns, SweepTable
from planner.workbook.wrapping import LINE_HEIGHT, PER_WIDTH, lines_of
from planner.xlsx.address import column_letters

NAME = "Sweep"
PURPOSE = "The scenario chosen on Dashboard, swept: blue values are yours to change; + opens the working."
WIDTHS, WIDTH, WORDS_WIDTH = (24.0, 15.0, 15.0, 24.0, 16.0), 14.0, 60.0  # WIDTH: of a narrow column
FAILING_WIDTH = 44.0  # a longer name overflows into the next column, which is blank
LINES = 2.5  # of the label row, for most labels


@dataclass
class Sweeps:
    """The tables of the sheet."""

    page: Page
    tables: list[SweepTable] = field(default_factory=list)

    def drawn(self, chart: str) -> Iterator[SweepTable]:
        """The tables along whose axis a chart is drawn."""
        return (table for table in self.tables if chart in table.axis.charts)


def write(earlier: Earlier, selector: str) -> Sweeps:
    """Write the sheet for each sweep of the plan. `selector` is the cell of the chosen scenario."""
    sweeps = [(each, earlier.sheets[each.template.name]) for each in earlier.plan.sweeps]
    page = Page(earlier.book, NAME, "Sweep", PURPOSE, corner="B4", titles="1:2")
    done = Sweeps(page)
    scenario = ChosenScenario(page, earlier, selector, sweeps)
    right = max(SweepColumns(sweep, sweep.axes[0]).end for sweep, _ in sweeps)  # the first shown column
    last = right + max(len(sweep.shown) + len(sweep.bounds) for sweep, _ in sweeps)  # which checks fail
    at, drawn_from = scenario.last + 2, last + 2
    for index, (sweep, sheet) in enumerate(sweeps):
        if index:
            page.sheet.row_breaks.append(Break(id=at - 1))
        for axis in sweep.axes:
            table = SweepTable(sweep, axis, scenario, right, drawn_from, at + 1)
            appended_note = f"; {axis.note}" if axis.note else ""
            page.section(at, f"{sheet.page.name}: over {within(axis.row.label)}{appended_note}", table.last_column)
            table.write()
            done.tables.append(table)
            at = table.rows.stop + 1
    words = max(len(sweep.bounds) for sweep, _ in sweeps)
    _fit(done, range(right, right + words), last)
    page.close_columns(range(2, right))
    page.close_columns(range(drawn_from, max(max(table.places.values()) for table in done.tables) + 1))
    page.put(scenario.FIRST_ROW, right, Live(scenario.id), "plan_cross")
    page.sheet.print_area = f"A1:{column_letters(last + 1)}{at}"
    return done


def _fit(done: Sweeps, words: range, last: int) -> None:
    """Set the widths of columns and the height of the label row by the labels; the machine names are closed.

    `words` are the columns with what binds as text, `last` the one with the failed checks.
    """
    shown = range(words.start, max(table.last_column for table in done.tables) + 1)
    width: dict[int, float] = dict(enumerate(WIDTHS, start=1))
    for table in done.tables:
        for column, label in table.labels.items():
            if column in shown:
                needed = math.ceil(len(label) / PER_WIDTH / LINES) + 1.0
                width[column] = max(width.get(column, WIDTH), needed)
    width |= {**dict.fromkeys(words, WORDS_WIDTH), last: FAILING_WIDTH}
    for column, wide in width.items():
        done.page.sheet.column_dimensions[column_letters(column)].width = wide
    for table in done.tables:
        labels = (
            (label, int(width[column] * PER_WIDTH) - 1) for column, label in table.labels.items() if column in shown
        )
        lines = max(lines_of(label, letters) for label, letters in labels)
        rows = done.page.rows
        rows[table.titles].height = LINE_HEIGHT * lines + 3
        done.page.close_rows([table.titles + 1])

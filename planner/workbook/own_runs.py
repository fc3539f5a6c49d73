"""Runs of the plan on Dashboard, live from the table of runs on Comparison, and the chart of the latest ones.

For each scenario and workload, the latest run as text, beside its expectation: of all runs of any headline the lowest
row of the table, where `planner record` and `planner ingest` add. The chart beside the table shows each run over its
expectation, with range and bound; its data are a closed block of Dashboard, so that sorting or correcting the table is
reflected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from openpyxl.chart import BarChart, LineChart, Reference, Series

from planner.compare.runs_table import PART
from planner.formulas.headlines import OF_ANY_RUNS
from planner.workbook import charts, layout
from planner.workbook.cell_styles import SAID
from planner.workbook.dashboard_lines import Lines, LineWriter, runs_of
from planner.workbook.page import Live, Page
from planner.workbook.wrapping import LINE_HEIGHT
from planner.xlsx.address import column_letters
from planner.xlsx.grid import HERE

LABEL, NONE = "Your latest run", "none recorded"
OTHERS = "runs of other numbers: see Comparison"
REACH = 5000  # rows below the cases in which runs are found
DRAWN = 8  # the latest runs
TITLE = "Your latest runs over what was expected of them"
LINES = NUMBER, PLACE, NAME, LOW, WIDTH, BOUND, MEASURED = (
    "its number",
    "its place in the table",
    "its name",
    "range from",
    "range wide",
    "bound",
    "measured",
)
OVER = {LOW: "run_low", BOUND: "run_bound", MEASURED: "run_measured"}  # chart data divided by the expected number
COLUMN = f"${column_letters(layout.FORMULA)}$"  # the column of the block's values


class RunsTable(NamedTuple):
    """The position of the table of runs, or of the one that the first run will add."""

    page: Page
    title_row: int
    area: Callable[[str], str]  # the range of a column, by its machine name, over all rows that runs may have
    chart_at: str  # the cell where their chart begins


def write(writer: LineWriter, made: Sequence[Lines], table: RunsTable) -> None:
    """Write the lines on recorded runs into the rows that each workload's lines reserve for them."""
    for lines in made:
        if lines.runs:
            _Latest(writer, lines, table).write()


@dataclass(frozen=True)
class _Latest:
    """The latest run of each scenario for one workload: closed lines with its numbers, and an open one as text."""

    writer: LineWriter
    lines: Lines
    table: RunsTable

    def write(self) -> None:
        """Write all lines, the counts of each headline first."""
        leading = runs_of(self.lines.leads)
        counts = range(self.lines.runs.start, self.lines.runs.start + len(leading))
        places = range(counts.stop, counts.stop + len(leading))
        count, place, measured, expected, digits, *_, said = range(places.stop, self.lines.runs.stop)
        for at, last, each in zip(counts, places, leading, strict=True):
            key = f'{HERE}{layout.ID_ROW}&"{PART}{each.row.name}'
            self._number(at, f"runs of {each.said}", f'COUNTIF({self.table.area("run_of")},{key}")')
            found = f'MATCH({key}{PART}"&{HERE}{at},{self.table.area("run_key")},0)'
            self._number(last, f"runs of {each.said}: place of the last", f"IF({HERE}{at}>0,IFERROR({found},0),0)")
        self._number(count, "runs: how many", f"SUM({HERE}{counts.start}:{HERE}{counts.stop - 1})")
        self._number(place, "runs: place of the latest", f"MAX({HERE}{places.start}:{HERE}{places.stop - 1})")
        for at, name, label in (
            (measured, "run_measured", "measured"),
            (expected, "run_expected", "expected on its day"),
        ):
            self._number(at, f"runs: {label}", f"IF({HERE}{place}>0,{self._of(name, place)},0)")
        self._number(digits, "runs: digits", self.writer.units.digits(f"{HERE}{measured}"))
        number, times = (said - 2, said - 1)
        self._words_line(number, "the latest", self._number_in_words(place, measured, digits))
        self._words_line(times, "beside what was expected", self._times(measured, expected, digits))
        self.writer.close(range(counts.start, said))
        label = f"{self._sheet}: {LABEL.lower()}" if LABEL in self.writer.labels else LABEL
        self.writer.labels.add(LABEL)
        self.writer.texts(
            said,
            label,
            f"{self.lines.template}.runs.said",
            "the latest beside what was expected then: planner record, planner ingest",
            "plan_aside_label",
        )
        page = self.table.page.name  # without a row, since new cases move the table down
        self.writer.page.leads(said, page, self.table.title_row, said=f"{page}, runs")
        runs = f'IF({HERE}{count}>1,", "&{HERE}{count}&" runs","")'
        none = f'IF(COUNTIF({self.table.area("run_scenario")},{HERE}{layout.ID_ROW})>0,"{OTHERS}","{NONE}")'
        words = f"IF({HERE}{place}=0,{none},{HERE}{number}&{runs}&{HERE}{times})"
        self.writer.page.across(said, self.writer.guarded(self.lines.sheet, words, '""'), "plan_aside_words", "@")
        self.writer.page.rows[said].height = 2 * LINE_HEIGHT

    def _number_in_words(self, place: int, measured: int, digits: int) -> str:
        """The formula of `Step 33.0 ms`."""
        quantity, unit = (self._of(name, place) for name in ("run_quantity", "run_unit"))
        return f'IF({HERE}{place}=0,"",{quantity}&" "&FIXED({HERE}{measured},{HERE}{digits})&" "&{unit})'

    def _times(self, measured: int, expected: int, digits: int) -> str:
        """The formula of `; 1.05 x the 31.4 expected`."""
        then = f'FIXED({HERE}{expected},{HERE}{digits})&" expected"'
        return f'IF({HERE}{expected}>0,"; "&FIXED({HERE}{measured}/{HERE}{expected},2)&" x the "&{then},"")'

    def _words_line(self, at: int, label: str, formula: str) -> None:
        self._line(at, f"runs: {label}, in words", "text", formula, "plan_words", "@")

    def _of(self, name: str, place: int) -> str:
        return f"INDEX({self.table.area(name)},{HERE}{place})"

    @property
    def _sheet(self) -> str:
        return self.lines.sheet.page.name

    def _number(self, at: int, label: str, formula: str) -> None:
        self._line(at, label, "1", formula, "plan_formula", SAID)

    def _line(self, at: int, label: str, unit: str, formula: str, style: str, form: str) -> None:
        said = (f"{self._sheet}: {label}", unit, "", "", "from the table of runs on Comparison")
        self.writer.line(at, said, formula, style, form)


def write_chart(writer: LineWriter, table: RunsTable) -> None:
    """Write the chart's data below the lines so far, and the chart."""
    page, at = writer.page, writer.at
    page.section(at, TITLE)
    rows = {name: range(at + 1 + place * DRAWN, at + 1 + (place + 1) * DRAWN) for place, name in enumerate(LINES)}
    for name, lines in rows.items():
        for place, row in enumerate(lines):
            is_text = name == NAME
            label = f"Run {place + 1} of the latest: {name}"
            page.describe(row, (label, "text" if is_text else "1", "", "", "from the table of runs on Comparison"))
            formula = _formula(name, place, {each: f"{COLUMN}{of[place]}" for each, of in rows.items()}, table)
            page.put(row, layout.FORMULA, Live(formula), "plan_formula", "@" if is_text else SAID)
    last = at + len(LINES) * DRAWN
    writer.close(range(at, last + 1))
    table.page.sheet.add_chart(_chart(writer, rows), table.chart_at)
    writer.at = last + 2


def _formula(name: str, place: int, cell: dict[str, str], table: RunsTable) -> str:
    """One line of a run's chart data, the newest run first; N/A isn't drawn."""

    def of(column: str) -> str:
        return f"INDEX({table.area(column)},{cell[PLACE]})"

    if name == NUMBER:
        above = int(cell[NUMBER].removeprefix(COLUMN)) - 1
        return f"{COLUMN}{above}-1" if place else f"MAX({table.area('run_number')})"
    if name == PLACE:
        return f"IF({cell[NUMBER]}>0,IFERROR(MATCH({cell[NUMBER]},{table.area('run_number')},0),0),0)"
    if name == NAME:
        return f'IF({cell[PLACE]}>0,{of("run_name")}&": "&{of("run_quantity")},"")'
    number = f"{of('run_high')}/{of('run_expected')}-{cell[LOW]}" if name == WIDTH else ""
    number = number or f"{of(OVER[name])}/{of('run_expected')}"
    return f"IF({cell[PLACE]}>0,IFERROR({number},NA()),NA())"


def _chart(writer: LineWriter, rows: dict[str, range]) -> BarChart:
    """A box for each range, a short line for the bound, and a point for the measured number."""

    def cells(name: str) -> Reference:
        return charts.column(writer.page, layout.FORMULA, rows[name].start, rows[name].stop - 1)

    axes = "Run, the newest first", "Times what was expected"
    chart, points = charts.bars(TITLE, *axes, 120, down=False, form="0.0"), LineChart()
    box = charts.bar(cells(WIDTH), OF_ANY_RUNS, charts.PALE)
    chart.series += [charts.bar(cells(LOW), "least", None), box]
    for name, title, symbol, colour in (
        (BOUND, "bound", "dash", charts.AXIS),
        (MEASURED, "measured", "circle", charts.PALETTE[0]),
    ):
        line = Series(cells(name), title=title)
        charts.mark(line, colour, symbol, 9, edge=colour)
        points.series.append(line)
    chart.set_categories(cells(NAME))
    points.set_categories(cells(NAME))
    charts.hide_from_legend(chart, [0])
    chart += points
    return chart

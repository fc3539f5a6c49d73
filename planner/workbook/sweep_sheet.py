"""The Sweep sheet: tables over an input of the chosen scenario, one formula for each column and a case for each row.

Only what depends on a table's own axis is calculated again; the rest are the scenario's values, in a block above the
tables. The intermediate columns of a table are a closed group, left of the shown ones; behind these are the drawn ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from openpyxl.workbook import Workbook
from openpyxl.worksheet.pagebreak import Break

from planner.formulas.binding import Constraint
from planner.formulas.input_values import LARGEST
from planner.formulas.sweeps import Axis, Sweep
from planner.formulas.template import CALCULATED, Row
from planner.formulas.text import parse
from planner.spoken import within
from planner.workbook.build_plan import ALL_WORKLOADS, WORKLOAD, BuildPlan
from planner.workbook.calculation import Calculation
from planner.workbook.cell_styles import GREY, PALE_RED, RATIO, RED, number_format, row_format
from planner.workbook.chosen_scenario import VALUE, ChosenScenario
from planner.workbook.constraints_sheet import Ranking
from planner.workbook.display_units import shown_format
from planner.workbook.inputs_sheet import Inputs, at_least_0
from planner.workbook.layout import in_row
from planner.workbook.page import LINE_HEIGHT, PER_WIDTH, Live, Page, lines_of, titled
from planner.workbook.sweep_columns import RANKED, SweepColumns
from planner.xlsx.address import address, column_letters
from planner.xlsx.grid import HERE

NAME = "Sweep"
PURPOSE = "The scenario chosen on Dashboard, swept: blue values are yours to change; + opens the working."
WIDTHS, WIDTH, WORDS_WIDTH = (24.0, 15.0, 15.0, 24.0, 16.0), 14.0, 60.0  # WIDTH: of a narrow column
FAILING_WIDTH = 44.0  # a longer name runs on into the blank column behind
LINES = 2.5  # of most labels
FEWEST, BEYOND = 11, 2  # cases of a table, and how many doublings of chips are below and above the scenarios'
WHOLES = {"memory": "held", "time": "total", "total": "total", "limit": "total"}  # of each part that a chart draws
HELD_AGAINST = {"held": "capacity"}  # else against the scenario's own
FAILED = "failed_checks"
DRAWN = tuple(WHOLES)
MARKED = ("latency", "throughput")  # of which a chart marks the scenario's own
TEXTS = (".words", ".binds", ".times")  # how the names of columns of texts end


@dataclass
class Sweeps:
    """Where the tables stand."""

    page: Page
    tables: list[SweepTable] = field(default_factory=list)

    def drawn(self, chart: str) -> Iterator[SweepTable]:
        """The tables along whose axis a chart is drawn."""
        return (table for table in self.tables if chart in table.axis.charts)


def write(
    book: Workbook, plan: BuildPlan, sweeps: Sequence[tuple[Sweep, Calculation]], inputs: Inputs, selector: str
) -> Sweeps:
    """Write the sheet for each sweep with its template's sheet. `selector` is the cell of the chosen scenario."""
    page = Page(book, NAME, "Sweep", PURPOSE, corner="B4", titles="1:2")
    done = Sweeps(page)
    scenario = ChosenScenario(page, plan, inputs, selector, sweeps)
    right = max(SweepColumns(sweep, sweep.axes[0]).end for sweep, _ in sweeps)  # where what is shown begins
    last = right + max(len(sweep.shown) + len(sweep.bounds) for sweep, _ in sweeps)  # which checks fail
    at, drawn_from = scenario.last + 2, last + 2
    for index, (sweep, sheet) in enumerate(sweeps):
        if index:
            page.sheet.row_breaks.append(Break(id=at - 1))
        for axis in sweep.axes:
            table = TableWriter(sweep, axis, scenario, right, drawn_from)
            told = f"; {axis.note}" if axis.note else ""
            page.section(at, f"{sheet.page.name}: over {within(axis.row.label)}{told}", table.last_column)
            done.tables.append(table.write(at + 1))
            at = done.tables[-1].rows.stop + 1
    words = max(len(sweep.bounds) for sweep, _ in sweeps)
    _fit(done, range(right, right + words), last)
    page.close_columns(range(2, right))
    page.close_columns(range(drawn_from, max(max(table.columns.values()) for table in done.tables) + 1))
    page.put(scenario.FIRST_ROW, right, Live(scenario.chosen), "plan_cross")
    page.sheet.print_area = f"A1:{column_letters(last + 1)}{at}"
    return done


def _fit(done: Sweeps, words: range, last: int) -> None:
    """Make columns as wide as their labels need, and the row of the labels as high; the machine names are closed.

    `words` are the columns of what binds in words, and `last` is that of which checks fail.
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
        rows[table.rows.start - 2].height = LINE_HEIGHT * lines + 3
        done.page.close_rows([table.rows.start - 1])


@dataclass(frozen=True)
class SweepTable:
    """One table: its rows of cases, the column of each quantity that it shows or draws, and of the scenario's own."""

    sweep: Sweep
    axis: Axis
    rows: range
    columns: Mapping[str, int]
    own: Mapping[str, int]
    shown: Mapping[str, int]  # of what it shows, in every row; what it draws is N/A in some
    labels: Mapping[int, str]  # above each column, in the first of two rows of titles
    last_column: int  # of what it shows


class TableWriter:
    """The writing of one table, its rows of cases below two rows of titles."""

    def __init__(self, sweep: Sweep, axis: Axis, scenario: ChosenScenario, right: int, drawn_from: int) -> None:
        self.page, self.plan = scenario.page, scenario.plan
        self.sweep, self.axis, self.scenario = sweep, axis, scenario
        self.columns = SweepColumns(sweep, axis)
        self.moved = sweep.depends(axis)
        self.looked_up = set(scenario.names(sweep))
        first = right + len(self.columns.bounds)
        self.words = range(right, first)
        self.shown = {name: column for column, name in enumerate(sweep.shown, start=first)}
        self.last_column = first + len(sweep.shown)  # which checks fail, in words
        beside = dict.fromkeys(name for part in DRAWN for name in sweep.playing(part))
        wholes = [whole for whole in dict.fromkeys(WHOLES.values()) if sweep.playing(whole)]
        self.reach = {whole: column for column, whole in enumerate(wholes, start=drawn_from)}
        drawn_from += len(wholes)
        self.drawn = {name: column for column, name in enumerate(beside, start=drawn_from)}
        marked = [name for part in MARKED for name in sweep.playing(part)[:1]]
        self.own = {name: column for column, name in enumerate(marked, start=drawn_from + len(beside))}
        self.labels: dict[int, str] = {}

    def write(self, at: int) -> SweepTable:
        """Write the table with its titles in rows `at` and `at + 1`."""
        self._titles(at)
        workload = self.sweep.template.name
        meant = [each.values for each in self.plan.scenarios if each.values.get(WORKLOAD) in (workload, ALL_WORKLOADS)]
        typed = meant or [each.values for each in self.plan.scenarios]
        cases = self.plan.axes.get(axis_key(self.sweep, self.axis)) or swept(self.axis.row, typed)
        rows = range(at + 2, at + 2 + len(cases))
        for row, value in zip(rows, cases, strict=True):
            self.page.put(row, 1, value, "plan_input", number_format(self.axis.row.unit))
        self._cases(rows, at)
        own, prompt = self.axis.row, "A case of the table; the values are yours."
        rule = {"type": "decimal", "operator": at_least_0(own), "formula1": "0"}
        area = f"A{rows.start}:A{rows.stop - 1}"
        self.page.validate(area, titled(own), prompt, f"A number of {own.unit}.", **rule)
        self._colour(rows)
        if self.drawn:
            drawn = *self.reach.values(), *self.drawn.values()
            first, last = column_letters(min(drawn)), column_letters(max(drawn))
            area = f"{first}{rows.start}:{last}{rows.stop - 1}"
            self.page.colour(area, f"ISNA({first}{rows.start})", ink=GREY)
        self.page.swept[axis_key(self.sweep, self.axis)] = [float(value) for value in cases]
        return SweepTable(
            self.sweep, self.axis, rows, {**self.columns.places, **self.shown, **self.drawn}, self.own, self.shown,
            self.labels,
            self.last_column,
        )  # fmt: skip

    def _titles(self, at: int) -> None:
        """Labels with units above, machine names below; a part's label stands alone, for the words to call it up."""
        titles = [(column, name, name) for name, column in self.columns.places.items()]
        titles += [(column, name, f"chart.{name}") for name, column in self.drawn.items()]
        for whole, column in self.reach.items():
            label = self.sweep.rows[self.sweep.playing(whole)[0]].label
            self._title(column, at, f"{label}: drawn (1)", f"drawn.{whole}")
        for name, column in self.own.items():
            row = self.sweep.rows[name]
            self._title(column, at, f"The scenario: {within(row.label)} ({row.said_in})", f"scenario.{name}")
        self._title(self.columns.ratio, at, "Over the scenario's (1)", f"{self.axis.row.name}.ratio")
        for column, name, title in titles:
            row = self.sweep.rows[name]
            self._title(column, at, f"{row.label} ({row.unit})", title)
        for name, column in self.shown.items():
            row = self.sweep.rows[name]
            self._title(column, at, row.label if row.said_in == "1" else f"{row.label} ({row.said_in})", name)
        for index, (each, first) in enumerate(self.columns.bounds):
            for column, part in enumerate(each.parts, start=first):
                self._title(column, at, part.label, f"{each.row.name}.{part.name}")
            for column, name in enumerate(RANKED, start=first + len(each.parts)):
                self._title(column, at, f"{each.row.label}: {name}", f"{each.row.name}.{name}")
            self._title(self.words[index], at, f"{each.row.label}: bound by", f"{each.row.name}.words")
        for name, column in self.columns.checks.items():
            self._title(column, at, self.sweep.rows[name].label, name)
        self._title(self.columns.failed, at, "Checks that fail (1)", f"{FAILED}.count")
        self._title(self.last_column, at, "Checks that fail", f"{FAILED}.words")

    def _title(self, column: int, at: int, label: str, name: str) -> None:
        self.page.heads(at, column, label, name, right=not name.endswith(TEXTS))
        self.labels[column] = label

    def _cases(self, rows: range, titles: int) -> None:
        """Every case's formulas: each is one, copied downward."""
        down = self.page.down
        for name, column in self.columns.places.items():
            if self._calculates(name):
                down(rows, column, self._formula(name), "plan_formula", self._form(name))
            elif 1 < column <= len(self.columns.axes) or name in self.columns.checks:
                down(rows, column, self.scenario(self.sweep, name), "plan_formula", self._form(name))
        ratio = f"{_here(1)}/{self.scenario(self.sweep, self.axis.row.name)}"
        down(rows, self.columns.ratio, ratio, "plan_formula", RATIO)
        for index, (each, first) in enumerate(self.columns.bounds):
            self._bound(each, first, self.words[index], rows, titles)
        self._failing(rows, titles)
        for name, column in self.shown.items():
            row = self.sweep.rows[name]
            down(rows, column, f"{self._reference(name)}{self.scenario.over(row)}", "plan_output", shown_format(row))
        for whole, column in self.reach.items():
            down(rows, column, self._within_reach(whole), "plan_formula", "General")
        for name, column in self.drawn.items():
            down(rows, column, self._drawn(name), "plan_formula", shown_format(self.sweep.rows[name]))
        for name, column in self.own.items():
            down(rows, column, self._own(name), "plan_formula", shown_format(self.sweep.rows[name]))

    def _own(self, name: str) -> str:
        """What a quantity is in the scenario itself, as it is shown; one of the sweep's own is calculated from it."""
        row = self.sweep.rows[name]
        if name in self.looked_up:
            return self.scenario(self.sweep, name) + self.scenario.over(row)
        own, over = row.expression.substitute(lambda read: self.scenario(self.sweep, read)), self.scenario.over(row)
        return f"({own}){over}" if over else own

    def _within_reach(self, whole: str) -> str:
        """What the parts of a whole are multiplied by to be drawn in the unit that people say it in.

        N/A where the whole is out of reach of what it is held against: nothing would be seen of the rest.
        """
        name, rooms = self.sweep.playing(whole)[0], self.sweep.playing(HELD_AGAINST.get(whole, ""))
        most = self._reference(rooms[0]) if rooms else self.scenario(self.sweep, name)
        drawn = f"1{self.scenario.over(self.sweep.rows[name])}"
        return f"IF({self._reference(name)}<={self.scenario.constant('drawn_within')}*{most},{drawn},NA())"

    def _drawn(self, name: str) -> str:
        """What a chart draws of a quantity, in the unit that people say its whole in."""
        row = self.sweep.rows[name]
        whole = next((WHOLES[part] for part in DRAWN if name in self.sweep.playing(part)), "")
        own = self._reference(name)
        return f"{own}*{_here(self.reach[whole])}" if whole in self.reach else own + self.scenario.over(row)

    def _form(self, name: str) -> str:
        return row_format(self.sweep.rows[name])

    def _formula(self, name: str) -> str:
        """The row's own text, or what binds a following input to its axis; an override of the scenario goes before."""
        if name in self.axis.follows:
            return self.axis.follows[name].substitute(self._reference)
        own = self.sweep.rows[name]
        assert own.kind in CALCULATED, f"{name} changes along {self.axis.row.name}, and is no calculated row"
        return self.scenario.overridden(name, own.expression.substitute(self._reference))

    def _calculates(self, name: str) -> bool:
        """Whether the table has a formula of its own for a row: all that its axis doesn't move is the scenario's."""
        return name in self.moved or name not in self.sweep.template.by_name

    def _reference(self, name: str) -> str:
        """The cell of a row: the case's own, or the scenario's where the axis doesn't move it."""
        place = self.columns.places.get(name)
        is_here = place and (place <= len(self.columns.axes) or self._calculates(name))
        return _here(place) if place and is_here else self.scenario(self.sweep, name)

    def _bound(self, each: Constraint, first: int, words: int, rows: range, titles: int) -> None:
        """The parts that compete in a row, which binds, the next, how far it is; and in words, further right."""
        form, last, down = row_format(each.row), first + len(each.parts) - 1, self.page.down
        for column, part in enumerate(each.parts, start=first):
            down(rows, column, parse(part.text).substitute(self._reference), "plan_formula", form)
        first_letter, last_letter = column_letters(first), column_letters(last)
        ranking = Ranking(
            [_here(column) for column in range(first, last + 1)],
            f"{_here(first)}:{_here(last)}",
            f"${first_letter}${titles}:${last_letter}${titles}",
            each.function,
            self.scenario.constant("far_margin"),
            self.scenario.constant("large_margin"),
            is_row=True,
        )
        *formulas, told = ranking.formulas(*(_here(last + step) for step in range(1, len(RANKED) + 1)))
        looks = (("plan_formula", form), ("plan_formula", "@"), ("plan_formula", form), ("plan_formula", RATIO),
                 ("plan_verdict", "@"))  # fmt: skip
        for column, (formula, look) in enumerate(zip(formulas, looks, strict=True), start=last + 1):
            down(rows, column, formula, *look)
        down(rows, words, told, "plan_verdict", "@")

    def _failing(self, rows: range, titles: int) -> None:
        """How many checks fail, and in words the first of them; those that change along an axis come first."""
        blocks = []
        if checks := self.columns.checks.values():
            first, last = column_letters(min(checks)), column_letters(max(checks))
            values, labels = f"{first}{HERE}:{last}{HERE}", f"${first}${titles}:${last}${titles}"
            blocks.append((values, in_row(labels, f"MATCH(0,{values},0)")))
        if values := self.scenario.fixed_checks(self.sweep, VALUE):
            labels = self.scenario.fixed_checks(self.sweep, 1)
            blocks.append((values, f"INDEX({labels},MATCH(0,{values},0))"))
        number, (*others, label) = _here(self.columns.failed), [label for _, label in blocks] or ['""']
        first_label = f"IFERROR({others[0]},{label})" if others else label
        count = "+".join(f"COUNTIF({values},0)" for values, _ in blocks) or "0"
        self.page.down(rows, self.columns.failed, count, "plan_formula", "0")
        more = f'IF({number}>1," and "&({number}-1)&" more","")'
        self.page.down(rows, self.last_column, f'IF({number}=0,"",{first_label}&{more})', "plan_verdict", "@")

    def _colour(self, rows: range) -> None:
        """A row of a plan that fails a check is red; what a chip is to hold stands out where it is more than it has."""
        held, room = self.sweep.playing("held"), self.sweep.playing("capacity")
        if held and room and {held[0], room[0]} <= self.shown.keys():
            column = self.shown[held[0]]
            over = f"{address(rows.start, column)}>${address(rows.start, self.shown[room[0]])}"
            area = f"{address(rows.start, column)}:{address(rows.stop - 1, column)}"
            self.page.colour(area, over, ink=RED, fill=PALE_RED)
        area = f"{address(rows.start, self.words.start)}:{address(rows.stop - 1, self.last_column)}"
        self.page.colour(area, f"${column_letters(self.columns.failed)}{rows.start}>0", ink=RED)


def axis_key(sweep: Sweep, axis: Axis) -> str:
    """What tells an axis from those of all sweeps."""
    return f"{sweep.template.name}.{axis.row.name}"


def _here(column: int) -> str:
    """The cell of a case in a column: its row is each case's own."""
    return f"{column_letters(column)}{HERE}"


def swept(axis: Row, scenarios: Sequence[Mapping[str, object]]) -> list[int]:
    """The first values of a table: powers of two about the first scenario's; of chips about those of all.

    A number that no input may be counts for none.
    """
    typed = [values.get(axis.name, axis.default) for values in scenarios]
    numbers = [float(value) for value in typed if isinstance(value, (int, float)) and 0 < value <= LARGEST] or [1.0]
    if axis.unit == "chip":
        least, most = (round(math.log2(number)) for number in (min(numbers), max(numbers)))
        return [2**power for power in range(max(0, least - BEYOND), most + BEYOND + 1)]
    middle = round(math.log2(numbers[0]))
    first = max(0, middle - FEWEST // 2)
    return [2**power for power in range(first, first + FEWEST)]

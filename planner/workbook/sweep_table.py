"""One table of the Sweep sheet: a case in each row, a quantity in each column.

From left to right it has the axes, the working, the parts of each constraint with what binds, the checks, what is
shown, and the chart data. The working and the chart data are closed groups.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from planner.formulas.binding import Constraint, constraint
from planner.formulas.input_values import LARGEST
from planner.formulas.sweeps import Axis, Sweep
from planner.formulas.template import CALCULATED, Row
from planner.formulas.text import parse
from planner.number_text import within
from planner.workbook.cell_styles import PALE_RED, RATIO, RED, number_format, row_format
from planner.workbook.chosen_scenario import ALWAYS, VALUE, ChosenScenario
from planner.workbook.constraints_sheet import Ranking
from planner.workbook.display_units import shown_format
from planner.workbook.inputs_sheet import at_least_0
from planner.workbook.layout import in_row
from planner.workbook.page import titled
from planner.workbook.workloads import ALL_WORKLOADS, WORKLOAD
from planner.xlsx.address import address, column_letters
from planner.xlsx.grid import HERE

FEWEST, BEYOND = 11, 2  # fewest cases of a table; doublings of chips below and above the scenarios'
WHOLES = {"memory": "held", "time": "total", "total": "total", "limit": "total"}  # the whole of each role in charts
HELD_AGAINST = {"held": "capacity"}  # the limit of a whole; by default the scenario's own
FAILED = "failed_checks"
DRAWN = (*WHOLES, *HELD_AGAINST.values())
MARKED = ("latency", "throughput")  # roles for which a chart marks the scenario's own value
TEXTS = (".words", ".binds", ".times")  # suffixes of the names of text columns
RANKED = ("best", "binds", "next", "margin", "times")  # the ranking of the competing parts


class SweepColumns:
    """The column of each quantity: the axes, the working, and the parts of each constraint."""

    def __init__(self, sweep: Sweep, axis: Axis) -> None:
        others = [each for each in sweep.axes if each is not axis]
        self.axes = [axis.row.name, *(each.row.name for each in others)]
        moved = {name for each in sweep.axes for name in sweep.depends(each)} - set(self.axes)
        follows = [name for each in sweep.axes for name in each.follows]
        self.ratio = len(self.axes) + 1
        self.first = max(VALUE + 2, self.ratio + 1)  # right of the block's texts
        moved -= {*follows, *sweep.checks}
        self.working = [*follows, *(name for name in sweep.in_order if name in moved)]
        fixed = [name for name in sweep.used if name not in moved and name not in self.axes]
        self.working += [name for name in fixed if name not in self.working]
        self.places = {name: column for column, name in enumerate(self.axes, start=1)}
        self.places |= {name: column for column, name in enumerate(self.working, start=self.first)}
        self.bounds: list[tuple[Constraint, int]] = []
        self.end = max(self.places.values()) + 1
        for name in sweep.bounds:
            if found := constraint(sweep.rows[name], sweep.rows):
                self.bounds.append((found, self.end))
                self.end += len(found.parts) + len(RANKED)
        self.checks = {name: column for column, name in enumerate(sweep.checks, start=self.end)}
        self.places |= self.checks
        self.failed = self.end + len(self.checks)  # the column with the number of failed checks
        self.end = self.failed + 1


class SweepTable:
    """A table whose two rows of titles begin in row `at`, with its cases below; `write` puts it on the sheet.

    `shown` and `drawn` are the columns of shown quantities and of chart data, which is N/A in some rows; `own` are
    those of the scenario's own numbers, and `labels` are above columns, in the first row of titles.
    """

    def __init__(
        self, sweep: Sweep, axis: Axis, scenario: ChosenScenario, right: int, drawn_from: int, at: int
    ) -> None:
        self.page, self.plan = scenario.page, scenario.plan
        self.sweep, self.axis, self.scenario = sweep, axis, scenario
        self.columns = SweepColumns(sweep, axis)
        self.moved = sweep.depends(axis)
        self.looked_up = set(scenario.names(sweep))
        first = right + len(self.columns.bounds)
        self.words = range(right, first)
        self.shown = {name: column for column, name in enumerate(sweep.shown, start=first)}
        self.last_column = first + len(sweep.shown)  # the column with the names of failed checks
        drawn_names = dict.fromkeys(name for part in DRAWN for name in sweep.playing(part))
        wholes = [whole for whole in dict.fromkeys(WHOLES.values()) if sweep.playing(whole)]
        self.reach = {whole: column for column, whole in enumerate(wholes, start=drawn_from)}
        drawn_from += len(wholes)
        self.drawn = {name: column for column, name in enumerate(drawn_names, start=drawn_from)}
        marked = [name for part in MARKED for name in sweep.playing(part)[:1]]
        self.own = {name: column for column, name in enumerate(marked, start=drawn_from + len(drawn_names))}
        self.labels: dict[int, str] = {}
        self.cases = self._first_cases()
        self.titles, self.rows = at, range(at + 2, at + 2 + len(self.cases))

    @property
    def places(self) -> dict[str, int]:
        """The column of each quantity; for one with chart data, that of the chart data."""
        return {**self.columns.places, **self.shown, **self.drawn}

    def _first_cases(self) -> Sequence[float]:
        """The axis values of a new table: those of the plan, else values around the scenarios' own."""
        workload = self.sweep.template.name
        typed = [each.values for each in (*self.plan.scenarios, *self.plan.coming)]
        typed = [values for values in typed if values.get(WORKLOAD) in (workload, ALL_WORKLOADS)] or typed
        return self.plan.axes.get(axis_key(self.sweep, self.axis)) or swept(self.axis.row, typed)

    def write(self) -> None:
        """Write the titles and the cases, and make the axis values inputs."""
        rows, own = self.rows, self.axis.row
        self._titles()
        for row, value in zip(rows, self.cases, strict=True):
            self.page.put(row, 1, value, "plan_input", number_format(own.unit))
        self._cases()
        prompt = "A case of the table; the values are yours."
        rule = {"type": "decimal", "operator": at_least_0(own), "formula1": "0"}
        area = f"A{rows.start}:A{rows.stop - 1}"
        self.page.validate(area, titled(own), prompt, f"A number of {own.unit}.", **rule)
        self._colour()
        if self.drawn:
            drawn = *self.reach.values(), *self.drawn.values()
            first, last = column_letters(min(drawn)), column_letters(max(drawn))
            self.page.grey_missing(f"{first}{rows.start}:{last}{rows.stop - 1}")
        self.page.swept[axis_key(self.sweep, self.axis)] = [float(value) for value in self.cases]

    def _titles(self) -> None:
        """Write labels with units, and machine names below; a part's label is without unit, for use in texts."""
        titles = [(column, name, name) for name, column in self.columns.places.items()]
        titles += [(column, name, f"chart.{name}") for name, column in self.drawn.items()]
        for whole, column in self.reach.items():
            label = self.sweep.rows[self.sweep.playing(whole)[0]].label
            self._title(column, f"{label}: drawn (1)", f"drawn.{whole}")
        for name, column in self.own.items():
            row = self.sweep.rows[name]
            self._title(column, f"The scenario: {within(row.label)} ({row.said_in})", f"scenario.{name}")
        self._title(self.columns.ratio, "Over the scenario's (1)", f"{self.axis.row.name}.ratio")
        for column, name, title in titles:
            row = self.sweep.rows[name]
            self._title(column, f"{row.label} ({row.unit})", title)
        for name, column in self.shown.items():
            row = self.sweep.rows[name]
            self._title(column, row.label if row.said_in == "1" else f"{row.label} ({row.said_in})", name)
        for index, (each, first) in enumerate(self.columns.bounds):
            for column, part in enumerate(each.parts, start=first):
                self._title(column, part.label, f"{each.row.name}.{part.name}")
            for column, name in enumerate(RANKED, start=first + len(each.parts)):
                self._title(column, f"{each.row.label}: {name}", f"{each.row.name}.{name}")
            self._title(self.words[index], f"{each.row.label}: bound by", f"{each.row.name}.words")
        for name, column in self.columns.checks.items():
            self._title(column, self.sweep.rows[name].label, name)
        self._title(self.columns.failed, "Checks that fail (1)", f"{FAILED}.count")
        self._title(self.last_column, "Checks that fail", f"{FAILED}.words")

    def _title(self, column: int, label: str, name: str) -> None:
        self.page.heads(self.titles, column, label, name, right=not name.endswith(TEXTS))
        self.labels[column] = label

    def _cases(self) -> None:
        """Write every case's formulas: each is one formula, copied downward."""
        down, rows = self.page.down, self.rows
        for name, column in self.columns.places.items():
            if self._calculates(name):
                down(rows, column, self._formula(name), "plan_formula", self._form(name))
            elif 1 < column <= len(self.columns.axes) or name in self.columns.checks:
                down(rows, column, self.scenario(self.sweep, name), "plan_formula", self._form(name))
        ratio = f"{_here(1)}/{self.scenario(self.sweep, self.axis.row.name)}"
        down(rows, self.columns.ratio, ratio, "plan_formula", RATIO)
        for index, (each, first) in enumerate(self.columns.bounds):
            self._bound(each, first, self.words[index])
        self._failing()
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
        """The scenario's own value of a quantity as shown; one of the sweep's own rows is calculated from it."""
        row = self.sweep.rows[name]
        if name in self.looked_up:
            return self.scenario(self.sweep, name) + self.scenario.over(row)
        own, over = row.expression.substitute(lambda read: self.scenario(self.sweep, read)), self.scenario.over(row)
        return f"({own}){over}" if over else own

    def _within_reach(self, whole: str) -> str:
        """The factor by which the parts of a whole are multiplied for drawing in the display unit.

        It is N/A if the whole is far beyond its limit, since the rest of the chart would be invisible, and if the
        scenario isn't meant for the workload.
        """
        name, rooms = self.sweep.playing(whole)[0], self.sweep.playing(HELD_AGAINST.get(whole, ""))
        most = self._reference(rooms[0]) if rooms else self.scenario(self.sweep, name)
        drawn = f"{self.scenario.meant(self.sweep.template)}{self.scenario.over(self.sweep.rows[name])}"
        return f"IF({self._reference(name)}<={self.scenario.constant('drawn_within')}*{most},{drawn},NA())"

    def _drawn(self, name: str) -> str:
        """The chart data of a quantity, in the display unit of its whole."""
        row = self.sweep.rows[name]
        whole = next((WHOLES[part] for part in WHOLES if name in self.sweep.playing(part)), "")
        own = self._reference(name)
        if whole in self.reach:
            return f"{own}*{_here(self.reach[whole])}"
        meant, over = self.scenario.meant(self.sweep.template), self.scenario.over(row)
        return f"{own}{over}" if meant == ALWAYS else f"{own}*{meant}{over}"

    def _form(self, name: str) -> str:
        return row_format(self.sweep.rows[name])

    def _formula(self, name: str) -> str:
        """The row's formula, or the one by which an input follows the axis; the scenario's override replaces it."""
        if name in self.axis.follows:
            return self.axis.follows[name].substitute(self._reference)
        own = self.sweep.rows[name]
        assert own.kind in CALCULATED, f"{name} changes along {self.axis.row.name}, and is no calculated row"
        return self.scenario.overridden(name, own.expression.substitute(self._reference))

    def _calculates(self, name: str) -> bool:
        """Whether the table has its own formula for a row; rows that its axis doesn't change are the scenario's."""
        return name in self.moved or name not in self.sweep.template.by_name

    def _reference(self, name: str) -> str:
        """The reference to a row: the case's own, or the scenario's if the axis doesn't change it."""
        place = self.columns.places.get(name)
        is_here = place and (place <= len(self.columns.axes) or self._calculates(name))
        return _here(place) if place and is_here else self.scenario(self.sweep, name)

    def _bound(self, each: Constraint, first: int, words: int) -> None:
        """Write the competing parts of a row, what binds, the next, the margin; and further right these as text."""
        form, last = row_format(each.row), first + len(each.parts) - 1
        down, rows = self.page.down, self.rows
        for column, part in enumerate(each.parts, start=first):
            down(rows, column, parse(part.text).substitute(self._reference), "plan_formula", form)
        ranking = Ranking(
            [_here(column) for column in range(first, last + 1)],
            f"${column_letters(first)}${self.titles}:${column_letters(last)}${self.titles}",
            each.function,
            self.scenario.constant("far_margin"),
            self.scenario.constant("large_margin"),
            is_row=True,
        )
        *formulas, in_words = ranking.formulas(*(_here(last + step) for step in range(1, len(RANKED) + 1)))
        looks = (
            ("plan_formula", form),
            ("plan_formula", "@"),
            ("plan_formula", form),
            ("plan_formula", RATIO),
            ("plan_verdict", "@"),
        )
        for column, (formula, look) in enumerate(zip(formulas, looks, strict=True), start=last + 1):
            down(rows, column, formula, *look)
        down(rows, words, in_words, "plan_verdict", "@")

    def _failing(self) -> None:
        """Write the number of failed checks, and the name of the first; those that change along an axis come first."""
        blocks = []
        if checks := self.columns.checks.values():
            first, last = column_letters(min(checks)), column_letters(max(checks))
            values, labels = f"{first}{HERE}:{last}{HERE}", f"${first}${self.titles}:${last}${self.titles}"
            blocks.append((values, in_row(labels, f"MATCH(0,{values},0)")))
        if values := self.scenario.fixed_checks(self.sweep, VALUE):
            labels = self.scenario.fixed_checks(self.sweep, 1)
            blocks.append((values, f"INDEX({labels},MATCH(0,{values},0))"))
        number, (*others, label) = _here(self.columns.failed), [label for _, label in blocks] or ['""']
        first_label = f"IFERROR({others[0]},{label})" if others else label
        count = "+".join(f"COUNTIF({values},0)" for values, _ in blocks) or "0"
        self.page.down(self.rows, self.columns.failed, count, "plan_formula", "0")
        more = f'IF({number}>1," and "&({number}-1)&" more","")'
        self.page.down(self.rows, self.last_column, f'IF({number}=0,"",{first_label}&{more})', "plan_verdict", "@")

    def _colour(self) -> None:
        """Mark rows of plans that fail a check in red, and memory needs beyond the capacity.

        A table that the scenario isn't meant for is pale instead.
        """
        rows, meant = self.rows, self.scenario.meant(self.sweep.template)
        first, last = self.words.start, self.last_column
        area = f"{address(rows.start, first)}:{address(rows.stop - 1, last)}"
        self.scenario.set_back(self.sweep.template, self.titles - 1, self.words.stop, area)

        def only_meant(condition: str) -> str:
            return condition if meant == ALWAYS else f"AND(${meant}=1,{condition})"

        needed, room = self.sweep.playing("held"), self.sweep.playing("capacity")
        if needed and room and {needed[0], room[0]} <= self.shown.keys():
            column = self.shown[needed[0]]
            over = f"{address(rows.start, column)}>${address(rows.start, self.shown[room[0]])}"
            held = f"{address(rows.start, column)}:{address(rows.stop - 1, column)}"
            self.page.colour(held, only_meant(over), ink=RED, fill=PALE_RED)
        self.page.colour(area, only_meant(f"${column_letters(self.columns.failed)}{rows.start}>0"), ink=RED)


def axis_key(sweep: Sweep, axis: Axis) -> str:
    """The key of an axis among all sweeps."""
    return f"{sweep.template.name}.{axis.row.name}"


def _here(column: int) -> str:
    """The reference to a case's cell in a column, with HERE for its row."""
    return f"{column_letters(column)}{HERE}"


def swept(axis: Row, scenarios: Sequence[Mapping[str, object]]) -> list[int]:
    """The axis values of a new table: powers of two around the first scenario's number; for chips, around all of them.

    Impossible numbers are ignored.
    """
    typed = [values.get(axis.name, axis.default) for values in scenarios]
    numbers = [float(value) for value in typed if isinstance(value, (int, float)) and 0 < value <= LARGEST] or [1.0]
    if axis.unit == "chip":
        least, most = (round(math.log2(number)) for number in (min(numbers), max(numbers)))
        return [2**power for power in range(max(0, least - BEYOND), most + BEYOND + 1)]
    middle = round(math.log2(numbers[0]))
    first = max(0, middle - FEWEST // 2)
    return [2**power for power in range(first, first + FEWEST)]

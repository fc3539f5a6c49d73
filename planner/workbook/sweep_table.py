"""One table of Sweep: a case for each row, the working in a closed group, and right of it what it shows and draws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.formulas.binding import Constraint, constraint
from planner.formulas.sweeps import Axis, Sweep
from planner.formulas.template import CALCULATED, Row
from planner.formulas.text import parse
from planner.workbook.cell_styles import RATIO, number_format, row_format
from planner.workbook.chosen_scenario import VALUE, ChosenScenario
from planner.workbook.formula_texts import Ranking, calculated
from planner.workbook.inputs_sheet import at_least_0
from planner.workbook.layout import within
from planner.workbook.page import GREY, PALE_RED, RED, titled
from planner.xlsx.address import address, column_letters
from planner.xlsx.grid import HERE

FEWEST = 11  # cases of a table
DRAWN = ("memory", "time", "total", "limit")  # these have open columns of their own: a chart draws no hidden cells
MARKED = ("latency", "throughput")  # of which a chart marks the scenario's own
TEXTS = ("scenario", ".words", ".binds")  # how the names of columns of texts end
DRAWN_WITHIN = 4  # of a chip's memory, or the scenario's step: bars beyond would leave nothing to be seen of the rest


@dataclass(frozen=True)
class SweepTable:
    """One table: its rows of cases, the column of each quantity that it shows or draws, and of the scenario's own."""

    sweep: Sweep
    axis: Axis
    rows: range
    columns: Mapping[str, int]
    own: Mapping[str, int]
    shown: Mapping[str, int]  # of what it shows, in every row; what it draws is N/A in some
    titles: Mapping[int, tuple[str, str]]  # the label and the machine name above each column, in two rows


class SweepColumns:
    """Which quantity stands in which column: the axes, the working, and the parts of each constraint."""

    def __init__(self, sweep: Sweep, axis: Axis) -> None:
        others = [each for each in sweep.axes if each is not axis]
        self.axes = [axis.row.name, *(each.row.name for each in others)]
        moved = {name for each in sweep.axes for name in sweep.depends(each)} - set(self.axes)
        follows = [name for each in sweep.axes for name in each.follows]
        self.beside = {"scenario": len(self.axes) + 1, "ratio": len(self.axes) + 2}
        self.first = max(VALUE + 2, len(self.axes) + 3)  # the block's texts stand left of the working, and stay open
        self.working = [*follows, *(name for name in sweep.in_order if name in moved and name not in follows)]
        fixed = [name for name in sweep.used if name not in moved and name not in self.axes]
        self.working += [name for name in fixed if name not in self.working]
        self.places = {name: column for column, name in enumerate(self.axes, start=1)}
        self.places |= {name: column for column, name in enumerate(self.working, start=self.first)}
        self.bounds: list[tuple[Constraint, int]] = []
        self.end = max(self.places.values()) + 1
        for name in sweep.bounds:
            if found := constraint(sweep.rows[name], sweep.rows):
                self.bounds.append((found, self.end))
                self.end += len(found.parts) + 3


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
        self.last_column = first + len(sweep.shown) - 1
        beside = dict.fromkeys(name for part in DRAWN for name in sweep.playing(part))
        self.drawn = {name: column for column, name in enumerate(beside, start=drawn_from)}
        marked = [name for part in MARKED for name in sweep.playing(part)[:1]]
        self.own = {name: column for column, name in enumerate(marked, start=drawn_from + len(beside))}
        self.titles: dict[int, tuple[str, str]] = {}

    def write(self, at: int) -> SweepTable:
        """Write the table with its titles in rows `at` and `at + 1`."""
        self._titles(at)
        typed = [scenario.values for scenario in self.plan.scenarios]
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
            drawn = self.drawn.values()
            first, last = column_letters(min(drawn)), column_letters(max(drawn))
            area = f"{first}{rows.start}:{last}{rows.stop - 1}"
            self.page.colour(area, f"ISNA({first}{rows.start})", ink=GREY)
        self.page.swept[axis_key(self.sweep, self.axis)] = [float(value) for value in cases]
        return SweepTable(
            self.sweep, self.axis, rows, {**self.columns.places, **self.shown, **self.drawn}, self.own, self.shown,
            self.titles,
        )  # fmt: skip

    def _titles(self, at: int) -> None:
        """Labels with units above, machine names below; a part's label stands alone, for the words to call it up."""
        titles = [(column, self.sweep.rows[name], name) for name, column in self.columns.places.items()]
        titles += [(column, self.sweep.rows[name], name) for name, column in self.shown.items()]
        titles += [(column, self.sweep.rows[name], f"chart.{name}") for name, column in self.drawn.items()]
        for name, column in self.own.items():
            row = self.sweep.rows[name]
            self._title(column, at, f"The scenario: {within(row.label)} ({row.unit})", f"scenario.{name}")
        self._title(self.columns.beside["scenario"], at, "Scenario", "scenario")
        self._title(self.columns.beside["ratio"], at, "Over the scenario's (1)", f"{self.axis.row.name}.ratio")
        for column, row, name in titles:
            self._title(column, at, f"{row.label} ({row.unit})", name)
        for index, (each, first) in enumerate(self.columns.bounds):
            for column, part in enumerate(each.parts, start=first):
                self._title(column, at, part.label, f"{each.row.name}.{part.name}")
            names = ("binds", "next", "margin")
            for column, name in enumerate(names, start=first + len(each.parts)):
                self._title(column, at, f"{each.row.label}: {name}", f"{each.row.name}.{name}")
            self._title(self.words[index], at, f"{each.row.label}: bound by", f"{each.row.name}.words")

    def _title(self, column: int, at: int, label: str, name: str) -> None:
        side = "" if name.endswith(TEXTS) else "_right"
        self.page.put(at, column, label, f"plan_note{side}")
        self.page.put(at + 1, column, name, f"plan_column{side}")
        self.titles[column] = (label, name)

    def _cases(self, rows: range, titles: int) -> None:
        """Every case's formulas: each is one, copied downward."""
        down = self.page.down
        for name, column in self.columns.places.items():
            if self._calculates(name):
                down(rows, column, self._formula(name), "plan_formula", self._form(name))
            elif 1 < column <= len(self.columns.axes):
                down(rows, column, self.scenario(self.sweep, name), "plan_formula", self._form(name))
        ratio = f"{_here(1)}/{self.scenario(self.sweep, self.axis.row.name)}"
        down(rows, self.columns.beside["scenario"], self.scenario.chosen, "plan_verdict", "@")
        down(rows, self.columns.beside["ratio"], ratio, "plan_formula", RATIO)
        for index, (each, first) in enumerate(self.columns.bounds):
            self._bound(each, first, self.words[index], rows, titles)
        for name, column in self.shown.items():
            down(rows, column, self._reference(name), "plan_output", self._form(name))
        for name, column in self.drawn.items():
            down(rows, column, self._drawn(name), "plan_formula", self._form(name))
        for name, column in self.own.items():
            down(rows, column, self._own(name), "plan_formula", self._form(name))

    def _own(self, name: str) -> str:
        """What a quantity is in the scenario itself; one of the sweep's own is calculated from what is."""
        if name in self.looked_up:
            return self.scenario(self.sweep, name)
        return calculated(self.sweep.rows[name], lambda read: self.scenario(self.sweep, read))

    def _drawn(self, name: str) -> str:
        """What a chart draws of a quantity: a bar only where the whole is within reach of what it is held against."""
        own = self._reference(name)
        parts = (("memory", "held", "capacity"), *((part, "total", "") for part in ("time", "total", "limit")))
        for part, whole, limit in parts:
            wholes = self.sweep.playing(whole)
            if name in self.sweep.playing(part) and wholes:
                rooms = self.sweep.playing(limit) if limit else []
                most = self._reference(rooms[0]) if rooms else self.scenario(self.sweep, wholes[0])
                return f"IF({self._reference(wholes[0])}<={DRAWN_WITHIN}*{most},{own},NA())"
        return own

    def _form(self, name: str) -> str:
        return row_format(self.sweep.rows[name])

    def _formula(self, name: str) -> str:
        """The row's own text, or what binds a following input to its axis; an override of the scenario goes before."""
        if name in self.axis.follows:
            return self.axis.follows[name].substitute(self._reference)
        own = self.sweep.rows[name]
        assert own.kind in CALCULATED, f"{name} changes along {self.axis.row.name}, and is no calculated row"
        return self.scenario.overridden(name, calculated(own, self._reference))

    def _calculates(self, name: str) -> bool:
        """Whether the table has a formula of its own for a row: all that its axis doesn't move is the scenario's."""
        return name in self.moved or not (name == self.axis.row.name or name in self.looked_up)

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
        ranking = Ranking(
            [_here(column) for column in range(first, last + 1)], f"{_here(first)}:{_here(last)}",
            f"${column_letters(first)}${titles}:${column_letters(last)}${titles}", each.function, is_row=True,
        )  # fmt: skip
        binding, following, margin = (_here(last + step) for step in (1, 2, 3))
        down(rows, last + 1, ranking.binding, "plan_formula", "@")
        down(rows, last + 2, ranking.following, "plan_formula", form)
        down(rows, last + 3, ranking.margin(following), "plan_formula", RATIO)
        down(rows, words, ranking.words(binding, following, margin), "plan_verdict", "@")

    def _colour(self, rows: range) -> None:
        """What a chip is to hold stands out in red where it is more than the chip has."""
        held, room = self.sweep.playing("held"), self.sweep.playing("capacity")
        if held and room and {held[0], room[0]} <= self.shown.keys():
            column = self.shown[held[0]]
            over = f"{address(rows.start, column)}>${address(rows.start, self.shown[room[0]])}"
            area = f"{address(rows.start, column)}:{address(rows.stop - 1, column)}"
            self.page.colour(area, over, ink=RED, fill=PALE_RED)


def axis_key(sweep: Sweep, axis: Axis) -> str:
    """What tells an axis from those of all sweeps."""
    return f"{sweep.template.name}.{axis.row.name}"


def _here(column: int) -> str:
    """The cell of a case in a column: its row is each case's own."""
    return f"{column_letters(column)}{HERE}"


def swept(axis: Row, scenarios: Sequence[Mapping[str, object]]) -> list[int]:
    """The first values of a table: powers of two about the first scenario's; chips from 1 past the most of all."""
    typed = [values.get(axis.name, axis.default) for values in scenarios]
    numbers = [float(value) for value in typed if isinstance(value, (int, float)) and value > 0] or [1.0]
    if axis.unit == "chip":
        count = max(FEWEST, math.ceil(math.log2(max(numbers))) + 3)
        return [2**power for power in range(count)]
    middle = round(math.log2(numbers[0]))
    first = max(0, middle - FEWEST // 2)
    return [2**power for power in range(first, first + FEWEST)]

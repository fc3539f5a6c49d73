"""The lines of Dashboard: the headlines of each template in display units, with details in closed rows.

A headline has two open lines: the expected number, and its range with the bound as text. Between them are closed rows:
the ends of the range, the bound, and what binds. A cell is the calculation sheet's number divided by a unit factor,
whose cell at the top reads Inputs: `=Inference!F340/$D$8`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from planner.formulas.headlines import OF_ANY_RUNS, RANGE, Headline, MemoryFit, Part, fit, headlines
from planner.formulas.template import Row
from planner.formulas.text import parse
from planner.number_text import within
from planner.terminal_table import joined
from planner.workbook import layout
from planner.workbook.build_plan import BuildPlan
from planner.workbook.calculation import CalculationSheet
from planner.workbook.cell_styles import PALE_GREY, RED, number_format
from planner.workbook.constraints_sheet import Constraints
from planner.workbook.dashboard_units import Units
from planner.workbook.display_units import shown_format
from planner.workbook.page import Page
from planner.workbook.workloads import ALL_WORKLOADS
from planner.workbook.wrapping import LINE_HEIGHT
from planner.xlsx.address import address, column_letters
from planner.xlsx.grid import HERE

RANGE_NOTES = {RANGE[0]: "10 % of runs are below", RANGE[1]: "10 % of runs are above", "": "its bound"}
RECORDED = ("s", "1/s", "1")  # the units of recorded numbers
RUN_LINES = 8  # for a workload's latest run, plus two for each headline that it may be about
ASIDE = ("plan_aside", "plan_aside_words")  # of a range in words, and of one with what is asked, which wraps
UNSEEN = ";;;"  # a format that hides the unit of a text
Read = tuple[CalculationSheet, str]  # a row that a line reads: its sheet and its name


@dataclass
class Lines:
    """The rows of one calculation sheet's lines on Dashboard; 0 means that there is none."""

    sheet: CalculationSheet
    first: int
    last: int = 0
    rows: dict[str, int] = field(default_factory=dict)  # of numbers, by row name
    digits: dict[str, int] = field(default_factory=dict)  # rows of decimals; a text is below each
    parts: range = range(0)  # of the first time with parts
    runs: range = range(0)  # reserved for recorded runs (`own_runs`)
    memory: MemoryFit | None = None  # the template's rows about memory
    fits: int = 0  # 1 or 0
    room: int = 0  # the memory available
    binds: int = 0  # what binds first, as text
    change: int = 0  # what to change, as text
    basis: int = 0  # whether fitted runs are like the plan, as text
    cost: int = 0  # the cost for charts; its bound is below
    cheapest: int = 0  # whether it is the cheapest, as text
    leads: list[Headline[Row]] = field(default_factory=list)

    @property
    def template(self) -> str:
        """The name of its template."""
        return self.sheet.template.name

    @property
    def whole(self) -> Headline[Row] | None:
        """The first headline with parts that have lines; None if there is none."""
        return next((each for each in self.leads if each.parts), None) if self.parts else None


@dataclass
class LineWriter:
    """Writes the lines of Dashboard from top to bottom."""

    page: Page
    plan: BuildPlan
    units: Units
    constraints: Constraints | None
    used: Collection[str]  # the templates whose sections are open, with ranges as text
    at: int  # the next free row
    meant: int = 0  # the row of a scenario's workload; 0 for none
    labels: set[str] = field(default_factory=set)
    bounds: set[tuple[str, str]] = field(default_factory=set)  # by template and row: what binds them has a line
    headings: dict[str, int] = field(default_factory=dict)  # of workloads that can be chosen

    def write(self, sheet: CalculationSheet) -> Lines:
        """Write the section of a sheet."""
        checks = sheet.template.of_kind("check")
        proved = sheet.template.closure(row.name for row in checks)  # rows that a check recomputes differently
        lines = Lines(sheet, self.at, memory=fit(sheet.template), leads=headlines(sheet.template))
        self._heading(sheet)
        has_leaders = any(each.label for each in lines.leads)
        for each in lines.leads:
            start = self.at
            self._headline(lines, each, proved)
            if has_leaders and not each.label:
                self.close(range(start, self.at))
            if self._keeps_runs(lines) and (recorded := runs_of(lines.leads)) and each is recorded[0]:
                lines.runs = range(self.at, self.at + 2 * len(recorded) + RUN_LINES)
                self.at = lines.runs.stop
        for each in lines.leads:
            if not lines.parts and (parts := _parts(sheet, each)):
                self._parts(lines, each, parts)
        if lines.memory:
            self._fit(lines, lines.memory)
        lines.last = self.at - 1
        self._set_back(lines)
        return lines

    def _keeps_runs(self, lines: Lines) -> bool:
        """Whether runs can be recorded for a sheet's plan, and are shown below its expected numbers."""
        return bool(self.plan.comparison) and (lines.memory is not None or lines.template in self.used)

    def meant_for(self, sheet: CalculationSheet) -> str:
        """The condition that a scenario is meant for a sheet's workload; blank if there is no choice.

        The heading of the workload's section is blank for a scenario that is meant for it.
        """
        first = self.headings.get(sheet.template.name)
        return f'{HERE}{first}=""' if first else ""

    def _heading(self, sheet: CalculationSheet) -> None:
        """Write the heading of a section, which says for which scenarios the workload isn't meant."""
        self.page.section(self.at, sheet.template.name.capitalize())
        if self.meant and sheet.template in self.plan.workloads.templates:
            self.headings[sheet.template.name] = self.at
            mine, every = (f'{HERE}{self.meant}="{name}"' for name in (sheet.template.name, ALL_WORKLOADS))
            self.page.across(self.at, f'IF(OR({mine},{every}),"","not meant for it")', "plan_section", "@")
        self.at += 1

    def _set_back(self, lines: Lines) -> None:
        """Make numbers pale in the columns of scenarios that aren't meant for them."""
        if at := self.headings.get(lines.template):
            heading = f"{column_letters(layout.FIRST_SCENARIO)}${at}"
            self.page.colour(self.page.columns.area(at + 1, lines.last), f'{heading}<>""', ink=PALE_GREY)

    def guarded(self, sheet: CalculationSheet, formula: str, otherwise: str) -> str:
        """A formula that applies if a scenario is meant for the sheet's workload, else `otherwise`."""
        condition = self.meant_for(sheet)
        return f"IF({condition},{formula},{otherwise})" if condition else formula

    def describe(self, at: int, texts: Sequence[str]) -> None:
        """Write a line's description, with closed texts on a single line so that they don't increase its height."""
        self.page.describe(at, texts)
        for column, text in ((layout.NAME, texts[2]), (layout.SOURCE, texts[4])):
            self.page.put(at, column, text, "plan_beside")

    def texts(self, at: int, label: str, name: str, note: str, style: str) -> None:
        """Write the description of an open line of texts."""
        self.describe(at, (label, "text", name, "", note))
        self.page.put(at, layout.LABEL, label, style)
        self.page.put(at, layout.UNIT, "text", "plan_text", UNSEEN)

    def line(self, at: int, texts: Sequence[str], formula: str, style: str = "plan_formula", form: str = "@") -> None:
        """Write a line's description, and its formula for each scenario."""
        self.describe(at, texts)
        self.page.across(at, formula, style, form)

    def add(
        self, texts: Sequence[str], formula: str, style: str = "plan_words", form: str = "@", read: Read | None = None
    ) -> str:
        """Write the next line, closed, with a link to what it reads; returns its cell in a scenario's column."""
        at = self.at
        self.describe(at, texts)
        if read:
            linked(self.page, at, *read)
        self.page.across(at, formula, style, form)
        self.page.group_row(at)
        self.at += 1
        return f"{HERE}{at}"

    def heading(self, title: str) -> None:
        """Write the heading of a closed block in the next row, closed too."""
        self.page.section(self.at, title)
        self.page.group_row(self.at)
        self.at += 1

    def _headline(self, lines: Lines, each: Headline[Row], proved: set[str]) -> None:
        """Write the expected number, closed its range, bound and what binds, and all of it as text."""
        first = self.at
        for row in each.rows:
            self._number(lines, each, row, row.name in proved)
        self._bound(lines, each)  # below the bound, so that it is read as what binds that
        asked = self._asked(lines, each)
        if not each.has_range or not (lines.memory or lines.template in self.used):
            return
        name = each.row.name
        lines.digits[name] = self.at
        said = (f"{each.said}: digits", "1", f"{name}.digits", "", "of its range in words")
        decimals = self.units.digits(self.units.in_words(each.row, f"{HERE}{first}"))
        self.add(said, "0" if each.row.unit == "chip" else decimals, "plan_formula", "0")  # chips are whole
        self.close(range(first + 1, self.at))
        self.texts(self.at, f"{each.said}: {OF_ANY_RUNS}", f"{name}.said", "in words", "plan_aside_label")
        self.page.across(self.at, self._said(lines, each, first, asked), ASIDE[bool(asked)], "@")
        if asked:
            self.page.rows[self.at].height = 2 * LINE_HEIGHT
        self.at += 1

    def _asked(self, lines: Lines, each: Headline[Row]) -> int:
        """Write a line with the limit of a headline, which is red beyond it; returns the row, 0 for no limit."""
        row, first, at = each.target, lines.rows[each.row.name], self.at
        if row is None:
            return 0
        self._number(lines, each, row, is_proved=True)
        area = self.page.columns.area(first, first)
        number, target = (address(place, layout.FIRST_SCENARIO) for place in (first, at))
        self.page.colour(area, f"{number}>{target}", ink=RED, bold=True)
        return at

    def _said(self, lines: Lines, each: Headline[Row], first: int, asked: int) -> str:
        """The formula of `28.1 to 35.9; bound 20.7; asked 40.0`, for the lines of a headline from `first` on."""
        cells = (self.units.in_words(each.row, f"{HERE}{first + place}") for place in range(1, len(each.rows)))
        low, high, *bound = (f"FIXED({cell},{HERE}{lines.digits[each.row.name]})" for cell in cells)
        words = f'{low}&" to "&{high}' + "".join(f'&"; bound "&{cell}' for cell in bound)
        if asked and each.target:
            limit = self.units.in_words(each.target, f"{HERE}{asked}")
            words += f'&"; asked "&FIXED({limit},{self.units.digits(limit)})'
        return self.guarded(lines.sheet, f'IFERROR({words},"")', '""')

    def _number(self, lines: Lines, each: Headline[Row], row: Row, is_proved: bool) -> None:
        """Write a line with a number."""
        sheet, at = lines.sheet, self.at
        lines.rows[row.name] = at
        leads, has_range = row.name == each.row.name, len(each.rows) > 1
        end = next((end for end in RANGE if row.name.endswith(end)), "")
        texts = (row.note, row.source) if leads else ("what is asked for" if row is each.target else RANGE_NOTES[end],)
        source = joined("" if is_proved else layout.UNPROVED, *texts)
        label = self._label(sheet, each.said if leads else row.label)
        self.describe(at, (label, row.said_in, row.name, sheet.page.name, source))
        linked(self.page, at, sheet, row.name)
        if has_range:
            self.page.put(at, layout.LABEL, label, "plan_lead_label" if leads else "plan_told")
        style = "plan_lead" if has_range and leads else "plan_cross"
        self.page.across(at, sheet.here(row.name) + self.units.over(row), style, shown_format(row))
        self.at += 1

    def _label(self, sheet: CalculationSheet, label: str) -> str:
        """A label that no other line has."""
        mine = label if label not in self.labels else f"{sheet.page.name}: {label}"
        self.labels.add(mine)
        return mine

    def _bound(self, lines: Lines, each: Headline[Row]) -> None:
        """Write a closed line with what binds the bound, and the margin."""
        row, constraints, at = each.binds, self.constraints, self.at
        place = constraints.place(lines.sheet, row.name) if constraints and row else None
        if constraints is None or row is None or place is None or (bound := (lines.template, row.name)) in self.bounds:
            return
        self.bounds.add(bound)  # two headlines may have the same
        name = constraints.page.name
        said = (f"{row.label}: bound by", "text", "", f"{name} row {place}", "and how far the next is")
        self.add(said, f"{name}!{HERE}{place}")
        self.page.leads(at, name, place)
        self.page.rows[at].height = constraints.heights[place]
        lines.binds = lines.binds or at

    def _parts(self, lines: Lines, each: Headline[Row], parts: Sequence[Part]) -> None:
        """Write closed lines with each part's time in the step.

        Each is divided by a line above them, which is N/A for a scenario that isn't meant for the workload.
        """
        sheet, row = lines.sheet, each.row
        unit = self.units.over(row).removeprefix("/") or "1"
        said = (f"{each.said}: what its parts are divided by", row.unit, "", "", "N/A where it isn't meant")
        divisor = self.add(said, self.guarded(sheet, unit, "NA()"), "plan_formula", number_format(row.unit))
        lines.parts = range(self.at, self.at + len(parts))
        for part in parts:
            said = (f"{each.said}: {within(part.label)}", row.said_in, "", "", part.label)
            formula = f"{sheet.here(part.text)}/{divisor}"
            self.add(said, formula, "plan_cross", shown_format(row), (sheet, part.text))

    def _fit(self, lines: Lines, memory: MemoryFit) -> None:
        """Write closed lines that say whether the memory is enough, and how much there is."""
        sheet, needed, room = lines.sheet, lines.sheet.template.row(memory.needed), parse(memory.room.text)
        lines.fits, lines.room = self.at, self.at + 1
        said = (f"{sheet.page.name}: fits in memory", "1", "", "", "1 fits, 0 does not")
        self.add(said, sheet.here(memory.check), "plan_check", "0", (sheet, memory.check))
        over, text = self.units.over(needed), room.substitute(sheet.here)
        said = (f"{sheet.page.name}: {within(memory.room.label)}", needed.said_in, "", "", "")
        formula = f"({text}){over}" if over else text
        self.add(said, formula, "plan_cross", shown_format(needed), (sheet, room.names[0]))

    def close(self, rows: Sequence[int]) -> None:
        """Group rows, closed."""
        for row in rows:
            self.page.group_row(row)


def meant(cell: str, templates: Sequence[str], texts: Sequence[str]) -> str:
    """A formula for the text of the template named in `cell` (blank: no choice); the last is for all workloads."""
    chosen = texts[-1]
    for template, text in zip(templates[-2::-1], texts[-2::-1], strict=True):
        if cell and text != chosen:
            chosen = f'IF({cell}="{template}",{text},{chosen})'
    return chosen


def runs_of(leads: Sequence[Headline[Row]]) -> list[Headline[Row]]:
    """The headlines for which runs may be recorded: times, rates and shares with a range."""
    return [each for each in leads if each.label and each.has_range and each.row.unit in RECORDED]


def _parts(sheet: CalculationSheet, each: Headline[Row]) -> list[Part]:
    """The parts of a headline, if all of them are rows."""
    return list(each.parts) if all(part.text in sheet.template.by_name for part in each.parts) else []


def linked(page: Page, at: int, sheet: CalculationSheet, name: str) -> None:
    """Make a line's description of its source a link to the row with the number in SI units."""
    home = sheet.home(name)
    page.leads(at, home.page.name, home.rows[name])

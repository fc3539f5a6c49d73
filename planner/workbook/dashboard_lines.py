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
from planner.spoken import within
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


@dataclass
class Lines:
    """The rows of one calculation sheet's lines on Dashboard; 0 means that there is none."""

    sheet: CalculationSheet
    first: int
    last: int = 0
    rows: dict[str, int] = field(default_factory=dict)  # of numbers, by row name
    digits: dict[str, int] = field(
        default_factory=dict
    )  # the row with a headline's number of decimals; its text is below
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
    """Writes the lines of a sheet from a row on."""

    page: Page
    plan: BuildPlan
    units: Units
    constraints: Constraints | None
    meant: int  # the row of a scenario's workload; 0 for none
    used: Collection[str]  # the templates whose sections are open, with ranges as text
    labels: set[str] = field(default_factory=set)
    headings: dict[str, int] = field(default_factory=dict)  # of workloads that can be chosen

    def write(self, sheet: CalculationSheet, at: int) -> Lines:
        """Write the section of a sheet."""
        checks = sheet.template.of_kind("check")
        proved = sheet.template.closure(row.name for row in checks)  # rows that a check recomputes differently
        self._heading(sheet, at)
        lines = Lines(sheet, at, memory=fit(sheet.template), leads=headlines(sheet.template))
        at += 1
        has_leaders = any(each.label for each in lines.leads)
        for each in lines.leads:
            start, at = at, self._headline(lines, each, proved, at)
            if has_leaders and not each.label:
                self.close(range(start, at))
            if self._keeps_runs(lines) and (recorded := runs_of(lines.leads)) and each is recorded[0]:
                lines.runs = range(at, at + 2 * len(recorded) + RUN_LINES)
                at = lines.runs.stop
        for each in lines.leads:
            if not lines.parts and (parts := _parts(sheet, each)):
                at = self._parts(lines, each, parts, at)
        if lines.memory:
            at = self._fit(lines, lines.memory, at)
        lines.last = at - 1
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

    def _heading(self, sheet: CalculationSheet, at: int) -> None:
        """Write the heading of a section, which says for which scenarios the workload isn't meant."""
        self.page.section(at, sheet.template.name.capitalize())
        if self.meant and sheet.template in self.plan.workloads.templates:
            self.headings[sheet.template.name] = at
            mine, every = (f'{HERE}{self.meant}="{name}"' for name in (sheet.template.name, ALL_WORKLOADS))
            self.page.across(at, f'IF(OR({mine},{every}),"","not meant for it")', "plan_section", "@")

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

    def _headline(self, lines: Lines, each: Headline[Row], proved: set[str], at: int) -> int:
        """Write the expected number, closed its range, bound and what binds, all as text; returns the next free row."""
        sheet, first = lines.sheet, at
        for row in each.rows:
            lines.rows[row.name] = at
            self._number(sheet, each, row, at, row.name in proved)
            at += 1
        asked = self._asked(lines, each, at)
        at = self._bound(lines, each, at + bool(asked))
        if not each.has_range or not (lines.memory or sheet.template.name in self.used):
            return at
        name = each.row.name
        lines.digits[name] = at
        digits = self.units.digits(self.units.in_words(each.row, f"{HERE}{first}"))
        self.line(at, (f"{each.said}: digits", "1", f"{name}.digits", "", "of its range in words"), digits, form="0")
        self.close(range(first + 1, at + 1))
        self.texts(at + 1, f"{each.said}: {OF_ANY_RUNS}", f"{name}.said", "in words", "plan_aside_label")
        self.page.across(at + 1, self._said(lines, each, first, at, asked), ASIDE[bool(asked)], "@")
        if asked:
            self.page.rows[at + 1].height = 2 * LINE_HEIGHT
        return at + 2

    def _asked(self, lines: Lines, each: Headline[Row], at: int) -> int:
        """Write a line with the limit of a headline, which is red beyond it; returns the row, 0 for no limit."""
        row, first = each.target, lines.rows[each.row.name]
        if row is None:
            return 0
        lines.rows[row.name] = at
        self._number(lines.sheet, each, row, at, is_proved=True)
        area = self.page.columns.area(first, first)
        number, target = (address(place, layout.FIRST_SCENARIO) for place in (first, at))
        self.page.colour(area, f"{number}>{target}", ink=RED, bold=True)
        return at

    def _said(self, lines: Lines, each: Headline[Row], first: int, digits: int, asked: int) -> str:
        """The formula of `28.1 to 35.9; bound 20.7; asked 40.0`, for the lines of a headline from `first` on."""
        cells = (self.units.in_words(each.row, f"{HERE}{first + place}") for place in range(1, len(each.rows)))
        low, high, *bound = (f"FIXED({cell},{HERE}{digits})" for cell in cells)
        words = f'{low}&" to "&{high}' + "".join(f'&"; bound "&{cell}' for cell in bound)
        if asked and each.target:
            limit = self.units.in_words(each.target, f"{HERE}{asked}")
            words += f'&"; asked "&FIXED({limit},{self.units.digits(limit)})'
        return self.guarded(lines.sheet, f'IFERROR({words},"")', '""')

    def _number(self, sheet: CalculationSheet, each: Headline[Row], row: Row, at: int, is_proved: bool) -> None:
        """Write a line with a number."""
        leads, has_range = row.name == each.row.name, len(each.rows) > 1
        end = next((end for end in RANGE if row.name.endswith(end)), "")
        texts = (row.note, row.source) if leads else (RANGE_NOTES[end],)
        source = joined("" if is_proved else layout.UNPROVED, *texts)
        label = self._label(sheet, each.said if leads else row.label)
        self.describe(at, (label, row.said_in, row.name, sheet.page.name, source))
        linked(self.page, at, sheet, row.name)
        if has_range:
            self.page.put(at, layout.LABEL, label, "plan_lead_label" if leads else "plan_told")
        style = "plan_lead" if has_range and leads else "plan_cross"
        self.page.across(at, sheet.here(row.name) + self.units.over(row), style, shown_format(row))

    def _label(self, sheet: CalculationSheet, label: str) -> str:
        """A label that no other line has."""
        mine = label if label not in self.labels else f"{sheet.page.name}: {label}"
        self.labels.add(mine)
        return mine

    def _bound(self, lines: Lines, each: Headline[Row], at: int) -> int:
        """Write a closed line with what binds the bound, and the margin; returns the next free row."""
        row, constraints, sheet = each.binds, self.constraints, lines.sheet
        place = constraints.place(sheet, row.name) if constraints and row else None
        if constraints is None or row is None or place is None:
            return at
        name = constraints.page.name
        self.describe(at, (f"{row.label}: bound by", "text", "", f"{name} row {place}", "and how far the next is"))
        self.page.leads(at, name, place)
        self.page.across(at, f"{name}!{HERE}{place}", "plan_words", "@")
        self.page.rows[at].height = constraints.heights[place]
        self.close(range(at, at + 1))
        lines.binds = lines.binds or at
        return at + 1

    def _parts(self, lines: Lines, each: Headline[Row], parts: Sequence[Part], at: int) -> int:
        """Write closed lines with each part's time in the step; returns the next free row.

        Each is divided by a line above them, which is N/A for a scenario that isn't meant for the workload.
        """
        sheet, row = lines.sheet, each.row
        lines.parts = range(at + 1, at + 1 + len(parts))
        unit = self.units.over(row).removeprefix("/") or "1"
        said = (f"{each.said}: what its parts are divided by", row.unit, "", "", "N/A where it isn't meant")
        self.line(at, said, self.guarded(sheet, unit, "NA()"), form=number_format(row.unit))
        for place, part in zip(lines.parts, parts, strict=True):
            self.describe(place, (f"{each.said}: {within(part.label)}", row.said_in, "", "", part.label))
            linked(self.page, place, sheet, part.text)
            self.page.across(place, f"{sheet.here(part.text)}/{HERE}{at}", "plan_cross", shown_format(row))
        self.close(range(at, lines.parts.stop))
        return lines.parts.stop

    def _fit(self, lines: Lines, memory: MemoryFit, at: int) -> int:
        """Write closed lines that say whether the memory is enough, and how much there is."""
        sheet, needed = lines.sheet, lines.sheet.template.row(memory.needed)
        lines.fits, lines.room = at, at + 1
        self.describe(at, (f"{sheet.page.name}: fits in memory", "1", "", "", "1 fits, 0 does not"))
        linked(self.page, at, sheet, memory.check)
        self.page.across(at, sheet.here(memory.check), "plan_check", "0")
        self.describe(at + 1, (f"{sheet.page.name}: {within(memory.room.label)}", needed.said_in, "", "", ""))
        room = parse(memory.room.text)
        linked(self.page, at + 1, sheet, room.names[0])
        over = self.units.over(needed)
        text = room.substitute(sheet.here)
        self.page.across(at + 1, f"({text}){over}" if over else text, "plan_cross", shown_format(needed))
        self.close(range(at, at + 2))
        return at + 2

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

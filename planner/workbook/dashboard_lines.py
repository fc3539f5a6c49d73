"""The lines of Dashboard: what each template leads with, in the units that people say, with what explains it closed.

A headline is two open lines, the expected number and its range with the bound in words. Between them stand, closed,
the ends of the range, the bound and what binds it. What a cell shows is the calculation sheet's number over a factor
that has a cell of its own on Inputs: `=Inference!F340/Inputs!$D$95`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from planner.formulas.headlines import RANGE, Fit, Headline, Part, fit, headlines
from planner.formulas.template import Row
from planner.formulas.text import parse
from planner.spoken import PERCENT
from planner.table import joined
from planner.workbook import display_units, layout
from planner.workbook.build_plan import ALL_WORKLOADS, BuildPlan
from planner.workbook.calculation import Calculation
from planner.workbook.constraints_sheet import Constraints
from planner.workbook.display_units import shown_format
from planner.workbook.inputs_sheet import Inputs
from planner.workbook.layout import within
from planner.workbook.page import Page
from planner.xlsx.address import address
from planner.xlsx.grid import HERE

RANGE_NOTES = {RANGE[0]: "10 % of runs are below", RANGE[1]: "10 % of runs are above", "": "its bound"}
UNSEEN = ";;;"  # the format of the unit of a text, which a reader need not be told


class Units:
    """The cells on Inputs that Dashboard divides by."""

    def __init__(self, inputs: Inputs) -> None:
        self._constant = inputs.constant

    @property
    def ten(self) -> str:
        """The base of the logarithm that counts digits, where a headline has a range."""
        return self._constant("digit_base")

    def over(self, row: Row) -> str:
        """What follows a reference to a row's number: `/Inputs!$D$95`; blank where it is shown as it is."""
        return "".join(f"/{self._constant(each.name)}" for each in display_units.needed([row]))

    def in_words(self, row: Row, cell: str) -> str:
        """A line's number as it stands in a text: a share, which its format shows in percent, over its factor."""
        return f"{cell}/{self._constant(display_units.OF_A_SHARE.name)}" if row.display == PERCENT else cell


@dataclass
class Lines:
    """Where the lines of one calculation sheet stand: `rows` by machine name, and those of its first step's parts.

    `digits` are the rows that say how many digits a headline is told with; its range in words stands below each.

    `told` says how its memory fits, in the rows `fits` (1 or 0) and `room`; `binds` has the words of what binds first,
    `change` those of what to change, `cost` those that charts draw.
    """

    sheet: Calculation
    first: int
    last: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    digits: dict[str, int] = field(default_factory=dict)
    parts: range = range(0)
    told: Fit | None = None
    fits: int = 0
    room: int = 0
    binds: int = 0
    change: int = 0
    cost: int = 0
    leads: list[Headline[Row]] = field(default_factory=list)

    @property
    def template(self) -> str:
        """The name of its template."""
        return self.sheet.template.name

    @property
    def whole(self) -> Headline[Row] | None:
        """The first headline that is made of parts, each in a line; None where there is none."""
        return next((each for each in self.leads if each.parts), None) if self.parts else None


@dataclass
class LineWriter:
    """Writes the lines of a sheet from a row on; `meant` is the row of what a scenario is meant for, 0 for none."""

    page: Page
    plan: BuildPlan
    units: Units
    constraints: Constraints | None
    meant: int
    labels: set[str] = field(default_factory=set)

    def write(self, sheet: Calculation, at: int) -> Lines:
        """The section of a sheet."""
        checks = sheet.template.of_kind("check")
        proved = sheet.template.closure(row.name for row in checks)  # what a check computes another way
        self.page.section(at, sheet.template.name.capitalize(), self.plan.columns.last_filled)
        lines = Lines(sheet, at, told=fit(sheet.template), leads=headlines(sheet.template))
        at += 1
        has_leaders = any(each.label for each in lines.leads)
        for each in lines.leads:
            start, at = at, self._headline(lines, each, proved, at)
            if has_leaders and not each.label:
                self.close(range(start, at))
        for each in lines.leads:
            if not lines.parts and (parts := _parts(sheet, each)):
                lines.parts = range(at, at + len(parts))
                for row, part in zip(lines.parts, parts, strict=True):
                    self._part(sheet, each, part, row)
                at = lines.parts.stop
        if lines.told:
            at = self._fit(lines, lines.told, at)
        lines.last = at - 1
        return lines

    def meant_for(self, sheet: Calculation) -> str:
        """The condition that a scenario is meant for a sheet's workload; blank where there is nothing to choose."""
        if not self.meant or sheet.template not in self.plan.workloads.templates:
            return ""
        mine, every = (f'{HERE}${self.meant}="{name}"' for name in (sheet.template.name, ALL_WORKLOADS))
        return f"OR({mine},{every})"

    def guarded(self, sheet: Calculation, formula: str, otherwise: str) -> str:
        """A formula where a scenario is meant for the sheet's workload."""
        condition = self.meant_for(sheet)
        return f"IF({condition},{formula},{otherwise})" if condition else formula

    def describe(self, at: int, texts: Sequence[str]) -> None:
        """What a line is, on one line of text each: what stands in the closed columns makes no line higher."""
        self.page.describe(at, texts)
        for column, text in ((layout.NAME, texts[2]), (layout.SOURCE, texts[4])):
            self.page.put(at, column, text, "plan_beside")

    def texts(self, at: int, label: str, name: str, note: str, style: str) -> None:
        """What an open line of texts is."""
        self.describe(at, (label, "text", name, "", note))
        self.page.put(at, layout.LABEL, label, style)
        self.page.put(at, layout.UNIT, "text", "plan_text", UNSEEN)

    def across(self, at: int, formula: str, style: str, form: str) -> None:
        """One formula in the columns of all scenarios."""
        self.page.across(at, self.plan.columns, formula, style, form)

    def _headline(self, lines: Lines, each: Headline[Row], proved: set[str], at: int) -> int:
        """The expected number; closed its range, bound and what binds; and these in words. Returns the row below."""
        sheet, first = lines.sheet, at
        for row in each.rows:
            lines.rows[row.name] = at
            self._number(sheet, each, row, at, row.name in proved)
            at += 1
        at = self._bound(lines, each, at)
        if not each.has_range:
            return at
        digits = f"IFERROR(MAX(0,2-ROUNDDOWN(LOG({{0}},{self.units.ten}),0)+IF({{0}}<1,1,0)),0)"
        name = each.row.name
        lines.digits[name] = at
        self.describe(at, (f"{each.said}: digits", "1", f"{name}.digits", "", "of its range in words"))
        self.across(at, digits.format(self.units.in_words(each.row, f"{HERE}{first}")), "plan_formula", "0")
        self.close(range(first + 1, at + 1))
        self.texts(at + 1, f"{each.said}: 80 % of runs", f"{name}.said", "in words", "plan_aside_label")
        self.across(at + 1, self._said(lines, each, first, at), "plan_aside", "@")
        return at + 2

    def _said(self, lines: Lines, each: Headline[Row], first: int, digits: int) -> str:
        """`28.1 to 35.9; bound 20.7`, of the lines of a headline from `first` on."""
        cells = (self.units.in_words(each.row, f"{HERE}{first + place}") for place in range(1, len(each.rows)))
        low, high, *bound = (f"FIXED({cell},{HERE}{digits})" for cell in cells)
        words = f'{low}&" to "&{high}' + "".join(f'&"; bound "&{cell}' for cell in bound)
        return self.guarded(lines.sheet, f'IFERROR({words},"")', '""')

    def _number(self, sheet: Calculation, each: Headline[Row], row: Row, at: int, is_proved: bool) -> None:
        """A line of a number."""
        leads, has_range = row.name == each.row.name, len(each.rows) > 1
        texts = (row.note, row.source) if leads else (RANGE_NOTES[_end(row.name)],)
        source = joined("" if is_proved else layout.UNPROVED, *texts)
        label = self._label(sheet, each.said if leads else row.label)
        self.describe(at, (label, row.said_in, row.name, sheet.page.name, source))
        linked(self.page, at, sheet, row.name)
        if has_range:
            self.page.put(at, layout.LABEL, label, "plan_lead_label" if leads else "plan_told")
        style = "plan_lead" if has_range and leads else "plan_cross"
        self.across(at, sheet.here(row.name) + self.units.over(row), style, shown_format(row))

    def _label(self, sheet: Calculation, label: str) -> str:
        """A label that no other line has."""
        mine = label if label not in self.labels else f"{sheet.page.name}: {label}"
        self.labels.add(mine)
        return mine

    def _bound(self, lines: Lines, each: Headline[Row], at: int) -> int:
        """A closed line with what binds the bound and how far the next is, for each scenario; the row below it."""
        row, constraints, sheet = each.binds, self.constraints, lines.sheet
        place = constraints.place(sheet, row.name) if constraints and row else None
        if constraints is None or row is None or place is None:
            return at
        name = constraints.page.name
        self.describe(at, (f"{row.label}: bound by", "text", "", f"{name} row {place}", "and how far the next is"))
        self.page.put(at, layout.FORMULA, f"{name} row {place}", "plan_link")
        self.page.link(at, layout.FORMULA, name, address(place, layout.LABEL))
        self.across(at, f"{name}!{HERE}{place}", "plan_words", "@")
        self.page.sheet.row_dimensions[at].height = constraints.heights[place]
        self.close(range(at, at + 1))
        lines.binds = lines.binds or at
        return at + 1

    def _part(self, sheet: Calculation, each: Headline[Row], part: Part, at: int) -> None:
        """A closed line of what a part takes of the step, N/A where the scenario isn't meant for it."""
        row = sheet.template.row(part.text)
        self.describe(at, (f"{each.said}: {within(part.label)}", row.said_in, "", "", part.label))
        linked(self.page, at, sheet, row.name)
        formula = self.guarded(sheet, sheet.here(row.name) + self.units.over(row), "NA()")
        self.across(at, formula, "plan_cross", shown_format(row))
        self.close(range(at, at + 1))

    def _fit(self, lines: Lines, told: Fit, at: int) -> int:
        """Closed lines of whether the memory is enough, and of what there is."""
        sheet, needed = lines.sheet, lines.sheet.template.row(told.needed)
        lines.fits, lines.room = at, at + 1
        self.describe(at, (f"{sheet.page.name}: fits in memory", "1", "", "", "1 fits, 0 does not"))
        linked(self.page, at, sheet, told.check)
        self.across(at, self.guarded(sheet, sheet.here(told.check), "NA()"), "plan_check", "0")
        self.describe(at + 1, (f"{sheet.page.name}: {within(told.room.label)}", needed.said_in, "", "", ""))
        room = parse(told.room.text)
        linked(self.page, at + 1, sheet, room.names[0])
        over = self.units.over(needed)
        text = room.substitute(sheet.here)
        self.across(at + 1, f"({text}){over}" if over else text, "plan_cross", shown_format(needed))
        self.close(range(at, at + 2))
        return at + 2

    def close(self, rows: Sequence[int], level: int = 1) -> None:
        """Group some rows, closed."""
        for row in rows:
            group = self.page.sheet.row_dimensions[row]
            group.outlineLevel, group.hidden = max(level, group.outlineLevel or 0), True


def _parts(sheet: Calculation, each: Headline[Row]) -> list[Part]:
    """The parts of a headline that are rows."""
    return [part for part in each.parts if part.text in sheet.template.by_name]


def _end(name: str) -> str:
    """How the name of one end of a range ends; blank for another row."""
    return next((end for end in RANGE if name.endswith(end)), "")


def linked(page: Page, at: int, sheet: Calculation, name: str) -> None:
    """Make what a line says of where its number is from a link to that row, where it stands in SI units."""
    home = sheet.home(name)
    page.put(at, layout.FORMULA, f"{home.page.name} row {home.rows[name]}", "plan_link")
    page.link(at, layout.FORMULA, home.page.name, address(home.rows[name], layout.LABEL))

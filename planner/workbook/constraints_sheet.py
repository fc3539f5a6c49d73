"""The Constraints sheet: for every MAX and MIN on which a headline depends, what binds and how far the next part is.

The ranking formulas use only MIN, MAX, IF, ROUND, INDEX and MATCH, which every spreadsheet program computes alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from planner.formulas.binding import Constraint
from planner.formulas.headlines import bounds
from planner.formulas.text import parse
from planner.number_text import within
from planner.workbook import layout
from planner.workbook.calculation import CalculationSheet, Earlier, header_rows
from planner.workbook.cell_styles import RATIO, number_format, row_format
from planner.workbook.inputs_sheet import OPENS
from planner.workbook.layout import in_row
from planner.workbook.page import Page
from planner.workbook.wrapping import LINE_HEIGHT, PER_WIDTH, lines_of
from planner.xlsx.address import column_letters
from planner.xlsx.grid import HERE

NAME = "Constraints"
WIDTHS = (40, 15, 28, 30, 28)  # all of it is frozen: scenarios must still be seen beside it on a laptop
LETTERS = int((layout.SCENARIO_WIDTH - 2) * PER_WIDTH)  # letters per line in a scenario's column, without the indent
MARGIN = "100.01x"  # a margin as wide as most
PURPOSE = "What binds each scenario's headlines, and how far the next part is; + opens the numbers."
ON_THE_WAY = "What binds on the way to them: every other MAX and MIN"


@dataclass(frozen=True)
class Constraints:
    """The row that describes each constraint in words, by sheet and row name; the rows' `heights` in points."""

    page: Page
    rows: dict[tuple[str, str], int]
    heights: dict[int, float]

    def place(self, sheet: CalculationSheet, name: str) -> int | None:
        """The row with what binds a row of a calculation sheet, in words; None if nothing competes in it."""
        return self.rows.get((sheet.home(name).page.name, name))


def write(earlier: Earlier) -> Constraints | None:
    """Write the sheet, headlines first; None, and no sheet, if no headline depends on a constraint."""
    found = list(_found(earlier))
    if not found:
        return None
    leading = [(each, sheet) for each, sheet in found if each.row.name in bounds(sheet.template)]
    others = [each for each in found if each not in leading]
    page = Page(earlier.book, NAME, "Constraints", PURPOSE)
    page.master_at = layout.UNIT
    header_rows(page, earlier.plan, ("Read from", "What it is"))
    constraints = Constraints(page, {}, {})
    at = layout.FIRST_ROW
    several = {each.row.label for each, _ in found if sum(each.row.label == other.row.label for other, _ in found) > 1}
    margins = earlier.inputs.constant("far_margin"), earlier.inputs.constant("large_margin")
    closed = at
    for each, sheet in (*leading, *others):
        if others and each is others[0][0]:
            page.section(at, f"{ON_THE_WAY}; {OPENS}")
            closed = at = at + 1
        title = f"{sheet.page.name}: {each.row.label}" if each.row.label in several else each.row.label
        first, at = at, _block(page, each, sheet, title, at, margins)
        constraints.rows[sheet.page.name, each.row.name] = at - 1
        page.rows[at - 1].height = constraints.heights[at - 1] = _height(each)
        if (each, sheet) in leading:
            page.close_rows(range(first + 1, at - 1))
        at += 1
    if others:
        page.close_rows(range(closed, at - 1))
    page.grey_missing(page.columns.area(layout.FIRST_ROW, at))
    page.scenario_widths(*WIDTHS, is_closed=True)
    return constraints


def _found(earlier: Earlier) -> Iterator[tuple[Constraint, CalculationSheet]]:
    """Every constraint on which a headline depends, without repetition, with the sheet that computes its row."""
    seen: set[tuple[str, str]] = set()
    for template, sheet in earlier.sheets.items():
        for each in earlier.plan.constraints[template]:
            home = sheet.home(each.row.name)
            if (key := (home.page.name, each.row.name)) not in seen:
                seen.add(key)
                yield each, home


def _block(page: Page, each: Constraint, sheet: CalculationSheet, title: str, at: int, margins: tuple[str, str]) -> int:
    """Write a constraint: its parts, what binds, the next part, the margin, all in words; returns the next free row."""
    page.section(at, title)
    first, last = at + 1, at + len(each.parts)
    for row, part in enumerate(each.parts, start=first):
        label = f"{title}: {within(_without_include(part.label, each.row.label))}"
        name, read = f"{each.row.name}.{part.name}", f"{sheet.page.name}[{part.text}]"
        page.describe(row, (label, each.unit, name, read, part.label))
        page.across(row, parse(part.text).substitute(sheet.here), "plan_cross", _format(each))
    largest, over = ("largest", "above") if each.is_largest else ("smallest", "below")
    count, form = len(each.parts), _format(each)
    said = (
        (f"the {largest}", each.unit, "best", f"the {largest} of the {count}", "plan_formula", form),
        ("what binds", "text", "binds", f"which is the {largest}", "plan_verdict", "@"),
        ("the next", each.unit, "next", f"the second {largest} of the {count}", "plan_formula", form),
        ("how far the next is", "1", "margin", "the larger of the two over the smaller", "plan_output", RATIO),
        ("how many times in words", "text", "times", "how far the next is, rounded", "plan_verdict", "@"),
        ("in words", "text", "words", f"what binds, and how far it is {over} the next", "plan_words", "@"),
    )
    cells, letters = [f"{HERE}{row}" for row in range(first, last + 1)], column_letters(layout.SOURCE)
    ranking = Ranking(cells, f"${letters}${first}:${letters}${last}", each.function, *margins)
    formulas = ranking.formulas(*(f"{HERE}{last + step}" for step in range(1, len(said))))
    for row, (formula, line) in enumerate(zip(formulas, said, strict=True), start=last + 1):
        label, unit, name, text, style, form = line
        page.describe(row, (f"{title}: {label}", unit, f"{each.row.name}.{name}", text, ""))
        page.across(row, formula, style, form)
    return last + len(said) + 1


def _height(each: Constraint) -> float:
    """The height in points for the longest possible text: any part may bind, and any other come next."""
    over = "above" if each.is_largest else "below"
    texts = (f"{one.label}, {MARGIN} {over} {other.label}" for one, other in permutations(each.parts, 2))
    return LINE_HEIGHT * max((lines_of(text, LETTERS) for text in texts), default=1) + 2


def _format(each: Constraint) -> str:
    """The number format of the parts: their row's, if they have its unit."""
    return row_format(each.row) if each.unit == each.row.unit else number_format(each.unit)


def _without_include(label: str, title: str) -> str:
    """A part's label without the include's name if the title has it: without `FSDP: ` in `FSDP: time by latency`."""
    prefix, colon, _ = title.partition(": ")
    return label.removeprefix(prefix + colon) if colon else label


ALONE, NONE, LEVEL = "nothing else counts", "nothing", "level with the next"


@dataclass(frozen=True)
class Ranking:
    """The cells of competing parts, and the formulas that rank them."""

    cells: Sequence[str]  # adjacent ones
    labels: str  # the range of their labels
    function: str  # MAX or MIN
    far: str  # the cell of the margin from which no digits are shown
    large: str  # the cell of the margin from which no decimals are shown
    is_row: bool = False  # whether the parts are side by side

    @property
    def values(self) -> str:
        """The range of the cells."""
        return f"{self.cells[0]}:{self.cells[-1]}"

    def formulas(self, best: str, binding: str, following: str, margin: str, times: str) -> list[str]:
        """The formulas of five cells, referred to by the arguments, and of the text made from them.

        `best` is the value that binds, `binding` its label, `following` the next value, `margin` the larger of the two
        over the smaller (N/A if that is 0), `times` the margin as text: `1.80`. The text is such as `Compute, 1.80x
        above the next`; a smallest part binds at 0 too.
        """
        is_largest = self.function == "MAX"
        small, large = (following, best) if is_largest else (best, following)
        which = self._label(best)
        return [
            f"{self.function}({self.values})",
            f'IF({best}=0,"{NONE}",{which})' if is_largest else which,
            self.following,
            f"IF({small}>0,{large}/{small},NA())",
            self._times(margin),
            self._words(small, binding, following, margin, times),
        ]

    @property
    def following(self) -> str:
        """The second largest, or second smallest.

        The second largest is the maximum, over the cells, of the minimum of a cell and the largest one after it.
        """
        other = "MIN" if self.function == "MAX" else "MAX"
        pairs = []
        for index, one in enumerate(self.cells[:-1]):
            rest = self.cells[index + 1 :]
            after = rest[0] if len(rest) == 1 else f"{self.function}({rest[0]}:{rest[-1]})"
            pairs.append(f"{other}({one},{after})")
        return pairs[0] if len(pairs) == 1 else f"{self.function}({','.join(pairs)})"

    def _times(self, margin: str) -> str:
        """The margin as text, with decimals by FIXED, since Gnumeric appends numbers as 4.8699999999999999999."""
        rounded = f"IF({margin}>={self.large},ROUND({margin},0),FIXED(ROUND({margin},2),2))"
        return f'IF({margin}>={self.far},"more than "&{self.far},{rounded})'

    def _words(self, small: str, binding: str, following: str, margin: str, times: str) -> str:
        over = "above" if self.function == "MAX" else "below"
        distance = f'IF(ROUND({margin},2)=1,"{LEVEL}",{times}&"x {over} "&{self._label(following)})'
        alone = f'{binding}&IF({binding}="{NONE}","",", {ALONE}")'
        return f'IF({small}>0,{binding}&", "&{distance},{alone})'

    def _label(self, value: str) -> str:
        place = f"MATCH({value},{self.values},0)"
        return in_row(self.labels, place) if self.is_row else f"INDEX({self.labels},{place})"

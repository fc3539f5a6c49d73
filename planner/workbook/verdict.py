"""The first lines of Dashboard: for each scenario whether it fits, which check fails by how much, what to change.

They read the lines below them for the scenario's workload. The numbers of a failed check come from a closed block at
the end of the sheet, in which each line has the first failure so far, as text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from planner.formulas.comparisons import sides
from planner.formulas.headlines import Headline
from planner.formulas.template import Row
from planner.formulas.text import Call, Formula, Name, parse
from planner.workbook import layout
from planner.workbook.advice_lines import write_mends
from planner.workbook.calculation import CalculationSheet
from planner.workbook.cell_styles import GREEN, PALE_GREEN, PALE_RED, RED, SAID
from planner.workbook.dashboard_lines import Lines, LineWriter, meant
from planner.workbook.page import Page
from planner.workbook.wrapping import LINE_HEIGHT
from planner.xlsx.address import address
from planner.xlsx.grid import HERE

MOST_LINES = 3  # for what fails, what binds and what numbers rest on, which may be long
MOST_CHANGES = 4  # lines for what to change, which names several values
FITS, FITS_NOT, FAILS, UNTOLD = "Fits", "Does not fit", "A check fails", "Can't be told"
UNKNOWN = "see the check that fails"
COST = "USD"
LONG = "plan_long_words"  # the style of texts of several lines
PLACES = VERDICT, BESIDE, MEMORY, FAILURE, FAILED, MISSING, LACKS, CHANGE, BINDS, BASIS, USED, THERE = range(12)
"""The lines from top to bottom: the verdict, which scenario is the cheapest, the memory and the first failure in words,
how many checks fail and numbers are missing, the first of these, what to change, what binds, whether the expected
numbers are those of a plan like the fitted runs, the memory used and that there is.
"""
TEXTS = {
    VERDICT: ("Verdict", "verdict", "fits in memory, and no check fails"),
    BESIDE: ("Against the same model and demand", "verdict.beside", "one is the cheapest of each"),
    MEMORY: ("Memory of a chip: used", "verdict.memory", "of what there is for the plan"),
    FAILURE: ("First check that fails", "verdict.failed", "the first, with the numbers that fail; what is N/A"),
    CHANGE: ("What to change first", "verdict.change", "what would fit or pass, or takes most of the step"),
    BINDS: ("Bound by", "verdict.binds", "what binds the first bound below, and how far the next part is"),
    BASIS: ("Expected numbers", "verdict.basis", "whether fitted runs are like the plan, and sizes that contradict"),
}
"""The label, name and note of each line in words."""
IN_WORDS = "What leads, in words for Cover"
FAILED_BLOCK = "The first check that fails, in numbers"


@dataclass
class Verdict:
    """The lines of the verdict; they are written after all that they read."""

    writer: LineWriter
    at: int

    @property
    def rows(self) -> range:
        """The rows of the verdict."""
        return range(self.at, self.at + len(PLACES))

    def write(self, made: Sequence[Lines], failed: Mapping[str, int], words: int, mend: int) -> None:
        """Write the lines. `failed` has the rows where Checks counts.

        `words` is the row of the first failed check as text, `mend` that of what would make it hold.
        """
        planned = [each for each in made if each.memory]
        self._text(VERDICT, self._said_of(planned), "plan_said")
        beside = [self._cell(each.cheapest) for each in planned]
        self._text(BESIDE, self.meant(planned, beside) if planned else '""')
        self._write_memory(planned)
        self._text(FAILURE, self._failed(f"{HERE}{self.at + FAILED}", words), LONG)
        for place, (label, row) in zip((FAILED, MISSING, LACKS), failed.items(), strict=True):
            self._from_checks(place, label, row)
        self._write_advice(planned or made[:1], mend)
        self.writer.close([self.at + place for place in (FAILED, MISSING, LACKS, USED, THERE)])
        self._heights(made)
        self._colours()

    def _said_of(self, planned: Sequence[Lines]) -> str:
        """The formula of the verdict itself."""
        n_failed, n_missing = (f"{HERE}{self.at + place}" for place in (FAILED, MISSING))
        if not planned:
            return f'IF({n_failed}>0,"{FAILS}","No check fails")'
        fits = self.meant(planned, [f"{HERE}{each.fits}" for each in planned])
        sure = f'IF({n_failed}>0,"{FAILS}",IF({n_missing}>0,"{FITS}; numbers are missing","{FITS}"))'
        return f'IFERROR(IF({fits}=0,"{FITS_NOT}",{sure}),"{UNTOLD}")'

    def _write_memory(self, planned: Sequence[Lines]) -> None:
        """Write the memory in words, and the two numbers of which they are made."""
        used, room = f"{HERE}{self.at + USED}", f"{HERE}{self.at + THERE}"
        unit = planned[0].sheet.template.row(planned[0].memory.needed).said_in if planned and planned[0].memory else ""
        left = f'IF({used}>{room},FIXED({used}-{room},1)&" over",FIXED({room}-{used},1)&" left")'
        said = f'IFERROR(FIXED({used},1)&" of "&FIXED({room},1)&" {unit}, "&{left},"{UNTOLD}")' if planned else '""'
        self._text(MEMORY, said)
        for place, name, label, rows in (
            (USED, "memory.used", "Memory of a chip that the plan uses", [self._used(each) for each in planned]),
            (THERE, "memory.room", "Memory of a chip that there is", [f"{HERE}{each.room}" for each in planned]),
        ):
            said_of = (label, unit or "1", name, "", "as the charts draw it")
            self.writer.line(self.at + place, said_of, self.meant(planned, rows), form=SAID)

    def _write_advice(self, leading: Sequence[Lines], mend: int) -> None:
        """Write what to change, what binds, and what the expected numbers rest on."""
        change, binds, basis = (
            self.meant(leading, [self._cell(row) for row in rows])
            for rows in zip(*((each.change, each.binds, each.basis) for each in leading), strict=True)
        )
        mended = f'IF({HERE}{mend}="","{UNKNOWN}",{HERE}{mend})' if mend else f'"{UNKNOWN}"'
        self._text(CHANGE, f'IFERROR(IF({HERE}{self.at}="{FAILS}",{mended},{change}),"{UNTOLD}")', LONG)
        self._text(BINDS, f'IFERROR({binds},"{UNTOLD}")', LONG)
        self._text(BASIS, f'IFERROR({basis},"{UNTOLD}")', LONG)

    @staticmethod
    def _cell(row: int) -> str:
        """The cell of a line's row in a scenario's column; a blank text if there is no such line."""
        return f"{HERE}{row}" if row else '""'

    def _used(self, each: Lines) -> str:
        assert each.memory is not None, "only what fits or not is asked"
        return f"{HERE}{each.rows[each.memory.needed]}"

    def meant(self, made: Sequence[Lines], texts: Sequence[str]) -> str:
        """The formula of the text for a scenario's workload; the last one for a scenario meant for all."""
        if not texts:
            return "NA()"
        cell = f"{HERE}${self.writer.meant}" if self.writer.meant else ""
        return meant(cell, [each.template for each in made], texts)

    def _text(self, place: int, formula: str, style: str = "plan_told_words") -> None:
        self.writer.texts(self.at + place, *TEXTS[place], "plan_lead_label")
        self.writer.page.across(self.at + place, formula, style, "@")

    def _from_checks(self, place: int, label: str, row: int) -> None:
        """Write a line with a count or a text of Checks."""
        page, at, is_text = self.writer.page, self.at + place, place == LACKS
        self.writer.describe(at, (label, "text" if is_text else "1", "", f"Checks row {row}", "of this scenario"))
        page.leads(at, "Checks", row)
        self.writer.page.across(at, f"Checks!{HERE}{row}", *(("plan_words", "@") if is_text else ("plan_check", "0")))

    def _failed(self, n_failed: str, words: int) -> str:
        """The formula of the first failed check as text, else `see Checks`; if none fails, the first missing number."""
        said = f'IF({HERE}{words}="","see Checks",{HERE}{words})' if words else '"see Checks"'
        lacks = f"{HERE}{self.at + LACKS}"
        none = f'IF({lacks}="","none","none; missing: "&{lacks})'
        return f'IF({n_failed}=0,{none},IF({n_failed}>1,{n_failed}&" fail, first: ","")&{said})'

    def _heights(self, made: Sequence[Lines]) -> None:
        """Set the heights: as many lines as each text may need."""
        rows = self.writer.page.rows
        for place, lines in ((FAILURE, MOST_LINES), (CHANGE, MOST_CHANGES), (BASIS, MOST_LINES)):
            rows[self.at + place].height = lines * LINE_HEIGHT + 2
        binding = (rows[each.binds].height for each in made if each.binds)
        rows[self.at + BINDS].height = min(max(binding, default=0), MOST_LINES * LINE_HEIGHT) + 2
        rows[self.at].height = 20

    def _colours(self) -> None:
        """Green if it fits, red if not."""
        page, columns, at = self.writer.page, self.writer.page.columns, self.at
        colour_verdict(page, columns.area(at, at), address(at, layout.FIRST_SCENARIO))
        failed = columns.area(at + FAILURE, at + FAILURE)
        page.colour(failed, f"{address(at + FAILED, layout.FIRST_SCENARIO)}>0", ink=RED)


def colour_verdict(page: Page, area: str, first: str) -> None:
    """Make the verdicts of an area green or red; `first` is its first cell."""
    page.colour(area, f'{first}="{FITS}"', ink=GREEN, fill=PALE_GREEN, bold=True)
    page.colour(area, f'OR({first}="{FITS_NOT}",{first}="{FAILS}")', ink=RED, fill=PALE_RED, bold=True)


def write_failures(writer: LineWriter, made: Sequence[Lines]) -> tuple[int, int]:
    """Write the closed block of the plan's checks, and what would make the first that fails hold.

    Returns the rows of the last line of each, 0 if there is none.
    """
    planned = [each for each in made if each.memory] or made
    found = [(each, row) for each in planned for row in each.sheet.computed if row.is_of_plan]
    if not found:
        return 0, 0
    writer.heading(FAILED_BLOCK)
    places: list[tuple[Lines, Row, int]] = []
    above = ""
    for each, row in found:
        fails = f"IFERROR({each.sheet.here(row.name)},1)=0"
        meant = writer.meant_for(each.sheet)
        condition = f"AND({meant},{fails})" if meant else fails
        said = "&".join([f"$E{writer.at}", *_in_numbers(writer, each.sheet, row)])
        own = f'IF({condition},{said},"")'
        places.append((each, row, writer.at))
        texts = (f"{each.sheet.page.name}: {row.label}", "text", "", "", row.label)
        above = writer.add(texts, f'IF({above}="",{own},{above})' if above else own, read=(each.sheet, row.name))
    return writer.at - 1, write_mends(writer, places)


def _in_numbers(writer: LineWriter, sheet: CalculationSheet, row: Row) -> list[str]:
    """The two numbers of a check's failed comparison, as parts of a text formula.

    Empty if it compares texts, or what rounding leaves over. If the check may fail for another reason, the numbers are
    there only if it is this comparison that fails.
    """
    rows = sheet.template.by_name
    compared = sides(row, rows)
    if not compared or not compared.is_of_numbers:
        return []
    left, right = parse(compared.left), parse(compared.right)
    of_unit = [rows[name] for name in (*left.names, *right.names) if rows[name].unit == compared.unit]
    shown = next((each for each in of_unit if each.display and writer.units.has(each)), None)
    display = f'&" {shown.display}"' if shown else ""
    over = writer.units.over(shown) if shown else ""
    if isinstance(right.root, Call) and right.root.function == "ROUND":
        said = f'": "&{_number(sheet, left, over, 2)}{display}&", not whole"'
    else:
        numbers = (_number(sheet, side, over, 1 if over else 0) for side in (left, right))
        said = '": "&' + f'&" {compared.sign} "&'.join(numbers) + display
    if not compared.holds:
        return [said]
    holds = parse(compared.holds).substitute(sheet.here)
    return [f'{holds.removesuffix(",1,0)")},"",{said})']


def _number(sheet: CalculationSheet, side: Formula, over: str, digits: int) -> str:
    """One side as text, divided by a display unit's constant."""
    cells = side.substitute(sheet.here)
    whole = cells if isinstance(side.root, Name) or not over else f"({cells})"
    return f"FIXED({whole}{over},{digits})"


@dataclass(frozen=True)
class FrontTexts:
    """The texts on Dashboard that Cover repeats for each scenario: titles and rows, in column order."""

    titles: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    cost: int = 0  # the row of the first cost as text


def write_words(writer: LineWriter, verdict: Verdict, made: Sequence[Lines]) -> FrontTexts:
    """Write the closed block of leading texts for a scenario's workload; returns where they are."""
    planned = [each for each in made if each.memory] or list(made[:1])
    leads = [[lead for lead in each.leads if lead.label and each.digits.get(lead.row.name)] for each in planned]
    titles, rows = ["Verdict", "Memory of a chip"], [verdict.at, verdict.at + MEMORY]
    lines, cost = list(zip_longest(*leads)), 0
    if lines:
        writer.heading(IN_WORDS)
    for place, line in enumerate(lines, start=1):
        texts = [_in_words(writer, each, lead) for each, lead in zip(planned, line, strict=True)]
        title = " / ".join(dict.fromkeys(lead.label for lead in line if lead))
        said = (f"Told of each: {place}", "text", f"told.line_{place}", "", title)
        titles.append(title)
        rows.append(writer.at)
        if any(lead and lead.row.unit == COST for lead in line):
            cost = cost or writer.at
        writer.add(said, f'IFERROR({verdict.meant(planned, texts)},"N/A")')
    return FrontTexts((*titles, "What to change first"), (*rows, verdict.at + CHANGE), cost)


def _in_words(writer: LineWriter, each: Lines, lead: Headline[Row] | None) -> str:
    """The formula of `31.4 ms (24.8 to 41.4; bound 17.2)`; a blank text if a workload has fewer headlines."""
    if lead is None:
        return '""'
    row, digits = each.rows[lead.row.name], each.digits[lead.row.name]
    number = writer.units.in_words(lead.row, f"{HERE}{row}")
    unit = "" if lead.row.said_in == "1" else f" {lead.row.said_in}"
    return f'FIXED({number},{HERE}{digits})&"{unit} ("&{HERE}{digits + 1}&")"'

"""The Checks sheet: every check of every template, every number that the databases lack, and what fails first.

The first failures of each scenario are shown with both compared sides. A formula can't find the second 0 in a column,
so a closed group counts the failures down to each check, and has the sides of every check.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby
from typing import NamedTuple

from planner.catalog import given_by
from planner.catalog.checked_table import TABLES
from planner.formulas import lookups as facts
from planner.formulas.comparisons import sides
from planner.formulas.headlines import headlines
from planner.formulas.template import Row, Template
from planner.formulas.text import parse
from planner.terminal_table import joined
from planner.workbook import inputs_sheet, layout
from planner.workbook.calculation import CalculationSheet, Earlier, header_rows
from planner.workbook.cell_styles import MAGNITUDE, PALE_RED, RED, number_format
from planner.workbook.inputs_sheet import OPENS
from planner.workbook.page import Page
from planner.workbook.workloads import NOT_COUNTED, WORKLOAD
from planner.workbook.wrapping import LINE_HEIGHT
from planner.xlsx.address import address, column_letters
from planner.xlsx.grid import HERE

NAME = "Checks"
WIDTHS = (40, 15, 28, 34, 30)  # all of it is frozen: scenarios must still be seen beside it on a laptop
PURPOSE = (
    "1 holds, 0 fails, #N/A can't be told because a number is missing: the second table says which. "
    "- is not counted: Inputs says what a scenario is meant for."
)


def write(earlier: Earlier) -> tuple[Page, str, dict[str, int]]:
    """Write the sheet; returns it, the formula that counts all failed checks, and the row of each summary."""
    page = Page(earlier.book, NAME, "Checks", PURPOSE)
    page.master_at = layout.UNIT
    header_rows(page, earlier.plan, ("Check in names", "Meaning"))
    writer = _CheckWriter(page, earlier)
    compared = writer.write_checks()
    checks = range(writer.at - len(compared), writer.at)
    missing = writer.write_missing()
    writer.section(f"Working of what fails; {OPENS}")
    failures = _Failures(writer, checks, compared)
    failures.count()
    writer.section("Summary")
    summaries = writer.write_summary(checks, missing)
    writer.section("What fails first")
    failures.show()
    _colour(page, checks)
    page.scenario_widths(*WIDTHS, is_closed=True)
    return page, f"SUM({page.columns.across(NAME, summaries['Failed checks'])})", summaries


class _CheckWriter:
    """Writes rows from top to bottom, one formula each; `checks` has the row of each check, by template and name."""

    def __init__(self, page: Page, earlier: Earlier) -> None:
        self.page, self.plan, self.at = page, earlier.plan, layout.FIRST_ROW
        self.sheets = list(earlier.sheets.values())
        self.checks: dict[tuple[str, str], int] = {}
        has_choice = WORKLOAD in earlier.inputs.input_rows
        self.workload = earlier.inputs.here(WORKLOAD) if has_choice else ""  # the cell with a scenario's workload

    def section(self, title: str) -> None:
        self.at += self.at > layout.FIRST_ROW
        self.page.section(self.at, title)
        self.at += 1

    def row(self, label: str, name: str, in_names: str, meaning: str, formula: str) -> None:
        linked = "!" in formula and re.sub(f"[!_{HERE}]", "", formula).isalnum()
        self.line((label, "1", name, in_names, meaning), formula, "plan_cross" if linked else "plan_formula")

    def line(self, texts: Sequence[str], formula: str, style: str = "plan_formula", form: str = "0") -> None:
        self.page.describe(self.at, texts)
        self.page.across(self.at, formula, style, form)
        self.at += 1

    def write_checks(self) -> list[ComparedSides]:
        """Write a closed row for each check of each template; returns what they compare, in order."""
        self.section(f"Checks; {OPENS}")
        first = self.at
        ids = self.plan.columns.across(inputs_sheet.NAME, layout.ID_ROW)
        unique, name = "The scenario's id is its own", "inputs.unique_id"
        is_unique = f"IF(SUMPRODUCT(--({ids}={HERE}${layout.ID_ROW}))=1,1,0)"  # COUNTIF reads patterns, slowly
        self.row(unique, name, "one id for each scenario", "selectors find a scenario by its id", is_unique)
        compared = [ComparedSides(f"{OWN}.{name}", unique)]
        for sheet in self.sheets:
            for row in (row for row in sheet.computed if row.kind == "check"):
                label, name = f"{sheet.page.name}: {row.label}", f"{sheet.template.name}.{row.name}"
                in_check = sides(row, sheet.template.by_name)
                texts, unit = ((in_check.left, in_check.right), in_check.unit) if in_check else NO_SIDES
                compared.append(ComparedSides(f"{OWN}.{name}", label, texts, unit, sheet.here))
                self.checks[sheet.template.name, row.name] = self.at
                self.row(label, name, row.formula, joined(row.note, row.source), self._counted(sheet, row.name))
        self.page.close_rows(range(first, self.at))
        return compared

    def _counted(self, sheet: CalculationSheet, name: str) -> str:
        """The formula of a check, not counted if the scenario isn't meant for its workload."""
        workloads = self.plan.workloads
        meant = [template for template in workloads.templates if template is sheet.template]
        return workloads.guarded(meant, self.workload, sheet.here(name), f'"{NOT_COUNTED}"')

    def write_missing(self) -> range:
        """Write a closed row for each number that may be missing; returns the rows, at least one."""
        self.section(f"Missing numbers: 1 is N/A; {OPENS}")
        first = self.at
        counted: set[str] = set()
        for sheet in self.sheets:
            self._write_missing_of(sheet, counted)
        self.page.close_rows(range(first, self.at))
        return range(first, max(first + 1, self.at))

    def _write_missing_of(self, sheet: CalculationSheet, counted: set[str]) -> None:
        """Write a row for each uncounted lookup and input of a sheet: is its number missing in this scenario?

        Numbers that only check the databases are left out: a user's own model has no published count, and needs none.
        So are those of a chip that no check and no headline reads. Those that other columns give where they are blank
        come last: the others are what is to be typed.
        """
        kinds = {"input": "Inputs", **{kind: table.capitalize() for kind, table in TABLES.items()}}
        needed = sheet.rows.keys() - of_databases(sheet.template)
        found = [row for row in sheet.template.of_kind(*kinds) if row.name in needed and row.name not in counted]
        for row in sorted(found, key=lambda row: bool(row.kind in TABLES and given_by(row.column[0]))):
            counted.add(row.name)
            readers = self._reading(row.name) if row.kind == "hardware" else ""
            if readers is None:
                continue
            where = f"{kinds[row.kind]}: {row.formula if row.kind in ('model', 'hardware') else row.name}"
            label, name = f"{sheet.page.name}: {row.label}", f"missing.{sheet.template.name}.{row.name}"
            self.row(label, name, where, _meaning(row, where), self._is_missing(sheet, row.name, readers))

    def _reading(self, name: str) -> str | None:
        """The cells of the checks that read a number; blank if only headlines read it, None if nothing does."""
        read = [_read_by_answers(sheet.template) for sheet in self.sheets]
        rows: list[int] = []
        for sheet, (checks, _) in zip(self.sheets, read, strict=True):
            found = [self.checks.get((sheet.template.name, check)) for check, names in checks.items() if name in names]
            rows += filter(None, found)
        if not rows:
            return "" if any(name in names for _, names in read) else None
        runs = [list(run) for _, run in groupby(enumerate(sorted(rows)), lambda each: each[1] - each[0])]
        return ",".join(":".join(f"{HERE}${at}" for at in dict.fromkeys((run[0][1], run[-1][1]))) for run in runs)

    def _is_missing(self, sheet: CalculationSheet, name: str, readers: str) -> str:
        """A formula: 1 if a number is missing, 0 for one that only another topology or way to pay needs.

        It is 0 too if every one of its `readers` has a value, or is not counted: another plan on the chip may need it.
        """
        missing = f'IFERROR(IF({sheet.here(name)}="",1,0),1)'
        setting, text = facts.only_on(sheet.template.row(name))
        if setting in sheet.rows:
            missing = f'IFERROR(IF({sheet.here(setting)}="{text}",{missing},0),0)'
        if readers:
            missing = f"IFERROR(0*SUM({readers}),{missing})"
        workloads = self.plan.workloads
        meant = workloads.having(name) if sheet.template in workloads.templates else []
        return workloads.guarded(meant, self.workload, missing, "0")

    def write_summary(self, checks: range, missing: range) -> dict[str, int]:
        """Write how many checks fail and numbers are missing in a scenario, and the first missing; returns the rows."""
        failed = self.at
        rows = f"{HERE}${checks.start}:{HERE}${checks.stop - 1}"
        self.row("Failed checks", "checks.failed", "", "of this scenario", f"COUNTIF({rows},0)")
        rows = f"{HERE}${missing.start}:{HERE}${missing.stop - 1}"
        self.row("Missing numbers", "checks.missing", "", "of this scenario", f"SUM({rows})")
        names = column_letters(layout.FORMULA)
        where = f"${names}${missing.start}:${names}${missing.stop - 1}"
        count, found = f"{HERE}{failed + 1}", f"MATCH(1,{rows},0)"
        words = f'IFERROR(INDEX({where},{found})&IF({count}>1," and "&({count}-1)&" more",""),"")'
        said = ("Missing: the first", "text", "checks.first_missing", "", "where it is to be typed")
        self.line(said, words, "plan_words", "@")
        return {"Failed checks": failed, "Missing numbers": failed + 1, "First missing number": failed + 2}


@cache
def _read_by_answers(template: Template) -> tuple[dict[str, frozenset[str]], frozenset[str]]:
    """All that each check of a template reads, and all that its headlines read."""
    checks = {row.name: frozenset(template.closure([row.name])) for row in template.of_kind("check")}
    return checks, frozenset(template.closure([each.row.name for each in headlines(template)]))


@cache
def of_databases(template: Template) -> frozenset[str]:
    """The numbers, such as a published count, that serve only checks of databases, which inputs don't change."""
    readers: dict[str, set[bool]] = {}
    for row in template.rows:
        is_check = row.kind == "check"
        of_data = is_check and not any(template.row(name).kind == "input" for name in template.closure([row.name]))
        for name in row.reads:
            readers.setdefault(name, set()).add(of_data)
    return frozenset(name for name, of_data in readers.items() if of_data == {True})


def _meaning(row: Row, where: str) -> str:
    """The meaning of a row about a missing number: the column, and for which choice the number is needed."""
    setting, text = facts.only_on(row)
    column = f"column of {where}" if row.kind in ("model", "hardware") else where
    return f"{column}; counts where {setting} is {text}" if text else column


def _colour(page: Page, checks: range) -> None:
    """Failed checks are red, unknown ones grey."""
    area = page.columns.area(checks.start, checks.stop - 1)
    corner = address(checks.start, layout.FIRST_SCENARIO)
    page.colour(area, f'IFERROR(AND({corner}<>"",{corner}=0),FALSE)', ink=RED, fill=PALE_RED, bold=True)
    page.grey_missing(area)


SHOWN = 3  # most failures shown for a scenario
LABELS = column_letters(layout.SOURCE)
OWN = "checks"  # prefix of the names of other rows than checks
NO_SIDES = (("", ""), "1")


class ComparedSides(NamedTuple):
    """A check: the prefix of its rows' names, its label, the compared sides, their unit, and cell references."""

    name: str
    label: str
    sides: Sequence[str] = NO_SIDES[0]
    unit: str = NO_SIDES[1]
    here: Callable[[str], str] = str


class _Failures:
    """The first failures in a scenario: `compared` is what the checks in the rows `checks` compare, in their order."""

    def __init__(self, writer: _CheckWriter, checks: range, compared: Sequence[ComparedSides]) -> None:
        self.writer, self.checks, self.compared = writer, checks, compared
        self.first = writer.at  # the first row of the working

    def count(self) -> None:
        """Write the working, a closed group."""
        line = self.writer.line
        for at, each in zip(self.checks, self.compared, strict=True):
            meaning = f"{each.label} ({each.unit})" if each.unit != "1" else each.label
            line(
                (f"{each.label}: failures so far", "1", f"{each.name}.count", "", meaning),
                f"COUNTIF({HERE}${self.checks.start}:{HERE}{at},0)",
            )
        for side in range(2):
            for each in self.compared:
                text = each.sides[side]
                said = (f"{each.label}: side {side + 1}", each.unit, f"{each.name}.side_{side + 1}", text, "")
                line(said, parse(text).substitute(each.here) if text else '""', form=number_format(each.unit))
        self.places = self.writer.at
        for place in range(SHOWN):
            before = f"{HERE}{self.writer.at - 1}"
            sought = f"INDEX({self._block(0)},{before},1)+1" if place else "1"
            found = f"IFERROR(MATCH({sought},{self._block(0)},0),0)"
            line(
                (f"Place of failure {place + 1}", "1", f"{OWN}.place_{place + 1}", "", ""),
                f"IF({before}>0,{found},0)" if place else found,
            )
        self.writer.page.close_rows(range(self.first, self.writer.at))

    def show(self) -> None:
        """Write the first failures: the check and both sides; blank if fewer fail."""
        writer, first = self.writer, self.writer.at
        titles = f"${LABELS}${self.first}:${LABELS}${self.first + len(self.checks) - 1}"
        blocks = [(titles, "", "plan_words", "@")]
        blocks += [(self._block(side), f": side {side}", "plan_output", MAGNITUDE) for side in (1, 2)]
        for place in range(SHOWN):
            at = f"{HERE}${self.places + place}"
            writer.page.rows[writer.at].height = 2 * LINE_HEIGHT + 2
            for number, (block, what, *look) in enumerate(blocks):
                meaning = "what it compares: the numbers in its unit" if number else "that fails, from the top"
                name = f"{OWN}.failed_{place + 1}_{number}"
                said = (f"Check {place + 1}{what}", "1" if number else "text", name, "", meaning)
                writer.line(said, f'IF({at}>0,INDEX({block},{at},1),"")', *look)
        area = writer.page.columns.area(first, writer.at - 1)
        writer.page.colour(area, f'{address(first, layout.FIRST_SCENARIO)}<>""', ink=RED)

    def _block(self, number: int) -> str:
        """The range of a block in a scenario's column: the counts, the one side, the other."""
        start = self.first + number * len(self.checks)
        return f"{HERE}${start}:{HERE}${start + len(self.checks) - 1}"

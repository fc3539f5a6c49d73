"""The workbook of worked problems: each problem is a table of lines on its chapter's
sheet, and Book lists all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from planner.book.formulas_in_names import GIVEN as TYPED
from planner.book.formulas_in_names import OR
from planner.book.sheet import Sheet
from planner.book.tables import MACHINE_NAME, TITLES, Head, LineItem, LineTable, database
from planner.book.workbook import DATABASES, NEEDED, Book
from planner.xlsx.address import Position
from planner.xlsx.opc import Package

INDEX, CONSTANTS = "Book", "Constants"
GIVEN, COMPUTED = "Given", "Computed"
HEAD = Head(row=3, label=1, unit=2, name=3, fourth=5, fifth=6)  # of a chapter's sheet; Given stands in column 4
GIVEN_COLUMN = 4
TITLE = re.compile(r"\S+: ")  # of a problem, below a blank row: its id and its question
PROBLEM, QUESTION, ANSWER, UNIT, AGREES = "Problem", "Question", "Answer", "Unit", "Agrees"
"""Titles of the columns of Book."""


class ListedProblem(NamedTuple):
    """A problem's row on Book, with the columns of its answer and of whether that agrees with the exact one."""

    sheet: Sheet
    row: int
    problem: str
    question: str
    unit: str
    answer: int
    agrees: int


def open_book(package: Package) -> Book:
    """The workbook in a package. Raises UserError for one that planner did not build."""
    names = package.sheets().keys()  # an analyst may call own sheets of a plan so too
    is_of_problems = {INDEX, CONSTANTS} <= names and Book.TYPED[1] not in names
    return ProblemBook(package) if is_of_problems else Book(package)


class ProblemBook(Book):
    """A workbook of worked problems: each is a table of lines, and the sheet Constants takes the place of Inputs."""

    TYPED = ("constants", CONSTANTS)

    def __init__(self, package: Package) -> None:
        super().__init__(package)
        self.dashboard = LineTable(self.sheets[INDEX], "dashboard", (), ())
        self.read = set()

    @cached_property
    def chapters(self) -> Mapping[str, Sheet]:
        """The sheets with a problem's titles in their third row."""
        wanted = (*TITLES, GIVEN, COMPUTED)
        columns = range(1, len(wanted) + 1)
        return {
            name: sheet
            for name, sheet in self.sheets.items()
            if tuple(sheet.text(HEAD.row, column) for column in columns) == wanted
        }

    @cached_property
    def problems(self) -> list[LineTable]:
        """The lines of each problem: consecutive rows with machine names."""
        return [table for sheet in self.chapters.values() for table in _problems(sheet)]

    @cached_property
    def case_sheets(self) -> Mapping[str, Sheet]:
        """Book, which has one problem per row."""
        return {INDEX: self.sheets[INDEX]}

    @cached_property
    def designed(self) -> Mapping[str, Sheet]:
        """The sheets that planner built, in order."""
        databases = {name: sheet for name, sheet in self.built.built_as(DATABASES).items() if database(sheet)}
        order = ("Cover", INDEX, CONSTANTS, *databases, *self.chapters, "Log")
        return {name: self.sheets[name] for name in order if name in self.sheets}

    @property
    def needed(self) -> tuple[str, ...]:
        """The sheets that must be there."""
        return "Cover", INDEX, CONSTANTS, *NEEDED, "Log"

    @cached_property
    def lines(self) -> list[LineTable]:
        """Every table of line items whose values are formulas."""
        return self.problems

    @property
    def named(self) -> list[LineTable]:
        """The tables with formulas in names."""
        return self.problems

    @property
    def by_scenario(self) -> list[LineTable]:
        """None: no table has a column for each scenario."""
        return []

    def listed(self) -> Iterator[ListedProblem]:
        """The rows of Book."""
        for cases in self.cases:
            at = {title: column for column, title in cases.columns.items()}
            for row in cases.rows if {PROBLEM, QUESTION, ANSWER, UNIT, AGREES} <= at.keys() else ():
                problem, question, unit = (cases.sheet.text(row, at[title]) for title in (PROBLEM, QUESTION, UNIT))
                yield ListedProblem(cases.sheet, row, problem, question, unit, at[ANSWER], at[AGREES])

    def open_cells(self, sheet: Sheet) -> list[Position]:
        """The cells in the column Given of lines that take a typed value."""
        tables = (table for table in self.problems if table.sheet is sheet)
        lines = (line for table in tables for line in table.lines)
        return [(line.row, GIVEN_COLUMN) for line in lines if line.names == TYPED or line.names.startswith(OR)]


def problem_of(line: LineItem) -> str:
    """The id of a line's problem: the beginning of the title above it."""
    return line.section.partition(":")[0]


def _problems(sheet: Sheet) -> Iterator[LineTable]:
    lines: list[LineItem] = []
    title, last = "", 0
    for row in sorted(row for row, column in sheet.cells if column == HEAD.label and row > HEAD.row):
        label, unit, name, names = (sheet.text(row, at) for at in (HEAD.label, HEAD.unit, HEAD.name, HEAD.fifth))
        if MACHINE_NAME.fullmatch(name):
            lines.append(LineItem(row, label, unit, name, names, title, sheet.text(row, HEAD.fifth + 1)))
            last = row
            continue
        if lines:
            yield LineTable(sheet, "problem", (HEAD.fourth,), tuple(lines), HEAD)
        lines = []
        title, last = (label if row > last + 1 and TITLE.match(label) else title), row
    if lines:
        yield LineTable(sheet, "problem", (HEAD.fourth,), tuple(lines), HEAD)

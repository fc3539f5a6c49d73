"""The workbook that teaches as the rules see it: problems on the sheets of their chapters, and Book that lists them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from planner.book.book import DATABASES, Book, Sheet
from planner.book.tables import MACHINE_NAME, TITLES, Head, Line, LineTable, database
from planner.book.wording import GIVEN as TYPED
from planner.book.wording import OR
from planner.xlsx.address import Position
from planner.xlsx.opc import Package

INDEX, CONSTANTS = "Book", "Constants"
GIVEN, COMPUTED = "Given", "Computed"
HEAD = Head(row=3, label=1, unit=2, name=3, fourth=5, fifth=6)  # of a chapter's sheet; Given stands in column 4
GIVEN_COLUMN = 4
TITLE = re.compile(r"\S+: ")  # of a problem, below a blank row: its id and its question


def open_book(package: Package) -> Book:
    """The workbook that is checked. Raises UserError for one that planner did not build."""
    return Lesson(package) if {INDEX, CONSTANTS} <= package.sheets().keys() else Book(package)


class Lesson(Book):
    """A workbook of worked problems: each is a table of lines of its own, and constants stand in place of Inputs."""

    TYPED = ("constants", CONSTANTS)

    def __init__(self, package: Package) -> None:
        super().__init__(package)
        self.dashboard = LineTable(self.sheets[INDEX], "dashboard", (), ())
        self.read = set()

    @cached_property
    def chapters(self) -> Mapping[str, Sheet]:
        """The sheets whose third row has the titles of a problem's lines."""
        wanted = (*TITLES, GIVEN, COMPUTED)
        return {name: sheet for name, sheet in self.sheets.items()
                if tuple(sheet.text(HEAD.row, column) for column in range(1, len(wanted) + 1)) == wanted}  # fmt: skip

    @cached_property
    def problems(self) -> list[LineTable]:
        """The lines of each problem: rows with a machine name, one below the other."""
        return [table for sheet in self.chapters.values() for table in _problems(sheet)]

    @cached_property
    def case_sheets(self) -> Mapping[str, Sheet]:
        """Book, with a problem in each row."""
        return {INDEX: self.sheets[INDEX]}

    @cached_property
    def designed(self) -> Mapping[str, Sheet]:
        """The sheets that planner built, in their order."""
        databases = {name: sheet for name, sheet in self._built_as(DATABASES).items() if database(sheet)}
        order = ("Cover", INDEX, CONSTANTS, *databases, *self.chapters, "Log")
        return {name: self.sheets[name] for name in order if name in self.sheets}

    @property
    def needed(self) -> tuple[str, ...]:
        """The sheets that it can't be without."""
        return "Cover", INDEX, CONSTANTS, *DATABASES, "Log"

    @property
    def lines(self) -> list[LineTable]:
        """Every table of line items whose values are formulas."""
        return self.problems

    @property
    def named(self) -> list[LineTable]:
        """The tables that say in names what each line calculates."""
        return self.problems

    @property
    def by_scenario(self) -> list[LineTable]:
        """No table has a column for each scenario."""
        return []

    def open_cells(self, sheet: Sheet) -> list[Position]:
        """The cells under Given of the lines that take a typed value."""
        tables = (table for table in self.problems if table.sheet is sheet)
        return [(line.row, GIVEN_COLUMN) for table in tables for line in table.lines
                if line.names == TYPED or line.names.startswith(OR)]  # fmt: skip


def problem_of(line: Line) -> str:
    """The id of the problem that a line belongs to: the title above it begins with it."""
    return line.section.partition(":")[0]


def _problems(sheet: Sheet) -> Iterator[LineTable]:
    lines: list[Line] = []
    title, last = "", 0
    for row in sorted({row for row, column in sheet.cells if column == HEAD.label and row > HEAD.row}):
        label, unit, name, names = (sheet.text(row, at) for at in (HEAD.label, HEAD.unit, HEAD.name, HEAD.fifth))
        if MACHINE_NAME.fullmatch(name):
            lines.append(Line(row, label, unit, name, names, title, sheet.text(row, HEAD.fifth + 1)))
            last = row
            continue
        if lines:
            yield LineTable(sheet, "problem", (HEAD.fourth,), tuple(lines), HEAD)
        lines = []
        title, last = (label if row > last + 1 and TITLE.match(label) else title), row
    if lines:
        yield LineTable(sheet, "problem", (HEAD.fourth,), tuple(lines), HEAD)

"""The workbook of worked problems as a Plan without scenarios: what is given, each problem's answer, whether it agrees.

A problem's numbers are called by it, as `shard-03.hop_latency`; a value has the one key `""`, as a constant has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planner.book.lesson import GIVEN_COLUMN, INDEX, Lesson, problem_of
from planner.book.plan import Check, Entry, Headline, Quantity
from planner.book.tables import CaseTable

Reader = Callable[[str, int, int], Entry]
PROBLEM, QUESTION, ANSWER, UNIT, AGREES = "Problem", "Question", "Answer", "Unit", "Agrees"


def given(book: Lesson, entry: Reader) -> Iterator[Quantity]:
    """What is typed for each problem."""
    opened = {(sheet.name, *at) for sheet in book.chapters.values() for at in book.open_cells(sheet)}
    for table in book.problems:
        for line in table.lines:
            if (table.sheet.name, line.row, GIVEN_COLUMN) in opened:
                name = f"{problem_of(line)}.{line.name}"
                cells = {"": entry(table.sheet.name, line.row, GIVEN_COLUMN)}
                yield Quantity(table.sheet.name, line.row, name, line.label, line.unit, line.section, line.names,
                               line.note, cells)  # fmt: skip


def answers(book: Lesson, entry: Reader) -> Iterator[Headline]:
    """The answer of each problem, from Book."""
    for row, at, cases in _rows(book):
        said = _said(cases, row)
        cells = {"": entry(INDEX, row, at[ANSWER])}
        yield Headline(INDEX, row, said(PROBLEM), said(QUESTION), said(UNIT), "", "", "", cells, origin=INDEX)


def agreements(book: Lesson, entry: Reader) -> Iterator[Check]:
    """Whether each answer is the exact one, from Book."""
    for row, at, cases in _rows(book):
        said = _said(cases, row)
        label = f"{said(PROBLEM)} agrees with the exact answer"
        yield Check(INDEX, row, said(PROBLEM), label, "1", "", "", "", {"": entry(INDEX, row, at[AGREES])})


def _rows(book: Lesson) -> Iterator[tuple[int, dict[str, int], CaseTable]]:
    for cases in book.cases:
        at = {title: column for column, title in cases.columns.items()}
        if {PROBLEM, QUESTION, ANSWER, UNIT, AGREES} <= at.keys():
            yield from ((row, at, cases) for row in cases.rows)


def _said(cases: CaseTable, row: int) -> Callable[[str], str]:
    at = {title: column for column, title in cases.columns.items()}
    return lambda title: cases.sheet.text(row, at[title])

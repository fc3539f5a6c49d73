"""A chapter's sheet: its problems one below the other, each with its working; and the Constants that they all read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from openpyxl.workbook import Workbook

from planner.book.formulas_in_names import GIVEN as TYPED
from planner.book.problem_book import CONSTANTS, INDEX
from planner.formulas.template import Row
from planner.table import joined
from planner.teaching import block
from planner.teaching.block import (
    FORMULA,
    GIVEN,
    LABEL,
    NAME,
    SOURCE,
    TITLES,
    UNIT,
    VALUE,
    BlockLine,
    BlockLines,
    ProblemBlock,
)
from planner.teaching.problems import Problem
from planner.workbook.build_plan import shared_rows
from planner.workbook.cell_styles import GREY, row_format
from planner.workbook.database_sheets import DatabaseSheets
from planner.workbook.inputs_sheet import validate
from planner.workbook.page import Live, Page, whole_as_int
from planner.xlsx.address import address, column_letters

HEADER_ROW, A3 = 3, 8
PURPOSE = "Blue cells are yours to change: what is below them follows. A problem's title leads back to Book."


@dataclass(frozen=True)
class Listed:
    """Where the index holds a problem's title, its exact answer and what the source prints."""

    title: str
    exact: str
    printed: str


class Chapter:
    """A sheet that is filled from top to bottom."""

    def __init__(self, book: Workbook, name: str, title: str) -> None:
        corner, titles = address(HEADER_ROW + 1, UNIT), f"{HEADER_ROW}:{HEADER_ROW}"
        self.page = Page(book, name, title, PURPOSE, corner=corner, titles=titles)
        self.page.header(TITLES, HEADER_ROW, right=(GIVEN, VALUE))
        self._at = HEADER_ROW + 2
        self._open: dict[tuple[str, ...], tuple[BlockLine, list[str]]] = {}

    def write(
        self, problem: Problem, listed: Listed, constants: Mapping[str, str], tables: DatabaseSheets
    ) -> ProblemBlock:
        """Write a problem's title, what is told of it, its working and what its answer is compared with."""
        assert problem.answer is not None, "a problem without a template has no working"
        page, top = self.page, self._at
        page.section(top, f"{problem.id}: {problem.question}", SOURCE)
        sheet, _, title = listed.title.partition("!")
        page.link(top, LABEL, sheet, title)
        for self._at, (text, style) in enumerate(_told(problem), start=top + 1):
            page.put(self._at, LABEL, text, style)
        lines = BlockLines(problem, problem.answer, self._at + 1, constants, tables)
        written = block.write(page, top, lines)
        for line, at in lines.placed():
            if line.is_open:
                self._opened(line, address(at, GIVEN))
        self._compared(written, listed, lines.lines[-1])
        return written

    def _compared(self, written: ProblemBlock, listed: Listed, answer: BlockLine) -> None:
        said = [("Exact answer", listed.exact)]
        if written.problem.printed is not None:
            said.append(("The source prints", listed.printed))
        for at, (label, reference) in enumerate(said, start=written.bottom + 1):
            for column in (NAME, GIVEN, SOURCE):
                self.page.put(at, column, None, "plan_text")
            self.page.put(at, LABEL, label, "plan_label")
            self.page.put(at, UNIT, answer.unit, "plan_text")
            self.page.put(at, VALUE, Live(reference), "plan_cross", answer.form)
            self.page.put(at, FORMULA, INDEX, "plan_beside")
        self._at = written.bottom + len(said) + 2

    def _opened(self, line: BlockLine, reference: str) -> None:
        default = str(line.row.default) if line.row and line.row.kind == "input" else ""
        key = (line.name, line.label, line.unit, default, line.names)
        self._open.setdefault(key, (line, []))[1].append(reference)

    def finish(self, ranges: Mapping[str, str]) -> None:
        """Hold what may be typed to its limits, colour what is missing, and set the columns' widths."""
        page = self.page
        for line, cells in self._open.values():
            reference = " ".join(cells)
            if line.row is None and line.unit == "text":
                table = block.IDS[line.name.removesuffix("_id")][1]
                prompt = f"Choose an id of the {table.capitalize()} sheet."
                page.choose(reference, ranges[table], line.label, prompt)
            else:
                row = line.row or Row(line.name, line.label, line.unit, "input", "")
                validate(page, row, reference, ranges, overriding=line.names != TYPED)
        first = address(HEADER_ROW + 1, VALUE)
        page.colour(f"{first}:{address(self._at, VALUE)}", f"ISNA({first})", ink=GREY)
        page.widths(40, 12, 28, 21, 21, 60, 64)
        page.sheet.page_setup.paperSize = A3
        page.sheet.print_area = f"A1:{address(self._at, SOURCE)}"


def _told(problem: Problem) -> Iterator[tuple[str, str]]:
    """What stands below a problem's title: where it is from, how it is put, what is to be known of it."""
    yield f"{problem.source}{': ' + problem.symbols if problem.symbols else ''}", "plan_text"
    if problem.mapping:
        yield f"Put as: {problem.mapping}", "plan_text"
    if problem.explanation:
        yield problem.explanation, "plan_label"


CONSTANTS_PURPOSE = "The numbers that the templates fix, each in one cell that all problems read."
CONSTANTS_TITLES = ("Quantity", "Unit", "Name", "Constant", "Source")
CONSTANT_COLUMN = 4
TOLERANCE = Row(
    "answer_tolerance", "Difference that counts as agreement", "1", "constant", "1e-7",
    "The sources' exact answers, kept to eight digits", "relative",
)  # fmt: skip


def write_constants(book: Workbook, problems: Sequence[Problem]) -> tuple[Page, dict[str, str]]:
    """Write the sheet; returns it, and an absolute reference to each constant by name.

    Raises UserError where two templates mean different numbers by one name.
    """
    page = Page(book, CONSTANTS, CONSTANTS, CONSTANTS_PURPOSE, corner="B4", titles=f"{HEADER_ROW}:{HEADER_ROW}")
    page.header(CONSTANTS_TITLES, HEADER_ROW)
    page.section(HEADER_ROW + 1, "Constants", len(CONSTANTS_TITLES))
    places: dict[str, str] = {}
    constants = shared_rows("constant", [TOLERANCE, *_read_rows(problems)])
    for at, row in enumerate(constants.values(), start=HEADER_ROW + 2):
        for column, text in enumerate((row.label, row.unit, row.name), start=1):
            page.put(at, column, text, "plan_label" if column == 1 else "plan_text")
        page.put(at, CONSTANT_COLUMN, whole_as_int(row.default), "plan_constant", row_format(row))
        page.put(at, CONSTANT_COLUMN + 1, joined(row.source, row.note), "plan_text")
        places[row.name] = f"{CONSTANTS}!${column_letters(CONSTANT_COLUMN)}${at}"
    page.widths(44, 14, 30, 22, 70)
    return page, places


def _read_rows(problems: Sequence[Problem]) -> Iterator[Row]:
    """The rows that the answers are made of, but for what is given."""
    for answer in (problem.answer for problem in problems if problem.answer):
        yield from (row for row in answer.rows if row.name not in answer.given)

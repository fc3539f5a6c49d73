"""A chapter's sheet with its problems and their working, one below the other; and the sheet Constants that they share.

A problem's block has its given values and every row from there to its answer as live formulas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from openpyxl.workbook import Workbook

from planner.book.formulas_in_names import GIVEN as TYPED
from planner.book.formulas_in_names import OR, or_missing, overridable
from planner.book.problem_book import CONSTANTS, INDEX
from planner.catalog import Value
from planner.formulas.explanation import in_names
from planner.formulas.template import BY_ID, CALCULATED, Row
from planner.formulas.units import parse_unit
from planner.teaching.problems import Answer, Problem
from planner.terminal_table import joined
from planner.workbook.build_plan import shared_rows
from planner.workbook.cell_styles import ENGINEERING, RATIO, SMALL, number_format, row_format
from planner.workbook.database_sheets import DatabaseSheets, looked_up
from planner.workbook.inputs_sheet import validate
from planner.workbook.page import Live, Page, whole_as_int
from planner.xlsx.address import address, column_letters

LABEL, UNIT, NAME, GIVEN, VALUE, FORMULA, SOURCE = range(1, 8)
TITLES = ("Quantity", "Unit", "Name", "Given", "Computed", "Formula in names", "Note and source")
FACTOR, ANSWER = "unit_factor", "answer_in_unit"
IDS = {"model": ("Model", "models"), "hardware": ("Chip", "hardware")}
HEADER_ROW, A3 = 3, 8
PURPOSE = "Blue cells are yours to change: what is below them follows. A problem's title leads back to Book."


@dataclass(frozen=True)
class BlockLine:
    """A row of a block: its texts, its typed value, and the formula of its value."""

    label: str
    unit: str
    name: str
    names: str
    note: str
    formula: str
    style: str
    form: str
    is_open: bool = False  # whether a value may be typed
    given: Value = None
    row: Row | None = None


@dataclass(frozen=True)
class ProblemBlock:
    """The location of a problem on its chapter's sheet."""

    problem: Problem
    answer: Answer
    page: Page
    title: int
    bottom: int

    @property
    def value(self) -> str:
        """A reference to the answer's cell from another sheet."""
        return f"{self.page.name}!{address(self.bottom, VALUE)}"


class BlockLines:
    """The lines of a problem's block, which begins in row `top`."""

    def __init__(
        self, problem: Problem, answer: Answer, top: int, constants: Mapping[str, str], tables: DatabaseSheets
    ) -> None:
        self.problem, self.answer, self.constants, self.tables = problem, answer, constants, tables
        self.at = top
        self.places: dict[str, int] = {}
        self.lines: list[BlockLine] = []
        for line in self._lines():
            self.places[line.name] = self.at
            self.lines.append(line)
            self.at += 1

    def placed(self) -> Iterator[tuple[BlockLine, int]]:
        """Each line with its row number."""
        return zip(self.lines, self.places.values(), strict=True)

    def _lines(self) -> Iterator[BlockLine]:
        looked = {row.kind for row in self.answer.rows if row.name not in self.answer.given}
        for kind, chosen in (("model", self.answer.model), ("hardware", self.answer.hardware)):
            if kind in looked:
                yield from self._chosen(kind, chosen)
        for row in self.answer.rows:
            yield self._line(row)
        if self.answer.factor is not None:
            yield from self._in_unit(self.answer.factor)

    def _chosen(self, kind: str, chosen: str | None) -> Iterator[BlockLine]:
        """The chosen model or chip, and its row in the database."""
        label, table = IDS[kind]
        given = or_missing(address(self.at, GIVEN))
        choose = "choose another from the list"
        yield BlockLine(label, "text", f"{kind}_id", TYPED, choose, given, "plan_formula", "@", True, chosen)
        matched = f"MATCH({address(self.at - 1, VALUE)},{self.tables[table].ids},0)"
        said = (f"Row of {self.tables[table].page.name}", "1", f"{kind}_row", f"MATCH({kind}_id,{table},0)", "")
        yield BlockLine(*said, matched, "plan_formula", "0")

    def _line(self, row: Row) -> BlockLine:
        note = joined(row.note, row.source)
        form, typed = row_format(row), address(self.at, GIVEN)
        style = "plan_answer" if row is self.answer.output and self.answer.factor is None else "plan_formula"
        said = (row.label, row.unit, row.name)
        if row.name in self.answer.given or row.kind == "input":
            is_given = row.name in self.answer.given
            value = self.answer.given[row.name] if is_given else row.default
            note = joined(_instead(row, is_given), note)
            return BlockLine(*said, TYPED, note, or_missing(typed), style, form, True, value, row)
        if row.kind == "constant":
            return BlockLine(*said, f"Constants[{row.name}]", note, self.constants[row.name], "plan_cross", form)
        if row.kind in CALCULATED:
            return BlockLine(*said, row.formula, note, row.expression.substitute(self.reference), style, form)
        formula = looked_up(row, self.tables, self._matched, self.reference)
        if row.kind in BY_ID:
            return BlockLine(*said, in_names(row), note, formula, style, form)
        return BlockLine(*said, OR + in_names(row), note, overridable(typed, formula), style, form, True, None, row)

    def _matched(self, kind: str) -> str:
        return f"{column_letters(VALUE)}${self.places[f'{kind}_row']}"

    def _in_unit(self, factor: float) -> Iterator[BlockLine]:
        """The answer in the source's unit, if it differs from the template's."""
        output, form = self.answer.output, ENGINEERING if factor < SMALL else RATIO
        said = ("Factor to the source's unit", "1", FACTOR, TYPED, self.problem.mapping)
        yield BlockLine(*said, or_missing(address(self.at, GIVEN)), "plan_formula", form, True, factor)
        formula = f"{self.reference(output.name)}*{self.reference(FACTOR)}"
        names, note = f"{output.name}*{FACTOR}", f"the source's unit: {self.problem.unit}"
        said = ("Answer in the source's unit", unit_of(self.problem), ANSWER, names, note)
        yield BlockLine(*said, formula, "plan_answer", form_of(self.problem))

    def reference(self, name: str) -> str:
        """The cell reference of a name in this block."""
        return address(self.places[name], VALUE)


def _instead(row: Row, is_given: bool) -> str:
    """What a typed value replaces: a formula, or the template's default."""
    if row.kind == "input":
        return "" if is_given or row.default is None else "the template's default"
    return f"given in place of {in_names(row) or row.formula}"


def unit_of(problem: Problem) -> str:
    """The unit of a problem's answer: the template's, or the source's if a factor is given; 1 for a count."""
    if problem.answer is not None and problem.answer.factor is None:
        return problem.answer.output.unit
    try:
        parse_unit(problem.unit)
    except ValueError:
        return "1"
    return problem.unit


def form_of(problem: Problem) -> str:
    """The number format of a problem's answer."""
    assert problem.answer is not None, "a problem without a template has no answer"
    if problem.answer.factor is None:
        return row_format(problem.answer.output)
    return RATIO if unit_of(problem) == "1" else number_format(unit_of(problem))


def _write(page: Page, title: int, lines: BlockLines) -> ProblemBlock:
    """Write a block's lines; `title` is the row of its title above them."""
    for line, at in lines.placed():
        page.put(at, LABEL, line.label, "plan_key" if line.style == "plan_answer" else "plan_label")
        for column, text in ((UNIT, line.unit), (NAME, line.name), (SOURCE, line.note)):
            page.put(at, column, text, "plan_text")
        page.put(at, FORMULA, line.names, "plan_beside")
        page.put(at, GIVEN, None, "plan_text")
        if line.is_open:
            given = "#N/A" if line.given is None and line.names == TYPED else whole_as_int(line.given)
            page.put(at, GIVEN, given, "plan_input", line.form)
        page.put(at, VALUE, Live(line.formula), line.style, line.form)
    return ProblemBlock(lines.problem, lines.answer, page, title, max(lines.places.values()))


@dataclass(frozen=True)
class Listed:
    """The index's cells for a problem's title, its exact answer and the answer that the source prints."""

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
        """Write a problem's title, its description, its working, and what its answer is compared with."""
        assert problem.answer is not None, "a problem without a template has no working"
        page, top = self.page, self._at
        page.section(top, f"{problem.id}: {problem.question}", SOURCE)
        sheet, _, title = listed.title.partition("!")
        page.link(top, LABEL, sheet, title)
        for self._at, (text, style) in enumerate(_description(problem), start=top + 1):
            page.put(self._at, LABEL, text, style)
        lines = BlockLines(problem, problem.answer, self._at + 1, constants, tables)
        written = _write(page, top, lines)
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
        """Set data validation and conditional formats of missing values, and the columns' widths."""
        page = self.page
        for line, cells in self._open.values():
            reference = " ".join(cells)
            if line.row is None and line.unit == "text":
                table = IDS[line.name.removesuffix("_id")][1]
                prompt = f"Choose an id of the {table.capitalize()} sheet."
                page.choose(reference, ranges[table], line.label, prompt)
            else:
                row = line.row or Row(line.name, line.label, line.unit, "input", "")
                validate(page, row, reference, ranges, overriding=line.names != TYPED)
        page.grey_missing(f"{address(HEADER_ROW + 1, VALUE)}:{address(self._at, VALUE)}")
        page.widths(40, 12, 28, 21, 21, 60, 64)
        page.sheet.page_setup.paperSize = A3
        page.sheet.print_area = f"A1:{address(self._at, SOURCE)}"


def _description(problem: Problem) -> Iterator[tuple[str, str]]:
    """The lines below a problem's title: its source, its wording, and remarks."""
    yield f"{problem.source}{': ' + problem.symbols if problem.symbols else ''}", "plan_text"
    if problem.mapping:
        yield f"Put as: {problem.mapping}", "plan_text"
    if problem.explanation:
        yield problem.explanation, "plan_label"


CONSTANTS_PURPOSE = "The numbers that the templates fix, each in one cell that all problems read."
CONSTANTS_TITLES = ("Quantity", "Unit", "Name", "Constant", "Source")
CONSTANT_COLUMN = 4
TOLERANCE = Row(
    "answer_tolerance",
    "Difference that counts as agreement",
    "1",
    "constant",
    "1e-7",
    "The sources' exact answers, kept to eight digits",
    "relative",
)


def write_constants(book: Workbook, problems: Sequence[Problem]) -> tuple[Page, dict[str, str]]:
    """Write the sheet; returns it, and an absolute reference to each constant by name.

    Raises UserError if two templates define a name with different numbers.
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
    """The rows that the answers depend on, except for given values."""
    for answer in (problem.answer for problem in problems if problem.answer):
        yield from (row for row in answer.rows if row.name not in answer.given)

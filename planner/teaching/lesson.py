"""Builds the teaching workbook: first Book, then the sheets that its problems read, then a sheet for each chapter."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap

from openpyxl.workbook import Workbook

from planner.book.problem_book import CONSTANTS, INDEX
from planner.catalog import Table, Value
from planner.catalog.databases import Databases
from planner.dates import made_now
from planner.errors import UserError
from planner.formulas.explanation import in_names
from planner.teaching import chapter, problems
from planner.teaching.chapter import A3, TOLERANCE, Chapter, Listed, ProblemBlock, form_of, unit_of, write_constants
from planner.teaching.problems import Answer, Problem
from planner.terminal_table import counted
from planner.workbook import cell_styles, cover, database_sheets
from planner.workbook.book import finished
from planner.workbook.cell_styles import BROWN, ORANGE, PALE_RED, PERCENT, RED, number_format
from planner.workbook.layout import sheet_name
from planner.workbook.page import Live, Page
from planner.xlsx.address import address, column_letters

COLOURS = (
    ("plan_input", "what a problem gives; yours to change"),
    ("plan_formula", "a formula"),
    ("plan_output", "a problem's answer"),
    ("plan_cross", "a link to another sheet"),
    ("plan_constant", "a number of the source, or a constant"),
    ("plan_check", "1: the answer is the exact one; 0: it is not, as after an input has been changed"),
)
ADVICE = (
    "Start on Book: a problem's id leads to its working, and the working's title back.",
    "In a working, type over a blue cell under Given; a blank one takes the number of Models or Hardware.",
    "Exact is the source's own arithmetic; Printed is what it prints; Rounding is half a unit of its last digit.",
    "Orange rows are off in print by more than rounding: the last column says why.",
)


def build(databases: Databases, file: Path | None = None) -> tuple[bytes, int]:
    """The workbook as .xlsx bytes, with a cached value in every formula cell, and the number of problems it answers.

    `file` contains other problems than the shipped ones. Two builds with the same SOURCE_DATE_EPOCH are byte-identical.
    Raises UserError for an error in a problem.
    """
    found, digest = problems.load(databases.models, databases.hardware, file)
    book = cell_styles.new_book()
    made = made_now()
    listing = Index(book, found)
    fixed, constant = write_constants(book, found)
    rows = [row for problem in found if problem.answer for row in problem.answer.rows]
    read = databases.of_kinds({"model", "hardware", "dtype", *(row.kind for row in rows)})
    tables = {table.kind: database_sheets.write(book, table) for table in read}
    ranges = {kind: table.ids for kind, table in tables.items()}
    chapters = _chapters(book, listing.answered)
    blocks = {
        problem.id: chapters[problem.chapter].write(problem, listing.listed(problem), constant, tables)
        for problem in listing.answered
    }
    for each in chapters.values():
        each.finish(ranges)
    listing.write(blocks, constant[TOLERANCE.name])
    pages = [
        listing.page,
        fixed,
        *(table.page for table in tables.values()),
        *(each.page for each in chapters.values()),
        cover.write_log(book, made.date()),
    ]
    digests = _digests(found, digest, read)
    contents = _contents(pages, chapters, found)
    front = cover.write_cover(book, _front(listing), made.date(), digests, contents, listing.master)
    book._sheets = [page.sheet for page in (front, *pages)]
    for page in pages:
        page.finish(listing.master)
    front.finish(None)
    return finished(book, [front, *pages], made), len(listing.answered)


def _chapters(book: Workbook, answered: Sequence[Problem]) -> dict[str, Chapter]:
    """A sheet for each chapter with an answered problem, in order."""
    chapters: dict[str, Chapter] = {}
    for title in dict.fromkeys(problem.chapter for problem in answered):
        name = sheet_name(title.partition(":")[0])
        taken = {INDEX, CONSTANTS, *(each.page.name for each in chapters.values())}
        if name in taken:
            what = f"the chapter {title!r} would be the sheet {name}, which exists"
            raise UserError(what, remedy="choose another name")
        chapters[title] = Chapter(book, name, title)
    return chapters


def _front(listing: Index) -> cover.Front:
    works = " and ".join(dict.fromkeys(problem.work for problem in listing.answered))
    return cover.Front(
        "The worked problems",
        f"Of {works}: each a live formula beside the exact answer and what the source prints.",
        [("Problems", listing.count)],
        COLOURS,
        ("How to use it", ADVICE),
    )


def _contents(pages: Sequence[Page], chapters: Mapping[str, Chapter], found: Sequence[Problem]) -> dict[str, str]:
    """The Cover's description of each sheet."""
    counts = Counter(problem.chapter for problem in found if problem.answer)
    said = {
        each.page.name: f"{title.partition(': ')[2]}; {counted(counts[title], 'problem')}"
        for title, each in chapters.items()
    }
    said[INDEX] = "every problem, its answer and what the source prints; filter it by chapter or template"
    return {page.name: said.get(page.name, "") for page in pages}


def _digests(found: Sequence[Problem], digest: str, tables: Sequence[Table]) -> dict[str, str]:
    digests = {name: each for table in tables for name, each in table.digests.items()} | {
        f"{problems.NAME}.csv": digest
    }
    for problem in found:
        if problem.answer is not None:
            digests |= {f"{name}.csv": each for name, each in problem.answer.template.digests.items()}
    return digests


PURPOSE = "Each worked problem as a live formula; its id leads to the working, where every input can be changed."
TITLES = (
    "Problem", "Chapter", "Question", "Template", "Formula in names", "Given", "Answer", "Unit", "Exact", "Off exact",
    "Agrees", "Printed", "Rounding", "Off printed", "In print", "What is to be known",
)  # fmt: skip
(PROBLEM, CHAPTER, QUESTION, TEMPLATE, FORMULA, GIVEN, RESULT, UNIT, EXACT, OFF_EXACT, AGREES, PRINTED, ROUNDING,
 OFF_PRINTED, VERDICT, KNOWN) = range(1, len(TITLES) + 1)  # fmt: skip
WIDTHS = (16, 12, 34, 13, 34, 36, 17, 11, 17, 9, 8, 17, 14, 10, 12, 46)
STYLES = {
    CHAPTER: "plan_text",
    TEMPLATE: "plan_text",
    UNIT: "plan_beside",
    QUESTION: "plan_wrapped",
    FORMULA: "plan_told",
    GIVEN: "plan_told",
    KNOWN: "plan_wrapped",
}
NUMBERS = (RESULT, EXACT, OFF_EXACT, AGREES, PRINTED, ROUNDING, OFF_PRINTED)
LINE, MARGIN = 13.0, 3.0  # points: height of a text line, and a row's vertical margin
SUMMARY_ROW, HEADER_ROW, FIRST_ROW = 3, 5, 6
AS_PRINTED, OFF, SILENT = "as printed", "off", "not printed"
DIFFERENCE = "0.0E+0"
DIGITS = 12  # decimals of a difference: beyond, spreadsheet programs differ


class Index:
    """The index sheet, which is written along with the chapters, as each answer's cell becomes known."""

    def __init__(self, book: Workbook, problems: Sequence[Problem]) -> None:
        corner, titles = address(FIRST_ROW, CHAPTER), f"{HEADER_ROW}:{HEADER_ROW}"
        self.page = Page(book, INDEX, INDEX, PURPOSE, corner=corner, titles=titles)
        self.answered = [problem for problem in problems if problem.answer is not None]
        self.waiting = [problem for problem in problems if problem.answer is None]
        self.firsts = {problem.chapter: problem.id for problem in reversed(self.answered)}.values()
        self.rows = {problem.id: at for at, problem in enumerate(self.answered, start=FIRST_ROW)}

    @property
    def last(self) -> int:
        """The last row of an answered problem."""
        return FIRST_ROW + len(self.answered) - 1

    @property
    def master(self) -> str:
        """The formula for the number of problems whose answer differs from the exact one."""
        return f"COUNTIF({self._column(AGREES)},0)"

    @property
    def count(self) -> str:
        """The formula for the number of problems."""
        return f'COUNTIF({self._column(PROBLEM)},"*")'

    def _column(self, column: int) -> str:
        return f"{INDEX}!${column_letters(column)}${FIRST_ROW}:${column_letters(column)}${max(self.last, FIRST_ROW)}"

    def listed(self, problem: Problem) -> Listed:
        """The cells of a problem's row that its block refers to."""
        at = self.rows[problem.id]
        exact, printed = (f"{INDEX}!${column_letters(column)}${at}" for column in (EXACT, PRINTED))
        return Listed(f"{INDEX}!{address(at, PROBLEM)}", exact, printed)

    def write(self, blocks: Mapping[str, ProblemBlock], tolerance: str) -> Page:
        """Write every row. `tolerance` is the cell with the difference that still counts as agreement."""
        self._summary()
        self.page.header(TITLES, HEADER_ROW, right=NUMBERS)
        for problem in self.answered:
            self._row(problem, blocks[problem.id], self.rows[problem.id], tolerance)
        self._colours()
        self.page.sheet.auto_filter.ref = f"{address(HEADER_ROW, 1)}:{address(max(self.last, HEADER_ROW), len(TITLES))}"
        if self.waiting:
            self._unanswered(max(self.last, HEADER_ROW) + 3)
        self.page.widths(*WIDTHS)
        self.page.sheet.page_setup.paperSize = A3
        return self.page

    def _summary(self) -> None:
        """Write three live counts above the table, and the tolerance."""
        counts = (
            (PROBLEM, "Live formulas", self.count),
            (QUESTION, "agree with the exact answer", f"SUM({self._column(AGREES)})"),
            (FORMULA, "printed otherwise than rounding explains", f'COUNTIF({self._column(VERDICT)},"{OFF}")'),
        )
        for column, label, formula in counts:
            self.page.put(SUMMARY_ROW, column, label, "plan_label")
            self.page.put(SUMMARY_ROW, column + 1, Live(formula), "plan_formula_text", "0")
        self.page.put(SUMMARY_ROW, GIVEN, "decimals of a difference that count", "plan_label")
        self.page.put(SUMMARY_ROW, RESULT, DIGITS, "plan_constant", "0")

    def _row(self, problem: Problem, written: ProblemBlock, at: int, tolerance: str) -> None:
        page, answer = self.page, written.answer
        form = form_of(problem)
        page.put(at, PROBLEM, problem.id, "plan_link")
        page.link(at, PROBLEM, written.page.name, address(written.title, chapter.LABEL))
        texts = {
            CHAPTER: problem.chapter.partition(":")[0],
            QUESTION: problem.question,
            TEMPLATE: answer.template.name,
            FORMULA: _formula(answer),
            GIVEN: _given(answer),
            UNIT: unit_of(problem),
            KNOWN: _known(problem),
        }
        self._say(at, texts)
        if problem.id in self.firsts:
            page.put(at, CHAPTER, texts[CHAPTER], "plan_key")
        page.put(at, RESULT, Live(written.value), "plan_cross", form)
        page.put(at, EXACT, problem.exact, "plan_constant", form)
        page.put(at, PRINTED, problem.printed, "plan_constant", form)
        page.put(at, ROUNDING, problem.rounding, "plan_constant", form)
        result, exact, printed, rounding = (address(at, column) for column in (RESULT, EXACT, PRINTED, ROUNDING))
        digits = f"${column_letters(RESULT)}${SUMMARY_ROW}"
        difference = f"IF({exact}=0,{result},ROUND({result}/{exact}-1,{digits}))"
        page.put(at, OFF_EXACT, Live(difference), "plan_formula", DIFFERENCE)
        page.put(at, AGREES, Live(f"IF(ABS({address(at, OFF_EXACT)})<={tolerance},1,0)"), "plan_check", "0")
        off = f'IF({printed}="","",IF({printed}=0,{result},ROUND({result}/{printed}-1,{digits})))'
        page.put(at, OFF_PRINTED, Live(off), "plan_formula", PERCENT)
        is_rounded = f"ABS({result}-{printed})<={rounding}+{tolerance}*ABS({printed})"
        verdict = f'IF({printed}="","{SILENT}",IF({is_rounded},"{AS_PRINTED}","{OFF}"))'
        page.put(at, VERDICT, Live(verdict), "plan_verdict", "@")

    def _say(self, at: int, texts: Mapping[int, str]) -> None:
        """Write the texts of a row by column, with the row height that the longest one needs."""
        for column, text in texts.items():
            self.page.put(at, column, text, STYLES.get(column, "plan_text"))
        lines = max(len(wrap(texts.get(column, ""), WIDTHS[column - 1])) for column in STYLES)
        self.page.rows[at].height = LINE * max(lines, 1) + MARGIN

    def _colours(self) -> None:
        """Highlight answers that differ from the exact one, and printed numbers that rounding doesn't explain."""
        last, page = max(self.last, FIRST_ROW), self.page
        agrees, verdict = f"${address(FIRST_ROW, AGREES)}", f"${address(FIRST_ROW, VERDICT)}"
        answers = f"{address(FIRST_ROW, RESULT)}:{address(last, AGREES)}"
        prints = f"{address(FIRST_ROW, PRINTED)}:{address(last, KNOWN)}"
        page.colour(answers, f"{agrees}=0", ink=RED, fill=PALE_RED, bold=True)
        page.colour(prints, f'{verdict}="{OFF}"', ink=BROWN, fill=ORANGE)

    def _unanswered(self, top: int) -> None:
        """Write the problems that no template covers, with the reason."""
        page = self.page
        page.section(top, "Without a formula here, and why", len(TITLES))
        for at, problem in enumerate(self.waiting, start=top + 1):
            texts = {
                PROBLEM: problem.id,
                CHAPTER: problem.chapter.partition(":")[0],
                QUESTION: problem.question,
                FORMULA: problem.mapping,
                GIVEN: problem.symbols,
                UNIT: problem.unit,
                KNOWN: problem.explanation,
            }
            self._say(at, texts)
            page.put(at, EXACT, problem.exact, "plan_constant", number_format(""))
            page.put(at, PRINTED, problem.printed, "plan_constant", number_format(""))


def _formula(answer: Answer) -> str:
    """The output's formula, with spaces where a line may break."""
    text = in_names(answer.output) or answer.output.name
    return f"{answer.output.name} = " + re.sub("([*/+,])", r"\1 ", text)


def _given(answer: Answer) -> str:
    """The problem's given values that its answer depends on."""
    named = [("model", answer.model), ("chip", answer.hardware)]
    looked = {row.kind.replace("hardware", "chip") for row in answer.rows if row.name not in answer.given}
    texts = [f"{kind} {chosen}" for kind, chosen in named if chosen and kind in looked]
    used = [row.name for row in answer.rows if row.name in answer.given]
    return "; ".join([*texts, *(f"{name} = {_shown(answer.given[name])}" for name in used)])


def _shown(value: Value) -> str:
    return f"{value:.10g}".replace("e+", "e") if isinstance(value, float) else str(value)


def _known(problem: Problem) -> str:
    put = f"Put as: {problem.mapping}." if problem.mapping else ""
    return " ".join(text for text in (problem.explanation, put) if text)

"""The workbook that teaches, put together: Book first, then what its problems read, then a sheet for each chapter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from openpyxl.workbook import Workbook

from planner.catalog import Table
from planner.catalog.databases import Databases
from planner.errors import UserError
from planner.table import counted
from planner.teaching import problems
from planner.teaching.chapter import CONSTANTS, INDEX, TOLERANCE, Chapter, write_constants
from planner.teaching.index import Index
from planner.teaching.problems import Problem
from planner.workbook import cell_styles, cover, database_sheets
from planner.workbook.book import build_date, finished
from planner.workbook.layout import sheet_name
from planner.workbook.page import Page

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
    """The workbook as the bytes of an .xlsx, a cached value in every formula cell, and how many problems it answers.

    `file` holds other problems than the shipped ones. Two builds under the same SOURCE_DATE_EPOCH are byte-identical.
    Raises UserError for a fault in a problem.
    """
    found, digest = problems.load(databases.models, databases.hardware, file)
    book = Workbook()
    book.remove(book.active)
    cell_styles.install(book)
    made = build_date()
    listing = Index(book, found)
    fixed, constant = write_constants(book, found)
    rows = [row for problem in found if problem.answer for row in problem.answer.rows]
    read = databases.of_kinds({"model", "hardware", "dtype", *(row.kind for row in rows)})
    tables = {table.kind: database_sheets.write(book, table) for table in read}
    ranges = {kind: table.ids for kind, table in tables.items()}
    chapters = _chapters(book, listing.answered)
    blocks = {problem.id: chapters[problem.chapter].write(problem, listing.listed(problem), constant, tables)
              for problem in listing.answered}  # fmt: skip
    for chapter in chapters.values():
        chapter.finish(ranges)
    listing.write(blocks, constant[TOLERANCE.name])
    pages = [listing.page, fixed, *(table.page for table in tables.values()),
             *(chapter.page for chapter in chapters.values()), cover.write_log(book, made.date())]  # fmt: skip
    digests = _digests(found, digest, read)
    contents = _contents(pages, chapters, found)
    front = cover.write_cover(book, _front(listing), made.date(), digests, contents, listing.master)
    book._sheets = [page.sheet for page in (front, *pages)]
    for page in pages:
        page.finish(listing.master)
    front.finish(None)
    return finished(book, [front, *pages], made), len(listing.answered)


def _chapters(book: Workbook, answered: Sequence[Problem]) -> dict[str, Chapter]:
    """A sheet for each chapter that has a problem with an answer, in order."""
    chapters: dict[str, Chapter] = {}
    for title in dict.fromkeys(problem.chapter for problem in answered):
        name = sheet_name(title.partition(":")[0])
        taken = {INDEX, CONSTANTS, *(chapter.page.name for chapter in chapters.values())}
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
        [("Problems", listing.count)], COLOURS, ("How to use it", ADVICE),
    )  # fmt: skip


def _contents(pages: Sequence[Page], chapters: Mapping[str, Chapter], found: Sequence[Problem]) -> dict[str, str]:
    """What Cover says of each sheet."""
    counts = Counter(problem.chapter for problem in found if problem.answer)
    said = {chapter.page.name: f"{title.partition(': ')[2]}; {counted(counts[title], 'problem')}"
            for title, chapter in chapters.items()}  # fmt: skip
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

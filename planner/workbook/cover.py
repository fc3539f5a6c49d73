"""Cover and Log: what the workbook is, what it was made from, and how to adapt it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from openpyxl.workbook import Workbook

from planner import __version__
from planner.book import rowkeys
from planner.workbook import cell_styles, layout
from planner.workbook.build_plan import BuildPlan
from planner.workbook.layout import in_row
from planner.workbook.page import Live, Page
from planner.workbook.verdict import FrontTexts, colour_verdict
from planner.workbook.wrapping import LINE_HEIGHT
from planner.xlsx.address import column_letters

EIGHT = 8  # rows for scenarios come in multiples of eight: closed ones for added scenarios
SCENARIO, LAST = (27, 15, 21), 25  # widths of the verdicts: scenario, verdict and memory; what to change first
HEADLINES, LEAST = 95, 17  # of all headlines between, which a laptop's screen has room for, and of each at least
HOW_TO = (
    "Another scenario: copy a column one to the right on Inputs, Dashboard, Constraints, Checks and the calculation "
    "sheets.",
    "Then type its id and name, choose its model and chip on Inputs; every dropdown already reaches the new column.",
)
SCENARIOS = "Your own scenarios"
KEY = {"plan_cross": "link", "plan_absent": "N/A"}  # names of styles in the colour key that differ from the style's
COLOURS = (
    ("plan_input", "a number or a choice that is yours to change"),
    ("plan_formula", "a formula; type an override on Inputs, not over it"),
    ("plan_cross", "a link to another sheet"),
    ("plan_measured", "a measured number, written by planner measure"),
    ("plan_check", "a check: 1 holds, 0 fails"),
    ("plan_overridden", "an override, or a number that was typed over its formula"),
    ("plan_failed", "a check that fails, or more memory than there is"),
    ("plan_absent", "N/A: a number that nobody knows; or of a workload that the scenario isn't meant for"),
)


@dataclass(frozen=True)
class Front:
    """The content of a workbook's Cover, apart from the versions, sheets and digests that every Cover has."""

    title: str
    purpose: str
    counts: Sequence[tuple[str, str]]  # label and formula
    colours: Sequence[tuple[str, str]]  # style and meaning
    advice: tuple[str, Sequence[str]]  # a heading and its lines
    verdicts: Verdicts | None = None


@dataclass(frozen=True)
class Verdicts:
    """The verdict of each scenario: titles, and the ranges of Dashboard over all scenarios that have it."""

    titles: Sequence[str]
    ranges: Sequence[str]
    names: str
    filled: int


def plan_front(plan: BuildPlan, texts: FrontTexts) -> Front:
    """The front of a planning workbook; `texts` are those of Dashboard."""
    ids = plan.columns.across("Inputs", layout.ID_ROW)
    purpose = "Predictions of a large language model's memory, speed and cost, as live formulas."
    ranges = [plan.columns.across("Dashboard", row) for row in texts.rows]
    names = plan.columns.across("Dashboard", layout.TITLE_ROW)
    verdicts = Verdicts(texts.titles, ranges, names, plan.columns.filled)
    counts = [("Scenarios", f"COUNTA({ids})")]
    return Front(rowkeys.COVER_TITLE, purpose, counts, COLOURS, (SCENARIOS, HOW_TO), verdicts)


def write_cover(
    book: Workbook, front: Front, made: date, digests: Mapping[str, str], sheets: Mapping[str, str], master: str
) -> Page:
    """Write the Cover: each scenario's verdict, contents, colour key, advice, and in closed rows source digests.

    `sheets` has the description of each sheet by name; `master` is the formula that counts failed checks.
    """
    page = Page(book, "Cover", front.title, front.purpose, corner="A4", titles="1:2")
    at = _verdicts(page, front.verdicts, 4) if front.verdicts else 4
    for label, value in (("Version", __version__), ("Made on", made)):
        page.put(at, 1, label, "plan_label")
        page.put(at, 2, value, "plan_fact", "yyyy-mm-dd" if isinstance(value, date) else None)
        at += 1
    for label, formula in (*front.counts, ("Failed checks", master)):
        page.put(at, 1, label, "plan_label")
        page.put(at, 2, Live(formula), "plan_formula_text", "0")
        at += 1
    at = _rows(page, at + 1, "Sheets", list(sheets.items()))
    for row, name in enumerate(sheets, start=at - len(sheets) - 1):
        page.put(row, 1, name, "plan_link")
        page.link(row, 1, name, "A1")
    at = _rows(page, at, "Colours", [("", meaning) for _, meaning in front.colours])
    for row, (style, _) in enumerate(front.colours, start=at - len(front.colours) - 1):
        page.put(row, 1, KEY.get(style, style.removeprefix(cell_styles.PREFIX)), style)
    heading, lines = front.advice
    at = _rows(page, at, heading, [(line, "") for line in lines])
    below = _rows(page, at, "Made from (SHA-256)", list(digests.items()))
    page.close_rows(range(at + 1, below - 1))
    page.widths(*(_widths(front.verdicts) if front.verdicts else (34, 84)))
    page.pages_high = 1
    return page


def _widths(verdicts: Verdicts) -> list[int]:
    """The widths of the columns of verdicts: the more headlines, the narrower is each."""
    count = len(verdicts.titles) - len(SCENARIO)  # titles name all columns but the first
    return [*SCENARIO, *[max(LEAST, HEADLINES // max(1, count))] * count, LAST]


def _verdicts(page: Page, verdicts: Verdicts, at: int) -> int:
    """Write a row for each scenario, and closed spare ones; returns the next free row.

    The last column, which is closed, has the position of the row's scenario in the ranges of Dashboard, from 2 on.
    """
    last = len(verdicts.titles) + 2
    for column, title in enumerate((rowkeys.VERDICTS, *verdicts.titles, "Column"), start=1):
        page.put(at, column, title, "plan_titles")
    page.rows[at].height = 3 * LINE_HEIGHT + 2
    spare = EIGHT - verdicts.filled % EIGHT
    rows = range(at + 1, at + 1 + verdicts.filled + spare)
    for place, row in enumerate(rows, start=2):
        which = f"${column_letters(last)}{row}"
        name = in_row(verdicts.names, which)
        page.put(row, 1, Live(f'IFERROR(IF({name}="","",{name}),"")'), "plan_lead_words")
        for column, across in enumerate(verdicts.ranges, start=2):
            style = "plan_lead_words" if column == 2 else "plan_words"
            page.put(row, column, Live(f'IF($A{row}="","",IFERROR({in_row(across, which)},""))'), style, "@")
        page.put(row, last, place, "plan_constant", "0")
        page.rows[row].height = 3 * LINE_HEIGHT + 2  # room for a range with its bound, of five digits each
        page.link(row, 1, "Dashboard", "A1")
    page.close_rows(range(at + 1 + verdicts.filled, rows.stop))
    page.sheet.column_dimensions[column_letters(last)].hidden = True
    colour_verdict(page, f"B{rows.start}:B{rows.stop - 1}", f"B{rows.start}")
    return rows.stop + 1


def _rows(page: Page, at: int, title: str, rows: Sequence[tuple[str, str]]) -> int:
    page.section(at, title, 2)
    below = at + 1
    for at, (first, second) in enumerate(rows, start=below):
        page.put(at, 1, first, "plan_label")
        page.put(at, 2, second, "plan_beside" if second else "plan_text")
    return at + 2


def write_log(book: Workbook, made: date) -> Page:
    """Write the Log: a line for each version of the workbook, to be continued by an analyst."""
    page = Page(book, "Log", "Log", "One line for each version; add yours.", corner="A6")
    page.header(["Version", "Date", "What changed"], row=5)
    page.put(6, 1, __version__, "plan_text")
    page.put(6, 2, made, "plan_fact", "yyyy-mm-dd")
    page.put(6, 3, "Built by planner", "plan_text")
    page.widths(14, 14, 60)
    return page

"""Cover and Log: what the workbook is, what it was made of, and how to make it one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from openpyxl.workbook import Workbook

from planner import __version__
from planner.workbook import layout
from planner.workbook.build_plan import BuildPlan
from planner.workbook.page import Live, Page

HOW_TO = (
    "Another scenario: copy a column one to the right on Inputs, Dashboard, Constraints, Checks and the calculation "
    "sheets.",
    "Then type its id and name, choose its model and chip on Inputs; every dropdown already reaches the new column.",
)
SCENARIOS = "Your own scenarios"
KEY = {"plan_cross": "link", "plan_absent": "N/A"}  # what the colour key calls a style, where not by its name
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
    """What one workbook's Cover says of it: beside the versions, the sheets and the digests that every Cover has."""

    title: str
    purpose: str
    counts: Sequence[tuple[str, str]]  # label and formula
    colours: Sequence[tuple[str, str]]  # style and meaning
    advice: tuple[str, Sequence[str]]  # a heading and its lines


def plan_front(plan: BuildPlan) -> Front:
    """The front of a planning workbook."""
    ids = plan.columns.across("Inputs", layout.ID_ROW)
    purpose = "Predictions of a large language model's memory, speed and cost, as live formulas."
    return Front(
        "Plan", purpose, [("Scenarios", f"COUNTA({ids})")], COLOURS, (SCENARIOS, HOW_TO)
    )  # fmt: skip


def write_cover(
    book: Workbook, front: Front, made: date, digests: Mapping[str, str], sheets: Mapping[str, str], master: str
) -> Page:  # fmt: skip
    """Write the Cover: title, date, contents, colour key, advice, digests of every source.

    `sheets` holds what is said of each sheet, by its name; `master` counts the failed checks.
    """
    page = Page(book, "Cover", front.title, front.purpose, corner="A4", titles="1:2")
    at = 4
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
        page.put(row, 1, KEY.get(style, style.removeprefix("plan_")), style)
    heading, lines = front.advice
    at = _rows(page, at, heading, [(line, "") for line in lines])
    _rows(page, at, "Made from (SHA-256)", list(digests.items()))
    page.widths(34, 84)
    page.pages_high = 1
    return page


def _rows(page: Page, at: int, title: str, rows: Sequence[tuple[str, str]]) -> int:
    page.section(at, title, 2)
    below = at + 1
    for at, (first, second) in enumerate(rows, start=below):
        page.put(at, 1, first, "plan_label")
        page.put(at, 2, second, "plan_told" if second else "plan_text")
    return at + 2


def write_log(book: Workbook, made: date) -> Page:
    """Write the Log: a line for each version of the workbook; an analyst adds to it."""
    page = Page(book, "Log", "Log", "One line for each version; add yours.", corner="A6")
    page.put(5, 1, "Version", "plan_header")
    page.put(5, 2, "Date", "plan_header")
    page.put(5, 3, "What changed", "plan_header")
    page.put(6, 1, __version__, "plan_text")
    page.put(6, 2, made, "plan_fact", "yyyy-mm-dd")
    page.put(6, 3, "Built by planner", "plan_text")
    page.widths(14, 14, 60)
    return page

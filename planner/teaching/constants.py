"""The Constants sheet: every number that the templates fix, once for all problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openpyxl.workbook import Workbook

from planner.formulas.template import Row
from planner.teaching.problems import Problem
from planner.workbook.inputs import held
from planner.workbook.page import Page
from planner.workbook.styles import row_format
from planner.xlsx.address import column_letters

NAME = "Constants"
PURPOSE = "The numbers that the templates fix, each in one cell that all problems read."
TITLES = ("Quantity", "Unit", "Name", "Constant", "Source")
HEADER_ROW, VALUE = 3, 4
TOLERANCE = Row(
    "answer_tolerance", "Difference that counts as agreement", "1", "constant", "1e-7",
    "The sources' exact answers, kept to eight digits", "relative",
)  # fmt: skip


def write(book: Workbook, problems: Sequence[Problem]) -> tuple[Page, dict[str, str]]:
    """Write the sheet; returns it, and an absolute reference to each constant by name.

    Raises UserError where two templates mean different numbers by one name.
    """
    page = Page(book, NAME, NAME, PURPOSE, corner="B4", titles=f"{HEADER_ROW}:{HEADER_ROW}")
    page.header(list(TITLES), HEADER_ROW)
    page.section(HEADER_ROW + 1, "Constants", len(TITLES))
    places: dict[str, str] = {}
    for at, row in enumerate(_shared(problems).values(), start=HEADER_ROW + 2):
        for column, text in enumerate((row.label, row.unit, row.name), start=1):
            page.put(at, column, text, "plan_label" if column == 1 else "plan_text")
        page.put(at, VALUE, held(row.default), "plan_constant", row_format(row))
        page.put(at, VALUE + 1, "; ".join(text for text in (row.source, row.note) if text), "plan_text")
        places[row.name] = f"{NAME}!${column_letters(VALUE)}${at}"
    page.widths(44, 14, 30, 22, 70)
    return page, places


def _shared(problems: Sequence[Problem]) -> Mapping[str, Row]:
    rows = {TOLERANCE.name: TOLERANCE}
    for answer in (problem.answer for problem in problems if problem.answer):
        for row in answer.rows:
            if row.kind == "constant" and row.name not in answer.given:
                first = rows.setdefault(row.name, row)
                if (first.unit, first.default) != (row.unit, row.default):
                    here, there = f"{row.formula} {row.unit}", f"{first.formula} {first.unit}"
                    what = f"this constant is {here} here and {there} in {first.place}"
                    raise row.fault(what, "a name stands for one quantity in a workbook")
    return rows

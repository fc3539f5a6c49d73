"""Makes the record of what planner wrote (`memory.py`) from the pages of a workbook, and puts it on Cover."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter

from openpyxl.styles.stylesheet import write_stylesheet
from openpyxl.workbook import Workbook
from openpyxl.xml.functions import tostring

from planner.book import rowkeys
from planner.workbook import comparison_writer, layout
from planner.workbook.build_plan import BuildPlan
from planner.workbook.memory import (
    HEADING,
    NOTHING,
    SCENARIOS,
    BuiltSheet,
    FilledCells,
    Memory,
    of_formula,
    of_text,
    of_value,
)
from planner.workbook.own_runs import REACH
from planner.workbook.page import Filling, Live, Page
from planner.xlsx.address import Area, Position, column_letters
from planner.xlsx.grid import HERE
from planner.xlsx.pattern import pattern
from planner.xlsx.styles import Stylesheet
from planner.xlsx.xmltree import parse

_LOGICAL = re.compile(r"\b(?:TRUE|FALSE)\b")
Cells = Iterable[tuple[Position, Filling]]
BY_SCENARIO = ("dashboard", "inputs", "constraints", "checks")


def memory_of(plan: BuildPlan, book: Workbook, pages: Mapping[str, Page]) -> Memory:
    """The record of the pages, which are by kind."""
    styles = Stylesheet(parse(tostring(write_stylesheet(book))))
    axes = {key: values for page in pages.values() for key, values in page.swept.items()}
    sheets = {kind: _sheet(plan, kind, page) for kind, page in pages.items()}
    return Memory(sheets, [of_text(repr(look)) for look in styles.looks], axes, plan.columns.last)


def kinds_of(plan: BuildPlan, names: list[str]) -> dict[str, str]:
    """The kind of each sheet, by built name."""
    calculated = {sheet: f"calculation {template}" for template, sheet in plan.sheets.items()}
    return {name: calculated.get(name, name.lower()) for name in names}


def write(page: Page, memory: Memory) -> None:
    """Write the record at the end of Cover: a closed group with a row for each sheet."""
    heading = page.grid.size[0] + 2
    page.section(heading, HEADING, 2)
    lines = list(memory.texts())
    for at, (name, texts) in enumerate(lines, start=heading + 1):
        page.put(at, 1, name, "plan_label")
        for column, text in enumerate(texts, start=2):
            page.put(at, column, text, "plan_text")
    page.close_rows(range(heading + 1, heading + 1 + len(lines)))


def is_by_scenario(kind: str) -> bool:
    """Whether a sheet has a column for each scenario."""
    return kind in BY_SCENARIO or kind.startswith("calculation ")


def _sheet(plan: BuildPlan, kind: str, page: Page) -> BuiltSheet:
    cells = page.filled.items()
    end = 0
    columns: dict[int, str] = {}
    if is_by_scenario(kind):
        typed = _typed(each for each in cells if each[0][1] <= layout.SOURCE)
        rows = rowkeys.line_keys(typed, layout.HEADER_ROW, layout.LABEL, layout.NAME)
        columns = dict(enumerate(rowkeys.TEXTS, start=1))
        filled = list(_lines(plan, kind, page))
    elif kind in rowkeys.DATABASES:
        typed = _typed(cells)
        rows = rowkeys.database_keys(typed, layout.TABLE_HEADER_ROW, 1)
        columns = _names(typed[layout.TABLE_HEADER_ROW])
        filled, end = list(_all(cells)), max(rows) + layout.SPARE_ROWS
    elif kind == "comparison":
        head = comparison_writer.HEADER_ROW
        typed = _typed(each for each in cells if each[0][0] <= head)
        rows = {row: f"above {head - row}" for row in typed}
        columns = _names(typed[head])
        filled, end = list(_cases(plan, page, rows)), comparison_writer.last_row(plan) + REACH
    else:
        rows = rowkeys.plain_keys(_typed(cells), kind)
        filled = list(_all(cells))
    return BuiltSheet(kind, page.name, rows, columns, filled, frozenset(_rules(page)), end)


def _typed(cells: Cells) -> dict[int, dict[int, str | None]]:
    """The typed text of each cell, by row and column: "" for a blank, None for a number or formula."""
    rows: dict[int, dict[int, str | None]] = {}
    for (row, column), (down, _, _, value) in cells:
        text = "" if value is None else value if type(value) is str else None
        rows.setdefault(row, {})[column] = text
        for below in range(row + 1, row + down):
            rows.setdefault(below, {}).setdefault(column, None)
    return rows


def _names(texts: Mapping[int, str | None]) -> dict[int, str]:
    return {column: text for column, text in sorted(texts.items()) if text}


def _all(cells: Cells) -> Iterator[FilledCells]:
    """The content of some cells, from top to bottom."""
    for (row, column), (down, across, look, value) in sorted(cells, key=itemgetter(0)):
        if isinstance(value, Live):
            first = value.replace(HERE, str(row) if down > 1 else column_letters(column))
            yield FilledCells(row, column, down, across, look, of_formula(first))
        else:
            yield FilledCells(row, column, 1, 1, look, of_value(value))


def _lines(plan: BuildPlan, kind: str, page: Page) -> Iterator[FilledCells]:
    """The content of a table of line items: the first scenario stands for all; an input counts with its default."""
    names = {page.filled[at][3]: at[0] for at in page.filled if at[1] == layout.NAME}
    defaults = {names[name]: of_value(row.default) for name, row in plan.inputs.items() if name in names}
    first, others = layout.FIRST_SCENARIO, range(layout.FIRST_SCENARIO + 1, plan.columns.last_filled + 1)
    for each in _all(cell for cell in page.filled.items() if cell[0][1] not in others):
        if each.column != first:
            is_choice = kind == "dashboard" and each.column == layout.FORMULA and page.is_choice(each.row, each.column)
            yield each._replace(digest=NOTHING) if is_choice else each
        else:
            is_open = kind == "inputs" and each.row > layout.HEADER_ROW
            usual = defaults.get(each.row, NOTHING) if is_open else each.digest
            yield FilledCells(each.row, each.column, each.down, SCENARIOS, each.look, usual)  # faster than _replace


def _cases(plan: BuildPlan, page: Page, rows: dict[int, str]) -> Iterator[FilledCells]:
    """The titles of the Comparison, and the first case of each template: values typed there are the user's."""
    first = comparison_writer.FIRST_ROW
    templates: dict[str, int] = {}
    for row, case in enumerate(plan.comparison, start=first):
        templates.setdefault(case.template.name, row)
    rows |= {row: f"case {name}" for name, row in templates.items()}
    for each in _all(cell for cell in page.filled.items() if cell[0][0] in rows):
        is_kept = each.row < first or isinstance(page.filled[each.row, each.column][3], Live)
        yield each if is_kept else each._replace(digest=NOTHING)


def _rules(page: Page) -> Iterator[int]:
    """The digests of data validations and conditional formats, each relative to its first cell."""
    for reference, *rule in page.rules:
        first = Area.parse(reference.split()[0])
        yield of_rule((rule[0], rule[1]), rule[2:4], first)


def of_rule(kind_and_prompt: tuple[str, str], formulas: list[str], first: Area) -> int:
    """The digest of a rule with this type and prompt, whose formulas are relative to the first cell of its range.

    LibreOffice writes FALSE as 0 and TRUE as 1 there, so these count as equal.
    """
    seen = [pattern(text, first.top, first.left).text for text in formulas if text]
    seen = [_LOGICAL.sub(lambda word: "01"[word[0] == "TRUE"], text) for text in seen]
    return of_text("\0".join((*kind_and_prompt, *seen)))

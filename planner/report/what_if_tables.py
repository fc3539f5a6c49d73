"""The tables of a workbook's Sensitivity sheet, as a report shows them: what a scenario costs if factors move."""

from __future__ import annotations

from collections.abc import Iterator

from planner.book.sheet import Sheet
from planner.formulas.what_ifs import FACTORS
from planner.report.contents import FigureColumn, FigureTable
from planner.report.figures import CellFigures
from planner.report.sweep_tables import chosen_key

SHEET = "Sensitivity"
EFFICIENCY, PRICE = (row.label for row in FACTORS)


def tables(cells: CellFigures) -> Iterator[FigureTable]:
    """Of each what-if of what the scenario is meant for a table; none where the workbook has no such sheet."""
    sheet, key = cells.plan.book.designed.get(SHEET), chosen_key(cells)
    for row, column in sorted(sheet.values) if sheet else ():
        if sheet and column == 1 and sheet.text(row, 1) == EFFICIENCY:
            title = sheet.text(row - 1, 1)
            if key is None or cells.counts(title.partition(":")[0], key):
                yield _table(cells, sheet, row, title)


def _table(cells: CellFigures, sheet: Sheet, titles: int, title: str) -> FigureTable:
    """The table whose titles stand in a row: below them the factors of the price, then the rows to a blank one."""
    places = sheet.filled[titles]
    unit = title.rpartition("(")[2].partition(")")[0]
    columns, units = [], []
    for place in places:
        label, _, said = sheet.text(titles, place).partition(" (")
        if label == PRICE:
            factor = cells.at(sheet.name, titles + 1, place, "1").text
            label, said = f"Price times {factor}", unit
        columns.append(FigureColumn(label, label, said.rstrip(")") or "1"))
        units.append(said.rstrip(")") or "1")
    rows, at = [], titles + 2
    while places[0] in sheet.filled.get(at, ()):
        rows.append(tuple(cells.at(sheet.name, at, place, said) for place, said in zip(places, units, strict=True)))
        at += 1
    return FigureTable(tuple(columns), tuple(rows), (), title)

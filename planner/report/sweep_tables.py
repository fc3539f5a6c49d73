"""The tables of a workbook's Sweep sheet, as a report shows them."""

from __future__ import annotations

from collections.abc import Iterator

from planner.book.tables import MACHINE_NAME, CaseTable
from planner.report.contents import FigureColumn, FigureTable
from planner.report.figures import CellFigures

SHEET, CHOSEN, WORDS = "Sweep", "chosen_scenario", ".words"
ENOUGH, MOST = 3, 14  # columns of a table


def tables(cells: CellFigures) -> tuple[FigureTable, ...]:
    """The tables of the Sweep sheet, what they show and not their working; none where the workbook has no sweep."""
    return tuple(_tables(cells))


def chosen(cells: CellFigures) -> str:
    """The name of the scenario that is swept; blank where the sheet doesn't say."""
    sheet = cells.plan.book.designed.get(SHEET)
    place = next((at for at in sheet.cells if sheet.text(*at) == CHOSEN), None) if sheet else None
    said = cells.plan.at(sheet.name, place[0], place[1] + 1) if sheet and place else None
    names = {scenario.id: scenario.name or scenario.id for scenario in cells.plan.scenarios}
    return names.get(said, said) if isinstance(said, str) else ""


def _tables(cells: CellFigures) -> Iterator[FigureTable]:
    sheet = cells.plan.book.designed.get(SHEET)
    for case in cells.plan.book.cases if sheet else ():
        first = case.columns[min(case.columns)]
        if case.sheet is not sheet or len(case.columns) < ENOUGH or not MACHINE_NAME.fullmatch(first):
            continue
        shown = _shown(case)
        columns = [_column(cells, case, at) for at in shown]
        rows = tuple(
            tuple(cells.at(case.sheet.name, row, at, column.unit) for at, column in zip(shown, columns, strict=True))
            for row in case.rows
        )
        yield FigureTable(tuple(columns), rows, title=case.sheet.text(case.header_row - 2, 1))


def _shown(case: CaseTable) -> list[int]:
    """The axis and the columns for readers: those that repeat one of the working, and what binds in words."""
    seen: set[str] = set()
    shown = [min(case.columns)]
    for at, name in case.columns.items():
        if name in seen and at not in shown:
            shown.append(at)
        seen.add(name)
    shown += [at for at, name in case.columns.items() if name.endswith(WORDS)]
    return shown if len(shown) > 1 else list(case.columns)[:MOST]


def _column(cells: CellFigures, case: CaseTable, at: int) -> FigureColumn:
    """A column's label and unit as they stand above its name, `Decode step (s)`; else those of the quantity."""
    name, above = case.columns[at], case.sheet.text(case.header_row - 1, at)
    label, _, unit = above.rpartition(" (")
    if name.endswith(WORDS):
        return FigureColumn(name, above or name, "text")
    row = cells.row(name)
    if label and above.endswith(")"):
        return FigureColumn(name, label, unit[:-1])
    return FigureColumn(name, row.title if row else above or name, row.unit if row else "1")

"""The tables of a workbook's sheets Sweep and Sensitivity as shown in a report.

Only tables of templates that the chosen scenario is meant for are included.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count, takewhile

from planner.book.sheet import Sheet
from planner.book.tables import MACHINE_NAME, CaseTable
from planner.formulas.sweeps import FACTORS
from planner.number_text import PERCENT
from planner.report.contents import Figure, FigureColumn, FigureTable
from planner.report.figures import CellFigures, as_said, said_yes, scaled
from planner.scaled_units import factor

SWEEP, SENSITIVITY = "Sweep", "Sensitivity"
CHOSEN, WORDS = "chosen_scenario", ".words"
ENOUGH, MOST = 3, 14  # least and most columns of a table
AT_BOUND = "At the bound"  # column of templates/what_if.csv: yes or no
EFFICIENCY, PRICE = (row.label for row in FACTORS)


def chosen(cells: CellFigures) -> tuple[str | None, str]:
    """The key and name of the swept scenario; None and the sheet's text if there is no such scenario."""
    sheet = cells.plan.book.designed.get(SWEEP)
    place = next((at for at in sheet.cells if sheet.text(*at) == CHOSEN), None) if sheet else None
    said = cells.plan.at(sheet.name, place[0], place[1] + 1) if sheet and place else None
    identifier = said if isinstance(said, str) else ""
    found = ((each.key, each.title) for each in cells.plan.scenarios if each.id == identifier)
    return next(found, (None, identifier))


def sweep_tables(cells: CellFigures) -> Iterator[FigureTable]:
    """The tables of the Sweep sheet, without their working columns; empty if the workbook has no sweep.

    Values are in SI units, like the working columns, though the sheet shows GB or days.
    """
    sheet, (key, _) = cells.plan.book.designed.get(SWEEP), chosen(cells)
    for case in cells.plan.book.cases if sheet else ():
        first = case.columns[min(case.columns)]
        if case.sheet is not sheet or len(case.columns) < ENOUGH or not MACHINE_NAME.fullmatch(first):
            continue
        if key is not None and not cells.counts(_planned_on(cells, case), key):
            continue
        shown = _shown(case)
        found = [_in_si(cells, case, at) for at in shown]
        columns = [column for column, _ in found]
        rows = []
        for row in case.rows:
            figures = [
                cells.at(case.sheet.name, row, at, column.unit) for at, column in zip(shown, columns, strict=True)
            ]
            axis, *others = map(scaled, figures, (scale for _, scale in found))
            rows.append([axis, *map(as_said, others)])
        yield _reduced(columns, rows, case.sheet.text(case.header_row - 2, 1))


def _planned_on(cells: CellFigures, case: CaseTable) -> str:
    """The sheet that calculates a table's quantities: the one with most of its columns."""
    names = set(case.columns.values())
    shared = {sheet: len(names & {row.name for row in table}) for sheet, table in cells.plan.tables.items()}
    return max(shared, key=lambda sheet: shared[sheet], default="")


def _reduced(columns: Sequence[FigureColumn], rows: Sequence[Sequence[Figure]], title: str) -> FigureTable:
    """The table. A column with a single value in all rows becomes a note below; an empty one is dropped."""
    said: dict[tuple[str, str], list[int]] = {}
    for at in range(1, len(columns)):
        texts = {(row[at].text, row[at].why) for row in rows}
        if len(rows) > 1 and len(texts) == 1:
            said.setdefault(texts.pop(), []).append(at)
    notes = (
        f"{', '.join(columns[at].label for at in places)}: {text}{f', {why}' if why else ''}."
        for (text, why), places in said.items()
        if text
    )
    kept = [at for at in range(len(columns)) if not any(at in places for places in said.values())]
    lines = tuple(tuple(row[at] for at in kept) for row in rows)
    return FigureTable(tuple(columns[at] for at in kept), lines, tuple(notes), title)


def _shown(case: CaseTable) -> list[int]:
    """The axis and the readers' columns: those that repeat a working column, and what binds in words."""
    seen: set[str] = set()
    shown = [min(case.columns)]
    for at, name in case.columns.items():
        if name in seen and at not in shown:
            shown.append(at)
        seen.add(name)
    shown += [at for at, name in case.columns.items() if name.endswith(WORDS)]
    return shown if len(shown) > 1 else list(case.columns)[:MOST]


def _in_si(cells: CellFigures, case: CaseTable, at: int) -> tuple[FigureColumn, float]:
    """A column converted to the unit of its working column, and the factor from its own unit."""
    column = _column(cells, case, at)
    first = next(place for place, name in case.columns.items() if name == column.name)
    unit = _column(cells, case, first).unit
    if unit == column.unit or column.unit == PERCENT:  # a share stays a share, formatted as percent
        return column, 1.0
    try:
        return replace(column, unit=unit), factor(column.unit, unit)
    except ValueError:
        return column, 1.0


def _column(cells: CellFigures, case: CaseTable, at: int) -> FigureColumn:
    """A column's label and unit as written above its name, `Decode step (s)`, else those of the quantity."""
    name, above = case.columns[at], case.sheet.text(case.header_row - 1, at)
    label, _, unit = above.rpartition(" (")
    if name.endswith(WORDS):
        return FigureColumn(name, above or name, "text")
    row = cells.row(name)
    if label and above.endswith(")"):
        return FigureColumn(name, label, unit[:-1])
    return FigureColumn(name, row.title if row else above or name, row.unit if row else "1")


def what_if_tables(cells: CellFigures) -> Iterator[FigureTable]:
    """A table for each what-if that applies to the scenario; empty if the workbook has no such sheet."""
    sheet, (key, _) = cells.plan.book.designed.get(SENSITIVITY), chosen(cells)
    for row, column in sorted(sheet.values) if sheet else ():
        if sheet and column == 1 and sheet.text(row, 1) == EFFICIENCY:
            title = sheet.text(row - 1, 1)
            if key is None or cells.counts(title.partition(":")[0], key):
                yield _what_if(cells, sheet, row, title)


def _what_if(cells: CellFigures, sheet: Sheet, titles: int, title: str) -> FigureTable:
    """The table with titles in a row: below them the price factors, then the rows up to a blank one."""
    places = sheet.filled[titles]
    unit = title.rpartition("(")[2].partition(")")[0]
    columns: list[FigureColumn] = []
    for place in places:
        label, _, said = sheet.text(titles, place).partition(" (")
        if label == PRICE:
            factor = cells.at(sheet.name, titles + 1, place, "1").text
            label, said = f"Price times {factor}", unit
        columns.append(FigureColumn(label, label, said.rstrip(")") or "1"))
    rows = []
    for at in takewhile(lambda at: places[0] in sheet.filled.get(at, ()), count(titles + 2)):
        found = [cells.at(sheet.name, at, place, each.unit) for place, each in zip(places, columns, strict=True)]
        yes = [said_yes(one) if column.label == AT_BOUND else one for one, column in zip(found, columns, strict=True)]
        rows.append(tuple(yes))
    return FigureTable(tuple(columns), tuple(rows), (), title)

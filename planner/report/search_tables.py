"""The results of a search in a report: the table on the sheet Search, the request, and a picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import Any

from planner.book.added_sheets import added
from planner.book.sheet import Sheet
from planner.formulas.headlines import OF_ANY_RUNS, RANGE
from planner.number_text import PERCENT, spoken, within
from planner.report import svg
from planner.report.bar_chart import Bar, BarPart, bar_chart
from planner.report.contents import Figure, FigureColumn, FigureTable, Picture, SearchFound
from planner.report.figures import CellFigures, as_said, said_yes, scaled
from planner.report.svg import Drawing
from planner.scaled_units import factor
from planner.xlsx.styles import Look, looks_of

KIND, PLAN, SCENARIO, TIE = "Search", "plan", "scenario_id", "is_tie"  # sheet name, machine names of columns
NOW, OFF, SAME = " now", " off", 1e-9  # behind an objective's name: what its scenario comes to, and how far off
COUNTED = ("1", "chip")
AIMS = ("Least", "Most")  # labels of an objective, whose machine name follows in brackets
SUBJECTS = ("model", "hardware")


@dataclass(frozen=True)
class SearchSheet:
    """A sheet Search: the lines of its request, and its table with the columns' machine names."""

    sheet: Sheet
    asked: Sequence[tuple[str, str]]
    table: FigureTable

    @cached_property
    def place(self) -> Mapping[str, int]:
        """The 0-based index of each column by machine name."""
        return {column.name: at for at, column in enumerate(self.table.columns)}

    @property
    def aims(self) -> list[str]:
        """The objectives that the table has numbers for."""
        names = (text.rpartition("(")[2].rstrip(")") for label, text in self.asked if label in AIMS)
        return [name for name in names if name in self.place]

    def said(self, row: Sequence[Figure]) -> str:
        """The model and chip of a plan; blank if all plans share them."""
        return " on ".join(row[self.place[name]].text for name in SUBJECTS if name in self.place)


def searches(cells: CellFigures) -> list[SearchSheet]:
    """The Search sheets of a workbook, in tab order."""
    kinds = (each.sheet for each in added(cells.plan.book.sheets.values()) if each.kind == KIND)
    return [found for sheet in kinds if (found := _found(cells, sheet))]


def found_plans(cells: CellFigures, found: Sequence[SearchSheet]) -> tuple[SearchFound, ...]:
    """For each sheet, the plans as shown to readers, and all numbers."""
    return tuple(SearchFound(each.sheet.name, _for_readers(cells, each), each.table) for each in found)


def _for_readers(cells: CellFigures, found: SearchSheet) -> FigureTable:
    """A table with fewer columns: moved inputs in words, ranges combined, and current values only if they changed."""
    names = {each.id: each.title for each in cells.plan.scenarios}
    columns = {column.name: column for column in found.table.columns}
    first = min((found.place[name] for name in found.aims), default=len(columns))
    moving = [name for name, at in found.place.items() if at < first and name not in (SCENARIO, PLAN, *SUBJECTS)]
    of_aims = {name + end for name in found.aims for end in (*RANGE, NOW, OFF)}
    made: dict[str, tuple[FigureColumn, list[Figure]]] = {}

    def add(column: FigureColumn, figures: Iterable[Figure]) -> None:
        made[column.name] = column, list(figures)

    def cell(name: str) -> list[Figure]:
        return [row[found.place[name]] for row in found.table.rows]

    add(columns[PLAN], cell(PLAN))
    if SCENARIO in columns:
        add(columns[SCENARIO], (replace(each, text=names.get(each.text, each.text)) for each in cell(SCENARIO)))
    for name in (name for name in SUBJECTS if name in columns):
        add(columns[name], cell(name))
    if moving:
        said = (
            ", ".join(f"{name} {each.text}" for name, each in zip(moving, row, strict=True))
            for row in zip(*map(cell, moving), strict=True)
        )
        add(FigureColumn("moves", "What moves", "text"), map(_words, said))
    for name in found.aims:
        add(columns[name], cell(name))
        if all(name + end in columns for end in RANGE):
            ends = zip(*(cell(name + end) for end in RANGE), strict=True)
            said = (" to ".join(each.text for each in pair) for pair in ends)
            add(FigureColumn(f"{name} range", OF_ANY_RUNS, "text"), map(_words, said))
        if name + OFF in columns and any(abs(each.number) > SAME for each in cell(name + OFF)):
            add(columns[name + NOW], cell(name + NOW))
    for name in (name for name, at in found.place.items() if at >= first and name not in (*found.aims, *of_aims)):
        add(columns[name], cell(name))
    rows = zip(*(figures for _, figures in made.values()), strict=True)
    return FigureTable(tuple(column for column, _ in made.values()), tuple(rows), found.table.notes)


def _words(text: str) -> Figure:
    return Figure(text, "text", text, is_derived=True)


def _found(cells: CellFigures, sheet: Sheet) -> SearchSheet | None:
    """The search on a sheet. None if its table can't be found any more."""
    names = next(
        (row for row, columns in sheet.filled.items() if PLAN in (sheet.text(row, each) for each in columns)), 0
    )
    if not names:
        return None
    places = [each for each in sheet.filled[names] if sheet.text(names - 1, each)]
    plan = next((each for each in places if sheet.text(names, each) == PLAN), 0)
    rows = list(takewhile(lambda row: isinstance(sheet.value(row, plan), float), range(names + 1, 1 << 20)))
    asked = _asked(sheet, names - 1)
    if not plan or not rows:
        return None
    looks = looks_of(cells.plan.book.package)
    made = [_column(cells, sheet, looks, names, rows, place) for place in places]
    figures = (
        tuple(_figure(cells, sheet, row, place, *of) for place, of in zip(places, made, strict=True)) for row in rows
    )
    notes = tuple(f"{label}: {text}." for label, text in asked)
    return SearchSheet(
        sheet, asked, FigureTable(tuple(column for column, _ in made), tuple(figures), notes, sheet.name)
    )


def _asked(sheet: Sheet, below: int) -> list[tuple[str, str]]:
    """The lines above the table as (label, text), joining texts that continue in the next row."""
    lines: list[tuple[str, str]] = []
    for row in range(1, below):
        label, text = sheet.text(row, 1), sheet.text(row, 2)
        if text and label:
            lines.append((label, text))
        elif text and lines:
            lines[-1] = lines[-1][0], f"{lines[-1][1]} {text}"
    return lines


def _column(
    cells: CellFigures, sheet: Sheet, looks: Sequence[Look], names: int, rows: Sequence[int], place: int
) -> tuple[FigureColumn, float]:
    """A column in its quantity's unit, and the factor from the cells' unit to it.

    A head has no unit for counts: what is in brackets there, as in `Tokens (B)`, is part of the label.
    """
    name, label = sheet.text(names, place), sheet.text(names - 1, place)
    if not any(isinstance(cells.plan.at(sheet.name, row, place), float) for row in rows):
        return FigureColumn(name, label, "text"), 1.0
    style = sheet.cells[rows[0], place].style
    if style is not None and looks[style].number_format.endswith("%"):
        return FigureColumn(name, label, PERCENT), 1.0
    quantity, (short, _, unit) = cells.row(name.partition(" ")[0]), label.rpartition(" (")
    known = quantity.unit if quantity else "1"
    if not short:
        return FigureColumn(name, label, known), 1.0
    try:
        return FigureColumn(name, short, known), factor(unit.rstrip(")"), known)
    except ValueError:
        is_count = quantity is not None and known in COUNTED
        return FigureColumn(name, label, known) if is_count else FigureColumn(name, short, unit.rstrip(")")), 1.0


def _figure(cells: CellFigures, sheet: Sheet, row: int, place: int, column: FigureColumn, scale: float) -> Figure:
    if cells.plan.at(sheet.name, row, place) in (None, ""):
        return Figure(None, column.unit, "")
    figure = cells.at(sheet.name, row, place, column.unit)
    if not figure.is_number:
        return figure
    if column.name == TIE:
        return said_yes(figure)
    if column.name.endswith(OFF) and abs(figure.number) <= SAME:
        return replace(figure, text=spoken(0.0, PERCENT))  # a mere rounding difference counts as unchanged
    figure = scaled(figure, scale)
    return figure if column.unit in COUNTED else as_said(figure)


HEIGHT, LEFT, RIGHT = 300.0, 60.0, svg.WIDTH - 12
FAR, MOST = 20, 12  # an axis whose ends are further apart than so many times is logarithmic; bars of a picture
FRONT_CAPTION = "The plans of which none is better in all objectives; a ring marks those that are scenarios here."
BEST_CAPTION = f"The best plans in their order, with the range of {OF_ANY_RUNS}."


def search_pictures(found: Sequence[SearchSheet]) -> Iterator[Picture]:
    """A picture for each search: the Pareto front of the first two objectives, or the best plans as bars."""
    for at, each in enumerate(found, start=1):
        if each.aims:
            picture = _front(each, f"search-{at}") if len(each.aims) > 1 else _best(each, f"search-{at}")
            yield from [picture] if picture else []


def _front(found: SearchSheet, picture_id: str) -> Picture | None:
    x_at, y_at = (found.place[name] for name in found.aims[:2])
    rows = [row for row in found.table.rows if min(row[x_at].number, row[y_at].number) > 0]
    if not rows:
        return None
    across, up = found.table.columns[x_at], found.table.columns[y_at]
    title = f"What the search found: {up.label} over {within(across.label)}"
    ends = (f"{row[x_at].text} and {row[y_at].text}" for row in (rows[0], rows[-1]))
    alt = f"{title}, {len(rows)} plans from {' to '.join(ends)}."
    drawing = Drawing(HEIGHT)
    subjects = list(dict.fromkeys(found.said(row) for row in rows))
    top = (svg.legend(drawing, list(enumerate(subjects)), of_scenarios=False) if len(subjects) > 1 else 9.0) + 16
    xs, ys = ([row[at].number for row in rows] for at in (x_at, y_at))
    x, y = svg.spanning(xs, LEFT, RIGHT, FAR), svg.spanning(ys, HEIGHT - 46, top, FAR)
    units = ("" if column.unit == "1" else column.unit for column in (across, up))
    svg.axes(drawing, x, y, across.label, up.label, *units)
    for row in rows:
        scenario = row[found.place[SCENARIO]].text if SCENARIO in found.place else ""
        index = subjects.index(found.said(row))
        ring: dict[str, Any] = {"stroke": svg.INK, "stroke_width": 1.6} if scenario else {}
        words = "\n".join(filter(None, (scenario, found.said(row), f"{row[x_at].text}, {row[y_at].text}")))
        size = 6.0 if scenario else 3.5
        svg.mark(drawing, index, x(row[x_at].number), y(row[y_at].number), size, words, **ring)
    return Picture(picture_id, title, drawing.svg(alt), alt, FRONT_CAPTION, found.table)


def _best(found: SearchSheet, picture_id: str) -> Picture:
    at = found.place[found.aims[0]]
    column = found.table.columns[at]
    title = f"What the search found: {within(column.label)} of the best plans"
    ends = [found.place[name] for end in RANGE if (name := found.aims[0] + end) in found.place]
    bars = []
    for index, row in enumerate(found.table.rows[:MOST]):
        named = row[found.place[SCENARIO]].text if SCENARIO in found.place else ""
        name = named or " ".join(filter(None, (f"plan {index + 1}", found.said(row))))
        whisker = (row[ends[0]].number, row[ends[1]].number) if len(ends) == len(RANGE) else None
        said = f"{row[ends[0]].text} to {row[ends[1]].text}" if whisker else ""
        part = BarPart(0, row[at].number, f"{column.label}: {row[at].text}", "")
        bars.append(Bar(0, name, row[at].text, [part], range=(*whisker, said) if whisker else None))
    alt = f"{title}: {', '.join(f'{bar.name} {bar.said}' for bar in bars)}."
    drawing = bar_chart(alt, bars, [column.label], "" if column.unit == "1" else column.unit)
    return Picture(picture_id, title, drawing, alt, BEST_CAPTION, found.table)

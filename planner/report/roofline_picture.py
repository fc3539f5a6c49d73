"""The roofline picture: the operations of the scenario shown in the workbook, and each chip's roof."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, takewhile
from typing import Any

from planner.book.plan import Plan, Scenario
from planner.number_text import shown
from planner.report import svg
from planner.report.contents import Figure, FigureColumn, FigureTable, Picture
from planner.report.figures import CellFigures, scaled
from planner.report.svg import Drawing, Scale
from planner.scaled_units import factor

TITLES = ("Operation", "Intensity", "Bound", "Time of all", "Attained")
SHARES = ("Operation", "Share of the step")
COLUMNS = (
    ("Operation", "text"),
    ("Times", "1"),
    ("Intensity", "FLOP/byte"),
    ("Attained", "FLOP/s/chip"),
    ("Time of all", "s"),
    ("Bound", "text"),
)
CAPTION = (
    "The larger a point, the larger its share of the step. A point on the slope is bound by memory, "
    "one below the flat part by compute."
)
SCALED = ("us", "ms")  # scaled units of times on the sheet
LABELLED = 0.02  # share of the step above which operations are named
NEAR = 12.0  # points closer than this coincide
MOST = 8  # most names in the drawing
HEIGHT, LEFT, RIGHT = 320.0, 58.0, svg.WIDTH - 10


@dataclass(frozen=True)
class DrawnOperation:
    """An operation of the step, as on the sheet."""

    figures: tuple[Figure, ...]  # in the order of COLUMNS
    share: Figure

    @property
    def name(self) -> str:
        return self.figures[0].text

    @property
    def intensity(self) -> float:
        return self.figures[2].number

    @property
    def rate(self) -> float:
        return self.figures[3].number

    @property
    def weight(self) -> float:
        """Its share of the step; 0 if unknown."""
        return max(self.share.number, 0.0)

    @property
    def said(self) -> str:
        _, _, intensity, rate, time, bound = (figure.text for figure in self.figures)
        share = f"\n{self.share.text} of the step, {time}" if self.share.text else ""
        return f"{self.name}\n{intensity}, {rate}\nbound by {bound}{share}"


@dataclass(frozen=True)
class Roof:
    """The roof of a chip, shared by one or more scenarios; `index` is that of the first one."""

    index: int
    name: str
    peak: float
    bandwidth: float
    is_shared: bool


def roofline_pictures(cells: CellFigures) -> Iterator[Picture]:
    """The picture, if the workbook has a roofline."""
    found = next((found for found in find(cells, TITLES) if all(title in found.columns for title, _ in COLUMNS)), None)
    roofs = _roofs(cells)
    if found is None or not roofs:
        return
    if operations := [each for each in _operations(cells, found) if min(each.intensity, each.rate) > 0]:
        yield _picture(cells, found, operations, roofs)


def _operations(cells: CellFigures, found: TitledTable) -> Iterator[DrawnOperation]:
    table = next(find(cells, SHARES, (found.sheet,)), None)
    names, share = SHARES
    shares = (
        {table.figure(row, names, "text").text: table.figure(row, share, "%") for row in table.rows()} if table else {}
    )
    for row in found.rows():
        figures = tuple(found.figure(row, title, unit) for title, unit in COLUMNS)
        yield DrawnOperation(figures, shares.get(figures[0].text, Figure(None, "%", "")))


def _roofs(cells: CellFigures) -> list[Roof]:
    peak, bandwidth = cells.row("peak_flops"), cells.row("hbm_bandwidth")
    if peak is None or bandwidth is None:
        return []
    found: dict[tuple[float, float], list[tuple[int, Scenario]]] = defaultdict(list)
    for index, each in enumerate(cells.plan.scenarios):
        found[cells.of(peak, each.key).number, cells.of(bandwidth, each.key).number].append((index, each))
    return [
        Roof(of[0][0], _roof_name([each for _, each in of]), *numbers, len(of) > 1)
        for numbers, of in found.items()
        if min(numbers) > 0
    ]


def _roof_name(of: Sequence[Scenario]) -> str:
    """The chips of these scenarios; for a single scenario without a chip, its name."""
    return " and ".join(dict.fromkeys(each.hardware or each.title for each in of))


def _picture(
    cells: CellFigures, found: TitledTable, operations: Sequence[DrawnOperation], roofs: Sequence[Roof]
) -> Picture:
    chosen, phase = _said_above(found, "Scenario"), _said_above(found, "Phase")
    index = next((at for at, each in enumerate(cells.plan.scenarios) if each.id == chosen), 0)
    name = next((each.name for each in cells.plan.scenarios if each.id == chosen), chosen) or chosen
    title = f"Roofline of {name}, {phase}" if phase else f"Roofline of {name}"
    points = (f"{each.name} at {each.figures[2].text} is bound by {each.figures[-1].text}" for each in operations)
    tops = (f"{roof.name} {shown(roof.peak, 'FLOP/s/chip')}" for roof in roofs)
    alt = f"{title}: {'; '.join(points)}. Roofs: {'; '.join(tops)}."
    columns = (*(FigureColumn(each, each, unit) for each, unit in COLUMNS), FigureColumn(SHARES[1], SHARES[1], "%"))
    table = FigureTable(columns, tuple((*each.figures, each.share) for each in operations))
    return Picture("roofline", title, _svg(index, operations, roofs, alt), alt, CAPTION, table)


def _said_above(found: TitledTable, label: str) -> str:
    """The text next to a label above the table."""
    plan, first = found.cells.plan, min(found.columns.values())
    rows = (row for row in range(1, found.header) if plan.at(found.sheet, row, first) == label)
    return next((str(plan.at(found.sheet, row, first + 1) or "") for row in rows), "")


def _svg(index: int, operations: Sequence[DrawnOperation], roofs: Sequence[Roof], alt: str) -> str:
    drawing = Drawing(HEIGHT)
    top = svg.legend(drawing, [(roof.index, roof.name) for roof in roofs]) + 16
    intensities = [each.intensity for each in operations] + [roof.peak / roof.bandwidth for roof in roofs]
    rates = [each.rate for each in operations] + [roof.peak for roof in roofs]
    x = Scale(min(intensities) / 2, max(intensities) * 8, LEFT, RIGHT, True)
    y = Scale(min(rates) / 3, max(rates) * 2.2, HEIGHT - 46, top, True)
    svg.axes(drawing, x, y, "Arithmetic intensity (FLOP/byte)", "Attained by a chip (FLOP/s)")
    for roof in roofs:
        _roof(drawing, x, y, roof)
    heaviest = sorted(operations, key=lambda each: -each.weight)
    own = [(x(each.intensity), y(each.rate)) for each in heaviest]
    with drawing.series(index):
        for each, spot in zip(heaviest, own, strict=True):
            size = 3.5 + 9 * math.sqrt(each.weight)
            svg.mark(drawing, index, *spot, size, each.said, fill_opacity=0.75)
        _key(drawing, list(zip(own, heaviest, strict=True)))
    return drawing.svg(alt)


def _roof(drawing: Drawing, x: Scale, y: Scale, roof: Roof) -> None:
    """Draw the line, and a wider invisible one as the pointer's target."""
    line = svg.path(_corners(x, y, roof))
    said = f"{roof.name}\nroof: {shown(roof.peak, 'FLOP/s/chip')}, {shown(roof.bandwidth, 'byte/s/chip')}"
    unseen: dict[str, Any] = {"stroke": "#000", "stroke_opacity": 0, "stroke_width": 10, "class_": "point"}
    with drawing.group() if roof.is_shared else drawing.series(roof.index):
        svg.line(drawing, roof.index, line)
        drawing.add("path", title=said, d=line, fill="none", **unseen)


def _corners(x: Scale, y: Scale, roof: Roof) -> list[tuple[float, float]]:
    """The start of a roof, its ridge point, and the end of the drawing."""
    ends = (max(x.low, y.low / roof.bandwidth), roof.peak / roof.bandwidth, x.high)
    return [(x(at), y(min(roof.peak, at * roof.bandwidth))) for at in ends]


def _key(drawing: Drawing, places: list[tuple[tuple[float, float], DrawnOperation]]) -> None:
    """Number the heavy points and list their names below the roof's right end; coinciding points share a number."""
    named: list[tuple[tuple[float, float], str]] = []
    while places:
        spot, heaviest = places[0]
        near = [place for place in places if math.dist(place[0], spot) < NEAR]
        places = [place for place in places if place not in near]
        if heaviest.weight >= LABELLED or not named:
            named.append((spot, f"{heaviest.name} +{len(near) - 1}" if len(near) > 1 else heaviest.name))
    for number, (spot, words) in enumerate(named[:MOST], 1):
        drawing.name(spot[0] + 9, spot[1] + 9, str(number))
        drawing.name(RIGHT - 6, HEIGHT - 58 - 15 * (min(len(named), MOST) - number), f"{number}  {words}", "end")


@dataclass(frozen=True)
class TitledTable:
    """A table: its sheet, the row of its titles, and the column of each title, from left to right."""

    sheet: str
    header: int
    columns: dict[str, int]
    cells: CellFigures

    def rows(self) -> Iterator[int]:
        """The rows below the titles, up to the first one with an empty first cell."""
        plan, first = self.cells.plan, min(self.columns.values())
        return takewhile(lambda row: plan.at(self.sheet, row, first) not in (None, ""), count(self.header + 1))

    def figure(self, row: int, title: str, unit: str) -> Figure:
        """A cell of the table in an SI unit, converted from the scaled unit in its title, such as ms."""
        column = self.columns[title]
        found = self.cells.at(self.sheet, row, column, unit)
        said = self.cells.plan.book.sheets[self.sheet].text(self.header - 1, column)
        if not found.is_number or said == unit or said not in SCALED:
            return found
        made = scaled(found, factor(said, unit))
        return replace(made, text=shown(made.number, unit))


def find(cells: CellFigures, titles: Collection[str], sheets: Collection[str] = ()) -> Iterator[TitledTable]:
    """The tables whose titles include all of these, on all sheets or only on `sheets`."""
    plan: Plan = cells.plan
    wanted = set(titles)
    for name, sheet in plan.book.sheets.items():
        if sheets and name not in sheets:
            continue
        at: dict[int, dict[str, int]] = defaultdict(dict)
        for row, column in sheet.cells:
            if sheet.text(row, column) in wanted and (row, column) not in sheet.patterns:
                at[row].setdefault(sheet.text(row, column), column)
        for row, columns in at.items():
            if columns.keys() == wanted:
                yield TitledTable(name, row, _titles(cells, name, row, min(columns.values())), cells)


def _titles(cells: CellFigures, name: str, row: int, first: int) -> dict[str, int]:
    """The adjacent titles from a column on, with their columns."""
    sheet, column = cells.plan.book.sheets[name], first
    found: dict[str, int] = {}
    while text := sheet.text(row, column):
        found.setdefault(text, column)
        column += 1
    return found

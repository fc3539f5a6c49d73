"""The picture of latency against throughput: the gain and cost of a larger batch.

The curve is the sheet's own formulas at other batch sizes, computed as array functions. It is drawn only if the
template reproduces the workbook's cells exactly, so that it never contradicts an edited workbook.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.book.plan import Quantity, Scenario
from planner.number_text import shown
from planner.report import svg
from planner.report.contents import Figure, Picture
from planner.report.figures import CellFigures
from planner.report.replay import replayed
from planner.report.svg import Drawing, Scale

HEIGHT, LEFT, RIGHT = 320.0, 52.0, svg.WIDTH - 12
_LIMITS = "\nthe largest that fits", "\nmore than fits in memory"
WIDE = 8.0  # ratio above which an axis is logarithmic
TITLE = "Expected latency and throughput of serving"
CAPTION = "The ringed point is the workbook's batch."
CURVES = " The line is the sheet's formulas at other batch sizes, from 1 to the largest that fits in memory."


@dataclass(frozen=True)
class Point:
    """A scenario's latency and throughput in the workbook, and at other batch sizes if they can be calculated."""

    index: int
    scenario: Scenario
    batch: Figure
    latency: Figure
    throughput: Figure
    curve: Curve | None

    @property
    def name(self) -> str:
        return self.scenario.title

    @property
    def at(self) -> tuple[float, float]:
        """(latency, throughput); 0 for a missing number."""
        return self.latency.number, self.throughput.number

    @property
    def said(self) -> str:
        """The tooltip of the workbook's own batch size."""
        words = f"{self.name}\nbatch {self.batch.text} (the workbook's)\n{self.latency.text}, {self.throughput.text}"
        is_beyond = self.curve and self.curve.most is not None and self.batch.number > self.curve.most
        return words + _LIMITS[1] if is_beyond else words


def latency_pictures(cells: CellFigures) -> Iterator[Picture]:
    """The picture, if the workbook has a decode step."""
    table = next(cells.table_with(LATENCY, SWEPT, THROUGHPUT, CHIPS), None)
    if table is None:
        return
    found = [_point(cells, table, *place) for place in cells.meant(table[LATENCY])]
    if drawn := [point for point in found if min(point.at) > 0]:
        rows = [table[name] for name in (SWEPT, LATENCY, THROUGHPUT, CHIPS, MOST) if name in table]
        numbers = cells.table(rows, cells.meant(table[LATENCY]))
        caption = CAPTION + (CURVES if any(point.curve for point in drawn) else "")
        yield Picture("latency-throughput", TITLE, _svg(drawn), _alt(drawn), caption, numbers)


def _point(cells: CellFigures, table: dict[str, Quantity], index: int, scenario: Scenario) -> Point:
    names = (SWEPT, LATENCY, THROUGHPUT, CHIPS)
    batch, latency, rate, chips = (cells.of(table[name], scenario.key) for name in names)
    each = rate.number / chips.number if chips.number > 0 else 0.0
    throughput = Figure(each, PER_CHIP, shown(each, PER_CHIP), f"{rate.cell}, {chips.cell}", is_derived=True)
    return Point(index, scenario, batch, latency, throughput, curve(table, scenario))


def _svg(points: Sequence[Point]) -> str:
    drawing = Drawing(HEIGHT)
    top = svg.legend(drawing, [(point.index, f"{point.name}, batch {point.batch.text}") for point in points]) + 16
    curves = [point.curve for point in points if point.curve]
    times = [point.at[0] for point in points] + [time for each in curves for time in each.latency]
    rates = [point.at[1] for point in points] + [rate for each in curves for rate in each.throughput]
    x, y = svg.spanning(times, LEFT, RIGHT, WIDE), svg.spanning(rates, HEIGHT - 46, top, WIDE)
    svg.axes(drawing, x, y, "Expected time per output token", "Output tokens a second of a chip", "s")
    for point in points:
        with drawing.series(point.index):
            if point.curve:
                _draw_curve(drawing, point, point.curve, x, y)
            ring: dict[str, Any] = {
                "stroke": svg.INK,
                "stroke_width": 1.6,
                "class_": f"{svg.kind('f', point.index)} point own",
            }
            svg.mark(drawing, point.index, x(point.at[0]), y(point.at[1]), 7.0, point.said, **ring)
    return drawing.svg(_alt(points))


def _draw_curve(drawing: Drawing, point: Point, found: Curve, x: Scale, y: Scale) -> None:
    spots = [(x(time), y(rate)) for time, rate in zip(found.latency, found.throughput, strict=True)]
    svg.line(drawing, point.index, svg.path(spots))
    cases = zip(found.batches, found.latency, found.throughput, spots, strict=True)
    for batch, time, rate, spot in cases:
        last = "" if found.most is None or batch < found.most else _LIMITS[batch > found.most]
        said = f"{point.name}\nbatch {shown(batch, '1')}{last}\n{shown(time, 's')}, {shown(rate, PER_CHIP)}"
        svg.mark(drawing, point.index, *spot, 3.0, said)


def _alt(points: Sequence[Point]) -> str:
    each = (f"{p.name} at batch {p.batch.text}: {p.latency.text} a token, {p.throughput.text}" for p in points)
    return f"{TITLE}: {'; '.join(each)}."


TEMPLATE = "inference"
SWEPT, LATENCY = "batch", "time_per_output_token_expected"
THROUGHPUT, CHIPS, MOST = "output_tokens_per_second_expected", "n_chips", "max_batch"
PER_CHIP = "1/s/chip"
BEYOND = 4  # largest multiple of the scenario's batch if memory sets no limit


@dataclass(frozen=True)
class Curve:
    """Latency and throughput by batch size, in ascending order."""

    batches: tuple[float, ...]
    latency: tuple[float, ...]
    throughput: tuple[float, ...]
    most: float | None  # the largest batch that fits into memory


def curve(table: Mapping[str, Quantity], scenario: Scenario) -> Curve | None:
    """The curve up to the largest batch that fits. None if the template doesn't reproduce the workbook."""
    replay = replayed(TEMPLATE, table, scenario.key, (LATENCY, THROUGHPUT))
    own = replay.given.get(SWEPT) if replay else None
    if replay is None or not isinstance(own, float):
        return None
    most = table[MOST].value(scenario.key) if MOST in table else None
    batches = _batches(own, most)
    swept = replay.at(**{SWEPT: batches})
    times, rates = tuple(map(float, swept[LATENCY])), tuple(map(float, swept[THROUGHPUT] / swept[CHIPS]))
    return Curve(tuple(batches), times, rates, most if isinstance(most, float) else None)


def _batches(own: float, most: object) -> list[float]:
    """Powers of two up to the largest batch that fits, that batch, and the scenario's own, which may be larger."""
    last = (most if most >= 1 else own) if isinstance(most, float) else own * BEYOND
    powers = [2.0**power for power in range(int(math.log2(max(last, 1))) + 1)]
    return sorted({*powers, last, own})

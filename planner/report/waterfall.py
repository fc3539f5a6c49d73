"""The picture from bound to expected: a scenario's expected time part by part, each beginning where the last ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from planner.book.plan import Quantity, Scenario
from planner.formulas.headlines import Headline, Share
from planner.report import svg
from planner.report.bar_pictures import PARTS
from planner.report.contents import ExpectedNumber, Figure, FigureColumn, FigureTable, Picture
from planner.report.expectation import OF_RUNS, Planned
from planner.report.svg import Drawing, Scale
from planner.spoken import PERCENT, percent, shown, spoken

ROW, BAR, HEAD = 35.0, 12.0, 8.0
LEFT, RIGHT = svg.KEY_LEFT, svg.WIDTH - 6
BOUND, PART, WHOLE = 5, 2, 1  # colours of the bars
MOST = 12  # scenarios that are drawn


@dataclass(frozen=True)
class Fall:
    """A bar of the waterfall: what stands above it, where it begins and ends, and its colour."""

    label: str
    said: str
    begin: float
    end: float
    kind: int


def waterfalls(plans: Sequence[Planned]) -> Iterator[Picture]:
    """A picture for each of the first scenarios and each time of it whose parts are told; none of a bound."""
    for plan in plans:
        for index, scenario in plan.meant[:MOST] if plan.is_whole else ():
            for made in plan.headlines:
                found = made.shares(partial(plan.number, key=scenario.key))
                if found and not plan.is_ideal(scenario.key):
                    yield _picture(plan, made, found, index, scenario)


def _picture(
    plan: Planned, made: Headline[Quantity], found: list[Share], index: int, scenario: Scenario
) -> Picture:  # fmt: skip
    number = plan.headline(made, scenario.key)
    name = scenario.name or scenario.id
    of = f"{plan.template} step" if made.label == "Step" else made.label.lower()
    alt = (
        f"The expected {of} of {name}: {number.expected.text}. {OF_RUNS}: {number.range.text}. "
        f"Bound: {number.bound.text}. "
        + "; ".join(f"{part.label}: {spoken(part.seconds, 's')}, {part.share:.0%}" for part in found)
    )
    caption = (
        f"What the expected {of} of {number.expected.text} is made of. The dashed line is the bound, "
        f"{number.bound.text}: perfect overlap and nothing lost. The line across the last bar is {OF_RUNS}, "
        f"{number.range.text}."
    )
    title = f"From bound to expected: {of} of {name}"
    picture_id = f"expected-{plan.template}-{index + 1}"
    return Picture(
        picture_id, title, _svg(alt, found, number, name), alt, caption, _table(plan, made, found, scenario), index
    )


def _table(plan: Planned, made: Headline[Quantity], found: list[Share], scenario: Scenario) -> FigureTable:
    """The parts with their times and shares, and the whole."""
    names = dict(made.parts)
    whole = plan.figure(made.row, scenario.key, "s")
    rows = [
        (Figure(part.label, "text", part.label), plan.figure(plan.rows[names[part.label]], scenario.key, "s"),
         Figure(part.share, PERCENT, shown(part.share, PERCENT), whole.cell, is_derived=True))
        for part in found
    ]  # fmt: skip
    rows.append(
        (Figure("Expected", "text", "Expected"), whole, Figure(1.0, PERCENT, "100%", whole.cell, is_derived=True))
    )
    columns = (
        FigureColumn("part", "Part", "text"),
        FigureColumn("time", "Time", "s"),
        FigureColumn("share", "Share", "%"),
    )
    return FigureTable(columns, tuple(rows))


def _falls(found: Sequence[Share], number: ExpectedNumber) -> Iterator[Fall]:
    """The bound, the parts one after the other, the whole."""
    yield Fall("Bound", number.bound.text, 0.0, number.bound.number, BOUND)
    begin = 0.0
    for part in found:
        said = f"{spoken(part.seconds, 's')}, {percent(part.share, 0)}"
        yield Fall(part.label, said, begin, begin + part.seconds, PART)
        begin += part.seconds
    yield Fall("Expected", number.expected.text, 0.0, number.expected.number, WHOLE)


def _svg(alt: str, found: Sequence[Share], number: ExpectedNumber, name: str) -> str:
    falls = list(_falls(found, number))
    drawing = Drawing(HEAD + ROW * len(falls) + 20)
    high = max(number.high.number, *(fall.end for fall in falls))
    scale = Scale(0.0, high * 1.03, LEFT, RIGHT)
    bottom = HEAD + ROW * len(falls)
    for value in scale.ticks(5):
        drawing.line(scale(value), HEAD, scale(value), bottom)
        drawing.text(scale(value), bottom + 10, svg.tick(value, "s"), "start" if value == 0 else "middle")
    drawing.line(scale(number.bound.number), HEAD, scale(number.bound.number), bottom, stroke=svg.INK,
                 stroke_width=1.6, stroke_dasharray="4 3", class_="limit")  # fmt: skip
    for at, fall in enumerate(falls):
        _bar(drawing, fall, scale, HEAD + at * ROW, name)
        if fall.kind == PART and at < len(falls) - 1:
            foot = HEAD + at * ROW + ROW - 4
            drawing.line(scale(fall.end), foot, scale(fall.end), foot + ROW - BAR, stroke=svg.MUTED, class_="axis")
    if not number.low.is_missing and not number.high.is_missing:
        _whisker(drawing, scale, number, bottom - 4 - BAR / 2)
    return drawing.svg(alt)


def _bar(drawing: Drawing, fall: Fall, scale: Scale, top: float, name: str) -> None:
    drawing.text(LEFT, top + 8, fall.label, fill=svg.INK, class_="ink over", stroke=svg.PAPER, stroke_width=3.0,
                 paint_order="stroke")  # fmt: skip
    drawing.text(RIGHT, top + 8, fall.said, "end", class_="muted over", stroke=svg.PAPER, stroke_width=3.0,
                 paint_order="stroke")  # fmt: skip
    wide = max(scale(fall.end) - scale(fall.begin), 0.8)
    drawing.add("rect", title=f"{name}\n{fall.label}: {fall.said}", x=scale(fall.begin), y=top + ROW - 4 - BAR,
                width=wide, height=BAR, fill=PARTS[fall.kind], class_=f"p{fall.kind} point")  # fmt: skip


def _whisker(drawing: Drawing, scale: Scale, number: ExpectedNumber, middle: float) -> None:
    """The range, across the bar of the expected time."""
    low, high = scale(number.low.number), scale(number.high.number)
    for x1, y1, x2, y2 in (
        (low, middle, high, middle), (low, middle - 5, low, middle + 5), (high, middle - 5, high, middle + 5),
    ):  # fmt: skip
        drawing.line(x1, y1, x2, y2, stroke=svg.PAPER, stroke_width=4.0, class_="rim")
        drawing.line(x1, y1, x2, y2, stroke=svg.INK, stroke_width=1.8, class_="limit")
    title, wide = f"{OF_RUNS}: {number.range.text}", max(high - low, 1)
    drawing.add("rect", title=title, x=low, y=middle - 7, width=wide, height=14, fill="#000", fill_opacity=0,
                class_="point")  # fmt: skip

"""A chart of horizontal bars: a row for each scenario, made of parts, with marks across it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.report import svg
from planner.report.svg import Drawing, Scale

PARTS = ("#27406b", "#3f74b3", "#94600f", "#33806c", "#955389", "#6b7280")
ROW, BAR, THIN = 48.0, 18.0, 6.0
LEFT, RIGHT = svg.KEY_LEFT, svg.WIDTH - 6


@dataclass(frozen=True)
class BarPart:
    """A stretch of a bar; `is_hidden`: it runs beside the bar and adds nothing to it."""

    kind: int
    begin: float
    length: float
    title: str
    label: str
    is_hidden: bool = False


@dataclass(frozen=True)
class Bar:
    """A scenario's bar: what stands above it on the left and on the right, its parts, and marks (where, what).

    `told` is what the drawing's description says of it where that is more than `said`, which must be short.
    """

    index: int
    name: str
    said: str
    parts: Sequence[BarPart] = ()
    marks: Sequence[tuple[float, str]] = ()
    is_over: bool = False
    told: str = ""


def bar_chart(alt: str, bars: Sequence[Bar], kinds: Sequence[str], high: float, unit: str, limit: str = "") -> str:
    """The drawing. `high` is where the scale ends; `limit` names a line that stands at 1."""
    drawing = Drawing(0)
    top = _kinds(drawing, kinds) + 6
    scale = Scale(0.0, high, LEFT, RIGHT - 8)
    bottom = top + ROW * len(bars)
    values = [value for value in scale.ticks(5) if not limit or abs(scale(value) - scale(1)) > svg.width_of(limit)]
    for value in values:
        drawing.line(scale(value), top, scale(value), bottom)
        drawing.text(scale(value), bottom + 12, _tick(value, unit), "start" if value == 0 else "middle")
    with drawing.group(class_="rows", data_row=int(ROW)):
        for at, bar in enumerate(bars):
            with drawing.series(bar.index):
                _bar(drawing, bar, scale, top + at * ROW, has_limit=bool(limit))
    if limit:
        drawing.text(scale(1), bottom + 12, limit, _anchor(scale(1)), fill=svg.INK, class_="ink")
    drawing.height = bottom + 24
    return drawing.svg(alt)


def _anchor(x: float) -> str:
    return "end" if x > svg.WIDTH - 60 else "start" if x < 40 else "middle"


def _tick(value: float, unit: str) -> str:
    return f"{value * 100:g} %" if unit == "%" else svg.tick(value, unit)


def _kinds(drawing: Drawing, kinds: Sequence[str]) -> float:
    """The key of the parts' colours; returns the height below it."""
    y = 9.0
    for index, (name, (x, y)) in enumerate(zip(kinds, svg.in_rows(kinds, 17, 16, RIGHT), strict=True)):
        own = index % len(PARTS)
        drawing.add("rect", x=x, y=y - 5, width=11, height=11, rx=2, fill=PARTS[own], class_=f"p{own}")
        drawing.text(x + 16, y, name)
    return y + 12


def _bar(drawing: Drawing, bar: Bar, scale: Scale, top: float, has_limit: bool) -> None:
    svg.mark(drawing, bar.index, LEFT + 5, top + 10, 4.2, class_=svg.kind("f", bar.index))
    room = 58 - len(bar.said)
    drawing.text(LEFT + 14, top + 10, svg.cut(bar.name, max(room, 12)), fill=svg.INK, class_="ink")
    ink = {"fill": "#b42318", "class_": "bad", "font_weight": "bold"} if bar.is_over else {}
    drawing.text(RIGHT, top + 10, bar.said, "end", **ink)
    y = top + 20
    for part in bar.parts:
        x, wide = scale(part.begin), scale(part.begin + part.length) - scale(part.begin)
        kind = part.kind % len(PARTS)
        height, at = (THIN, y + BAR + 1) if part.is_hidden else (BAR, y)
        drawing.add("rect", title=f"{bar.name}\n{part.title}", x=x, y=at, width=max(wide, 0.5), height=height,
                    fill=PARTS[kind], stroke=svg.PAPER, stroke_width=0.8, class_=f"p{kind} point")  # fmt: skip
        if not part.is_hidden and svg.width_of(part.label) + 10 < wide:
            drawing.text(
                x + wide / 2, y + BAR / 2, part.label, "middle", fill="#ffffff", class_="on", pointer_events="none"
            )
    if has_limit:
        drawing.line(scale(1), y - 3, scale(1), y + BAR + 5, stroke=svg.INK, stroke_width=2.0, class_="limit")
    for place, words in bar.marks:
        drawing.line(scale(place), y - 4, scale(place), y + BAR + 4, stroke=svg.INK, stroke_width=2.2,
                     stroke_dasharray="3 2", class_="limit")  # fmt: skip
        drawing.add("rect", title=f"{bar.name}\n{words}", x=scale(place) - 5, y=y - 4, width=10, height=BAR + 8,
                    fill="#000", fill_opacity=0, class_="point")  # fmt: skip

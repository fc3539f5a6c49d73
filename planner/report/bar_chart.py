"""A chart of stacked bars, one per scenario, on a common scale or each as shares of its own total."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from planner.number_text import cut
from planner.report import svg
from planner.report.svg import Drawing, Scale

PARTS = ("#27406b", "#3f74b3", "#94600f", "#33806c", "#955389", "#6b7280", "#a1423a", "#5b6b1f")
ROW, BAR = 48.0, 18.0
LEFT, RIGHT = svg.KEY_LEFT, svg.WIDTH - 6
BAD = "#b42318"


@dataclass(frozen=True)
class BarPart:
    """A segment of a bar: its kind, length, tooltip, and the text inside if there is room."""

    kind: int
    length: float
    title: str
    label: str


@dataclass(frozen=True)
class Bar:
    """A scenario's bar: the texts above it on the left and right, and its parts."""

    index: int
    name: str
    said: str
    parts: Sequence[BarPart] = ()
    limit: float | None = None  # position of a line across it
    range: tuple[float, float, str] | None = None  # begin, end and tooltip of a whisker
    is_over: bool = False
    description: str = ""  # text for the drawing's description if longer than `said`

    @property
    def length(self) -> float:
        """The total length of its parts."""
        return sum(part.length for part in self.parts)


def bar_chart(alt: str, bars: Sequence[Bar], kinds: Sequence[str], unit: str) -> str:
    """The drawing. Lengths are in `unit`."""
    drawing = Drawing(0)
    top = _kinds(drawing, kinds) + 6
    high = max([1e-12, *(max(bar.length, bar.limit or 0.0, bar.range[1] if bar.range else 0.0) for bar in bars)])
    scale = Scale(0.0, high * 1.02, LEFT, RIGHT - 8)
    bottom = top + ROW * len(bars)
    for value in scale.ticks(5):
        drawing.line(scale(value), top, scale(value), bottom)
        anchor = "start" if value == 0 else "end" if scale(value) > svg.WIDTH - 20 else "middle"
        drawing.text(scale(value), bottom + 12, svg.tick(value, unit), anchor)
    with drawing.group(class_="rows", data_row=int(ROW)):
        for at, bar in enumerate(bars):
            with drawing.series(bar.index):
                _bar(drawing, bar, scale, top + at * ROW)
    drawing.height = bottom + 24
    return drawing.svg(alt)


def _kinds(drawing: Drawing, kinds: Sequence[str]) -> float:
    """Draw the legend of the parts' colours; returns its height."""
    y = 9.0
    for index, (name, (x, y)) in enumerate(zip(kinds, svg.in_rows(kinds, 17, 16, RIGHT), strict=True)):
        swatch(drawing, x, y, index % len(PARTS), name)
    return y + 12


def swatch(drawing: Drawing, x: float, y: float, kind: int, name: str) -> None:
    """Draw an entry of a legend: the colour of a kind of parts, and its name."""
    drawing.rect(x, y - 5, 11, 11, rx=2, fill=PARTS[kind], class_=f"p{kind}")
    drawing.text(x + 16, y, name)


def _bar(drawing: Drawing, bar: Bar, scale: Scale, top: float) -> None:
    svg.mark(drawing, bar.index, LEFT + 5, top + 10, 4.2, class_=svg.kind("f", bar.index))
    room = 58 - len(bar.said)
    drawing.text(LEFT + 14, top + 10, cut(bar.name, max(room, 12)), fill=svg.INK, class_="ink")
    ink = {"fill": BAD, "class_": "bad", "font_weight": "bold"} if bar.is_over else {}
    drawing.text(RIGHT, top + 10, bar.said, "end", **ink)
    y, begin, limit = top + 20, 0.0, None if bar.limit is None else scale(bar.limit)
    for part in bar.parts:
        x, wide = scale(begin), scale(begin + part.length) - scale(begin)
        begin += part.length
        kind = part.kind % len(PARTS)
        look = {"fill": PARTS[kind], "stroke": svg.PAPER, "stroke_width": 0.8, "class_": f"p{kind} point"}
        drawing.rect(x, y, max(wide, 0.5), BAR, f"{bar.name}\n{part.title}", **look)
        if (middle := _middle(x, x + wide, part.label, limit)) is not None:
            inside(drawing, middle, y + BAR / 2, part.label, "middle")
    if limit is not None:
        drawing.line(limit, y - 1, limit, y + BAR + 1, stroke=svg.INK, stroke_width=2.0, class_="limit")
    if bar.range:
        _whisker(drawing, bar, scale, *bar.range, y + BAR + 4)


def _middle(left: float, right: float, words: str, line: float | None) -> float | None:
    """The middle of a text in a segment, on the wider side of a line across it; None if there is no room for it."""
    if line is not None and left < line < right:
        left, right = (left, line) if line - left > right - line else (line, right)
    return (left + right) / 2 if svg.width_of(words) + 10 < right - left else None


def inside(drawing: Drawing, x: float, y: float, words: str, anchor: str, kind: str = "on", **look: Any) -> None:
    """Draw a text inside a bar, which the pointer doesn't see."""
    drawing.text(x, y, words, anchor, fill="#ffffff", class_=kind, **look, pointer_events="none")


def _whisker(drawing: Drawing, bar: Bar, scale: Scale, low: float, high: float, said: str, middle: float) -> None:
    """Draw the range of a bar's end."""
    left, right, end = scale(low), scale(high), "m0 -3 v6"
    path = f"{svg.path([(left, middle)])} {end} {svg.path([(left, middle), (right, middle)])} {end}"
    drawing.add(
        "path", title=f"{bar.name}\n{said}", d=path, fill="none", stroke=svg.INK, stroke_width=1.8, class_="limit point"
    )

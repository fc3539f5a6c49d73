"""Drawings as SVG text: shapes, scales and axes. Colours are attributes, so that a style sheet may override them.

Sizes assume a drawing 420 wide, which a phone shows somewhat smaller and a laptop somewhat larger.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from html import escape
from textwrap import wrap
from typing import Any

from planner.number_text import PERCENT, cut

WIDTH = 420.0
SIZE = 12.0  # font size
MARGIN = 0.06  # margin of a scale beyond its values
KEY_LEFT = 4.0  # left edge of legend rows
PALETTE = ("#1f4fbf", "#b4440f", "#11734b", "#6d28d9", "#8a6100", "#0b6e86", "#b0185c", "#475569")
INK, MUTED, GRID, PAPER = "#1f2937", "#4b5563", "#e3e6ea", "#ffffff"
_PREFIXES = {18: "E", 15: "P", 12: "T", 9: "G", 6: "M", 3: "k", 0: "", -3: "m", -6: "µ", -9: "n", -12: "p"}


@dataclass
class Drawing:
    """A sequence of shapes within a height that may grow."""

    height: float
    parts: list[str] = field(default_factory=list)

    def add(self, tag: str, content: str = "", title: str = "", **attributes: Any) -> None:
        """Append an element; `_` in an attribute's name stands for `-`. `title` is the tooltip."""
        begin = f"{tag}{_pairs(attributes)}"
        inner = (f"<title>{escape(title)}</title>" if title else "") + content
        self.parts.append(f"<{begin}>{inner}</{tag}>" if inner else f"<{begin}/>")

    def text(self, x: float, y: float, words: str, anchor: str = "start", **attributes: Any) -> None:
        """A text centred vertically at `y`."""
        own: dict[str, Any] = {"fill": MUTED, "class_": "muted", **attributes}
        self.add("text", escape(words), x=x, y=y + own.get("font_size", SIZE) * 0.36, text_anchor=anchor, **own)

    def name(self, x: float, y: float, words: str, anchor: str = "start") -> None:
        """A text over the drawing, outlined for legibility and transparent to the pointer."""
        self.text(x, y, words, anchor, fill=INK, class_="ink over", pointer_events="none", stroke=PAPER,
                  stroke_width=3.0, stroke_linejoin="round", paint_order="stroke")  # fmt: skip

    def line(self, x1: float, y1: float, x2: float, y2: float, **attributes: Any) -> None:
        """A straight line, by default a thin grid line."""
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, **{"stroke": GRID, "class_": "grid", **attributes})

    def rect(self, x: float, y: float, width: float, height: float, title: str = "", **attributes: Any) -> None:
        """A rectangle, given by its upper left corner."""
        self.add("rect", title=title, x=x, y=y, width=width, height=height, **attributes)

    @contextmanager
    def group(self, **attributes: Any) -> Iterator[None]:
        """Groups everything drawn within the block."""
        self.parts.append(f"<g{_pairs(attributes)}>")
        yield
        self.parts.append("</g>")

    def series(self, index: int) -> AbstractContextManager[None]:
        """Assigns everything drawn within the block to the scenario at `index`."""
        return self.group(class_="series", data_s=index)

    def svg(self, alt: str) -> str:
        """The whole drawing; `alt` describes it for those who can't see it."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_number(WIDTH)} {_number(self.height)}" '
            f'font-family="Libertinus Serif" font-size="{_number(SIZE)}" role="img" aria-label="{escape(alt)}">'
            + "".join(self.parts)
            + "</svg>"
        )


def colour(index: int) -> str:
    """The colour of a series."""
    return PALETTE[index % len(PALETTE)]


def kind(use: str, index: int) -> str:
    """The CSS class of an element in a series' colour: `f` filled, `k` line, `h` hollow."""
    return f"{use}{index % len(PALETTE)}"


def mark(
    drawing: Drawing,
    index: int,
    x: float,
    y: float,
    size: float,
    title: str = "",
    *,
    is_hollow: bool = False,
    **attributes: Any,
) -> None:
    """A point of a series, whose shape differs along with its colour."""
    own = {"fill": colour(index), "stroke": PAPER, "stroke_width": 1.2, "class_": f"{kind('f', index)} point"}
    if is_hollow:
        own |= {"fill_opacity": 0.15, "stroke": colour(index), "class_": f"{kind('h', index)} point"}
    shape: dict[str, Any] = own | attributes
    form = index % 4
    if form == 0:
        drawing.add("circle", title=title, cx=x, cy=y, r=size, **shape)
    elif form == 1:
        side = size * 1.8
        drawing.rect(x - side / 2, y - side / 2, side, side, title, **shape)
    else:
        corners = {2: ((0, -1.25), (1.15, 0.85), (-1.15, 0.85)), 3: ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0))}[form]
        points = " ".join(f"{_number(x + dx * size)},{_number(y + dy * size)}" for dx, dy in corners)
        drawing.add("polygon", title=title, points=points, **shape)


def line(drawing: Drawing, index: int, path: str) -> None:
    """The line of a series along a path."""
    drawing.add("path", d=path, fill="none", stroke=colour(index), stroke_width=2.0, class_=kind("k", index))


def legend(drawing: Drawing, entries: Sequence[tuple[int, str]], of_scenarios: bool = True) -> float:
    """The legend in rows along the top; returns the height below it."""
    y = 0.0
    names = [cut(name, 44) for _, name in entries]
    for (index, _), name, (x, y) in zip(entries, names, in_rows(names, 18, 12, WIDTH), strict=True):
        with drawing.series(index) if of_scenarios else drawing.group():
            mark(drawing, index, x + 5, y, 4.2, class_=kind("f", index))
            drawing.text(x + 13, y, name)
    return y + 18 if entries else 9.0


def in_rows(names: Iterable[str], mark_width: float, gap: float, right: float) -> Iterator[tuple[float, float]]:
    """The position of each name of a legend, in rows from the top. A mark of `mark_width` precedes it."""
    x, y = KEY_LEFT, 9.0
    for name in names:
        width = mark_width + width_of(name)
        if x > KEY_LEFT and x + width > right:
            x, y = KEY_LEFT, y + 18
        yield x, y
        x += width + gap


def width_of(words: str) -> float:
    """The approximate width of a text."""
    return sum(SIZE * (0.95 if ord(letter) > 0x2E80 else 0.5) for letter in words)


def lines(words: str, most: int, count: int = 2) -> list[str]:
    """A text in up to `count` lines of at most `most` characters; the last one is cut if it doesn't fit."""
    found = wrap(words, most, break_on_hyphens=False) or [""]
    return [*found[: count - 1], cut(" ".join(found[count - 1 :]), most)] if len(found) >= count else found


@dataclass(frozen=True)
class Scale:
    """Maps numbers to coordinates: `low` to `start`, `high` to `end`; linear or logarithmic."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        low, high = self._seen(self.low), self._seen(self.high)
        return self.start + (self._seen(value) - low) / ((high - low) or 1.0) * (self.end - self.start)

    def ticks(self, most: int = 6) -> list[float]:
        """Round numbers along the scale."""
        return _log_ticks(self.low, self.high, most) if self.is_log else _ticks(self.low, self.high, most)

    def _seen(self, value: float) -> float:
        return math.log10(value) if self.is_log else value


def spanning(values: Iterable[float], start: float, end: float, far: float) -> Scale:
    """A scale that covers all values above 0 with some margin.

    It is logarithmic if the largest is more than `far` times the smallest, else linear, starting at 0 if that is near.
    """
    found = [value for value in values if math.isfinite(value) and value > 0] or [1.0]
    low, high = min(found), max(found)
    if high > far * low:
        room = max((high / low) ** MARGIN, 1.1)
        return Scale(low / room, high * room, start, end, True)
    room = (high - low) * MARGIN or abs(high) or 1.0
    return Scale(0.0 if 0 <= low < 0.5 * high else low - room, high + room, start, end)


def axes(drawing: Drawing, x: Scale, y: Scale, x_title: str, y_title: str, x_unit: str = "", y_unit: str = "") -> None:
    """Draw the grid, the ticks with their numbers, and the axis titles."""
    for value in x.ticks():
        drawing.line(x(value), y.start, x(value), y.end)
        drawing.text(x(value), y.start + 13, tick(value, x_unit), "middle")
    for value in y.ticks():
        drawing.line(x.start, y(value), x.end, y(value))
        drawing.text(x.start - 6, y(value), tick(value, y_unit), "end")
    drawing.line(x.start, y.start, x.end, y.start, stroke=MUTED, class_="axis")
    drawing.line(x.start, y.start, x.start, y.end, stroke=MUTED, class_="axis")
    drawing.text((x.start + x.end) / 2, y.start + 31, x_title, "middle")
    drawing.text(4, y.end - 14, y_title)


def tick(value: float, unit: str = "") -> str:
    """A number on an axis: `0.1`, `10`, `200 T`, `5 ms`, `20 %`, `40 days`."""
    if value == 0:
        return "0"
    if unit == PERCENT:
        return f"{100 * value:g}\N{NO-BREAK SPACE}%"
    power = min(18, max(-12, 3 * math.floor(math.log10(abs(value)) / 3 + 1e-9)))
    if unit == "s" and abs(value) >= 1:
        return f"{value:,.15g}\N{NO-BREAK SPACE}s"
    if not unit and 0.01 <= abs(value) < 10_000:
        return f"{value:g}"
    number = f"{value / 10.0**power:.3g}"
    suffix = f"{_PREFIXES[power]}{unit}"
    return f"{number}\N{NO-BREAK SPACE}{suffix}" if suffix else number


def path(points: Sequence[tuple[float, float]]) -> str:
    """An SVG path through points."""
    return "M" + " L".join(f"{_number(x)} {_number(y)}" for x, y in points)


def _ticks(low: float, high: float, most: int) -> list[float]:
    step = 10.0 ** math.floor(math.log10((high - low) / most or 1.0))
    step = next(step * factor for factor in (1, 2, 5, 10, 20) if (high - low) / (step * factor) <= most)
    first = math.ceil(low / step - 1e-9)
    return [count * step for count in range(first, math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1.0,), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)):
        found = [factor * 10.0**power for power in powers for factor in factors]
        kept = [value for value in found if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
        if len(kept) >= 3:
            return kept[:: math.ceil(len(kept) / (most + 3))]
    return _ticks(low, high, most)


def _pairs(attributes: Mapping[str, Any]) -> str:
    given = ((name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items() if value is not None)
    return "".join(f' {name}="{escape(_number(value))}"' for name, value in given)


def _number(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)

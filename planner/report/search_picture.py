"""The picture of what a search found: its front, or the best plans as bars with their ranges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from planner.formulas.headlines import RANGE
from planner.report import svg
from planner.report.bar_chart import Bar, BarPart, bar_chart
from planner.report.contents import Picture
from planner.report.search_tables import SCENARIO, Found
from planner.report.svg import Drawing

HEIGHT, LEFT, RIGHT = 300.0, 60.0, svg.WIDTH - 12
FAR, MOST = 20, 12  # an axis whose ends are further apart than so many times is logarithmic; bars of a picture
FRONT_CAPTION = "The plans of which none is better in all objectives; a ring marks those that are scenarios here."
BEST_CAPTION = "The best plans in their order, with the range of 80 % of published runs."
Drawn = tuple[str, str, str, str]  # title, what it shows in words, drawing, caption


def search_pictures(found: Sequence[Found]) -> Iterator[Picture]:
    """Of each a picture: a front of the first two objectives, or the best plans as bars."""
    for at, each in enumerate(found, start=1):
        drawn = _front(each) if len(each.aims) > 1 else _best(each) if each.aims else None
        if drawn is not None:
            title, alt, drawing, caption = drawn
            yield Picture(f"search-{at}", title, drawing, alt, caption, each.table)


def _front(found: Found) -> Drawn | None:
    x_at, y_at = (found.place[name] for name in found.aims[:2])
    rows = [row for row in found.table.rows if min(row[x_at].number, row[y_at].number) > 0]
    if not rows:
        return None
    across, up = found.table.columns[x_at], found.table.columns[y_at]
    title = f"What the search found: {up.label} over {across.label[:1].lower()}{across.label[1:]}"
    ends = (f"{row[x_at].text} and {row[y_at].text}" for row in (rows[0], rows[-1]))
    alt = f"{title}, {len(rows)} plans from {' to '.join(ends)}."
    drawing = Drawing(HEIGHT)
    subjects = list(dict.fromkeys(found.said(row) for row in rows))
    top = (svg.legend(drawing, list(enumerate(subjects)), of_scenarios=False) if len(subjects) > 1 else 9.0) + 16
    xs, ys = ([row[at].number for row in rows] for at in (x_at, y_at))
    x = svg.spanning(xs, LEFT, RIGHT, max(xs) > FAR * min(xs))
    y = svg.spanning(ys, HEIGHT - 46, top, max(ys) > FAR * min(ys))
    units = ("" if column.unit == "1" else column.unit for column in (across, up))
    svg.axes(drawing, x, y, across.label, up.label, *units)
    for row in rows:
        scenario = row[found.place[SCENARIO]].text if SCENARIO in found.place else ""
        index = subjects.index(found.said(row))
        ring: dict[str, Any] = {"stroke": svg.INK, "stroke_width": 1.6} if scenario else {}
        words = "\n".join(filter(None, (scenario, found.said(row), f"{row[x_at].text}, {row[y_at].text}")))
        size = 6.0 if scenario else 3.5
        svg.mark(drawing, index, x(row[x_at].number), y(row[y_at].number), size, words, **ring)
    return title, alt, drawing.svg(alt), FRONT_CAPTION


def _best(found: Found) -> Drawn | None:
    at = found.place[found.aims[0]]
    column = found.table.columns[at]
    title = f"What the search found: {column.label[:1].lower()}{column.label[1:]} of the best plans"
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
    return title, alt, bar_chart(alt, bars, [column.label], "" if column.unit == "1" else column.unit), BEST_CAPTION

"""Predicted against measured, both in seconds: what lies on the diagonal took the time that was predicted."""

from __future__ import annotations

from collections.abc import Iterator

from planner.report import svg
from planner.report.comparing import Compared
from planner.report.data import Picture
from planner.report.svg import Drawing, Scale

HEIGHT, LEFT, RIGHT = 320.0, 58.0, svg.WIDTH - 12


def pictures(compared: Compared | None) -> Iterator[Picture]:
    """The picture, where something was measured."""
    cases = [] if compared is None else [case for case in compared.cases if case.is_measured]
    if not cases or compared is None:
        return
    drawing = Drawing(HEIGHT)
    kinds = list(dict.fromkeys(case.template for case in cases))
    top = svg.legend(drawing, list(enumerate(kinds)), of_scenarios=False) + 16
    times = [time for case in cases for time in (case.predicted_time, case.measured_time)]
    low, high = min(times) / 2, max(times) * 2
    x, y = Scale(low, high, LEFT, RIGHT, True), Scale(low, high, HEIGHT - 46, top, True)
    svg.axes(drawing, x, y, "Predicted time", "Measured time", "s", "s")
    drawing.line(x(low), y(low), x(high), y(high), stroke=svg.INK, stroke_width=1.4, class_="limit")
    drawing.line(x(low), y(2 * low), x(high / 2), y(high), stroke=svg.MUTED, stroke_dasharray="4 3", class_="axis")
    drawing.text(x(high / 2) - 24, y(high) + 8, "twice as long", "end")
    drawing.text(x(high) - 4, y(high / 12), "as predicted", "end")
    for case in cases:
        said = f"{case.label.text}\npredicted {case.predicted.text}\nmeasured {case.measured.text}"
        said += f"\n{case.ratio.text} times the prediction" + (f"\nflagged: {case.flags}" if case.flags else "")
        index = kinds.index(case.template)
        hollow = (
            {"fill_opacity": 0.15, "stroke": svg.colour(index), "class_": f"h{index % 8} point"} if case.flags else {}
        )
        svg.mark(drawing, index, x(case.predicted_time), y(case.measured_time), 5.0, said, **hollow)
    title = "Predicted and measured time"
    alt = f"{title} of {len(cases)} cases. {compared.accuracy}"
    caption = "On the line the measurement took as long as predicted, above it longer." + (
        " Hollow points failed a guard of the measurement." if any(case.flags for case in cases) else ""
    )
    yield Picture("predicted-measured", title, drawing.svg(alt), alt, caption, compared.table(measured_only=True))

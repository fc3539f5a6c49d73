"""The picture of your runs: each over what was expected of it, with the range and the bound of its day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.compare.comparison_sheet import find
from planner.compare.runs_table import Run, read
from planner.errors import UserError
from planner.report import svg
from planner.report.contents import FigureTable, Picture
from planner.report.expectation import OF_RUNS
from planner.report.figures import CellFigures
from planner.report.svg import Drawing, Scale
from planner.spoken import PERCENT, spoken

MOST = 12  # runs that are drawn: the latest
ROW, BAR = 34.0, 10.0
LEFT, RIGHT = svg.KEY_LEFT + 4, svg.WIDTH - 22
FAR = 8.0  # times between the least and the most from which on the scale is logarithmic
TITLE = "Your runs over what was expected of them"
CAPTION = (
    f"Each point is a run, as a multiple of what its plan expected on its day (the line at 1). The bar is {OF_RUNS}, "
    "the short line the bound. Of a time less is better, of a rate or an MFU more."
)
HOLLOW = " Hollow points are flagged."


def runs_pictures(cells: CellFigures, tables: Sequence[FigureTable]) -> Iterator[Picture]:
    """The picture, where runs are recorded of which something was expected; the first of `tables` has their numbers."""
    try:
        found = read(find(cells.plan.book.package, cells.plan.book.parsed))
    except UserError:
        return
    drawn = [run for run in found if run.expected and run.measured > 0][-MOST:]
    if drawn and tables:
        alt = f"{TITLE}. " + " ".join(f"{_said(run)}." for run in drawn)
        caption = CAPTION + (HOLLOW if any(run.flags for run in drawn) else "")
        yield Picture("runs", TITLE, _drawing(drawn, alt), alt, caption, tables[0])


def _drawing(runs: Sequence[Run], alt: str) -> str:
    drawing = Drawing(ROW * len(runs) + 40)
    ends = [share for run in runs for share in (1.0, *_shares(run)) if share]
    low, high = min(ends), max(ends)
    is_log = high > FAR * low
    scale = Scale(low / 1.1, high * 1.1, LEFT, RIGHT, True) if is_log else Scale(0.0, high * 1.05, LEFT, RIGHT)
    bottom = ROW * len(runs) + 8
    for value in scale.ticks():
        drawing.line(scale(value), 4, scale(value), bottom)
        drawing.text(scale(value), bottom + 12, svg.tick(value), "middle")
    drawing.line(scale(1.0), 4, scale(1.0), bottom, stroke=svg.INK, stroke_width=1.4, class_="limit")
    drawing.text((LEFT + RIGHT) / 2, bottom + 27, "times what was expected", "middle")
    scenarios = list(dict.fromkeys(run.scenario for run in runs))
    for at, run in enumerate(runs):
        _row(drawing, run, scenarios.index(run.scenario), scale, at * ROW + 6)
    return drawing.svg(alt)


def _row(drawing: Drawing, run: Run, index: int, scale: Scale, top: float) -> None:
    """A run: its name and numbers above, its range, bound and point below."""
    measured, low, high, bound = _shares(run)
    middle, said = top + 20, _said(run)
    if low and high:
        drawing.add("rect", title=said, x=scale(low), y=middle - BAR / 2, width=max(scale(high) - scale(low), 0.5),
                    height=BAR, rx=2, fill=svg.MUTED, fill_opacity=0.3)  # fmt: skip
    if bound:
        drawing.line(scale(bound), middle - 7, scale(bound), middle + 7, stroke=svg.MUTED, stroke_width=2.0,
                     class_="axis")  # fmt: skip
    hollow = {"fill_opacity": 0.15, "stroke": svg.colour(index), "class_": f"{svg.kind('h', index)} point"}
    svg.mark(drawing, index, scale(measured or 1.0), middle, 5.0, said, **hollow if run.flags else {})
    numbers = f"{run.quantity} {_number(run, run.measured)}, {run.ratio or 0:.3g} x"
    drawing.name(LEFT, top + 5, svg.cut(run.name or run.scenario, max(12, 62 - len(numbers))))
    drawing.name(RIGHT + 18, top + 5, numbers, "end")


def _shares(run: Run) -> tuple[float | None, ...]:
    """The measured number, the ends of its range and its bound, over what was expected; None where there is none."""
    return tuple(
        number / run.expected if number and run.expected else None
        for number in (run.measured, run.low, run.high, run.bound)
    )


def _said(run: Run) -> str:
    """What hovering shows of a run."""
    told = f"{run.name or run.scenario}, {run.on}: {run.quantity} {_number(run, run.measured)}, "
    told += f"expected {_number(run, run.expected)}"
    if run.low and run.high:
        told += f" ({_number(run, run.low)} to {_number(run, run.high)})"
    return told + (f", bound {_number(run, run.bound)}" if run.bound else "")


def _number(run: Run, value: float | None) -> str:
    """A number of a run as people say it, in the unit of the measured one."""
    unit = PERCENT if run.unit == PERCENT else "1/s" if run.unit.endswith("/s") else "s"
    return spoken(value, unit, run.measured)

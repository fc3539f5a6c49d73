"""The workbook's own runs in a report: the table of runs on Comparison, its picture, and the first lines of Profile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, takewhile

from planner.book.added_sheets import added
from planner.book.sheet import Sheet
from planner.catalog import load_stacks
from planner.compare.runs_table import UNREADABLE, RecordedRun, read, unreadable_rows
from planner.formulas.headlines import OF_ANY_RUNS, OF_RUNS
from planner.number_text import PERCENT, cut, shown, spoken
from planner.report import svg
from planner.report.contents import Figure, FigureColumn, FigureTable, Picture
from planner.report.figures import CellFigures, as_said
from planner.report.svg import Drawing, Scale
from planner.scaled_units import factor
from planner.xlsx.address import Spot
from planner.xlsx.cellvalue import is_number

RUNS, PROFILE = "Your runs", "Profile"
HEADS = ("What", "Measured")  # titles above the first lines of the sheet Profile
MEASURED, PLANNED = 2, 4  # columns of their numbers
LINES = (
    FigureColumn("what", "What", "text"),
    FigureColumn("measured", "Measured"),
    FigureColumn("plan", "Plan"),
    FigureColumn("of_plan", "Of the plan", "text"),
    FigureColumn("note", "Note", "text"),
)
MOST = 12  # most runs to draw, latest first
ROW, BAR, LINE = 34.0, 10.0, 14.0
TOGETHER = 60  # most letters of a name and numbers that stand on one line
LEFT, RIGHT = svg.KEY_LEFT + 4, svg.WIDTH - 22
FAR = 8.0  # ratio of largest to smallest above which the scale is logarithmic
TITLE = "Your runs over what was expected of them"
CAPTION = (
    "Each point is a run, as a multiple of what its plan expected on its day (the line at 1). The bar is {}, "
    "the short line the bound. Of a time less is better, of a rate or an MFU more."
)
HOLLOW = " Hollow points are flagged."


def tables(cells: CellFigures) -> tuple[FigureTable, ...]:
    """The table of runs, and a table for each scenario's profile; empty if nothing is recorded."""
    return *_runs(cells), *_profile(cells)


def _runs(cells: CellFigures) -> Iterator[FigureTable]:
    sheet = cells.comparison
    if sheet and (rows := tuple(tuple(_figures(run, sheet.name)) for run in read(sheet))):
        notes = tuple(f"Left out is row {number} of {sheet.name}: {UNREADABLE}." for number in unreadable_rows(sheet))
        yield FigureTable(_columns(_held(read(sheet))), rows, notes, title=RUNS)


def _held(runs: Sequence[RecordedRun]) -> str:
    """What the ranges of runs hold: published runs, or just runs if one was made with a stack of the user's own."""
    shipped = load_stacks()
    return OF_RUNS if all(not run.stack or shipped.has(run.stack) for run in runs) else OF_ANY_RUNS


def _columns(held: str) -> tuple[FigureColumn, ...]:
    """The columns of the table of runs; `held` is what the ranges hold."""
    return (
        FigureColumn("run_on", "Run", "text"),
        FigureColumn("run_name", "Scenario", "text"),
        FigureColumn("run_quantity", "What", "text"),
        FigureColumn("run_measured", "Measured"),
        FigureColumn("run_expected", "Expected then"),
        FigureColumn("run_range", held, "text"),
        FigureColumn("run_bound", "Bound"),
        FigureColumn("run_ratio", "Measured over expected", "1"),
        FigureColumn("run_facts", "Chip, stack, note", "text"),
    )


def _profile(cells: CellFigures) -> Iterator[FigureTable]:
    """The first lines of the newest sheet of each kind, from its titles to the first blank row."""
    newest = {each.kind: each.sheet for each in added(cells.plan.book.sheets.values()) if each.kind.startswith(PROFILE)}
    for kind, sheet in newest.items():
        if rows := tuple(_lines(sheet)):
            yield FigureTable(LINES, rows, title=kind.replace("_", " of ", 1))


def _lines(sheet: Sheet) -> Iterator[tuple[Figure, ...]]:
    head = next((row for row in sheet.filled if sheet.text(row, 1) == HEADS[0] and sheet.text(row, 2) == HEADS[1]), 0)
    for row in takewhile(lambda row: head and sheet.text(row, 1), count(head + 1)):
        yield tuple(_line(sheet, row))


def _line(sheet: Sheet, row: int) -> Iterator[Figure]:
    """A line of the sheet: texts unchanged, numbers scaled for reading with the unit in the third column."""
    unit_text = sheet.text(row, 3)
    unit = PERCENT if unit_text == PERCENT else "s" if unit_text else "1"
    size = factor(unit_text, "s" if unit == "s" else "1") if unit_text else 1.0
    why, numbers = sheet.text(row, 6), []
    for column in (MEASURED, PLANNED):
        value, cell = sheet.value(row, column), str(Spot(sheet.name, row, column))
        number = float(value) * size if is_number(value) else None
        said = "" if number is None else spoken(number, unit) if unit_text else shown(number, unit)
        missing = Figure.of_text("") if column == PLANNED else Figure(None, unit, "N/A", cell, why)
        numbers.append(missing if number is None else Figure(number, unit, said, cell))
    yield Figure.of_text(sheet.text(row, 1))
    yield from numbers
    yield Figure.of_text(sheet.text(row, 5))
    yield Figure.of_text(why)


def _figures(run: RecordedRun, sheet: str) -> Iterator[Figure]:
    unit = "1" if run.said_in == "1/s" else run.said_in  # a rate's name says what it counts

    def number(value: float | None) -> Figure:
        figure = Figure(value, unit, "N/A", sheet, "" if value is not None else "the plan had no number for it")
        return as_said(figure, run.measured)

    yield Figure.of_text(run.on)
    yield Figure.of_text(run.name)
    yield Figure.of_text(run.quantity)
    measured, expected, low, high, bound = map(number, (run.measured, run.expected, run.low, run.high, run.bound))
    yield measured
    yield expected
    yield Figure.of_text("" if low.is_missing or high.is_missing else f"{low.text} to {high.text}")
    yield bound
    ratio = run.ratio
    yield Figure(ratio, "1", "N/A" if ratio is None else shown(ratio, "1"), sheet, is_derived=True)
    yield Figure.of_text(", ".join(filter(None, (run.chip, run.stack, run.flags and f"flagged {run.flags}", run.note))))


def pictures(cells: CellFigures, tables: Sequence[FigureTable]) -> Iterator[Picture]:
    """The picture of runs relative to what was expected when they were recorded, as in the first of `tables`."""
    found = read(cells.comparison) if cells.comparison else []
    drawn = [run for run in found if run.expected and run.measured > 0][-MOST:]
    if drawn and tables:
        alt = f"{TITLE}. " + " ".join(f"{_said(run)}." for run in drawn)
        caption = CAPTION.format(_held(drawn)) + (HOLLOW if any(run.flags for run in drawn) else "")
        yield Picture("runs", TITLE, _drawing(drawn, alt), alt, caption, tables[0])


def _drawing(runs: Sequence[RecordedRun], alt: str) -> str:
    is_long = any(len(_called(run)) + len(_numbers(run)) > TOGETHER for run in runs)
    row = ROW + LINE if is_long else ROW
    drawing = Drawing(row * len(runs) + 40)
    ends = [share for run in runs for share in (1.0, *_shares(run)) if share]
    low, high = min(ends), max(ends)
    is_log = high > FAR * low
    scale = Scale(low / 1.1, high * 1.1, LEFT, RIGHT, True) if is_log else Scale(0.0, high * 1.05, LEFT, RIGHT)
    bottom = row * len(runs) + 8
    for value in scale.ticks():
        drawing.line(scale(value), 4, scale(value), bottom)
        drawing.text(scale(value), bottom + 12, svg.tick(value), "middle")
    drawing.line(scale(1.0), 4, scale(1.0), bottom, stroke=svg.INK, stroke_width=1.4, class_="limit")
    drawing.text((LEFT + RIGHT) / 2, bottom + 27, "times what was expected", "middle")
    scenarios = list(dict.fromkeys(run.scenario for run in runs))
    for at, run in enumerate(runs):
        _row(drawing, run, scenarios.index(run.scenario), scale, at * row + 6, is_long=is_long)
    return drawing.svg(alt)


def _called(run: RecordedRun) -> str:
    return run.name or run.scenario


def _numbers(run: RecordedRun) -> str:
    return f"{run.quantity} {_number(run, run.measured)}, {run.ratio or 0:.3g} x"


def _row(drawing: Drawing, run: RecordedRun, index: int, scale: Scale, top: float, *, is_long: bool) -> None:
    """Draw a run: its name and numbers above, on a line each if `is_long`; its range, bound and point below."""
    measured, low, high, bound = _shares(run)
    second = top + LINE if is_long else top
    middle, said = second + 20, _said(run)
    if low and high:
        left, look = scale(low), {"rx": 2, "fill": svg.MUTED, "fill_opacity": 0.3}
        drawing.rect(left, middle - BAR / 2, max(scale(high) - left, 0.5), BAR, said, **look)
    if bound:
        x = scale(bound)
        drawing.line(x, middle - 7, x, middle + 7, stroke=svg.MUTED, stroke_width=2.0, class_="axis")
    svg.mark(drawing, index, scale(measured or 1.0), middle, 5.0, said, is_hollow=bool(run.flags))
    drawing.name(LEFT, top + 5, cut(_called(run), TOGETHER))
    drawing.name(RIGHT + 18, second + 5, _numbers(run), "end")


def _shares(run: RecordedRun) -> tuple[float | None, ...]:
    """The measured number, the ends of its range and its bound, over the expected number; None for a missing one."""
    return tuple(
        number / run.expected if number and run.expected else None
        for number in (run.measured, run.low, run.high, run.bound)
    )


def _said(run: RecordedRun) -> str:
    """The tooltip of a run."""
    words = f"{_called(run)}, {run.on}: {run.quantity} {_number(run, run.measured)}, "
    words += f"expected {_number(run, run.expected)}"
    if run.low and run.high:
        words += f" ({_number(run, run.low)} to {_number(run, run.high)})"
    return words + (f", bound {_number(run, run.bound)}" if run.bound else "")


def _number(run: RecordedRun, value: float | None) -> str:
    """A number of a run scaled for reading, in the unit of the measured one."""
    return spoken(value, run.said_in, run.measured)

"""The sheet Profile: first lines next to the plan, parts of a step, programs, operations and their roofline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from openpyxl.chart import ScatterChart

from planner.ingest.first_page import COUNT, SECONDS, PageLine, part, parts_of
from planner.ingest.operation_rows import MOST, OperationRow, Peaks, rows
from planner.number_text import PERCENT, cut
from planner.profiles.profile import Operation, Parts, Profile
from planner.scaled_units import factor
from planner.terminal_table import counted
from planner.workbook import charts
from planner.workbook.added_sheet import FIRST_ROW
from planner.workbook.cell_styles import SAID, number_format
from planner.workbook.page import Page

KIND, PURPOSE = "Profile", "What a profile of the plan's run says, beside what the plan expects of it."
MS, US = "ms", "us"
HEADS = ("What", "Measured", "Unit", "Plan", "Of the plan", "Note")
LONGEST = 160  # most characters of a name or of shapes
SHARE, WHOLE = "0.0%", "#,##0"
CHART_AT, PRINTED = "G", "N"  # column of the chart, right of the sections; last printed column
CHART_WIDTH = 18.0  # cm
DECADES = (0.01, 10_000.0)  # FLOP/byte, range of the roofline's axis
PARTS = (
    ("compute", "an operation computes"),
    ("communication", "a collective, and nothing computes"),
    ("copy", "a copy, and nothing computes"),
    ("wait", "for what the profile doesn't tell"),
    ("gap", "nothing runs"),
)


def write(
    page: Page, profile: Profile, lines: Sequence[PageLine], peaks: Peaks, about: Sequence[tuple[str, str]]
) -> None:
    """Fill the page; `about` are (label, text) lines on the profile's files, device and scenario."""
    _Sheet(page, profile, peaks).write(lines, about)


COLUMNS: tuple[tuple[str, str, Callable[[OperationRow], object]], ...] = (
    ("Operation", "@", lambda row: cut(row.name, LONGEST)),
    ("Self (ms)", SAID, lambda row: row.one.self_time / factor(MS, SECONDS)),
    ("Of all of them", SHARE, lambda row: row.share),
    ("Runs", WHOLE, lambda row: row.one.count or None),
    ("Program", "@", lambda row: cut(row.one.program, LONGEST)),
    ("Category", "@", lambda row: cut(row.one.category or row.one.opcode, LONGEST)),
    ("Part of a step", "@", lambda row: row.one.part),
    ("Total (ms)", SAID, lambda row: row.one.total / factor(MS, SECONDS)),
    ("Median (us)", SAID, lambda row: row.one.median / factor(US, SECONDS)),
    ("FLOPs of a run", number_format("FLOP"), lambda row: row.one.flops),
    ("Bytes of a run", number_format("byte"), lambda row: row.one.bytes),
    ("Of its roofline", SHARE, lambda row: row.efficiency),
    ("Bound by", "@", lambda row: row.bound or None),
    ("Shapes", "@", lambda row: cut(_shapes(row.one), LONGEST) or None),
    ("Framework's name", "@", lambda row: cut(row.one.source, LONGEST) or None),
    ("Chart: FLOP a byte", SAID, lambda row: row.intensity if row.achieved else None),
    ("Chart: achieved FLOP/s", number_format("FLOP/s"), lambda row: row.achieved if row.intensity else None),
    ("Empty cells, because", "@", lambda row: row.lacking or None),
)
CHART_X, CHART_Y = (
    next(at for at, each in enumerate(COLUMNS, 1) if each[0].endswith(end)) for end in ("byte", "FLOP/s")
)


class _Sheet:
    """The page and the next row to write."""

    def __init__(self, page: Page, profile: Profile, peaks: Peaks) -> None:
        self.page, self.profile, self.peaks = page, profile, peaks
        self.at = FIRST_ROW

    def write(self, lines: Sequence[PageLine], about: Sequence[tuple[str, str]]) -> None:
        """Write the whole sheet with its chart."""
        self._lines(lines)
        chart_row = self.at + 1
        self._heads("What it is of", ("What", "Said"))
        for label, text in about:
            self._row([(label, "@"), (text, "@")])
        self._parts()
        self._programs()
        first, last = self._operations()
        self.page.corner = f"B{FIRST_ROW + 1}"
        self.page.widths(38, 13, 12, 13, 32, 24, 15, 13, 13, 17, 17, 13, 12, 44, 40, 14, 18, 60)
        if chart := self._roofline(first, last):
            self.page.sheet.add_chart(chart, f"{CHART_AT}{chart_row}")
        self.page.sheet.print_area = f"A1:{PRINTED}{self.at - 1}"

    def _heads(self, title: str, heads: Sequence[str], right: Sequence[int] = ()) -> None:
        """A section's title in its own row, with the column titles below."""
        if title:
            self.at += 1
            self.page.section(self.at, title, len(heads))
            self.at += 1
        for column, head in enumerate(heads, start=1):
            self.page.put(self.at, column, head, "plan_header_right" if column in right else "plan_header")
        self.at += 1

    def _row(self, cells: Sequence[tuple[object, str]]) -> None:
        """A row of cells, each with its number format; empty ones stay empty."""
        for column, (value, form) in enumerate(cells, start=1):
            if value is not None and value != "":
                is_text = form == "@"
                self.page.put(
                    self.at, column, value, "plan_text" if is_text else "plan_measured", None if is_text else form
                )
        self.at += 1

    def _lines(self, lines: Sequence[PageLine]) -> None:
        self._heads("", HEADS, right=(2, 4))
        for line in lines:
            (value, unit), (plan, _) = _in_words(line, line.measured), _in_words(line, line.plan)
            form = WHOLE if line.unit == COUNT else SAID
            self._row(
                [(line.label, "@"), (value, form), (unit, "@"), (plan, form), (line.planned, "@"), (line.note, "@")]
            )

    def _parts(self) -> None:
        parts = self.profile.step_parts
        heads = ("Part", "Time (ms)", "Share", "", "When")
        self._heads(f"Parts {parts_of(self.profile)}: disjoint, they add up", heads, (2, 3))
        for name, when in PARTS:
            self._part(name.capitalize(), part(self.profile, name), parts, when, name)
        self._part("All of them", parts.span, parts, "" if parts.gap is not None else self._why("gap"), "gap")

    def _part(self, label: str, seconds: float | None, parts: Parts, when: str, fact: str) -> None:
        share = seconds / parts.span if seconds is not None and parts.span else None
        time = None if seconds is None else seconds / factor(MS, SECONDS)
        said = when if seconds is not None else self._why(fact)
        self._row([(label, "@"), (time, SAID), (share, SHARE), ("", "@"), (said, "@")])

    def _why(self, fact: str) -> str:
        return self.profile.lacks.get(fact, "")

    def _programs(self) -> None:
        programs: dict[tuple[str, str], list[tuple[int, float, float]]] = {}
        for device in self.profile.devices:
            for each in device.programs:
                programs.setdefault((each.name, each.id), []).append((each.count, each.total, each.median))
        heads = ("Program", "Total (ms)", "Runs", "Median (ms)", "Its number in the file")
        if not programs:
            self._heads("Programs", ("Program", "Empty, because"))
            self._row([("none", "@"), (self._why("programs") or "the file has none", "@")])
            return
        self._heads("Programs, over all devices", heads, (2, 3, 4))
        ordered = sorted(programs.items(), key=lambda pair: -sum(total for _, total, _ in pair[1]))
        for (name, number), runs in ordered[:MOST]:
            total, count = sum(total for _, total, _ in runs), sum(count for count, _, _ in runs)
            middle = median(middle for _, _, middle in runs) / factor(MS, SECONDS)
            times = (total / factor(MS, SECONDS), SAID), (middle if count else None, SAID)  # tools report only totals
            self._row([(cut(name, LONGEST), "@"), times[0], (count or None, WHOLE), times[1], (number, "@")])

    def _operations(self) -> tuple[int, int]:
        """Write the operations; returns their first and last row."""
        found = rows(self.profile, self.peaks)
        left_out = f", {counted(len(found) - MOST, 'more')} left out" if len(found) > MOST else ""
        numbers = [at for at, (_, form, _) in enumerate(COLUMNS, 1) if form != "@"]
        self._heads(f"Operations, over all devices, by self time{left_out}", [head for head, _, _ in COLUMNS], numbers)
        first = self.at
        for row in found[:MOST]:
            self._row([(value(row), form) for _, form, value in COLUMNS])
        self.page.close_columns((CHART_X, CHART_Y))
        return first, self.at - 1

    def _roofline(self, first: int, last: int) -> ScatterChart | None:
        """A chart of the operations with known FLOPs and bytes under the device's roofline. None if there are none."""
        if not self.peaks.flops or not self.peaks.bandwidth:
            return None
        if not any(row.intensity and row.achieved for row in rows(self.profile, self.peaks)[:MOST]):
            return None
        ridge = self.peaks.flops / self.peaks.bandwidth
        self._heads("The roofline, as the chart draws it", ("FLOP a byte", "FLOP/s"), (1, 2))
        top = self.at
        for intensity in (DECADES[0], ridge, DECADES[1]):
            attainable = min(self.peaks.flops, intensity * self.peaks.bandwidth)
            self._row([(intensity, SAID), (attainable, number_format("FLOP/s"))])
        chart = charts.log_log(f"Operations below the roofline: {self.peaks.source}")
        chart.width = CHART_WIDTH
        charts.axis(chart.x_axis, "FLOP a byte", "#,##0.##", *DECADES)
        charts.axis(chart.y_axis, "FLOP/s", "0E+0")
        roof = charts.column(self.page, 1, top, self.at - 1), charts.column(self.page, 2, top, self.at - 1)
        points = charts.column(self.page, CHART_X, first, last), charts.column(self.page, CHART_Y, first, last)
        chart.series += [charts.line(*roof, "Roofline"), charts.markers(*points, "Operations")]
        return chart


def _in_words(line: PageLine, value: float | None) -> tuple[float | None, str]:
    """A line's number in the sheet's unit, and that unit: times in ms, fractions in percent."""
    unit, base = {SECONDS: (MS, SECONDS), PERCENT: (PERCENT, COUNT)}.get(line.unit, ("", COUNT))
    return (None if value is None else value / (factor(unit, base) if unit else 1.0)), unit


def _shapes(one: Operation) -> str:
    shapes_text = f"{' '.join(map(str, one.operands))} -> {' '.join(map(str, one.result))}"
    return shapes_text if one.result or one.operands else ""

"""Predicted and measured times of the cases on the workbook's Comparison, their ratio and error, and a picture."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from planner.compare.row_of_measurement import OTHER_HARDWARE, is_chip
from planner.number_text import percent, shown
from planner.report import svg
from planner.report.contents import Figure, FigureColumn, FigureTable, Picture
from planner.report.figures import CellFigures
from planner.report.svg import Drawing, Scale
from planner.terminal_table import counted
from planner.xlsx.cellvalue import same_value

COLUMNS = (
    ("case_label", "Case", "text"),
    ("shape", "Shape", "text"),
    ("dtype", "Dtype", "text"),
    ("hardware_id", "Chip", "text"),
    ("device", "Measured on", "text"),
    ("bound", "Bound by", "text"),
    ("predicted_time", "Predicted", "s"),
    ("bound_time", "Bound", "s"),
    ("calibrated_time", "Bound with efficiencies", "s"),
    ("measured_time", "Measured", "s"),
    ("time_ratio", "Measured over predicted", "1"),
    ("roofline_share", "Share of the roofline", "%"),
    ("spread", "Spread", "%"),
    ("flags", "Flags", "text"),
)
ERROR = FigureColumn("error", "Error of the prediction", "%")
ERROR_NOTE = "Error: predicted over measured less 1, above 0 where the case ran faster than predicted."
ALWAYS = ("case_label", "predicted_time", "measured_time")
AS_BOUND = 1e-9  # relative difference up to which the bound with efficiencies is the bound
CLOSE = 1.4  # largest good ratio of measured to predicted, as on the sheet


@dataclass(frozen=True)
class MeasuredCase:
    """One case: its figures by column name."""

    template: str
    figures: dict[str, Figure]

    @property
    def times(self) -> tuple[float, float]:
        """The predicted and the measured time in seconds; 0 for a missing one."""
        return self.figures["predicted_time"].number, self.figures["measured_time"].number

    @property
    def has_time(self) -> bool:
        """Whether it was measured, with a prediction or without."""
        return self.times[1] > 0

    @property
    def is_measured(self) -> bool:
        """Whether both times are known."""
        return min(self.times) > 0

    def is_of(self, chips: Collection[str]) -> bool:
        """Whether it belongs to one of these chips, as far as known: predicted for it and not measured on another."""
        chip = self.figures["hardware_id"].value
        is_theirs = not chip or any(is_chip(str(chip), each) for each in chips)
        return is_theirs and OTHER_HARDWARE not in self.flags

    @property
    def ratio(self) -> Figure:
        """The measured time over the predicted one."""
        return self.figures["time_ratio"]

    @property
    def flags(self) -> str:
        """The guards that the measurement failed."""
        value = self.figures["flags"].value
        return value.strip() if isinstance(value, str) else ""

    @property
    def error(self) -> Figure:
        """How far off the prediction is, of measured, as runs are said to be off: predicted over measured minus 1."""
        if self.ratio.number <= 0:
            return Figure(None, "%", self.ratio.text, self.ratio.cell, self.ratio.why, True)
        value = 1 / self.ratio.number - 1
        return Figure(value, "%", percent(value, signed=True), self.ratio.cell, "", True)

    @property
    def said(self) -> str:
        """The tooltip of its point."""
        label, predicted, measured = (self.figures[name].text for name in ALWAYS)
        words = f"{label}\npredicted {predicted}\nmeasured {measured}\n{self.ratio.text} times the prediction"
        return f"{words}\nflagged: {self.flags}" if self.flags else words


@dataclass(frozen=True)
class ComparedCases:
    """The Comparison's cases for the plan's chips, and the number of measured times of other hardware."""

    cases: tuple[MeasuredCase, ...]
    foreign: int

    @property
    def measured(self) -> list[MeasuredCase]:
        """The measured cases."""
        return [case for case in self.cases if case.is_measured]

    def table(self) -> FigureTable:
        """The measured cases, without empty columns, or the bound with efficiencies where these are all 1."""
        cases = self.measured
        kept = [FigureColumn(*column) for column in COLUMNS if column[0] in ALWAYS or _says_something(column[0], cases)]
        at = next((index for index, column in enumerate(kept, 1) if column.name == "time_ratio"), len(kept))
        columns = (*kept[:at], ERROR, *kept[at:])
        rows = tuple(
            tuple(case.error if column is ERROR else case.figures[column.name] for column in columns) for case in cases
        )
        return FigureTable(columns, rows, (ERROR_NOTE,))

    @property
    def _unpredicted(self) -> int:
        return sum(case.has_time and not case.is_measured for case in self.cases)

    @property
    def _left_out(self) -> str:
        """How many measured times don't count, and why, as a sentence; blank if all do."""
        unpredicted = self._unpredicted
        reasons = [f"{self.foreign} of other hardware"] if self.foreign else []
        reasons += [f"{unpredicted} without a prediction"] if unpredicted else []
        return f" {counted(self.foreign + unpredicted, 'time')} left out: {', '.join(reasons)}." if reasons else ""

    @property
    def accuracy(self) -> str:
        """A sentence on the accuracy of the predictions."""
        measured = self.measured
        left_out = self._left_out
        if not measured and not self._unpredicted:
            return f"Nothing is measured yet: run `planner measure` on the machine in question.{left_out}"
        if not measured:
            return f"No measured time has a prediction.{left_out}"
        sound = [case.ratio.number for case in measured if not case.flags and case.ratio.number > 0]
        words = f"{len(measured)} of {len(self.cases)} cases are measured"
        if len(sound) < len(measured):
            words += f", {len(measured) - len(sound)} of them flagged"
        if not sound:
            return f"{words}.{left_out}"
        close = sum(ratio <= CLOSE for ratio in sound)
        middle = shown(statistics.median(sound), "1")
        return f"{words}; the median took {middle} times the prediction, {close} at most {CLOSE} times.{left_out}"


def compared(cells: CellFigures) -> ComparedCases | None:
    """The cases. None if the workbook has no Comparison."""
    if (sheet := cells.comparison) is None:
        return None
    cases = []
    for row in sheet.rows:
        figures = {
            name: _figure(cells, sheet.name, row.number, sheet.columns[name], name, unit)
            for name, _, unit in COLUMNS
            if name in sheet.columns
        }
        for name, _, unit in COLUMNS:
            figures.setdefault(name, Figure(None, unit, "N/A", "", f"the sheet has no column {name}"))
        cases.append(MeasuredCase(row.text("template"), figures))
    chips = {scenario.hardware for scenario in cells.plan.scenarios if scenario.hardware}
    own = tuple(case for case in cases if not chips or case.is_of(chips))
    foreign = sum(case.has_time for case in cases) - sum(case.has_time for case in own)
    return ComparedCases(own, foreign) if cases else None


def _figure(cells: CellFigures, sheet: str, row: int, column: int, name: str, unit: str) -> Figure:
    figure = cells.at(sheet, row, column, unit)
    if not figure.is_missing or figure.value == "":
        return figure
    if unit == "text" or name == "spread":
        return Figure(None, unit, "", figure.cell)
    return Figure(None, unit, "N/A", figure.cell, figure.why)


def _says_something(name: str, cases: list[MeasuredCase]) -> bool:
    if name == "calibrated_time":
        pairs = [(case.figures[name].value, case.figures["bound_time"].value) for case in cases]
        return any(not same_value(*pair, AS_BOUND) for pair in pairs)
    return any(case.figures[name].value not in (None, "") for case in cases)


HEIGHT, LEFT, RIGHT = 320.0, 58.0, svg.WIDTH - 12


def measured_pictures(compared: ComparedCases | None) -> Iterator[Picture]:
    """The picture, if anything was measured."""
    cases = [] if compared is None else compared.measured
    if not cases or compared is None:
        return
    drawing = Drawing(HEIGHT)
    kinds = list(dict.fromkeys(case.template for case in cases))
    top = svg.legend(drawing, list(enumerate(kinds)), of_scenarios=False) + 16
    times = [time for case in cases for time in case.times]
    low, high = min(times) / 2, max(times) * 2
    x, y = Scale(low, high, LEFT, RIGHT, True), Scale(low, high, HEIGHT - 46, top, True)
    svg.axes(drawing, x, y, "Predicted time", "Measured time", "s", "s")
    drawing.line(x(low), y(low), x(high), y(high), stroke=svg.INK, stroke_width=1.4, class_="limit")
    drawing.line(x(low), y(2 * low), x(high / 2), y(high), stroke=svg.MUTED, stroke_dasharray="4 3", class_="axis")
    drawing.text(x(high / 2) - 24, y(high) + 8, "twice as long", "end")
    drawing.text(x(high) - 4, y(high / 12), "as predicted", "end")
    for case in cases:
        index, (predicted, measured) = kinds.index(case.template), case.times
        svg.mark(drawing, index, x(predicted), y(measured), 5.0, case.said, is_hollow=bool(case.flags))
    title = "Predicted and measured time"
    alt = f"{title} of {len(cases)} cases. {compared.accuracy}"
    caption = "On the line the measurement took as long as predicted, above it longer." + (
        " Hollow points failed a guard of the measurement." if any(case.flags for case in cases) else ""
    )
    yield Picture("predicted-measured", title, drawing.svg(alt), alt, caption, compared.table())

"""The content of a report as plain data. Every format is rendered from a `ReportData` and nothing else."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.xlsx.cellvalue import Value, exact_text, is_number


@dataclass(frozen=True)
class Figure:
    """One number or text of the workbook."""

    value: Value  # the cell's value; None if missing
    unit: str
    text: str  # as shown to readers, with the unit
    cell: str = ""  # its cell, `Dashboard!F27`, or the cells that it is derived from
    why: str = ""  # reason why it is N/A
    is_derived: bool = False  # whether it is derived from cells rather than being one

    @classmethod
    def of_text(cls, words: str, cell: str = "", why: str = "") -> Figure:
        """A text figure; the text is also its value."""
        return cls(words, "text", words, cell, why)

    @property
    def is_missing(self) -> bool:
        """Whether there is nothing to show."""
        return self.value is None

    @property
    def is_text(self) -> bool:
        """Whether it is a text."""
        return isinstance(self.value, str)

    @property
    def is_number(self) -> bool:
        """Whether it is a number."""
        return is_number(self.value)

    @property
    def number(self) -> float:
        """Its number for a drawing; 0 if there is none."""
        return float(self.value) if is_number(self.value) else 0.0

    @property
    def exact(self) -> str:
        """The number in full precision, as in the cell; blank if there is none."""
        return exact_text(float(self.value)) if isinstance(self.value, (int, float)) else ""


@dataclass(frozen=True)
class FigureRow:
    """A quantity with a figure for each scenario."""

    name: str
    label: str
    unit: str
    figures: tuple[Figure, ...]
    note: str = ""

    @property
    def differs(self) -> bool:
        """Whether the scenarios have different values."""
        return len({figure.value for figure in self.figures}) > 1

    @property
    def reasons(self) -> tuple[str, ...]:
        """The distinct reasons why numbers are missing."""
        return tuple(dict.fromkeys(figure.why for figure in self.figures if figure.why))


@dataclass(frozen=True)
class ExpectedNumber:
    """A headline of a scenario: the expected value, the low and high end of the 80 % range, and the bound."""

    name: str
    label: str
    unit: str
    expected: Figure
    low: Figure
    high: Figure
    bound: Figure
    note: str = ""  # what the number includes, and its source

    @property
    def range(self) -> Figure:
        """The range in words: `7.5 to 10.2 s`."""
        cells = f"{self.low.cell}, {self.high.cell}"
        if self.low.is_missing or self.high.is_missing:
            return Figure(None, self.unit, "N/A", cells, self.low.why or self.high.why, is_derived=True)
        number, _, unit = self.low.text.partition(" ")
        words = f"{number if self.high.text.endswith(f' {unit}') else self.low.text} to {self.high.text}"
        return Figure(words, "text", words, cells, is_derived=True)


@dataclass(frozen=True)
class Section:
    """Rows under one heading."""

    title: str
    lines: tuple[FigureRow, ...]
    meant: tuple[int, ...]  # indices of the scenarios; empty if a figure is for all
    is_detail: bool = False  # whether only of interest on closer look
    expected: tuple[tuple[ExpectedNumber, ...], ...] = ()  # for each headline these scenarios' numbers


@dataclass(frozen=True)
class MemoryUse:
    """Memory used and available; `what` names the kind of plan. `fits` is None if unknown."""

    what: str
    fits: bool | None
    needed: Figure
    room: Figure

    @property
    def share(self) -> float:
        """The used share in percent, for a drawing."""
        needed, room = self.needed.value, self.room.value
        return 100 * needed / room if isinstance(needed, float) and isinstance(room, float) and room > 0 else 0.0


@dataclass(frozen=True)
class ScenarioSummary:
    """A scenario: its identity, whether it fits, its main expected numbers, what binds it, and suggested changes."""

    id: str
    name: str
    model: str
    chip: str
    chips: Figure
    fits: bool | None  # None: unknown
    memory: tuple[MemoryUse, ...]
    binds: tuple[tuple[str, str], ...]  # (quantity, what binds it)
    failed: int
    untold: int
    expected: tuple[ExpectedNumber, ...] = ()  # the main numbers
    sure: str = ""  # what their ranges are based on
    notes: tuple[str, ...] = ()  # remarks on them
    changes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckResult:
    """A check that fails in a scenario, or whose result is unknown."""

    scenario: str
    label: str
    meaning: str  # its meaning according to the sheet
    cell: str
    fails: bool
    why: str = ""  # reason if the result is unknown
    numbers: str = ""  # numbers that a failed check compares, in words


@dataclass(frozen=True)
class FigureColumn:
    """A column of a table: machine name or title, label and unit."""

    name: str
    label: str
    unit: str = ""

    @property
    def is_text(self) -> bool:
        """Whether it contains no numbers."""
        return self.unit == "text"


@dataclass(frozen=True)
class FigureTable:
    """Rows of figures with columns. `notes` are shown below the table."""

    columns: tuple[FigureColumn, ...]
    rows: tuple[tuple[Figure, ...], ...]
    notes: tuple[str, ...] = ()
    title: str = ""


@dataclass(frozen=True)
class SearchFound:
    """The result of a search: the plans as shown to readers, with the request below, and a table of all numbers."""

    title: str
    table: FigureTable
    numbers: FigureTable


@dataclass(frozen=True)
class Picture:
    """A drawing, its description in words (`alt`), and the numbers that it is drawn from."""

    id: str
    title: str
    svg: str
    alt: str
    caption: str
    table: FigureTable


@dataclass(frozen=True)
class Source:
    """A source: a file with its SHA-256, or a model or chip with the page that describes it."""

    what: str
    detail: str
    kind: str = "file"


@dataclass(frozen=True)
class Typed:
    """A number typed over a formula, or a formula that differs from its row's: the cell and its content."""

    cell: str
    label: str
    scenario: str
    what: str


@dataclass(frozen=True)
class ReportData:
    """A whole report. Lists are empty and tables None for what the workbook lacks."""

    title: str
    file: str
    file_digest: str
    date: str  # date of the report, ISO
    planner: str  # version that wrote the report
    workbook: Mapping[str, str]  # the workbook's version and date according to the Cover
    scenarios: tuple[ScenarioSummary, ...]
    n_checks: int  # number of checks over all scenarios
    failed: tuple[CheckResult, ...]
    untold: tuple[CheckResult, ...]
    headlines: tuple[Section, ...]
    pictures: tuple[Picture, ...]
    sweeps: tuple[FigureTable, ...]
    what_ifs: tuple[FigureTable, ...]  # tables for changed prices or efficiencies
    swept: str  # the swept scenario
    comparison: FigureTable | None
    accuracy: str  # the accuracy of the predictions in a sentence
    assumptions: tuple[Section, ...]
    typed: tuple[Typed, ...]
    notes: tuple[tuple[str, str], ...]  # (cell, text) of an analyst's notes
    sources: tuple[Source, ...]
    warnings: tuple[str, ...] = ()
    searches: tuple[SearchFound, ...] = ()  # results of planner optimize, one per sheet Search
    near: tuple[FigureTable, ...] = ()  # the published runs nearest to the scenarios
    own: tuple[FigureTable, ...] = ()  # the workbook's own runs and profiles, a section each
    of_runs: str = ""  # what the ranges hold, in words


_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]")
"""Control characters, surrogates, and marks that change the text direction."""


def cleaned(value: Any) -> Any:
    """A report, or any part of it, with unfit characters removed from its texts; the same object if it had none."""
    if isinstance(value, str):
        return _UNFIT.sub("", value)
    if isinstance(value, tuple):
        made = tuple(cleaned(item) for item in value)
        same = all(new is old for new, old in zip(made, value, strict=True))
        return value if same else type(value)(*made) if hasattr(value, "_fields") else made
    if isinstance(value, dict):
        return {cleaned(key): cleaned(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        old = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        new = {name: item for name, own in old.items() if (item := cleaned(own)) is not own}
        return dataclasses.replace(value, **new) if new else value
    return value

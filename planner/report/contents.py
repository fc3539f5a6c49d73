"""What a report says, as plain data: every format is made of one `ReportData` and of nothing else."""

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

    value: Value  # the cell's; None for what is not there
    unit: str
    text: str  # what a reader sees, with its unit
    cell: str = ""  # where it stands, `Dashboard!F27`, or the cells that it is made of
    why: str = ""  # it is N/A
    is_derived: bool = False  # whether it is made of cells, and stands in none

    @classmethod
    def of_text(cls, words: str, cell: str = "", why: str = "") -> Figure:
        """A text, which says itself."""
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
        """Its number for a drawing; 0 where there is none."""
        return float(self.value) if is_number(self.value) else 0.0

    @property
    def exact(self) -> str:
        """The number to the last digit, as a cell holds it; blank where there is none."""
        return exact_text(float(self.value)) if isinstance(self.value, (int, float)) else ""


@dataclass(frozen=True)
class FigureRow:
    """A quantity with a figure for each scenario. `differs`: the scenarios don't agree on it."""

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
        """Why numbers are missing, each reason once."""
        return tuple(dict.fromkeys(figure.why for figure in self.figures if figure.why))


@dataclass(frozen=True)
class ExpectedNumber:
    """A headline of a scenario: what to expect, the least and the most of 80 % of published runs, and the bound."""

    name: str
    label: str
    unit: str
    expected: Figure
    low: Figure
    high: Figure
    bound: Figure
    note: str = ""  # what the number has in it, and its source

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
    """Lines below one heading."""

    title: str
    lines: tuple[FigureRow, ...]
    meant: tuple[int, ...]  # the places of the scenarios that they are of; none where a figure is of all
    is_detail: bool = False  # of interest to those who look closer
    expected: tuple[tuple[ExpectedNumber, ...], ...] = ()  # what leads: of each headline these scenarios' numbers


@dataclass(frozen=True)
class MemoryUse:
    """What stands in memory and what there is; `what` says of which plan. `fits` is None where it can't be told."""

    what: str
    fits: bool | None
    needed: Figure
    room: Figure

    @property
    def share(self) -> float:
        """How much is taken, in percent; for a drawing."""
        needed, room = self.needed.value, self.room.value
        return 100 * needed / room if isinstance(needed, float) and isinstance(room, float) and room > 0 else 0.0


@dataclass(frozen=True)
class ScenarioSummary:
    """A scenario: who it is, whether it fits, what to expect first of all, what binds it, what to change."""

    id: str
    name: str
    model: str
    chip: str
    chips: Figure
    fits: bool | None  # None: can't be told
    memory: tuple[MemoryUse, ...]
    binds: tuple[tuple[str, str], ...]  # of which quantity, what binds it
    failed: int
    untold: int
    expected: tuple[ExpectedNumber, ...] = ()  # the few numbers that one asks for first
    sure: str = ""  # what their ranges rest on
    notes: tuple[str, ...] = ()  # what one must know of them
    changes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckResult:
    """A check that fails in a scenario, or that can't be told."""

    scenario: str
    label: str
    meaning: str  # what the sheet says of it
    cell: str
    fails: bool
    why: str = ""  # it can't be told
    numbers: str = ""  # those that a failed check compares, in words


@dataclass(frozen=True)
class FigureColumn:
    """A column of a table: a machine name or a title, its label and unit."""

    name: str
    label: str
    unit: str = ""

    @property
    def is_text(self) -> bool:
        """Whether it holds no numbers."""
        return self.unit == "text"


@dataclass(frozen=True)
class FigureTable:
    """Rows of figures below columns. `notes` stand below the table."""

    columns: tuple[FigureColumn, ...]
    rows: tuple[tuple[Figure, ...], ...]
    notes: tuple[str, ...] = ()
    title: str = ""


@dataclass(frozen=True)
class SearchFound:
    """What a search found: the plans as a reader wants them, with what was asked below them; and all of its numbers."""

    title: str
    table: FigureTable
    numbers: FigureTable


@dataclass(frozen=True)
class Picture:
    """A drawing with what it shows in words (`alt`), and the numbers that it is drawn from."""

    id: str
    title: str
    svg: str
    alt: str
    caption: str
    table: FigureTable


@dataclass(frozen=True)
class Source:
    """Where something comes from: a file with its SHA-256, or a model, a chip with the page that describes it."""

    what: str
    detail: str
    kind: str = "file"


@dataclass(frozen=True)
class Typed:
    """A number typed over a formula, or a formula that is not its row's: which, and what stands there."""

    cell: str
    label: str
    scenario: str
    what: str


@dataclass(frozen=True)
class ReportData:
    """A whole report. Lists are empty and tables None where the workbook has nothing of the kind."""

    title: str
    file: str
    file_digest: str
    date: str  # of the report, ISO
    planner: str  # the version that wrote the report
    workbook: Mapping[str, str]  # what the Cover says of the workbook: its version, its date
    scenarios: tuple[ScenarioSummary, ...]
    n_checks: int  # over all scenarios
    failed: tuple[CheckResult, ...]
    untold: tuple[CheckResult, ...]
    headlines: tuple[Section, ...]
    pictures: tuple[Picture, ...]
    sweeps: tuple[FigureTable, ...]
    what_ifs: tuple[FigureTable, ...]  # if price or efficiency moves
    swept: str  # the scenario that the sweeps are of
    comparison: FigureTable | None
    accuracy: str  # the comparison in a sentence
    assumptions: tuple[Section, ...]
    typed: tuple[Typed, ...]
    notes: tuple[tuple[str, str], ...]  # an analyst's notes: cell, text
    sources: tuple[Source, ...]
    warnings: tuple[str, ...] = ()
    searches: tuple[SearchFound, ...] = ()  # what planner optimize found, one for each sheet Search
    near: tuple[FigureTable, ...] = ()  # the published runs nearest to the scenarios
    own: tuple[FigureTable, ...] = ()  # the workbook's own runs and its profile, a section each


_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]")
"""Control characters, halves of characters, and marks that turn the direction of what follows."""


def cleaned(value: Any) -> Any:
    """A report, or any part of one, whose texts hold no unfit character; the same object where it had none."""
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

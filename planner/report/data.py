"""What a report says, as plain data: every page, whatever its format, is made of this and of nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planner.xlsx.cellvalue import Value


@dataclass(frozen=True)
class Figure:
    """One number or text of the workbook.

    `value` is the cell's, None for what is not there; `text` is what a reader sees, with its unit; `cell` is where it
    stands (`Dashboard!F27`), or the cells it is made of where `is_derived`. `why` says why it is N/A.
    """

    value: Value
    unit: str
    text: str
    cell: str = ""
    why: str = ""
    is_derived: bool = False

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
        return isinstance(self.value, (int, float)) and not isinstance(self.value, bool)

    @property
    def exact(self) -> str:
        """The number to the last digit, as a cell holds it; blank where there is none."""
        return repr(float(self.value)).removesuffix(".0") if isinstance(self.value, (int, float)) else ""


@dataclass(frozen=True)
class Line:
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


@dataclass(frozen=True)
class Section:
    """Lines below one heading; `is_detail`: of interest to those who look closer."""

    title: str
    lines: tuple[Line, ...]
    is_detail: bool = False


@dataclass(frozen=True)
class Memory:
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
class Scenario:
    """A scenario: who it is, whether it fits, what binds it, and the few numbers that one asks for first."""

    id: str
    name: str
    model: str
    chip: str
    chips: Figure
    fits: bool | None  # None: can't be told
    memory: tuple[Memory, ...]
    binds: tuple[tuple[str, str], ...]  # of which quantity, what binds it
    main: tuple[Line, ...]
    failed: int
    untold: int


@dataclass(frozen=True)
class Check:
    """A check that fails in a scenario, or that can't be told; `why` is then the reason.

    `numbers` are those that a failed check compares, in words; `meaning` is what the sheet says of it.
    """

    scenario: str
    label: str
    meaning: str
    cell: str
    fails: bool
    why: str = ""
    numbers: str = ""


@dataclass(frozen=True)
class Column:
    """A column of a table: a machine name or a title, its label and unit."""

    name: str
    label: str
    unit: str = ""

    @property
    def is_text(self) -> bool:
        """Whether it holds no numbers."""
        return self.unit == "text"


@dataclass(frozen=True)
class Table:
    """Rows of figures below columns. `notes` stand below the table."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Figure, ...], ...]
    notes: tuple[str, ...] = ()
    title: str = ""


@dataclass(frozen=True)
class Picture:
    """A drawing with what it shows in words (`alt`), and the numbers that it is drawn from."""

    id: str
    title: str
    svg: str
    alt: str
    caption: str
    table: Table


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
    scenarios: tuple[Scenario, ...]
    n_checks: int  # over all scenarios
    failed: tuple[Check, ...]
    untold: tuple[Check, ...]
    headlines: tuple[Section, ...]
    pictures: tuple[Picture, ...]
    sweeps: tuple[Table, ...]
    swept: str  # the scenario that the sweeps are of
    comparison: Table | None
    accuracy: str  # the comparison in a sentence
    assumptions: tuple[Section, ...]
    typed: tuple[Typed, ...]
    notes: tuple[tuple[str, str], ...]  # an analyst's notes: cell, text
    sources: tuple[Source, ...]
    warnings: tuple[str, ...] = field(default=())

"""The result columns of Comparison: shape, dtype, the rows of templates/measured.csv, bound, note.

They are right of the case's own quantities (its FLOPs, its times), which their formulas read in the same row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from planner.compare.comparison_cases import SHAPES, ComparisonCase
from planner.compare.comparison_sheet import NOTE, NOTE_LABEL, RESULTS, SHOWN
from planner.compare.prediction import COMM, NEEDS
from planner.formulas import library
from planner.formulas.template import CALCULATED, Row, Template
from planner.workbook import display_units
from planner.workbook.cell_styles import PERCENT, number_format, row_format
from planner.workbook.display_units import shown_format
from planner.workbook.page import Live, Page
from planner.xlsx.address import address

# used if the case's template lacks the row
ABSENT = {
    "flops": "0",
    "compute_time": "0",
    "memory_time": "lower_bound_time",
    "expected_time": "lower_bound_time",
    "n_chips": "1",
}
# not typed for cases that lack them
UNTYPED = ("expected_time", "expected_time_low", "expected_time_high", "payload_bytes", "bus_bytes")
SHARES = ("roofline_share", "mfu", "spread")
OPEN = ("shape", "dtype", "time_ratio", "roofline_share", "mfu", "flags", "bound", NOTE)  # and the display columns
MEASURED = "measured_time"
NUMBERS, TEXTS = 13.0, 22.0  # column widths
WIDE = {"shape": 32.0, "dtype": 10.0, "flags": 36.0, "bound": 11.0, NOTE: 40.0}
OWN = {"shape": "Shape", "dtype": "Dtype", "bound": "Bound by", NOTE: NOTE_LABEL}


@dataclass(frozen=True)
class ResultColumns:
    """The result columns, from `first` on; `working` are the columns of the case's own quantities."""

    page: Page
    first: int
    working: Mapping[str, int]
    efficiencies: Mapping[str, str]  # of the chosen scenario, if the plan has them
    constant: Callable[[str], str]  # the cell of a constant on Inputs

    @cached_property
    def template(self) -> Template:
        """The template whose rows are the columns."""
        return library.load(RESULTS)

    @cached_property
    def columns(self) -> dict[str, int]:
        """Machine name -> column, from left to right."""
        rows = [row for row in self.template.rows if row.name not in {*self.working, *UNTYPED}]
        laid = [name for row in rows for name in (row.name, *([row.name + SHOWN] if row.display else []))]
        names = ["shape", "dtype", *laid, "bound", NOTE]
        return {name: column for column, name in enumerate(names, start=self.first)}

    @property
    def typed(self) -> list[str]:
        """The columns that measure and backfill write."""
        inputs = {row.name for row in self.template.of_kind("input")}
        return [name for name in self.columns if name in inputs and not name.endswith("_efficiency")]

    @property
    def widths(self) -> list[float]:
        """The width of each column, from left to right."""
        rows = self.template.by_name
        return [
            WIDE.get(name, TEXTS if name in rows and rows[name].unit == "text" else NUMBERS) for name in self.columns
        ]

    def header(self, at: int) -> None:
        """Write labels with units in row `at`, machine names below."""
        for name, column in self.columns.items():
            row = self.template.by_name.get(name.removesuffix(SHOWN))
            unit = "" if row is None else row.said_in if name.endswith(SHOWN) else row.unit
            is_number = row is not None and row.unit != "text"
            self.page.heads(at, column, f"{row.label} ({unit})" if row else OWN[name], name, right=is_number)
        closed = [name for name in self.columns if not name.endswith(SHOWN) and name not in OPEN]
        self.page.close_columns([self.columns[name] for name in closed])

    def case(self, at: int, case: ComparisonCase) -> None:
        """Write the columns of one case; a column is blank if the case's template can't fill it."""
        cells = _Cells(self, case.template, at)
        for name, column in self.columns.items():
            self.page.put(at, column, *self._content(name, cells))

    def _content(self, name: str, cells: _Cells) -> tuple[object, str, str]:
        """The value or formula of a case's cell, its style and its number format."""
        own = {"shape": cells.shape, "dtype": cells.dtype, "bound": cells.bound}
        if name.endswith(SHOWN):
            shown = name.removesuffix(SHOWN)
            return self._shown(shown, cells), "plan_output", shown_format(self.template.by_name[shown])
        if name in own:
            return Live(own[name]) if own[name] else None, "plan_formula_text", "@"
        if name == NOTE:
            return None, "plan_case", "@"
        row = self.template.by_name[name]
        form = PERCENT if name in SHARES else row_format(row)
        if row.kind in CALCULATED:
            return Live(self._calculated(row, cells)) if cells.has(name) else None, "plan_output", form
        if name in self.efficiencies:
            return Live(self.efficiencies[name]), "plan_cross", form
        if name.endswith("_efficiency"):
            return 1, "plan_input", form
        if row.unit == "text":
            return None, "plan_measured_text", "@"
        return None, "plan_measured", number_format(row.unit)

    def _calculated(self, row: Row, cells: _Cells) -> str:
        """A row's formula; if it reads the measured time, blank until the case is measured."""
        text = row.expression.substitute(cells)
        return f'IF({cells(MEASURED)}="","",{text})' if MEASURED in row.reads else text

    def _shown(self, name: str, cells: _Cells) -> Live | None:
        """A time in its display unit; blank if there is none yet."""
        if not cells.has(name):
            return None
        time, (unit,) = address(cells.at, self.columns[name]), display_units.needed([self.template.by_name[name]])
        shown = f"{time}/{self.constant(unit.name)}"
        return Live(f'IF({time}="","",{shown})' if name == MEASURED else shown)


@dataclass(frozen=True)
class _Cells:
    """The cells of one case's row: called with a name, gives the reference for formulas."""

    results: ResultColumns
    template: Template
    at: int

    def __call__(self, name: str) -> str:
        if name in self.template.by_name:
            return address(self.at, self.results.working[name])
        if name in ABSENT:
            absent = ABSENT[name]
            return self(absent) if absent.isidentifier() else absent
        return address(self.at, self.results.columns[name])

    def has(self, name: str) -> bool:
        """Whether the case's template has what a calculated column needs."""
        return NEEDS.get(name, "") in ("", *self.template.by_name)

    @property
    def shape(self) -> str:
        names, _ = SHAPES.get(self.template.name, ((), ""))
        return '&" x "&'.join(self(name) for name in names)

    @property
    def dtype(self) -> str:
        _, name = SHAPES.get(self.template.name, ((), ""))
        if not name:
            return ""
        return f'{self(name)}&" bytes"' if self.template.by_name[name].unit == "byte" else self(name)

    @property
    def bound(self) -> str:
        if "compute_time" not in self.template.by_name:
            return '"memory"' if "memory_bytes" in self.template.by_name else '"network"'
        work = f'IF({self("compute_time")}>={self("memory_time")},"compute","memory")'
        if COMM not in self.template.by_name:
            return work
        least = self("lower_bound_time")
        return f'IF({least}>MAX({self("compute_time")},{self("memory_time")}),"network",{work})'

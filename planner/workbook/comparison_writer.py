"""The Comparison sheet: a row is a template, its inputs and a key; predicted and measured stand side by side.

Predicted is what to expect, with its range and its bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from openpyxl.workbook import Workbook
from openpyxl.workbook.defined_name import DefinedName

from planner.compare.comparison_cases import SHAPES, ComparisonCase
from planner.compare.comparison_sheet import IDENTITY, KEY, MARKER, MARKERS, NOTE, NOTE_LABEL, RESULTS, SHOWN
from planner.compare.comparison_sheet import SHEET as NAME
from planner.compare.prediction import COMM, NEEDS
from planner.formulas import library
from planner.formulas.template import CALCULATED, Row, Template
from planner.workbook import display_units, layout
from planner.workbook.build_plan import BuildPlan
from planner.workbook.case_table import CaseColumns
from planner.workbook.cell_styles import number_format, row_format
from planner.workbook.comparison_charts import FIRST_ROW, HEADER_ROW, ComparisonCharts
from planner.workbook.display_units import shown_format
from planner.workbook.formula_texts import DatabaseSheets, calculated, in_row, or_blank
from planner.workbook.inputs_sheet import NAME as INPUTS
from planner.workbook.inputs_sheet import Inputs
from planner.workbook.page import GREY, Live, Page, whole_as_int
from planner.xlsx.address import address, column_letters

PURPOSE = "Copy a row down to add a case, change its inputs, then run: planner measure on this file."
EFFICIENCIES = ("compute_efficiency", "memory_efficiency")
RED, YELLOW, GREEN, INK = "FFFBD5D5", "FFFFF4CC", "FFD1F0DD", "FF1F2937"


@dataclass(frozen=True)
class Comparison:
    """The sheet and where its rows and columns are."""

    page: Page
    table: CaseColumns
    results: ResultColumns
    last: int  # the last row that ranges and validations reach

    @property
    def columns(self) -> dict[str, int]:
        """Machine name -> column, from left to right."""
        identity = {name: index for index, name in enumerate(IDENTITY, start=1)}
        return identity | self.table.columns | self.results.columns

    def reach(self, name: str) -> str:
        """The range of a column over all rows, sized ahead."""
        return f"{address(FIRST_ROW, self.columns[name])}:{address(self.last, self.columns[name])}"


def write(
    book: Workbook, plan: BuildPlan, cases: Sequence[ComparisonCase], inputs: Inputs, databases: DatabaseSheets,
    selector: str = "",
) -> Comparison:  # fmt: skip
    """Write the sheet: identity, inputs, working, and the measured numbers beside the predicted ones.

    `selector` is the cell of Dashboard that chooses a scenario, blank where it chooses none.
    """
    page = Page(book, NAME, "Comparison", PURPOSE, corner="C6")
    templates = list({case.template.name: case.template for case in cases}.values())
    matched = column_letters(len(IDENTITY))
    table = CaseColumns(
        page, templates, HEADER_ROW, len(IDENTITY) + 1, inputs.constant, databases, lambda at: f"${matched}{at}"
    )  # fmt: skip
    efficiencies = _efficiencies(plan, inputs, selector)
    results = ResultColumns(page, table.end, table.columns, efficiencies, inputs.constant)
    sheet = Comparison(page, table, results, FIRST_ROW + len(cases) + layout.SPARE_ROWS)
    chips = plan.columns.across(INPUTS, layout.HARDWARE_ROW)
    drawn = ComparisonCharts(page, sheet.columns, chips, databases["hardware"])
    _header(sheet)
    drawn.header()
    chip = next((scenario.hardware for scenario in plan.scenarios if scenario.hardware), None)
    for at, case in enumerate(cases, start=FIRST_ROW):
        _row(sheet, at, case, chip, databases)
        drawn.case(at, case)
    drawn.draw(sheet.last)
    _validate(sheet, databases, templates)
    _colour(sheet, drawn.last)
    _mark(book, sheet)
    first, end = column_letters(sheet.columns["predicted_time"]), column_letters(sheet.columns["achieved_bandwidth"])
    page.sheet.print_area = f"{first}{HEADER_ROW - 1}:{end}{FIRST_ROW + len(cases) - 1}"
    page.sheet.print_title_cols = "B:B"  # the working between the case and its results stays off the paper
    results_widths = 22, 8, *[12] * (len(results.columns) - 3), 40
    page.widths(17, 30, 17, 11, 13, *[14] * len(table.columns), *results_widths, *[22] * len(drawn.columns))
    return sheet


def _mark(book: Workbook, sheet: Comparison) -> None:
    """A defined name over each column that is read or written later: it follows the column."""
    for name in (*IDENTITY, *sheet.results.typed, "note"):
        marker, column = MARKER if name == KEY else f"{MARKERS}{name}", column_letters(sheet.columns[name])
        area = f"{NAME}!${column}${FIRST_ROW}:${column}${sheet.last}"
        book.defined_names[marker] = DefinedName(marker, attr_text=area)


def _efficiencies(plan: BuildPlan, inputs: Inputs, selector: str) -> Mapping[str, str]:
    """The efficiencies of the scenario that is chosen on Dashboard."""
    if plan.layer_ops is None:
        return {}
    chosen = f"MATCH({selector},{plan.columns.across(INPUTS, layout.ID_ROW)},0)"
    return {
        name: or_blank(in_row(plan.columns.across(INPUTS, inputs.input_rows[name]), chosen))
        for name in EFFICIENCIES if name in inputs.input_rows
    }  # fmt: skip


def _header(sheet: Comparison) -> None:
    page = sheet.page
    for column, (name, label) in enumerate(IDENTITY.items(), start=1):
        page.heads(HEADER_ROW - 1, column, label, name, right=False)
    sheet.table.header()
    sheet.results.header(HEADER_ROW - 1)
    page.sheet.row_dimensions[HEADER_ROW - 1].height = 42
    page.close_rows([HEADER_ROW])
    page.close_columns(range(sheet.columns["hardware_row"], sheet.results.first))


def _row(sheet: Comparison, at: int, case: ComparisonCase, chip: str | None, databases: DatabaseSheets) -> None:
    page, columns = sheet.page, sheet.columns
    identity = (case.key, case.label, case.template.name, chip)
    for column, value in enumerate(identity, start=1):
        page.put(at, column, value, "plan_case", "@")
    matched = f"MATCH({address(at, columns['hardware_id'])},{databases['hardware'].ids},0)"
    page.put(at, columns["hardware_row"], Live(matched), "plan_formula", "0")
    sheet.table.case(at, case.template.name, lambda row, at: _typed(case, row))  # noqa: ARG005 (a Leaf)
    sheet.results.case(at, case)


def _typed(case: ComparisonCase, row: Row) -> tuple[object, str]:
    if row.kind != "input":
        return None, ""
    return whole_as_int(case.inputs[row.name]), "plan_input"


def _colour(sheet: Comparison, last: int) -> None:
    """Green is near the prediction, red is far from it; what is not known, up to column `last`, is grey."""
    bands = {
        "roofline_share": ((">=0.7", GREEN), (">=0.4", YELLOW), (">=0", RED)),
        "time_ratio": (("<=1.4", GREEN), ("<=2.5", YELLOW), (">2.5", RED)),
    }
    for name, rules in bands.items():
        first = address(FIRST_ROW, sheet.columns[name])
        for condition, fill in rules:
            sheet.page.colour(
                sheet.reach(name), f"IFERROR(AND(ISNUMBER({first}),{first}{condition}),FALSE)", ink=INK, fill=fill
            )
    sheet.page.colour(f"A{FIRST_ROW}:{address(sheet.last, last)}", f"ISNA(A{FIRST_ROW})", ink=GREY)


def _validate(sheet: Comparison, databases: DatabaseSheets, templates: Sequence[Template]) -> None:
    lists = {
        "hardware_id": databases["hardware"].ids,
        "template": f'"{",".join(template.name for template in templates)}"',
    }
    lists |= {name: databases["dtypes"].ids for name in sheet.table.columns if name.endswith("_dtype")}
    for name, source in lists.items():
        sheet.page.choose(sheet.reach(name), source, name, "Choose from the list.")


# of a case whose template hasn't the row
ABSENT = {
    "flops": "0", "compute_time": "0", "memory_time": "lower_bound_time", "expected_time": "lower_bound_time",
    "n_chips": "1",
}  # fmt: skip
# of no case that hasn't them
UNTYPED = ("expected_time", "expected_time_low", "expected_time_high", "payload_bytes", "bus_bytes")
PERCENT = ("roofline_share", "mfu", "spread")
OPEN = ("shape", "dtype", "time_ratio", "roofline_share", "mfu", "flags", "bound", NOTE)  # and what is shown
MEASURED = "measured_time"
OWN = {"shape": "Shape", "dtype": "Dtype", "bound": "Bound by", NOTE: NOTE_LABEL}


@dataclass(frozen=True)
class ResultColumns:
    """The columns from `first` on; `working` are those of the case's own quantities."""

    page: Page
    first: int
    working: Mapping[str, int]
    efficiencies: Mapping[str, str]  # of the chosen scenario, where the plan has them
    constant: Callable[[str], str]  # the cell of a constant on Inputs

    @cached_property
    def template(self) -> Template:
        """The rows that are laid across."""
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
        return [name for name in self.columns if self._kind(name) == "input" and not name.endswith("_efficiency")]

    def header(self, at: int) -> None:
        """Labels with units in row `at`, machine names below."""
        for name, column in self.columns.items():
            row = self.template.by_name.get(name.removesuffix(SHOWN))
            unit = "" if row is None else row.said_in if name.endswith(SHOWN) else row.unit
            self.page.heads(at, column, f"{row.label} ({unit})" if row else OWN[name], name, right=row is not None)
        closed = [name for name in self.columns if not name.endswith(SHOWN) and name not in OPEN]
        self.page.close_columns([self.columns[name] for name in closed])

    def case(self, at: int, case: ComparisonCase) -> None:
        """Write the columns of one case; a column is blank where the case's template can't fill it."""
        cells = _Cells(self, case.template, at)
        for name, column in self.columns.items():
            for value, style, form in self._content(name, cells):
                self.page.put(at, column, value, style, form)

    def _content(self, name: str, cells: _Cells) -> Iterator[tuple[object, str, str | None]]:
        own = {"shape": cells.shape, "dtype": cells.dtype, "bound": cells.bound}
        if name.endswith(SHOWN):
            shown = name.removesuffix(SHOWN)
            yield self._shown(shown, cells), "plan_output", shown_format(self.template.by_name[shown])
        elif name in own:
            yield (Live(own[name]) if own[name] else None), "plan_formula_text", "@"
        elif name == NOTE:
            yield None, "plan_case", "@"
        else:
            row = self.template.by_name[name]
            form = "0.0%" if name in PERCENT else row_format(row)
            if row.kind in CALCULATED:
                yield (Live(self._calculated(row, cells)) if cells.has(name) else None), "plan_output", form
            elif name in self.efficiencies:
                yield Live(self.efficiencies[name]), "plan_cross", form
            elif name.endswith("_efficiency"):
                yield 1, "plan_input", form
            else:
                yield None, "plan_measured", "@" if row.unit == "text" else number_format(row.unit)

    def _calculated(self, row: Row, cells: _Cells) -> str:
        """A row's formula; blank until the case is measured where it reads the measured time."""
        text = calculated(row, cells)
        return f'IF({cells(MEASURED)}="","",{text})' if MEASURED in row.reads else text

    def _shown(self, name: str, cells: _Cells) -> Live | None:
        """A time in the unit that people say: blank where there is none yet."""
        if not cells.has(name):
            return None
        time, (unit,) = address(cells.at, self.columns[name]), display_units.needed([self.template.by_name[name]])
        shown = f"{time}/{self.constant(unit.name)}"
        return Live(f'IF({time}="","",{shown})' if name == MEASURED else shown)

    def _kind(self, name: str) -> str:
        return self.template.by_name[name].kind if name in self.template.by_name else ""


@dataclass(frozen=True)
class _Cells:
    """The cells of one case's row: called with a name, the reference that a formula has for it."""

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
        return f'{self(name)}&" bytes"' if self._row(name).unit == "byte" else self(name)

    @property
    def bound(self) -> str:
        if "compute_time" not in self.template.by_name:
            return '"memory"' if "memory_bytes" in self.template.by_name else '"network"'
        work = f'IF({self("compute_time")}>={self("memory_time")},"compute","memory")'
        if COMM not in self.template.by_name:
            return work
        least = self("lower_bound_time")
        return f'IF({least}>MAX({self("compute_time")},{self("memory_time")}),"network",{work})'

    def _row(self, name: str) -> Row:
        return self.template.by_name[name]

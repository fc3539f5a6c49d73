"""The Comparison sheet: a row is a template, its inputs and a key; predicted and measured stand side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from openpyxl.formatting.rule import ColorScaleRule
from openpyxl.workbook import Workbook
from openpyxl.workbook.defined_name import DefinedName

from planner.comparison.cases import ComparisonCase
from planner.template import Row, Template
from planner.workbook import layout
from planner.workbook.cases import CaseTable
from planner.workbook.cells import Databases
from planner.workbook.inputs import Inputs
from planner.workbook.layout import cell, letter
from planner.workbook.page import Live, Page
from planner.workbook.plan import Plan
from planner.workbook.styles import number_format

NAME = "Comparison"
PURPOSE = "Copy a row down to add a case, change its inputs, then run: planner measure on this file."
HEADER_ROW, FIRST_ROW = 5, 6
IDENTITY = ("case_key", "case_label", "template", "hardware_id", "hardware_row")
MARKER = "comparison_keys"  # a defined name over the keys: it follows the column when an analyst moves or renames

# What measure writes: machine name, label, unit.
MEASURED = (
    ("measured_time", "Measured time (median)", "s"),
    ("spread", "Spread (MAD over median)", "1"),
    ("n_samples", "Samples", "1"),
    ("flags", "Flags: guards that failed", "text"),
    ("device", "Device", "text"),
    ("method", "Method", "text"),
    ("run_id", "Run", "text"),
    ("measured_on", "Measured on (UTC)", "text"),
    ("measured_source", "Source", "text"),
)
# What follows from both: machine name, label, unit, formula over machine names.
DERIVED = (
    ("predicted_time", "Predicted time", "s", "lower_bound_time"),
    ("time_ratio", "Measured over predicted", "1", 'IF(measured_time="",NA(),measured_time/predicted_time)'),
    ("roofline_share", "Share of the roofline", "1", 'IF(measured_time="",NA(),predicted_time/measured_time)'),
    ("achieved_flops", "Achieved FLOP/s of a chip", "FLOP/s/chip",
     'IF(measured_time="",NA(),flops/(measured_time*n_chips))'),
    ("achieved_bandwidth", "Achieved bandwidth of a chip", "byte/s/chip",
     'IF(measured_time="",NA(),memory_bytes/(measured_time*n_chips))'),
    ("bound", "Bound by", "text", ""),
)  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """The sheet and where its rows are."""

    page: Page
    table: CaseTable
    columns: dict[str, int]


def write(
    book: Workbook, plan: Plan, cases: Sequence[ComparisonCase], inputs: Inputs, databases: Databases
) -> Comparison:  # fmt: skip
    """Write the sheet: identity, inputs, working, measured numbers, and what follows from both."""
    page = Page(book, NAME, "Comparison", PURPOSE, corner="C6")
    templates = list({case.template.name: case.template for case in cases}.values())
    matched = letter(len(IDENTITY))
    table = CaseTable(
        page, templates, HEADER_ROW, len(IDENTITY) + 1, inputs.constant, databases, lambda at: f"${matched}{at}"
    )  # fmt: skip
    names = [name for name, *_ in (*MEASURED, *DERIVED)] + ["note"]
    columns = {name: index for index, name in enumerate(IDENTITY, start=1)} | table.columns
    columns |= {name: index for index, name in enumerate(names, start=table.end)}
    sheet = Comparison(page, table, columns)
    _header(sheet)
    chip = next((scenario.hardware for scenario in plan.scenarios if scenario.hardware), None)
    for at, case in enumerate(cases, start=FIRST_ROW):
        _row(sheet, at, case, chip, databases)
    last = FIRST_ROW + len(cases) + layout.SPARE_ROWS
    _validate(page, columns, last, databases, templates)
    book.defined_names[MARKER] = DefinedName(MARKER, attr_text=f"{NAME}!$A${FIRST_ROW}:$A${last}")
    ratio = cell(columns["roofline_share"], FIRST_ROW)
    scale = ColorScaleRule(start_type="num", start_value=0, start_color="FFFBD5D5", mid_type="num", mid_value=0.5,
                           mid_color="FFFFF4CC", end_type="num", end_value=1, end_color="FFD1F0DD")  # fmt: skip
    page.sheet.conditional_formatting.add(f"{ratio}:{cell(columns['roofline_share'], last)}", scale)
    results = letter(table.end)
    page.sheet.print_area = f"{results}{HEADER_ROW - 1}:{letter(max(columns.values()))}{FIRST_ROW + len(cases) - 1}"
    page.sheet.print_title_cols = "B:B"  # the working between the case and its results stays off the paper
    page.widths(30, 26, 13, 14, 10, *[14] * len(table.columns), *[18] * len(names))
    return sheet


def _header(sheet: Comparison) -> None:
    page, columns = sheet.page, sheet.columns
    titles = {"case_key": "Case key", "case_label": "Case", "template": "Template", "hardware_id": "Chip",
              "hardware_row": "Row of Hardware"}  # fmt: skip
    labels = (
        titles | {name: f"{label} ({unit})" for name, label, unit, *_ in (*MEASURED, *DERIVED)} | {"note": "Your note"}
    )
    for name, label in labels.items():
        page.put(columns[name], HEADER_ROW - 1, label, "plan_note")
        page.put(columns[name], HEADER_ROW, name, "plan_header")
    sheet.table.header()
    page.sheet.row_dimensions[HEADER_ROW - 1].height = 42


def _row(sheet: Comparison, at: int, case: ComparisonCase, chip: str | None, databases: Databases) -> None:
    page, columns = sheet.page, sheet.columns
    identity = (case.key, case.label, case.template.name, chip)
    for column, value in enumerate(identity, start=1):
        page.put(column, at, value, "plan_input", "@")
    chip_cell = cell(columns["hardware_id"], at)
    page.put(
        columns["hardware_row"],
        at,
        Live(f"MATCH({chip_cell},{databases['hardware'].ids},0)"),
        "plan_formula",
        "0",
    )
    sheet.table.case(at, case.template.name, lambda row, at: _typed(case, row))  # noqa: ARG005 (a Leaf)
    for name, _, unit in MEASURED:
        page.put(columns[name], at, None, "plan_measured", number_format(unit))
    own = {name: cell(column, at) for name, column in columns.items()}
    for name, _, unit, formula in DERIVED:
        text = _bound(case, own) if name == "bound" else _named(formula, own)
        page.put(columns[name], at, Live(text), "plan_output", number_format(unit))
    page.put(columns["note"], at, None, "plan_input", "@")


def _typed(case: ComparisonCase, row: Row) -> tuple[object, str]:
    if row.kind != "input":
        return None, ""
    value = case.inputs[row.name]
    return int(value) if isinstance(value, float) and value == int(value) else value, "plan_input"


def _named(formula: str, cells: dict[str, str]) -> str:
    """A formula over machine names as a cell's text."""
    return re.sub(r"[a-z][a-z_]+", lambda match: cells.get(match.group(), match.group()), formula)


def _bound(case: ComparisonCase, cells: dict[str, str]) -> str:
    if "compute_time" not in case.template.by_name:
        return '"memory"'
    return _named('IF(compute_time>=memory_time,"compute","memory")', cells)


def _validate(
    page: Page, columns: dict[str, int], last: int, databases: Databases, templates: Sequence[Template]
) -> None:
    def reach(name: str) -> str:
        return f"{cell(columns[name], FIRST_ROW)}:{cell(columns[name], last)}"

    lists = {
        "hardware_id": databases["hardware"].ids,
        "template": f'"{",".join(template.name for template in templates)}"',
    }
    lists |= {name: databases["dtypes"].ids for name in columns if name.endswith("_dtype")}
    for name, source in lists.items():
        page.validate(reach(name), type="list", formula1=source, error="Choose from the list.", errorTitle=name,
                      promptTitle=name, prompt="Choose from the list.")  # fmt: skip

"""A template's sheet: quantities are rows, scenarios are columns, each row one formula copied to the right."""

from __future__ import annotations

from dataclasses import dataclass

from openpyxl.workbook import Workbook

from planner.errors import UserError, nearest
from planner.template import CALCULATED, Row, Template
from planner.trace import in_names
from planner.workbook import inputs as inputs_sheet
from planner.workbook import layout
from planner.workbook.cells import Databases, bytes_of_dtype, calculated, looked_up, or_blank, overridable
from planner.workbook.inputs import Inputs
from planner.workbook.layout import cell, letter
from planner.workbook.page import GREY, ORANGE, Live, Page
from planner.workbook.plan import Plan
from planner.workbook.styles import row_format

STYLE = {"input": "plan_cross", "constant": "plan_cross", "output": "plan_output", "check": "plan_check"}


@dataclass(frozen=True)
class Calculation:
    """Where each quantity of a template stands on its sheet."""

    template: Template
    page: Page
    rows: dict[str, int]

    def at(self, name: str, column: int) -> str:
        """A relative reference from another sheet: `Inference!F40`."""
        return f"{self.page.name}!{cell(column, self.rows[name])}"


def write(book: Workbook, plan: Plan, template: Template, inputs: Inputs, databases: Databases) -> Calculation:
    """Write a template's sheet. Raises UserError for a lookup of a column that the database hasn't."""
    purpose = "One formula for each row, copied to the right for each scenario. Type overrides on Inputs."
    page = Page(book, plan.sheets[template.name], template.name.capitalize(), purpose)
    header_rows(page, plan)
    matched = _matched_rows(page, plan, template, databases)
    first = layout.FIRST_ROW + len(matched)
    sheet = Calculation(template, page, {row.name: at for at, row in enumerate(template.rows, start=first)})
    writer = _Writer(plan, sheet, inputs, databases, matched)
    for row in template.rows:
        writer.write(row)
    page.widths(38, 11, 26, 26, 24, scenarios=plan.columns, each=layout.SCENARIO_WIDTH)
    _colours(sheet, plan, inputs)
    for column in (layout.FORMULA, layout.SOURCE):
        page.sheet.column_dimensions[letter(column)].outlineLevel = 1
    return sheet


def header_rows(page: Page, plan: Plan, titles: tuple[str, str] = ("Formula in names", "Note and source")) -> None:
    """The header rows that are the same on every calculation sheet: who each scenario column is."""
    page.header(["Quantity", "Unit", "Name", *titles])
    for column in plan.columns:
        page.put(column, layout.HEADER_ROW, None, "plan_header")
    for row, name in layout.HEADER_NAMES.items():
        page.put(layout.LABEL, row, layout.HEADER_LABELS[row], "plan_label")
        page.put(layout.UNIT, row, "text", "plan_text")
        page.put(layout.NAME, row, name, "plan_text")
        for column in plan.columns:
            source = f"{inputs_sheet.NAME}!{cell(column, row)}"
            page.put(column, row, Live(f'IF({source}="","",{source})'), "plan_cross", "@")


def _matched_rows(page: Page, plan: Plan, template: Template, databases: Databases) -> dict[str, int]:
    """The rows that find each scenario's model and chip in the databases."""
    wanted = (("model", "models", layout.MODEL_ROW), ("hardware", "hardware", layout.HARDWARE_ROW))
    matched: dict[str, int] = {}
    for kind, table, id_row in wanted:
        if not template.of_kind(kind):
            continue
        at = matched[kind] = layout.FIRST_ROW + len(matched)
        title = databases[table].page.name
        page.put(layout.LABEL, at, f"Row of {title}", "plan_label")
        page.put(layout.UNIT, at, "1", "plan_text")
        page.put(layout.NAME, at, f"{kind}_row", "plan_text")
        page.put(layout.FORMULA, at, f"MATCH({kind}_id,{table},0)", "plan_text")
        for column in plan.columns:
            page.put(
                column,
                at,
                Live(f"MATCH({cell(column, id_row)},{databases[table].ids},0)"),
                "plan_formula",
                "0",
            )
    return matched


def _colours(sheet: Calculation, plan: Plan, inputs: Inputs) -> None:
    """A missing number is grey; a row whose override is typed on Inputs is orange."""
    first, last = layout.FIRST_SCENARIO, plan.columns.last
    top, bottom = min(sheet.rows.values()), max(sheet.rows.values())
    sheet.page.colour(f"{cell(first, top)}:{cell(last, bottom)}", f"ISNA({cell(first, top)})", ink=GREY)
    for name, at in inputs.override_rows.items():
        if name in sheet.rows:
            row = sheet.rows[name]
            typed = f'{inputs_sheet.NAME}!{cell(first, at)}<>""'
            sheet.page.colour(f"{cell(first, row)}:{cell(last, row)}", typed, ink="FF8A4B08", fill=ORANGE, bold=True)


@dataclass(frozen=True)
class _Writer:
    plan: Plan
    sheet: Calculation
    inputs: Inputs
    databases: Databases
    matched: dict[str, int]

    def write(self, row: Row) -> None:
        page, at = self.sheet.page, self.sheet.rows[row.name]
        page.put(layout.LABEL, at, row.label, "plan_label")
        page.put(layout.UNIT, at, row.unit, "plan_text")
        page.put(layout.NAME, at, row.name, "plan_text")
        page.put(layout.FORMULA, at, self.in_names(row), "plan_text")
        page.put(layout.SOURCE, at, "; ".join(text for text in (row.note, row.source) if text), "plan_text")
        style, form = STYLE.get(row.kind, "plan_formula"), row_format(row)
        self._check_column(row)
        for column in self.plan.columns:
            page.put(column, at, Live(self.formula(row, column)), style, form)

    def in_names(self, row: Row) -> str:
        text = {"input": f"Inputs[{row.name}]", "constant": f"Inputs[{row.name}]"}.get(row.kind) or in_names(row)
        return f"override or {text}" if row.name in self.inputs.override_rows else text

    def formula(self, row: Row, column: int) -> str:
        text = self.plain(row, column)
        if row.name in self.inputs.override_rows:
            typed = f"{inputs_sheet.NAME}!{cell(column, self.inputs.override_rows[row.name])}"
            return overridable(typed, text)
        return text

    def plain(self, row: Row, column: int) -> str:
        """The row's formula in one scenario's column, without its override."""
        if row.kind == "input":
            return or_blank(f"{inputs_sheet.NAME}!{cell(column, self.inputs.input_rows[row.name])}")
        if row.kind == "constant":
            return self.inputs.constant(row.name)
        if row.kind in CALCULATED:
            return calculated(row, lambda name: cell(column, self.sheet.rows[name]))
        if row.kind == "dtype":
            return bytes_of_dtype(self.databases, cell(column, self.sheet.rows[row.formula]))
        selector = row.column[1]
        chosen = cell(column, self.sheet.rows[selector]) if selector else None
        matched_row = f"{letter(column)}${self.matched[row.kind]}"
        return looked_up(row, self.databases, matched_row, chosen)

    def _check_column(self, row: Row) -> None:
        if row.kind not in ("model", "hardware") or row.column[1]:
            return
        columns = self.databases["models" if row.kind == "model" else "hardware"].columns
        if row.column[0] not in columns:
            raise UserError(
                f"{row.name}: the {row.kind} table has no column {row.column[0]}",
                place=row.place, remedy=nearest(row.column[0], columns),
            )  # fmt: skip

"""The Inputs sheet: a column for each scenario, a row for each input, override and constant. No formulas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from openpyxl.workbook import Workbook

from planner.catalog import Value
from planner.formulas.input_values import LARGEST, limits
from planner.formulas.template import Row
from planner.workbook import layout
from planner.workbook.build_plan import BuildPlan
from planner.workbook.cell_styles import number_format, row_format
from planner.workbook.layout import ScenarioColumns
from planner.workbook.page import ORANGE, Page
from planner.xlsx.address import address, column_letters

NAME = "Inputs"
CHOSEN = "the plan's choice"  # the source of an input that its template gives none
PURPOSE = "Blue cells are yours to change. A blank override takes the database's number; a blank input is N/A."

LEAST = "0.000000001"  # a validation between two numbers lets both in: this stands for above 0


@dataclass
class Inputs:
    """Where each input, override and constant stands on the Inputs sheet."""

    page: Page
    input_rows: dict[str, int] = field(default_factory=dict)
    override_rows: dict[str, int] = field(default_factory=dict)
    constant_rows: dict[str, int] = field(default_factory=dict)

    def constant(self, name: str) -> str:
        """An absolute reference to a constant."""
        return f"{NAME}!${column_letters(layout.FORMULA)}${self.constant_rows[name]}"


def write(book: Workbook, plan: BuildPlan, ranges: dict[str, str]) -> Inputs:
    """Write the sheet; `ranges` holds the id ranges of `models`, `hardware` and `dtypes` for the dropdowns."""
    page = Page(book, NAME, "Inputs", PURPOSE)
    layout.scenario_header(page, plan.columns, ("Note", "Source"))
    inputs = Inputs(page)
    _header_rows(page, plan, ranges)
    row = layout.FIRST_ROW
    row = _block(page, plan, "Plan", list(plan.inputs.values()), inputs.input_rows, row, ranges)
    lookups = [r for r in plan.overrides.values() if r.kind in ("model", "hardware")]
    calculated = [
        replace(r, label=f"{r.label} (override)")
        for r in plan.overrides.values()
        if r.kind not in ("model", "hardware")
    ]
    row = _block(page, plan, "Overrides of looked-up numbers", lookups, inputs.override_rows, row, ranges)
    row = _block(page, plan, "Overrides of calculated numbers", calculated, inputs.override_rows, row, ranges)
    _constants(page, plan, inputs, row)
    _colour_overrides(inputs, plan)
    page.widths(38, 11, 25, 34, 30, scenarios=plan.columns, each=layout.SCENARIO_WIDTH)
    return inputs


def _colour_overrides(inputs: Inputs, plan: BuildPlan) -> None:
    """An override that is typed stands out from the blank ones."""
    if rows := inputs.override_rows.values():
        first, last = address(min(rows), layout.FIRST_SCENARIO), address(max(rows), plan.columns.last)
        inputs.page.colour(f"{first}:{last}", f'{first}<>""', ink="FF8A4B08", fill=ORANGE, bold=True)


def _header_rows(page: Page, plan: BuildPlan, ranges: dict[str, str]) -> None:
    for column, scenario in zip(plan.columns, plan.scenarios, strict=True):
        given = scenario.name if scenario.is_named else None  # blank: the other sheets show the model on the chip
        values = (scenario.id, given, scenario.model, scenario.hardware)
        for row, value in zip(layout.HEADER_NAMES, values, strict=True):
            page.put(row, column, value, "plan_input", "@")
    reach = _reach(plan.columns)
    for row, kind in ((layout.MODEL_ROW, "models"), (layout.HARDWARE_ROW, "hardware")):
        title = "Model" if kind == "models" else "Chip"
        dropdown(page, reach(row), ranges[kind], title, f"Choose an id of the {kind.capitalize()} sheet.")
    texts = (
        (layout.ID_ROW, "Scenario id", "A short text; ids are unique."),
        (layout.TITLE_ROW, "Scenario", "A short text; blank shows the model on the chip."),
    )
    for row, title, prompt in texts:
        page.validate(
            reach(row), type="textLength", operator="between", formula1="1", formula2="80",
            promptTitle=title, prompt=prompt, errorTitle=title, error="1 to 80 characters.",
        )  # fmt: skip


def _reach(columns: ScenarioColumns) -> Callable[[int], str]:
    """Row -> the row's scenario cells, sized ahead."""
    return lambda row: f"{address(row, layout.FIRST_SCENARIO)}:{address(row, columns.last)}"


def dropdown(page: Page, reference: str, source: str, title: str, prompt: str) -> None:
    """Let the cells of `reference` be chosen from a list."""
    page.validate(
        reference, type="list", formula1=source, promptTitle=title, prompt=prompt,
        errorTitle=title, error="Choose from the list.",
    )  # fmt: skip


def _block(
    page: Page, plan: BuildPlan, title: str, rows: list[Row], places: dict[str, int], at: int, ranges: dict[str, str]
) -> int:  # fmt: skip
    """A section of the sheet; returns the row below it."""
    if not rows:
        return at
    page.section(at, title, layout.FIRST_SCENARIO + plan.columns.filled - 1)
    overriding = title != "Plan"
    first = at + 1
    for at, row in enumerate(rows, start=first):
        places[row.name] = at
        _describe(page, at, row)
        for column, scenario in zip(plan.columns, plan.scenarios, strict=True):
            value = scenario.values.get(row.name, None if overriding else row.default)
            missing = row.name in scenario.values and value is None
            page.put(at, column, "#N/A" if missing else whole_as_int(value), "plan_input", number_format(row.unit))
        validate(page, row, _reach(plan.columns)(at), ranges, overriding)
    return at + 2


def whole_as_int(value: Value) -> Value:
    """A whole number as an integer, so that the file holds 8 and not 8.0."""
    return int(value) if isinstance(value, float) and value == int(value) and abs(value) < 2**53 else value


def _describe(page: Page, at: int, row: Row) -> None:
    layout.describe(page, at, (row.label, row.unit, row.name, row.note, row.source or CHOSEN))


def validate(page: Page, row: Row, reference: str, ranges: Mapping[str, str], overriding: bool) -> None:
    """Hold the cells of `reference` to what a row may be: a dtype of the list, a flag, a number above 0."""
    prompt = "Blank takes the looked-up or calculated number." if overriding else (row.note or row.label)
    message = {"promptTitle": row.label[:32], "prompt": prompt[:255], "errorTitle": row.label[:32]}
    if row.unit == "text" and row.name.endswith("dtype"):
        page.validate(reference, type="list", formula1=ranges["dtypes"], error="Choose from the list.", **message)
    elif row.choices:
        listed = ",".join(row.choices)
        page.validate(reference, type="list", formula1=f'"{listed}"', error="Choose from the list.", **message)
    elif row.unit == "text":
        page.validate(
            reference, type="textLength", operator="between", formula1="0", formula2="80",
            error="At most 80 characters.", **message,
        )  # fmt: skip
    elif limits(row).is_flag:
        page.validate(reference, type="list", formula1='"0,1"', error="1 is yes and 0 is no.", **message)
    elif limits(row).is_stage:
        page.validate(
            reference, type="whole", operator="between", formula1="0", formula2=f"{limits(row).most:g}",
            error=f"A whole number from 0 to {limits(row).most:g}.", **message,
        )  # fmt: skip
    elif (most := limits(row).most) < LARGEST:
        above = limits(row).is_positive
        page.validate(
            reference, type="decimal", operator="between", formula1=LEAST if above else "0", formula2=f"{most:g}",
            error=f"A share, {'above' if above else 'from'} 0 and at most {most:g}.", **message,
        )  # fmt: skip
    else:
        above = limits(row).is_positive
        page.validate(
            reference, type="decimal", operator="greaterThan" if above else "greaterThanOrEqual", formula1="0",
            error=f"A number of {row.unit}, {'above' if above else 'not below'} 0.", **message,
        )  # fmt: skip


def _constants(page: Page, plan: BuildPlan, inputs: Inputs, at: int) -> None:
    page.section(at, "Constants", layout.FIRST_SCENARIO + plan.columns.filled - 1)
    first = at + 1
    for at, row in enumerate(plan.constants.values(), start=first):
        inputs.constant_rows[row.name] = at
        _describe(page, at, row)
        page.put(at, layout.FORMULA, whole_as_int(row.default), "plan_constant", row_format(row))
        page.put(at, layout.SOURCE, "; ".join(text for text in (row.source, row.note) if text), "plan_told")

"""The Inputs sheet: a column for each scenario, a row for each input, override and constant. No formulas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from openpyxl.workbook import Workbook

from planner import data
from planner.formulas.input_values import LARGEST, id_table, limits
from planner.formulas.template import Row
from planner.terminal_table import joined
from planner.workbook import layout
from planner.workbook.build_plan import LONGEST, OVERRIDABLE, BuildPlan
from planner.workbook.cell_styles import BROWN, ORANGE, row_format
from planner.workbook.page import Page, titled, whole_as_int
from planner.xlsx.address import address, column_letters
from planner.xlsx.grid import HERE

NAME = "Inputs"
CHOSEN = "the plan's choice"  # the source of an input without one in its template
PURPOSE = "Blue cells are yours to change. A blank override takes the database's number; a blank input is N/A."

PLAN, OPENS = "Plan", "+ opens them"  # prefix of the headings of inputs, and the hint for a closed group
LOOKED_UP, CALCULATED = "Overrides of looked-up numbers", "Overrides of calculated numbers"
FITTED = "Overrides of calibrated numbers: a fit of your own has its row on Calibration"
LEAST = "0.000000001"  # lower limit for "above 0", since a between validation includes its limits


@dataclass
class Inputs:
    """The row of each input, override and constant on the Inputs sheet."""

    page: Page
    input_rows: dict[str, int] = field(default_factory=dict)
    override_rows: dict[str, int] = field(default_factory=dict)
    constant_rows: dict[str, int] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Whether there is such a constant."""
        return name in self.constant_rows

    def here(self, name: str) -> str:
        """A reference to an input for a formula copied to the right: `Inputs!F12`, with HERE for its F."""
        return f"{NAME}!{HERE}{self.input_rows[name]}"

    def override(self, name: str) -> str:
        """The same for a row's override."""
        return f"{NAME}!{HERE}{self.override_rows[name]}"

    def of_scenario(self, name: str, chosen: str) -> str:
        """The cell of an input of the scenario whose id is in the cell `chosen`."""
        return self.page.columns.of_scenario(NAME, self.input_rows[name], chosen)

    def constant(self, name: str) -> str:
        """An absolute reference to a constant."""
        return f"{NAME}!${column_letters(layout.FORMULA)}${self.constant_rows[name]}"


def write(book: Workbook, plan: BuildPlan, ranges: dict[str, str]) -> Inputs:
    """Write the sheet; `ranges` has the id ranges of `models`, `hardware` and `dtypes` for drop-downs."""
    page = Page(book, NAME, "Inputs", PURPOSE)
    page.scenario_header(plan, ("Note", "Source"))
    page.may_show[layout.TITLE_ROW, layout.FIRST_SCENARIO] = [each.name for each in plan.scenarios if each.is_named]
    inputs = Inputs(page)
    writer = _Writer(page, plan, ranges)
    writer.header_rows()
    for each in sections(plan.inputs.values()):
        writer.block(f"{PLAN}: {each.title}", each.rows, inputs.input_rows, is_closed=each.is_closed)
    lookups = [r for r in plan.overrides.values() if r.kind in OVERRIDABLE and r.kind != "calibration"]
    fitted = [r for r in plan.overrides.values() if r.kind == "calibration"]
    others = [r for r in plan.overrides.values() if r.kind not in OVERRIDABLE]
    calculated = [replace(r, label=f"{r.label} (override)") for r in others]
    for title, rows in ((LOOKED_UP, lookups), (CALCULATED, calculated), (FITTED, fitted)):
        writer.block(title, rows, inputs.override_rows, is_closed=True)
    writer.constants(inputs.constant_rows)
    _colour_overrides(inputs)
    page.close_columns(range(layout.SOURCE, layout.FIRST_SCENARIO))
    page.widths(38, 11, 25, 34, 30, each=layout.SCENARIO_WIDTH)
    return inputs


def _colour_overrides(inputs: Inputs) -> None:
    """Highlight typed overrides."""
    if rows := inputs.override_rows.values():
        area = inputs.page.columns.area(min(rows), max(rows))
        first = address(min(rows), layout.FIRST_SCENARIO)
        inputs.page.colour(area, f'{first}<>""', ink=BROWN, fill=ORANGE, bold=True)


@dataclass
class _Writer:
    """Writes the sheet from top to bottom; `at` is the next free row."""

    page: Page
    plan: BuildPlan
    ranges: dict[str, str]
    at: int = layout.FIRST_ROW

    def header_rows(self) -> None:
        page, plan = self.page, self.plan
        for column, scenario in zip(plan.columns, plan.scenarios, strict=True):
            given = scenario.name if scenario.is_named else None  # blank: the other sheets show the model on the chip
            values = (scenario.id, given, scenario.model, scenario.hardware)
            for row, value in zip(layout.HEADERS, values, strict=True):
                page.put(row, column, value, "plan_input_words", "@")
        for row, kind, title in ((layout.MODEL_ROW, "models", "Model"), (layout.HARDWARE_ROW, "hardware", "Chip")):
            prompt = f"Choose an id of the {kind.capitalize()} sheet."
            page.choose(page.columns.area(row, row), self.ranges[kind], title, prompt)
        texts = (
            (layout.ID_ROW, "Scenario id", "A short text; ids are unique."),
            (layout.TITLE_ROW, "Scenario", "A short text; blank shows the model on the chip."),
        )
        short = {"type": "textLength", "operator": "between", "formula1": "1", "formula2": str(LONGEST)}
        for row, title, prompt in texts:
            page.validate(page.columns.area(row, row), title, prompt, f"1 to {LONGEST} characters.", **short)
        # Ranges over the ids begin left of the first one, so that they cover a scenario moved there.
        prompt, error = "Stays blank: lists of scenarios begin here. A note of yours goes below it.", "Leave it blank."
        left_of_ids = address(layout.ID_ROW, layout.SOURCE)
        page.validate(left_of_ids, "Scenario id", prompt, error, type="textLength", operator="equal", formula1="0")

    def block(self, title: str, rows: list[Row], places: dict[str, int], *, is_closed: bool) -> None:
        """Write a section, and its rows into `places`; closed, it shows only typed rows and those that data list."""
        if not rows:
            return
        page, plan = self.page, self.plan
        page.section(self.at, f"{title}; {OPENS}" if is_closed else title)
        overriding = not title.startswith(PLAN)
        first, typed = self.at + 1, set[int]()
        for at, row in enumerate(rows, start=first):
            places[row.name] = at
            _describe(page, at, row)
            for column, scenario in zip(plan.columns, plan.scenarios, strict=True):
                usual = None if overriding else row.default
                value = scenario.values.get(row.name, usual)
                if value != usual:
                    typed.add(at)
                missing = row.name in scenario.values and value is None
                page.put(at, column, "#N/A" if missing else whole_as_int(value), "plan_input", row_format(row))
            validate(page, row, page.columns.area(at, at), self.ranges, overriding)
        if is_closed:
            chosen = {places[name] for name in places if name in _named()[1]}  # looked up, yet what a plan chooses
            page.close_rows(range(first, at + 1), typed | chosen)
        self.at = at + 2

    def constants(self, places: dict[str, int]) -> None:
        page, first = self.page, self.at + 1
        page.section(self.at, "Constants")
        for at, row in enumerate(self.plan.constants.values(), start=first):
            places[row.name] = at
            _describe(page, at, row)
            page.put(at, layout.FORMULA, whole_as_int(row.default), "plan_constant", row_format(row))
            page.put(at, layout.SOURCE, joined(row.source, row.note), "plan_told")
        page.close_rows(range(first, at + 1))


def _describe(page: Page, at: int, row: Row) -> None:
    page.describe(at, (row.label, row.unit, row.name, row.note, row.source or CHOSEN))


def validate(page: Page, row: Row, reference: str, ranges: Mapping[str, str], overriding: bool) -> None:
    """Restrict the cells of `reference` to what a row allows: a listed dtype, a flag, a positive number."""
    prompt = "Blank takes the looked-up or calculated number." if overriding else (row.note or row.label)
    allowed = limits(row)
    above, most = allowed.is_positive, f"{allowed.most:g}"

    def hold(error: str, **rule: str) -> None:
        page.validate(reference, titled(row), prompt, error, **rule)

    if row.unit == "text" and (table := id_table(row)) in ranges:
        page.choose(reference, ranges[table], titled(row), prompt)
    elif row.choices:
        page.choose(reference, f'"{",".join(row.choices)}"', titled(row), prompt)
    elif row.unit == "text":
        hold("At most 80 characters.", type="textLength", operator="between", formula1="0", formula2="80")
    elif allowed.is_flag:
        hold("1 is yes and 0 is no.", type="list", formula1='"1,0"')
    elif allowed.is_stage:
        error = f"A whole number from 0 to {most}."
        hold(error, type="whole", operator="between", formula1="0", formula2=most)
    elif allowed.most < LARGEST:
        error = f"A share, {'above' if above else 'from'} 0 and at most {most}."
        hold(error, type="decimal", operator="between", formula1=LEAST if above else "0", formula2=most)
    else:
        error = f"A number of {row.unit}, {'above' if above else 'not below'} 0."
        hold(error, type="decimal", operator=at_least_0(row), formula1="0")


def at_least_0(row: Row) -> str:
    """The validation operator for comparing with 0: greater, or greater or equal."""
    return "greaterThan" if limits(row).is_positive else "greaterThanOrEqual"


COLUMNS = ("section", "shown", "name")
FURTHER = "further inputs"  # for inputs that the data don't list, such as those of the user's templates
CLOSED = "closed"


@dataclass
class InputsSection:
    """A heading of Inputs with its rows; a closed one is opened by its +."""

    title: str
    is_closed: bool = False
    rows: list[Row] = field(default_factory=list)


def sections(inputs: Iterable[Row]) -> list[InputsSection]:
    """The sections of some inputs, in the data's order; inputs that it doesn't list come before closed sections."""
    named, places = _named()
    found = {title: InputsSection(title, is_closed) for title, is_closed in named.items()}
    for row in inputs:
        found[places[row.name][0] if row.name in places else FURTHER].rows.append(row)
    for section in found.values():
        section.rows.sort(key=lambda row: places[row.name][1] if row.name in places else 0)
    return [section for section in found.values() if section.rows]


@cache
def _named() -> tuple[dict[str, bool], dict[str, tuple[str, int]]]:
    """Whether each section is closed, open ones first; and the section and position of each name."""
    records = [cells for _, cells in data.table("inputs", COLUMNS).records()]
    closed = {cells["section"]: True for cells in records if cells["shown"] == CLOSED}
    opened = {cells["section"]: False for cells in records if cells["section"] not in closed}
    places = {cells["name"]: (cells["section"], at) for at, cells in enumerate(records)}
    return opened | {FURTHER: False} | closed, places

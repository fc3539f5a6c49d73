"""A template's sheet: quantities are rows, scenarios are columns, each row is one formula copied to the right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from openpyxl.workbook import Workbook

from planner.book.formulas_in_names import or_missing, overridable
from planner.catalog.checked_table import TABLES
from planner.errors import UserError, nearest
from planner.formulas.explanation import in_names
from planner.formulas.reached import node, reached
from planner.formulas.template import CALCULATED, LOOKUPS, Row, Template
from planner.formulas.text import Name, Number, Text
from planner.terminal_table import joined
from planner.workbook import inputs_sheet, layout
from planner.workbook.build_plan import BuildPlan
from planner.workbook.cell_styles import BROWN, ORANGE, row_format
from planner.workbook.database_sheets import DatabaseSheets, looked_up
from planner.workbook.inputs_sheet import Inputs, sections
from planner.workbook.page import Page
from planner.workbook.template_rows import TYPED, Shares
from planner.xlsx.address import address
from planner.xlsx.grid import HERE

STYLE = {"input": "plan_cross", "constant": "plan_cross", "output": "plan_output", "check": "plan_check"}


@dataclass(frozen=True)
class CalculationSheet:
    """The row of each quantity of a template on its sheet."""

    template: Template
    page: Page
    rows: dict[str, int]
    owners: Mapping[str, CalculationSheet]  # by row name, the earlier sheet that computes it

    def home(self, name: str) -> CalculationSheet:
        """The sheet that computes a row of the template: this one, or an earlier one."""
        return self if name in self.rows else self.owners[name]

    def here(self, name: str) -> str:
        """A reference from another sheet for a formula copied to the right: `Inference!F40`, with HERE for its F."""
        home = self.home(name)
        return f"{home.page.name}!{HERE}{home.rows[name]}"

    @property
    def computed(self) -> list[Row]:
        """The rows that this sheet doesn't read from an earlier one."""
        return [row for row in self.template.rows if row.name in self.rows and row.name not in self.owners]


@dataclass(frozen=True)
class Earlier:
    """What a new sheet is made from: the plan, and the sheets written before it, which its formulas may read."""

    book: Workbook
    plan: BuildPlan
    inputs: Inputs
    databases: DatabaseSheets
    sheets: dict[str, CalculationSheet] = field(default_factory=dict)  # by template, in the order of the sheets


def write(earlier: Earlier, template: Template) -> CalculationSheet:
    """Write a template's sheet; rows that an earlier sheet computes are read from there.

    Raises UserError for a lookup of an unknown database column.
    """
    plan = earlier.plan
    purpose = "One formula for each row, copied to the right for each scenario. Type overrides on Inputs."
    page = Page(earlier.book, plan.sheets[template.name], template.name.capitalize(), purpose)
    header_rows(page, plan)
    shares = plan.shares[template.name]
    matched = _matched_rows(page, shares, earlier.databases)
    first = layout.FIRST_ROW + len(matched)
    places = {row.name: at for at, row in enumerate(shares.shown, start=first)}
    owners = {name: earlier.sheets[owner] for name, owner in shares.owners.items()}
    sheet = CalculationSheet(template, page, places, owners)
    writer = _RowWriter(sheet, earlier.inputs, earlier.databases, matched)
    for row in shares.shown:
        writer.write(row)
    page.close_rows(sorted(places[name] for name in unused(plan, template) if name in places))
    page.scenario_widths(36, 11, 25, 34, 30)
    _colours(sheet, earlier.inputs)
    return sheet


def header_rows(page: Page, plan: BuildPlan, titles: tuple[str, str] = ("Formula in names", "Note and source")) -> None:
    """The header rows common to all calculation sheets, which identify each scenario."""
    page.scenario_header(plan, titles)
    for row in layout.HEADERS:
        source = f"{inputs_sheet.NAME}!{HERE}{row}"
        said = f'IF({source}="",{_model_on_chip()},{source})' if row == layout.TITLE_ROW else f'{source}&""'
        page.across(row, said, "plan_said" if row == layout.TITLE_ROW else "plan_cross_words", "@")


def _model_on_chip() -> str:
    """The formula of a scenario's default name, which follows the chosen model and chip."""
    rows = (layout.MODEL_ROW, layout.HARDWARE_ROW)
    model, chip = (f"{inputs_sheet.NAME}!{HERE}{row}" for row in rows)
    return f'{model}&IF(OR({model}="",{chip}=""),""," on ")&{chip}'


def _matched_rows(page: Page, shares: Shares, databases: DatabaseSheets) -> dict[str, int]:
    """Write the rows that find each scenario's model and chip in the databases; returns their row numbers by kind."""
    wanted = (("model", "models", layout.MODEL_ROW), ("hardware", "hardware", layout.HARDWARE_ROW))
    matched: dict[str, int] = {}
    for kind, table, id_row in wanted:
        if not any(row.kind == kind and row.name not in shares.owners for row in shares.shown):
            continue
        at = matched[kind] = layout.FIRST_ROW + len(matched)
        title = databases[table].page.name
        page.put(at, layout.LABEL, f"Row of {title}", "plan_label")
        page.put(at, layout.UNIT, "1", "plan_text")
        page.put(at, layout.NAME, f"{kind}_row", "plan_told")
        page.put(at, layout.FORMULA, f"MATCH({kind}_id,{table},0)", "plan_told")
        page.put(at, layout.SOURCE, None, "plan_text")
        page.across(at, f"MATCH({HERE}{id_row},{databases[table].ids},0)", "plan_formula", "0")
    return matched


def _colours(sheet: CalculationSheet, inputs: Inputs) -> None:
    """Missing numbers are grey; a number typed over its formula, and a row with an override on Inputs, are orange."""
    first = layout.FIRST_SCENARIO
    top, bottom = min(sheet.rows.values()), max(sheet.rows.values())
    page, corner = sheet.page, address(top, first)
    area = page.columns.area(top, bottom)
    page.grey_missing(area)
    typed_over = f"AND(NOT(ISBLANK({corner})),NOT(_xlfn.ISFORMULA({corner})))"  # with the prefix that files have
    page.colour(area, typed_over, ink=BROWN, fill=ORANGE, bold=True)
    for name, row in _overridden(sheet, inputs, bottom + 2).items():
        area = page.columns.area(sheet.rows[name], sheet.rows[name])
        page.colour(area, address(row, first), ink=BROWN, fill=ORANGE, bold=True)


def _overridden(sheet: CalculationSheet, inputs: Inputs, at: int) -> dict[str, int]:
    """Write a closed block at the end that says for each row whether an override is typed.

    Returns its row for each name. A conditional format may only read its own sheet, since Google Sheets supports only
    that.
    """
    page = sheet.page
    names = [name for name in inputs.override_rows if name in sheet.rows]
    row_of = {name: row for row, name in enumerate(names, start=at + 1)}
    if not row_of:
        return row_of
    page.section(at, "Is an override typed on Inputs?")
    for name, row in row_of.items():
        page.describe(row, (f"Override: {sheet.template.row(name).label}", "1", "", "", ""))
        page.across(row, f'{inputs.override(name)}<>""', "plan_cross")
    page.close_rows(range(at + 1, at + 1 + len(row_of)))
    return row_of


@dataclass(frozen=True)
class _RowWriter:
    sheet: CalculationSheet
    inputs: Inputs
    databases: DatabaseSheets
    matched: dict[str, int]

    def write(self, row: Row) -> None:
        page, at = self.sheet.page, self.sheet.rows[row.name]
        source = joined(row.note, row.source)
        page.describe(at, (row.label, row.unit, row.name, self.in_names(row), source))
        if origin := self.origin(row):
            page.put(at, layout.NAME, row.name, "plan_told_link")
            page.link(at, layout.NAME, *origin)
        style = "plan_cross" if self.caller(row) else STYLE.get(row.kind, "plan_formula")
        form = row_format(row)
        self._check_column(row)
        page.across(at, self.formula(row), style, form)

    def caller(self, row: Row) -> CalculationSheet | None:
        """The earlier sheet from which the row is read; None if this sheet computes it."""
        return None if row.kind in TYPED else self.sheet.owners.get(row.name)

    def origin(self, row: Row) -> tuple[str, str] | None:
        """The sheet and the cell from which a row is read; None if this sheet computes it."""
        if owner := self.caller(row):
            return owner.page.name, address(owner.rows[row.name], layout.LABEL)
        if row.kind in ("input", "constant"):
            rows = self.inputs.input_rows if row.kind == "input" else self.inputs.constant_rows
            return inputs_sheet.NAME, address(rows[row.name], layout.LABEL)
        if row.kind in CALCULATED:
            return None
        database = self.databases[TABLES[row.kind]]
        return database.page.name, address(layout.TABLE_HEADER_ROW, database.columns.get(row.column[0], 1))

    def in_names(self, row: Row) -> str:
        if owner := self.caller(row):
            return f"{owner.page.name}[{row.name}]"
        text = {"input": f"Inputs[{row.name}]", "constant": f"Inputs[{row.name}]"}.get(row.kind) or in_names(row)
        return f"override or {text}" if row.name in self.inputs.override_rows else text

    def formula(self, row: Row) -> str:
        """The row's formula in a scenario's column, HERE."""
        if owner := self.caller(row):
            return owner.here(row.name)
        text = self.plain(row)
        if row.name in self.inputs.override_rows:
            return overridable(self.inputs.override(row.name), text)
        return text

    def plain(self, row: Row) -> str:
        """The row's formula without its override."""
        if row.kind == "input":
            return or_missing(self.inputs.here(row.name))
        if row.kind == "constant":
            return self.inputs.constant(row.name)
        if row.kind in CALCULATED:
            return row.expression.substitute(self.cell)
        return looked_up(row, self.databases, lambda kind: f"{HERE}${self.matched[kind]}", self.cell)

    def cell(self, name: str) -> str:
        """The reference to a row of this sheet in a scenario's column, HERE."""
        return f"{HERE}{self.sheet.rows[name]}"

    def _check_column(self, row: Row) -> None:
        if row.kind not in LOOKUPS or (row.kind == "hardware" and row.column[1]):
            return
        columns = self.databases[TABLES[row.kind]].columns
        if row.column[0] not in columns:
            raise UserError(
                f"{row.name}: the {row.kind} table has no column {row.column[0]}",
                place=row.place,
                remedy=nearest(row.column[0], columns),
            )


NEUTRAL = (0, 1)


def unused(plan: BuildPlan, template: Template) -> set[str]:
    """The names of the rows that a plan doesn't use: those of a layout that no scenario has.

    An input that every scenario leaves at its default counts as that number if the default is 0 or 1 (a layout without
    it), or if it is in a closed section of Inputs; so does a 0 or 1 that all models share, such as the experts of dense
    models. A row is then unused if it is the same number in every plan, if it repeats another row, or if nothing reads
    it any more, such as the branch of an IF that is never taken.
    """
    known: dict[str, Number | Text | Name] = {**dict(_at_default(plan)), **dict(_of_all_models(plan, template))}
    typed = {name for scenario in plan.scenarios for name in scenario.values}
    return {row.name for row in template.rows} - reached(template, known, typed)


def _at_default(plan: BuildPlan) -> Iterator[tuple[str, Number | Text]]:
    """The inputs that count as their defaults."""
    for section in sections(plan.inputs.values()):
        for row in section.rows:
            default = row.default
            counts = section.is_closed or default in NEUTRAL
            is_kept = all(scenario.values.get(row.name, default) == default for scenario in plan.scenarios)
            if default is not None and counts and is_kept:
                yield row.name, node(default)


def _of_all_models(plan: BuildPlan, template: Template) -> Iterator[tuple[str, Number]]:
    """The model numbers that are the same 0 or 1 for all scenarios, and not typed."""
    models = [plan.model(scenario) for scenario in plan.scenarios]
    for row in template.of_kind("model"):
        found = {model.get(row.column[0]) for model in models}
        value = found.pop() if len(found) == 1 else None
        if value in NEUTRAL and not any(row.name in scenario.values for scenario in plan.scenarios):
            yield row.name, Number(0, 0, float(value or 0))

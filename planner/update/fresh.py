"""*Theirs* of the three-way merge: the workbook that planner would build now with the edited file's plan.

No value is computed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from planner.align.keys import COMPARISON, MEMORY, SCENARIO
from planner.book.rowkeys import COVER, Keyed
from planner.book.tables import HEADER
from planner.book.workbook import Book
from planner.catalog import Table
from planner.catalog import Value as Typed
from planner.catalog.databases import Databases
from planner.compare.comparison_cases import ComparisonCase
from planner.compare.comparison_sheet import ComparisonSheet, found_in
from planner.errors import Place, UserError
from planner.formulas import library
from planner.formulas.input_values import meant
from planner.formulas.sweeps import sweeps
from planner.formulas.template import Template, called
from planner.regularfile import SMALL, read_bytes
from planner.workbook import remembering
from planner.workbook.book import Draft, digests_of, draft
from planner.workbook.build_plan import OVERRIDABLE, BuildPlan, BuildScenario
from planner.workbook.dashboard_charts import rows_of
from planner.workbook.layout import FIRST_SCENARIO
from planner.workbook.memory import BuiltSheet, Memory
from planner.workbook.page import Live, Page
from planner.workbook.scenarios import completed, operations_of
from planner.workbook.template_rows import included_first
from planner.workbook.workloads import WORKLOAD, in_order, workloads
from planner.xlsx.address import Position, address
from planner.xlsx.cellvalue import Value, is_number
from planner.xlsx.markup import escaped, unescaped
from planner.xlsx.moves import Moves
from planner.xlsx.opc import Package
from planner.xlsx.styles import Look, Stylesheet

FIRST_CASE = 6  # the row of the first case of the Comparison


class Coming(NamedTuple):
    """A scenario that is about to be added: its workload, the column on Inputs of the one to copy, and its settings."""

    workload: str
    source: int
    settings: Mapping[str, str]


def plan_of(book: Book, extra: Sequence[str], databases: Databases, coming: Coming | None = None) -> BuildPlan:
    """The plan to build: the templates of the file's sheets, its scenarios, and the cases of its Comparison.

    If a scenario is `coming`, it has the template of its workload too, and sweeps around the scenario's numbers.

    `extra` are the user's template files or names. A scenario has the numbers typed on Inputs, which decide the axes of
    sweeps, and a placeholder for each overridden row so that the override's cell is built again. Raises UserError for a
    template file that isn't there, a sheet of an unknown template, a template without a sheet, and as loading templates
    and databases does.
    """
    mine = {called(Path(name)) if name.endswith(".csv") else name: name for name in extra}
    wanted = list(dict.fromkeys(book.templates.values()))
    _refuse_templates(book, mine, wanted)
    old = [library.load(mine.get(name, name)) for name in wanted]
    loaded = included_first(
        [library.load(mine.get(name, name)) for name in in_order(wanted, [coming.workload])] if coming else old
    )
    scenarios = _scenarios(book, loaded)
    others: list[BuildScenario] = []
    if coming:
        alone = workloads(old, sweeps(old)).templates
        theirs = {WORKLOAD: alone[0].name} if len(alone) == 1 else {}
        scenarios = completed(loaded, [replace(each, values=theirs | dict(each.values)) for each in scenarios])
        source = scenarios[book.inputs.columns.index(coming.source)]
        typed = {**_settings(loaded, coming.settings), WORKLOAD: coming.workload}
        others = [replace(source, values={**source.values, **typed})]
    found = found_in(book.package, book.parsed)
    runs_at = found.runs_title_row if found else 0
    return BuildPlan(
        loaded,
        scenarios,
        databases,
        operations_of(loaded),
        _cases(found),
        runs_at=runs_at,
        coming=others,
        own_rows={
            "models": _own_rows(book, databases.models, {each.model or "" for each in scenarios}),
            "hardware": _own_rows(book, databases.hardware, {each.hardware or "" for each in scenarios}),
        },
    )


def _refuse_templates(book: Book, mine: Mapping[str, str], wanted: Sequence[str]) -> None:
    """Raise UserError for a template file that isn't there, and unless the user's files and the sheets fit.

    `mine` has each file by the name of its template, `wanted` the templates of the sheets.
    """
    for name in mine.values():
        read_bytes(library.find(name, None), largest=SMALL)  # a file that isn't there is no template that doesn't fit
    file = book.package.name
    for name in wanted:
        if name not in mine and name not in library.names():
            sheet = next(sheet for sheet, template in book.templates.items() if template == name)
            what = f"the sheet {sheet} is of an unknown template {name!r}"
            raise UserError(what, place=Place(file), remedy=f"name its file: --template {name}.csv")
    if spare := next((name for name in mine if name not in wanted), ""):
        has, remedy = ", ".join(wanted) or "none", "leave it out, or give the file the name of one of them"
        what = f"{file} has no sheet of a template {spare!r}; it has {has}"
        raise UserError(what, place=Place(mine[spare]), remedy=remedy)


def _settings(templates: Sequence[Template], settings: Mapping[str, str]) -> dict[str, Typed]:
    """The values of what is typed into inputs; what can't be read is refused where it is typed."""
    rows = {row.name: row for template in templates for row in template.of_kind("input")}
    found: dict[str, Typed] = {}
    for name, text in settings.items():
        with suppress(UserError):
            found |= {name: meant(rows[name], text)} if name in rows else {}
    return found


def _own_rows(book: Book, table: Table, chosen: Collection[str]) -> dict[str, dict[str, Typed]]:
    """The rows of the chosen models or chips that are on the workbook's sheet but in none of the files given now."""
    there, wanted = book.databases.get(table.kind), {*chosen} - table.rows.keys() - {""}
    if there is None or not wanted:
        return {}

    def value(row: int, name: str) -> Typed:
        found = there.sheet.value(row, there.columns.get(name, 0))
        return float(found) if is_number(found) else found if isinstance(found, str) else None

    rows = {there.sheet.text(row, there.id_column): row for row in there.rows}
    return {
        each: {column.name: value(rows[each], column.name) for column in table.columns} for each in wanted & rows.keys()
    }


def _scenarios(book: Book, templates: Sequence[Template]) -> list[BuildScenario]:
    inputs = book.inputs
    rows = {row.name: row for template in templates for row in template.rows}
    lines = {**inputs.section("Plan"), **inputs.section("Overrides")}
    overridden: dict[str, Typed] = {}
    for name in inputs.section("Overrides"):
        row = rows.get(name)
        if row is not None and row.kind not in (*OVERRIDABLE, "input", "constant"):
            overridden[row.name] = "none" if row.unit == "text" else 1.0
    at = {name: line.row for name, line in lines.items() if name in rows and rows[name].kind == "input"}
    made: list[BuildScenario] = []
    for column in inputs.columns:
        own, model, chip = (book.said(HEADER[at], column) for at in (0, 2, 3))
        name = book.given_name(column)
        found = ((key, inputs.sheet.value(row, column)) for key, row in at.items())
        numbers: dict[str, Typed] = {key: value for key, value in found if isinstance(value, float)}
        if workload := book.said(WORKLOAD, column):
            numbers[WORKLOAD] = workload  # whose headlines come first
        shown, values = name or book.model_on_chip(column), {**overridden, **numbers}
        made.append(BuildScenario(own, shown, model or None, chip or None, values, is_named=bool(name)))
    return made


def _cases(found: ComparisonSheet | None) -> list[ComparisonCase]:
    """The cases of the Comparison whose template is known; a missing input takes its default."""
    cases: list[ComparisonCase] = []
    for row in found.rows if found else ():
        if row.template is not None:
            given = {name: value for name, value in row.inputs.items() if value is not None}
            inputs = {each.name: given.get(each.name, each.default) for each in row.template.of_kind("input")}
            cases.append(ComparisonCase(row.text("case_label"), row.template, inputs))
    return cases


def not_given(book: Book, plan: BuildPlan) -> dict[str, dict[str, str]]:
    """The CSVs that Cover names as sources but that aren't given, with digests, by kind of table ("": templates).

    Kinds for which a file is given now are left out, and shipped templates, whose cases may be deleted. Cover lists a
    user's file before the shipped one.
    """
    cover = book.designed.get("Cover")
    if cover is None:
        return {}
    before = {cover.text(row, 1): cover.text(row, 2) for row, column in sorted(cover.cells) if column == 1}
    now, kinds = digests_of(plan), {name: table.kind for table in plan.tables for name in table.digests}
    found, kind = dict[str, dict[str, str]](), ""
    for name in reversed(before):
        if name in now:
            kind = kinds.get(name, "")
        elif name.endswith(".csv") and kind not in plan.databases.own and name[:-4] not in library.names():
            found[kind] = {name: before[name], **found.get(kind, {})}
    return found


def drafted(plan: BuildPlan, memory: Memory | None) -> Draft:
    """The draft of the fresh workbook.

    Its ranges reach as far as the file's; its sweeps have the file's axes, and its charts of scenarios the file's rows
    while there is room for all, if only these differ.
    """
    if memory is None:
        return draft(plan)
    plan = replace(plan, last_scenario=memory.last_scenario)
    made = draft(plan)
    axes = memory.axes if set(made.memory.axes) == set(memory.axes) else plan.axes
    rows, now = (_chart_rows(each) for each in (memory, made.memory))
    if made.memory.axes != axes or rows != now:
        as_before = draft(replace(plan, axes=axes, chart_rows=rows))
        return as_before if memory.is_same(as_before.memory) else made
    return made


def _chart_rows(memory: Memory) -> int:
    """The rows of Dashboard's charts of all scenarios, as planner wrote it."""
    board = memory.sheets.get("dashboard")
    return rows_of(board.row_of) if board else 0


class FreshCell(NamedTuple):
    """A cell of the fresh workbook: XML after the style attribute (`rest`), formula without = or None, and style."""

    rest: str
    formula: str | None
    style: int

    def xml(self, at: Position, style: int, formula: str | None) -> bytes:
        """The cell's XML at another position, with another style and formula."""
        rest = self.rest if formula == self.formula else f"><f>{escaped(formula or '')}</f></c>"
        return f'<c r="{address(*at)}" s="{style}"{rest}'.encode()


@dataclass(frozen=True)
class FreshSheet(Keyed):
    """A sheet of the fresh workbook with the keys of its rows and columns.

    `groups` has the template of each row of cases.
    """

    kind: str
    page: Page
    built: BuiltSheet
    rows: Mapping[int, str]
    columns: Mapping[int, str]
    xml: bytes
    groups: Mapping[int, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name as built."""
        return self.built.name

    @cached_property
    def cells(self) -> dict[Position, FreshCell]:
        """Every cell, by (row, column)."""
        found: dict[Position, FreshCell] = {}
        for row, column, xml, formula in self.page.grid.cells():
            style, _, rest = xml[xml.index(' s="') + 4 :].partition('"')
            found[row, column] = FreshCell(rest, unescaped(formula) if formula else None, int(style))
        return found

    def value(self, row: int, column: int) -> Value:
        """The typed value of a cell; None for a formula and for an empty cell."""
        value = self.page.filled.get((row, column), (1, 1, 0, None))[3]
        return None if isinstance(value, Live) else value


@dataclass(frozen=True)
class Fresh:
    """The fresh workbook: sheets by kind, package, looks of its styles, and where its cells move in the merge."""

    draft: Draft
    package: Package
    sheets: Mapping[str, FreshSheet]
    looks: list[Look]
    moves: Moves

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The kind of each sheet, by its built name."""
        return {sheet.name: kind for kind, sheet in self.sheets.items()}

    @cached_property
    def _busy(self) -> list[str]:
        """The built names of sheets that are renamed or whose cells move in the merge."""
        moves = ((sheet.name, self.moves.of(sheet.name)) for sheet in self.sheets.values())
        return [name for name, found in moves if not found.is_idle or found.name != name]

    def formula(self, sheet: FreshSheet, at: Position) -> str | None:
        """A cell's formula in the merged workbook; None for a typed value."""
        text = sheet.cells[at].formula
        if text is None or not self._busy:
            return text
        if sheet.name not in self._busy and not any(name in text for name in self._busy):
            return text
        return self.moves.formula(text, sheet.name)

    @classmethod
    def of(cls, draft: Draft) -> Fresh:
        """The workbook of a draft."""
        package = draft.written().package
        parts, styles = package.sheets(), Stylesheet.of(package)
        assert styles is not None, "a built workbook has styles"
        sheets = {
            kind: _sheet(draft, kind, page, package.parts[parts[page.name]]) for kind, page in draft.pages.items()
        }
        return cls(draft, package, sheets, styles[1].looks, Moves({}))


def _sheet(draft: Draft, kind: str, page: Page, xml: bytes) -> FreshSheet:
    built = draft.memory.sheets[kind]
    rows, columns, groups = dict(built.rows), dict(built.columns), dict[int, str]()
    if remembering.is_by_scenario(kind):
        scenarios = range(FIRST_SCENARIO, FIRST_SCENARIO + draft.plan.columns.filled)
        columns |= {column: f"{SCENARIO}{column}" for column in scenarios}
    elif kind == COMPARISON:
        cases = enumerate(draft.plan.comparison)
        groups = {FIRST_CASE + at: case.template.name for at, case in cases}
        rows = {row: key for row, key in rows.items() if not key.startswith("case ")}
        rows |= {row: f"case {row - FIRST_CASE}" for row in groups}
    elif not columns:
        last = max(rows)
        if kind == COVER:
            memory = sorted({row for row, _ in page.filled if row > last})
            rows |= {row: f"{MEMORY}{at}" for at, row in enumerate(memory)}
        columns = {column: str(column) for column in range(1, page.grid.size[1] + 1)}
    return FreshSheet(kind, page, built, rows, columns, xml, groups)

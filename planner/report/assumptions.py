"""The assumptions of a plan: inputs, overrides, lookups, constants, cells changed by hand; and their sources."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from planner.book.plan import Plan, Quantity
from planner.book.row_formulas import usual_of
from planner.book.tables import LineItem, LineTable
from planner.catalog.checked_table import TABLES
from planner.catalog.hardware_columns import HARDWARE_FIELDS
from planner.dates import LAST_DAY, day_of
from planner.formulas.headlines import RANGE
from planner.number_text import shown
from planner.report.contents import Figure, FigureRow, Section, Source, Typed
from planner.report.figures import CellFigures
from planner.terminal_table import joined
from planner.xlsx.address import Spot
from planner.xlsx.cellvalue import CellError, exact_text

LOOKED_UP = tuple(f"{table}[" for table in TABLES.values())


def sections(cells: CellFigures, unread: Container[tuple[str, str]] = frozenset()) -> tuple[Section, ...]:
    """The non-empty sections, restricted to rows that apply to some scenario.

    Looked-up rows that are 0 or blank in all scenarios are left out, and the `unread` ones, by sheet and name.
    """
    plan = cells.plan
    typed = [row for row in plan.overrides if any(not entry.is_blank for entry in row.cells.values())]
    looked_up: dict[str, Quantity] = {}
    for row in _read(cells, (row for table in plan.tables.values() for row in table)):
        is_looked_up = row.text.removeprefix("override or ").startswith(LOOKED_UP)
        is_used = (row.sheet, row.name) not in unread and not row.name.endswith(RANGE)
        if is_looked_up and is_used and _says_something(row):
            looked_up.setdefault(row.name, row)
    everyone = tuple(range(len(plan.scenarios)))
    found = (
        Section("Inputs", tuple(_input(cells, row) for row in _read(cells, plan.inputs)), everyone),
        Section("Overrides in force", tuple(_override(cells, row) for row in typed), everyone),
        Section("Looked up: chip and model", tuple(map(cells.line, looked_up.values())), everyone, True),
        Section("Constants", tuple(_constant(cells, row) for row in _read(cells, plan.constants)), (), True),
    )
    return tuple(section for section in found if section.lines)


def _read(cells: CellFigures, rows: Iterable[Quantity]) -> Iterator[Quantity]:
    """The rows that some scenario reads."""
    return (row for row in rows if any(cells.is_read(row.name, key) for key in cells.keys))


def _input(cells: CellFigures, row: Quantity) -> FigureRow:
    source = row.source if row.source != "the plan's choice" else ""
    return cells.line(row, note=joined(row.text, source) or " ")


def _override(cells: CellFigures, row: Quantity) -> FigureRow:
    """An override in each scenario. A blank one isn't a missing number, because the looked-up value applies."""
    figures = tuple(
        Figure(None, row.unit, "looked up", str(entry.spot)) if entry.is_blank else cells.of(row, key)
        for key in cells.keys
        if (entry := row.cells.get(key)) is not None
    )
    return FigureRow(row.name, row.title, row.unit, figures, "typed in place of the looked-up or calculated number")


def _constant(cells: CellFigures, row: Quantity) -> FigureRow:
    figure = cells.entry(row.cells[""], row.unit)
    return FigureRow(row.name, row.title, row.unit, (figure,), row.source)


def _says_something(row: Quantity) -> bool:
    return any(entry.value not in (0, 0.0, None, "") for entry in row.cells.values())


def typed_over(plan: Plan) -> tuple[Typed, ...]:
    """The cells of calculation sheets, Dashboard and Checks whose number or formula differs from their row's."""
    lines = [(table, line) for table in plan.book.lines for line in table.lines if line.name]
    return tuple(found for table, line in lines for found in _changed_cells(plan, table, line))


def _changed_cells(plan: Plan, table: LineTable, line: LineItem) -> Iterator[Typed]:
    usual = usual_of(plan.book, table, line)
    names = {scenario.id: scenario.title for scenario in plan.scenarios}
    for column in table.columns:
        sheet, at = table.sheet, (line.row, column)
        if sheet.is_typed(*at):
            value = sheet.value(*at)
            text = str(value) if isinstance(value, CellError) else shown(value, line.unit)
            what = f"{text} typed over the formula"
        elif usual is not None and at in sheet.numbered and sheet.numbered[at] is not usual:
            what = f"another formula than its row's: {sheet.patterns[at].at(*at)}"
        else:
            continue
        _, owner = plan.book.owner(sheet.name, *at)
        yield Typed(str(Spot(sheet.name, *at)), line.label or line.name, names.get(owner, owner), what)


COVER, DIGESTS = "Cover", "Made from"
FACTS = ("Version", "Made on")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Cover:
    """The content of the Cover; blank if an analyst has removed it."""

    title: str
    facts: Mapping[str, str]
    digests: tuple[Source, ...]


def cover(plan: Plan) -> Cover:
    """The Cover of a workbook."""
    sheet = plan.book.designed.get(COVER)
    if sheet is None:
        return Cover("", {}, ())
    facts: dict[str, str] = {}
    digests: list[Source] = []
    is_below = False
    for row in sorted({row for row, column in sheet.cells if column == 1}):
        label, value = plan.at(sheet.name, row, 1), plan.at(sheet.name, row, 2)
        if not isinstance(label, str):
            continue
        is_below = is_below or label.startswith(DIGESTS)
        if label in FACTS and value is not None:
            if isinstance(value, float) and 0 <= value <= LAST_DAY:
                facts[label] = day_of(value).isoformat()
            else:
                facts[label] = exact_text(value)
        elif is_below and isinstance(value, str) and _SHA256.fullmatch(value):
            digests.append(Source(label, value))
    title = plan.at(sheet.name, 1, 1)
    return Cover(title if isinstance(title, str) else "", facts, tuple(digests))


def sources(plan: Plan, found: Cover) -> tuple[Source, ...]:
    """The digests of the files that the workbook was made from, then the sources of what is in use.

    These are each model, chip, calibration and stack on which expected times depend.
    """
    models = dict.fromkeys(scenario.model for scenario in plan.scenarios if scenario.model)
    chips = dict.fromkeys(scenario.hardware for scenario in plan.scenarios if scenario.hardware)
    of_chips = (*described(plan, "models", list(models)), *described(plan, "hardware", list(chips)))
    fitted = (
        each
        for table, row in (("calibration", "calibration_id"), ("stacks", "stack"))
        for each in described(plan, table, _used(plan, row))
    )
    return (*found.digests, *of_chips, *fitted)


def _used(plan: Plan, name: str) -> list[str]:
    """The ids that a row has in the scenarios."""
    values = (plan.value(name, scenario.key) for scenario in plan.scenarios)
    return list(dict.fromkeys(value for value in values if isinstance(value, str) and value))


def described(plan: Plan, kind: str, ids: list[str]) -> Iterator[Source]:
    """The source columns of each id's row in a database sheet, but none of numbers that a chip lacks."""
    table = plan.book.databases.get(kind)
    if table is None:
        return
    rows = {table.sheet.value(row, table.id_column): row for row in reversed(table.rows)}
    columns = {name: at for name, at in table.columns.items() if name == "source" or name.startswith("source_")}
    figures: dict[str, list[int]] = {name: [] for name in columns}
    for field in HARDWARE_FIELDS if kind == "hardware" else ():
        if field.source in figures and field.name in table.columns:
            figures[field.source].append(table.columns[field.name])
    for identity in ids:
        if (row := rows.get(identity)) is None:
            continue
        for name, column in columns.items():
            if figures[name] and all(table.sheet.value(row, at) is None for at in figures[name]):
                continue
            text = plan.at(table.sheet.name, row, column)
            if isinstance(text, str) and text.strip():
                part = name.removeprefix("source").strip("_").replace("_", " ")
                yield Source(f"{identity}{f': {part}' if part else ''}", text.strip(), kind)

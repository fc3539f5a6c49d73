"""Exports a workbook's scenarios as the CSV that `planner build --scenarios` reads, with everything typed for each.

The workbook's own models and chips become CSVs for `--models` and `--hardware-csv`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from planner import csvfile
from planner.book.plan import Entry, Plan, Quantity, Scenario
from planner.book.row_formulas import is_pristine
from planner.book.tables import LineTable
from planner.catalog.databases import Databases
from planner.csvfile import guarded
from planner.formulas import library
from planner.formulas.sweeps import swept_templates
from planner.formulas.template import Row
from planner.scenario.exported_tables import (
    CALIBRATIONS,
    MISSING,
    OPTIONS,
    calibrations,
    has_own,
    ids_of,
    own_rows,
    written,
)
from planner.scenario.typed_cell import refuse_number, refuse_text
from planner.scenario.which import free_name
from planner.workbook.workloads import WORKLOAD, default_templates
from planner.xlsx.cellvalue import CellError, Value, same_value

SAME = 1e-12


@dataclass(frozen=True)
class Export:
    """The columns and rows of the CSV, the workbook's templates, and remarks on what the CSV can't express.

    `databases` has the workbook's models and chips, and the scenarios' own stacks, as CSVs by kind, if a scenario uses
    one that isn't shipped.
    """

    header: list[str]
    rows: list[list[str]]
    templates: list[str]
    remarks: list[str]
    databases: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_default(self) -> bool:
        """Whether building from the CSV without naming templates gives these templates."""
        at = self.header.index(WORKLOAD) if WORKLOAD in self.header else 0
        return self.templates == default_templates({row[at] for row in self.rows})

    def text(self) -> str:
        """The text of the CSV."""
        return csvfile.written([self.header, *self.rows])


def export(plan: Plan) -> Export:
    """The scenarios of a plan. A blank input is exported as N/A, a blank override as blank."""
    return _Exporter(plan).export()


@dataclass
class _Exporter:
    plan: Plan
    remarks: list[str] = field(default_factory=list)
    shipped: Databases = field(default_factory=Databases)

    def export(self) -> Export:
        """Every scenario with its inputs, its overrides, and values typed over formulas."""
        typed: dict[str, dict[str, str]] = {scenario.key: {} for scenario in self.plan.scenarios}
        names: list[str] = []
        for column, values in self._columns():
            if column not in names:
                names.append(column)
            for key, text in values.items():
                typed[key][column] = text
        ids = self._ids()
        rows = []
        for scenario in self.plan.scenarios:
            header = map(guarded, (self._name(scenario), scenario.model, scenario.hardware))
            rows.append([ids[scenario.key], *header, *(typed[scenario.key].get(name, "") for name in names)])
        self._remark_on_lost_rows()
        self._remark_on_tables()
        self._remark_on_constants()
        own = {
            table.kind: own_rows(self.plan, table)
            for table in (self.shipped.models, self.shipped.hardware)
            if has_own(self.plan, table)
        }
        if stacks := [name for name in self._own_stacks if name in ids_of(self.plan, "stacks")]:
            own[CALIBRATIONS] = calibrations(self.plan, stacks)
        return Export(["scenario", "name", "model", "hardware", *names], rows, self.templates, self.remarks, own)

    @cached_property
    def templates(self) -> list[str]:
        """The workbook's templates, in sheet order."""
        return list(dict.fromkeys(self.plan.book.templates.values()))

    @cached_property
    def _known(self) -> dict[str, Row]:
        """The rows of the workbook's shipped templates by name; of a name the first."""
        shipped = [library.load(name) for name in reversed(self.templates) if name in library.names()]
        return {row.name: row for template in shipped for row in template.rows}

    def _columns(self) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Yields each column's name and texts by scenario; a later column of the same name only fills gaps."""
        known = {WORKLOAD, *(row.name for rows in self.plan.tables.values() for row in rows)}
        alone = [name for name in self.templates if name in swept_templates()]
        if len(alone) == 1:
            yield WORKLOAD, {scenario.key: alone[0] for scenario in self.plan.scenarios}
        for quantity in self.plan.inputs:
            if quantity.name in known:
                texts = {key: self._text(quantity, entry) or MISSING for key, entry in quantity.cells.items()}
                yield quantity.name, texts
            else:
                self.remarks.append(f"{quantity.name} is a row of yours on {quantity.sheet}: no template reads it")
        overridden: set[tuple[str, str]] = set()
        for quantity in self.plan.overrides:
            values = {key: self._text(quantity, entry) for key, entry in quantity.cells.items() if not entry.is_blank}
            overridden |= {(quantity.name, key) for key in values}
            if values:
                yield quantity.name, values
        yield from self._looked_up(overridden)
        yield from self._typed_over()

    def _looked_up(self, overridden: set[tuple[str, str]]) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Yields numbers changed in the workbook's own databases, as overrides of the shipped ones."""
        for name, (row, quantity) in self._lookups.items():
            values: dict[str, str] = {}
            for scenario in self.plan.scenarios:
                entry, shipped = quantity.cells.get(scenario.key), self._shipped(row, scenario)
                if entry is None or entry.formula is None or shipped is None or (name, scenario.key) in overridden:
                    continue
                now = None if isinstance(entry.value, CellError) else entry.value
                if not _same(now, shipped.get(row.column[0])):
                    values[scenario.key] = MISSING if now in (None, "") else written(now)
                    what = "is not the shipped number on the workbook's own sheet: an override"
                    self.remarks.append(f"{row.name} of {scenario.id} {what}")
            if values:
                yield name, values

    @cached_property
    def _lookups(self) -> dict[str, tuple[Row, Quantity]]:
        """The looked-up rows of shipped templates, with their row in the workbook."""
        sheets = self.plan.book.templates
        found: dict[str, tuple[Row, Quantity]] = {}
        for sheet, quantities in self.plan.tables.items():
            if sheets.get(sheet) not in library.names():
                continue
            rows = library.load(sheets[sheet]).by_name
            for quantity in quantities:
                row = rows.get(quantity.name)
                if row is not None and row.kind in ("model", "hardware") and not row.column[1]:
                    found.setdefault(row.name, (row, quantity))
        return found

    def _shipped(self, row: Row, scenario: Scenario) -> Mapping[str, Value] | None:
        """The shipped row of the model or chip that a lookup reads in a scenario; None if it isn't shipped."""
        models, chips = self.shipped.models, self.shipped.hardware
        table, chosen = (models, scenario.model) if row.kind == "model" else (chips, scenario.hardware)
        return table.rows[table.identify(chosen)] if chosen and table.has(chosen) else None

    def _typed_over(self) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Yields numbers typed over formulas, if every sheet with the row has the same; otherwise adds a remark."""
        tables = {table.sheet.name: table for table in self.plan.book.calculations}
        rows = [(tables[sheet], row) for sheet, found in self.plan.tables.items() for row in found]
        have = Counter(row.name for _, row in rows)
        typed: dict[str, dict[str, list[Entry]]] = {}
        for table, row in rows:
            for key, entry in self._not_calculated(table, row):
                typed.setdefault(row.name, {}).setdefault(key, []).append(entry)
        for name, by_key in typed.items():
            values = {
                key: written(entries[0].value)
                for key, entries in by_key.items()
                if len(entries) == have[name] and len({entry.value for entry in entries}) == 1
            }
            for key, entries in by_key.items():
                what = "typed over a formula: an override" if key in values else "typed over a formula; not exported"
                self.remarks.append(f"{entries[0].spot} ({name}): {written(entries[0].value)} is {what}")
            if values:
                yield name, values

    def _not_calculated(self, table: LineTable, row: Quantity) -> Iterator[tuple[str, Entry]]:
        """Yields a row's cells, by scenario, that have a number in place of its formula; remarks on other edits."""
        line = table.by_name.get(row.name)
        if all(entry.pattern is None for entry in row.cells.values()):
            return
        for key, entry in row.cells.items():
            if entry.pattern is not None:
                if line and not is_pristine(self.plan.book, table, line, entry.spot.column):
                    self.remarks.append(f"{entry.spot}: the formula is edited, ={entry.formula}; not exported")
            elif isinstance(entry.value, str) and row.unit != "text":
                self.remarks.append(f"{entry.spot} ({row.name}): {entry.value!r} is no number; not exported")
            elif not entry.is_blank:
                yield key, entry

    def _text(self, quantity: Quantity, entry: Entry) -> str:
        """A typed cell as text for the CSV. Raises UserError for what the CSV's reader would refuse."""
        if entry.formula is not None:
            self.remarks.append(f"{entry.spot} ({quantity.name}) is a formula, ={entry.formula}: its value is exported")
        if entry.is_missing:
            return "" if entry.is_blank else MISSING
        refuse_text(entry.spot, quantity.name, quantity.unit, entry.value)
        if row := self._known.get(quantity.name):
            refuse_number(entry.spot, row, entry.value)
        return written(entry.value)

    def _ids(self) -> dict[str, str]:
        """Each scenario's id, made unique where two share one or one has none."""
        taken: set[str] = set()
        ids: dict[str, str] = {}
        for at, scenario in enumerate(self.plan.scenarios, start=1):
            own = free_name(scenario.id or f"scenario_{at}", taken)
            if own != scenario.id:
                self.remarks.append(f"the scenario {scenario.key} is exported as {own}: ids are unique")
            taken.add(own.lower())
            ids[scenario.key] = guarded(own)
        return ids

    def _name(self, scenario: Scenario) -> str:
        """The scenario's given name; blank for the default name, so that it keeps following model and chip."""
        return "" if scenario.name == self.plan.book.model_on_chip(scenario.column) else scenario.name

    def _remark_on_lost_rows(self) -> None:
        """A remark on each input that a calculation sheet has and Inputs no longer, as after an edit of its name."""
        there = {quantity.name for quantity in self.plan.inputs}
        rows = dict.fromkeys(row.name for rows in self.plan.tables.values() for row in rows)
        for row in (self._known[name] for name in rows if name in self._known and name not in there):
            if row.kind == "input":
                said = f"it is not in the file, and takes its default, {written(row.default)}"
                self.remarks.append(f"{row.name} has no row on Inputs: {said}")

    def _remark_on_tables(self) -> None:
        for table, chosen in ((self.shipped.models, "model"), (self.shipped.hardware, "hardware")):
            exported = ids_of(self.plan, table.kind)
            for identifier in dict.fromkeys(getattr(scenario, chosen) for scenario in self.plan.scenarios):
                if identifier and not table.has(identifier) and identifier not in exported:
                    said = f"build with {OPTIONS[table.kind]} and its row"
                    self.remarks.append(f"{identifier} stands in this workbook alone: {said}")
        for stack in self._own_stacks:
            if stack not in ids_of(self.plan, "stacks"):
                said = "build with --calibrations and the CSV that planner fit wrote"
                self.remarks.append(f"the stack {stack} stands on no row of Stacks: {said}")

    @cached_property
    def _own_stacks(self) -> list[str]:
        """The stacks of scenarios that aren't shipped."""
        rows = (row for row in self.plan.inputs if row.name == "stack")
        named = dict.fromkeys(str(cell.value) for row in rows for cell in row.cells.values() if cell.value)
        return [stack for stack in named if not self.shipped.stacks.has(stack)]

    def _remark_on_constants(self) -> None:
        shipped = {row.name: row for name in library.names() for row in library.load(name).of_kind("constant")}
        for quantity in self.plan.constants:
            value, row = quantity.value(""), shipped.get(quantity.name)
            if row is not None and not _same(value, row.default):
                said = f"the constant {quantity.name} is {written(value)}, not {written(row.default)}"
                self.remarks.append(f"{said}; not exported")


def _same(one: Value, other: Value) -> bool:
    blank = (None, "")
    return (one in blank and other in blank) or same_value(one, other, SAME)

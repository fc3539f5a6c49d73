"""A workbook as the rules see it: cells by row and column, formulas as patterns, the tables that planner made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import ClassVar

from planner.book.alignment import Alignment
from planner.book.tables import HEADER, SEARCHED, CaseTable, Database, LineTable, case_tables, database, line_table
from planner.errors import Place, UserError
from planner.recalc.engine import EngineError
from planner.recalc.evidence import Verdict
from planner.recalc.inmemory import in_memory
from planner.xlsx.address import address, column_letters, coordinates
from planner.xlsx.cell import Cell
from planner.xlsx.cellvalue import Value
from planner.xlsx.markup import tag_end
from planner.xlsx.opc import Package
from planner.xlsx.parts import parse_sheets
from planner.xlsx.pattern import Pattern, Position, pattern
from planner.xlsx.sheetxml import SheetXml

Address = tuple[str, int, int]
"""A sheet's name, a row and a column."""

_SHARED = re.compile(rb"""\ssi\s*=\s*["']([0-9]+)""")
_EMPTY = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData/></worksheet>'
CASE_SHEETS = ("Operations", "Roofline", "Sweep", "Comparison", "Calibration")
DATABASES = ("Models", "Hardware", "Dtypes")


class Sheet:
    """A sheet's cells, and the pattern of each formula; a shared formula's cells have their master's."""

    def __init__(self, name: str, position: int, xml: SheetXml) -> None:
        self.name, self.position, self.xml = name, position, xml
        self.cells: dict[Position, Cell] = {}
        self.patterns: dict[Position, Pattern] = {}
        self.shapes = self.patterns  # with columns numbered by what they hold, where an analyst has moved some
        masters: dict[bytes, Pattern] = {}
        for cell in xml.cells.values():
            at = coordinates(cell.ref)
            self.cells[at] = cell
            if cell.formula:
                self.patterns[at] = pattern(cell.formula, *at)
            if cell.kind == "shared":
                number = self._shared_number(cell)
                if cell.formula:
                    masters[number] = self.patterns[at]
                elif number in masters:
                    self.patterns[at] = masters[number]

    def _shared_number(self, cell: Cell) -> bytes:
        assert cell.formula_span is not None, "a shared formula has an element"
        start = cell.formula_span[0]
        match = _SHARED.search(self.xml.xml[start : tag_end(self.xml.xml, start)])
        return match[1] if match else b""

    @cached_property
    def title(self) -> str:
        """The first text of the sheet's first rows: in A1, or where inserted rows and columns have moved it."""
        return self.text(*self.title_at)

    @cached_property
    def title_at(self) -> Position:
        """The cell of the title."""
        return min((at for at in self.cells if at[0] <= SEARCHED and self.text(*at)), default=(1, 1))

    def value(self, row: int, column: int) -> Value:
        """The typed value, or the cached one of a formula; None for an empty cell."""
        cell = self.cells.get((row, column))
        return None if cell is None else cell.value

    def text(self, row: int, column: int) -> str:
        """The text in a cell; blank for anything else."""
        value = self.value(row, column)
        return value if isinstance(value, str) else ""

    def is_typed(self, row: int, column: int) -> bool:
        """Whether a person has typed something into the cell."""
        return self.value(row, column) not in (None, "") and not self.xml.is_computed(address(row, column))


class Book:
    """The workbook that is checked. Raises UserError for one that planner did not build."""

    TYPED: ClassVar = ("inputs", "Inputs")  # the table whose numbers all others read, and its sheet

    def __init__(self, package: Package) -> None:
        self.package = package
        self.parsed = parse_sheets(package)
        self.sheets = {name: Sheet(name, at, xml) for at, (name, xml) in enumerate(self.parsed.items())}
        self.tables = [table for sheet in self.sheets.values() if (table := line_table(sheet))]
        self.inputs, self.checks = self._only(*self.TYPED), self._only("checks", "Checks")
        self.dashboard = self._only("dashboard", "Dashboard")
        if not self.inputs.lines:
            remedy = "check a workbook that planner built, with its Inputs sheet and its row of titles"
            raise UserError("no sheet has the header of Inputs", place=Place(self.package.name), remedy=remedy)
        self.read = self._read_by(self.checks, self.dashboard)
        self.calculations = [table for table in self._of("calculation") if table.sheet.name in self.read]
        self.constraints = [table for table in self._of("constraints") if table.sheet.name in self.read]
        self.working = [table for table in self._of("working") if table.sheet in self.case_sheets.values()]
        self.alignment = Alignment(self.inputs, (self.inputs, *self.lines))
        for sheet in self.our_sheets if self.alignment else ():
            sheet.shapes = {at: self.alignment.shape(sheet.name, at, found) for at, found in sheet.patterns.items()}

    @cached_property
    def case_sheets(self) -> Mapping[str, Sheet]:
        """The sheets of cases by the names that they are built with, whatever an analyst calls them now."""
        return self._built_as(CASE_SHEETS)

    @cached_property
    def computed(self) -> Verdict:
        """What every formula gives now. Raises EngineError where the engine can't have the workbook."""
        return in_memory(self.package, self.parsed)

    @cached_property
    def databases(self) -> Mapping[str, Database]:
        """The Models, Hardware and Dtypes sheets, by their names in lower case."""
        found = {name.lower(): database(sheet) for name, sheet in self._built_as(DATABASES).items()}
        return {name: table for name, table in found.items() if table is not None}

    @cached_property
    def cases(self) -> list[CaseTable]:
        """Every table with a case per row."""
        return [table for sheet in self.case_sheets.values() for table in case_tables(sheet)]

    @cached_property
    def designed(self) -> Mapping[str, Sheet]:
        """The sheets that planner built, in the design's order, by the names that it gave them."""
        fronts = self._built_as(("Plan", "Log"))
        cover = self.sheets.get("Cover", fronts.get("Plan"))
        found = {} if cover is None else {"Cover": cover}
        found |= {"Dashboard": self.dashboard.sheet, "Inputs": self.inputs.sheet}
        found |= {name: sheet for name, sheet in self._built_as(DATABASES).items() if database(sheet)}
        found |= {table.sheet.name: table.sheet for table in self.calculations}
        found |= {table.sheet.name: table.sheet for table in self.constraints}
        found |= {**self.case_sheets, "Checks": self.checks.sheet}
        found |= {name: sheet for name, sheet in fronts.items() if name == "Log"}
        return {name: sheet for name, sheet in found.items() if sheet.name in self.sheets}

    def is_later(self, one: Sheet, other: Sheet) -> bool:
        """Whether a sheet comes behind another: in the design where both are planner's, else among the tabs."""
        order = [sheet.name for sheet in self.designed.values()]
        if one.name in order and other.name in order:
            return order.index(one.name) > order.index(other.name)
        return one.position > other.position

    @property
    def lines(self) -> list[LineTable]:
        """Every table of line items whose values are formulas."""
        calculated = (*self.calculations, *self.constraints, *self.working)
        return [table for table in (self.dashboard, *calculated, self.checks) if table.lines]

    @property
    def needed(self) -> tuple[str, ...]:
        """The sheets that it can't be without."""
        return "Cover", "Dashboard", "Inputs", *DATABASES, "Checks", "Log"

    @property
    def named(self) -> list[LineTable]:
        """The tables that say in names what each line calculates."""
        return [*self.calculations, *self.working]

    @property
    def by_scenario(self) -> list[LineTable]:
        """Every table with a column for each scenario, Inputs first."""
        return [self.inputs, *(table for table in self.lines if table.kind != "working")]

    @cached_property
    def ours(self) -> dict[Address, Pattern]:
        """The formulas that planner wrote or an analyst put in their place: those within its tables."""
        tables: list[LineTable | CaseTable] = [*self.lines, *self.cases]
        found: dict[Address, Pattern] = {}
        for table in tables:
            for at in table.positions():
                if at in table.sheet.patterns:
                    found[table.sheet.name, *at] = table.sheet.patterns[at]
        return found

    @cached_property
    def formulas(self) -> dict[Address, Pattern]:
        """Of `ours`, each different formula of a row once, at the first cell that has it."""
        first: dict[tuple[str, int, str], Address] = {}
        for (sheet, row, column), formula in self.ours.items():
            first.setdefault((sheet, row, formula.text), (sheet, row, column))
        return {cell: self.ours[cell] for cell in first.values()}

    @property
    def our_sheets(self) -> list[Sheet]:
        """The sheets that hold planner's tables."""
        sheets = [table.sheet for table in (self.inputs, *self.lines)]
        sheets += [table.sheet for table in self.databases.values()] + [table.sheet for table in self.cases]
        return list({sheet.name: sheet for sheet in sheets}.values())

    @cached_property
    def fresh(self) -> Mapping[Address, Value]:
        """What the formulas give now, of those that could be computed; nothing where the engine refuses them all."""
        try:
            verdict = self.computed
        except EngineError:
            return {}
        return {(name, *coordinates(ref)): value for (name, ref), value in verdict.values.items()}

    def value(self, sheet: str, row: int, column: int) -> Value:
        """A cell's value now: recalculated where that was possible, else as saved."""
        cell = sheet, row, column
        return self.fresh[cell] if cell in self.fresh else self.sheets[sheet].value(row, column)

    @cached_property
    def scenarios(self) -> Mapping[int, str]:
        """What the scenarios are called, by their number from the left (Alignment): the id, or the column's letters."""
        line, inputs = self.inputs.by_name.get(HEADER[0]), self.inputs
        ids = {column: inputs.sheet.value(line.row, column) if line else None for column in inputs.columns}
        return {self.alignment.standard(inputs.sheet.name, column): str(found or f"column {column_letters(column)}")
                for column, found in ids.items()}  # fmt: skip

    def open_cells(self, sheet: Sheet) -> list[Position]:
        """The cells of a sheet that are there to be typed into; a constant needs no validation."""
        if sheet is not self.inputs.sheet:
            return []
        lines = (line for line in self.inputs.lines if line.section != "Constants")
        return [(line.row, column) for line in lines for column in self.inputs.columns]

    @cached_property
    def _rows(self) -> Mapping[tuple[str, int], tuple[LineTable, str]]:
        return {(table.sheet.name, line.row): (table, line.name or line.label)
                for table in (self.inputs, *self.lines) for line in table.lines}  # fmt: skip

    def owner(self, sheet: str, row: int, column: int) -> tuple[str, str]:
        """The machine name of a cell's row and the scenario of its column; blank where it is in no table of lines."""
        table, name = self._rows.get((sheet, row), (None, ""))
        if table is None or table.kind in ("working", "problem") or column not in table.columns:
            return name, ""
        return name, self.scenarios.get(self.alignment.standard(sheet, column), "")

    def _built_as(self, names: Iterable[str]) -> dict[str, Sheet]:
        """The sheets that were built with these names: the title in their corner stays when the tab is renamed."""
        titled: dict[str, list[Sheet]] = {}
        for sheet in self.sheets.values():
            titled.setdefault(sheet.title, []).append(sheet)
        return {name: next((sheet for sheet in titled[name] if sheet.name == name), titled[name][0])
                for name in names if name in titled}  # fmt: skip

    def _of(self, kind: str) -> list[LineTable]:
        return [table for table in self.tables if table.kind == kind]

    def _only(self, kind: str, name: str) -> LineTable:
        """The table of its kind: that of the sheet's first name where an analyst has copied it; empty without one."""
        found = sorted(self._of(kind), key=lambda table: table.sheet.name != name)
        return found[0] if found else LineTable(Sheet(name, len(self.sheets), SheetXml(_EMPTY, [])), kind, (), ())

    def _read_by(self, *tables: LineTable) -> set[str]:
        """The sheets that tables read: a copy of a calculation sheet is the analyst's own, and not among them."""
        patterns = {id(found): found for table in tables for found in table.sheet.patterns.values()}
        read = {reference.sheet for found in patterns.values() for reference in found.references}
        return read if patterns else set(self.sheets)

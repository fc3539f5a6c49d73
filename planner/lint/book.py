"""A workbook as the rules see it: cells by row and column, formulas as patterns, the tables that planner made."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

from planner.errors import Place, UserError
from planner.lint.pattern import Pattern, Position, pattern
from planner.lint.tables import CaseTable, Database, LineTable, case_tables, database, line_table
from planner.xlsx.address import address, coordinates
from planner.xlsx.cell import Cell
from planner.xlsx.cellvalue import Value
from planner.xlsx.markup import tag_end
from planner.xlsx.opc import Package
from planner.xlsx.parts import parse_sheets
from planner.xlsx.sheetxml import SheetXml

Address = tuple[str, int, int]
"""A sheet's name, a row and a column."""

_SHARED = re.compile(rb"""\ssi\s*=\s*["']([0-9]+)""")
CASE_SHEETS = ("Operations", "Roofline", "Sweep", "Comparison", "Calibration")
DATABASES = ("Models", "Hardware", "Dtypes")


class Sheet:
    """A sheet's cells, and the pattern of each formula; a shared formula's cells have their master's."""

    def __init__(self, name: str, position: int, xml: SheetXml) -> None:
        self.name, self.position, self.xml = name, position, xml
        self.cells: dict[Position, Cell] = {}
        self.patterns: dict[Position, Pattern] = {}
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

    def __init__(self, package: Package) -> None:
        self.package = package
        self.parsed = parse_sheets(package)
        self.sheets = {name: Sheet(name, at, xml) for at, (name, xml) in enumerate(self.parsed.items())}
        self.tables = [table for sheet in self.sheets.values() if (table := line_table(sheet))]
        self.inputs, self.checks = self._only("inputs", "Inputs"), self._only("checks", "Checks")
        self.dashboard = self._only("dashboard", "Dashboard")
        self.read = self._read_by(self.checks, self.dashboard)
        self.calculations = [table for table in self._of("calculation") if table.sheet.name in self.read]
        self.working = [table for table in self._of("working") if table.sheet.name in CASE_SHEETS]

    @cached_property
    def databases(self) -> Mapping[str, Database]:
        """The Models, Hardware and Dtypes sheets, by their names in lower case."""
        found = {name.lower(): database(self.sheets[name]) for name in DATABASES if name in self.sheets}
        return {name: table for name, table in found.items() if table is not None}

    @cached_property
    def cases(self) -> list[CaseTable]:
        """Every table with a case per row."""
        sheets = (self.sheets[name] for name in CASE_SHEETS if name in self.sheets)
        return [table for sheet in sheets if sheet.text(1, 1) == sheet.name for table in case_tables(sheet)]

    @property
    def lines(self) -> list[LineTable]:
        """Every table of line items whose values are formulas."""
        return [self.dashboard, *self.calculations, *self.working, self.checks]

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

    def _of(self, kind: str) -> list[LineTable]:
        return [table for table in self.tables if table.kind == kind]

    def _only(self, kind: str, name: str) -> LineTable:
        """The table of its kind: that of the sheet's first name where an analyst has copied it."""
        found = sorted(self._of(kind), key=lambda table: table.sheet.name != name)
        if not found:
            remedy = f"check a workbook that planner built, with its {name} sheet and the titles in row 3"
            raise UserError(f"no sheet has the header of {name}", place=Place(self.package.name), remedy=remedy)
        return found[0]

    def _read_by(self, *tables: LineTable) -> set[str]:
        """The sheets that tables read: a copy of a calculation sheet is the analyst's own, and not among them."""
        patterns = {id(found): found for table in tables for found in table.sheet.patterns.values()}
        return {reference.sheet for found in patterns.values() for reference in found.references}

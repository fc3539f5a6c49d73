"""An edited workbook as plain data: its sheets, planner's tables on them, recalculated values."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import ClassVar, TypeVar

from planner.book.built_sheets import BuiltSheets
from planner.book.rowkeys import COVER_TITLE
from planner.book.scenario_columns import ColumnNumbers, identifier
from planner.book.sheet import Sheet
from planner.book.tables import HEADER, CaseTable, Database, LineItem, LineTable, case_tables, database, line_table
from planner.catalog.checked_table import TABLES
from planner.errors import Place, UserError
from planner.recalc.engine import Address, EngineError
from planner.recalc.evidence import Judgement, computed
from planner.xlsx.address import Area, Position, Spot, column_letters, coordinates
from planner.xlsx.cellvalue import CellError, Value, exact_text, same_value
from planner.xlsx.opc import Package
from planner.xlsx.pattern import Pattern
from planner.xlsx.workbook_part import parse_sheets

CASE_SHEETS = ("Operations", "Roofline", "Sweep", "Sensitivity", "Comparison")
EXACT, ROUNDED = 1e-12, 1e-9  # largest relative deviation of a cached value
_ROUNDED = re.compile(r"\^|\b(LOG|EXP)\(")
MISSING = "missing."
"""The prefix of rows of Checks that check whether a number is missing."""
DATABASES = tuple(table.capitalize() for table in TABLES.values())
NEEDED = DATABASES[:3]  # every workbook has these, the others only where a template reads them


T = TypeVar("T")


def by_spot(cells: Mapping[Address, T]) -> dict[Spot, T]:
    """The values of a mapping of (sheet, A1) addresses, by Spot."""
    return {Spot(name, *coordinates(ref)): said for (name, ref), said in cells.items()}


class Book:
    """A planning workbook. Raises UserError for one that planner did not build.

    `inputs`, `checks` and `dashboard` are the tables of these sheets, `calculations` those of templates, `constraints`
    the blocks of what binds, `working` the step-by-step computation of one chosen scenario.
    """

    TYPED: ClassVar = ("inputs", "Inputs")  # the table whose numbers all others read, and its sheet

    def __init__(self, package: Package) -> None:
        self.package = package
        self.parsed = parse_sheets(package)
        self.sheets = {name: Sheet(name, at, xml) for at, (name, xml) in enumerate(self.parsed.items())}
        self.built = BuiltSheets(self.sheets)
        self.tables = [table for sheet in self.sheets.values() if (table := line_table(sheet))]
        self.inputs, self.checks = self._only(*self.TYPED), self._only("checks", "Checks")
        self.dashboard = self._only("dashboard", "Dashboard")
        if not self.inputs.lines:
            remedy = "check a workbook that planner built, with its Inputs sheet and its row of titles"
            raise UserError("no sheet has the header of Inputs", place=Place(self.package.name), remedy=remedy)
        self.read = self._read_by(self.checks, self.dashboard)
        self.calculations = [table for table in self._of("calculation") if table.sheet.name in self.read]
        self.constraints = [table for table in self._of("constraints") if self._is_original(table.sheet)]
        self.working = [table for table in self._of("working") if table.sheet in self.case_sheets.values()]
        self.numbers = ColumnNumbers(self.inputs, (self.inputs, *self.lines))
        for sheet in self.our_sheets if self.numbers else ():
            patterns = sheet.patterns.items()
            sheet.numbered = {at: self.numbers.numbered(sheet.name, at, found) for at, found in patterns}

    @cached_property
    def case_sheets(self) -> Mapping[str, Sheet]:
        """The sheets of cases by their built names, also if they were renamed."""
        return self.built.built_as(CASE_SHEETS)

    @cached_property
    def computed(self) -> Judgement:
        """The recalculated value of every formula. Raises EngineError if the engine refuses the workbook."""
        return computed(self.package, self.parsed, is_as_saved=True)

    @cached_property
    def databases(self) -> Mapping[str, Database]:
        """The databases (Models, Hardware, Dtypes, ...) by sheet name in lower case."""
        found = {name.lower(): database(sheet) for name, sheet in self.built.built_as(DATABASES).items()}
        return {name: table for name, table in found.items() if table is not None}

    @cached_property
    def cases(self) -> list[CaseTable]:
        """Every table of cases. The titles of line items head none, also where no blank row is left below them."""
        heads = {(table.sheet.name, table.head.row) for table in self.lines}
        found = (table for sheet in self.case_sheets.values() for table in case_tables(sheet))
        return [table for table in found if (table.sheet.name, table.header_row) not in heads]

    @cached_property
    def designed(self) -> Mapping[str, Sheet]:
        """The sheets that planner built, in the built order, by their built names."""
        fronts = self.built.built_as((COVER_TITLE, "Log"))
        cover = self.sheets.get("Cover", fronts.get(COVER_TITLE))
        found = {} if cover is None else {"Cover": cover}
        found |= {"Dashboard": self.dashboard.sheet, "Inputs": self.inputs.sheet}
        found |= {name: sheet for name, sheet in self.built.built_as(DATABASES).items() if database(sheet)}
        found |= {table.sheet.name: table.sheet for table in self.calculations}
        found |= {table.sheet.name: table.sheet for table in self.constraints}
        found |= {**self.case_sheets, "Checks": self.checks.sheet}
        found |= {name: sheet for name, sheet in fronts.items() if name == "Log"}
        return {name: sheet for name, sheet in found.items() if sheet.name in self.sheets and sheet.cells}

    def is_later(self, one: Sheet, other: Sheet) -> bool:
        """Whether sheet `one` comes after `other`: in the built order for two of planner's, else by tab."""
        order = self._order
        if one.name in order and other.name in order:
            return order[one.name] > order[other.name]
        return one.position > other.position

    @cached_property
    def _order(self) -> Mapping[str, int]:
        """The index of each of planner's sheets in the built order, by present name."""
        return {sheet.name: place for place, sheet in enumerate(self.designed.values())}

    @cached_property
    def lines(self) -> list[LineTable]:
        """Every table of line items whose values are formulas."""
        calculated = (*self.calculations, *self.constraints, *self.working)
        return [table for table in (self.dashboard, *calculated, self.checks) if table.lines]

    @property
    def needed(self) -> tuple[str, ...]:
        """The sheets that must be there."""
        return "Cover", "Dashboard", "Inputs", *NEEDED, "Checks", "Log"

    @property
    def named(self) -> list[LineTable]:
        """The tables with formulas in names."""
        return [*self.calculations, *self.working]

    @property
    def by_scenario(self) -> list[LineTable]:
        """Every table with a column for each scenario, Inputs first."""
        return [self.inputs, *(table for table in self.lines if table.kind != "working")]

    @cached_property
    def formulas(self) -> dict[Spot, Pattern]:
        """The formulas within planner's tables: each different one of a row once, at its first cell."""
        rows = [(table.sheet, line.row, table.columns) for table in self.lines for line in table.lines]
        rows += [(cases.sheet, row, tuple(cases.columns)) for cases in self.cases for row in cases.rows]
        found: dict[Spot, Pattern] = {}
        for sheet, row, columns in rows:
            first: dict[Pattern, int] = {}
            for column in columns:
                if formula := sheet.patterns.get((row, column)):
                    first.setdefault(formula, column)
            found |= {Spot(sheet.name, row, column): formula for formula, column in first.items()}
        return found

    @cached_property
    def templates(self) -> Mapping[str, str]:
        """The template of each calculation sheet, by the sheet's present name.

        Rows of Checks are named after templates, and each reads a row of its template's sheet. A sheet that no row of
        Checks reads has the template that its title names.
        """
        votes: dict[str, Counter[str]] = defaultdict(Counter)
        for line, template in self._checks_of_templates():
            formulas = (self.checks.sheet.patterns.get((line.row, column)) for column in self.checks.columns)
            formula = next((found for found in formulas if found is not None), None)
            for sheet in {reference.sheet for reference in formula.references} if formula else ():
                votes[sheet][template] += 1
        found: dict[str, str] = {}
        for table in self.calculations:
            name = table.sheet.name
            best = votes[name].most_common(1)
            found[name] = best[0][0] if best else (table.sheet.title or name).lower().replace(" ", "_")
        return found

    @property
    def without_sheet(self) -> list[str]:
        """The templates that rows of Checks are named after but whose sheet was deleted."""
        named = dict.fromkeys(template for _, template in self._checks_of_templates())
        return [template for template in named if template not in self.templates.values()]

    def _checks_of_templates(self) -> Iterator[tuple[LineItem, str]]:
        """Yields each row of Checks that is named after a template, with the template's name."""
        for line in self.checks.lines:
            template, dot, _ = line.name.removeprefix(MISSING).partition(".")
            if dot and template not in ("inputs", "checks"):
                yield line, template

    @cached_property
    def our_sheets(self) -> list[Sheet]:
        """The sheets with planner's tables."""
        sheets = [table.sheet for table in (self.inputs, *self.lines)]
        sheets += [table.sheet for table in self.databases.values()] + [table.sheet for table in self.cases]
        return list({sheet.name: sheet for sheet in sheets}.values())

    @property
    def own_sheets(self) -> list[str]:
        """The names of the user's sheets."""
        planners = {sheet.name for sheet in (*self.designed.values(), *self.our_sheets)}
        return [name for name in self.sheets if name not in planners]

    @cached_property
    def fresh(self) -> Mapping[Spot, Value]:
        """The recalculated values of the formulas that could be computed; empty if the engine refuses the workbook."""
        try:
            values = self.computed.values
        except EngineError:
            return {}
        return by_spot(values)

    def value(self, sheet: str, row: int, column: int) -> Value:
        """A cell's value: recalculated if possible, else the cached one; None if there is no cell."""
        value = self.fresh.get(Spot(sheet, row, column), ...)
        if value is not ...:
            return value
        found = self.sheets.get(sheet)
        return None if found is None else found.value(row, column)

    def is_current(self, cell: Spot, new: Value) -> bool:
        """Whether a cached value equals the recalculated one: to 12 digits, or 9 for powers and logarithms.

        Errors are all equal. Programs save 15 digits, and each rounds powers and logarithms its own way.
        """
        old = self.sheets[cell.sheet].value(cell.row, cell.column)
        if (old == new and type(old) is type(new)) or (isinstance(old, CellError) and isinstance(new, CellError)):
            return True
        formula = self.formula(cell)
        tolerance = ROUNDED if formula and _ROUNDED.search(formula.text) else EXACT
        return same_value(old, "" if new is None else new, tolerance)

    def formula(self, cell: Spot) -> Pattern | None:
        """The pattern of a cell's formula; None if it has none."""
        return self.sheets[cell.sheet].patterns.get((cell.row, cell.column))

    def areas(self, cell: Spot) -> Iterator[tuple[str, Area]]:
        """Yields (sheet, area) for each reference in a cell's formula; the sheet may be missing."""
        formula = self.formula(cell)
        for reference in formula.references if formula else ():
            yield reference.sheet or cell.sheet, reference.area(cell.row, cell.column)

    @cached_property
    def scenarios(self) -> Mapping[int, str]:
        """The name of each scenario by column number: its id, or the column's letters."""
        line, inputs = self.inputs.by_name.get(HEADER[0]), self.inputs
        ids = {column: inputs.sheet.value(line.row, column) if line else None for column in inputs.columns}
        return {
            self.numbers.standard(inputs.sheet.name, column): exact_text(found or f"column {column_letters(column)}")
            for column, found in ids.items()
        }

    def said(self, name: str, column: int) -> str:
        """A header value (id, name, model or chip) of the scenario in a column of Inputs; blank for none."""
        line = self.inputs.by_name.get(name)
        value = self.inputs.sheet.value(line.row, column) if line else None
        return "" if value is None else exact_text(value).strip()

    def model_on_chip(self, column: int) -> str:
        """The default name of a scenario, "MODEL on CHIP", as the header rows of every sheet have it."""
        return " on ".join(part for name in HEADER[2:] if (part := self.said(name, column)))

    def given_name(self, column: int) -> str:
        """The name that the user gave a scenario; blank for a default one, which follows its model and chip.

        Earlier versions typed the default name of the first model and chip, from which the id was made: nobody gave
        that.
        """
        name, own = self.said(HEADER[1], column), self.said(HEADER[0], column)
        model, _, chip = name.partition(" on ")
        is_made = re.fullmatch(rf"{re.escape(identifier(name))}(_[0-9]+)?", own) and self._has(model, chip)
        return "" if is_made or name == self.model_on_chip(column) else name

    def _has(self, model: str, chip: str) -> bool:
        """Whether the databases have a model and a chip with these ids."""
        wanted = ((self.databases.get("models"), model), (self.databases.get("hardware"), chip))
        return all(
            table is not None and text in {table.sheet.text(row, table.id_column) for row, _ in table.sheet.cells}
            for table, text in wanted
        )

    def open_cells(self, sheet: Sheet) -> list[Position]:
        """The cells of a sheet that are meant to be typed into.

        Constants aren't included, since they need no validation.
        """
        if sheet is not self.inputs.sheet:
            return []
        lines = (line for line in self.inputs.lines if line.section != "Constants")
        return [(line.row, column) for line in lines for column in self.inputs.columns]

    @cached_property
    def _rows(self) -> Mapping[tuple[str, int], tuple[LineTable, str]]:
        return {
            (table.sheet.name, line.row): (table, line.name or line.label)
            for table in (self.inputs, *self.lines)
            for line in table.lines
        }

    def owner(self, sheet: str, row: int, column: int) -> tuple[str, str]:
        """The machine name of a cell's row and the scenario of its column; blank for cells outside the line tables."""
        table, name = self._rows.get((sheet, row), (None, ""))
        if table is None or table.kind in ("working", "problem") or column not in table.columns:
            return name, ""
        return name, self.scenarios.get(self.numbers.standard(sheet, column), "")

    def _is_original(self, sheet: Sheet) -> bool:
        """Whether a sheet is the original and no copy: other tables read it, or it was never renamed."""
        return sheet.name in self.read or sheet.name == sheet.title

    def _of(self, kind: str) -> list[LineTable]:
        return [table for table in self.tables if table.kind == kind]

    def _only(self, kind: str, name: str) -> LineTable:
        """The table of this kind, on the original if the sheet was copied; an empty one if there is none."""
        found = {table.sheet: table for table in self._of(kind)}
        if not found:
            return LineTable(Sheet.empty(name, len(self.sheets)), kind, (), ())
        return found[self.built.original(name, list(found))]

    def _read_by(self, *tables: LineTable) -> set[str]:
        """The sheets that these tables read. A copy of a calculation sheet isn't among them."""
        patterns = {found for table in tables for found in table.sheet.patterns.values()}
        read = {reference.sheet for found in patterns for reference in found.references}
        return read if patterns else set(self.sheets)

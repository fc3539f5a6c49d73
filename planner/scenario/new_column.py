"""Fills one column of a sheet like another: typed values on Inputs, and the formula that each row should have.

Formulas are those of the row, not of the source cell: what was typed over one is not copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

from planner.book.row_formulas import NOTHING, named_formula
from planner.book.scenario_columns import inputs_column
from planner.book.tables import HEADER, LineItem, LineTable
from planner.book.workbook import Book
from planner.catalog.checked_table import Ids
from planner.catalog.databases import Databases
from planner.errors import Place, UserError, nearest
from planner.formulas import library
from planner.formulas.input_values import check_together, id_table, typed, wholes
from planner.formulas.sweeps import swept_templates
from planner.formulas.template import Row
from planner.scenario.typed_cell import refuse_text
from planner.scenario.which import CHIP, ID, MODEL, NAME
from planner.xlsx.address import Spot, address
from planner.xlsx.cellvalue import NA, CellFormula, Value, is_number
from planner.xlsx.pattern import Pattern
from planner.xlsx.sheetedit import Content

OVERRIDES, CONSTANTS = "Overrides", "Constants"


@dataclass(frozen=True)
class NewScenario:
    """The new scenario as requested: its name, and how it differs from the scenario that it is copied from.

    Without a name it is called after its model and chip. `workload` is what it is meant for; `like` names the scenario
    to copy, by default the last one of that workload. `templates` are the user's files for added sheets.
    """

    name: str | None
    model: str | None = None
    hardware: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    like: str | None = None
    keeps_overrides: bool = False
    workload: str | None = None
    templates: Sequence[str] = ()


@dataclass
class NewColumn:
    """A column of a table that is to be filled like the column `source`."""

    book: Book
    table: LineTable
    source: int
    column: int
    remarks: list[str]

    def like(self) -> dict[str, str]:
        """New cell -> the source's cell whose style it takes, for empty cells too."""
        return {
            address(row, self.column): address(row, column)
            for row, column in self.table.sheet.cells
            if column == self.source
        }

    def formulas(self) -> dict[str, Content]:
        """A formula for each line of the table, and for each row of an analyst's own that has one in the source.

        Cells above the table concern all scenarios and aren't copied.
        """
        contents: dict[str, Content] = dict.fromkeys(self.like())
        lines = {line.row: line for line in self.table.lines}
        above = self.table.head.row
        for row in sorted({row for row, column in self.table.sheet.cells if column == self.source and row > above}):
            own = self.table.sheet.patterns.get((row, self.source))
            formula = self._pristine(lines[row]) if row in lines else own
            if formula is not None:
                contents[address(row, self.column)] = CellFormula(formula.at(row, self.column))
            elif self.table.sheet.is_typed(row, self.source):
                name = lines[row].name or lines[row].label if row in lines else "a row of yours"
                cell = Spot(self.table.sheet.name, row, self.column)
                self.remarks.append(f"{cell} ({name}) is blank: a number is typed there for {self._like()}")
        return contents

    def inputs(self, request: NewScenario, identifier: str) -> dict[str, Content]:
        """The typed cells of Inputs: the source's except overrides, and those that the request sets."""
        contents: dict[str, Content] = dict.fromkeys(self.like())
        names: dict[str, LineItem] = {}
        sheet, known = self.table.sheet, {line.row: line for line in self.table.lines}
        for row in sorted({row for row, column in sheet.cells if column == self.source}):
            line = known.get(row)
            if line is None or line.name not in HEADER:
                if line is not None and line.section.startswith(CONSTANTS):
                    continue
                if line is not None:
                    names[line.name] = line
                self._copy(contents, row, line, request)
        header = self._header(request, identifier)
        contents |= {
            address(self.table.by_name[name].row, self.column): value
            for name, value in header.items()
            if name in self.table.by_name
        }
        given: dict[str, Value] = {}
        for name, text in request.settings.items():
            line = names.get(name)
            if line is None:
                raise self._unknown(name, names)
            given[name] = contents[address(line.row, self.column)] = content(self.book, line, text)
        self._check_parts(given, str(header[CHIP]).lower())
        return contents

    def _check_parts(self, given: Mapping[str, Value], chip: str) -> None:
        """Raise UserError if a setting leaves nothing of what the chip has, according to the sheet Hardware."""
        table, known = self.book.databases.get("hardware"), dict(given)
        at = [row for row in table.rows if table.sheet.text(row, table.id_column).lower() == chip] if table else []
        for name in wholes(given):
            if table and at and name in table.columns:
                known.setdefault(name, table.sheet.value(at[0], table.columns[name]))
        check_together(given, {name: float(value) for name, value in known.items() if is_number(value)})

    def _copy(self, contents: dict[str, Content], row: int, line: LineItem | None, request: NewScenario) -> None:
        """Copy one cell of Inputs from the source. Raises UserError for a text in place of a number."""
        sheet, target = self.table.sheet, address(row, self.column)
        formula, value = sheet.patterns.get((row, self.source)), sheet.value(row, self.source)
        is_override = line is not None and line.section.startswith(OVERRIDES)
        if is_override and not request.keeps_overrides:
            if value not in (None, "") or formula is not None:
                self.remarks.append(f"{line.name if line else ''} is not overridden as it is in {self._like()}")
        elif formula is not None:
            contents[target] = CellFormula(formula.at(row, self.column))
        elif line is not None or value not in (None, ""):
            if line is not None and line.name not in request.settings:
                spot = Spot(sheet.name, row, self.source)
                refuse_text(spot, line.name, line.unit, value, Place(self.book.package.name))
            contents[target] = value

    def _header(self, request: NewScenario, identifier: str) -> dict[str, Value]:
        chosen = ((MODEL, "models", request.model), (CHIP, "hardware", request.hardware))
        header: dict[str, Value] = {ID: identifier, NAME: request.name.strip() if request.name else None}
        for name, kind, wanted in chosen:
            there = self.book.said(name, self.source)
            header[name] = identified(self.book, kind, wanted) if wanted else (there or None)
        return header

    def _pristine(self, line: LineItem) -> Pattern | None:
        """The formula that a line should have here: its formula in names if possible, else the most frequent one.

        None if no scenario has a formula in this row.
        """
        patterns = self.table.sheet.patterns
        live = [found for at in self._alike if (found := patterns.get((line.row, at))) is not None]
        for formula in dict.fromkeys(live):
            if named_formula(self.book, self.table, line, self.column, formula) is formula:
                return formula
        named = named_formula(self.book, self.table, line, self.column, self._far_reaching)
        return named or (max(live, key=live.count) if live else None)

    @cached_property
    def _far_reaching(self) -> Pattern:
        """A formula that reads a database, to show how far ranges of a newly written one should reach."""
        sheets = {table.sheet.name for table in self.book.databases.values()}
        column = (formula for (_, at), formula in self.table.sheet.patterns.items() if at == self.source)
        wide = (
            formula
            for formula in column
            if any(each.sheet in sheets and each.first != each.last for each in formula.references)
        )
        return next(wide, NOTHING)

    @cached_property
    def _alike(self) -> list[int]:
        """The columns at the same offset from their scenario's column on Inputs as the new one."""
        offset = self.book.inputs.columns[-1] + 1 - self.column
        return [at for at in self.table.columns if inputs_column(self.book.inputs, self.table, at) == at + offset]

    def _unknown(self, name: str, known: Iterable[str]) -> UserError:
        calculated = {line.name for table in self.book.calculations for line in table.lines}
        what = f"{self.table.sheet.name} has no row {name!r} to type into"
        remedy = nearest(name, known)
        if name in calculated:
            remedy = f"{name} is calculated: build with --set {name}=... to have an override cell for it"
        elif absent := next((each for each in swept_templates() if name in library.load(each).by_name), ""):
            remedy = f"it is of {absent}, of which there are no sheets: --workload {absent} adds them"
        return UserError(what, place=Place(self.book.package.name), remedy=remedy)

    def _like(self) -> str:
        return self.book.said(ID, inputs_column(self.book.inputs, self.table, self.source) or self.source)


def identified(book: Book, kind: str, text: str) -> str:
    """The id that a text means on the workbook's sheet of this kind (`models`, `hardware`, `dtypes`, ...).

    Raises UserError with the nearest id, or with advice to update if a newer planner ships it.
    """
    known = ids(book, kind)
    found = Ids(known).meant(text)
    if found is None:
        name, shipped = book.package.name, getattr(Databases(), kind).rows
        newer = Ids(shipped).meant(text)
        what = f"no {text!r} on the sheet {kind.capitalize()} of this workbook"
        remedy = f"planner has {newer}: planner update {name} brings it" if newer else nearest(text, known)
        raise UserError(what, place=Place(name), remedy=remedy)
    return found


def ids(book: Book, kind: str) -> list[str]:
    """The ids of a database sheet, from top to bottom."""
    table = book.databases.get(kind)
    if table is None:
        return []
    return [text for row in table.rows if (text := table.sheet.text(row, table.id_column))]


def content(book: Book, line: LineItem, text: str) -> Value:
    """The value that `--set` types into a row of Inputs; N/A is blank, or #N/A where blank means a looked-up number.

    Raises UserError for a value that the row can't hold.
    """
    row = described(line)
    if (table := id_table(row)) and text and ids(book, table):
        return identified(book, table, text)
    value = typed(row, text)
    if value is None:
        return NA if line.section.startswith(OVERRIDES) else None
    return value


def described(line: LineItem) -> Row:
    """The template row of a line of Inputs; for a template that isn't shipped, made from the line's unit."""
    found = _known().get(line.name)
    if found is not None and found.unit == line.unit:
        return found
    return Row(line.name, line.label, line.unit, "input", "")


@cache
def _known() -> dict[str, Row]:
    """The inputs and lookups of the shipped templates by name, the first of each."""
    rows = (row for name in library.names() for row in library.load(name).rows)
    found: dict[str, Row] = {}
    for row in rows:
        if row.kind != "include":
            found.setdefault(row.name, row)
    return found

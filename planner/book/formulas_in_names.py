"""Translates a formula in names into the formula of its cell: every name replaced by the cell of that row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from planner.book.scenario_columns import FIRST_SCENARIO
from planner.book.tables import Database, Head, LineItem, LineTable
from planner.book.workbook import Book
from planner.formulas.text import Formula, FormulaError, parse
from planner.xlsx.address import Area, address, column_letters, quoted
from planner.xlsx.pattern import Pattern

OVERRIDE = "override or "
GIVEN, OR = "given", "given or "
"""The formula in names of a problem's line whose value is typed, and the prefix of one whose value may be."""
INDEX = "scenario_index"
"""The row with the chosen scenario's position for all sheets, in workbooks of earlier versions.

In still earlier ones, INDEX had no argument for the row.
"""
_INPUT = re.compile(r"Inputs\[(\w+)\]")
_LOOKUP = re.compile(r"(models|hardware)\[(model|hardware)_id\]\.(\w+)(?:\[(\w+)\])?")
_BY_ID = re.compile(r"(dtypes|calibration|stacks)\[(\w+)\]\.(\w+)")
_MATCH = re.compile(r"MATCH\((\w+), ?(\w+), ?0\)")
_CHOICE = re.compile(r"Dashboard\[(\w+)\].*")
CALLED_UP = re.compile(r"(\w+)\[([^\[\]]+)\]")


class UnreadableError(Exception):
    """Raised, with the reason, for a formula in names that can't be written as a cell formula."""


@dataclass(frozen=True)
class Writer:
    """Translates a line's formula in names into its cell formula in one column.

    Two details are taken from the live formula `formula`: how far its ranges reach, since ranges over a database grow
    with it, and whether INDEX states that its range has one row, which older versions left out.
    """

    book: Book
    table: LineTable
    line: LineItem
    column: int
    formula: Pattern

    def write(self, names: str) -> str:
        """The cell formula, without =, of a formula in names. Raises UnreadableError."""
        if names.startswith(OVERRIDE):
            return overridable(self.input("Overrides", self.line.name), self.write(names.removeprefix(OVERRIDE)))
        forms: tuple[tuple[re.Pattern[str], Callable[..., str]], ...] = (
            (_INPUT, self.typed),
            (_LOOKUP, self.looked_up),
            (_BY_ID, self.looked_up_by_id),
            (_MATCH, self.matched),
            (_CHOICE, self.chosen),
            (CALLED_UP, self.called_up),
        )
        for form, written in forms:
            if match := form.fullmatch(names):
                return written(*match.groups())
        return _substituted(names, self.cell)

    def cell(self, name: str) -> str:
        """The reference to a name's row on the same sheet, in the same column."""
        return address(self.row_of(name), self.column)

    def row_of(self, name: str) -> int:
        """The row of a name on the same sheet."""
        if name not in self.table.by_name:
            raise UnreadableError(f"{self.table.sheet.name} has no row {name}")
        return self.table.by_name[name].row

    def input(self, section: str, name: str) -> str:
        """The reference to the cell of Inputs where a name's value is typed."""
        lines = self.book.inputs.section(section)
        if name not in lines:
            raise UnreadableError(f"Inputs has no row {name}")
        return f"{quoted(self.book.inputs.sheet.name)}!{address(lines[name].row, self.column)}"

    def typed(self, name: str) -> str:
        """An input, N/A if blank; or a constant, which has one cell for all scenarios."""
        constant = self.book.inputs.section("Constants").get(name)
        if constant:
            return f"{quoted(self.book.inputs.sheet.name)}!${column_letters(Head().fourth)}${constant.row}"
        return or_missing(self.input("Plan", name))

    def called_up(self, sheet: str, names: str) -> str:
        """A formula over rows of an earlier sheet, such as `Transformer[n_layers]`."""
        source = next(
            (table for table in self.book.calculations if sheet in (table.sheet.name, table.sheet.title)), None
        )
        if source is None:
            raise UnreadableError(f"there is no calculation sheet {sheet}")

        def cell(name: str) -> str:
            if name not in source.by_name:
                raise UnreadableError(f"{sheet} has no row {name}")
            return self.elsewhere(source, name)

        return _substituted(names, cell)

    def elsewhere(self, table: LineTable, name: str) -> str:
        """The reference to a name's row on another sheet, in the same column."""
        return f"{quoted(table.sheet.name)}!{address(table.by_name[name].row, self.column)}"

    def looked_up(self, table: str, kind: str, name: str, selector: str | None) -> str:
        """A value of the chosen row of a database, N/A if blank; a selector chooses the column by dtype."""
        database, row = self.database(table), f"{column_letters(self.column)}${self.row_of(f'{kind}_row')}"
        if selector is None:
            return or_missing(f"INDEX({self.values(database, name)},{row})")
        right = max([*(area.right for area in self.areas(database.sheet.name)), *_family(database, name)], default=1)
        letters, sheet = column_letters(right), quoted(database.sheet.name)
        first, header_row = column_letters(database.id_column), database.header_row
        header = f"{sheet}!${first}${header_row}:${letters}${header_row}"
        body = f"{sheet}!${first}${database.first_row}:${letters}${self.last_row(database)}"
        return or_missing(f'INDEX({body},{row},MATCH("{name}_"&{self.cell(selector)},{header},0))')

    def looked_up_by_id(self, table: str, name: str, column: str) -> str:
        """A value of the database row whose id the row `name` holds; N/A if blank, except for a dtype."""
        database = self.database(table)
        ids = self.values(database, "id")
        number = f"INDEX({self.values(database, column)},MATCH({self.cell(name)},{ids},0))"
        return number if table == "dtypes" else or_missing(number)

    def matched(self, name: str, table: str) -> str:
        """The position of an id among the ids of a database."""
        return f"MATCH({self.cell(name)},{self.values(self.database(table), 'id')},0)"

    def chosen(self, name: str) -> str:
        """The reference to a choice on Dashboard."""
        line = self.book.dashboard.by_name.get(f"shown_{name}")
        if line is None:
            raise UnreadableError(f"Dashboard has no row shown_{name}")
        return f"{quoted(self.book.dashboard.sheet.name)}!${column_letters(Head().fourth)}${line.row}"

    def database(self, name: str) -> Database:
        """The database of this name."""
        if name not in self.book.databases:
            raise UnreadableError(f"there is no sheet {name.capitalize()} with ids in column A")
        return self.book.databases[name]

    def values(self, database: Database, name: str) -> str:
        """The range of a database's column."""
        if name not in database.columns:
            raise UnreadableError(f"{database.sheet.name} has no column {name}")
        letters = column_letters(database.columns[name])
        return f"{quoted(database.sheet.name)}!${letters}${database.first_row}:${letters}${self.last_row(database)}"

    def last_row(self, database: Database) -> int:
        """The last row of ranges over a database."""
        return max([database.last_row, *(area.bottom for area in self.areas(database.sheet.name))])

    def areas(self, sheet: str) -> Iterator[Area]:
        """The areas of `sheet` that the live formula reads."""
        references = (found for found in self.formula.references if found.sheet == sheet)
        return (reference.area(self.line.row, self.column) for reference in references)


class StepWriter(Writer):
    """Writes the formulas of one chosen scenario, which look up each quantity in a row over all scenarios."""

    def cell(self, name: str) -> str:
        """The reference to a name on the same sheet, or the chosen scenario's value of another sheet's row."""
        if name in self.table.by_name:
            return f"${column_letters(self.column)}${self.row_of(name)}"
        for table in (self.book.inputs, *self.book.calculations):
            areas = list(self.areas(table.sheet.name))
            if name in table.by_name and any(area.top == table.by_name[name].row for area in areas):
                return self.elsewhere(table, name)
        raise UnreadableError(f"it doesn't read a row {name}")

    def elsewhere(self, table: LineTable, name: str) -> str:
        """The value of another sheet's row in the column with the chosen scenario's id."""
        cells = self.across(table, table.by_name[name].row)
        if INDEX not in self.table.by_name:
            return f"INDEX({cells},1,MATCH({self.cell('chosen_scenario')},{self.across(table, table.id_row)},0))"
        says_row = any(
            not isinstance(read, str) and read.is_range and str(behind).startswith(",1,")
            for read, behind in pairwise(self.formula.parts)
        )
        return f"INDEX({cells},{'1,' * says_row}{self.cell(INDEX)})"

    def matched(self, name: str, table: str) -> str:
        """The position of an id in a database, or among the ids of all scenarios."""
        if table in self.book.inputs.by_name:
            return f"MATCH({self.cell(name)},{self.across(self.book.inputs, self.book.inputs.id_row)},0)"
        return super().matched(name, table)

    def across(self, table: LineTable, row: int) -> str:
        """The range over all scenarios of another sheet's row."""
        areas = list(self.areas(table.sheet.name))
        last = FIRST_SCENARIO + len(table.columns) - 1
        left = column_letters(min([FIRST_SCENARIO, *(area.left for area in areas)]))
        right = column_letters(max([last, *(area.right for area in areas)]))
        return f"{quoted(table.sheet.name)}!${left}${row}:${right}${row}"


class ProblemWriter(Writer):
    """Writes the formulas of a worked problem. Given values are left of the computed ones, constants on a sheet."""

    def write(self, names: str) -> str:
        """The cell formula, without =, of a formula in names. Raises UnreadableError."""
        given = address(self.line.row, self.column - 1)
        if names == GIVEN:
            return or_missing(given)
        if names.startswith(OR):
            return overridable(given, self.write(names.removeprefix(OR)))
        return super().write(names)

    def called_up(self, sheet: str, names: str) -> str:
        """A constant, such as `Constants[flop_per_mac]`."""
        return self.typed(names) if sheet == self.book.inputs.sheet.name else super().called_up(sheet, names)


def writer(book: Book, table: LineTable, line: LineItem, column: int, formula: Pattern) -> Writer:
    """The writer of a line's formula, by the kind of its table."""
    kinds = {"working": StepWriter, "problem": ProblemWriter}
    return kinds.get(table.kind, Writer)(book, table, line, column, formula)


def names_in(text: str) -> tuple[str, ...]:
    """The names that a formula in names reads; empty for a lookup."""
    try:
        return _parsed(text.removeprefix(OVERRIDE)).names
    except FormulaError:
        return ()


def _substituted(names: str, cell: Callable[[str], str]) -> str:
    """A formula in names with each name replaced by `cell(name)`. Raises UnreadableError if it doesn't parse."""
    try:
        return _parsed(names).substitute(cell)
    except FormulaError as error:
        raise UnreadableError(str(error)) from None


@cache
def _parsed(names: str) -> Formula:
    return parse(names, whole_text=True)


def or_missing(value: str) -> str:
    """A formula that gives `value`, N/A if blank."""
    return f'IF({value}="",NA(),{value})'


def overridable(typed: str, formula: str) -> str:
    """A formula that gives the override if one is typed, else `formula`."""
    return f'IF({typed}<>"",{typed},{formula})'


def _family(database: Database, name: str) -> Iterator[int]:
    """The columns of a database from which a dtype selects, such as `flops_bf16`."""
    return (column for title, column in database.columns.items() if title.startswith(f"{name}_"))

"""A scenario more in a workbook: the column of another one copied to the right, as the Cover tells a person to.

Formulas come from what their row says, not from the cell beside: what was typed over one is not copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from planner import progress
from planner.editing.pristine import NOTHING, named_formula
from planner.editing.values import OVERRIDES, content, identified
from planner.errors import Place, UserError, nearest
from planner.lint.book import Book
from planner.lint.pattern import Pattern
from planner.lint.tables import HEADER, Line, LineTable
from planner.recalc import Recalculated, recalculate
from planner.xlsx.address import address, column_letters
from planner.xlsx.cellvalue import Formula, Value
from planner.xlsx.locked import locked
from planner.xlsx.opc import Package
from planner.xlsx.sheetxml import Content
from planner.xlsx.widths import as_wide

ID, NAME, MODEL, CHIP = HEADER
CONSTANTS = "Constants"


@dataclass(frozen=True)
class Request:
    """What the new scenario is: a name, and what differs from the scenario that it is made like (the last one)."""

    name: str
    model: str | None = None
    hardware: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    like: str | None = None
    keeps_overrides: bool = False


@dataclass
class Added:
    """What was done: the new scenario's id and column, the one it was made like, the sheets, what a person should know.
    """  # fmt: skip

    id: str
    column: str
    like: str
    sheets: list[str]
    remarks: list[str]
    recalculated: Recalculated | None = None


def add_to_file(path: Path, request: Request) -> Added:
    """Add a scenario to the workbook at `path`, which is replaced whole or not at all.

    Raises UserError for what the workbook can't take, with the cell in the way, and as reading and writing do.
    """
    with locked(path):
        package = Package.read(path)
        added = add(package, request)
        package.write(path)
    return added


def add(package: Package, request: Request) -> Added:
    """Add a scenario to a package, in place. Raises UserError as `add_to_file` does, and then nothing is changed."""
    progress.step("reading the workbook")
    book = Book(package)
    source = _source(book, request.like)
    columns = {table.sheet.name: _new_column(book, table) for table in book.by_scenario}
    identifier = _identifier(book, request.name)
    added = Added(identifier, column_letters(columns[book.inputs.sheet.name]), _said(book, ID, source),
                  list(columns), [])  # fmt: skip
    before = replace(package, parts=dict(package.parts))
    parts = package.sheets()
    fresh: dict[str, bytes] = {}
    for table in book.by_scenario:
        column = columns[table.sheet.name]
        copied = _Column(book, table, _own_column(book, table, source), column, added.remarks)
        contents = copied.inputs(request, identifier) if table is book.inputs else copied.formulas()
        xml = table.sheet.xml.with_values(contents, copied.like())
        fresh[parts[table.sheet.name]] = as_wide(xml, copied.source, column)
    for part, xml in fresh.items():
        package.replace(part, xml)
    progress.step("computing what is new")
    added.recalculated = recalculate(package, before=before)
    progress.clear()
    return added


def _source(book: Book, like: str | None) -> int:
    """The column on Inputs of the scenario that is copied."""
    if not book.inputs.columns:
        raise UserError("there is no scenario to copy", place=Place(book.package.name), remedy="build a new workbook")
    if like is None:
        return book.inputs.columns[-1]
    known = {said.lower(): column for column in reversed(book.inputs.columns) for name in (NAME, ID)
             if (said := _said(book, name, column))}  # fmt: skip
    if like.strip().lower() not in known:
        raise UserError(f"no scenario {like!r}", place=Place(book.package.name), remedy=nearest(like, known))
    return known[like.strip().lower()]


def _said(book: Book, name: str, column: int) -> str:
    line = book.inputs.by_name.get(name)
    value = book.inputs.sheet.value(line.row, column) if line else None
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value).strip()


def _identifier(book: Book, name: str) -> str:
    """The new id, from the name. Raises UserError for a name that is empty, too long, or a scenario's already."""
    identifier = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    if not identifier or len(name) > 80:
        raise UserError(
            f"{name!r} is no name for a scenario", remedy="give 1 to 80 characters with a letter or a digit"
        )
    place = Place(book.package.name)
    for column in book.inputs.columns:
        for said in (_said(book, ID, column), _said(book, NAME, column)):
            if said.lower() in (identifier, name.strip().lower()):
                raise UserError(f"there is a scenario {said!r} already", place=place, remedy="give another name")
    return identifier


def _own_column(book: Book, table: LineTable, source: int) -> int:
    """The column of a table that shows the scenario of a column of Inputs."""
    if table is book.inputs:
        return source
    for column in table.columns:
        formula = table.sheet.patterns.get((table.id_row, column))
        for reference in formula.references if formula else ():
            if reference.sheet == book.inputs.sheet.name and reference.area(table.id_row, column).left == source:
                return column
    what = f"no column shows the scenario {_said(book, ID, source) or column_letters(source)}"
    raise UserError(what, place=Place(book.package.name, cell=table.sheet.name),
                    remedy="copy a scenario's column on every sheet, or delete it on Inputs")  # fmt: skip


def _new_column(book: Book, table: LineTable) -> int:
    """The column right of a table's last scenario.

    Raises UserError where something stands in it, or where the ranges over all scenarios don't reach it.
    """
    column = (table.columns or (0,))[-1] + 1
    if len(table.columns) != len(book.inputs.columns):
        what = f"{len(table.columns)} scenarios stand here and {len(book.inputs.columns)} on {book.inputs.sheet.name}"
        raise UserError(what, place=Place(book.package.name, cell=table.sheet.name),
                        remedy="copy a scenario's column on every sheet, or delete it on all")  # fmt: skip
    letters = column_letters(column)
    for row, at in sorted(table.sheet.cells):
        if at == column and (table.sheet.value(row, at) not in (None, "") or (row, at) in table.sheet.patterns):
            what = f"{table.sheet.name}!{address(row, at)} stands where the next scenario would"
            remedy = f"insert a column before {letters} on {table.sheet.name}, so that {letters} is empty"
            raise UserError(what, place=Place(book.package.name), remedy=remedy)
    reach = min(_reaches(book, table), default=column)
    if column > reach:
        what = (
            f"no spare column is left: the ranges over all scenarios end at {table.sheet.name}!{column_letters(reach)}"
        )
        raise UserError(what, place=Place(book.package.name),
                        remedy="planner update gives it more, or planner export-inputs and build anew")  # fmt: skip
    return column


def _reaches(book: Book, table: LineTable) -> Iterator[int]:
    """Where the ranges over all scenarios of a table end: those whose columns are fixed and hold every scenario."""
    first, last = table.columns[0], table.columns[-1]
    for (sheet, row, column), formula in book.formulas.items():
        for reference in formula.references:
            if (reference.sheet or sheet) == table.sheet.name and reference.first.column_fixed:
                area = reference.area(row, column)
                if area.left <= first and area.right >= last and area.right > area.left:
                    yield area.right


@dataclass
class _Column:
    """A column of a table about to be filled like another one."""

    book: Book
    table: LineTable
    source: int
    column: int
    remarks: list[str]

    def like(self) -> dict[str, str]:
        """The format of every cell of the source, empty ones too: new cell -> old cell."""
        return {address(row, self.column): address(row, column)
                for row, column in self.table.sheet.cells if column == self.source}  # fmt: skip

    def formulas(self) -> dict[str, Content]:
        """A formula for each line of the table, and for each row of an analyst's own that has one in the source."""
        contents = self._blank()
        lines = {line.row: line for line in self.table.lines}
        for row in sorted({row for row, column in self.table.sheet.cells if column == self.source}):
            own = self.table.sheet.patterns.get((row, self.source))
            formula = self._pristine(lines[row]) if row in lines else own
            if formula is not None:
                contents[address(row, self.column)] = Formula(self._text(formula, row))
            elif self.table.sheet.is_typed(row, self.source):
                name = lines[row].name or lines[row].label if row in lines else "a row of yours"
                self.remarks.append(f"{self._place(row)} ({name}) is blank: a number is typed there for {self._like()}")
        return contents

    def inputs(self, request: Request, identifier: str) -> dict[str, Content]:
        """The typed cells of Inputs: those of the source, but for overrides, and what the request sets."""
        contents = self._blank()
        names: dict[str, Line] = {}
        sheet, known = self.table.sheet, {line.row: line for line in self.table.lines}
        for row in sorted({row for row, column in sheet.cells if column == self.source}):
            line = known.get(row)
            if line is None or line.name not in HEADER:
                if line is not None and line.section.startswith(CONSTANTS):
                    continue
                if line is not None:
                    names[line.name] = line
                self._copy(contents, row, line, request.keeps_overrides)
        header = self._header(request, identifier)
        contents |= {address(self.table.by_name[name].row, self.column): value
                     for name, value in header.items() if name in self.table.by_name}  # fmt: skip
        for name, text in request.settings.items():
            line = names.get(name)
            if line is None:
                raise self._unknown(name, names)
            contents[address(line.row, self.column)] = content(self.book, line, text)
        return contents

    def _copy(self, contents: dict[str, Content], row: int, line: Line | None, keeps_overrides: bool) -> None:
        """One cell of Inputs as the source has it."""
        sheet, target = self.table.sheet, address(row, self.column)
        formula, value = sheet.patterns.get((row, self.source)), sheet.value(row, self.source)
        is_override = line is not None and line.section.startswith(OVERRIDES)
        if is_override and not keeps_overrides:
            if value not in (None, "") or formula is not None:
                self.remarks.append(f"{line.name if line else ''} is not overridden as it is in {self._like()}")
        elif formula is not None:
            contents[target] = Formula(self._text(formula, row))
        elif line is not None or value not in (None, ""):
            contents[target] = value

    def _header(self, request: Request, identifier: str) -> dict[str, Value]:
        chosen = ((MODEL, "models", request.model), (CHIP, "hardware", request.hardware))
        typed: dict[str, Value] = {ID: identifier, NAME: request.name.strip()}
        for name, kind, wanted in chosen:
            said = _said(self.book, name, self.source)
            typed[name] = identified(self.book, kind, wanted) if wanted else (said or None)
        return typed

    def _blank(self) -> dict[str, Content]:
        """Every cell that the source has a format in, empty."""
        return dict.fromkeys(self.like())

    def _text(self, formula: Pattern, row: int) -> str:
        """A formula of the source's row as it reads in the new column."""
        return formula.at(row, self.column)

    def _pristine(self, line: Line) -> Pattern | None:
        """The formula that a line is meant to have here: what its names say where they do, else what most cells have.

        None where no scenario has a formula in this row.
        """
        live = self._live(line)
        for formula in live:
            if named_formula(self.book, self.table, line, self.column, formula) is formula:
                return formula
        named = named_formula(self.book, self.table, line, self.column, self._far_reaching())
        return named or (max(live, key=live.count) if live else None)

    def _far_reaching(self) -> Pattern:
        """A formula that reads a database: its ranges reach as far as those of one that is written anew should."""
        sheets = {table.sheet.name for table in self.book.databases.values()}
        column = (formula for (_, at), formula in self.table.sheet.patterns.items() if at == self.source)
        wide = (formula for formula in column
                if any(each.sheet in sheets and each.first != each.last for each in formula.references))  # fmt: skip
        return next(wide, NOTHING)

    def _live(self, line: Line) -> list[Pattern]:
        """The formulas of the columns that read the same column of Inputs, seen from their own, as the new one does."""
        offset = self.book.inputs.columns[-1] + 1 - self.column
        found: list[Pattern] = []
        for column in self.table.columns:
            formula = self.table.sheet.patterns.get((line.row, column))
            header = self.table.sheet.patterns.get((self.table.id_row, column))
            read = [reference.area(self.table.id_row, column).left for reference in header.references
                    if reference.sheet == self.book.inputs.sheet.name] if header else []  # fmt: skip
            if formula is not None and column + offset in read:
                found.append(formula)
        return found

    def _unknown(self, name: str, known: Iterable[str]) -> UserError:
        calculated = {line.name for table in self.book.calculations for line in table.lines}
        what = f"{self.table.sheet.name} has no row {name!r} to type into"
        remedy = nearest(name, known)
        if name in calculated:
            remedy = f"{name} is calculated: build with --set {name}=... to have an override cell for it"
        return UserError(what, place=Place(self.book.package.name), remedy=remedy)

    def _place(self, row: int) -> str:
        return f"{self.table.sheet.name}!{address(row, self.column)}"

    def _like(self) -> str:
        return _said(self.book, ID, _scenario_of(self.book, self.table, self.source))


def _scenario_of(book: Book, table: LineTable, column: int) -> int:
    """The column of Inputs that a table's column shows."""
    formula = table.sheet.patterns.get((table.id_row, column))
    read = [reference.area(table.id_row, column).left for reference in formula.references] if formula else []
    return read[0] if read and table is not book.inputs else column

"""Reads a workbook file: `read_plan` a plan, `read_workbook` also the workbook of worked problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from planner.book.plan import CheckRow, DashboardHeadline, Entry, Plan, Quantity, Scenario
from planner.book.problem_book import GIVEN_COLUMN, ProblemBook, open_book, problem_of
from planner.book.row_formulas import usual_formula
from planner.book.scenario_columns import inputs_column
from planner.book.sheet import Sheet
from planner.book.tables import HEADER, LineItem, LineTable
from planner.book.workbook import Book
from planner.errors import Place, UserError
from planner.xlsx.address import Spot, column_letters
from planner.xlsx.comments import notes
from planner.xlsx.opc import Package


def read_plan(source: Path | Package) -> Plan:
    """The plan in a workbook, with its formulas recalculated in memory; the file is only read.

    Raises UserError for a file that is no workbook, and for one without planner's sheet Inputs.
    """
    package = source if isinstance(source, Package) else Package.read(source)
    book = open_book(package)
    if isinstance(book, ProblemBook):
        remedy = "planner check, diff and show read it; planner build makes a plan"
        raise UserError("the workbook of worked problems has no scenarios", place=Place(package.name), remedy=remedy)
    return _plan(book)


def read_workbook(source: Path | Package) -> Plan:
    """Like `read_plan`, but also reads the workbook of worked problems, as a Plan without scenarios."""
    package = source if isinstance(source, Package) else Package.read(source)
    book = open_book(package)
    return _problems(book) if isinstance(book, ProblemBook) else _plan(book)


def _problems(book: ProblemBook) -> Plan:
    """The given values of the worked problems, and their answers, as a Plan."""
    reader = _Reader(book, {})
    return Plan(
        file=book.package.name,
        book=book,
        scenarios=(),
        inputs=tuple(_given(book, reader)),
        overrides=(),
        constants=tuple(reader.constants()),
        tables={},
        headlines=tuple(_answers(book, reader)),
        checks=tuple(_agreements(book, reader)),
        notes=notes(book.package),
    )


def _given(book: ProblemBook, reader: _Reader) -> Iterator[Quantity]:
    """The typed value of each problem under the key `""`, named such as `shard-03.hop_latency`."""
    for table in book.problems:
        opened = {row for row, _ in book.open_cells(table.sheet)}
        for line in (line for line in table.lines if line.row in opened):
            row = _row(table, line, {"": reader.entry(table.sheet, line.row, GIVEN_COLUMN)})
            yield replace(row, name=f"{problem_of(line)}.{line.name}")


def _answers(book: ProblemBook, reader: _Reader) -> Iterator[DashboardHeadline]:
    """The answer of each problem, from Book."""
    for each in book.listed():
        cells = {"": reader.entry(each.sheet, each.row, each.answer)}
        texts = each.problem, each.question, each.unit, "", "", ""
        yield DashboardHeadline(each.sheet.name, each.row, *texts, cells, origin=each.sheet.name)


def _agreements(book: ProblemBook, reader: _Reader) -> Iterator[CheckRow]:
    """Whether each answer agrees with the exact one, from Book."""
    for each in book.listed():
        cells = {"": reader.entry(each.sheet, each.row, each.agrees)}
        texts = each.problem, f"{each.problem} agrees with the exact answer", "1", "", "", ""
        yield CheckRow(each.sheet.name, each.row, *texts, cells)


def _plan(book: Book) -> Plan:
    reader = _Reader(book, _scenarios(book))
    return Plan(
        file=book.package.name,
        book=book,
        scenarios=tuple(reader.scenarios.values()),
        inputs=reader.rows(book.inputs, "Plan"),
        overrides=reader.rows(book.inputs, "Overrides"),
        constants=tuple(reader.constants()),
        tables={table.sheet.name: tuple(reader.all(table)) for table in book.calculations},
        headlines=tuple(reader.headlines(book.dashboard)),
        checks=tuple(CheckRow(**vars(row)) for row in reader.rows(book.checks, "Checks")),
        notes=notes(book.package),
    )


def _scenarios(book: Book) -> dict[int, Scenario]:
    """The scenarios by their column on Inputs, from left to right."""
    ids = Counter(book.said(HEADER[0], column) for column in book.inputs.columns)
    found: dict[int, Scenario] = {}
    for column in book.inputs.columns:
        own, name, model, chip = (book.said(name, column) for name in HEADER)
        key = own if own and ids[own] == 1 else f"{own or 'column'}:{column_letters(column)}"
        found[column] = Scenario(key, own, name or book.model_on_chip(column), model, chip, column)
    return found


class _Reader:
    """Reads rows of tables with their current values, by the scenario of each column."""

    def __init__(self, book: Book, scenarios: Mapping[int, Scenario]) -> None:
        self.book, self.scenarios = book, scenarios

    def rows(self, table: LineTable, section: str) -> tuple[Quantity, ...]:
        """The lines below headings that begin with `section`."""
        return tuple(self.all(table, section))

    def all(self, table: LineTable, section: str = "") -> Iterator[Quantity]:
        """Every line of a table, or of one section, except the header rows."""
        keys = dict(self.columns(table))
        for line in table.lines:
            if line.name not in HEADER and line.section.startswith(section):
                cells = {key: self.entry(table.sheet, line.row, column) for column, key in keys.items()}
                yield _row(table, line, cells)

    def constants(self) -> Iterator[Quantity]:
        """The lines that have one cell for all scenarios."""
        table = self.book.inputs
        for line in table.lines:
            if line.section == "Constants":
                yield _row(table, line, {"": self.entry(table.sheet, line.row, table.head.fourth)})

    def headlines(self, table: LineTable) -> Iterator[DashboardHeadline]:
        """The rows of Dashboard that show a calculated row, each with what binds it."""
        rows = list(self.all(table))
        for row, below in zip_longest(rows, rows[1:]):
            origin = self._origin(table, row)
            if not row.name or not origin:
                continue
            bound = None
            if below is not None and not below.name and below.unit == "text" and below.section == row.section:
                bound = below.cells
            yield DashboardHeadline(**vars(self._in_si(row, origin)), origin=origin, bound_by=bound)

    def columns(self, table: LineTable) -> Iterator[tuple[int, str]]:
        """Yields each value column with its scenario's key: that of the Inputs column which its header reads."""
        for column in table.columns:
            read = inputs_column(self.book.inputs, table, column) or column
            if read in self.scenarios:
                yield column, self.scenarios[read].key

    def entry(self, sheet: Sheet, row: int, column: int) -> Entry:
        """A cell with its current value."""
        value = self.book.value(sheet.name, row, column)
        return Entry(Spot(sheet.name, row, column), value, sheet.patterns.get((row, column)))

    def _in_si(self, row: Quantity, origin: str) -> Quantity:
        """The row; if Dashboard shows it in a display unit, with the unit and cells of the row that it reads."""
        source = next(found for found in self.book.calculations if found.sheet.name == origin)
        line = source.by_name.get(row.name)
        if line is None or line.unit == row.unit:
            return row
        cells = {key: self.entry(source.sheet, line.row, column) for column, key in self.columns(source)}
        return replace(row, unit=line.unit, cells={key: cells[key] for key in row.cells if key in cells})

    def _origin(self, table: LineTable, row: Quantity) -> str:
        """The calculation sheet that a row's formulas read."""
        formula = usual_formula(table.sheet, ((row.row, column) for column in table.columns))
        sheets = {found.sheet.name for found in self.book.calculations}
        return next((r.sheet for r in formula.references if r.sheet in sheets), "") if formula else ""


def _row(table: LineTable, line: LineItem, cells: Mapping[str, Entry]) -> Quantity:
    return Quantity(
        table.sheet.name, line.row, line.name, line.label, line.unit, line.section, line.names, line.note, cells
    )

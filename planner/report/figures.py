"""A workbook's cells as shown in a report: value with unit, text, address and, if it is missing, the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial

from planner.book.missing_numbers import origin
from planner.book.plan import Entry, Plan, Quantity, Scenario
from planner.catalog import only_on
from planner.compare.comparison_sheet import ComparisonSheet, found_in
from planner.formulas.input_values import is_flag
from planner.number_text import shown, spoken
from planner.report.contents import Figure, FigureColumn, FigureRow, FigureTable
from planner.xlsx.address import Spot, coordinates
from planner.xlsx.cellvalue import CellError, Value


class CellFigures:
    """A plan's cells as figures."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._why: dict[Spot, str] = {}

    @property
    def keys(self) -> list[str]:
        """The scenarios' ids, in column order."""
        return [scenario.key for scenario in self.plan.scenarios]

    @cached_property
    def tables(self) -> list[dict[str, Quantity]]:
        """The rows of each calculation sheet by machine name; the first one if a name occurs twice."""
        return [{row.name: row for row in reversed(table) if row.name} for table in self.plan.tables.values()]

    def row(self, name: str) -> Quantity | None:
        """The first calculated row of a name, else the input."""
        return self.plan.quantity(name)

    def table_with(self, name: str, *others: str) -> Iterator[dict[str, Quantity]]:
        """For each calculation sheet with the row `name`, its rows followed by those of the other sheets.

        Empty if one of the `others` is on no sheet.
        """
        for table in self.tables:
            if name in table and self.everywhere.keys() >= {*others}:
                yield {**self.everywhere, **table}

    @cached_property
    def everywhere(self) -> dict[str, Quantity]:
        """The first row of each name."""
        return {row: quantity for table in reversed(self.tables) for row, quantity in table.items()}

    @cached_property
    def comparison(self) -> ComparisonSheet | None:
        """The sheet Comparison. None in a workbook without one."""
        return found_in(self.plan.book.package, self.plan.book.parsed)

    @cached_property
    def _counted(self) -> dict[tuple[str, str], bool]:
        """For (template, scenario), whether any check of the template applies."""
        found: dict[tuple[str, str], bool] = {}
        for check in self.plan.checks:
            for key in self.keys:
                at = check.name.partition(".")[0], key
                found[at] = found.get(at, False) or not isinstance(check.value(key), str)
        return found

    def counts(self, sheet: str, key: str) -> bool:
        """Whether a scenario is meant for a sheet: checks of its template apply to it, or the template has none."""
        return self._counted.get((self.template_of(sheet), key), True)

    def template_of(self, sheet: str) -> str:
        """The template of a sheet, even of a renamed one; for a template's own name that name."""
        return self.plan.book.templates.get(sheet, sheet.lower())

    @cached_property
    def _having(self) -> dict[str, list[str]]:
        """The calculation sheets that have a row, by its name."""
        found: dict[str, list[str]] = {}
        for sheet, table in self.plan.tables.items():
            for name in {row.name for row in table}:
                found.setdefault(name, []).append(sheet)
        return found

    def is_read(self, name: str, key: str) -> bool:
        """Whether a sheet that the scenario is meant for reads an input or constant, that is, has its name in a row."""
        having = self._having.get(name, [])
        return not having or any(self.counts(sheet, key) for sheet in having)

    def meant(self, row: Quantity) -> list[tuple[int, Scenario]]:
        """The scenarios that are meant for a row's sheet, each with its index among all."""
        return [(at, each) for at, each in enumerate(self.plan.scenarios) if self.counts(row.sheet, each.key)]

    def of(self, row: Quantity, key: str) -> Figure:
        """A row's figure in a scenario."""
        entry = row.cells.get(key)
        if entry is None:
            return Figure(None, row.unit, "N/A", f"{row.sheet} row {row.row}", "this scenario has no cell in the row")
        figure = self.entry(entry, row.unit)
        return said_yes(figure) if is_flag(row.name, row.unit) else figure

    def entry(self, entry: Entry, unit: str) -> Figure:
        """A cell as a figure."""
        return self.figure(entry.spot, entry.value, unit)

    def at(self, sheet: str, row: int, column: int, unit: str) -> Figure:
        """Any cell of the workbook as a figure."""
        return self.figure(Spot(sheet, row, column), self.plan.at(sheet, row, column), unit)

    def figure(self, spot: Spot, value: Value, unit: str) -> Figure:
        """A cell's value as a figure, with the reason if it is blank, an error or couldn't be computed."""
        if spot in self.plan.unknown and value is None:
            return Figure(None, unit, "N/A", str(spot), f"not computed: {self.plan.unknown[spot]}")
        if value is None or isinstance(value, CellError):
            return Figure(None, unit, "N/A", str(spot), self.why(spot))
        if value == "":
            return Figure(None, unit, "", str(spot))
        if isinstance(value, str):
            return Figure.of_text(value, str(spot))
        number = value if isinstance(value, bool) else float(value)
        return Figure(number, unit, shown(number, unit), str(spot))

    def why(self, spot: Spot) -> str:
        """The reason why a cell has no number."""
        if spot not in self._why:
            self._why[spot] = _cause(self, spot)
        return self._why[spot]

    @cached_property
    def _rows(self) -> dict[tuple[str, int], Quantity]:
        """The rows of calculation sheets and of Inputs by sheet and row number."""
        tables = (*self.plan.tables.values(), self.plan.inputs, self.plan.overrides)
        return {(row.sheet, row.row): row for table in reversed(tables) for row in reversed(table)}

    def row_of(self, spot: Spot) -> tuple[Quantity | None, str | None]:
        """The row of a calculation sheet or Inputs that contains a cell, and its scenario."""
        row = self._rows.get((spot.sheet, spot.row))
        return row, next((key for key, entry in row.cells.items() if entry.spot == spot), None) if row else None

    def line(self, row: Quantity, keys: Sequence[str] | None = None, note: str = "") -> FigureRow:
        """A row with its figure for each scenario, or some; blank for scenarios in which nothing reads the row."""
        nothing = Figure(None, row.unit, "")
        figures = (self.of(row, key) if self.is_read(row.name, key) else nothing for key in keys or self.keys)
        return FigureRow(row.name, row.title, row.unit, tuple(figures), note or row.source)

    def table(self, rows: Sequence[Quantity], meant: Sequence[tuple[int, Scenario]]) -> FigureTable:
        """A row for each scenario, a column for each quantity."""
        quantities = (FigureColumn(row.name, row.title, row.unit) for row in rows)
        lines = ((Figure(each.id, "text", each.title), *(self.of(row, each.key) for row in rows)) for _, each in meant)
        return FigureTable((FigureColumn("scenario", "Scenario", "text"), *quantities), tuple(lines))


def said_yes(figure: Figure) -> Figure:
    """A figure of 1 or 0 shown as yes or no, like its cell."""
    return replace(figure, text=YES.get(figure.number, figure.text)) if figure.is_number else figure


def scaled(figure: Figure, times: float) -> Figure:
    """A figure multiplied by a factor, to convert it from its cell's unit."""
    if not figure.is_number or times == 1:
        return figure
    return replace(figure, value=figure.number * times, is_derived=True)


def as_said(figure: Figure, like: float | None = None) -> Figure:
    """A number scaled for reading; `like` is a number whose scale it shares."""
    return replace(figure, text=spoken(figure.number, figure.unit, like)) if figure.is_number else figure


YES = {1.0: "yes", 0.0: "no"}
_LOOKED_UP = re.compile(
    r"(?:override or )?(models|hardware|dtypes|calibration|stacks)\[(\w+)\](?:\.(\w+)(?:\[(\w+)\])?)?"
)
_FAMILY = re.compile(r'"(\w+_)"&(\$?[A-Z]{1,3}\$?[0-9]+)')


def _cause(cells: CellFigures, spot: Spot) -> str:
    """The reason in a sentence: what is missing, where, and in which cell."""
    plan, first = cells.plan, origin(cells.plan.book, spot, partial(_is_wanted, cells))
    row, key = cells.row_of(first)
    value = plan.at(*first)
    if row is not None and key is not None:
        return _said(plan, row, key, first, value)
    if value is None:
        return f"{first} is blank"
    if found := _looked_up_for_a_case(plan, first):
        return found
    return f"{value} begins in {first}" if isinstance(value, CellError) else f"{first} is no number"


def _looked_up_for_a_case(plan: Plan, spot: Spot) -> str:
    """What a case's cell failed to look up in a database; blank for a cell without a lookup."""
    case = next((case for case in plan.book.cases if case.sheet.name == spot.sheet and spot.row in case.rows), None)
    formula = plan.book.sheets[spot.sheet].patterns.get((spot.row, spot.column))
    databases = {table.sheet.name for table in plan.book.databases.values()}
    read = next((r.sheet for r in formula.references if r.sheet in databases), "") if formula else ""
    if case is None or formula is None or not read:
        return ""
    column = case.columns.get(spot.column, "number")
    if family := _FAMILY.search(formula.at(spot.row, spot.column)):
        column = f"{family[1]}{plan.at(spot.sheet, *coordinates(family[2].replace('$', '')))}"
    chip = next((at for at, title in case.columns.items() if title == "hardware_id"), None)
    which = f" for {plan.at(spot.sheet, spot.row, chip)}" if chip else ""
    return f"{read} has no {column}{which} ({spot})"


def _is_wanted(cells: CellFigures, spot: Spot) -> bool:
    """Whether the scenario's choices, of payment or network, require a cell's number."""
    row, key = cells.row_of(spot)
    setting, _, text = only_on(row.name if row else "").partition("=")
    return not text or key is None or cells.plan.value(setting, key) in (None, text)


def _said(plan: Plan, row: Quantity, key: str, spot: Spot, value: Value) -> str:
    scenario = plan.by_key[key]
    looked_up = _LOOKED_UP.fullmatch(row.text)
    if looked_up and value == CellError("#N/A"):
        table, key_name, column, selector = looked_up.groups()
        if table not in ("models", "hardware"):
            wanted = plan.value(key_name, key) or "row for a blank"
            return f"{table.capitalize()} has no {wanted} ({row.title.lower()}, {spot})"
        which = scenario.model if table == "models" else scenario.hardware
        what = f"{column} for {plan.value(selector, key)}" if selector else (column or row.name)
        return f"{table.capitalize()} has no {what} for {which or 'a blank id'} ({row.title.lower()}, {spot})"
    if row.text.startswith("Inputs["):
        return f"the input {row.name} is blank"
    if row in plan.overrides or row in plan.inputs:
        return f"{row.name} is {'blank' if value in (None, '') else f'typed as {value}'} in {spot}"
    what = "is N/A" if value == CellError("#N/A") else f"is {value}"
    return f"{row.title} {what} by its formula ({row.text}, {spot})"

"""A workbook's cells as figures: by machine name and scenario, with the reason of what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from planner.book.plan import Entry, Plan, Quantity, Scenario
from planner.report.causes import cause
from planner.report.data import Column, Figure, Line, Table
from planner.report.figures import shown
from planner.xlsx.address import Spot
from planner.xlsx.cellvalue import CellError, Value


class Cells:
    """A plan's cells, ready to be shown."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._why: dict[Spot, str] = {}

    @property
    def keys(self) -> list[str]:
        """The scenarios, in the order of their columns."""
        return [scenario.key for scenario in self.plan.scenarios]

    @cached_property
    def tables(self) -> list[dict[str, Quantity]]:
        """The rows of each calculation sheet by machine name, the first where one is there twice."""
        return [{row.name: row for row in reversed(table) if row.name} for table in self.plan.tables.values()]

    def row(self, name: str) -> Quantity | None:
        """The first calculated row of a name, else the input."""
        return self.plan.quantity(name)

    def table_with(self, name: str, *others: str) -> Iterator[dict[str, Quantity]]:
        """The calculation sheets that have the row `name`, each with the rows of the other sheets behind its own.

        Only those that then have the `others` as well.
        """
        everywhere = {row: quantity for table in reversed(self.tables) for row, quantity in table.items()}
        for table in self.tables:
            if name in table and all(other in everywhere for other in others):
                yield {**everywhere, **table}

    def counts(self, sheet: str, key: str) -> bool:
        """Whether a scenario is meant for what a sheet plans: its checks count there, or there are none."""
        values = [check.value(key) for check in self.plan.checks if check.name.startswith(f"{sheet.lower()}.")]
        return not values or any(not isinstance(value, str) for value in values)

    def meant(self, row: Quantity) -> list[tuple[int, Scenario]]:
        """The scenarios that are meant for what a row's sheet plans, each with its place among all."""
        return [(at, each) for at, each in enumerate(self.plan.scenarios) if self.counts(row.sheet, each.key)]

    def of(self, row: Quantity, key: str) -> Figure:
        """A row's figure in a scenario."""
        entry = row.cells.get(key)
        if entry is None:
            return Figure(None, row.unit, "N/A", f"{row.sheet} row {row.row}", "this scenario has no cell in the row")
        return self.entry(entry, row.unit)

    def entry(self, entry: Entry, unit: str) -> Figure:
        """A cell as a figure."""
        return self.figure(entry.spot, entry.value, unit)

    def at(self, sheet: str, row: int, column: int, unit: str) -> Figure:
        """Any cell of the workbook as a figure."""
        return self.figure(Spot(sheet, row, column), self.plan.at(sheet, row, column), unit)

    def figure(self, spot: Spot, value: Value, unit: str) -> Figure:
        """A value of a cell as a figure; what is blank, an error or could not be computed says why."""
        if spot in self.plan.unknown and value is None:
            return Figure(None, unit, "N/A", str(spot), f"not computed: {self.plan.unknown[spot]}")
        if value is None or isinstance(value, CellError):
            return Figure(None, unit, "N/A", str(spot), self.why(spot))
        if value == "":
            return Figure(None, unit, "", str(spot))
        if isinstance(value, str):
            return Figure(value, "text", value, str(spot))
        number = value if isinstance(value, bool) else float(value)
        return Figure(number, unit, shown(number, unit), str(spot))

    def why(self, spot: Spot) -> str:
        """Why there is no number in a cell."""
        if spot not in self._why:
            self._why[spot] = cause(self.plan, spot)
        return self._why[spot]

    def line(self, row: Quantity, note: str = "") -> Line:
        """A row with its figure for each scenario."""
        return Line(row.name, row.title, row.unit, tuple(self.of(row, key) for key in self.keys), note or row.source)

    def table(self, rows: Sequence[Quantity], meant: Sequence[tuple[int, Scenario]]) -> Table:
        """A row for each scenario, a column for each quantity."""
        columns = (Column("scenario", "Scenario", "text"), *(Column(row.name, row.title, row.unit) for row in rows))
        return Table(columns, tuple(
            (Figure(each.id, "text", each.name or each.id), *(self.of(row, each.key) for row in rows))
            for _, each in meant
        ))  # fmt: skip

    def lines(self, rows: Sequence[Quantity]) -> tuple[Line, ...]:
        """Rows with their figures."""
        return tuple(self.line(row) for row in rows)

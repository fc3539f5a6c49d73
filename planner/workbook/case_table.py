"""A table with one case per row, whose columns are the quantities of one template or of several joined.

A formula text that serves a column of scenarios serves a row of cases here. In a table of several templates a column
has one formula for each template, and is blank where a case's template lacks the quantity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from planner.formulas.template import BY_ID, CALCULATED, Row, Template
from planner.workbook.calculation import Earlier
from planner.workbook.cell_styles import row_format
from planner.workbook.database_sheets import looked_up
from planner.workbook.page import Live, Page
from planner.xlsx.address import address

Leaf = Callable[[Row], tuple[object, str]]  # an input or shared lookup -> content, style
GROUPS = {"input": 0, "hardware": 1, **dict.fromkeys(BY_ID, 2)}


def joined(templates: Sequence[Template]) -> list[Row]:
    """The quantities of several templates, each name once: inputs, lookups, then calculated rows in order."""
    first: dict[str, Row] = {}
    reads: dict[str, set[str]] = {}
    for template in templates:
        for row in template.rows:
            if row.kind not in ("constant", "check"):
                first.setdefault(row.name, row)
                reads.setdefault(row.name, set()).update(row.reads)
    waiting = sorted(first.values(), key=lambda row: GROUPS.get(row.kind, 3))
    ordered: list[Row] = []
    placed: set[str] = set()
    while waiting:
        ready = next(row for row in waiting if reads[row.name] & set(first) <= placed)
        waiting.remove(ready)
        ordered.append(ready)
        placed.add(ready.name)
    return ordered


class CaseColumns:
    """The columns of a table of cases, from `first_column` on; writes the row of a case."""

    def __init__(
        self,
        page: Page,
        earlier: Earlier,
        templates: Sequence[Template],
        header_row: int,
        first_column: int,
        hardware_row: Callable[[int], str],
    ) -> None:
        self.page, self.earlier, self.header_row, self.hardware_row = page, earlier, header_row, hardware_row
        self.rows = joined(templates)
        self.columns = {row.name: index for index, row in enumerate(self.rows, start=first_column)}

    @property
    def end(self) -> int:
        """The first column right of the table's quantities."""
        return max(self.columns.values()) + 1

    def header(self) -> None:
        """Write two rows: labels with units, and machine names below."""
        for row in self.rows:
            column = self.columns[row.name]
            self.page.heads(self.header_row - 1, column, f"{row.label} ({row.unit})", row.name, right=True)

    def case(self, at: int, template: Template, leaf: Leaf, form: Callable[[Row], str] = row_format) -> None:
        """Write one case: `leaf` gives the content of an input's cell, or None to look up a number."""
        for name, column in self.columns.items():
            if row := template.by_name.get(name):
                content, style = self._content(row, template.by_name, at, leaf)
                self.page.put(at, column, content, style, form(row))

    def _content(self, row: Row, own: Mapping[str, Row], at: int, leaf: Leaf) -> tuple[object, str]:
        def cell(name: str) -> str:
            return self.reference(own[name], at)

        if row.kind in CALCULATED:
            return Live(row.expression.substitute(cell)), "plan_output" if row.kind == "output" else "plan_formula"
        given, style = leaf(row)
        if given is not None or row.kind == "input":
            return given, style
        return Live(looked_up(row, self.earlier.databases, lambda _: self.hardware_row(at), cell)), "plan_formula"

    def reference(self, row: Row, at: int) -> str:
        """The cell of a quantity in a case's row; a constant has one cell on Inputs."""
        return self.earlier.inputs.constant(row.name) if row.kind == "constant" else address(at, self.columns[row.name])

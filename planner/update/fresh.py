"""The workbook that planner would build now: its cells by their keys, before any value is computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import unescape
from typing import NamedTuple

from planner.align.keys import COMPARISON, MEMORY, SCENARIO
from planner.book.rowkeys import COVER, Keyed
from planner.workbook import remembering
from planner.workbook.book import Draft
from planner.workbook.memory import FIRST_SCENARIO, BuiltSheet
from planner.workbook.page import Live, Page
from planner.xlsx.address import Position, address
from planner.xlsx.cellvalue import Value
from planner.xlsx.markup import escaped
from planner.xlsx.moves import Moves
from planner.xlsx.opc import Package
from planner.xlsx.styles import Look, Stylesheet

FIRST_CASE = 6  # the row of the first case of the Comparison


class FreshCell(NamedTuple):
    """What stands in a cell's XML behind its format, its formula without = (None for a typed value), and its format."""

    rest: str
    formula: str | None
    style: int

    def xml(self, at: Position, style: int, formula: str | None) -> bytes:
        """The cell at another place, in another format, with its formula as it reads there."""
        rest = self.rest if formula == self.formula else f"><f>{escaped(formula or '')}</f></c>"
        return f'<c r="{address(*at)}" s="{style}"{rest}'.encode()


@dataclass(frozen=True)
class FreshSheet(Keyed):
    """A sheet with the keys of its rows and columns; `groups` are the templates of the rows of cases."""

    kind: str
    page: Page
    built: BuiltSheet
    rows: Mapping[int, str]
    columns: Mapping[int, str]
    xml: bytes
    groups: Mapping[int, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name as built."""
        return self.built.name

    @cached_property
    def cells(self) -> dict[Position, FreshCell]:
        """Every cell."""
        found: dict[Position, FreshCell] = {}
        for row, column, xml, formula in self.page.grid.cells():
            style, _, rest = xml[xml.index(' s="') + 4 :].partition('"')
            found[row, column] = FreshCell(rest, unescape(formula) if formula else None, int(style))
        return found

    def value(self, row: int, column: int) -> Value:
        """What is typed into a cell; None for a formula and for an empty cell."""
        value = self.page.filled.get((row, column), (1, 1, 0, None))[3]
        return None if isinstance(value, Live) else value


@dataclass(frozen=True)
class Fresh:
    """The workbook: its sheets by kind, its package, the looks of its formats, and where its cells go in the end."""

    draft: Draft
    package: Package
    sheets: Mapping[str, FreshSheet]
    looks: list[Look]
    moves: Moves

    @cached_property
    def _busy(self) -> list[str]:
        """The names of the sheets whose cells go elsewhere, or that are called otherwise in the end."""
        moves = ((sheet.name, self.moves.of(sheet.name)) for sheet in self.sheets.values())
        return [name for name, found in moves if not found.is_idle or found.name != name]

    def formula(self, sheet: FreshSheet, at: Position) -> str | None:
        """A cell's formula as it reads in the end; None for a typed value."""
        text = sheet.cells[at].formula
        if text is None or not self._busy:
            return text
        if sheet.name not in self._busy and not any(name in text for name in self._busy):
            return text
        return self.moves.formula(text, sheet.name)

    @classmethod
    def of(cls, draft: Draft) -> Fresh:
        """The workbook of a draft."""
        package = draft.written().package
        parts, styles = package.sheets(), Stylesheet.of(package)
        assert styles is not None, "a built workbook has styles"
        sheets = {kind: _sheet(draft, kind, page, package.parts[parts[page.name]])
                  for kind, page in draft.pages.items()}  # fmt: skip
        return cls(draft, package, sheets, styles[1].looks, Moves({}))


def _sheet(draft: Draft, kind: str, page: Page, xml: bytes) -> FreshSheet:
    built = draft.memory.sheets[kind]
    rows, columns, groups = dict(built.rows), dict(built.columns), dict[int, str]()
    if remembering.is_by_scenario(kind):
        scenarios = range(FIRST_SCENARIO, FIRST_SCENARIO + draft.plan.columns.filled)
        columns |= {column: f"{SCENARIO}{column}" for column in scenarios}
    elif kind == COMPARISON:
        cases = enumerate(draft.plan.comparison)
        groups = {FIRST_CASE + at: case.template.name for at, case in cases}
        rows = {row: key for row, key in rows.items() if not key.startswith("case ")}
        rows |= {row: f"case {row - FIRST_CASE}" for row in groups}
    elif not columns:
        last = max(rows)
        if kind == COVER:
            memory = sorted({row for row, _ in page.filled if row > last})
            rows |= {row: f"{MEMORY}{at}" for at, row in enumerate(memory)}
        columns = {column: str(column) for column in range(1, page.grid.size[1] + 1)}
    return FreshSheet(kind, page, built, rows, columns, xml, groups)

"""Rows that are put into a sheet as copies of others: their formulas, before they stand in the file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from planner.recalc.cells import Address
from planner.recalc.likerows import OWN_ROW, LikeRows
from planner.xlsx.address import address, column_letters
from planner.xlsx.cellvalue import Value
from planner.xlsx.filldown import Downward
from planner.xlsx.markup import escaped
from planner.xlsx.newrows import NewRow, TemplateCell
from planner.xlsx.sheetxml import SheetXml


@dataclass(frozen=True)
class NewRows:
    """New rows of the sheet `name`, and the cells of the rows that they are copies of, by number."""

    name: str = ""
    rows: Sequence[NewRow] = ()
    templates: Mapping[int, Sequence[TemplateCell]] = field(default_factory=dict)

    @classmethod
    def of(cls, sheet: SheetXml, name: str, rows: Sequence[NewRow]) -> NewRows:
        """The rows with their templates."""
        return cls(name, rows, {source: sheet.template(source) for source in {row.source for row in rows}})

    @cached_property
    def columns(self) -> set[int]:
        """The columns in which they have a cell."""
        copied = {cell.column for cells in self.templates.values() for cell in cells}
        return copied.union(*(row.typed for row in self.rows))

    @property
    def n_formulas(self) -> int:
        """How many formulas they have."""
        each = {source: sum(cell.formula is not None for cell in cells) for source, cells in self.templates.items()}
        return sum(each[row.source] for row in self.rows)

    def typed(self) -> dict[Address, Value]:
        """What is typed into their cells."""
        return {
            (self.name, address(row.number, column)): value for row in self.rows for column, value in row.typed.items()
        }  # fmt: skip

    def formulas(self, known: Mapping[int, Mapping[int, Value]]) -> dict[Address, str]:
        """The formulas whose values are not `known` by row and column."""
        return {
            (self.name, address(row.number, cell.column)): cell.formula.at(row.number)
            for row in self.rows for cell in self.templates[row.source]
            if cell.formula is not None and cell.column not in known.get(row.number, {})
        }  # fmt: skip

    def like(self) -> Iterator[tuple[int, LikeRows, list[NewRow]]]:
        """The copies of each row: its number, the patterns of their formulas, and they.

        The pattern is blank for a formula that reads other rows than its own.
        """
        copies: dict[int, list[NewRow]] = defaultdict(list)
        for row in self.rows:
            copies[row.source].append(row)
        for source, rows in copies.items():
            patterns = {
                column_letters(cell.column): OWN_ROW.join(_texts(cell.formula))
                for cell in self.templates[source] if cell.formula is not None
            }  # fmt: skip
            yield source, LikeRows(patterns, [row.number for row in rows]), rows


def _texts(formula: Downward) -> list[bytes]:
    return [escaped(text).encode() for text in formula.texts] if formula.reads_own_row else []

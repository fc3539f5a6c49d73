"""The edits of a workbook: typed values, added formulas, and rows copied from others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from planner.recalc.alike_formulas import AlikeRows
from planner.recalc.engine import Address, Sheets
from planner.xlsx.address import address, column_letters
from planner.xlsx.cell import Cell
from planner.xlsx.cellvalue import CellFormula, Value
from planner.xlsx.sheetedit import Content, NewRow
from planner.xlsx.sheetxml import SheetXml, TemplateCell


@dataclass(frozen=True)
class NewRows:
    """New rows of the sheet `name`, and the cells of their source rows, by number."""

    name: str = ""
    rows: Sequence[NewRow] = ()
    templates: Mapping[int, Mapping[int, TemplateCell]] = field(default_factory=dict)

    @classmethod
    def of(cls, sheet: SheetXml, name: str, rows: Sequence[NewRow]) -> NewRows:
        """The rows with their templates."""
        return cls(name, rows, {source: sheet.template(source) for source in {row.source for row in rows}})

    @cached_property
    def places(self) -> dict[str, tuple[set[int], set[int]]]:
        """The numbers of the rows and the columns in which they have a cell, by sheet."""
        copied = {column for cells in self.templates.values() for column in cells}
        columns = copied.union(*(row.typed for row in self.rows))
        return {self.name: ({row.number for row in self.rows}, columns)} if self.rows else {}

    @property
    def n_formulas(self) -> int:
        """The number of formulas in them."""
        each = {
            source: sum(cell.formula is not None for cell in cells.values()) for source, cells in self.templates.items()
        }
        return sum(each[row.source] for row in self.rows)

    def typed(self) -> dict[Address, Value]:
        """The values typed into their cells."""
        return {
            (self.name, address(row.number, column)): value for row in self.rows for column, value in row.typed.items()
        }

    def formulas(self, known: Collection[Address]) -> dict[Address, str]:
        """Their formulas, except those of `known` cells, which must be some of theirs."""
        if len(known) == self.n_formulas:
            return {}
        return {
            cell: each.formula.at(row.number)
            for row in self.rows
            for column, each in self.templates[row.source].items()
            if each.formula is not None and (cell := (self.name, address(row.number, column))) not in known
        }

    def alike(self) -> Iterator[tuple[int, AlikeRows, list[NewRow]]]:
        """For each source row: its number, its formulas, and the copies."""
        copies: dict[int, list[NewRow]] = defaultdict(list)
        for row in self.rows:
            copies[row.source].append(row)
        for source, rows in copies.items():
            patterns = {
                column_letters(column): cell.formula.xml
                for column, cell in self.templates[source].items()
                if cell.formula is not None
            }
            yield source, AlikeRows(patterns, [row.number for row in rows]), rows


@dataclass
class Edits:
    """What the user or a program changed: typed values, and formulas in cells that had none."""

    typed: dict[Address, Value]
    added: dict[Address, str]
    new: NewRows = field(default_factory=NewRows)

    @classmethod
    def of(cls, sheets: Sheets, contents: Mapping[str, Mapping[str, Content]], new: NewRows) -> Edits:
        """The edits that put these contents, by sheet and address, into cells, and the `new` rows."""
        cells = {(name, ref): value for name, each in contents.items() for ref, value in each.items()}
        typed = {
            cell: value
            for cell, value in cells.items()
            if not isinstance(value, CellFormula) and (value is not None or sheets[cell[0]].cell(cell[1]) is not None)
        }
        return cls(typed, {cell: value.text for cell, value in cells.items() if isinstance(value, CellFormula)}, new)


def formula_cells(sheets: Sheets) -> dict[Address, Cell]:
    """The cells with a formula, by sheet and address."""
    return {(name, ref): cell for name, sheet in sheets.items() for ref, cell in sheet.cells.items() if cell.kind}


def typed_value(sheets: Sheets, cell: Address) -> Value:
    """The content of a cell in the file; None if empty."""
    found = sheets[cell[0]].cell(cell[1])
    return None if found is None else found.value

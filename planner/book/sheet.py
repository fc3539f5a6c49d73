"""A worksheet as plain data: values, formulas and the XML elements outside the cells."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cached_property, lru_cache

from planner.xlsx.address import Position, coordinates
from planner.xlsx.cell import Cell
from planner.xlsx.cellvalue import Value
from planner.xlsx.markup import tag_end
from planner.xlsx.pattern import Pattern, pattern
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.worksheet import Worksheet
from planner.xlsx.xmltree import Element, every

SEARCHED = 40
"""The rows searched for titles: built ones are in rows 1 to 5, below rows that an analyst inserted."""

_HIDDEN = re.compile(rb"""\shidden\s*=\s*["'](?:1|true)""")
_GROUPED = re.compile(rb"""\soutlineLevel\s*=\s*["'][1-9]""")
_EMPTY = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData/></worksheet>'


class Sheet:
    """One worksheet, read lazily; `position` is the index of its tab, from 0.

    Dictionaries of cells are keyed by (row, column), in file order.
    """

    def __init__(self, name: str, position: int, xml: SheetXml) -> None:
        self.name, self.position, self.xml = name, position, xml

    @classmethod
    def empty(cls, name: str, position: int) -> Sheet:
        """A sheet without cells, in place of a missing one."""
        return cls(name, position, SheetXml(_EMPTY, []))

    @cached_property
    def cells(self) -> dict[Position, Cell]:
        """The cells in the file, including blank ones with a style."""
        if self.xml.is_plain:  # then each cell stands in the row of its address, which need not be read
            rows = ((number, self.xml.row(number)) for number in self.xml.row_numbers)
            return {(number, column): cell for number, cells in rows for column, cell in cells.items()}
        return {coordinates(ref): cell for ref, cell in self.xml.cells.items()}

    @cached_property
    def values(self) -> dict[Position, Value]:
        """Typed values and the cached values of formulas; blank cells are left out."""
        return {at: value for at, cell in self.cells.items() if (value := cell.value) is not None}

    @cached_property
    def patterns(self) -> dict[Position, Pattern]:
        """The pattern of each formula; the cells of a shared formula have their anchor's."""
        found: dict[Position, Pattern] = {}
        shared: dict[str, Pattern] = {}
        for at, cell in self.cells.items():
            formula = cell.formula
            if formula is None:
                continue
            if formula:
                row, column = at
                left, above = found.get((row, column - 1)), found.get((row - 1, column))
                found[at] = _read(formula, row, column, left, above)
            if cell.kind == "shared":
                if formula:
                    shared[cell.shared] = found[at]
                elif cell.shared in shared:
                    found[at] = shared[cell.shared]
        return found

    @cached_property
    def numbered(self) -> dict[Position, Pattern]:
        """`patterns`, with columns numbered by content where an analyst moved some (ColumnNumbers)."""
        return self.patterns

    @cached_property
    def filled(self) -> dict[int, list[int]]:
        """The columns of each row with a formula or a value, in ascending order."""
        rows: dict[int, list[int]] = defaultdict(list)
        for at in sorted(at for at, cell in self.cells.items() if self.values.get(at, "") != "" or cell.kind):
            rows[at[0]].append(at[1])
        return dict(rows)

    @cached_property
    def title(self) -> str:
        """The first text in the sheet's first rows: A1, or where inserted rows and columns moved it."""
        return self.text(*self.title_at)

    @cached_property
    def title_at(self) -> Position:
        """The cell of the title."""
        return min((at for at in self.values if at[0] <= SEARCHED and self.text(*at)), default=(1, 1))

    @cached_property
    def _titles(self) -> frozenset[str]:
        """The texts that are typed in the sheet's first rows."""
        typed = (value for at, value in self.values.items() if at[0] <= SEARCHED and not self.cells[at].kind)
        return frozenset(value for value in typed if isinstance(value, str))

    def has_title(self, name: str) -> bool:
        """Whether this text is typed in one of the sheet's first rows, even below a text of the user's."""
        return name in self._titles

    def value(self, row: int, column: int) -> Value:
        """The typed value, or the cached one of a formula; None for an empty cell."""
        return self.values.get((row, column))

    def text(self, row: int, column: int) -> str:
        """The text in a cell; blank for anything else."""
        value = self.values.get((row, column))
        return value if isinstance(value, str) else ""

    def is_typed(self, row: int, column: int) -> bool:
        """Whether the user typed something into the cell."""
        if self.values.get((row, column), "") == "" or self.cells[row, column].kind:
            return False
        return not any(area.covers(row, column) for area in self.xml.arrays.values())  # filled by another's formula

    @cached_property
    def _root_without_rows(self) -> Element:
        """The sheet's XML without its rows."""
        return Worksheet(self.xml.xml).root

    def elements(self, tag: str) -> list[Element]:
        """The elements with a local name such as `col` or `dataValidation`, outside the cells."""
        return list(every(self._root_without_rows, tag))

    @property
    def hidden_rows(self) -> list[int]:
        """The rows that are hidden and not grouped."""
        xml, found = self.xml.xml, []
        for number, (start, _) in self.xml.rows.items():
            tag = xml[start : tag_end(xml, start)]
            if b"hidden" in tag and _HIDDEN.search(tag) and not _GROUPED.search(tag):
                found.append(number)
        return found


@lru_cache(maxsize=1 << 16)  # the second of two workbooks has most formulas of the first
def _read(formula: str, row: int, column: int, left: Pattern | None, above: Pattern | None) -> Pattern:
    """The pattern of a formula, which is often that of the cell to the left or above.

    Writing out a pattern takes a sixth of the time of parsing a formula.
    """
    for other in (left, above):
        if other is not None and other.has_ends_of(formula) and other.at(row, column) == formula:
            return other
    return pattern(formula, row, column)

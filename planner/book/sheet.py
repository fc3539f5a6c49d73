"""A worksheet as plain data: values, formulas and the XML elements around the cells."""

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
"""The rows among which titles are looked for: built ones stand in row 1 to 5, below rows that an analyst puts in."""

_HIDDEN = re.compile(rb"""\shidden\s*=\s*["'](?:1|true)""")
_GROUPED = re.compile(rb"""\soutlineLevel\s*=\s*["'][1-9]""")
_EMPTY = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData/></worksheet>'


class Sheet:
    """One worksheet. Nothing of it is read before it is asked for; `position` counts the tabs from 0.

    Every dictionary of cells goes by (row, column), in the order of the file.
    """

    def __init__(self, name: str, position: int, xml: SheetXml) -> None:
        self.name, self.position, self.xml = name, position, xml

    @classmethod
    def empty(cls, name: str, position: int) -> Sheet:
        """A sheet without cells, in place of one that is missing."""
        return cls(name, position, SheetXml(_EMPTY, []))

    @cached_property
    def cells(self) -> dict[Position, Cell]:
        """The cells that the file has, blank ones with a style among them."""
        if self.xml.is_plain:  # then each cell stands in the row of its address, which need not be read
            rows = ((number, self.xml.row(number)) for number in self.xml.row_numbers)
            return {(number, column): cell for number, cells in rows for column, cell in cells.items()}
        return {coordinates(ref): cell for ref, cell in self.xml.cells.items()}

    @cached_property
    def values(self) -> dict[Position, Value]:
        """The typed values and the cached ones of formulas; a blank cell has none."""
        found = ((at, cell.value) for at, cell in self.cells.items())
        return {at: value for at, value in found if value is not None}

    @cached_property
    def patterns(self) -> dict[Position, Pattern]:
        """The pattern of each formula; the cells of a shared formula have that of its first cell."""
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
        """`patterns`, with columns numbered by what they hold where an analyst has moved some (ColumnNumbers)."""
        return self.patterns

    @cached_property
    def filled(self) -> dict[int, list[int]]:
        """The columns of each row that have a formula or a value, from left to right; rows from the top down."""
        rows: dict[int, list[int]] = defaultdict(list)
        for at in sorted(at for at, cell in self.cells.items() if self.values.get(at, "") != "" or cell.kind):
            rows[at[0]].append(at[1])
        return dict(rows)

    @cached_property
    def title(self) -> str:
        """The first text of the sheet's first rows: in A1, or where inserted rows and columns have moved it."""
        return self.text(*self.title_at)

    @cached_property
    def title_at(self) -> Position:
        """The cell of the title."""
        return min((at for at in self.values if at[0] <= SEARCHED and self.text(*at)), default=(1, 1))

    def has_title(self, name: str) -> bool:
        """Whether this typed text stands among the sheet's first rows, be it below a text of a person's."""
        return any(
            at[0] <= SEARCHED and not cell.kind and self.values.get(at) == name for at, cell in self.cells.items()
        )

    def value(self, row: int, column: int) -> Value:
        """The typed value, or the cached one of a formula; None for an empty cell."""
        return self.values.get((row, column))

    def text(self, row: int, column: int) -> str:
        """The text in a cell; blank for anything else."""
        value = self.values.get((row, column))
        return value if isinstance(value, str) else ""

    def is_typed(self, row: int, column: int) -> bool:
        """Whether a person has typed something into the cell."""
        if self.values.get((row, column), "") == "" or self.cells[row, column].kind:
            return False
        return not any(area.covers(row, column) for area in self.xml.arrays.values())  # filled by another's formula

    @cached_property
    def _around(self) -> Element:
        """The sheet's XML but for its rows."""
        return Worksheet(self.xml.xml).root

    def elements(self, tag: str) -> list[Element]:
        """The elements of this local name, as `col` or `dataValidation`, that are not within a cell."""
        return list(every(self._around, tag))

    @property
    def hidden_rows(self) -> list[int]:
        """The rows that are hidden without being a group."""
        xml, found = self.xml.xml, []
        for number, (start, _) in self.xml.rows.items():
            tag = xml[start : tag_end(xml, start)]
            if b"hidden" in tag and _HIDDEN.search(tag) and not _GROUPED.search(tag):
                found.append(number)
        return found


@lru_cache(maxsize=1 << 16)  # the second of two workbooks has most formulas of the first
def _read(formula: str, row: int, column: int, left: Pattern | None, above: Pattern | None) -> Pattern:
    """The pattern of a formula, which is often a copy of the one to the left or above.

    To write a pattern out takes a sixth of the time that it takes to read one.
    """
    for other in (left, above):
        if other is not None and other.at(row, column) == formula:
            return other
    return pattern(formula, row, column)

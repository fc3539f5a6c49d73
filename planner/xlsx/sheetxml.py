"""One sheet's XML and its cells, as far as they are asked for; `sheetedit` puts values into it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property

from planner.errors import UserError
from planner.xlsx.address import column_letters, column_of, coordinates
from planner.xlsx.cell import Cell
from planner.xlsx.filldown import Downward, downward, moved
from planner.xlsx.markup import prefix, tag_end
from planner.xlsx.newrows import TemplateCell
from planner.xlsx.sheetscan import Scan

_SHARED = re.compile(rb"""\ssi\s*=\s*["']([0-9]+)""")
_STYLE = re.compile(rb"""\ss\s*=\s*("[0-9]+"|'[0-9]+')""")


class SheetXml:
    """A sheet's XML and the cells in it, by address.

    `arrays` are the ranges that one cell's formula fills; the other cells in them look like typed ones.
    Raises UserError for XML that is not sound.
    """

    def __init__(self, xml: bytes, strings: Sequence[str] = ()) -> None:
        self.xml, self.strings = xml, strings
        self.scan = scan = Scan(xml, strings)  # what was read, for what edits the XML
        self.prefix = prefix(xml, scan.data[0])  # of its elements
        if scan.quick.has_twins if scan.quick else len(self.cells) != len(scan.cells):
            raise UserError("the sheet has a cell twice")
        self._known: dict[str, Cell | None] = {}
        self._loaded: set[str] = set()  # the columns of which every cell is known
        self.arrays = scan.arrays
        self.is_plain = scan.is_plain  # its cells are written as every program writes them, with no comment between

    @cached_property
    def cells(self) -> dict[str, Cell]:
        """Every cell by its address, in the order of the file; of a large sheet `cell` reads some more quickly."""
        return {cell.ref: cell for cell in self.scan.cells}

    def cell(self, ref: str) -> Cell | None:
        """One cell; None where the file has none at this address."""
        if ref in self._known:
            return self._known[ref]
        quick = self.scan.quick
        if quick is None or "cells" in self.__dict__:
            return self.cells.get(ref)
        found = None if column_of(ref) in self._loaded else quick.cell(ref)
        self._known[ref] = found
        return found

    def load(self, columns: Iterable[int]) -> None:
        """Read the cells of some columns at once, for `cell` to give: a large sheet has many more."""
        wanted = {column_letters(column) for column in columns} - self._loaded
        if wanted and self.scan.quick is not None and "cells" not in self.__dict__:
            self._known.update(self.scan.quick.columns(sorted(wanted)))
            self._loaded |= wanted

    def is_computed(self, ref: str) -> bool:
        """Whether the cell has a formula, or lies in the range of an array formula or a data table."""
        cell = self.cell(ref)
        if cell is not None and cell.kind:
            return True
        return bool(self.arrays) and any(area.covers(*coordinates(ref)) for area in self.arrays.values())

    def template(self, number: int) -> list[TemplateCell]:
        """The cells of a row, ready to be copied into rows below it."""
        return [
            TemplateCell(coordinates(ref)[1], self.style(ref), self.formula_below(ref))
            for ref, _ in self.cells_of_row(number)
        ]  # fmt: skip

    def formula_below(self, ref: str) -> Downward | None:
        """A cell's own formula as it reads in another row below; None where it has none, or one that fills several.

        Of a shared formula only the first cell holds the text.
        """
        cell = self.cell(ref)
        if cell is None or cell.formula is None or cell.kind not in ("normal", "shared"):
            return None
        holder = cell if cell.formula else self._masters.get(self._shared_number(cell))
        if holder is None:
            return None
        here = holder.formula or ""
        return downward(here if holder is cell else moved(here, holder.ref, ref), ref)

    def cells_of_row(self, number: int) -> list[tuple[str, Cell]]:
        """The cells of a row by address, from left to right."""
        position = self.row_places.get(number)
        return [] if position is None else [(cell.ref, cell) for cell in self.cells_at(position)]

    @property
    def row_numbers(self) -> list[int]:
        """The numbers of the rows that the file has, from the top down."""
        return [row.number for row in self.scan.rows] if self.is_plain else sorted(self._grid)

    @property
    def row_spans(self) -> list[tuple[int, int, int]]:
        """The number of each row that the file has, and where the row starts and ends in the XML."""
        return [(row.number, *row.span) for row in self.scan.rows]

    def row(self, number: int) -> dict[int, Cell]:
        """The cells of a row by column."""
        if not self.is_plain:
            return self._grid.get(number, {})
        return {coordinates(ref)[1]: cell for ref, cell in self.cells_of_row(number)}

    @property
    def n_formulas(self) -> int:
        """How many cells have a formula."""
        if self.is_plain:
            return sum(self.xml.count(start) for start in (b"<f>", b"<f ", b"<f/>"))
        return sum(bool(cell.kind) for cell in self.scan.cells)

    @cached_property
    def _grid(self) -> dict[int, dict[int, Cell]]:
        """The cells by row and by column."""
        found: dict[int, dict[int, Cell]] = {}
        for ref, cell in self.cells.items():
            row, column = coordinates(ref)
            found.setdefault(row, {})[column] = cell
        return found

    @cached_property
    def row_places(self) -> dict[int, int]:
        """Row number -> its place among the rows."""
        return {row.number: position for position, row in enumerate(self.scan.rows)}

    def cells_at(self, position: int) -> Sequence[Cell]:
        """The cells of a row by its place."""
        rows, quick = self.scan.rows, self.scan.quick
        if quick is not None:
            return quick.cells_of_row(rows[position])
        stop = rows[position + 1].first if position + 1 < len(rows) else len(self.scan.cells)
        return self.scan.cells[rows[position].first : stop]

    @cached_property
    def _masters(self) -> dict[bytes, Cell]:
        """The first cell of each shared formula, by the number that its other cells name."""
        return {self._shared_number(cell): cell for cell in self.scan.cells if cell.kind == "shared" and cell.formula}

    def _shared_number(self, cell: Cell) -> bytes:
        assert cell.formula_span is not None, "a shared formula has an element"
        start = cell.formula_span[0]
        match = _SHARED.search(self.xml[start : tag_end(self.xml, start)])
        return match[1] if match else b""

    def style(self, ref: str) -> bytes:
        """The attribute of a cell that names its format, with a blank before it; nothing where it has none."""
        cell = self.cell(ref)
        tag = self.xml[cell.span[0] : tag_end(self.xml, cell.span[0])] if cell else b""
        match = _STYLE.search(tag)
        return match[0] if match else b""

    def filled_by(self, ref: str) -> list[str]:
        """The cells of the file that the formula in `ref` fills: itself, or an array's whole range."""
        area = self.arrays.get(ref)
        if area is None:
            return [ref]
        return [other for other in self.cells if area.covers(*coordinates(other))]

"""One sheet's XML and its cells, read row by row as they are asked for; `sheetedit` puts values into it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from planner.errors import UserError
from planner.xlsx.address import Area, column_number, column_of, coordinates
from planner.xlsx.cell import CELL, Cell
from planner.xlsx.markup import prefix
from planner.xlsx.references import DownwardFormula, copied_to
from planner.xlsx.sheetscan import Scan, plain_rows, without_rows


class TemplateCell(NamedTuple):
    """A cell of a row that is copied: the number of its format, if it names one, and its formula."""

    style: int | None
    formula: DownwardFormula | None


class SheetXml:
    """A sheet's XML and the cells in it.

    `rows` are where its rows stand by number, `data` where all do, `dimension` what area the sheet says it has and
    where it says so; `arrays` are the ranges that one cell's formula fills: the other cells in them look like typed
    ones. `is_plain` says that its cells are written as every program writes them, with no comment between.
    Raises UserError for XML that is not sound.
    """

    def __init__(self, xml: bytes, strings: Sequence[str] = ()) -> None:
        self.xml, self.strings = xml, strings
        self._read: dict[int, dict[int, Cell]] = {}  # the rows that have been asked for
        plain = plain_rows(xml)
        self.is_plain = plain is not None
        scan = Scan(xml if plain is None else without_rows(xml, plain[1]), strings)
        self.rows, self.data = plain or (scan.rows, scan.data)
        self.dimension = scan.dimension
        if plain is None:
            self._read = scan.cells
        elif self.dimension is not None and self.dimension[1][0] > self.data[0]:
            self.dimension = None  # it stands in front of the cells, or is none
        self.prefix = prefix(xml, self.data[0])  # of its elements
        try:
            self.arrays = dict(self._arrays())
        except ValueError as error:
            raise UserError(f"the sheet is not sound ({error})") from error

    def _arrays(self) -> Iterator[tuple[str, Area]]:
        if self.is_plain and b't="array"' not in self.xml and b't="dataTable"' not in self.xml:
            return
        for ref, cell in self.cells.items():
            if cell.kind in ("array", "dataTable") and cell.area not in ("", ref, f"{ref}:{ref}"):
                yield ref, Area.parse(cell.area)

    @cached_property
    def row_numbers(self) -> list[int]:
        """The numbers of the rows that the file has, from the top down."""
        return sorted(self.rows)

    def row(self, number: int) -> dict[int, Cell]:
        """The cells of a row by column."""
        if number not in self._read:
            found = CELL.finditer(self.xml, *self.rows[number]) if self.is_plain and number in self.rows else ()
            cells = (Cell(match, self.strings) for match in found)
            self._read[number] = {column_number(column_of(cell.ref)): cell for cell in cells}
        return self._read[number]

    def forget(self) -> None:
        """Let go of the cells that were read, for the memory that they take; what is asked for again is read again."""
        if self.is_plain:
            self._read.clear()

    def cell(self, ref: str) -> Cell | None:
        """One cell; None where the file has none at this address."""
        row, column = coordinates(ref)
        return self.row(row).get(column)

    @cached_property
    def cells(self) -> dict[str, Cell]:
        """Every cell by its address, from the top down; of a large sheet `cell` reads some more quickly."""
        return {cell.ref: cell for number in self.row_numbers for cell in self.row(number).values()}

    @property
    def n_formulas(self) -> int:
        """How many cells have a formula."""
        if self.is_plain:
            return sum(self.xml.count(start) for start in (b"<f>", b"<f ", b"<f/>"))
        return sum(bool(cell.kind) for cell in self.cells.values())

    def is_computed(self, ref: str) -> bool:
        """Whether the cell has a formula, or lies in the range of an array formula or a data table."""
        cell = self.cell(ref)
        if cell is not None and cell.kind:
            return True
        return bool(self.arrays) and any(area.covers(*coordinates(ref)) for area in self.arrays.values())

    def template(self, number: int) -> dict[int, TemplateCell]:
        """The cells of a row by column, ready to be copied into rows below it."""
        cells = self.row(number).items()
        return {column: TemplateCell(cell.style, self._downward(cell, number)) for column, cell in cells}

    def _downward(self, cell: Cell, row: int) -> DownwardFormula | None:
        """A cell's own formula, to be copied down; None where it has none, or one that fills several.

        Of a shared formula only the first cell holds the text.
        """
        if cell.kind not in ("normal", "shared"):
            return None
        holder = cell if cell.formula else self._masters.get(cell.shared)
        return (
            None if holder is None else DownwardFormula.of(copied_to(holder.formula or "", holder.ref, cell.ref), row)
        )

    @cached_property
    def _masters(self) -> dict[str, Cell]:
        """The first cell of each shared formula, by the number that its other cells name."""
        return {cell.shared: cell for cell in self.cells.values() if cell.kind == "shared" and cell.formula}

    def filled_by(self, ref: str) -> list[str]:
        """The cells of the file that the formula in `ref` fills: itself, or an array's whole range."""
        area = self.arrays.get(ref)
        if area is None:
            return [ref]
        return [other for other in self.cells if area.covers(*coordinates(other))]

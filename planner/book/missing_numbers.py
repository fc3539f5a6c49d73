"""Where a missing number comes from: the first cell of a chain of formulas that is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planner.book.workbook import Book
from planner.xlsx.address import Spot
from planner.xlsx.cellvalue import CellError

MOST_CELLS = 4096  # most cells of a range to look at


def origin(book: Book, cell: Spot, is_needed: Callable[[Spot], bool] = lambda _: True) -> Spot:
    """The cell where an error of `cell` begins: going back through errors, the first that reads no further one.

    A precedent for which `is_needed` is false isn't followed.
    """
    seen = {cell}
    while True:
        ahead = (read for read in _precedents(book, cell) if read not in seen)
        missing = (read for read in ahead if isinstance(book.value(*read), CellError))
        found = next((read for read in missing if is_needed(read)), None)
        if found is None:
            return cell
        seen.add(found)
        cell = found


def _precedents(book: Book, cell: Spot) -> Iterator[Spot]:
    """The cells that a formula reads; larger ranges and sheets that don't exist are left out."""
    for sheet, area in book.areas(cell):
        if sheet in book.sheets and area.n_cells <= MOST_CELLS:
            yield from (Spot(sheet, row, column) for row in area.rows for column in area.columns)

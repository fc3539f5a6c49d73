"""A workbook of pages becomes a package: openpyxl writes all of it but the cells, which are written as text.

openpyxl takes most of a large build's time for its cells, and would leave each formula without a value, to be found
and put in afterwards.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from openpyxl.cell import Cell
from openpyxl.utils.cell import range_boundaries
from openpyxl.utils.datetime import to_excel
from openpyxl.workbook import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from planner.workbook.page import Page
from planner.xlsx.address import Area
from planner.xlsx.cellvalue import CellError, Value
from planner.xlsx.grid import Block, Grid
from planner.xlsx.opc import Package

_ROWS = re.compile(rb"<sheetData\s*/>|<sheetData>.*</sheetData>", re.DOTALL)
_DIMENSION = re.compile(rb"<dimension [^>]*>")


@dataclass
class Written:
    """A package whose cells can be written again with the values of their formulas."""

    package: Package
    grids: Mapping[str, Grid]
    _heights: Mapping[str, Mapping[int, Mapping[str, str]]] = field(repr=False)
    _frames: Mapping[str, tuple[bytes, bytes]] = field(repr=False)  # what stands before and behind a sheet's rows

    def put_values(self, values: Mapping[str, Block]) -> None:
        """Write every cell, each formula with its value if it has one."""
        for name, part in self.package.sheets().items():
            before, behind = self._frames[name]
            rows = self.grids[name].sheet_data(values.get(name), self._heights[name])
            self.package.replace(part, before + rows + behind)


def write(book: Workbook, pages: Sequence[Page]) -> Written:
    """The workbook, its formulas without values."""
    grids = {page.name: _filled(page) for page in pages}
    heights = {page.name: {row: dict(each) for row, each in page.sheet.row_dimensions.items()} for page in pages}
    stream = io.BytesIO()
    with _set_aside([page.sheet for page in pages]):
        book.save(stream)
    package = Package.from_bytes(stream.getvalue(), "plan.xlsx")
    frames = {name: _frame(package.parts[part], grids[name]) for name, part in package.sheets().items()}
    written = Written(package, grids, heights, frames)
    written.put_values({})
    return written


def _filled(page: Page) -> Grid:
    """The page's formulas, and with them the cells that openpyxl holds."""
    grid = page.formulas
    numbers: dict[bytes, int] = {}
    for (row, column), cell in page.sheet._cells.items():
        if grid.has(row, column):
            assert cell._value is None, f"{page.name}!{cell.coordinate} was written twice"
            continue
        if cell._value is None and not cell.has_style:
            continue
        look = cell._style.tobytes()
        if look not in numbers:
            numbers[look] = cell.style_id
        grid.put(row, column, _value(cell), numbers[look])
    return grid


def _value(cell: Cell) -> Value:
    """What openpyxl's cell holds, a date as the number of its day."""
    value = cell._value
    if cell.data_type == "e":
        return CellError(str(value))
    if cell.data_type == "d":
        return float(to_excel(value))
    assert value is None or isinstance(value, (bool, int, float, str)), f"{cell.coordinate}: a cell can't hold {value}"
    assert cell.data_type != "f", f"{cell.coordinate}: Page.put writes formulas"
    return value


@contextmanager
def _set_aside(sheets: Sequence[Worksheet]) -> Iterator[None]:
    """Without the cells, but for those of which openpyxl writes something elsewhere: links, notes, tables' heads."""
    cells = [sheet._cells for sheet in sheets]
    for sheet in sheets:
        heads = [range_boundaries(table.ref) for table in sheet.tables.values()]
        sheet._cells = {
            (row, column): cell for (row, column), cell in sheet._cells.items()
            if cell._hyperlink or cell._comment
            or any(row == top and left <= column <= right for left, top, right, _ in heads)
        }  # fmt: skip
        for cell in sheet._cells.values():
            cell._value = "" if cell._value is None else cell._value  # or its link would be passed over
    try:
        yield
    finally:
        for sheet, own in zip(sheets, cells, strict=True):
            sheet._cells = own


def _frame(xml: bytes, grid: Grid) -> tuple[bytes, bytes]:
    rows, columns = grid.size
    area = str(Area(1, 1, max(rows, 1), max(columns, 1))).encode()
    match = _ROWS.search(xml)
    assert match is not None, "a sheet has rows"
    return _DIMENSION.sub(b'<dimension ref="%b"/>' % area, xml[: match.start()]), xml[match.end() :]

"""Selects the cells of a large workbook that the engine needs to compute a few formulas: their precedents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace

from planner.recalc.alike_formulas import row_formula
from planner.recalc.engine import Address, Sheets
from planner.recalc.formula_reads import may_read_further
from planner.xlsx.address import Area, column_letters, column_of, coordinates, folded
from planner.xlsx.cellvalue import Value
from planner.xlsx.opc import Package
from planner.xlsx.sheetxml import without_rows

FEW = 2_000  # parsing more formulas takes longer than loading the cells that they don't read
MOST = 1 << 16  # cells: it is faster to load a sheet than to put in more

Read = Mapping[str, Collection[Area]]
"""Areas by folded sheet name."""


def cells_read(formulas: Mapping[Address, str]) -> Read | None:
    """The areas that some formulas read, by sheet; None if they are many, or if it can't be determined for one."""
    if len(formulas) > FEW:
        return None
    found: dict[str, set[Area]] = defaultdict(set)
    for (sheet, ref), text in formulas.items():
        row, _ = coordinates(ref)
        formula = row_formula(text, row, sheet)
        if not text or formula is None or may_read_further(text):
            return None
        found[folded(sheet)].update(Area(row, column, row, column) for column in formula.columns)
        for on, area in formula.areas:
            found[folded(on)].add(area)
    return found


def in_columns(read: Read, cells: Mapping[Address, Value]) -> dict[Address, Value]:
    """Those of `cells` that are in a column of which some cell is read."""
    columns = {
        (name, column_letters(column))
        for name in {name for name, _ in cells}
        for area in read.get(folded(name), ())
        for column in area.columns
    }
    return {cell: value for cell, value in cells.items() if (cell[0], column_of(cell[1])) in columns}


def only_read(
    package: Package, sheets: Sheets, computed: Collection[str], read: Read
) -> tuple[Package, dict[Address, Value]]:
    """The workbook without the cells of sheets other than `computed`, and the values of those that are read.

    A sheet of which much is read keeps its cells.
    """
    smaller, values = replace(package, parts=dict(package.parts)), dict[Address, Value]()
    for name, part in package.sheets().items():
        sheet, areas = sheets[name], read.get(folded(name), ())
        if name in computed or not sheet.is_plain or sum(area.n_cells for area in areas) > MOST:
            continue
        smaller.replace(part, without_rows(sheet.xml, sheet.data))
        for column in {column for area in areas for column in area.columns}:
            spans = {area.rows for area in areas if column in area.columns}
            cells = sheet.column(column, sheet.rows.keys() & {row for span in spans for row in span})
            values |= {(name, cell.ref): cell.value for cell in cells if cell is not None and cell.value is not None}
    return smaller, values

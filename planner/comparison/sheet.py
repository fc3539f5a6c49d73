"""The Comparison sheet of a workbook on disk: its cases read, and measured numbers put into its cells.

The sheet is found by its name or by its marker, rows by what stands in them, columns by their machine names:
an analyst may move, rename, sort and add. Only the measured cells change, and the formulas that read them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.errors import Place, UserError
from planner.xlsx.address import address, coordinates
from planner.xlsx.cellvalue import CellError, Value
from planner.xlsx.opc import Package, local_name
from planner.xlsx.parts import parse_sheets
from planner.xlsx.sheetxml import SheetXml

SHEET, MARKER, KEY = "Comparison", "comparison_keys", "case_key"


@dataclass(frozen=True)
class CaseRow:
    """One row of the Comparison: its row number and its cells by machine name."""

    number: int
    cells: Mapping[str, Value]

    def text(self, name: str) -> str:
        """A cell's text, blank where it is empty or an error."""
        value = self.cells.get(name)
        return value.strip() if isinstance(value, str) else ""

    def number_in(self, name: str) -> float | None:
        """A cell's number; None where it is empty, an error or a text."""
        value = self.cells.get(name)
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


@dataclass(frozen=True)
class ComparisonSheet:
    """Where the Comparison is in a package, its columns by machine name, and its rows."""

    part: str
    name: str
    xml: SheetXml
    columns: Mapping[str, int]
    rows: tuple[CaseRow, ...]

    def with_values(self, values: Mapping[int, Mapping[str, Value]]) -> bytes:
        """The sheet's XML with `values` (row number -> machine name -> value) typed in.

        Columns that the sheet hasn't, because an analyst removed them, are left out.
        """
        cells = {
            address(number, self.columns[name]): value
            for number, row in values.items() for name, value in row.items() if name in self.columns
        }  # fmt: skip
        return self.xml.with_values(cells)


def find(package: Package) -> ComparisonSheet:
    """The Comparison of a workbook. Raises UserError where there is none, or its columns can't be told."""
    sheets, parts = parse_sheets(package), package.sheets()
    name = SHEET if SHEET in sheets else _marked(package, sheets)
    if name is None:
        raise UserError(
            "the workbook has no Comparison sheet",
            place=Place(package.name),
            remedy="build one with planner build",
        )
    grid: dict[int, dict[int, Value]] = {}
    for ref, cell in sheets[name].cells.items():
        row, column = coordinates(ref)
        grid.setdefault(row, {})[column] = cell.value
    header = next((row for row, cells in sorted(grid.items()) if KEY in cells.values()), None)
    if header is None:
        remedy = f"keep the header row with the machine names, such as {KEY}"
        raise UserError(f"no cell holds {KEY}", place=Place(package.name, cell=f"{name}!A5"), remedy=remedy)
    columns = {value: column for column, value in grid[header].items() if isinstance(value, str) and value}
    rows = [
        CaseRow(number, {title: grid[number].get(column) for title, column in columns.items()})
        for number in sorted(grid) if number > header
    ]  # fmt: skip
    kept = tuple(row for row in rows if row.text("template") or row.text(KEY))
    return ComparisonSheet(parts[name], name, sheets[name], columns, kept)


def _marked(package: Package, sheets: Mapping[str, SheetXml]) -> str | None:
    """The sheet that the marker's defined name points to: it survives renaming."""
    for element in package.tree(package.workbook_part()).iter():
        if local_name(element) == "definedName" and element.get("name") == MARKER:
            target = (element.text or "").rpartition("!")[0].strip("'").replace("''", "'")
            return target if target in sheets else None
    return None


def is_missing(value: Value) -> bool:
    """Whether a cell's value stands for N/A."""
    return value is None or isinstance(value, CellError)

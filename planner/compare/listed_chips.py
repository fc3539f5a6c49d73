"""The chips that a workbook lists where its Comparison looks them up: their ids, and what JAX calls each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from planner.compare.comparison_sheet import ComparisonSheet
from planner.xlsx.address import Area, address
from planner.xlsx.references import pieces, references
from planner.xlsx.sheetxml import SheetXml

LOOKED_UP = "hardware_row"  # the column whose formula finds the chip in the workbook's list
DEVICE_KIND = "jax_device_kind"


@dataclass(frozen=True)
class ListedChips:
    """The sheet with the chips, and for each id the device kind that JAX reports; blank where none stands there."""

    on: str
    kinds: Mapping[str, str]


def listed_chips(sheet: ComparisonSheet, parsed: Mapping[str, SheetXml]) -> ListedChips | None:
    """What a row's formula matches its chip with; None where that can't be told. `parsed` has all sheets."""
    if LOOKED_UP not in sheet.columns:
        return None
    for row in sheet.rows:
        cell = sheet.xml.cell(address(row.number, sheet.columns[LOOKED_UP]))
        formula = (cell.formula if cell is not None else None) or ""
        if not any(piece.text.upper() == "MATCH(" for piece in pieces(formula)):
            continue
        for reference in references(formula):
            if reference.is_range and reference.sheet in parsed:
                return ListedChips(reference.sheet, dict(_chips(parsed[reference.sheet], reference.area)))
    return None


def _chips(xml: SheetXml, area: Area) -> Iterator[tuple[str, str]]:
    """The ids in the first column of an area, each with its device kind."""
    heads = ((at, column) for at in xml.row_numbers if at < area.top for column in xml.row(at))
    kinds = next((column for at, column in heads if _text(xml, at, column) == DEVICE_KIND), 0)
    for number in xml.row_numbers:
        if area.top <= number <= area.bottom and (chip := _text(xml, number, area.left)):
            yield chip, _text(xml, number, kinds)


def _text(xml: SheetXml, row: int, column: int) -> str:
    """A cell's text; blank for anything else."""
    cell = xml.row(row).get(column)
    return cell.value.strip() if cell is not None and isinstance(cell.value, str) else ""

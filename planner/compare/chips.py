"""The chips that a workbook knows: those in the list that the rows of its Comparison look theirs up in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from planner.compare.sheet import ComparisonSheet
from planner.errors import nearest
from planner.measure.keys import parse_key
from planner.measure.records import Measurement
from planner.xlsx.address import Area, address
from planner.xlsx.references import references
from planner.xlsx.sheetxml import SheetXml

LOOKED_UP = "hardware_row"  # the column whose formula finds the chip


def unknown(sheet: ComparisonSheet, parsed: Mapping[str, SheetXml], appended: Iterable[Measurement]) -> list[str]:
    """A line for each chip of new rows that the workbook hasn't: these rows predict nothing.

    Rows without a formula, for the sheet had none to copy, are left out; so are all where no list can be told.
    """
    computed = {row.text("template") for row in sheet.rows}
    rows = Counter(
        one.hardware_id for one in appended if one.hardware_id and parse_key(one.case_key)[0] in computed
    )  # fmt: skip
    found = _list(sheet, parsed) if rows else None
    if found is None:
        return []
    on, known = found
    lowered = {name.lower() for name in known}  # as the formula compares them
    return [
        f"{chip} is not on {on}: the prediction of {count} {'row' if count == 1 else 'rows'} is N/A until it is; "
        + (nearest(chip, known) or f"add it to {on}")
        for chip, count in rows.items() if chip.lower() not in lowered
    ]  # fmt: skip


def _list(sheet: ComparisonSheet, parsed: Mapping[str, SheetXml]) -> tuple[str, list[str]] | None:
    """The sheet with the chips, and their ids; None where no row's formula tells."""
    if LOOKED_UP not in sheet.columns:
        return None
    for row in sheet.rows:
        cell = sheet.xml.cell(address(row.number, sheet.columns[LOOKED_UP]))
        formula = (cell.formula or "") if cell is not None else ""
        for found in references(formula) if "MATCH(" in formula else ():
            if found.is_range and found.sheet in parsed:
                return found.sheet, list(_ids(parsed[found.sheet], found.area))
    return None


def _ids(xml: SheetXml, area: Area) -> Iterable[str]:
    for number in xml.row_numbers:
        cell = xml.cell(address(number, area.left)) if area.top <= number <= area.bottom else None
        if cell is not None and isinstance(cell.value, str) and cell.value.strip():
            yield cell.value.strip()

"""What a workbook's formulas give now, computed in memory: the file and its cached values stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from planner.recalc.trust import Verdict, computed
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import with_cached
from planner.xlsx.sheetxml import SheetXml


def in_memory(package: Package, sheets: Mapping[str, SheetXml]) -> Verdict:
    """Every formula's value, and why there is none where the engine can't be trusted with one.

    Raises EngineError where the engine can't have the workbook at all.
    """
    return computed(stripped(package, sheets), sheets)


def stripped(package: Package, sheets: Mapping[str, SheetXml]) -> Package:
    """The workbook without its cached values, which a program that calculates could take for true."""
    bare = replace(package, parts=dict(package.parts))
    for name, part in package.sheets().items():
        sheet = sheets[name]
        formulas = (ref for ref, cell in sheet.cells.items() if cell.formula is not None)
        bare.replace(part, with_cached(sheet, {ref: None for formula in formulas for ref in sheet.filled_by(formula)}))
    return bare

"""What the tests of recalculation share: rows of formulas, what stands in a sheet, and an edit of it."""

from __future__ import annotations

import re
from dataclasses import replace

from planner.recalc import Recalculated, put_values
from planner.recalc.edits import Edits, formula_cells, typed_value
from planner.recalc.engine import Address, Sheets
from planner.recalc.evidence import recomputed
from planner.xlsx.cellvalue import Value, same_value
from planner.xlsx.markup import escaped
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import with_cached
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.workbook_part import parse_sheets
from tests.xlsx_samples import set_values

_CACHED = re.compile(
    rb'(<c r="[A-Z]+[0-9]+"(?: s="[0-9]+")?+)(?: t="[a-z]+")?+((?: [a-z]m="[0-9]+")*+>'
    rb'<f(?: [\w:]+="[^"<]*")*+(?:/>|>[^<]*+</f>))<v>[^<]*+</v>'
)
_LEFT = (b"</f><v>", b"/><v>", b"</f><is>", b"/><is>")  # the XML before a formula's value


def stripped(package: Package, sheets: Sheets) -> Package:
    """The workbook without its cached values, which a program that calculates could take for true."""
    bare = replace(package, parts=dict(package.parts))
    for name, part in package.sheets().items():
        bare.replace(part, _without_cached(sheets[name]))
    return bare


def _without_cached(sheet: SheetXml) -> bytes:
    if sheet.is_plain and not sheet.arrays:
        bare = _CACHED.sub(rb"\1\2", sheet.xml)
        if not any(left in bare for left in _LEFT):
            return bare
    formulas = (ref for ref, cell in sheet.cells.items() if cell.formula is not None)
    return with_cached(sheet, {ref: None for formula in formulas for ref in sheet.filled_by(formula)})


def formula_rows(formulas: list[str], column: str = "A") -> str:
    """Rows with one formula each."""
    return "".join(
        f'<row r="{row}"><c r="{column}{row}"><f>{escaped(formula)}</f></c></row>'
        for row, formula in enumerate(formulas, 1)
    )


def cached(book: Package) -> dict[str, Value]:
    """Every value of the first sheet."""
    return {ref: cell.value for ref, cell in next(iter(parse_sheets(book).values())).cells.items()}


def edited(book: Package, **values: Value) -> Package:
    """A copy of the workbook with values typed into its first sheet."""
    copy = Package.from_bytes(book.to_bytes(), book.name)
    part = next(iter(copy.sheets().values()))
    copy.replace(part, set_values(copy.parts[part], values))
    return copy


def recalculate_edited(book: Package, before: Package) -> Recalculated:
    """Refresh what is reached by the edits that lead from `before` to `book`: their formulas are the same."""
    sheets = parse_sheets(book)
    old = parse_sheets(before)
    formulas, now = formula_cells(old), formula_cells(sheets)
    assert all(now[cell].formula == formulas[cell].formula for cell in formulas), "an edit changes no formula"
    added = {cell: now[cell].formula or "" for cell in now.keys() - formulas.keys()}
    return put_values(book, sheets, recomputed(before, old, Edits(_typed(old, sheets), added)))


def _typed(old: Sheets, new: Sheets) -> dict[Address, Value]:
    """The typed cells whose value differs, with the new one."""
    cells = {
        (name, ref)
        for name in old
        for ref in old[name].cells.keys() | new[name].cells.keys()
        if not new[name].is_computed(ref)
    }
    typed = {cell: (typed_value(old, cell), typed_value(new, cell)) for cell in sorted(cells)}
    return {cell: now for cell, (was, now) in typed.items() if not same_value(was, now, 0.0)}

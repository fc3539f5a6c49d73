"""What the tests of recalculation share: rows of formulas, what stands in a sheet, and an edit of it."""

from __future__ import annotations

from planner.xlsx.cellvalue import Value
from planner.xlsx.opc import Package
from planner.xlsx.workbook_part import parse_sheets
from tests.xlsx_samples import set_values


def xml(text: str) -> str:
    """A formula's text as XML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def formula_rows(formulas: list[str], column: str = "A") -> str:
    """Rows with one formula each."""
    return "".join(
        f'<row r="{row}"><c r="{column}{row}"><f>{xml(formula)}</f></c></row>'
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

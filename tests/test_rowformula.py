"""Formulas computed row by row give what the engine gives, or leave it to the engine."""

from __future__ import annotations

from math import nan

import pytest

from planner.recalc import edit, recalculate, trust
from planner.recalc.operators import UnsureError
from planner.recalc.rowformula import is_shared, row_formula
from planner.xlsx.address import Area, address
from planner.xlsx.cellvalue import NA, CellError, Value, same_value
from planner.xlsx.markup import escaped
from planner.xlsx.newrows import NewRow
from planner.xlsx.opc import Package
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.workbook_part import parse_sheets
from tests.recalcs import cached, formula_rows
from tests.test_recalc import DATA, FORMULAS
from tests.xlsx_samples import package, set_values, sheet

MORE = [
    'INDEX(A1:B2,2,1)', 'INDEX(A1:A7,MATCH("ABC",A1:A7,0))', 'MATCH("k2",B1:B2,0)', 'MATCH("none",B1:B2,0)',
    'IFERROR(A8,1)', 'IFERROR(A8+1,A1)', 'A1&" x "&A4', 'A8&"x"', 'A3&"x"', 'IF(A3="",NA(),A3)',
    'IF(INDEX(A1:A4,3)="",7,8)',
    'ISNA(A8)', 'IF(A1,A2,A6)', '-A1^2', 'A2%', 'MAX(A1,A2)/MIN(A1,A7)', 'IF(AND(A1=1,A2>2),"yes","no")', 'NOT(A1=2)',
    'IF(A4="ABC",1,0)', 'IF(A4=1,1,0)', 'A4<>A5', 'SQRT(A2)', 'ABS(A7)', 'TRUE', '1E2+A1', 'A2*(A1+A7)-A6/A1',
]  # fmt: skip


def fixed_of(page: SheetXml):  # type: ignore[no-untyped-def]
    """The cells of a sheet as formulas take them; none of them ever changes."""

    def one(ref: str) -> Value:
        cell = page.cells.get(ref)
        value = None if cell is None else cell.value
        if isinstance(value, CellError):
            if value != NA:
                raise UnsureError
            return nan
        return value

    def fixed(on: str, area: Area) -> list[list[Value]]:
        if on != "S":
            raise UnsureError
        columns, rows = range(area.left, area.right + 1), range(area.top, area.bottom + 1)
        return [[one(address(row, column)) for column in columns] for row in rows]

    return fixed


def test_what_is_computed_is_what_the_engine_gives() -> None:
    """Of all the formulas on which engines agree, and some more: the same value, or none; and many have one."""
    formulas = [*FORMULAS, *MORE]
    book = package({"S": set_values(sheet(formula_rows(formulas, "F")).encode(), DATA).decode()})
    recalculate(book)
    page = parse_sheets(book)["S"]
    known, wrong = 0, []
    for row, text in enumerate(formulas, start=1):
        formula = row_formula(escaped(text).encode(), 999, "S", fixed_of(page))
        if formula is None:
            continue
        try:
            value = formula.value({})
        except UnsureError:
            continue
        value = 0.0 if value is None else value
        known += 1
        if not same_value(NA if value != value else value, page.cells[f"F{row}"].value, 1e-15):
            wrong.append((text, value, page.cells[f"F{row}"].value))
    assert wrong == []
    assert known > len(MORE) * 0.8 + len(FORMULAS) * 0.3


@pytest.mark.parametrize(
    "text", ["A1/0", "A4+1", '"2"*2', "RAND()", "NOW()", "SUM(A1:A2)", "A1=A1+1E-15", "1E300*1E300",
             'MATCH("a*",A1:A9,0)', "SQRT(A7)", "MAX(A1,A4)", "T!A1", "A:A", "total", "MAX(A1,A3)",
             "A1*1.5&\"x\"", "IF(A4,1,0)"]
)  # fmt: skip
def test_what_is_not_certain_is_left_to_the_engine(text: str) -> None:
    """Errors, texts in arithmetic, what is volatile, unknown or all but equal."""
    page = SheetXml(set_values(sheet("").encode(), DATA))
    formula = row_formula(escaped(text).encode(), 999, "S", fixed_of(page))
    if formula is not None:
        with pytest.raises(UnsureError):
            formula.value({})


@pytest.mark.parametrize(
    ("pattern", "shared"), [("A\1*2", True), ("A1\1", False), ("2\1*A\1", False), ("T!A\1", False)]
)
def test_a_row_number_that_is_more_than_a_place(pattern: str, shared: bool) -> None:
    """Rows share a function only where their number is that of cells of the row."""
    assert is_shared(pattern.encode(), "S") is shared
    formula = row_formula(pattern.encode(), 7, "S", fixed_of(SheetXml(sheet("").encode())))
    assert formula is None or formula.reads <= {1}


def large(more: str = "") -> Package:
    """Rows with a number, its double and an error every tenth row; a sum over all, and another sheet that reads it."""
    rows = "".join(
        f'<row r="{row}"><c r="A{row}" s="0"><v>{row}</v></c><c r="B{row}"><f>A{row}*2</f></c>'
        f'<c r="C{row}"><f>IF(B{row}&gt;100,B{row}/A{row},NA())</f></c><c r="D{row}"><f>A{row - 1}+B{row}</f></c>'
        f'<c r="E{row}"><f>1/(A{row}-{row * (row % 10 == 0)})</f></c></row>'
        for row in range(2, 300)
    )
    total = f'<row r="500"><c r="A500"><f>SUM(B1:B400)</f></c>{more}</row>'
    other = '<row r="1"><c r="A1"><f>S!A500+COUNT(S!C2:C400)</f></c></row>'
    book = package({"S": sheet(rows + total), "T": sheet(other)})
    recalculate(book)
    return book


@pytest.mark.parametrize("more", ["", '<c r="B500"><f>COUNTIF(A2:A400,"&gt;5")+INDIRECT("A2")</f></c>'])
@pytest.mark.parametrize("many", [0, 10_000])
def test_an_edit_with_and_without_the_engine(more: str, many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of typed cells and copied rows: afterwards no formula has another value when all are computed anew."""
    monkeypatch.setattr(trust, "MANY", many)
    book = large(more)
    sheets = parse_sheets(book)
    typed: dict[str, Value] = {f"A{row}": row * 3.5 for row in range(5, 250)} | {"A7": "text", "A8": None, "A9": NA}
    new = [NewRow(row, 250 + row % 7, {1: float(row)}) for row in range(300, 360)]
    edit(book, sheets, "S", typed, rows=new)  # type: ignore[arg-type]
    values = cached(book)
    assert values["B360"] if "B360" in values else values["B359"] == 718.0
    assert values["D359"] == 358 + 718
    assert recalculate(book).n_changed == 0

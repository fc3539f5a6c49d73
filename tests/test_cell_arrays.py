"""Formulas computed as columns give what the engine gives, or leave it to the engine."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.formulas.text import FormulaError, parse
from planner.recalc import edit, recalculate
from planner.recalc.alike_formulas import row_formula
from planner.recalc.cell_arrays import UNSURE, ColumnCells, Fixed, computed
from planner.xlsx.address import Area, address
from planner.xlsx.cellvalue import NA, Value, same_value
from planner.xlsx.markup import escaped
from planner.xlsx.opc import Package
from planner.xlsx.references import Reference, rewritten
from planner.xlsx.sheetedit import NewRow
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


def fixed_of(page: SheetXml) -> Fixed:
    """The cells of the sheet S as formulas take them; none of them ever changes."""

    def fixed(on: str, area: Area) -> ColumnCells | None:
        columns, rows = range(area.left, area.right + 1), range(area.top, area.bottom + 1)
        cells = [page.cells.get(address(row, column)) for row in rows for column in columns]
        return ColumnCells.of([cell.value if cell else None for cell in cells]) if on == "S" else None

    return fixed


def in_fixed_rows(reference: Reference) -> Reference:
    """A reference with a $ before its rows."""
    first, last = (corner._replace(row_fixed=bool(corner.row)) for corner in (reference.first, reference.last))
    return reference.to(first, last)


def known(text: str, page: SheetXml) -> list[Value]:
    """What a formula gives, as a list of one; nothing where it is left to the engine."""
    formula = row_formula(rewritten(text, in_fixed_rows), 999, "S")
    column = computed(formula, {}, fixed_of(page)) if formula else None
    if column is None or (column.kinds == UNSURE).any():
        return []
    return ColumnCells(column.numbers.reshape(-1), column.kinds.reshape(-1)).values()


def test_what_is_computed_is_what_the_engine_gives() -> None:
    """Of all the formulas on which engines agree, and some more: the same value, or none; and many have one."""
    formulas = [*FORMULAS, *MORE]
    book = package({"S": set_values(sheet(formula_rows(formulas, "F")).encode(), DATA).decode()})
    recalculate(book)
    page = parse_sheets(book)["S"]
    found = {text: (known(text, page), page.cells[f"F{row}"].value) for row, text in enumerate(formulas, start=1)}
    assert {text: pair for text, pair in found.items() if pair[0] and not same_value(pair[0][0], pair[1], 1e-15)} == {}
    assert sum(bool(known) for known, _ in found.values()) > len(MORE) * 0.8 + len(FORMULAS) * 0.3


@pytest.mark.parametrize(
    "text", ["A1/0", "A4+1", '"2"*2', "RAND()", "NOW()", "SUM(A1:A2)", "A1=A1+1E-15", "1E300*1E300",
             'MATCH("a*",A1:A9,0)', "SQRT(A7)", "MAX(A1,A4)", "T!A1", "A:A", "total", "MAX(A1,A3)",
             "A1*1.5&\"x\"", "IF(A4,1,0)", "A4>A5", "MATCH(A1,A1:A9,0)", "INDEX(A1:A9,10)", "Table1[x]", "A1#"]
)  # fmt: skip
def test_what_is_not_certain_is_left_to_the_engine(text: str) -> None:
    """Errors, texts in arithmetic, what is volatile, unknown or all but equal."""
    assert known(text, SheetXml(set_values(sheet("").encode(), DATA))) == []


@pytest.mark.parametrize("text", ["INDEX(a,1)", 'MATCH("a",b,0)', "IFERROR(a,1)", "ISNA(a)", 'a&"x"', '"text"', "a=1"])
def test_templates_may_hold_less_than_cells(text: str) -> None:
    """What the cells of a workbook look up and join, no template may."""
    parse(text, cells=True)
    with pytest.raises(FormulaError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "shared"), [("A7*2", 1), ("A77", None), ("27*A7", 1), ("T!A7", None), ("A8", None), ("SUM(A7:B7)", None)]
)
def test_only_cells_of_the_own_row_are_columns(text: str, shared: int | None) -> None:
    """In row 7: how many cells of the row a formula reads; what reads another row without $ is not computed here."""
    formula = row_formula(text, 7, "S")
    assert (formula.n_own if formula and formula.is_alike else None) == shared


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
def test_an_edit_with_and_without_the_engine(more: str) -> None:
    """Hundreds of typed cells and copied rows: afterwards no formula has another value when all are computed anew."""
    book = large(more)
    sheets = parse_sheets(book)
    typed: dict[str, Value] = {f"A{row}": row * 3.5 for row in range(5, 250)} | {"A7": "text", "A8": None, "A9": NA}
    new = [NewRow(row, 250 + row % 7, {1: float(row)}) for row in range(300, 360)]
    edit(book, sheets, "S", typed, rows=new)  # type: ignore[arg-type]
    values = cached(book)
    assert values["B360"] if "B360" in values else values["B359"] == 718.0
    assert values["D359"] == 358 + 718
    assert recalculate(book).n_changed == 0


# The shapes of formulas that the Comparison has, over numbers A to C, texts D and E, a flag F and anything, G.
SHAPES = [
    shape.strip()
    for line in """
A{0}*B{0}*$J$1 | A{0}*B{0}/C{0} | IF(C{0}>0,A{0}/C{0},NA()) | MAX(A{0},B{0}/C{0}) | MIN(A{0},$J$2*B{0})
A{0}&" x "&B{0} | INDEX($J$1:$J$4,MATCH(D{0},$I$1:$I$4,0)) | MATCH(E{0},$I$1:$I$4,0) | IFERROR(G{0},1)
INDEX($I$1:$J$4,A{0},MATCH("k"&E{0},$I$1:$J$1,0)) | IF(G{0}="",NA(),G{0})/A{0} | IF(A{0}>=B{0},"compute","memory")
IF(INDEX($J$1:$J$4,A{0})="",NA(),INDEX($J$1:$J$4,A{0})) | IF(F{0},A{0},B{0}) | B{0}-A{0}-1+1 | G{0}
IFERROR(IF(AND(A{0}=B{0},B{0}=C{0},D{0}=$I$1),A{0},NA()),1) | (1-A{0})^2% | IF(G{0}=D{0},1,2) | ISNA(G{0})
-G{0} | D{0}<>E{0} | G{0}+0*A{0} | NOT(F{0}) | OR(F{0},A{0}>1) | G{0}&"" | A{0}=B{0} | SQRT(A{0}) | ABS(B{0})
""".strip().splitlines()
    for shape in line.split(" | ")
]  # fmt: skip
NUMBERS = st.sampled_from([0.0, 1.0, 2.0, 3.0, -1.0, 0.5, 1e300, NA, None]) | st.floats(-1e6, 1e6)
TEXTS = st.sampled_from(["k1", "K2", "none", "a*", "", None, NA, 2.0])
ROWS = st.lists(
    st.tuples(NUMBERS, NUMBERS, NUMBERS, TEXTS, TEXTS, st.booleans() | NUMBERS, NUMBERS | TEXTS | st.booleans()),
    min_size=1, max_size=6,
)  # fmt: skip
ELSEWHERE = {"I1": "k1", "I2": "k2", "I3": "k2", "J1": 3.0, "J2": 0.1, "J4": NA}


@settings(deadline=None)
@given(
    ROWS,
    st.lists(st.sampled_from(SHAPES), min_size=1, max_size=8, unique=True),
)
def test_columns_are_what_the_engine_gives(rows: list[tuple[Value, ...]], shapes: list[str]) -> None:
    """For any rows of numbers, blanks, N/A, texts and flags: the engine's value within 1e-12, or none."""
    typed: dict[str, Value] = {
        f"{letter}{number}": value
        for number, row in enumerate(rows, start=5)
        for letter, value in zip("ABCDEFG", row, strict=True)
    }
    last = 5 + len(rows)
    formulas = ""
    for number in range(5, last):
        cells = (
            f'<c r="{chr(75 + at)}{number}"><f>{escaped(text.format(number))}</f></c>' for at, text in enumerate(shapes)
        )
        formulas += f'<row r="{number}">{"".join(cells)}</row>'
    book = package({"S": set_values(sheet(formulas).encode(), {**ELSEWHERE, **typed}).decode()})
    recalculate(book)
    page = parse_sheets(book)["S"]
    columns = {at: ColumnCells.of([row[at - 1] for row in rows]) for at in range(1, 8)}
    for at, shape in enumerate(shapes):
        formula = row_formula(shape.format(5), 5, "S")
        assert formula is not None, shape
        found = computed(formula, columns, fixed_of(page))
        assert found is not None, shape
        values = ColumnCells(*(np.broadcast_to(each, len(rows)) for each in found))
        for number, value, kind in zip(range(5, last), values.values(), values.kinds.tolist(), strict=True):
            engine = page.cells[f"{chr(75 + at)}{number}"].value
            assert kind == UNSURE or same_value(value, engine, 1e-12), (shape, rows[number - 5], value, engine)

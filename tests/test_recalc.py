"""Cached values: as LibreOffice computes them, and none where the engine can't be trusted."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.recalc import recalculate
from planner.recalc.engine_formulas import given
from planner.xlsx.cellvalue import NA, CellError, Value, same_value
from planner.xlsx.markup import escaped
from planner.xlsx.opc import Package
from planner.xlsx.workbook_part import parse_sheets
from tests.libreoffice import needs_libreoffice, recalculated
from tests.recalcs import cached, formula_rows, stripped
from tests.xlsx_samples import package, set_values, sheet

DATA = {  # the cells that the formulas below refer to; A3, B3 and C4 are blank
    "A1": 1,
    "A2": 2.5,
    "A4": "abc",
    "A5": "ABC",
    "A6": 0,
    "A7": -3,
    "A8": NA,
    "A10": "a*c",
    "A13": "torus",
    "A14": " abc",
    "A15": "abd",
    "B1": "k1",
    "B2": "K2",
    "B4": "k4",
    "B5": "k5",
    "C1": 10,
    "C2": 20,
    "C3": 30,
    "C5": "n/a",
    "D1": 1e-12,
    "D2": 1e300,
    "D3": 0.1,
    "D4": 0.2,
    "D5": 0.3,
}
AGREED = """
IF(A1>0,"yes","no") | IF(A3,1,2) | IF(A3="",1,2) | IF(A3=0,1,2) | IF(A4=A5,1,0) | IF(A4<>A5,1,0)
IF(A8>0,1,0) | IF(1,A3) | IF(0,1) | IF(1,A8,0) | IF(0,A8,7) | IF("n/a">0,1,0) | IF(C5>5,1,0)
IF(A3<>"",A3,INDEX(C1:C5,1)) | AND(A1>0,A2>0) | AND(1,0) | AND(A8,0) | AND(0,A8) | AND("a"="A",1=1)
OR(1,A8) | OR(A8>0,1) | OR(0,0) | NOT(0) | NOT(A8) | IF(AND(A8>0,A1>0),1,0) | IF(OR(A8="x",A1>0),1,0)
IF(OR(A4="torus",A13="torus"),1,0) | MIN(A1,A2) | MIN(A8,1) | MIN(A1:A2) | MIN(A3,5) | MIN(C5,5)
MIN(C4:C5) | MIN(A4:A5) | MIN(A8:A8,5) | MAX(A1,A8) | MAX(A1:A7) | MAX(A1:A8) | MAX(A3,-5) | MAX(A3)
MAX(0.1+0.2,0.3) | MAX(0,LOG(0.25,2)) | ROUND(2.5,0) | ROUND(-2.5,0) | ROUND(0.285,2) | ROUND(1.005,2)
ROUND(2.675,2) | ROUND(1234.5,-2) | ROUND(A8,0) | ROUNDUP(2.1,0) | ROUNDUP(-2.1,0) | ROUNDUP(0,0)
ROUNDUP(LOG(2^29,2),0) | ROUNDUP(LOG(2^31,2),0) | ROUNDUP(LOG(2^48,2),0) | ROUNDUP(LOG(3,2),0)
ROUNDUP((0.3-0.1)*10,0) | ROUNDUP(0.1*3*10,0) | ROUNDUP(100*1.1,0) | ROUNDUP(4.35*100,0) | ROUNDUP(33*1.1,1)
ROUNDUP(12345.678,2) | ROUNDUP(70553706496*2/80000000000,0) | ROUNDDOWN((0.3-0.1)*10,0) | ROUNDDOWN(-2.7,0)
ROUNDDOWN(1.15*100,0) | ROUNDDOWN(LOG(1000,10),0) | SQRT(2) | SQRT(0) | SQRT(-1) | SQRT(A3) | LOG(8,2)
LOG(100) | LOG(0,2) | LOG(1,2) | LOG(0.5,2) | EXP(1) | EXP(710) | EXP(-800) | ABS(-3) | ABS(A8) | ABS(A3)
ABS(A4) | SUM(A1:A7) | SUM(A1:A8) | SUM(C1:C5) | SUM(A1,A4) | SUM(C1:C3,A1,5) | NA() | NA()+1 | NA()=1
IF(NA(),1,2) | ABS(0.1+0.2-0.3)<1E-9 | INDEX(C1:C5,2) | INDEX(C1:C5,4) | INDEX(C1:C5,4)=""
INDEX(C1:C5,4)=0 | INDEX(C1:C5,5)="" | INDEX(C1:C5,9) | IF(INDEX(C1:C5,4)="",NA(),INDEX(C1:C5,4))
INDEX(C1:C5,MATCH("k2",B1:B5,0)) | INDEX(C1:C5,MATCH("zz",B1:B5,0))
INDEX(A1:D15,MATCH("torus",A1:A15,0),MATCH(20,A2:D2,0)) | INDEX(C1:C5,MATCH(A3,B1:B5,0))
INDEX(B1:B5,3)&"q" | INDEX(A1:A5,A8) | MATCH(A3,B1:B5,0) | MATCH("",B1:B5,0) | MATCH("a*c",A4:A15,0)
MATCH("a~*c",A4:A15,0) | MATCH("ab",A4:A15,0) | MATCH(2.5,A1:A3,0) | MATCH(A8,A1:A9,0)
MATCH("peak_"&A3,B1:B5,0) | MATCH("abc ",A4:A15,0) | MATCH(".*",A4:A15,0) | MATCH("[a]",A4:A15,0)
COUNTIF(A4:A15,"abc") | COUNTIF(A4:A15,A4) | COUNTIF(A4:A15,"ab*") | COUNTIF(A1:A7,">0") | COUNTIF(A1:A8,0)
COUNTIF(A1:A5,"") | COUNTIF(A1:A7,"<>0") | COUNTIF(C1:C5,"n/a") | COUNTIF(A4:A15,"a.c") | COUNTIF(D3:D5,0.3)
SUMPRODUCT(C1:C3,C1:C3) | SUMPRODUCT((B1:B5="k1")*1) | SUMPRODUCT((B1:B3="k2")*C1:C3)
SUMPRODUCT((B1:B3="k2")*(C1:C3>5)) | SUMPRODUCT(C1:C5,C1:C5) | SUMPRODUCT(A7:A8,C1:C2)
SUMPRODUCT(--(C1:C3>15)) | SUMPRODUCT((B1:B5<>"")*1) | SUMPRODUCT((C1:C5=0)*1)
SUMPRODUCT(IFERROR(A1:A8*1,0)) | IFERROR(NA(),5) | IFERROR(A3,5) | IFERROR(1/0,"bad") | IFERROR(A1,5)
IFERROR(MATCH("zz",B1:B5,0),0) | IFERROR(INDEX(C1:C5,4),7) | IFERROR(IF(A8>1,1,0),-1) | -2^2 | 2^3^2 | 2^-2
2*3^2 | 1-2^2 | 2^-3^2 | -A2^2 | 5% | 50%*2 | -50% | 10%^2 | (A1+A2)% | 3--2 | 1/0 | 0/0 | "a"="A" | "a"<"B"
"Z"<"a" | "abc"<"abd" | "a "="a" | 1="1" | "abc"=0 | 1E3 | 1.5E-3*2 | .5+.5 | "peak_"&A1 | "peak_"&A2
"peak_"&A3 | "peak_"&A4 | "peak_"&A8 | "x"&100000000000 | 1+2&"x" | A3 | A3+1 | A3&"z" | A3=B3 | A3=""
A3=0 | A3<1 | A8 | A8=A8 | A8+1 | A4+1 | D3+D4 | D2*1E10 | 10^308 | 1E300*1E300 | IF(B1="k1",C1*2,C2)
IF(SUM(C1:C2)>25,1,0)
"""
FORMULAS = [formula.strip() for formula in AGREED.replace("\n", "|").split("|") if formula.strip()]


def agree(one: Value, other: Value) -> bool:
    """Whether two engines say the same."""
    return same_value(one, other, 1e-12) or (isinstance(one, CellError) and isinstance(other, CellError))


def values_of(*formulas: str) -> list[Value]:
    """What `recalculate` writes for these formulas, each in a row of column A."""
    book = package({"S": sheet(formula_rows(list(formulas)))})
    recalculate(book)
    return list(cached(book).values())


@pytest.fixture(scope="module")
def agreed() -> Package:
    """The workbook of all the formulas on which the engines agree, referring to DATA."""
    return package({"S": set_values(sheet(formula_rows(FORMULAS, "F")).encode(), DATA).decode()})


@needs_libreoffice
def test_libreoffice_agrees(agreed: Package, tmp_path: Path) -> None:
    """Every construct has the value that LibreOffice computes: numbers to 1e-12, and any error equals any."""
    agreed.write(tmp_path / "agreed.xlsx")
    result = recalculate(agreed)
    assert (result.n_formulas, result.n_changed, result.skipped) == (len(FORMULAS), len(FORMULAS), [])
    ours, theirs = cached(agreed), recalculated(tmp_path / "agreed.xlsx", tmp_path)["S"]
    pairs = {formula: (ours[f"F{row}"], theirs.get(f"F{row}")) for row, formula in enumerate(FORMULAS, 1)}
    assert {formula: pair for formula, pair in pairs.items() if not agree(*pair)} == {}


def test_values_have_their_types() -> None:
    """Numbers, texts, booleans, dates and errors are of the right type, and a blank is 0."""
    assert values_of("A99", '""', "1=1", '"a"&1', "DATE(2024,1,2)", "TIME(12,0,0)") == [
        0.0,
        "",
        True,
        "a1",
        45293.0,
        0.5,
    ]
    assert values_of("NA()", "1/0", "0.1+0.2", "1E308*10") == [NA, CellError("#DIV/0!"), 0.1 + 0.2, CellError("#NUM!")]
    assert values_of("2^29", "ROUNDUP(LOG(2^29,2),0)", "-2^2", "2^3^2") == [2.0**29, 29.0, 4.0, 64.0]


def test_two_runs_write_the_same_bytes(agreed: Package) -> None:
    """The result does not depend on the run, and a second one changes nothing."""
    one, two = (Package.from_bytes(agreed.to_bytes(), "x") for _ in range(2))
    recalculate(one)
    recalculate(two)
    assert one.parts == two.parts
    assert recalculate(two).n_changed == 0
    assert one.parts == two.parts


def test_only_cached_values_change() -> None:
    """Every part but the sheets with stale formulas stays as it is; so does calcPr, if nothing is skipped."""
    book = package(
        {
            "S": sheet("<row><c><v>2</v></c><c><f>A1+1</f><v>0</v></c></row>"),
            "T": sheet("<row><c><f>S!A1</f><v>2.0</v></c></row>"),
        }
    )
    before = dict(book.parts)
    result = recalculate(book)
    assert {part for part in before if book.parts[part] != before[part]} == {"xl/worksheets/sheet1.xml"}
    part = "xl/worksheets/sheet1.xml"
    assert book.parts[part] == before[part].replace(b"<v>0<", b"<v>3<")
    assert result.n_changed == 1


def test_stripped() -> None:
    """No formula keeps a value, typed values stay."""
    book = package(
        {
            "S": sheet(
                '<row><c><v>2</v></c><c t="str"><f>A1</f><v>x</v></c>'
                '<c><f t="array" ref="C1:D1">A1</f><v>1</v></c><c><v>1</v></c></row>'
            )
        }
    )
    bare = stripped(book, parse_sheets(book))
    assert cached(bare) == {"A1": 2.0, "B1": None, "C1": None, "D1": None}


@pytest.mark.parametrize(
    ("formula", "why"),
    [
        ("LAMBDA(x,x+1)(2)", "doesn't know"),
        ("NOSUCH(1)", "doesn't know"),
        ("SUM(S:T!A9)", "doesn't know"),
        ("no_such_name", "doesn't know"),
        ("1+", "can't read"),
        ("A1", "circle"),
        ("B1:B2*2", "array"),
        ('TEXT(B1,"0.000E+00")', "doesn't know"),
        ('IFERROR(LEN(TEXT(B1/3,"0.0e-0")),0)', "doesn't know"),
        ('B1/3&amp;""', "more digits"),
        ('"x"&amp;-1E21', "more digits"),
        ("CONCATENATE(B2*1E15,1)", "more digits"),
        ("SUMPRODUCT((INDEX(B:B,1):INDEX(B:B,2)&gt;1)*1)", "an operator makes"),
    ],
)
def test_what_the_engine_cannot_compute_has_no_value(formula: str, why: str) -> None:
    """The cell and all that depends on it, behind IFERROR too, lose their stale values, with a reason."""
    book = package(
        {
            "S": sheet(
                f'<row r="1"><c r="A1"><f>{formula}</f><v>5</v></c><c r="B1"><v>1</v></c>'
                '<c r="C1"><f>B1+1</f><v>9</v></c></row>'
                '<row r="2"><c r="B2"><v>2</v></c><c r="C2"><f>IFERROR(A1,0)</f><v>5</v></c></row>'
                '<row r="3"><c r="C3"><f>C2*2</f><v>10</v></c></row>'
            ),
            "T": sheet(""),
        }
    )
    result = recalculate(book)
    assert {ref: value for ref, value in cached(book).items() if ref not in ("B1", "B2")} == {
        "A1": None,
        "C1": 2.0,
        "C2": None,
        "C3": None,
    }
    assert [skip.ref for skip in result.skipped] == ["A1", "C2", "C3"]
    assert why in result.skipped[0].reason
    assert "3 have no value" in result.note
    assert b'fullCalcOnLoad="1"' in book.parts["xl/workbook.xml"]


def test_a_name_error_that_was_there_stays() -> None:
    """#NAME? is a right value where the program that saved the workbook had it too."""
    book = package({"S": sheet('<row><c t="e"><f>NOSUCH(1)</f><v>#NAME?</v></c></row>')})
    result = recalculate(book)
    assert cached(book) == {"A1": CellError("#NAME?")}
    assert (result.skipped, result.n_changed) == ([], 0)


def test_a_long_number_in_a_text_that_was_there_stays() -> None:
    """A text of many digits is right where the program that saved the workbook had it too."""
    book = package(
        {"S": sheet('<row><c t="str"><f>"id "&amp;"1234567890123456"</f><v>id 1234567890123456</v></c></row>')}
    )
    assert (recalculate(book).skipped, cached(book)) == ([], {"A1": "id 1234567890123456"})


CHAINED = {"D1": "A1*10", "D2": "E2*10", "E2": "F2+1", "F2": "A2+1", "D3": "D2+1", "D4": "D3+1"}
"""Formulas that are computed after those which only name D1."""
OTHERWISE = """
SUMIF(A1:A4,">0",D1) | SUMIF(A1:A4,">0",$D$1) | SUMIF(A1:A4,"<9",D1:D2) | AVERAGEIF(A1:A4,"<9",D1)
1+SUMIF(A:A,"<9",D1) | SUMIF(A1:A4,"<9",S!D1) | IF(SUMIF( A1:A4 , ">1" , D1 )>0,SUMIF(D4:D1,">60",A1),"(")
SUMIF(A1:B2,">0",D1) | SUMIF(A1:A4,"<9",D:D) | SUMIF(A1:A4,3) | HYPERLINK("http://x",5)
HYPERLINK("http://x",A1)+1 | HYPERLINK("http://x","a") | HYPERLINK("http://x") | HYPERLINK("http://x",A9)
HYPERLINK(NA(),5) | HYPERLINK("http://x",SUM(A1,HYPERLINK("y",2))) | SUM(INDEX(D:D,1):INDEX(D:D,4))
SUM(D1:INDEX(D1:D4,3)) | TEXT(A1,"0.00") | TEXT(D1,"0.0E+00") | D1/3&"" | (0.1+0.2)&"" | "x"&10^21
TEXT(1/3,"@") | D1/4&"E+9"
"""


@needs_libreoffice
def test_what_the_engine_reads_otherwise_is_right_or_left_out(tmp_path: Path) -> None:
    """What it is told in other words is what LibreOffice computes; what it can't be told has no value."""
    formulas = [formula.strip() for formula in OTHERWISE.replace("\n", "|").split("|") if formula.strip()]
    own = [f'<c r="H{row}"><f>{escaped(formula)}</f></c>' for row, formula in enumerate(formulas, 1)]
    rows = [
        f'<row r="{row}">'
        + (f'<c r="A{row}"><v>{row}</v></c>' if row < 5 else "")
        + "".join(f'<c r="{ref}"><f>{CHAINED[ref]}</f></c>' for ref in sorted(CHAINED) if ref[1:] == str(row))
        + f"{own[row - 1]}</row>"
        for row in range(1, len(own) + 1)
    ]
    book = package({"S": sheet("".join(rows))})
    book.write(tmp_path / "own.xlsx")
    recalculate(book)
    ours, theirs = cached(book), recalculated(tmp_path / "own.xlsx", tmp_path)["S"]
    pairs = {formula: (ours[f"H{row}"], theirs.get(f"H{row}")) for row, formula in enumerate(formulas, 1)}
    left_out = [formula for formula, (one, _) in pairs.items() if one is None]
    assert left_out == ['TEXT(D1,"0.0E+00")', 'D1/3&""', '(0.1+0.2)&""', '"x"&10^21', 'TEXT(1/3,"@")']
    assert {formula: pair for formula, pair in pairs.items() if formula not in left_out and not agree(*pair)} == {}


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ('SUMIF($A$1:$A$4,1,$D$1)', 'SUMIF($A$1:$A$4,1,$D$1:$D$4)'),
        ('SUMIF(A1:A4,1,D1)', 'SUMIF(A1:A4,1,D1:D4)'),
        ('SUMIF(A$1:A4,1,D$1)', 'SUMIF(A$1:A4,1,D$1:D4)'),
        ('SUMIF(A$1:A4,1,D1)', 'SUMIF(A$1:A4,1,D1)'),
        ('SUMIF(A:A,1,D5)', 'SUMIF(A:A,1,D5:D$1048576)'),
        ('SUMIF(2:2,1,$B5)', 'SUMIF(2:2,1,$B5:$XFD5)'),
        ('SUMIF(A1:A4,1,D:D)', 'SUMIF(A1:A4,1,D$1:D$4)'),
        ('SUMIF(A1:A4,1,name)', 'SUMIF(A1:A4,1,name)'),
        ('SUMIF(A1:A4,{1,2},D1)', 'SUMIF(A1:A4,{1,2},D1:D4)'),
        ('"SUMIF(A1:A4,1,D1)"', '"SUMIF(A1:A4,1,D1)"'),
        ('SUMIF(A1:A4,1,D1', 'SUMIF(A1:A4,1,D1'),
    ],
)  # fmt: skip
def test_a_range_to_add_up_has_the_shape_of_the_one_that_is_tested(formula: str, said: str) -> None:
    """In copies too, where the formula is one that others share; what would then have another shape stays."""
    assert given(formula) == said

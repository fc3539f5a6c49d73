"""Functions applied to several cells at once, of which the engine sees one: told by the formula, and never guessed."""

from __future__ import annotations

import pytest

from planner.recalc import recalculate
from planner.recalc.array_idioms import is_array_idiom, may_be_array
from planner.xlsx.markup import escaped
from planner.xlsx.opc import Package
from tests.recalcs import cached, edited, recalculate_edited
from tests.xlsx_samples import package, sheet

IDIOMS = [
    "SUMPRODUCT(--ISNUMBER(B1:B10),A1:A10)", "SUMPRODUCT(ROW(A1:A10)*A1:A10)", "SUMPRODUCT(LEN(B1:B10))",
    "SUMPRODUCT(COUNTIF(B1:B10,B1:B10))", "SUMPRODUCT(1/COUNTIF(A1:A3,A1:A3))", 'LOOKUP(2,1/(B1:B10="-"),A1:A10)',
    'SUM(SUMIFS(A1:A10,B1:B10,{"-";"4"}))', "SUMPRODUCT((MONTH(A1:A9)=1)*1)", "SUM(IF(A1:A3>1,1))",
    "MAX((A1:A3=1)*B1:B3)", "SUMPRODUCT(--ISNUMBER(MATCH(A1:A10,B1:B10,0)))", "SUM(SMALL(A1:A9,{1,2}))",
    "SUMPRODUCT(ABS(times))", "SUM(IFERROR(A1:A9/B1:B9,0))", "ABS(Costs[Chips])",
]  # fmt: skip
OTHERS = [
    'SUMPRODUCT((A1:A3="x")*(B1:B3>2),C1:C3)', "IFERROR(INDEX(A1:A9,MATCH(1,B1:B9,0)),0)", "ABS(SUM(A1:A3)-2)",
    'COUNTIF(A1:A9,">"&B1)', "STDEV.S(A1:A9)", "VLOOKUP(A1,B1:C9,2,0)*2", "INDEX($A$1:$A$9,B1+1)", "SUM(A1:A3,B1+2)",
    "SUMPRODUCT(IFERROR(A1:A8*1,0))", "ABS(time)", "SUM({1,2})", 'IF(A1="ABS(B1:B9)",1,0)',
    "ABS(Costs[[#This Row],[Chips]])",
]  # fmt: skip


@pytest.mark.parametrize("formula", IDIOMS)
def test_what_the_engine_would_see_one_cell_of(formula: str) -> None:
    """A function of one value over a range, a criterion or a place that is one, an array that is no SUMPRODUCT's."""
    assert is_array_idiom(formula)


@pytest.mark.parametrize("formula", OTHERS)
def test_what_it_computes_as_others_do(formula: str) -> None:
    """Ranges where a range is wanted, and operators over them within SUMPRODUCT."""
    assert not is_array_idiom(formula)


@pytest.mark.parametrize(
    "formula",
    ["A1:A3", "{1,2}", "SEQUENCE(3)", "times", "IF(YTD2020>1,1,0)", "A1:A3*2", "A1#", "Costs[Chips]", "-ABC(A1)",
     "INDIRECT(A1)", "LOG10(A1)+SUMPRODUCT(A1)", "TRANSPOSE(A1)", "Jan:Dec!B5", "", None],
)  # fmt: skip
def test_what_may_have_an_array_for_its_result(formula: str | None) -> None:
    """A range, a name, also one like an address, a table, and any function that isn't known to have one value."""
    assert may_be_array(formula)


@pytest.mark.parametrize(
    "formula",
    ['IF(Inputs!F12="",NA(),Inputs!$F$12)', "F160+MAX(F163,F159)*1.5%", '"a: {1,2}"&FIXED(AB7,2)', "-(A1<>B1)^2"],
)
def test_what_has_one_value(formula: str) -> None:
    """Single cells, numbers and texts with functions of one value, which are most of a workbook's formulas."""
    assert not may_be_array(formula)


def book(total: int, lengths: int = 3) -> Package:
    """Two texts, a number, a sum with this saved value, and how long the texts are."""
    formula = f'<c r="C1"><f>SUM(B1:B2)</f><v>{total}</v></c>'
    idiom = f'<c r="D1"><f>{escaped("SUMPRODUCT(LEN(A1:A2))")}</f><v>{lengths}</v></c><c r="E1"><f>D1+1</f><v>4</v></c>'
    texts = '<row r="1"><c r="A1" t="str"><v>x</v></c><c r="B1"><v>1</v></c>{}</row>'
    more = '<row r="2"><c r="A2" t="str"><v>yz</v></c><c r="B2"><v>2</v></c></row>'
    return package({"S": sheet(texts.format(formula + idiom) + more)})


def test_a_file_that_is_as_it_was_saved_keeps_what_is_in_doubt() -> None:
    """Where every other formula has its saved value, so has this one, with what depends on it; it is named."""
    whole = book(3)
    result = recalculate(whole, is_as_saved=True)
    assert [cached(whole)[ref] for ref in ("C1", "D1", "E1")] == [3.0, 3.0, 4.0]
    assert ([skip.ref for skip in result.kept], result.skipped) == (["D1", "E1"], [])


def test_a_file_that_was_changed_since_has_no_value_for_it() -> None:
    """A sum that isn't what its cells give tells that the file was changed: what can't be computed may be old."""
    stale = book(30)
    result = recalculate(stale, is_as_saved=True)
    assert [cached(stale)[ref] for ref in ("C1", "D1", "E1")] == [3.0, None, None]
    assert [skip.ref for skip in result.skipped] == ["D1", "E1"]


def test_what_planner_has_edited_is_not_as_it_was_saved() -> None:
    """A cell that an update types may be read by such a formula alone, of which no other's value tells."""
    whole = book(3)
    assert [skip.ref for skip in recalculate(whole).skipped] == ["D1", "E1"]
    assert cached(whole)["D1"] is None


def test_an_edit_that_reaches_it_leaves_no_value_that_the_engine_had_by_chance() -> None:
    """The engine has 1 for the lengths of both texts, which is what was saved: after an edit it is no evidence."""
    before = book(3, lengths=1)
    after = edited(before, A2="")
    recalculate_edited(after, before)
    assert cached(after)["D1"] is None
    untouched = edited(before, B1=5)
    recalculate_edited(untouched, before)
    assert [cached(untouched)[ref] for ref in ("C1", "D1")] == [7.0, 1.0]

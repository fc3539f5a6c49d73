"""The one reader of references: what each piece of a formula is, and formulas written elsewhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.xlsx.pattern import pattern
from planner.xlsx.references import calls_around, copied, pieces, references, rewritten

FORMULAS = {
    'IF(Inputs!F12="",NA(),Inputs!F12)': ["Inputs!F12", "Inputs!F12"],
    "SUM($B$5:C7,B:C,5:7,'My ''own'' sheet'!$B5)*2.5e-3": ["$B$5:C7", "B:C", "5:7", "'My ''own'' sheet'!$B5"],
    "SUM(Jan:Dec!B5)+[1]Other!B5+'[x.xlsx]S h'!A1": ["Jan:Dec!B5", "[1]Other!B5", "'[x.xlsx]S h'!A1"],
    "Table1[[#This Row],[A1]]*[@B2]+rate_A1+LOG10(FP8)": ["FP8"],
    'Inputs!#REF!&"A1"&TRUE&R1C1&my.B5': [],
    "A1:INDEX(B:B,3)+A1#": ["A1", "B:B", "A1"],
    "SUM(Inputs!F5:Inputs!F9,'In'!A1:'In'!B2)": ["Inputs!F5", "Inputs!F9", "'In'!A1", "'In'!B2"],
    "OFFSET(Inputs!F5,1,1):Inputs!$F$9+[1]In!A1:[1]In!B2": ["Inputs!F5", "Inputs!$F$9", "[1]In!A1", "[1]In!B2"],
    "F5:Inputs!F9+'F5:F6'!A1": ["F5", "Inputs!F9", "'F5:F6'!A1"],
    r"F5?x+F5\x+Inputs!F5\x+\F5": [],
}


@pytest.mark.parametrize("formula", FORMULAS)
def test_references_are_found(formula: str) -> None:
    """Every form of a reference is found, and nothing that only looks like one."""
    assert [str(reference) for reference in references(formula)] == FORMULAS[formula]
    assert rewritten(formula, lambda reference: reference.to(reference.first, reference.last)) == formula


@given(st.text("A1B$:!'[]\"#(),+ .x5", max_size=30))
def test_no_character_is_lost(formula: str) -> None:
    """Whatever a formula is, its pieces joined are the formula."""
    assert "".join(piece.text for piece in pieces(formula)) == formula


def test_copied() -> None:
    """Relative ends move along, fixed ones hold, and what leaves the sheet is #REF!."""
    assert copied("A1+$B$2+C$3+D:D+5:5+$E6", 1, 1) == "B2+$B$2+D$3+E:E+6:6+$E7"
    assert copied("A1+Inputs!B2", -1, 0) == "#REF!+Inputs!B1"
    assert copied("XFD1", 0, 1) == "#REF!"


OPERANDS = st.sampled_from(
    [
        "A1",
        "$B$2",
        "C3:D4",
        "E:F",
        "7:$8",
        "XFE1",
        "Inputs!A1",
        "'My sheet'!B2:B3",
        "'it''s A1'!C:C",
        "Jan:Dec!B5",
        "[1]Other!B5",
        "'[x.xlsx]S h'!A1",
        "Inputs!#REF!",
        "#REF!",
        "#N/A",
        '"A1 ""B2"""',
        "T[A1]",
        "[@B2]",
        "A1#",
        "T[[#This Row],[A1]]",
        "T[[a'[b]:[c]]",
        "rate_A1",
        "A1?x",
        r"A1\x",
        r"\A1",
        "my?Inputs",
        "my.B5",
        "R1C1",
        "1",
        "2.5",
        "1e5",
        ".5E-3",
        "TRUE",
        "éA1",
        "2024!A1",
        "_x!A1",
        "{1,2;3,4}",
        "@A1",
        "A1:INDEX(B:B,3)",
        "LOG10(A1)",
        "FP8",
    ]
)
OPERATORS = st.sampled_from(["+", "-", "*", "/", "^", "&", "=", "<>", "<=", ",", ", ", " ", "+-", "%+"])
ENDS = st.sampled_from(
    ["A1", "$B$2", "Inputs!A1", "'My sheet'!B2", "[1]Other!B5", "'[x.xlsx]S h'!A1", "2024!A1", "INDEX(B:B,3)", "(F5)"]
)
WELL_FORMED = st.recursive(
    OPERANDS | st.tuples(ENDS, ENDS).map(":".join),
    lambda inner: (
        st.tuples(inner, OPERATORS, inner).map("".join)
        | inner.map(lambda text: f"SUM({text},A1)")
        | inner.map(lambda text: f"(-{text})")
    ),
    max_leaves=8,
)


@given(WELL_FORMED)
def test_both_readers_find_the_same_references(formula: str) -> None:
    """What `references` finds at a glance is what is among all pieces, in any well-formed formula."""
    assert references(formula) == [piece.reference for piece in pieces(formula) if piece.reference is not None]


def test_a_pattern_keeps_the_space_that_is_an_operator() -> None:
    """A space between two operands takes what both have in common; any other doesn't count."""
    for formula in ("SUM(F1:F9 A5:J5)", "SUM(mine F5:G5)", "SUM((F5) (G5))", "SUM(T[a] mine)", "SUM(F5:G5 mine)"):
        assert pattern(formula, 1, 1).at(1, 1) == formula
    assert pattern(' IF( F5 >= 1 , -F5 , G5 & "a b" ) ', 1, 1) is pattern('IF(F5>=1,-F5,G5&"a b")', 1, 1)
    assert pattern("SUM(F:F  5:5)", 1, 1) is pattern("SUM(F:F 5:5)", 1, 1)


def test_calls_around() -> None:
    """The function around each reference, and which argument it is in; brackets of other kinds don't count."""
    formula = 'A1+sum((B1),{1,2},C1)*INDEX(D1:D9,MATCH("a,b",E1:E9,0),F1)'
    wanted = [("", 0), ("SUM", 0), ("SUM", 2), ("INDEX", 0), ("MATCH", 1), ("INDEX", 2)]
    assert calls_around(formula) == wanted
    assert calls_around(")A1") == [("", 0)]

"""References rewritten where their cells go elsewhere: in formulas as people spell them."""

from __future__ import annotations

import pytest

from planner.xlsx.moves import Moves, SheetMoves, Track

MOVES = Moves({
    "Inference": SheetMoves("Serving x", Track({10: 12, 20: 25}), Track({6: 6}), {14: ("Transformer", 33)}),
    "Mine": SheetMoves("Mine"),
})  # fmt: skip


@pytest.mark.parametrize(
    ("formula", "on_mine"),
    [
        ("Inference!F10+1", "'Serving x'!F12+1"),
        ("SUM( Inference!$F$10:$H$21 )", "SUM( 'Serving x'!$F$12:$H$26 )"),
        ('"Inference!F10"&Inference!F14', '"Inference!F10"&Transformer!F33'),
        ("Inference!D:D*Inference!$9:$20", "'Serving x'!D:D*'Serving x'!$9:$25"),
        ("F10+$F$20+LOG10(2)", "F10+$F$20+LOG10(2)"),
        ("'Inference'!F10", "'Serving x'!F12"),
        ("'[1]Inference'!F10+[1]Inference!F10", "'[1]Inference'!F10+[1]Inference!F10"),
        ("Other!F10+my_F10+Table1[F10]", "Other!F10+my_F10+Table1[F10]"),
        ("Inference!F5", "'Serving x'!F5"),
    ],
)
def test_a_formula(formula: str, on_mine: str) -> None:
    """Only references to cells that move are written anew; the rest keeps its spelling, texts and other files too."""
    assert MOVES.formula(formula, "Mine") == on_mine


def test_a_formula_of_the_sheet_itself() -> None:
    """References without a sheet lead on within it, and get its name where the formula goes to another."""
    assert MOVES.formula("F10+F14", "Inference") == "F12+Transformer!F33"
    assert MOVES.formula("F10+Mine!A1", "Inference", to="Transformer") == "'Serving x'!F12+Mine!A1"


def test_areas() -> None:
    """A list of areas moves corner by corner; what is none stays."""
    track = MOVES.of("inference")
    assert track.ref("F10 F10:H21 A1:XFD1048576 nonsense") == "F12 F12:H26 A1:XFD1048576 nonsense"


GONE = Moves({"Data": SheetMoves("Data", Track({5: 6}, frozenset({8, 9})), Track({3: 3}, frozenset({4})))})


@pytest.mark.parametrize(
    ("formula", "then", "lost"),
    [
        ("Data!B8+Data!B5", "Data!#REF!+Data!B6", ["Data!B8"]),
        ("SUM(Data!B5:B8)", "SUM(Data!B6:B8)", []),
        ("SUM(Data!$B$8:$C$10)", "SUM(Data!$B$11:$C$11)", []),
        ("SUM(Data!B8:C9,Data!9:9)", "SUM(Data!#REF!,Data!#REF!)", ["Data!B8:C9", "Data!9:9"]),
        ("SUM(Data!D:D,Data!C:E)", "SUM(Data!#REF!,Data!C:E)", ["Data!D:D"]),
        ("Data!D5+Data!E5", "Data!#REF!+Data!E6", ["Data!D5"]),
        ('"Data!B8"&Table1[B8]&[1]Data!B8&Data:Mine!B8', '"Data!B8"&Table1[B8]&[1]Data!B8&Data:Mine!B8', []),
    ],
)
def test_what_is_gone(formula: str, then: str, lost: list[str]) -> None:
    """A reference to cells that are gone is #REF! and is told; a range keeps those that are left, as in Excel."""
    assert GONE.formula(formula, "Mine") == then
    assert GONE.lost(formula, "Mine") == lost


TOPPED = Moves({"Models": SheetMoves("Models", Track({6: 16, 9: 64}), range_tops={6: 6})})


@pytest.mark.parametrize(
    ("formula", "then"),
    [
        ("SUM(Models!F6:F9)", "SUM(Models!F6:F64)"),
        ("SUM(Models!F6:F1048576)", "SUM(Models!F6:F1048576)"),
        ("SUM(Models!6:1048576,Models!F:F)", "SUM(Models!6:1048576,Models!F:F)"),
        ("OFFSET(Models!$F$6,MATCH(A1,Models!$A$6:$A$9,0)-1,0)",
         "OFFSET(Models!$F$6,MATCH(A1,Models!$A$6:$A$64,0)-1,0)"),
        ("SUMIF(Models!A6:A9,A1,Models!F6)", "SUMIF(Models!A6:A64,A1,Models!F6)"),
        ("INDEX(Models!F:F,row(Models!F6)+MATCH(A1,Models!A6:A9,0)-1)",
         "INDEX(Models!F:F,row(Models!F6)+MATCH(A1,Models!A6:A64,0)-1)"),
        ("Models!F6/SUM(Models!F6:F9)", "Models!F16/SUM(Models!F6:F64)"),
        ("OFFSET(Models!F6,0,2)", "OFFSET(Models!F16,0,2)"),
        ("SUMIF(Models!F6,A1,Models!F6:F9)", "SUMIF(Models!F16,A1,Models!F6:F64)"),
    ],
)  # fmt: skip
def test_a_table_with_new_first_rows(formula: str, then: str) -> None:
    """What reads all of a table begins where it does, to the sheet's end too; so does a cell from which a function
    counts on over the table. A cell alone goes with its row.
    """
    assert TOPPED.formula(formula, "Mine") == then


def test_what_is_pushed_over_the_sheets_edge() -> None:
    """No address is written that there is not: a range ends at the edge, and what is beyond is no more."""
    pushed = Moves({"Data": SheetMoves("Data", Track({6: 62}), Track({6: 9}))})
    texts = {
        "SUM(Data!F1048500:F1048575)": "SUM(Data!I1048556:I1048576)",
        "SUM(Data!F1048570:F1048575)": "SUM(Data!#REF!)",
        "Data!F1048575+Data!XFC7": "Data!#REF!+Data!#REF!",
        "SUM(Data!XFA5:XFB5,Data!A1048575:XFD1048576)": "SUM(Data!XFD5:XFD5,Data!#REF!)",
    }
    assert {text: pushed.formula(text, "Mine") for text in texts} == texts
    assert pushed.lost("Data!F1048575", "Mine") == ["Data!F1048575"]


def test_whole_columns_in_a_list_of_areas() -> None:
    """They move, and go, as those do that are written with their first and last row."""
    track = GONE.of("Data")
    assert (track.ref("D:D"), track.ref("C:D E:E $8:$8 6:6")) == ("", "C:C E:E 7:7")

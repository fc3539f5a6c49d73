"""What an edit may reach: never less than it does, and in a large workbook little more."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.compare.comparison_sheet import found_in
from planner.recalc import recalculate
from planner.recalc.dependents import dependents
from planner.xlsx.address import address, column_letters
from planner.xlsx.cellvalue import Value
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import with_values
from planner.xlsx.workbook_part import parse_sheets
from tests.recalcs import cached, recalculate_edited
from tests.workbooks import built, small
from tests.xlsx_samples import package, parts, sheet, zipped


def cells(**formulas: str) -> str:
    """Rows of cells, each with a formula and the saved value 1; a formula that is a number is that number."""
    rows: dict[int, str] = {}
    for ref, text in formulas.items():
        row, coded = int(ref.lstrip("ABCDEFGHIJ")), text.replace("&", "&amp;").replace("<", "&lt;")
        content = f"<v>{text}</v>" if text.isdigit() else f"<f>{coded}</f><v>1</v>"
        rows[row] = rows.get(row, "") + f'<c r="{ref}">{content}</c>'
    return "".join(f'<row r="{row}">{content}</row>' for row, content in sorted(rows.items()))


def reached(sheets: Mapping[str, str], edited: str, tail: str = "") -> set[str]:
    """The formulas, as Sheet!A1, that an edit of the cell `edited` may reach."""
    book = Package.from_bytes(zipped(parts({name: sheet(rows) for name, rows in sheets.items()}, tail=tail)), "b.xlsx")
    parsed = parse_sheets(book)
    name, _, ref = edited.rpartition("!")
    return {f"{on}!{at}" for on, at in dependents(book, parsed, [(name, ref)], {}).formulas(parsed)}


def test_within_a_sheet() -> None:
    """An edit reaches the formulas of its row, those that read the column over other rows, and what reads these."""
    rows = cells(A1="1", B1="A1*2", C1="B1+1", D1="7*2", A2="1", B2="A2*2", C2="B2+1", E5="SUM(A1:A2)", F6="E5&\"A1\"",
                 G7="$D$1+1", H8="A$1", I9="SUM(B:B)")  # fmt: skip
    assert reached({"S": rows}, "S!A1") == {"S!B1", "S!C1", "S!E5", "S!F6", "S!H8", "S!I9"}


def test_numbers_that_hold_the_row() -> None:
    """In row 1 the cell A11 is of another row, and so every row of its column counts; 1E1 is a number, LOG10 none."""
    rows = cells(A1="1", B1="A11+11", C1="1E1+A1", D1="LOG10(A1)", E1="11*2", A11="1", B11="A1", C11="A11")
    assert reached({"S": rows}, "S!A1") == {"S!B1", "S!B11", "S!C1", "S!D1"}
    assert reached({"S": rows}, "S!A11") == {"S!B1", "S!B11", "S!C11"}


def test_a_sheet_whose_name_holds_the_row() -> None:
    """The sheet called Plan 1 is still itself in its row 1."""
    assert "Plan 1!B1" in reached({"Plan 1": cells(A1="1", B1="'Plan 1'!A1")}, "Plan 1!A1")
    assert "Q1!B1" in reached({"Q1": cells(A1="1", B1="Q1!A1")}, "Q1!A1")


def test_data_tables_are_reached() -> None:
    """The inputs of a what-if table don't stand in a formula's text."""
    rows = '<row r="1"><c r="A1"><f t="dataTable" ref="A1:A2" r1="D1"/><v>1</v></c></row>'
    assert reached({"S": cells(A1="1"), "T": rows}, "S!A1") == {"T!A1"}


def test_other_sheets() -> None:
    """Sheets that name the edited one, by whatever spelling, and what names these; no other."""
    odd = "It's"
    sheets = {odd: cells(A1="1", B1="A1"), "Next": cells(A1="'it''s'!B1"), "After": cells(B2="SUM(Next!A1:A3)"),
              "Alone": cells(A1="B1*2", B1="3")}  # fmt: skip
    assert reached(sheets, f"{odd}!A1") == {f"{odd}!B1", "Next!A1", "After!B2"}
    assert reached(sheets, "Alone!B1") == {"Alone!A1"}


def test_rows_of_another_sheet() -> None:
    """Of a sheet that reads an edited cell: its rows that do, and those that read such a row; of a third, nothing."""
    rows = cells(
        A1="S!A1+1", B1="5*1", A2="A1*2", A3="S!B9", A4="$A$3*3", A5="SUM(A3:A1)", A6="t!A5", A7="S!A7", A8="A9"
    )
    sheets = {"S": cells(A1="1", B9="2"), "T": rows, "U": cells(A1="T!A4+T!A7")}
    assert reached(sheets, "S!A1") == {"T!A1", "T!B1", "T!A2", "T!A5", "T!A6"}


@pytest.mark.parametrize("text", ["SUM(A:A)", "SUM(1:1)", "SUM(A9:INDEX(A1:A2,1))", "A1#", "INDEX(A1:A2,1):A9"])
def test_rows_that_cannot_be_told(text: str) -> None:
    """Where a formula doesn't say which rows it reads, every formula of its sheet counts as reached."""
    sheets = {"S": cells(A1="1"), "T": cells(A1="S!A1", B8=text, A9="7*2")}
    assert reached(sheets, "S!A1") == {"T!A1", "T!B8", "T!A9"}


@pytest.mark.parametrize("text", ['"see: S"&S!A1', '"5:6, isn\'t it"&S!A1', "'It''s'!A1&\"a: b\"&S!A1"])
def test_texts_that_look_like_ranges(text: str) -> None:
    """A text with a colon is no range: only the rows that read the edited cell are reached."""
    sheets = {"S": cells(A1="1"), "T": cells(A1=text, B1="A1+1", A2="2*2"), "It's": cells(A1="1")}
    assert reached(sheets, "S!A1") == {"T!A1", "T!B1"}


def test_a_measured_time_in_a_built_workbook() -> None:
    """It reaches some rows of Dashboard and nothing else but Comparison: the engine gets few formulas."""
    book = Package.from_bytes(small(("llama3-8b",), ("tpu-v5e",), (), ("inference",))[1], "plan.xlsx")
    sheets = parse_sheets(book)
    case = found_in(book, sheets)
    assert case is not None
    cell = address(case.rows[0].number, case.columns["measured_time"])
    found = dependents(book, sheets, [(case.name, cell)], {})
    assert found.cells.keys() == {"Dashboard", "Comparison"}
    assert 0 < len(found.cells["Dashboard"] or ()) < sheets["Dashboard"].n_formulas / 3


def test_a_shared_formula_elsewhere() -> None:
    """Of a shared formula only the first cell says what it reads: the sheet counts as reached."""
    shared = '<row r="1"><c r="A1"><f t="shared" ref="A1:A2" si="0">S!A1</f><v>1</v></c></row>' \
             '<row r="2"><c r="A2"><f t="shared" si="0"/><v>1</v></c></row>'  # fmt: skip
    sheets = {"S": cells(A1="1", A2="2"), "T": shared}
    assert reached(sheets, "S!A2") == {"T!A1", "T!A2"}


@pytest.mark.parametrize(
    "text",
    [
        "s!a2*2", "SUM(S!a1:a3)", "SUM(S!$a$1:$a$2)", "S!A3:INDEX(S!A1:A1,1)", "SUM(S!A3:S!A1)", "(S!A3):(S!A1)",
        "SUM(S!A3 : S!A1)", "SUM(S!A3 : A1)", 'SUMIF(B1:B3,">0",S!A1)', 'AVERAGEIF(B1:B3,">0",S!A1)', "SUM(S!A3#)",
    ],
)  # fmt: skip
def test_what_is_read_beyond_what_is_said(text: str) -> None:
    """References in small letters, ranges made by an operator, and SUMIF, which reads as far as its first range."""
    sheets = {"S": cells(A1="1", A2="2", A3="3"), "T": cells(C1=text, C2="C1+1")}
    assert reached(sheets, "S!A2") >= {"T!C1", "T!C2"}


def test_a_third_sheet_that_reads_a_reached_row() -> None:
    """Then every formula of the sheets that lead there counts as reached."""
    sheets = {"S": cells(A1="1"), "T": cells(A1="S!A1", A9="7*2"), "U": cells(A1="SUM(T!A1:A3)", B2="7*3")}
    assert reached(sheets, "S!A1") == {"T!A1", "T!A9", "U!A1", "U!B2"}


@pytest.mark.parametrize("text", ["Übersicht!A1+1", "ÜBERSICHT!A1+1", "'übersicht'!A1", "Größe*2", "GRÖSSE*2"])
def test_names_in_any_alphabet(text: str) -> None:
    """Sheets and defined names are found whatever their capitals, those outside ASCII too."""
    names = "<definedNames><definedName name=\"Größe\">'Übersicht'!$A$1</definedName></definedNames>"
    sheets = {"Data": cells(A1="1", B1="A1*2"), "Übersicht": cells(A1="Data!B1*10"), "Results": cells(A1=text)}
    assert reached(sheets, "Data!A1", names) == {"Data!B1", "Übersicht!A1", "Results!A1"}
    sheets["Übersicht"] = cells(A1="1", B1=text, C1="3*1")
    assert {"Results!A1", "Übersicht!B1"} <= reached(sheets, "Übersicht!A1", names)


def test_sheets_that_differ_in_a_sharp_s() -> None:
    """Strasse and Straße are two sheets: what leads from one to the other is followed."""
    sheets = {"Straße": cells(A1="1", C1="Strasse!B9"), "Strasse": cells(B9="Straße!A1")}
    assert reached(sheets, "Straße!A1") == {"Straße!C1", "Strasse!B9"}


def test_back_from_another_sheet() -> None:
    """A formula that reads a reached sheet is reached, in whatever column of the edited sheet it stands."""
    sheets = {"S": cells(A1="1", D9="T!A1", E9="D9", F9="8*1"), "T": cells(A1="S!A1")}
    assert reached(sheets, "S!A1") == {"S!D9", "S!E9", "T!A1"}


@pytest.mark.parametrize(
    "text", ['INDIRECT("S!A1")', "OFFSET(C3,-2,0)", "Table1[x]", "SUM(R:T!A1)", "'R:T'!A1", "total+1", "deep*2"]
)
def test_what_cannot_be_told_is_reached(text: str) -> None:
    """Computed addresses, tables, several sheets, and names that lead to the sheet, through other names too."""
    names = '<definedNames><definedName name="total">S!$A$1</definedName><definedName name="Deep">total*1'
    book = {"R": cells(A9="5"), "S": cells(A1="1"), "T": cells(A1="5"), "Far": cells(C1=text, D1="C1")}
    assert reached(book, "S!A1", f"{names}</definedName></definedNames>") == {"Far!C1", "Far!D1"}


@pytest.mark.parametrize("text", ["total+1", "MyName", "SUM($1:$1)", "SUM(A1:INDEX(A1:A9,2))", "LET(x,1,x)", "S!A1#"])
def test_an_unreadable_formula_opens_the_sheet(text: str) -> None:
    """Where a formula of the edited sheet can't be read to its end, every formula of the sheet counts as reached."""
    names = '<definedNames><definedName name="total">S!$A$1</definedName></definedNames>'
    assert reached({"S": cells(A1="1", C1=text, D9="7*2")}, "S!A1", names) >= {"S!C1", "S!D9"} - (
        {"S!D9"} if "INDEX" in text else set()
    )


def test_shared_formulas_open_the_sheet() -> None:
    """Of a shared formula only the first cell has the text."""
    rows = '<row r="1"><c r="A1"><v>1</v></c><c r="B1"><f t="shared" ref="B1:B2" si="0">A1</f><v>1</v></c></row>' \
           '<row r="2"><c r="B2"><f t="shared" si="0"/><v>0</v></c></row>'  # fmt: skip
    assert reached({"S": rows}, "S!A1") == {"S!B1", "S!B2"}


def test_a_formula_without_a_value_opens_the_workbook() -> None:
    """It is given one whatever was edited, and so the engine needs all formulas; an empty text is a value."""
    rows = '<row r="1"><c r="A1" t="str"><f>""</f><v></v></c><c r="B1"><f>1+1</f>{}</c></row>'
    assert reached({"S": cells(A1="1"), "T": rows.format("<v>2</v>")}, "S!A1") == set()
    for nothing in ("", "<v></v>", "<v/>"):
        assert reached({"S": cells(A1="1"), "T": rows.format(nothing)}, "S!A1") == {"T!A1", "T!B1"}


def test_what_is_left_out_has_its_saved_value() -> None:
    """Numbers, texts, truths and errors that are not computed serve the formulas that are."""
    saved = '<row r="1"><c r="A1"><f>2*2</f><v>4</v></c><c r="B1" t="str"><f>"a"&amp;"b"</f><v>ab</v></c>' \
            '<c r="C1" t="b"><f>1=1</f><v>1</v></c><c r="D1" t="e"><f>NA()</f><v>#N/A</v></c></row>'  # fmt: skip
    text = 'IF(AND(Old!A1=4,Old!B1="ab",Old!C1,ISNA(Old!D1)),A1,0)'
    before = package({"S": sheet(cells(A1="1", B1=text)), "Old": sheet(saved)})
    book = package({"S": sheet(cells(A1="6", B1=text)), "Old": sheet(saved)})
    result = recalculate_edited(book, before)
    assert cached(book)["B1"] == 6.0
    assert result.n_changed == 1
    assert result.n_formulas == 5


@pytest.mark.parametrize(
    ("name", "template"),
    [
        ("Inputs", "inference"),
        ("Hardware", "matmul"),
        ("Comparison", "matmul"),
        *(pytest.param(name, "", marks=pytest.mark.slow) for name in ("Inputs", "Hardware", "Comparison")),
    ],
)
def test_edits_of_a_built_workbook(name: str, template: str) -> None:
    """After numbers are typed all over a sheet, a recalculation of every formula finds nothing left to change."""
    models = ("llama3-8b",) if template == "inference" else ()
    _, data = small(models, ("tpu-v5e",), (), (template,)) if template else built()
    before, book = Package.from_bytes(data, "plan"), Package.from_bytes(data, "plan")
    page = parse_sheets(book)[name]
    typed: dict[str, Value] = {
        ref: cell.value * 2 for ref, cell in page.cells.items() if not cell.kind and isinstance(cell.value, float)
    }  # fmt: skip
    book.replace(book.sheets()[name], with_values(page, dict(list(typed.items())[::3])))
    recalculate_edited(book, before)
    assert recalculate(book).n_changed == 0


Corner = tuple[str, int, int]  # sheet, row and column


@st.composite
def formulas(draw: st.DrawFn) -> dict[Corner, tuple[str, set[Corner]]]:
    """Cells of three sheets with formulas, each with the cells that it reads."""
    found: dict[Corner, tuple[str, set[Corner]]] = {}
    for place in draw(st.lists(st.tuples(st.sampled_from("STU"), st.integers(1, 6), st.integers(1, 4)), max_size=14)):
        on, row, column = draw(st.tuples(st.sampled_from("STU"), st.integers(1, 6), st.integers(1, 4)))
        down, right = draw(st.integers(0, 2)), draw(st.integers(0, 1))
        prefix = "" if on == place[0] and draw(st.booleans()) else draw(st.sampled_from([f"{on}!", f"{on.lower()}!"]))
        fixed = draw(st.sampled_from(["", "$"]))
        first, last = (
            f"{fixed}{column_letters(c)}{fixed}{r}" for r, c in ((row, column), (row + down, column + right))
        )
        text = draw(st.sampled_from([f"SUM({prefix}{first}:{last})", f"1+{prefix}{last}:{first}"]))
        read = {(on, row + r, column + c) for r in range(down + 1) for c in range(right + 1)}
        found[place] = (text, read) if down or right else (f"{prefix}{first}*2", read)
    return found


@given(formulas())
def test_never_less_than_it_reaches(found: dict[Corner, tuple[str, set[Corner]]]) -> None:
    """Whatever reads the edited cell, or what reads it in turn, across sheets and back, counts as reached."""
    found.pop(("S", 1, 1), None)
    wanted: set[Corner] = {("S", 1, 1)}
    while more := {place for place, (_, read) in found.items() if place not in wanted and read & wanted}:
        wanted |= more
    sheets: dict[str, dict[str, str]] = {"S": {"A1": "1"}, "T": {}, "U": {}}
    for (on, row, column), (text, _) in sorted(found.items()):
        sheets[on][f"{column_letters(column)}{row}"] = text
    refs = {f"{on}!{column_letters(column)}{row}" for on, row, column in wanted} - {"S!A1"}
    assert refs <= reached({on: cells(**each) for on, each in sheets.items()}, "S!A1")

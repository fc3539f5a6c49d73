"""New formulas computed without the engine: each has its own row's value, or is left to the engine."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from planner.recalc import alike_rows, edit, recalculate
from planner.recalc.alike_formulas import RowFormula
from planner.recalc.alike_rows import row_values
from planner.recalc.cell_arrays import ColumnCells, Fixed
from planner.recalc.dependents import dependents
from planner.recalc.edits import Edits, NewRows
from planner.recalc.engine import Address
from planner.xlsx.cellvalue import CellError, CellFormula, Value
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import NewRow, with_values
from planner.xlsx.workbook_part import parse_sheets
from tests.recalcs import cached, edited, recalculate_edited
from tests.xlsx_samples import package, sheet

N_ROWS, NEW = 9, (10, 11, 12, 13)


def weighed(formula: str, weights: Mapping[int, float], first: float = 1.0) -> Package:
    """Rows with the number `first` and a formula, in which {} is the row; the sheet Weights has a number in each."""
    rows = "".join(
        f'<row r="{row}"><c r="A{row}"><v>{first}</v></c><c r="B{row}"><f>{formula.format(row)}</f></c></row>'
        for row in range(1, N_ROWS + 1)
    )
    others = (f'<row r="{row}"><c r="B{row}"><v>{weight}</v></c></row>' for row, weight in weights.items())
    book = package({"S": sheet(rows), "Weights": sheet("".join(others))})
    recalculate(book)
    return book


def copied_down(book: Package) -> dict[str, Value]:
    """The sheet's values after copies of two rows were put below them."""
    edit(book, parse_sheets(book), "S", {}, rows=[NewRow(row, 8 + row % 2, {1: float(row)}) for row in NEW])
    return cached(book)


ALL_BUT_ONE = {row: 9.0 if row == NEW[0] else 1.0 for row in range(1, 20)}
EACH_ITS_OWN = {row: row * 3.0 for row in range(1, 20)}


@pytest.mark.parametrize("weights", [ALL_BUT_ONE, EACH_ITS_OWN])
@pytest.mark.parametrize("formula", ["Weights!B{0}*2+A{0}", "Weights!$B{0}*2+$A{0}"])
def test_a_copied_row_reads_its_own_row_of_another_sheet(formula: str, weights: Mapping[int, float]) -> None:
    """Of several copies of a row each has its own weight."""
    values = copied_down(weighed(formula, weights))
    assert {row: values[f"B{row}"] for row in NEW} == {row: weights[row] * 2 + row for row in NEW}


def test_a_fixed_cell_in_the_first_new_row() -> None:
    """A formula that reads a fixed cell of a row that is new reads it from every copy."""
    values = copied_down(weighed(f"A{{}}*10+$A${NEW[0]}", {}, 0.0))
    assert {row: values[f"B{row}"] for row in NEW} == {row: row * 10.0 + NEW[0] for row in NEW}


@pytest.mark.parametrize("saved", ["<v>-1</v>", ""])
def test_what_a_row_was_copied_from_is_the_evidence(saved: str) -> None:
    """Where the copied row's saved value isn't what its formula gives, or there is none, the engine is asked."""
    book = weighed("A{0}*Weights!$B$2", EACH_ITS_OWN, 8.0)
    rows, part = [NewRow(row, 8, {1: float(row)}) for row in NEW], book.sheets()["S"]

    def known() -> dict[Address, Value]:
        sheets = parse_sheets(book)
        new = NewRows.of(sheets["S"], "S", rows)
        return row_values(sheets, dependents(book, sheets, [], new.places), Edits({}, {}, new)).new

    assert known() == {("S", f"B{row}"): row * 6.0 for row in NEW}
    book.replace(part, book.parts[part].replace(b"<v>48</v>", saved.encode()))
    assert known() == {}
    edit(book, parse_sheets(book), "S", {}, rows=rows)
    assert {row: cached(book)[f"B{row}"] for row in NEW} == {row: row * 6.0 for row in NEW}


def test_each_formula_is_computed_once_for_all_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many copies of a row there are: once for the row itself, and once for all of them."""
    n_rows = list[int]()

    def counted(formula: RowFormula, columns: Mapping[int, ColumnCells], fixed: Fixed) -> ColumnCells | None:
        n_rows.append(len(columns[1].numbers))
        return compute(formula, columns, fixed)

    compute = alike_rows.computed
    monkeypatch.setattr(alike_rows, "computed", counted)
    copied_down(weighed("A{0}*Weights!$B$2", dict.fromkeys(range(1, 20), 2.0)))
    assert sorted(n_rows) == [1, 1, 2, 2]  # of two rows two copies each


def typed(**cells: float | str) -> str:
    """One row of each number, of numbers and formulas."""
    rows: dict[int, str] = {}
    for ref, content in cells.items():
        row = int(ref[1:])
        inner = f"<f>{content}</f>" if isinstance(content, str) else f"<v>{content}</v>"
        rows[row] = rows.get(row, "") + f'<c r="{ref}">{inner}</c>'
    return "".join(f'<row r="{row}">{content}</row>' for row, content in sorted(rows.items()))


@pytest.mark.parametrize("like", [{"C1": "B1", "C2": "B2"}, {"C1": "C3", "C2": "C3"}, {}])
def test_a_new_formula_reads_what_its_row_holds(like: dict[str, str]) -> None:
    """A formula put into a row of the sheet has the value of the cells there, whatever it was made like."""
    book = package({"S": sheet(typed(A1=7.0, B1="$A1*2", A2=3.0, B2="$A2+1"))})
    recalculate(book)
    like = like or {"C1": "A1", "C2": "A1"}
    edit(book, parse_sheets(book), "S", {"C1": CellFormula("$A1*2"), "C2": CellFormula("$A2+1")}, like)
    values = cached(book)
    assert (values["C1"], values["C2"]) == (14.0, 4.0)


def test_a_formula_that_an_edit_adds_has_a_value() -> None:
    """A workbook that was saved with a formula more than before."""
    before = package({"S": sheet(typed(A1=7.0, B1="$A1*2"))})
    recalculate(before)
    book = Package.from_bytes(before.to_bytes(), "book.xlsx")
    page = parse_sheets(book)["S"]
    book.replace(book.sheets()["S"], with_values(page, {"C1": CellFormula("$A1*2")}, {"C1": "B1"}))
    recalculate_edited(book, before)
    assert cached(book)["C1"] == 14.0


def test_a_new_formula_reads_cells_that_were_in_its_row() -> None:
    """Copied from a row above into one in which something is typed already, or computed."""
    book = package({"S": sheet(typed(A1=7.0, B1="A1*2", C1="D1+E1", D1=1.0, E1="A1*3", A3=2.0, D3=99.0, E3="A3*3"))})
    recalculate(book)
    contents = {"A3": 4.0, "B3": CellFormula("A3*2"), "C3": CellFormula("D3+E3")}
    edit(book, parse_sheets(book), "S", contents, {"B3": "B1", "C3": "C1"})
    values = cached(book)
    assert (values["B3"], values["C3"], values["E3"]) == (8.0, 111.0, 12.0)
    assert not any(isinstance(value, CellError) for value in values.values())


def test_a_formula_that_reads_a_new_one() -> None:
    """What stood in the row before follows a formula that is put into a cell that was blank."""
    book = package({"S": sheet(typed(A1=7.0, B1="C1*2", D1="B1+A1"))})
    recalculate(book)
    edit(book, parse_sheets(book), "S", {"C1": CellFormula("$A1*3")}, {"C1": "A1"})
    assert cached(book) == {"A1": 7.0, "B1": 42.0, "C1": 21.0, "D1": 49.0}


def test_a_row_whose_saved_value_is_another_is_left_to_the_engine() -> None:
    """A formula that doesn't give what the last program saved is not trusted with a new value either."""
    before = package({"S": sheet(typed(A1=1.0, B1="A1+1", A2=1.0, B2="A2+1"))})
    recalculate(before)
    part = before.sheets()["S"]
    before.replace(part, before.parts[part].replace(b"<v>2</v>", b"<v>5</v>", 1))
    book = edited(before, A1=3.0, A2=3.0)
    result = recalculate_edited(book, before)
    assert (cached(book)["B1"], cached(book)["B2"]) == (None, 4.0)
    assert [(skip.ref, skip.reason) for skip in result.skipped] == [("B1", "the engine has 2.0, not 5.0")]


def test_a_fixed_cell_that_the_edit_reaches() -> None:
    """Rows that read a formula elsewhere, which the same edit changes, have its new value."""
    before = package({"S": sheet(typed(A1=1.0, B1="A1*$C$9", A2=2.0, B2="A2*$C$9", A9=10.0, C9="A9*2"))})
    recalculate(before)
    book = edited(before, A1=3.0, A9=100.0)
    recalculate_edited(book, before)
    assert [cached(book)[ref] for ref in ("B1", "B2", "C9")] == [600.0, 400.0, 200.0]

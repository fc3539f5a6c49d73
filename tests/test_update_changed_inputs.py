"""`planner update` where a constant of a template is an input now, or an input a constant."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest
from openpyxl.workbook.defined_name import DefinedName

from planner.book.read_plan import read_plan
from planner.update.outcome import lines
from planner.update.update import update_file
from planner.xlsx.moves import Moves, SheetMoves, Track
from tests.merges import FEW, SMALL, brought, fixture_built, fixture_small  # noqa: F401
from tests.workbooks import SheetsOf, cached, row_of, save

pytestmark = pytest.mark.usefixtures("few_cases")
NOW_INPUT = SMALL.replace("row_scale,Scale,1,constant,2,test,", "row_scale,Scale,1,input,2,test,as agreed")
NOW_LOOKED_UP = SMALL.replace("batch_rows,Rows,1,input,4,test,", "batch_rows,Rows,1,model,n_layers,models.csv,")
NOW_CONSTANT = SMALL.replace("batch_cost,Cost of a row,USD,input", "batch_cost,Cost of a row,USD,constant")


def edited(path: Path, name: str, *contents: str) -> int:
    """An own sheet with these formulas, in which {} is the row of an input or a constant; returns that row."""
    book = openpyxl.load_workbook(path)
    row = row_of(book, "Inputs", name)
    own = book.create_sheet("Own")
    for at, content in enumerate(contents, start=1):
        own.cell(at, 1).value = content.format(row)
    book.defined_names["mine"] = DefinedName("mine", attr_text=f"Inputs!$D${row}")
    save(book, path)
    return row


def formulas(path: Path) -> tuple[list[object], str]:
    """What stands on the own sheet, and what the name stands for."""
    book = openpyxl.load_workbook(path)
    return [cell.value for cell in book["Own"]["A"]], book.defined_names["mine"].attr_text


def test_a_constant_that_is_an_input(small: tuple[Path, Path]) -> None:
    """What read the constant reads the first scenario's number, and is named; a range leaves the row out."""
    path, own = small
    edited(path, "row_scale", "=Inputs!D{0}", "=2*Inputs!$D${0}", "=Inputs!C{0}", "=SUM(Inputs!D{0}:E{0})")
    own.write_text(NOW_INPUT)
    done, _ = update_file(path, [str(own)], FEW)
    row = row_of(SheetsOf(path), "Inputs", "row_scale")
    read = [f"=Inputs!F{row}", f"=2*Inputs!$F${row}", f"=Inputs!C{row}", "=SUM(Inputs!#REF!)"]
    assert formulas(path) == (read, f"Inputs!$F${row}")
    assert cached(path)["Own"]["A2"] == 4
    said = "read the constant row_scale, now an input per scenario: it reads the first scenario's"
    assert {f"Own!A1 {said}", f"Own!A2 {said}", f"the name mine {said}"} <= set(done.remarks)
    assert len(done.remarks) == 4  # and the range


def test_an_input_that_is_a_constant(small: tuple[Path, Path]) -> None:
    """What read a scenario's number reads the constant, and is named; no number typed for it stands beside that.

    Those are listed one and all.
    """
    path, own = small
    row = edited(path, "batch_cost", "=Inputs!F{0}", "=Inputs!D{0}&Inputs!E{0}")
    book = openpyxl.load_workbook(path)
    book["Inputs"].cell(row, 6).value = 9
    book["Inputs"].cell(row, 4).value = "as agreed"
    book["Mine"].cell(row_of(book, "Mine", "total_rows"), 6).value = f"=Inputs!F{row}*5"
    save(book, path)
    own.write_text(NOW_CONSTANT)
    done, _ = update_file(path, [str(own)], FEW)
    book = SheetsOf(path)
    row = row_of(book, "Inputs", "batch_cost")
    assert formulas(path)[0] == [f"=Inputs!D{row}", f"=Inputs!E{row}&Inputs!E{row}"]
    assert [book["Inputs"].cell(row, column).value for column in (4, 6)] == [3, None]
    typed = [f"Inputs!D{row} (batch_cost): as agreed", f"Inputs!F{row} (batch_cost): 9"]
    assert done.unasked == typed
    said = "read the input batch_cost, now one constant for all scenarios: it reads the constant"
    there = f"Mine!F{row_of(book, 'Mine', 'total_rows')}"
    assert sorted(done.remarks) == [f"{there} {said}", f"Own!A1 {said}"]
    in_full = ", ".join(typed).replace("Inputs!", "")
    assert f"Typed, but the template asks for it no more: Inputs {in_full}" in lines(done, 1)


def test_a_constant_that_a_person_changed(small: tuple[Path, Path]) -> None:
    """Its number is no note of the input: each scenario has the template's, and the number is listed."""
    path, own = small
    book = openpyxl.load_workbook(path)
    book["Inputs"].cell(row_of(book, "Inputs", "row_scale"), 4).value = 7
    save(book, path)
    own.write_text(NOW_INPUT)
    done, _ = brought(path, own)
    row = row_of(SheetsOf(path), "Inputs", "row_scale")
    assert done.unasked == [f"Inputs!D{row} (row_scale): 7"]
    entry = next(entry for entry in read_plan(path).inputs if entry.name == "row_scale")
    assert [cell.value for cell in entry.cells.values()] == [2]


def test_a_cell_with_no_counterpart_is_lost() -> None:
    """A number that nobody has typed yet is nowhere: what read the constant is #REF!, and said to be."""
    moves = Moves({"Inputs": SheetMoves("Inputs", Track({5: 9}), redirections={5: {4: None}})})
    assert moves.formula("Inputs!D5+Inputs!A5", "Own") == "Inputs!#REF!+Inputs!A9"
    assert moves.lost("Inputs!D5+Inputs!A5", "Own") == ["Inputs!D5"]


@pytest.mark.parametrize("typed", [None, 7])
def test_an_input_that_is_looked_up(small: tuple[Path, Path], typed: float | None) -> None:
    """Its number stays, typed or not: a workbook with planner's default is the one of a person who gave that number.

    One that planner wrote is told, with what to do to have the looked-up number; a typed one is listed as all are.
    """
    path, own = small
    if typed is not None:
        book = openpyxl.load_workbook(path)
        book["Inputs"].cell(row_of(book, "Inputs", "batch_rows"), 6).value = typed
        save(book, path)
    own.write_text(NOW_LOOKED_UP)
    done, _ = update_file(path, [str(own)], FEW)
    book = openpyxl.load_workbook(path)
    row = row_of(book, "Inputs", "batch_rows")
    assert book["Inputs"].cell(row, 6).value == (typed or 4)
    said = f"Inputs!F{row} (batch_rows: 4), as planner wrote it; it is looked up now: blank the cell to have it so"
    assert (said in done.remarks) == (typed is None)
    assert (f"Inputs!F{row} (batch_rows: 7)" in done.typed) == (typed is not None)

"""Cached values of an edited workbook: what the edit reaches is computed anew, all else keeps what was saved.

A1 is edited; B1 and C1 depend on it; the cells in row 2 don't.
"""

from __future__ import annotations

import io

import openpyxl
import pytest
from openpyxl.worksheet.table import Table

from planner.recalc import Recalculated, edit, recalculate
from planner.xlsx.cellvalue import NA, CellError, CellFormula, Value
from planner.xlsx.opc import Package
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.workbook_part import parse_sheets
from tests.recalcs import cached, edited, recalculate_edited
from tests.xlsx_samples import package, sheet

SAVED = (
    '<row r="1"><c r="A1"><v>1</v></c><c r="B1"><f>A1+1</f><v>2</v></c>'
    '<c r="C1"><f>B1*2</f><v>4</v></c></row>'
    '<row r="2"><c r="A2"><v>1</v></c><c r="B2"><f>A2/3</f><v>0.333333333333</v></c>{more}</row>'
)


def after_edit(more: str) -> tuple[dict[str, Value], Recalculated]:
    """The values of the cells, `more` among them, when A1 is made 5; and what was computed."""
    before = package({"S": sheet(SAVED.format(more=more))})
    book = edited(before, A1=5)
    result = recalculate_edited(book, before)
    return cached(book), result


def test_edits_change_what_they_reach() -> None:
    """Of an edited workbook only the formulas that the edit reaches are rewritten, to the byte."""
    before = package({"S": sheet(SAVED.format(more=""))})
    book = edited(before, A1=5)
    result = recalculate_edited(book, before)
    assert result.n_changed == 2
    assert book.parts["xl/worksheets/sheet1.xml"] == before.parts["xl/worksheets/sheet1.xml"].replace(
        b"<v>1</v>", b"<v>5</v>", 1
    ).replace(b"<v>2</v>", b"<v>6</v>").replace(b"<v>4</v>", b"<v>12</v>")


def test_an_unreached_formula_that_the_engine_does_not_know_keeps_its_value() -> None:
    """Its saved value stays, and serves what depends on it and on the edit."""
    more = '<c r="C2"><f>NOSUCH(A2)</f><v>100</v></c><c r="D2"><f>C2+A1</f><v>101</v></c>'
    values, result = after_edit(more)
    assert [values[ref] for ref in ("B1", "C2", "D2")] == [6.0, 100.0, 105.0]
    assert result.skipped == []


def test_a_kept_value_is_named() -> None:
    """What the engine was asked for and doesn't know keeps its value if the edit doesn't reach it, and is named."""
    more = '<c r="C2"><f>NOSUCH(A2)</f><v>100</v></c></row><row r="3"><c r="C3"><f>A1</f><v>1</v></c>'
    values, result = after_edit(more)
    assert [values[ref] for ref in ("B1", "C2", "C3")] == [6.0, 100.0, 5.0]
    assert [skip.ref for skip in result.kept] == ["C2"]
    assert "1 keeps the value that the last program saved" in result.note


def test_a_reached_formula_that_the_engine_does_not_know_loses_its_value() -> None:
    """Neither a stale nor a guessed value stays, in what depends on it neither."""
    more = '<c r="C2"><f>NOSUCH(A1)</f><v>100</v></c><c r="D2"><f>IFERROR(C2,0)</f><v>100</v></c>'
    values, result = after_edit(more)
    assert [values[ref] for ref in ("B1", "B2", "C2", "D2")] == [6.0, 0.333333333333, None, None]
    assert [skip.ref for skip in result.skipped] == ["C2", "D2"]


def test_a_formula_that_the_engine_gets_wrong_is_not_trusted() -> None:
    """Where the engine doesn't reproduce the saved value, its new one isn't written."""
    more = '<c r="C2"><f>SUMPRODUCT(--ISNUMBER(A1:A2))*A1</f><v>2</v></c>'  # formualizer 0.13 has 0
    values, result = after_edit(more)
    assert values["C2"] in (None, 10.0)
    assert values["C2"] == 10.0 or "not 2" in result.skipped[0].reason


def test_array_formulas_over_several_cells() -> None:
    """They keep the values that were saved unless the edit reaches them; then all their cells lose them."""
    more = (
        '<c r="C2"><f t="array" ref="C2:D2">A2:B2*2</f><v>2</v></c><c r="D2"><v>0.66</v></c>'
        '<c r="E2"><f t="array" ref="E2:F2">A1:B1*2</f><v>2</v></c><c r="F2"><v>4</v></c>'
        '<c r="G2"><f>F2+1</f><v>5</v></c>'
    )
    values, _ = after_edit(more)
    assert [values[ref] for ref in ("C2", "D2", "E2", "F2", "G2")] == [2.0, 0.66, None, None, None]


def test_clocks_and_dice_are_no_evidence() -> None:
    """A saved RAND() can't be reproduced; what depends on it is computed all the same."""
    more = '<c r="C2"><f>RAND()</f><v>0.5</v></c><c r="D2"><f>IF(C2&lt;2,A1,0)</f><v>1</v></c>'
    values, result = after_edit(more)
    assert values["D2"] == 5.0
    assert (result.skipped, result.kept) == ([], [])


def test_errors_follow() -> None:
    """A cell that had a number has an error after the edit of what it reads."""
    before = package({"S": sheet(SAVED.format(more=""))})
    book = edited(before, A1=NA)
    recalculate_edited(book, before)
    assert [ref for ref, value in cached(book).items() if isinstance(value, CellError)] == ["A1", "B1", "C1"]


def test_names_and_indirect_references_are_reached() -> None:
    """An edit reaches through defined names and INDIRECT too; what is volatile may depend on any doubt."""
    more = (
        '<c r="C2"><f>SUM(things)</f><v>2</v></c><c r="D2"><f>INDIRECT("A1")*NOSUCH(1)</f><v>1</v></c>'
        '<c r="E2"><f>SUM(things)+NOSUCH(1)</f><v>3</v></c><c r="F2"><f>OFFSET(A2,-1,0)</f><v>1</v></c>'
    )
    names = '<definedNames><definedName name="things">S!$A$1:$A$2</definedName></definedNames>'
    before = package({"S": sheet(SAVED.format(more=more))}, tail=names)
    book = edited(before, A1=5)
    recalculate_edited(book, before)
    assert [cached(book)[ref] for ref in ("C2", "D2", "E2", "F2")] == [6.0, None, None, None]


def test_a_new_formula_that_reads_itself_spoils_nothing() -> None:
    """It has no value, and all else that the edit reaches has."""
    book = package({"S": sheet(SAVED.format(more='<c r="C2"><f>D1+1</f><v>1</v></c>'))})
    contents = {"A1": 5.0, "D1": CellFormula("D1"), "E1": CellFormula("C1*2")}
    result = edit(book, parse_sheets(book), "S", contents)
    assert [cached(book)[ref] for ref in ("B1", "C1", "D1", "E1")] == [6.0, 12.0, None, 24.0]
    assert sorted(skip.ref for skip in result.skipped) == ["C2", "D1"]


@pytest.mark.parametrize("empty", ["", "<v></v>", "<v/>"])
def test_what_has_no_value_is_given_one(empty: str) -> None:
    """However a program says that a formula has no value, it has one after an edit that doesn't reach it."""
    book = package({"S": sheet(SAVED.format(more="").replace("<v>0.333333333333</v>", empty))})
    edit(book, parse_sheets(book), "S", {"A1": 5.0})
    assert cached(book)["B2"] == pytest.approx(1 / 3)


def test_the_bare_name_of_a_table_is_reached() -> None:
    """An edit in a table, or of what its formulas read, reaches what reads all of it by its name, on any sheet."""
    book = openpyxl.Workbook()
    data, mine, other = book.active, book.create_sheet("Mine"), book.create_sheet("Other")
    data["A1"], data["C1"], other["A1"] = 1, "=SUM(U)", "=SUM(T)"
    for row in (("n",), (f"={data.title}!A2*2",)):
        mine.append(row)
    data["A4"], data["A5"] = "m", 3
    mine.add_table(Table(displayName="T", ref="A1:A2"))
    data.add_table(Table(displayName="U", ref="A4:A5"))
    file = io.BytesIO()
    book.save(file)
    package = Package.from_bytes(file.getvalue(), "x")
    recalculate(package)
    edit(package, parse_sheets(package), data.title, {"A2": 10.0, "A5": 4.0})
    found = {name: cells.cells for name, cells in parse_sheets(package).items()}
    assert (found[data.title]["C1"].value, found["Other"]["A1"].value) == (4.0, 20.0)


@pytest.mark.parametrize(
    ("formula", "saved", "now"),
    [
        ('SUMIF(A1:A3,"&gt;0",C1)', 6, 10.0),
        ('SUMIF(A1:A3,"&gt;0",C1:C1)*2', 12, 20.0),
        ('AVERAGEIF(A1:A3,"&gt;0",C1)', 2, 10 / 3),
        ("SUM(c1:c3)", 6, 10.0),
        ("SUM(C1:INDEX(C2:C3,2))", 6, 10.0),
    ],
)
def test_what_is_read_beyond_what_is_said(formula: str, saved: float, now: float) -> None:
    """A cell that a formula reads and doesn't name changes: its value is the new one, or is left to another program."""
    own = f'<c r="E1"><f>{formula}</f><v>{saved}</v></c><c r="F1"><f>E1+1</f><v>{saved + 1}</v></c>'
    rows = '<row r="{0}"><c r="A{0}"><v>1</v></c><c r="C{0}"><v>{0}</v></c>{1}</row>'
    before = package({"S": sheet("".join(rows.format(row, own if row == 1 else "") for row in (1, 2, 3)))})
    book = edited(before, C2=6.0)
    recalculate_edited(book, before)
    assert (cached(book)["E1"], cached(book)["F1"]) in [(now, now + 1), (None, None)]


def test_an_address_that_is_computed_is_read_though_many_cells_are_typed() -> None:
    """INDIRECT and OFFSET read cells that they don't name, on a sheet without a formula."""
    typed = "".join(
        f'<row r="{row}"><c r="A{row}"><v>1</v></c><c r="B{row}"><v>1</v></c></row>' for row in range(1, 10)
    )
    read = {
        "A1": 'SUM(INDIRECT("S!A1:A9"))',
        "A2": "SUM(OFFSET(S!$B$1,0,-1,9,1))",
    }
    formulas = "".join(f'<row r="{ref[1:]}"><c r="{ref}"><f>{text}</f><v>9</v></c></row>' for ref, text in read.items())
    before = package({"S": sheet(typed), "T": sheet(formulas)})
    book = edited(before, **{f"A{row}": 2 for row in range(1, 10)})
    recalculate_edited(book, before)
    found = SheetXml(book.parts["xl/worksheets/sheet2.xml"])
    assert {ref: found.cells[ref].value for ref in read} == dict.fromkeys(read, 18.0)

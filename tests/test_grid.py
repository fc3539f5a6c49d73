"""Sheets written as text: every cell reads back as it was put, and a formula has the engine's value or none."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import date

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.comments import Comment
from openpyxl.worksheet.table import Table, TableColumn

from planner.recalc import recalculate
from planner.recalc.built_values import values_of
from planner.workbook import cell_styles, saving
from planner.workbook.build_plan import BuildPlan
from planner.workbook.cell_styles import GREY, RED
from planner.workbook.page import Live, Page
from planner.xlsx.cellvalue import NA, Value
from planner.xlsx.grid import HERE, Grid
from planner.xlsx.opc import Package
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.workbook_part import parse_sheets
from tests.workbooks import built, comparison
from tests.xlsx_samples import package, sheet

TYPED: st.SearchStrategy[Value] = (
    st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.text(max_size=8)
    | st.sampled_from([NA, None, "_x0041_", " a ", "a\nb", "=1+1", "<&>\"'"])
)


def read(grid: Grid, values: list[list[Value]] | None = None) -> SheetXml:
    """The sheet of a grid, read again."""
    return SheetXml(sheet("").encode().replace(b"<sheetData></sheetData>", grid.sheet_data(values)))


def filled(*formulas: str, rows: str = "") -> tuple[Grid, Package]:
    """A sheet with these formulas in A1, A3, A5 ..., which leave room for arrays, and its workbook."""
    grid = Grid()
    for at, text in enumerate(formulas):
        grid.put_formula(1 + 2 * at, 1, text, 0)
    return grid, package({"S": sheet(grid.sheet_data().decode()[11:-12] + rows)})


@given(st.dictionaries(st.tuples(st.integers(1, 9), st.integers(1, 40)), TYPED, max_size=20))
def test_typed_values_read_back(cells: dict[tuple[int, int], Value]) -> None:
    """Whatever is typed reads back as the same value; an empty text is an empty cell."""
    grid = Grid()
    for (row, column), value in cells.items():
        grid.put(row, column, value, 3)
    found = read(grid).cells
    assert len(found) == len(cells)
    for (row, column), value in cells.items():
        cell = found[f"{openpyxl.utils.get_column_letter(column)}{row}"]
        assert cell.value == (None if value == "" else value)


@given(st.lists(TYPED.filter(lambda value: value is not None), max_size=8))
def test_values_of_formulas_read_back(values: list[Value]) -> None:
    """A formula keeps its text, < and & included, and has the value that it was given, of its type."""
    grid = Grid()
    for column in range(1, len(values) + 1):
        grid.put_formula(2, column, 'IF(A1<"&",1,2)', 0)
    cells = read(grid, [[], values]).cells.values()
    assert [cell.value for cell in cells] == values
    assert {cell.formula for cell in cells} <= {'IF(A1<"&",1,2)'}


def test_a_copied_formula() -> None:
    """A formula copied to the right or downward names in each cell the cell's own column, or its own row."""
    grid = Grid()
    grid.put_across(7, range(6, 29), f'IF({HERE}3<"",Inputs!{HERE}$4,{HERE}$5)', 1)
    grid.put_down(2, (8, 9, 10), f"$A{HERE}*C{HERE}&1", 2)
    cells = read(grid).cells
    assert {cells[ref].formula for ref in ("B8", "B9", "B10")} == {"$A8*C8&1", "$A9*C9&1", "$A10*C10&1"}
    assert cells["F7"].formula == 'IF(F3<"",Inputs!F$4,F$5)'
    assert cells["AB7"].formula == 'IF(AB3<"",Inputs!AB$4,AB$5)'
    assert len(cells) == 23 + 3


def test_attributes_of_rows() -> None:
    """A row has its attributes, with cells or without."""
    grid = Grid()
    grid.put(2, 1, 1.0, 0)
    xml = grid.sheet_data(rows={2: {"ht": "42"}, 4: {"hidden": "1"}})
    assert b'<row r="2" ht="42"><c r="A2" s="0"><v>1</v></c></row><row r="4" hidden="1"></row>' in xml


def test_what_the_engine_does_not_know_has_no_value() -> None:
    """Neither an unknown function nor what depends on it has a value, and both say why; the others have theirs."""
    grid, book = filled("1+1", "NOSUCH(1)", "A3*2", "A1*2")
    found = values_of(book, {"S": grid})
    assert [found.values["S"][row][0] for row in (0, 2, 4, 6)] == [2.0, None, None, 4.0]
    assert found.doubts.keys() == {("S", "A3"), ("S", "A5")}


def test_an_array_has_no_value() -> None:
    """A plain formula whose result is an array is one value in Excel's file and another in the engine."""
    for text in ("B9:C10", "INDEX(B9:C10,0,1)", "INDEX(B9:C10,1,0)"):
        grid, book = filled(text, rows='<row r="9"><c r="B9"><v>1</v></c></row>')
        assert ("S", "A1") in values_of(book, {"S": grid}).doubts, text


def test_an_array_without_room_has_no_value() -> None:
    """Where the cells beside it are taken, the engine itself refuses an array."""
    grid = Grid()
    for at in range(1, 4):
        grid.put_formula(at, 1, "INDEX(D1:E2,0,0)" if at == 2 else "1", 0)
        grid.put_formula(at, 2, "2", 0)
    assert ("S", "A2") not in {("S", f"A{row}") for row, column in grid.may_spill() if column == 1}
    assert ("S", "A2") in values_of(package({"S": sheet(grid.sheet_data().decode()[11:-12])}), {"S": grid}).doubts


def written_pages() -> Package:
    """A page with everything that openpyxl writes elsewhere: a link, a note, a table, a height, a format, a date."""
    book = cell_styles.new_book()
    page = Page(book, "Cover", "Title", "Purpose")
    page.put(3, 1, "first", "plan_header")
    page.put(3, 2, "second", "plan_header")
    for row in (4, 5):
        page.put(row, 1, row, "plan_input", "0.00")
        page.put(row, 2, Live(f"A{row}*2"), "plan_formula", "0.0%")
    page.put(4, 4, date(2026, 1, 2), "plan_fact", "yyyy-mm-dd")
    page.put(5, 4, "=typed", "plan_text")
    page.put(6, 4, "overwritten", "plan_text")
    page.put(6, 4, Live("1+1"), "plan_formula")
    page.link(4, 2, "Cover", "A1")
    page.link(8, 1, "Cover", "B4")
    page.put(8, 1, "a note that is so long that it takes a second line", "plan_told")
    for reference, ink in (("A4:A5", RED), ("B4", GREY), ("B5", RED)):
        page.colour(reference, "TRUE", ink=ink)
    page.fit()
    page.sheet.cell(row=5, column=1).comment = Comment("where from", "me")
    heads = [TableColumn(id=1, name="first"), TableColumn(id=2, name="second")]
    page.sheet.add_table(Table(displayName="T", ref="A3:B5", tableColumns=heads))
    page.sheet.row_dimensions[3].height = 42
    done = saving.write(book, [page])
    done.put_values(values_of(done.package, done.grids).values)
    return done.package


def test_pages_read_back() -> None:
    """openpyxl and the engine read a written page as it was meant: links, notes, tables, heights, formats, values."""
    made = written_pages()
    data = made.to_bytes()
    book, values = openpyxl.load_workbook(io.BytesIO(data)), openpyxl.load_workbook(io.BytesIO(data), data_only=True)
    page = book["Cover"]
    assert (page["B5"].value, page["B5"].number_format, values["Cover"]["B5"].value) == ("=A5*2", "0.0%", 10)
    assert (page["D5"].value, page["D5"].data_type, page["D5"].quotePrefix) == ("=typed", "s", True)
    assert (page["D6"].value, values["Cover"]["D6"].value) == ("=1+1", 2)
    assert page["D4"].value.date() == date(2026, 1, 2)
    assert page["B4"].hyperlink.location == "Cover!A1"
    assert page["A8"].hyperlink.location == "Cover!B4", "a link stays when its text is put after it"
    assert page.row_dimensions[8].height > 15
    inks = [rule.dxf.font.color.rgb for format in page.conditional_formatting for rule in format.rules]
    assert inks == [RED, GREY, RED]
    assert page["A5"].comment.text == "where from"
    assert page.tables["T"].column_names == ["first", "second"]
    assert page.row_dimensions[3].height == 42
    assert page.dimensions == "A1:D8"
    assert recalculate(made).n_changed == 0


@pytest.mark.parametrize("made_by", [comparison, pytest.param(built, marks=pytest.mark.slow)])
def test_built_by_the_same_rules_as_recalculated(made_by: Callable[[], tuple[BuildPlan, bytes]]) -> None:
    """A build writes, to the byte, what a recalculation of the workbook writes, and leaves no formula without a value.

    This holds for one template, and for the default workbook.
    """
    made = Package.from_bytes(made_by()[1], "plan")
    before = dict(made.parts)
    recalculate(made)
    assert made.parts == before
    assert all(cell.value is not None for sheet in parse_sheets(made).values() for cell in sheet.cells.values()
               if cell.kind)  # fmt: skip

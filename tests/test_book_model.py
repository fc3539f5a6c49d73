"""The model of a workbook on disk: which sheets are planner's, and what is read of a sheet."""

from __future__ import annotations

import pytest

from planner.book.sheet import Sheet
from planner.book.workbook import Book
from planner.xlsx.opc import Package
from planner.xlsx.pattern import pattern
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.workbook_part import add_sheet
from tests.workbooks import small

HEAD = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'


@pytest.mark.parametrize("template", ["transformer", "matmul"])
def test_constraints_are_planners(template: str) -> None:
    """The sheet Constraints is planner's where Checks and Dashboard read it and where they don't; its copy is not."""
    models = ("llama3-8b",) if template == "transformer" else ()
    package = Package.from_bytes(small(models, ("tpu-v5e",), (), (template,))[1], "plan.xlsx")
    add_sheet(package, "Constraints Copy", package.parts[package.sheets()["Constraints"]], "Constraints")
    book = Book(package)
    assert ("Constraints" in book.read) == (template == "matmul")
    assert [table.sheet.name for table in book.constraints] == ["Constraints"]
    assert "Constraints" in book.designed
    assert "Constraints Copy" in book.sheets
    assert "Constraints Copy" not in {sheet.name for sheet in book.our_sheets}


def test_a_sheet_in_values_and_patterns() -> None:
    """Blank cells have no value and blank texts are not filled; copies to the right and down share a pattern."""
    rows = (
        b'<row r="2"><c r="A2"><f>B2*$D$1</f><v>6</v></c><c r="B2"><f>C2*$D$1</f></c><c r="C2" s="1"/></row>'
        b'<row r="3"><c r="A3"><f>B3*$D$1</f><v>1</v></c><c r="B3" t="str"><v></v></c><c r="C3"><v>7</v></c></row>'
    )
    sheet = Sheet("Mine", 0, SheetXml(HEAD + rows + b"</sheetData></worksheet>"))
    assert sheet.values == {(2, 1): 6.0, (3, 1): 1.0, (3, 2): "", (3, 3): 7.0}
    assert sheet.filled == {2: [1, 2], 3: [1, 3]}
    assert set(sheet.patterns.values()) == {pattern("B2*$D$1", 2, 1)}
    assert [at for at in sheet.cells if sheet.is_typed(*at)] == [(3, 3)]


def test_nothing_is_read_before_it_is_asked_for() -> None:
    """A sheet's cells and formulas are not parsed by making it: a person's large sheet costs nothing."""
    sheet = Sheet("Mine", 0, SheetXml(HEAD + b'<row r="1"><c r="A1"><v>1</v></c></row></sheetData></worksheet>'))
    assert not {"cells", "values", "patterns"} & vars(sheet).keys()

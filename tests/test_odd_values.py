"""A cell whose value no program reads takes only what reads it out of what can be computed."""

from __future__ import annotations

import pytest

from planner.recalc import recalculate
from planner.xlsx.workbook_part import parse_sheets
from tests.xlsx_samples import package, read_cells, sheet

ODD = {
    "a text that there is not": 't="s"><v>99999</v>',
    "no number of a text": 't="s"><v>x</v>',
    "an error of tomorrow": 't="e"><v>#FOO!</v>',
    "a kind of tomorrow": 't="zz"><v>3</v>',
    "no date": 't="d"><v>nonsense</v>',
    "no hour": 't="d"><v>2020-01-01T25:00:00</v>',
}


@pytest.mark.parametrize("kind", ODD)
def test_only_what_reads_it_is_in_doubt(kind: str) -> None:
    """All other formulas have their values, and the cell stays as it is."""
    odd = f'<c r="A1" {ODD[kind]}</c>'
    formulas = '<c r="B1"><f>A1+1</f><v>5</v></c><c r="C1"><f>1+1</f></c>'
    book = package({"Mine": sheet(f'<row r="1">{odd}{formulas}</row>')})
    done = recalculate(book)
    cells = parse_sheets(book)["Mine"].cells
    assert [skip.ref for skip in done.skipped] == ["B1"]
    assert (cells["B1"].value, cells["C1"].value) == (None, 2.0)
    assert odd.encode() in book.parts["xl/worksheets/sheet1.xml"]


def test_a_time_without_a_day_is_a_part_of_one() -> None:
    """A time as ISO has it is a number, as a date is."""
    row = '<row r="1"><c r="A1" t="d"><v>12:30:00</v></c><c r="B1"><f>A1*24</f></c></row>'
    book = package({"Mine": sheet(row)})
    assert not recalculate(book).skipped
    assert parse_sheets(book)["Mine"].cells["B1"].value == pytest.approx(12.5)


def test_the_number_of_a_text_that_there_is_not() -> None:
    """It is what the cell holds."""
    xml = sheet('<row r="1"><c r="A1" t="s"><v>1</v></c><c r="B1" t="s"><v>x</v></c></row>').encode()
    assert [cell.value for cell in read_cells(xml, ["one"])] == ["1", "x"]

"""`planner update`: columns that a person put between planner's stay between them."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from planner.book.read_plan import read_plan
from planner.check.run import check
from planner.compare import comparison_sheet as comparison
from planner.update.update import update_file
from planner.xlsx.address import column_letters
from planner.xlsx.moves import Track
from planner.xlsx.opc import Package
from planner.xlsx.worksheet import Worksheet, take_widths
from tests.edits.catalogue import Edit, Expected, Step
from tests.edits.programs import by_office, needs_office
from tests.test_update import GOLDEN

HEADER = 5


@pytest.mark.slow
@needs_office
def test_they_stay_beside_their_neighbours(tmp_path: Path) -> None:
    """A column of notes in the Comparison, one on Inputs between two scenarios: the neighbour at the left is the same.

    What stands in them stays, every formula reads what it read, and widths go with their columns.
    """
    path, new = tmp_path / "plan.xlsx", tmp_path / "new.xlsx"
    steps: list[Step] = [
        {"do": "insert_columns", "sheet": "Comparison", "at": 4, "count": 1},
        {"do": "type", "sheet": "Comparison", "cell": "D5", "value": "Asked by"},
        {"do": "type", "sheet": "Comparison", "cell": "D7", "value": "the team"},
        {"do": "insert_columns", "sheet": "Inputs", "at": 7, "count": 1},
        {"do": "type", "sheet": "Inputs", "cell": "G10", "value": "look here"},
    ]
    by_office(GOLDEN / "edited.xlsx", [(Edit("columns", steps, Expected()), path)])
    before, columns = read_plan(path), comparison.find(Package.read(path)).columns
    left = next(name for name, column in columns.items() if column == 3)
    done, _ = update_file(path, output=new)
    after = read_plan(new)
    found = comparison.find(Package.read(new)).columns
    sheet = after.book.sheets["Comparison"]
    own = next(column for row, column in sheet.cells if sheet.text(row, column) == "the team")
    assert own == found[left] + 1
    assert sheet.text(HEADER, own) == "Asked by"
    assert f"Comparison!{column_letters(own)}" in done.own_columns
    inputs = after.book.sheets["Inputs"]
    noted = next(column for row, column in inputs.cells if inputs.text(row, column) == "look here")
    first, second = after.scenarios[0].column, after.scenarios[1].column
    assert (first, noted, second) == (first, first + 1, first + 2)
    for row in (*before.inputs, *before.overrides):
        for key, entry in row.cells.items():
            now = next((each for each in (*after.inputs, *after.overrides) if each.name == row.name), None)
            assert entry.is_blank or (now is not None and now.value(key) == entry.value), (row.name, key)
    assert not after.stale
    assert not after.unknown
    openpyxl.load_workbook(new)


@pytest.mark.slow
@needs_office
def test_blank_ones_stay_and_nothing_else_is_taken_for_a_persons(tmp_path: Path) -> None:
    """Blank columns on Inputs, a calculation sheet, the Comparison, and sheets of several tables: they stay there.

    Every formula around them is still told for planner's own, and comes anew.
    """
    path, new = tmp_path / "plan.xlsx", tmp_path / "new.xlsx"
    at = {"Inputs": 7, "Inference": 4, "Comparison": 4, "Operations": 4, "Roofline": 2}
    steps: list[Step] = [{"do": "insert_columns", "sheet": sheet, "at": column, "count": 1}
                         for sheet, column in at.items()]  # fmt: skip
    by_office(GOLDEN / "default.xlsx", [(Edit("columns", steps, Expected()), path)])
    done, _ = update_file(path, output=new)
    assert sorted(done.own_columns) == sorted(f"{sheet}!{column_letters(column)}" for sheet, column in at.items())
    assert (done.formulas, done.typed_over, done.texts, done.own_rows) == ([], [], [], [])
    assert check(Package.read(new)).is_clean


def test_widths_go_with_their_columns() -> None:
    """An old column's width is where the column is then; a new one has the fresh sheet's; the last span goes on."""
    narrow, wide, rest = b'min="1" max="2" width="9"', b'min="3" max="3" width="33"', b'min="4" max="1024" width="8"'
    sheet = b"<worksheet><cols>%b</cols><sheetData/></worksheet>"
    old = Worksheet(sheet % (b"<col %b/><col %b/><col %b/>" % (narrow, wide, rest)))
    fresh = Worksheet(sheet % b'<col min="1" max="4" width="5"/>')
    columns, fresh_columns = Track({1: 1, 2: 3, 3: 4}), Track({1: 1, 2: 2, 3: 3, 4: 4})
    take_widths(old.root, fresh.root, columns, fresh_columns)
    assert (
        b'<cols><col min="1" max="1" width="9"/><col min="2" max="2" width="5"/><col min="3" max="3" width="9"/>'
        b'<col min="4" max="4" width="33"/><col min="5" max="1024" width="8"/></cols>'
    ) in old.xml()


@pytest.mark.parametrize(
    ("old_cols", "in_tables"),
    [
        (b'<col min="2" max="3" hidden="1" outlineLevel="1"/><col min="4" max="4" collapsed="1" width="7"/>', []),
        (b'<col min="2" max="2" hidden="1" outlineLevel="1"/><col min="3" max="4" width="7"/>', [Track({3: 5, 4: 6})]),
    ],
)
def test_a_group_that_grew_is_closed_as_a_whole(old_cols: bytes, in_tables: list[Track]) -> None:
    """Its new columns take nothing from what stood there: the end of the group, or columns of a table that moved."""
    sheet = b'<worksheet><cols><col min="1" max="1" width="9"/>%b</cols><sheetData/></worksheet>'
    group = b'<col min="2" max="4" hidden="1" outlineLevel="1"/><col min="5" max="5" collapsed="1" width="6"/>'
    old, fresh = Worksheet(sheet % old_cols), Worksheet(sheet % group)
    same = Track({column: column for column in range(1, 6)})
    take_widths(old.root, fresh.root, same, same, in_tables)
    assert group in old.xml()


def test_no_column_is_too_far_right_to_have_a_width() -> None:
    """A sheet with more columns than Sweep has with both workloads keeps the width of each."""
    columns = b"".join(b'<col min="%d" max="%d" width="%d"/>' % (at, at, at) for at in range(1, 700))
    sheet = b"<worksheet><cols>%b</cols><sheetData/></worksheet>"
    old, fresh = Worksheet(sheet % b'<col min="1" max="1" width="1"/>'), Worksheet(sheet % columns)
    take_widths(old.root, fresh.root, Track({1: 1}), Track({1: 1}))
    assert columns in old.xml()

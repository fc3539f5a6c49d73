"""`planner diff` of rows that stand elsewhere, and of formulas that are written as before and read others then."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from tests.commands import invoked
from tests.workbooks import write_small

pytestmark = pytest.mark.usefixtures("few_cases")
ROWS = (("alpha", 1), ("beta", 2), ("gamma", 3), ("delta", 4))


def changes(old: Path, new: Path) -> list[str]:
    """The lines of what is told of a person's sheet."""
    return [line.strip() for line in invoked("diff", old, new)[1].splitlines() if "Own" in line]


@pytest.fixture(name="old")
def fixture_old(tmp_path: Path) -> Path:
    """A workbook with a sheet of a person's: some rows, and what reads one of them, chips and cases."""
    path = tmp_path / "old.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5e"], ["transformer"])
    book = openpyxl.load_workbook(path)
    own = book.create_sheet("Own")
    for row in ROWS:
        own.append(row)
    for ref, formula in (("D1", "=B2*10"), ("E1", "=Hardware!C6"), ("F1", "=COUNTA(Hardware!A6:A7)")):
        own[ref] = formula
    book.save(path)
    return path


def test_rows_of_a_persons_that_changed_places(old: Path) -> None:
    """One that was moved is told so, and not as gone and new; what reads its place says of which row."""
    book, new = openpyxl.load_workbook(old), old.with_name("new.xlsx")
    for at, (name, number) in enumerate((ROWS[0], ROWS[2], ROWS[3], ROWS[1]), start=1):
        book["Own"].cell(at, 1).value, book["Own"].cell(at, 2).value = name, number
    book.save(new)
    assert changes(old, new) == [
        "row moved: Own, row 4: beta (was row 2)",
        "Own!D1, edited: =B2*10 -> =B2*10, of gamma and not of beta",
    ]


def test_rows_of_a_database_that_were_swapped(old: Path) -> None:
    """Its order is no difference; a formula that reads another chip than before says which, and so does a range."""
    book, new = openpyxl.load_workbook(old), old.with_name("new.xlsx")
    chips = book["Hardware"]
    rows = [[cell.value for cell in chips[row]] for row in (6, 8)]
    for row, values in zip((8, 6), rows, strict=True):
        for column, value in enumerate(values, start=1):
            chips.cell(row, column).value = value
    book.save(new)
    first, second, third = rows[0][0], chips.cell(7, 1).value, rows[1][0]
    assert changes(old, new) == [
        f"Own!E1, edited: =Hardware!C6 -> =Hardware!C6, of {third} and not of {first}",
        "Own!F1, edited: =COUNTA(Hardware!A6:A7) -> =COUNTA(Hardware!A6:A7), "
        f"of {third} to {second} and not of {first} to {second}",
    ]
    assert "row " not in invoked("diff", old, new)[1]

"""`planner diff` tells blank cells apart: the notes on them, and the formulas that read them."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest
from openpyxl.comments import Comment

from planner.diff.two_workbooks import compare, read_both
from tests.workbooks import write_small


@pytest.fixture(name="pair", scope="module")
def fixture_pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A workbook with notes on blank cells and an own sheet that reads blank ones, and the same after edits."""
    folder = tmp_path_factory.mktemp("blank")
    old, new = folder / "old.xlsx", folder / "new.xlsx"
    write_small(old, ["llama3-8b"], ["tpu-v5p"], ["transformer"])
    book = openpyxl.load_workbook(old)
    inputs, mine = book["Inputs"], book.create_sheet("Mine")
    for ref in ("M400", "M402", "P410"):
        inputs[ref].comment = Comment(f"on {ref}", "me")
    for row, formula in enumerate(("=D30", "=Inputs!Z400", "=D40", "=SUM(D30:D40)"), 1):
        mine.cell(row, 1).value = formula
    book.save(old)
    inputs["M400"].comment = Comment("changed", "me")
    inputs["M402"].comment = None
    mine["A1"], mine["A2"] = "=F99", "=Inputs!Z401"
    mine["A6"] = "one more"
    book.save(new)
    return old, new


def test_notes_on_blank_cells(pair: tuple[Path, Path]) -> None:
    """Each is one of its own."""
    found = compare(*read_both(*pair)).notes
    assert [(note.how, note.cell) for note in found] == [("changed", "Inputs!M400"), ("removed", "Inputs!M402")]


def test_formulas_that_read_blank_cells(pair: tuple[Path, Path]) -> None:
    """Those that read another one than before are named; one that reads the same below a new row is not."""
    assert [found.cell for found in compare(*read_both(*pair)).formulas] == ["Mine!A1", "Mine!A2"]

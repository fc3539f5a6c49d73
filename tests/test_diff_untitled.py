"""`planner diff` where the title of a sheet was emptied or reworded: that cell is told, and no row as gone and new."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from planner.diff.two_workbooks import compare, read_both
from planner.update.update import update_file
from tests.workbooks import CHIPS, few_rows, write_small

pytestmark = pytest.mark.usefixtures("few_cases")
SHEETS = ("Comparison", "Operations", "Sweep", "Models")


@pytest.mark.parametrize("title", [None, "ACME's plan"])
def test_only_the_title_is_told(tmp_path: Path, title: str | None) -> None:
    """The tables of such sheets are planner's still, for an update too."""
    path, new = tmp_path / "plan.xlsx", tmp_path / "new.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["inference"])
    book = openpyxl.load_workbook(path)
    for sheet in SHEETS:
        book[sheet]["A1"] = title
    book.save(new)
    found = compare(*read_both(path, new))
    assert {change.cell for change in found.cells} == {f"{sheet}!A1" for sheet in SHEETS}
    assert not any((found.structure, found.formulas, found.inputs, found.headlines))
    done, _ = update_file(new, [], few_rows(("llama3-8b", "gemma-7b"), CHIPS[:3]))
    assert not any((done.formulas, done.typed_over, done.typed, done.new_sheets, done.own_rows))

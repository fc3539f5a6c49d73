"""`planner diff` where the title of a sheet or a table's titles were emptied, reworded or deleted: no row moved."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from planner.check.run import check
from planner.diff.two_workbooks import compare, read_both
from planner.update.update import update_file
from planner.xlsx.moved_parts import delete_rows
from planner.xlsx.opc import Package
from tests.workbooks import CHIPS, few_rows, sheet_of, write_small

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


@pytest.mark.parametrize(
    "rows",
    [
        {"Dashboard": (1, "Dashboard"), "Models": (5, "id"), "Roofline": (1, "Roofline"), "Comparison": (5, "case_key"),
         "Log": (1, "Log")},
        {"Roofline": (8, "Operation"), "Operations": (4, "")},
    ],
    ids=["titles", "heads"],
)  # fmt: skip
def test_only_rows_that_were_deleted_are_told(tmp_path: Path, rows: dict[str, tuple[int, str]]) -> None:
    """Without its titles a table's rows and columns are known by what they hold; a blank row is nothing.

    A person deleted them, not planner.
    """
    path, new = tmp_path / "plan.xlsx", tmp_path / "new.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["inference"])
    deleted(path, new, {sheet: row for sheet, (row, _) in rows.items()})
    found = compare(*read_both(path, new))
    lines = {(line.what, line.how, line.sheet, line.name, line.by_planner) for line in found.structure}
    assert lines == {("row", "removed", sheet, said, False) for sheet, (_, said) in rows.items() if said}
    assert not any((found.formulas, found.inputs, found.cells))


def test_a_sheet_whose_title_was_deleted_is_planners(tmp_path: Path) -> None:
    """Check finds it in its place, and an update brings its title back; what is on Log is a person's."""
    path, titles = tmp_path / "plan.xlsx", {"Roofline": 1, "Log": 1, "Operations": 1}
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["inference"])
    sheets = list(Package.read(path).sheets())
    deleted(path, path, titles)
    assert not [each for each in check(Package.read(path)).found if each.rule == 1]
    done, _ = update_file(path, [], few_rows(("llama3-8b", "gemma-7b"), CHIPS[:3]))
    assert not any((done.typed, done.new_sheets, done.own_rows))
    assert list(Package.read(path).sheets()) == sheets
    assert [sheet_of(path, sheet)["A1"].value for sheet in ("Roofline", "Operations")] == ["Roofline", "Operations"]


def deleted(path: Path, new: Path, rows: dict[str, int]) -> None:
    """Delete a row of each sheet as spreadsheet programs do, which adjust what reads the others."""
    package = Package.read(path)
    for sheet, row in rows.items():
        delete_rows(package, sheet, range(row, row + 1))
    package.write(new)

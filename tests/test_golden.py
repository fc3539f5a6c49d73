"""Workbooks of earlier versions: read, recalculated and checked by this one."""

from __future__ import annotations

from pathlib import Path

from planner.compare import comparison_sheet as sheet
from planner.recalc import recalculate
from planner.xlsx.opc import Package
from tests.commands import command, run

GOLDEN = Path(__file__).parent / "golden"


def test_a_recalculation_changes_nothing() -> None:
    """The cached values of both workbooks are what this version computes: no byte changes."""
    for path in GOLDEN.glob("*.xlsx"):
        package = Package.read(path)
        before = dict(package.parts)
        recalculate(package)
        assert package.parts == before, path.name


def test_the_default_is_clean() -> None:
    """The default workbook keeps every rule."""
    command("check", GOLDEN / "default.xlsx")


def test_the_edited_one_has_its_override_and_no_other_finding() -> None:
    """The number typed over a formula is listed as an override, with the two checks that it and a longer context make
    fail; all else that the analyst did is no breach."""
    done = run("check", GOLDEN / "edited.xlsx")
    assert done.exit_code == 1, done.output
    assert "2 findings and 1 override" in done.output
    assert "Checks of the plan that fail" in done.output


def test_the_added_case_is_read() -> None:
    """The case that the analyst added to the Comparison is among those that measure would time."""
    rows = sheet.find(Package.read(GOLDEN / "edited.xlsx")).rows
    added = next(row for row in rows if row.text("case_key") == "mine")
    assert added.number_in("tokens") == 128
    assert added.number_in("flops") == 2 * 128 * 1024 * 1024

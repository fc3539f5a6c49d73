"""A workbook of a small template, to be edited and updated, and what it is to be after."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from planner.book.plan import Plan
from planner.book.read_plan import read_plan
from planner.check.run import check
from planner.update.outcome import Updated
from planner.update.update import update_file
from planner.xlsx.address import address
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import with_values
from planner.xlsx.sheetxml import SheetXml
from tests.commands import run
from tests.read_once import recalculate_once
from tests.workbooks import by_name, cached, few_rows

HEAD = "name,label,unit,kind,formula,source,note\n"
SMALL = (
    HEAD
    + """batch_rows,Rows,1,input,4,test,the first
batch_cost,Cost of a row,USD,input,3,test,
row_scale,Scale,1,constant,2,test,
total_rows,All rows,1,output,batch_rows*row_scale,test,said once
total_cost,All it costs,USD,output,total_rows*batch_cost,test,
cost_share,Share,1,output,total_cost/batch_cost,test,
check_rows,Rows are there,1,check,"IF(batch_rows>0,1,0)",test,
"""
)


def planner(*words: object) -> str:
    """A command that must succeed; returns what it says."""
    done = run(*words)
    assert done.exit_code == 0 or (words[0], done.exit_code) == ("diff", 1), done.output
    return done.output


FEW = replace(few_rows(("llama3-8b",), ("tpu-v5p",)))  # with all calibrations, which `TABLES` leave as they are
TABLES = ("--models", str(FEW.models_csv), "--hardware-csv", str(FEW.hardware_csv), "--only")


@pytest.fixture(name="built", scope="module")
def fixture_built(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A workbook of the small template."""
    folder = tmp_path_factory.mktemp("small")
    own, path = folder / "mine.csv", folder / "plan.xlsx"
    own.write_text(SMALL)
    planner("build", "--template", own, *TABLES, "-o", path)
    return path.read_bytes()


@pytest.fixture(name="small")
def fixture_small(built: bytes, tmp_path: Path) -> tuple[Path, Path]:
    """A copy of it, and the template."""
    own, path = tmp_path / "mine.csv", tmp_path / "plan.xlsx"
    own.write_text(SMALL)
    path.write_bytes(built)
    return path, own


def edit(path: Path, *changes: tuple[str, str, int, float]) -> None:
    """Type into cells (sheet, machine name, column, value) in a program that saves the values of all formulas."""
    package, grid = Package.read(path), cached(path)
    for sheet, name, column, value in changes:
        part, ref = package.sheets()[sheet], address(by_name(grid, sheet)[name], column)
        package.replace(part, with_values(SheetXml(package.parts[part]), {ref: value}))
    recalculate_once(package)
    package.write(path)


def brought(path: Path, own: Path) -> tuple[Updated, Plan]:
    """The workbook updated, which is clean then and needs nothing more, and what is in it."""
    done, _ = update_file(path, [str(own)], FEW)
    assert [found.what for found in check(Package.read(path)).of("fault")] == []
    assert not update_file(path, [str(own)], FEW)[0].is_needed
    return done, read_plan(path)


def is_as_built(path: Path, own: Path, folder: Path, *changes: tuple[str, str, int, float]) -> None:
    """The workbook is what a fresh build with a person's changes is, but for the Log and the notes."""
    fresh = folder / "fresh.xlsx"
    planner("build", "--template", own, *TABLES, "-o", fresh)
    if changes:
        edit(fresh, *changes)
    said = planner("diff", path, fresh)
    assert "row removed: Log" in said
    assert said.count("\n  ") == 1, said  # every other line is a heading

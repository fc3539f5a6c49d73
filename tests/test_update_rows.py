"""Rows that a person put in between planner's without a text, which stay, or deleted, which come back."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import openpyxl
import pytest
from openpyxl.utils import get_column_letter

from planner import data
from planner.book.read_plan import read_plan
from planner.check.run import check
from planner.compare import comparison_sheet as comparison
from planner.compare.comparison_cases import ComparisonCase
from planner.diff.two_workbooks import compare, read_both
from planner.formulas import library
from planner.update.outcome import lines
from planner.update.update import update_file
from planner.workbook.book import build
from planner.workbook.scenarios import plan_of
from planner.xlsx.address import column_letters
from planner.xlsx.moved_parts import move
from planner.xlsx.moves import Moves, SheetMoves, Track
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import with_values
from planner.xlsx.workbook_part import parse_sheets
from tests.edits.marks import put_in
from tests.read_once import recalculate_once
from tests.workbooks import CHIPS, by_name, cached, edit, few_rows, sheet_of, write_comparison, write_small

pytestmark = pytest.mark.usefixtures("few_cases")
SHEET = comparison.SHEET
FILL, HEIGHT = "FFFFCC00", 42.5


def separated(path: Path, at: int) -> None:
    """Put a coloured and high row without a text into the Comparison."""
    package = Package.read(path)
    known = {row: row + (row >= at) for row in range(1, 400)}
    put_in(package, SheetMoves(SHEET, Track(known)))
    package.write(path)
    book = openpyxl.load_workbook(path)
    for column in range(1, 5):
        book[SHEET].cell(at, column).fill = openpyxl.styles.PatternFill("solid", fgColor=FILL)
    book[SHEET].row_dimensions[at].height = HEIGHT
    book.save(path)


def test_one_among_the_cases_stays(tmp_path: Path) -> None:
    """The row has its look and its height after an update, and the cases below it are where they were."""
    path = tmp_path / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["transformer"])
    cases = [row.number for row in comparison.find(Package.read(path)).rows]
    at = cases[2]
    separated(path, at)
    done, _ = update_file(path, [], few_rows(("llama3-8b", "gemma-7b"), CHIPS[:3]))
    sheet = sheet_of(path, SHEET)
    assert (sheet.cell(at, 1).fill.fgColor.rgb, sheet.row_dimensions[at].height) == (FILL, HEIGHT)
    assert done.own_rows == [f"{SHEET} row {at}"]
    assert not done.formulas
    assert [row.number for row in comparison.find(Package.read(path)).rows] == [row + (row >= at) for row in cases]
    assert check(Package.read(path)).is_clean


@pytest.mark.parametrize("at", [1, 3])
def test_rows_above_tables_stay_there(tmp_path: Path, at: int) -> None:
    """A company's line and a blank row on top of every sheet, or below its title and purpose; one has another name too:
    planner's titles stand beside them, sheets are known, and an update to more models changes nothing else up there.
    """
    called = "Our models"
    path = tmp_path / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["inference"])
    package = Package.read(path)
    names = list(package.sheets())
    tops = {name: sheet["A1"] for name, sheet in cached(path).items()}
    put_in(package, *(SheetMoves(name, Track({row: row + 2 for row in range(at, 1200)})) for name in names))
    move(package, Moves({"Models": SheetMoves(called)}), [])
    for name, sheet in parse_sheets(package).items():
        package.replace(package.sheets()[name], with_values(sheet, {f"A{at}": "ACME, confidential"}))
    recalculate_once(package)
    package.write(path)
    assert check(Package.read(path)).is_clean
    done, _ = update_file(path, [], few_rows(("llama3-8b", "gemma-7b"), CHIPS[:3]))
    assert not any((done.formulas, done.texts, done.cleared, done.new_sheets, done.mended, done.remarks))
    own = {
        f"{called if name == 'Models' else name} row {row}" for name in names if name != "Log" for row in (at, at + 1)
    }
    assert set(done.own_rows) == own  # all rows of Log are a person's
    found = cached(path)
    for name in names:
        sheet = found[called if name == "Models" else name]
        assert [sheet.get(f"A{row}") for row in (at, at + 1)] == ["ACME, confidential", None]
        assert sheet["A3" if at == 1 else "A1"] == tops[name]
        assert sum(sheet.get(f"{column}{row}") == "Failed checks" for column in "ABC" for row in range(1, 5)) <= 1
    assert check(Package.read(path)).is_clean


def test_a_blank_row_between_labels_and_titles_is_no_row_of_labels(tmp_path: Path) -> None:
    """Put in there on the Comparison and on Models, it stays; no label is told as emptied."""
    path, tables = tmp_path / "plan.xlsx", ("Comparison", "Models")
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["inference"])
    package, before = Package.read(path), cached(path)
    put_in(package, *(SheetMoves(name, Track({row: row + 1 for row in range(5, 1200)})) for name in tables))
    for name in tables:
        package.replace(package.sheets()[name], with_values(parse_sheets(package)[name], {"B5": ""}))
    recalculate_once(package)
    package.write(path)
    done, _ = update_file(path, [], few_rows(("llama3-8b", "gemma-7b"), CHIPS[:3]))
    assert set(done.own_rows) == {f"{name} row 5" for name in tables}
    assert not any((done.cleared, done.texts, done.formulas))
    for name in tables:
        assert [cached(path)[name][at] for at in ("A4", "A6")] == [before[name][at] for at in ("A4", "A5")]


@pytest.mark.parametrize(("sheet", "change"), [("Inputs", "insert_rows"), ("Transformer", "delete_rows")])
def test_rows_moved_without_the_formulas_that_read_them(tmp_path: Path, sheet: str, change: str) -> None:
    """openpyxl moves rows and leaves formulas as they were. Planner's read the right cells again after an update, which
    says so in one line in place of listing them; a formula of a person's stays, and is listed.
    """
    path, databases = tmp_path / "plan.xlsx", few_rows(("llama3-8b",), CHIPS[:3])
    path.write_bytes(build(plan_of(["llama3-8b"], ["tpu-v5p"], ["transformer"], None, (), databases)))
    before, names = cached(path), by_name(cached(path), "Transformer")

    def move_rows(book: openpyxl.Workbook) -> None:
        getattr(book[sheet], change)(names["n_params_total"] - 1 if sheet != "Inputs" else 12)
        last = max(cell.row for (cell,) in book["Checks"].iter_rows(max_col=1) if cell.value)
        book["Checks"].cell(last, 6).value = "=1+1"

    edit(path, move_rows)
    done, _ = update_file(path, [], databases)
    (looks,) = (line for line in lines(done, 4) if "Please look at" in line)
    said = rf"on {sheet} cells were moved by a program that leaves formulas as they were, such as openpyxl: [\d,]+ form"
    assert re.match(f"Please look at: {said}", looks)
    assert done.left_behind > 10
    assert [place.partition("!")[0] for place in done.formulas] == ["Checks"]
    after = cached(path)
    for name, row in by_name(after, "Transformer").items():
        assert after["Transformer"][f"F{row}"] == before["Transformer"][f"F{names[name]}"], name
    assert check(Package.read(path)).of("fault") == []
    assert not update_file(path, [], databases)[0].is_needed


def test_one_among_the_cases_is_no_end_of_them(tmp_path: Path) -> None:
    """No case below it differs for `diff`, and `check` holds these to their columns' formulas still."""
    path, new = tmp_path / "plan.xlsx", tmp_path / "new.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["transformer"])
    new.write_bytes(path.read_bytes())
    last = comparison.find(Package.read(path)).rows[-1].number
    separated(new, last - 1)
    found = compare(*read_both(path, new))
    assert [change for change in found.structure if change.at != str(last - 1)] == []
    assert not found.formulas
    package = Package.read(new)
    part = package.sheets()[SHEET]
    xml = re.sub(rb'(<c r="E%d"[^>]*><f>)' % (last + 1), rb"\g<1>1+", package.parts[part])
    package.replace(part, xml)
    said = check(package).of("override")
    assert [(fault.sheet, fault.cell) for fault in said] == [(SHEET, f"E{last + 1}")]


def deleted(path: Path, sheet: str, at: int) -> None:
    """Delete a row as a program does: what is below moves up, and what read it reads #REF!."""
    package = Package.read(path)
    part = package.sheets()[sheet]
    row = re.compile(rb'<row r="%d"[ >].*?</row>' % at, re.DOTALL)
    package.replace(part, row.sub(b"", package.parts[part], count=1))
    put_in(package, SheetMoves(sheet, Track({at + 1: at}, frozenset({at}))))
    package.write(path)


def test_a_deleted_row_comes_back_with_what_read_it(tmp_path: Path) -> None:
    """A row of planner's that was deleted stands there again, what read it is planner's formula again and listed, and
    so it is where the first case was deleted, which stays away. Then there is nothing to update.
    """
    path = tmp_path / "plan.xlsx"
    databases = write_comparison(path).databases
    before = [[cell.value for cell in row] for row in sheet_of(path, "Matmul").iter_rows()]
    row = next(at for at, (_, _, name, *_) in enumerate(before, start=1) if name == "flops")
    deleted(path, "Matmul", row)
    assert any("#REF!" in str(cell.value) for cells in sheet_of(path, "Matmul").iter_rows() for cell in cells)
    done, _ = update_file(path, databases=databases)
    assert done.new_rows == ["Matmul: flops"]
    assert any(place.startswith("Matmul!F") for place in done.mended)
    assert not done.formulas
    assert [[cell.value for cell in row] for row in sheet_of(path, "Matmul").iter_rows()] == before
    deleted(path, SHEET, comparison.find(Package.read(path)).rows[0].number)
    done, _ = update_file(path, databases=databases)
    assert {place.partition("!")[0] for place in done.mended} == {SHEET}
    assert not done.formulas
    assert check(Package.read(path)).is_clean
    assert not update_file(path, databases=databases)[0].is_needed


def take_column(path: Path, sheet: str, at: int) -> None:
    """Delete a column of a workbook as a program does: what is right of it moves, and what read it reads #REF!."""
    package = Package.read(path)
    part, cell = package.sheets()[sheet], rb'<c r="%b[0-9]+"(?:[^>]*/>|.*?</c>)' % column_letters(at).encode()
    package.replace(part, re.sub(cell, b"", package.parts[part], flags=re.DOTALL))
    put_in(package, SheetMoves(sheet, columns=Track({at + 1: at}, frozenset({at}))))
    package.write(path)


@pytest.mark.parametrize(("sheet", "title"), [("Inputs", "Source"), ("Models", "d_model"), (SHEET, comparison.TIME)])
def test_a_deleted_column_comes_back_with_what_read_it(tmp_path: Path, sheet: str, title: str) -> None:
    """Though no row is missing. A person who deletes the sources of Inputs moves the first scenario into their column,
    where it is read as the scenario that it is.
    """
    path = tmp_path / "plan.xlsx"
    databases = write_comparison(path).databases
    before = read_plan(path)
    column = next(cell.column for row in sheet_of(path, sheet).iter_rows() for cell in row if cell.value == title)
    take_column(path, sheet, column)
    assert [each.key for each in read_plan(path).scenarios] == [each.key for each in before.scenarios]
    assert update_file(path, databases=databases)[0].is_needed
    assert [cell.value for row in sheet_of(path, sheet).iter_rows() for cell in row].count(title) == 1
    after = read_plan(path)
    assert {row.name: row.cells for row in after.inputs} == {row.name: row.cells for row in before.inputs}
    assert check(Package.read(path)).is_clean
    assert not update_file(path, databases=databases)[0].is_needed


def test_a_shipped_template_without_cases_is_no_file_of_a_persons(tmp_path: Path) -> None:
    """Where all cases of one were deleted, an update doesn't ask for its CSV."""
    path, databases = tmp_path / "plan.xlsx", few_rows(("llama3-8b",), CHIPS)
    shipped = [library.load(name) for name in ("matmul", "attention")]
    plan = plan_of((), ["tpu-v5e"], ["matmul"], None, (), databases)
    cased = [ComparisonCase(each.name, each, each.inputs({})) for each in shipped]
    path.write_bytes(build(replace(plan, comparison=cased)))
    cases = comparison.find(Package.read(path)).rows
    gone = [row.number for row in cases if row.text("template") == cases[-1].text("template")]
    for row in reversed(gone):
        deleted(path, SHEET, row)
    deleted(path, "Matmul", 12)  # so that there is something to update
    assert len(gone) < len(cases)
    done, _ = update_file(path, databases=databases)
    assert not [remark for remark in done.remarks if "made from" in remark]


def test_an_input_of_a_case_that_its_template_sets_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What planner wrote for an input of a case is no number of a person's where a newer template sets that very value.

    Another one, which somebody typed, stays and is told.
    """
    path, older = tmp_path / "plan.xlsx", tmp_path / "attention.csv"
    shipped = data.folder("templates") / older.name
    older.write_text(shipped.read_text(encoding="utf-8").replace(",has_narrow_weights=0", ""), encoding="utf-8")
    databases = few_rows(("llama3-8b",), CHIPS)
    with monkeypatch.context() as before:
        before.setitem(library._shipped, shipped, library.load(older))
        template = library.load("attention")
        cases = [ComparisonCase(label, template, template.inputs({})) for label in ("One", "Two")]
        plan = plan_of((), ["tpu-v5e"], ["matmul"], None, (), databases)
        path.write_bytes(build(replace(plan, comparison=cases)))
    row = comparison.find(Package.read(path)).rows[1]
    column = comparison.find(Package.read(path)).columns["has_narrow_weights"]
    edit(path, lambda book: setattr(book[SHEET].cell(row.number, column), "value", 1))
    done, _ = update_file(path, [], databases)
    column = comparison.find(Package.read(path)).columns["has_narrow_weights"]
    now = [sheet_of(path, SHEET).cell(at, column).value for at in (row.number - 1, row.number)]
    assert now == ["=0", 1]
    assert [text.partition("!")[2] for text in done.typed_over] == [f"{get_column_letter(column)}{row.number} (case 1)"]

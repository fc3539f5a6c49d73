"""`planner update` merges three ways: what planner wrote last, what it writes now, and what a person did."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest
from openpyxl.comments import Comment
from openpyxl.styles import PatternFill

from planner.book.read_plan import read_plan
from planner.check.run import check
from planner.update.outcome import lines
from planner.update.update import update_file
from planner.xlsx.opc import Package
from tests.commands import untouched
from tests.merges import FEW, SMALL, TABLES, brought, edit, fixture_built, fixture_small, is_as_built, planner  # noqa: F401
from tests.short_data import of_serve_alone
from tests.swept_serving import SWEPT
from tests.workbooks import row_of, save, sheet_of

pytestmark = pytest.mark.usefixtures("few_cases")


def test_labels_notes_units_and_formulas_come_through(small: tuple[Path, Path], tmp_path: Path) -> None:
    """What a template says otherwise now is in the workbook, on every sheet, and nothing is said to be a person's."""
    path, own = small
    text = SMALL.replace("All it costs", "The whole cost").replace("said once", "said twice")
    text = text.replace("total_rows*batch_cost", "total_rows*batch_cost*row_scale").replace(
        "Cost of a row,USD", "Cost,USD"
    )
    own.write_text(text)
    done, plan = brought(path, own)
    is_as_built(path, own, tmp_path)
    kept = done
    assert (kept.texts, kept.formulas, kept.typed_over, kept.cleared, kept.both) == ([], [], [], [], [])
    cost = next(row for row in plan.tables["Mine"] if row.name == "total_cost")
    assert (cost.label, cost.text) == ("The whole cost", "total_rows*batch_cost*row_scale")
    assert f"Mine!D{cost.row}" in kept.renewed


def test_rows_come_go_and_are_renamed(small: tuple[Path, Path], tmp_path: Path) -> None:
    """A new row is there, one that is gone or has another name is not, and an input of before keeps its number."""
    path, own = small
    edit(path, ("Inputs", "batch_rows", 6, 7))
    rows = SMALL.splitlines(keepends=True)
    rows[4] = "spare_rows,Spare,1,input,1,test,\n"  # in the place of total_rows
    rows[5] = "every_cost,All it costs,USD,output,(batch_rows*row_scale+spare_rows)*batch_cost,test,\n"
    rows[6] = "cost_share,Share,1,output,every_cost/batch_cost,test,\n"
    own.write_text("".join(rows))
    done, plan = brought(path, own)
    is_as_built(path, own, tmp_path, ("Inputs", "batch_rows", 6, 7))
    assert "Mine: total_rows" in done.gone_rows
    assert done.remarks == []  # links of Dashboard to rows that are no more are planner's to make anew
    assert "Mine: every_cost" in done.new_rows
    assert plan.quantity("cost_share").value(plan.scenarios[0].key) == 15  # type: ignore[union-attr]


def test_a_persons_work_stays_and_says_where_both_changed(small: tuple[Path, Path]) -> None:
    """A number over a formula, an edited formula and a text stay; where planner's changed too, both are told."""
    path, own = small
    book = openpyxl.load_workbook(path)
    sheet = book["Mine"]
    rows = {name: row_of(book, "Mine", name) for name in ("total_rows", "total_cost", "cost_share")}
    sheet.cell(rows["total_rows"], 6).value = 11
    sheet.cell(rows["cost_share"], 6).value = f"=F{rows['total_cost']}*5"
    sheet.cell(rows["total_cost"], 5).value = "agreed in June"
    sheet.cell(rows["total_cost"], 6).fill = PatternFill("solid", fgColor="FF00FF00")
    sheet.cell(rows["total_cost"], 8).value = "look here"
    sheet.cell(rows["total_cost"], 6).comment = Comment("why?", "Ann")
    save(book, path)
    own.write_text(SMALL.replace("total_cost/batch_cost", "total_cost/batch_cost/row_scale").replace("said once", ""))
    done, _ = update_file(path, [str(own)], FEW)
    after, plan = sheet_of(path, "Mine"), read_plan(path)
    at = {row.name: row.row for row in plan.tables["Mine"]}
    assert after.cell(at["total_rows"], 6).value == 11
    assert after.cell(at["cost_share"], 6).value == f"=F{at['total_cost']}*5"
    assert after.cell(at["cost_share"], 4).value == "total_cost/batch_cost/row_scale"
    assert after.cell(at["total_cost"], 5).value == "agreed in June"
    assert after.cell(at["total_cost"], 6).fill.fgColor.rgb == "FF00FF00"
    assert after.cell(at["total_cost"], 8).value == "look here"
    assert after.cell(at["total_cost"], 6).comment.text == "why?"
    assert done.formats == 1
    assert done.texts == [f"Mine!E{at['total_cost']}"]
    assert done.typed_over == [f"Mine!F{at['total_rows']} (total_rows)"]
    assert done.formulas == [f"Mine!F{at['cost_share']} (cost_share)"]
    (both,) = done.both
    assert f"yours is =F{at['total_cost']}*5, planner's now =F{at['total_cost']}/" in both


def test_a_row_that_is_gone_stays_where_a_person_typed_over_it(small: tuple[Path, Path]) -> None:
    """It is named; a row of a person's own, and blank ones, stay where they were, in order."""
    path, own = small
    book = openpyxl.load_workbook(path)
    row = row_of(book, "Mine", "total_cost")
    book["Mine"].cell(row, 6).value = 99
    save(book, path)
    own.write_text("".join(line for line in SMALL.splitlines(keepends=True) if "total_cost" not in line))
    done, _ = update_file(path, [str(own)], FEW)
    assert done.kept_rows == ["Mine: total_cost"]
    sheet = sheet_of(path, "Mine")
    found = next(cells for cells in sheet.iter_rows() if cells[2].value == "total_cost")
    assert found[5].value == 99


def test_a_row_that_comes_back_takes_the_place_of_the_one_that_was_kept(small: tuple[Path, Path]) -> None:
    """A row that was kept for what was typed there, an input or a calculated one, is planner's again once the template
    has it again: it stands once, with the typed number, and what reads it reads that.
    """
    path, own = small
    book = openpyxl.load_workbook(path)
    for sheet, name, value in (("Inputs", "batch_cost", 9), ("Mine", "total_cost", 99)):
        book[sheet].cell(row_of(book, sheet, name), 6).value = value
    save(book, path)
    without = (line for line in SMALL.splitlines(keepends=True) if not line.startswith(("batch_cost", "total_cost")))
    own.write_text("".join(without).replace("total_cost/batch_cost", "total_rows"))
    assert update_file(path, [str(own)], FEW)[0].kept_rows == ["Inputs: batch_cost", "Mine: total_cost"]
    own.write_text(SMALL)
    done, plan = brought(path, own)
    at = {row.name: row.row for row in plan.tables["Mine"]}
    assert (done.kept_rows, done.texts, done.formulas) == ([], [], [])
    assert done.typed_over == [f"Mine!F{at['total_cost']} (total_cost)"]
    for sheet, name, value in (("Inputs", "batch_cost", 9), ("Mine", "total_cost", 99)):
        named = [cells[5].value for cells in sheet_of(path, sheet).iter_rows() if cells[2].value == name]
        assert named == [value]
    assert plan.quantity("cost_share").value(plan.scenarios[0].key) == 11  # type: ignore[union-attr]


def test_a_kept_row_stays_below_what_it_reads(small: tuple[Path, Path]) -> None:
    """A row that is no more, kept for a person's formula, goes below the row that this reads where that one moved down:
    references point up, as `check` asks.
    """
    path, own = small
    book = openpyxl.load_workbook(path)
    rows = {name: row_of(book, "Mine", name) for name in ("total_rows", "cost_share")}
    book["Mine"].cell(rows["cost_share"], 6).value = f"=F{rows['total_rows']}*2"
    save(book, path)
    *first, total, cost, _, check_rows = SMALL.splitlines(keepends=True)
    own.write_text("".join((*first, cost.replace("total_rows", "batch_rows"), total, check_rows)))
    done, _ = update_file(path, [str(own)], FEW)
    assert done.kept_rows == ["Mine: cost_share"]
    names = {cells[2].value: cells for cells in sheet_of(path, "Mine").iter_rows()}
    assert names["cost_share"][5].value == f"=F{names['total_rows'][0].row}*2"
    assert names["total_rows"][0].row + 1 == names["cost_share"][0].row
    assert 15 not in {found.rule for found in check(Package.read(path)).of("fault")}


PRICED = "batch_cost,Cost of a row,USD,input,3,test,\n"


@pytest.mark.parametrize(
    ("now", "read_as"),
    [
        ("batch_cost,Cost of a row,USD,constant,3,test,\n", "batch_cost"),
        ("row_price,Price,USD,input,3,test,\nbatch_cost,Cost of a row,USD,calc,row_price,test,\n", "batch_cost"),
        ("row_price,Price,USD,input,3,test,\n", "row_price"),
    ],
)
def test_what_is_typed_and_asked_for_no_more_is_named(small: tuple[Path, Path], now: str, read_as: str) -> None:
    """An input that is a formula now, or gone: the number typed for it stays where it counts no more, and is
    listed with its cell, once; beside a constant's number it doesn't stay. A default that nobody typed over is dropped.
    """
    path, own = small
    edit(path, ("Inputs", "batch_cost", 6, 9), ("Inputs", "batch_rows", 6, 7))
    own.write_text(
        SMALL.replace(PRICED, now).replace("*batch_cost", f"*{read_as}").replace("/batch_cost", f"/{read_as}")
    )
    done, _ = update_file(path, [str(own)], FEW)
    sheet = sheet_of(path, "Inputs")
    row = next(cells[0].row for cells in sheet.iter_rows() if cells[2].value == "batch_cost")
    assert sheet.cell(row, 6).value == (None if "constant" in now else 9)
    assert done.unasked == [f"Inputs!F{row} (batch_cost): 9"]
    assert f"Inputs!F{row}" not in done.typed
    assert done.own_cells == 0
    assert f"Typed, but the template asks for it no more: Inputs F{row} (batch_cost): 9" in lines(done, 4)
    own.write_text(own.read_text().replace("All rows", "Every row"))
    assert update_file(path, [str(own)], FEW)[0].unasked == []


def test_diff_of_an_input_that_is_a_constant_or_has_another_name_now(small: tuple[Path, Path], tmp_path: Path) -> None:
    """The typed number is compared with the constant's, and never a note with it; a formula that is written as before,
    with another row in the place of the one that it read, is told in names.
    """
    path, own = small
    edit(path, ("Inputs", "batch_cost", 6, 9))
    before, renamed = path.read_bytes(), tmp_path / "renamed.xlsx"
    renamed.write_bytes(before)
    noted = PRICED.replace("test,", "test,as agreed")
    own.write_text(SMALL.replace(PRICED, noted.replace("input", "constant")))
    update_file(path, [str(own)], FEW)
    (tmp_path / "before.xlsx").write_bytes(before)
    for old, new, change in (
        (tmp_path / "before.xlsx", path, "$9.00 -> $3.00"),
        (path, tmp_path / "before.xlsx", "$3.00 -> $9.00"),
    ):
        said = planner("diff", old, new).split("Inputs that changed\n")[1].split("\n\n")[0]
        assert said == f"  scenario: batch_cost (Cost of a row)  {change}"
    own.write_text(SMALL.replace("batch_cost", "row_price"))
    update_file(renamed, [str(own)], FEW)
    said = planner("diff", tmp_path / "before.xlsx", renamed)
    assert "edited: =total_rows*batch_cost -> =total_rows*row_price" in said
    sides = [line.partition(" edited: ")[2].split(" -> ") for line in said.splitlines() if " edited: " in line]
    assert sides
    assert [side for side in sides if side[0] == side[1]] == []


def test_a_template_whose_file_has_any_name(tmp_path: Path) -> None:
    """A blank, a capital and a digit in front make a machine name: what fails is found; an update knows the file."""
    own, path = tmp_path / "2nd Plan.csv", tmp_path / "plan.xlsx"
    own.write_text(SMALL.replace("IF(batch_rows>0,1,0)", "IF(batch_rows>total_rows,1,0)"))
    planner("build", "--template", own, *TABLES, "-o", path)
    assert "Plan_2nd_plan" in Package.read(path).sheets()
    failing = [found.what for found in check(Package.read(path)).of("fault") if found.kind == "failed_check"]
    assert len(failing) == 1
    assert "Plan_2nd_plan: Rows are there" in failing[0]
    assert not update_file(path, [str(own)], FEW)[0].is_needed


def test_check_asks_nothing_of_rows_that_were_kept(small: tuple[Path, Path]) -> None:
    """A row that the template has no more, kept for what is typed or written there, may have the label of the one that
    came in its place, and no validation; that nothing reads an input is said of it as of any other.
    """
    path, own = small
    book = openpyxl.load_workbook(path)
    rows = {name: row_of(book, "Mine", name) for name in ("total_rows", "total_cost", "batch_cost")}
    book["Inputs"].cell(row_of(book, "Inputs", "batch_cost"), 6).value = 9
    book["Mine"].cell(rows["total_cost"], 6).value = f"=F{rows['total_rows']}*F{rows['batch_cost']}*2"
    book["Mine"].cell(rows["batch_cost"], 5).value = "as agreed"
    save(book, path)
    own.write_text(SMALL.replace("batch_cost", "row_price").replace("total_cost", "all_cost"))
    done, _ = update_file(path, [str(own)], FEW)
    assert done.kept_rows == ["Inputs: batch_cost", "Mine: batch_cost", "Mine: total_cost"]
    found = [(each.rule, each.name) for each in check(Package.read(path)).of("fault")]
    assert found == [(21, "total_cost")]  # what a person wrote is not what its names say, as before


def test_a_default_goes_with_its_input(small: tuple[Path, Path]) -> None:
    """A number that planner wrote for an input that is a constant now is no person's: its cell is blank then."""
    path, own = small
    own.write_text(SMALL.replace(PRICED, PRICED.replace("input", "constant")))
    done, _ = brought(path, own)
    sheet = sheet_of(path, "Inputs")
    found = next(cells for cells in sheet.iter_rows() if cells[2].value == "batch_cost")
    assert (found[3].value, found[5].value) == (3, None)
    assert done.unasked == []


@of_serve_alone()
def test_nothing_is_done_where_only_inputs_were_edited(tmp_path: Path) -> None:
    """Inputs move the values of sweeps, which are the person's own then; not a byte of the file is changed."""
    own, path = tmp_path / "serve.csv", tmp_path / "plan.xlsx"
    own.write_text(SWEPT)
    planner("build", "llama3-8b", "-H", "tpu-v5p", "--template", own, *TABLES, "-o", path)
    edit(path, ("Inputs", "n_chips", 6, 512), ("Inputs", "batch", 6, 2**12))
    with untouched(path):
        assert planner("update", path, "--template", own, *TABLES).strip().endswith("nothing to update")
    planner("scenario", "add", path, "more", "--like", read_plan(path).scenarios[0].id)
    assert planner("update", path, "--template", own, *TABLES).strip().endswith("nothing to update")


def test_planners_own_constraints_are_no_sheet_of_a_persons(tmp_path: Path) -> None:
    """Constraints that neither Checks nor Dashboard reads are planner's all the same, and brought up to date."""
    own, path = tmp_path / "mine.csv", tmp_path / "plan.xlsx"
    text = SMALL.replace("batch_rows*row_scale", '"MAX(batch_rows,batch_cost/batch_cost)"')
    own.write_text(text.replace("total_rows,All rows,1,output", "total_rows,All rows,1,calc"))
    planner("build", "--template", own, *TABLES, "-o", path)
    assert "Constraints" in read_plan(path).book.sheets
    own.write_text(own.read_text().replace("All rows", "Every row"))
    done, plan = brought(path, own)
    assert done.own_sheets == []
    sheet = plan.book.sheets["Constraints"]
    assert any("Every row" in str(sheet.value(*at)) for at in sheet.cells)


def test_a_formula_in_names_is_whose_the_formula_is(small: tuple[Path, Path]) -> None:
    """Column D goes back to planner's formula where only it was edited, and says so; with a formula of theirs it stays.

    Where a formula alone is a person's, column D says planner's, and `check` says that they differ.
    """
    path, own = small
    book = openpyxl.load_workbook(path)
    rows = {name: row_of(book, "Mine", name) for name in ("total_rows", "total_cost", "cost_share")}
    sheet = book["Mine"]
    sheet.cell(rows["total_rows"], 4).value = "batch_rows"
    sheet.cell(rows["total_cost"], 4).value = "total_rows*7"
    sheet.cell(rows["total_cost"], 6).value = f"=F{rows['total_rows']}*7"
    sheet.cell(rows["cost_share"], 6).value = f"=F{rows['total_cost']}*5"
    save(book, path)
    own.write_text(SMALL.replace("total_cost/batch_cost", "total_cost/batch_cost/row_scale"))
    done, _ = update_file(path, [str(own)], FEW)
    after = sheet_of(path, "Mine")
    texts = [after.cell(row, 4).value for row in rows.values()]
    assert texts == ["batch_rows*row_scale", "total_rows*7", "total_cost/batch_cost/row_scale"]
    assert done.remarks == [f"Mine!D{rows['total_rows']} said 'batch_rows'; it says what planner's formula is"]
    assert done.texts == [f"Mine!D{rows['total_cost']}"]
    broken = {(found.rule, found.cell) for found in check(Package.read(path)).of("fault")}
    assert broken == {(21, f"F{rows['cost_share']}")}

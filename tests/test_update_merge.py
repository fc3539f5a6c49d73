"""`planner update` merges three ways: what planner wrote last, what it writes now, and what a person did."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest
from openpyxl.comments import Comment
from openpyxl.styles import PatternFill
from openpyxl.worksheet.datavalidation import DataValidation

from planner.book.plan import Plan
from planner.book.read_plan import read_plan
from planner.check.run import check
from planner.update.outcome import Updated, lines
from planner.update.update import update_file
from planner.workbook.memory import HEADING
from planner.xlsx.address import address
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import with_values
from planner.xlsx.sheetxml import SheetXml
from tests.commands import run
from tests.edits.programs import computed, needs_office
from tests.read_once import recalculate_once
from tests.short_data import of_few_rows
from tests.workbooks import by_name, cached, few_rows, row_of, save, sheet_of

pytestmark = pytest.mark.usefixtures("few_cases")
HEAD = "name,label,unit,kind,formula,source,note\n"
BUDGET = (
    HEAD
    + """.,Training,,include,training(),,
budget,Money for the run,USD,input,25000000,The plan's owner,
lost_share,Share of the work that failures cost,1,input,0.1,"The Llama 3 Herd of Models, section 3.3.4",what repeats
run_cost,Cost with what is lost,USD,output,train_cost/(1-lost_share),,
budget_share,Share of the budget,1,output,run_cost/budget,,
check_budget,The run is within the budget,1,check,"IF(run_cost<=budget,1,0)",,
"""
)
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


FEW = few_rows(("llama3-8b",), ("tpu-v5p",))
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


def test_ranges_and_names_that_lose_a_row_without_an_error_are_named(small: tuple[Path, Path]) -> None:
    """What a person's sheet adds up with a row fewer, and the name that it looks for in vain; no lookup of another."""
    path, own = small
    book = openpyxl.load_workbook(path)
    rows = [row_of(book, "Mine", name) for name in ("total_rows", "cost_share")]
    area, mine = "Mine!{0}{2}:{0}{3}", book.create_sheet("Own")
    for at, name in enumerate(("total_cost", "cost_share"), start=1):
        places = (area.format(column, None, *rows) for column in "FC")
        mine.cell(at, 1).value = '=INDEX({0},MATCH("{2}",{1},0))'.format(*places, name)
    mine["A3"] = f"=SUM({area.format('F', None, *rows)})"
    mine["A4"] = f"=SUM(Mine!F{rows[0]}:G{rows[0]})"
    mine["A5"] = f"=SUM({area.format('F', None, *rows)})+IFERROR(MATCH(9,B1:B3,0),0)"
    mine["A6"] = f"=SUM(INDEX({area.format('F', None, *rows)},(1)))"
    save(book, path)
    lost = [line for line in SMALL.splitlines(keepends=True) if "total_cost," not in line]
    own.write_text("".join(lost).replace("total_cost", "total_rows*batch_cost"))
    done, _ = update_file(path, [str(own)], FEW)
    assert done.remarks == [
        f"Own!A3 reads {area.format('F', None, *rows)}, without 1 row now",
        f"Own!A5 reads {area.format('F', None, *rows)}, without 1 row now",
        "Own!A1 says total_cost, which is no more on Mine",
    ]


def test_ranges_that_rows_have_moved_out_of_are_named(small: tuple[Path, Path]) -> None:
    """Where the template has its rows in another order, ranges of a person's that lack one of their rows now, or have
    one more, are named, on planner's sheets too; a range that still has just its rows is not. `diff` lists them too.
    """
    path, own = small
    book = openpyxl.load_workbook(path)
    first, _, last = (row_of(book, "Mine", name) for name in ("total_rows", "total_cost", "cost_share"))
    assert last == first + 2
    mine = book.create_sheet("Own")
    mine["A1"], mine["A2"] = f"=SUM(Mine!F{first}:F{last})", f"=SUM(Mine!F{first}:F{first + 1})"
    mine["A3"] = f"=SUM(Mine!F{first + 1}:F{last})"
    book["Mine"][f"K{last}"], book["Inputs"]["L4"] = f"=SUM(F{first}:F{last})", f"=MAX(Mine!F{first}:F{last})"
    save(book, path)
    before = path.with_name("before.xlsx")
    before.write_bytes(path.read_bytes())
    rows, cost = (next(line for line in SMALL.splitlines() if line.startswith(name)) for name in ("total_r", "total_c"))
    cost_first = cost.replace("total_rows", "batch_rows")
    own.write_text(SMALL.replace(f"{rows}\n{cost}", f"{cost_first}\n{rows}"))
    done, _ = update_file(path, [str(own)], FEW)
    assert done.remarks == [
        f"Own!A1 reads Mine!F{first}:F{last}, without 1 row that moved out of it now",
        f"Own!A3 reads Mine!F{first + 1}:F{last}, with 1 row more now",
        f"Inputs!L4 reads Mine!F{first}:F{last}, without 1 row that moved out of it now",
        f"Mine!K{last} reads Mine!F{first}:F{last}, without 1 row that moved out of it now",
    ]
    said = planner("diff", before, path)
    assert f"Own!A1, edited: =SUM(Mine!F{first}:F{last}) -> =SUM(Mine!F{last - 1}:F{last})" in said
    assert f"Mine!K{last}, cost_share, edited: =SUM(F{first}:F{last}) -> =SUM(F{last - 1}:F{last})" in said


def test_ranges_of_formulas_typed_on_planners_sheets_are_named_too(small: tuple[Path, Path]) -> None:
    """A sum that a person typed over an input or beside planner's rows lacks a row that the template has no more."""
    path, own = small
    book = openpyxl.load_workbook(path)
    rows = [row_of(book, "Mine", name) for name in ("total_rows", "cost_share")]
    typed, beside = row_of(book, "Inputs", "batch_cost"), "M40"
    for place in (f"F{typed}", beside):
        book["Inputs"][place] = f"=SUM(Mine!F{rows[0]}:F{rows[1]})/1000"
    save(book, path)
    lost = [line for line in SMALL.splitlines(keepends=True) if "total_cost," not in line]
    own.write_text("".join(lost).replace("total_cost", "total_rows*batch_cost"))
    done, _ = update_file(path, [str(own)], FEW)
    area = f"Mine!F{rows[0]}:F{rows[1]}"
    assert [line for line in done.remarks if area in line] == [
        f"Inputs!{place} reads {area}, without 1 row now" for place in (f"F{typed}", beside)
    ]


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


def test_a_validation_of_a_persons_beside_an_input_takes_none_from_it(small: tuple[Path, Path]) -> None:
    """Planner's, which reaches over columns of scenarios to come, goes on around the cell that a person's is for."""
    path, own = small
    book = openpyxl.load_workbook(path)
    row = row_of(book, "Inputs", "batch_rows")
    built = [str(rule.sqref) for rule in book["Inputs"].data_validations.dataValidation]
    whole = next(sqref for sqref in built if sqref.startswith(f"F{row}:"))
    mine = DataValidation(type="whole", operator="between", formula1="1", formula2="99")
    mine.add(f"L{row}")
    book["Inputs"].add_data_validation(mine)
    save(book, path)
    own.write_text(SMALL.replace("Cost of a row", "What a row costs"))
    update_file(path, [str(own)], FEW)
    found = {str(rule.sqref): rule.formula2 for rule in sheet_of(path, "Inputs").data_validations.dataValidation}
    assert found[f"L{row}"] == "99"
    around = [sqref for sqref in found if sqref.startswith(f"F{row}:")]
    assert around == [whole.replace(":", f":K{row} M{row}:")]
    assert check(Package.read(path)).of("fault") == []


def test_a_blank_cell_below_the_rows_stays_below_them(small: tuple[Path, Path]) -> None:
    """What reads a blank cell below planner's rows reads a blank one, where new rows are below the last one or that one
    stands higher now; nothing is said of it.
    """
    path, own = small
    book = openpyxl.load_workbook(path)
    last = row_of(book, "Mine", "check_rows")
    mine = book.create_sheet("Own")
    mine["A1"], mine["A2"] = f"=Mine!F{last + 1}", f"=SUM(Mine!F{last + 1}:F{last + 3})"
    save(book, path)
    *rows, check = SMALL.splitlines(keepends=True)
    more = (f"more_{at},More {at},1,output,batch_rows*row_scale,test,\n" for at in (1, 2))
    own.write_text("".join((*rows[:-3], check, *rows[-3:], *more)))
    done, _ = update_file(path, [str(own)], FEW)
    below = max(row.row for row in read_plan(path).tables["Mine"])
    formulas = [sheet_of(path, "Own")[ref].value for ref in ("A1", "A2")]
    assert formulas == [f"=Mine!F{below + 1}", f"=SUM(Mine!F{below + 1}:F{below + 3})"]
    assert done.remarks == []


def test_a_link_of_planners_that_goes_with_its_row_is_not_told(small: tuple[Path, Path]) -> None:
    """Dashboard's line of an output goes with the output: its link was planner's, and there is nothing to look at."""
    path, own = small
    lost = [line for line in SMALL.splitlines(keepends=True) if not line.startswith("cost_share")]
    own.write_text("".join(lost))
    assert brought(path, own)[0].remarks == []


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


@of_few_rows()
def test_nothing_is_done_where_only_inputs_were_edited(tmp_path: Path) -> None:
    """Inputs move the values of sweeps, which are the person's own then; not a byte of the file is changed."""
    own, path = tmp_path / "budget.csv", tmp_path / "plan.xlsx"
    own.write_text(BUDGET)
    planner("build", "llama3-8b", "-H", "tpu-v5p", "--template", own, *TABLES, "-o", path)
    edit(path, ("Inputs", "n_chips", 6, 512), ("Inputs", "batch_tokens", 6, 2**24))
    before = path.read_bytes()
    assert planner("update", path, "--template", own, *TABLES).strip().endswith("nothing to update")
    assert path.read_bytes() == before
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


def _renamed_and_copied(book: openpyxl.Workbook) -> None:
    """Three sheets of other names, copies of two in front of them, the Cover further down, and no Log."""
    for cell in (cell for sheet in book for row in sheet.iter_rows() for cell in row):
        if isinstance(cell.value, str) and cell.value.startswith("="):
            cell.value = cell.value.replace("Mine!", "'My plan'!").replace("Inputs!", "Typed!")
    for name, new in (("Mine", "My plan"), ("Inputs", "Typed"), ("Cover", "Front")):
        book[name].title = new
    for name in ("My plan", "Typed"):
        copied = book.copy_worksheet(book[name])
        copied.title = {"Typed": "Inputs"}.get(name, copied.title)
        book.move_sheet(copied, -99)
    book["Front"].insert_rows(next(row for row in range(4, 99) if book["Front"].cell(row, 1).value == "Version"), 2)
    del book["Log"]


def _no_cover(book: openpyxl.Workbook) -> None:
    del book["Cover"]


def _no_memory(book: openpyxl.Workbook) -> None:
    cover = book["Cover"]
    cover.delete_rows(next(row for row in range(1, 99) if cover.cell(row, 1).value == HEADING), 60)


def _places_as_texts(book: openpyxl.Workbook) -> None:
    """As versions wrote them that remembered nothing: where a line's number stands is a text of Dashboard."""
    _no_memory(book)
    led = [cell for cell in book["Dashboard"]["D"] if cell.hyperlink and str(cell.value).startswith('="')]
    assert led
    for cell in led:
        cell.value = "Mine row 7"


UNREMEMBERED = [
    "Cover doesn't say what planner wrote last, so its labels, formulas and notes came in place of all there"
]


@pytest.mark.parametrize(
    ("edited", "own_sheets", "new_sheets", "remarks"),
    [
        (_renamed_and_copied, ["Inputs", "My plan Copy"], ["Log"], []),
        (_no_cover, [], ["Cover"], UNREMEMBERED),
        (_no_memory, [], [], UNREMEMBERED),
        (_places_as_texts, [], [], UNREMEMBERED),
    ],
)
def test_sheets_that_were_copied_renamed_or_deleted(
    small: tuple[Path, Path],
    edited: Callable[[openpyxl.Workbook], None],
    own_sheets: list[str],
    new_sheets: list[str],
    remarks: list[str],
) -> None:
    """A copy is a person's, a renamed sheet is planner's, a deleted one comes back in its place; all are up to date."""
    path, own = small
    book = openpyxl.load_workbook(path)
    edited(book)
    save(book, path)
    own.write_text(
        SMALL.replace("All it costs", "The whole cost").replace("total_rows*batch", "row_scale*total_rows*batch")
    )
    done, plan = brought(path, own)
    assert (done.own_sheets, done.new_sheets, done.remarks) == (own_sheets, new_sheets, remarks)
    assert (done.texts, done.formulas, done.typed_over) == ([], [], [])
    assert any(row.label == "The whole cost" for rows in plan.tables.values() for row in rows)


@pytest.mark.slow
@needs_office
def test_what_libreoffice_saved_is_still_planners(small: tuple[Path, Path], tmp_path: Path) -> None:
    """It splits validations and numbers formats anew, and the memory survives it: nothing is taken for a person's."""
    path, own = small
    there = tmp_path / "saved.xlsx"
    computed([(path, there)])
    assert not update_file(there, [str(own)], FEW)[0].is_needed
    own.write_text(
        SMALL.replace("All it costs", "The whole cost").replace("total_rows*batch", "row_scale*total_rows*batch")
    )
    done, _ = brought(there, own)
    is_as_built(there, own, tmp_path)
    kept = done
    assert (kept.texts, kept.formulas, kept.typed_over, kept.cleared, kept.both) == ([], [], [], [], [])
    assert (kept.formats, kept.own_cells, done.rules) == (0, 0, 0)
    assert (done.own_sheets, done.own_rows, done.own_columns, done.remarks) == ([], [], [], [])


def test_a_range_of_one_cell_that_gnumeric_saved_is_still_planners(tmp_path: Path) -> None:
    """It saves SUM(F8:F8) as SUM(F8): planner's formula all the same, which leads where planner's leads now."""
    own, path = tmp_path / "mine.csv", tmp_path / "plan.xlsx"
    served = HEAD + '.,Inference,,include,inference(),,\ncheck_served,Served,1,check,"IF(batch>0,1,0)",,\n'
    own.write_text(served)
    planner("build", "llama3-8b", "-H", "tpu-v5p", "--template", own, *TABLES, "-o", path)
    book = openpyxl.load_workbook(path)
    wrote = re.compile(r"([(,]\$?[A-Z]+\$?[0-9]+):(\$?[A-Z]+\$?[0-9]+)(?=[,)])")
    alone = []
    for cell in (cell for sheet in book for row in sheet.iter_rows() for cell in row):
        if not (isinstance(cell.value, str) and cell.value.startswith("=")):
            continue
        new = wrote.sub(lambda found: found[1] if found[1][1:] == found[2] else found[0], cell.value)
        alone += [cell] if new != cell.value else []
        cell.value = new
    assert alone
    save(book, path)
    own.write_text(served.replace("Served", "Is served"))
    done, _ = brought(path, own)
    assert (done.formulas, done.typed_over, done.both) == ([], [], [])


def test_the_looks_that_gnumeric_saved_are_still_planners(small: tuple[Path, Path]) -> None:
    """A white fill for none, a colour of borders that aren't drawn, no named style, another font in blank cells:
    nothing that a person sees is a format of theirs; what they fill is."""
    path, own = small
    book = openpyxl.load_workbook(path)
    book["Mine"].cell(row_of(book, "Mine", "total_cost"), 6).fill = PatternFill("solid", fgColor="FF00FF00")
    save(book, path)
    package = Package.read(path)
    part, styles = "xl/styles.xml", package.parts["xl/styles.xml"].decode()
    white = '<patternFill patternType="solid"><fgColor rgb="FFFFFFFF"/><bgColor rgb="FFC7C7C7"/></patternFill>'
    styles = re.sub(r"<fill><patternFill ?/></fill>", f"<fill>{white}</fill>", styles, count=1)
    styles = re.sub(r"<(left|right|top) ?/>", r'<\1><color rgb="FFC7C7C7"/></\1>', styles)
    begin, end = styles.index("<cellXfs"), styles.index("</cellXfs>")
    listed = re.sub(r'xfId="[0-9]+"', 'xfId="0"', styles[begin:end])
    blank = '<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0"/>'
    count = listed.count("<xf ")
    package.replace(part, (styles[:begin] + listed + blank + styles[end:]).encode())
    sheet = package.sheets()["Mine"]
    package.replace(sheet, package.parts[sheet].replace(b"</row>", b'<c r="AG1" s="%d"/></row>' % count, 1))
    package.write(path)
    own.write_text(SMALL.replace("All it costs", "The whole cost"))
    assert brought(path, own)[0].formats == 1


def test_a_damaged_memory_is_none(small: tuple[Path, Path]) -> None:
    """A text of the memory that a person cut is no reason to refuse: it is as if the workbook had none."""
    path, own = small
    book = openpyxl.load_workbook(path)
    cover = book["Cover"]
    row = next(row for row in range(1, 99) if str(cover.cell(row, 1).value).startswith("What planner wrote"))
    cover.cell(row + 1, 2).value = cover.cell(row + 1, 2).value[:-9]
    save(book, path)
    done, _ = brought(path, own)
    assert done.formulas == done.texts == []

"""What an update names and keeps of references: ranges and names that lose rows, validations, links."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest
from openpyxl.worksheet.datavalidation import DataValidation

from planner.book.read_plan import read_plan
from planner.check.run import check
from planner.update.update import update_file
from planner.xlsx.opc import Package
from tests.merges import FEW, SMALL, brought, fixture_built, fixture_small, planner  # noqa: F401
from tests.workbooks import row_of, save, sheet_of

pytestmark = pytest.mark.usefixtures("few_cases")


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

"""`planner scenario remove`: a scenario out of a workbook that a person may have edited, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.chart import BarChart, Reference, Series
from openpyxl.comments import Comment
from openpyxl.formatting.rule import CellIsRule
from openpyxl.styles import Font
from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.table import Table

from planner.book.read_plan import read_plan
from planner.book.workbook import Book
from planner.check.run import check
from planner.update.update import update, update_file
from planner.xlsx.address import address
from planner.xlsx.cellvalue import same_value
from planner.xlsx.comments import notes
from planner.xlsx.moved_cells import with_moved_cells
from planner.xlsx.moved_parts import move, move_around_rows
from planner.xlsx.moves import Moves, SheetMoves, Track
from planner.xlsx.opc import Package
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.workbook_part import parse_sheets
from planner.xlsx.worksheet import Worksheet
from planner.xlsx.xmltree import every
from tests import workbooks
from tests.commands import command, refused, run, untouched
from tests.libreoffice import needs_libreoffice, recalculated, saved
from tests.workbooks import (
    MODELS,
    SheetsOf,
    agree,
    edit,
    few_rows,
    row_of,
    type_in,
    write_comparison,
    write_plan,
    write_small,
)

CHIPS = ["tpu-v5e", "tpu-v5p", "tpu-v6e"]
IDS = ["tpu_v5e", "tpu_v5p", "tpu_v6e"]
SERVING = [f"llama3_8b_on_{chip}" for chip in IDS]
Contents = dict[tuple[str, int, int], tuple[Any, ...]]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A workbook of three scenarios and one template: a matmul, which each chip takes its own time for."""
    path = tmp_path_factory.mktemp("built") / "plan.xlsx"
    write_small(path, [], CHIPS, ["matmul"], tokens=64, d_in=4096, d_out=1024)
    return path.read_bytes()


def test_ranges_that_lost_a_scenario_are_still_planners(plan: Path) -> None:
    """An update that has something to do takes none of the ranges that are a column shorter for a person's formula."""
    command("scenario", "remove", plan, IDS[1])
    updated, _ = update_file(plan, databases=few_rows(("llama3-8b",), (*CHIPS, "tpu-v4")))
    assert updated.is_needed
    assert not updated.formulas
    assert not updated.both


def show(path: Path, scenario: str) -> None:
    """Choose the scenario that Dashboard shows."""
    package = Package.read(path)
    sheet = parse_sheets(package)["Dashboard"]
    row = next(int(ref[1:]) for ref, cell in sheet.cells.items() if ref[0] == "C" and cell.value == "shown_scenario")
    type_in(package, "Dashboard", {address(row, 4): scenario})
    package.write(path)


def contents(path: Path) -> Contents:
    """The formula, the value and the format of every cell, but for Cover and Log, which tell of the build."""
    found: Contents = {}
    for name, sheet in Book(Package.read(path)).sheets.items():
        for (row, column), cell in sheet.cells.items() if name not in ("Cover", "Log") else ():
            formula = sheet.patterns.get((row, column))
            shown = formula.at(row, column) if formula else None
            found[name, row, column] = shown, sheet.value(row, column), cell.style
    return found


def same(one: tuple[Any, ...] | None, other: tuple[Any, ...] | None) -> bool:
    """Whether two cells have the same formula and format, and the same value but for its last digits."""
    if one is None or other is None:
        return False
    return one[::2] == other[::2] and same_value(one[1], other[1], 1e-12)


def layout(path: Path) -> dict[str, tuple[object, ...]]:
    """Of each sheet the widths, printed area, rules and charts' places."""
    package, found = Package.read(path), {}
    names = [*every(package.tree(package.workbook_part()), "definedName")]
    areas = {each.get("localSheetId"): each.text for each in names if each.get("name") == "_xlnm.Print_Area"}
    for at, (name, part) in enumerate(package.sheets().items()):
        root = package.tree(part)
        widths = {column: each.get("width") for each in every(root, "col")
                  for column in range(int(each.get("min")), int(each.get("max")) + 1)}  # fmt: skip
        formats, held = (
            sorted((each.get("sqref"), *(text.text for text in every(each, *of))) for each in every(root, kind))
            for kind, of in (("conditionalFormatting", ["formula"]), ("dataValidation", ["formula1"]))
        )
        drawings = (package.tree(drawing) for drawing in package.linked(part, "drawing"))
        places = [
            tuple(int(corner.text) for corner in place) for drawing in drawings for place in every(drawing, "from")
        ]
        found[name] = widths, areas.get(str(at)), formats, held, places
    assert all(any(each[kind] for each in found.values()) for kind in range(5))
    return {name: each for name, each in found.items() if name not in ("Cover", "Log")}


@pytest.mark.parametrize(
    ("chips", "gone"), [(CHIPS[:2], 1), *(pytest.param(CHIPS, at, marks=pytest.mark.slow) for at in range(3))]
)
def test_the_rest_is_as_a_build_without_it(plan: Path, tmp_path: Path, chips: list[str], gone: int) -> None:
    """Every cell with its formula, value and format, every width, rule, printed area and chart is the fresh one's.

    But for the Comparison, whose cases stay on the first chip that the workbook was built for. What was shown on
    Dashboard is another scenario then: the first, as there.
    """
    write_small(plan, ["llama3-8b"], chips, ["inference"], n_chips=4)
    show(plan, SERVING[gone])
    command("scenario", "remove", plan, SERVING[gone])
    fresh = tmp_path / "fresh.xlsx"
    write_small(fresh, ["llama3-8b"], [chip for chip in chips if chip != CHIPS[gone]], ["inference"], n_chips=4)
    kept, wanted = contents(plan), contents(fresh)
    others = {at for at in kept.keys() | wanted.keys() if gone or at[0] != "Comparison"}
    assert {at: (kept.get(at), wanted.get(at)) for at in others if not same(kept.get(at), wanted.get(at))} == {}
    assert layout(plan) == layout(fresh)
    assert {each.kind for each in check(Package.read(plan)).found} <= {"failed_check", "override"}


@pytest.mark.parametrize(
    ("gone", "is_served"),
    [(0, False), (1, False), (2, False), *(pytest.param(gone, True, marks=pytest.mark.slow) for gone in range(3))],
)
def test_there_is_nothing_to_update_then(plan: Path, gone: int, is_served: bool) -> None:
    """What is left is what an update makes of it: of one template, and of one with all its charts and sweeps."""
    if is_served:
        write_plan(plan, ["llama3-8b"], CHIPS, ["inference"], n_chips=4)
    command("scenario", "remove", plan, (SERVING if is_served else IDS)[gone])
    databases = None if is_served else few_rows(MODELS, (*workbooks.CHIPS, "h200-sxm"))
    assert not update(Package.read(plan), databases=databases).is_needed


def test_the_file_as_it_was_stays_beside(plan: Path, built: bytes) -> None:
    """The old file is kept, byte for byte, and named."""
    done = run("scenario", "remove", plan, IDS[0])
    assert (plan.parent / "plan.bak.xlsx").read_bytes() == built
    assert f"The file as it was: {plan.parent / 'plan.bak.xlsx'}" in done.output
    assert "removed tpu_v5e, column F of Inputs, Dashboard, Matmul, Constraints, Checks." in done.output


def test_no_formula_was_edited_by_it(plan: Path) -> None:
    """`diff` tells of the first scenario that it went, and of no other cell: the Dashboard's first line stays."""
    write_small(plan, ["llama3-8b"], CHIPS[:2], ["inference"], n_chips=4)
    command("scenario", "remove", plan, SERVING[0])
    told = json.loads(run("diff", "--json", plan.parent / "plan.bak.xlsx", plan).output)
    assert [(each["what"], each["name"]) for each in told["structure"]] == [("scenario", SERVING[0])]
    assert told["formulas"] == []


def work(book: openpyxl.Workbook) -> None:
    """A sheet, a name, a rule, a chart and notes of a person's that speak of the scenario in the middle."""
    row, mine = row_of(book, "Matmul", "expected_time"), book.create_sheet("Mine")
    mine["A1"], mine["A2"] = f"=Matmul!G{row}", f"=SUM(Matmul!F{row}:H{row})"
    mine["A3"], mine["A4"] = f"=Matmul!H{row}", IDS[1]
    book.defined_names["my_step"] = DefinedName("my_step", attr_text=f"Matmul!$G${row}")
    sheet = book["Matmul"]
    sheet.conditional_formatting.add("G20:G30", CellIsRule(operator="lessThan", formula=["1"], font=Font(bold=True)))
    sheet.cell(row, 8).value = 0.5
    book["Inputs"]["G12"].comment = Comment("ask Ann", "me")
    book["Inputs"]["H12"].comment = Comment("ask Bob", "me")
    chart = BarChart()
    for column in (7, 8):
        chart.series.append(Series(Reference(sheet, min_col=column, min_row=row, max_row=row + 1), title=str(column)))
    mine.add_chart(chart, "C3")


def test_what_reads_it_is_lost_and_listed(plan: Path) -> None:
    """References of a person's to it are #REF! and named, ranges over it shrink, all else follows what has moved."""
    edit(plan, work)
    before = read_plan(plan)
    done = command("scenario", "remove", plan, IDS[1])
    book = SheetsOf(plan)
    row, mine = row_of(book, "Matmul", "expected_time"), book["Mine"]
    assert [mine[cell].value for cell in ("A1", "A2", "A3")] == [
        "=Matmul!#REF!", f"=SUM(Matmul!F{row}:G{row})", f"=Matmul!G{row}",
    ]  # fmt: skip
    said = [line.strip() for line in done.splitlines()]
    assert f"Mine!A1 read Matmul!G{row}, which is no more" in said
    assert f"the name my_step read Matmul!$G${row}, which is no more" in said
    assert f"Mine!A4 says {IDS[1]}, which is no more" in said
    assert "the note on Inputs!G12 went with it: ask Ann" in said
    assert any(line.startswith("a series of the chart in ") for line in said)
    assert len([line for line in said if "which is no more" in line]) == 4
    assert [(cell.coordinate, cell.comment.text) for line in book["Inputs"].iter_rows() for cell in line
            if cell.comment] == [("G12", "ask Bob")]  # fmt: skip
    assert len(mine._charts[0].series) == 1
    assert "G20:G30" not in {str(found.sqref) for found in book["Matmul"].conditional_formatting}
    after = read_plan(plan)
    assert [each.id for each in after.scenarios] == [IDS[0], IDS[2]]
    assert after.value("expected_time", IDS[2]) == 0.5
    for quantity in before.tables["Matmul"]:
        for key in (IDS[0], IDS[2]):
            assert after.value(quantity.name, key) == quantity.value(key)
    assert not after.stale


def test_what_loses_it_without_an_error_is_listed(plan: Path) -> None:
    """A range over all scenarios that a person adds up on a sheet of theirs, or beside planner's, and a lookup by the
    scenario's id, are named; a lookup of another one's, and what reads the others alone, are not.
    """

    def work(book: openpyxl.Workbook) -> None:
        row, own = row_of(book, "Matmul", "expected_time"), book.create_sheet("Mine")
        for at, formula in enumerate((
            f"SUM(Matmul!F{row}:H{row})", f"MAX(Matmul!F{row}:H{row})-Inputs!$F$12", f"Matmul!F{row}+Matmul!H{row}",
            f'HLOOKUP("{IDS[1]}",Matmul!F4:H{row},{row - 3},FALSE)',
            f'INDEX(Matmul!F{row}:H{row},MATCH("{IDS[2]}",Matmul!F4:H4,0))',
        ), start=1):  # fmt: skip
            own.cell(at, 1).value = f"={formula}"
        book["Matmul"].cell(row, 11).value = f"=AVERAGE(F{row}:H{row})"

    edit(plan, work)
    row = row_of(SheetsOf(plan), "Matmul", "expected_time")
    done = run("scenario", "remove", plan, IDS[1])
    assert [line.strip() for line in done.output.splitlines() if "Mine" in line or "now" in line] == [
        f"Mine!A4 says {IDS[1]}, which is no more",
        f"Mine!A1 reads Matmul!F{row}:H{row}, without 1 column now",
        f"Mine!A2 reads Matmul!F{row}:H{row}, without 1 column now",
        f"Matmul!J{row} reads Matmul!F{row}:H{row}, without 1 column now",
    ]


def test_what_a_person_wrote_beside_the_lines_of_its_column_is_listed(plan: Path) -> None:
    """A formula, a text and a number below planner's rows are told where they go with the column; another's are not."""

    def work(book: openpyxl.Workbook) -> None:
        row = book["Matmul"].max_row + 3
        for at, value in enumerate(("=AVERAGE(F12:H12)", "bought in May", 1234)):
            book["Matmul"].cell(row + at, 7).value = value
        book["Matmul"].cell(row, 6).value = "mine"

    edit(plan, work)
    done = run("scenario", "remove", plan, IDS[1])
    told = [line.split(" went with it: ")[1] for line in done.output.splitlines() if "went with it" in line]
    assert told == ["=AVERAGE(F12:H12)", "bought in May", "1,234"]


def test_the_only_note_of_a_sheet(plan: Path) -> None:
    """A note that was the sheet's only one goes with all that showed it: the file is clean by every rule."""

    def note(book: openpyxl.Workbook) -> None:
        book["Inputs"]["G12"].comment = Comment("ask Ann", "me")

    edit(plan, note)
    command("scenario", "remove", plan, IDS[1])
    assert not notes(Package.read(plan))
    assert {each.kind for each in check(Package.read(plan)).found} <= {"failed_check", "override"}


def with_a_column(path: Path, sheet: str, at: int) -> None:
    """Put an empty column in before column `at` of a sheet, as a spreadsheet program does, and a text into it."""
    package = Package.read(path)
    moves = Moves({sheet: SheetMoves(sheet, columns=Track({at: at + 1}))})
    xml, _ = with_moved_cells(parse_sheets(package)[sheet], sheet, moves)
    moved = Worksheet(xml)
    move_around_rows(moved.root, sheet, moves)
    package.replace(package.sheets()[sheet], moved.xml())
    move(package, moves, [sheet])
    type_in(package, sheet, {address(20, at): "my remark"})
    package.write(path)


def test_a_shared_formula() -> None:
    """Cells that share a formula, as Excel saves what was filled, each have it as their own when a column goes."""
    cells = '<c r="A2"><f t="shared" ref="A2:C2" si="0">A1*2</f></c>' + "".join(
        f'<c r="{ref}"><f t="shared" si="0"/></c>' for ref in ("B2", "C2")
    )
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    xml = f'<worksheet xmlns="{main}"><sheetData><row r="2">{cells}</row></sheetData></worksheet>'
    moves = Moves({"S": SheetMoves("S", columns=Track({3: 2}, frozenset({2})))})
    moved, _ = with_moved_cells(SheetXml(xml.encode()), "S", moves)
    assert {ref: cell.formula for ref, cell in SheetXml(moved).cells.items()} == {"A2": "A1*2", "B2": "B1*2"}


@pytest.mark.slow
def test_columns_that_a_person_has_moved(plan: Path) -> None:
    """A column that a person put between the scenarios of one sheet stays, and the right one goes on each sheet."""
    with_a_column(plan, "Matmul", 7)
    before = read_plan(plan)
    done = run("scenario", "remove", plan, IDS[1])
    assert "column G of Inputs, Dashboard, Constraints, Checks; column H of Matmul." in done.output
    after = read_plan(plan)
    assert after.at("Matmul", 20, 7) == "my remark"
    assert [each.hardware for each in after.scenarios] == ["tpu-v5e", "tpu-v6e"]
    for quantity in before.tables["Matmul"]:
        assert [after.value(quantity.name, key) for key in (IDS[0], IDS[2])] == [
            quantity.value(key) for key in (IDS[0], IDS[2])
        ]
    assert not after.stale


@pytest.mark.parametrize(
    ("scenario", "says"),
    [
        ("tpu_v7", "no scenario 'tpu_v7'; did you mean tpu_v"),
        ("", "no scenario ''; known: "),
    ],
)
def test_an_unknown_scenario(plan: Path, built: bytes, scenario: str, says: str) -> None:
    """One that isn't there is one line with the nearest, exit code 2, and the file as it was."""
    done = refused("scenario", "remove", plan, scenario)
    assert says in done
    assert plan.read_bytes() == built
    assert [file.name for file in plan.parent.iterdir()] == ["plan.xlsx"]


def test_the_last_scenario_stays(plan: Path) -> None:
    """A workbook has one scenario at least."""
    write_comparison(plan)
    before = plan.read_bytes()
    done = run("scenario", "remove", plan, IDS[0])
    assert "tpu_v5e is the last scenario; add another one first: planner scenario add" in done.stderr
    assert (done.exit_code, plan.read_bytes()) == (2, before)


def test_a_table_over_it_is_refused(plan: Path) -> None:
    """What Excel calls a table has a title for each column: one across the scenario's column is named, nothing done."""

    def table(book: openpyxl.Workbook) -> None:
        sheet = book["Matmul"]
        for column, title in enumerate(("a", "b", "c"), start=6):
            sheet.cell(900, column).value = title
        sheet.add_table(Table(displayName="Ours", ref="F900:H902"))

    edit(plan, table)
    with untouched(plan):
        done = run("scenario", "remove", plan, IDS[1])
        assert "the table Ours fills Matmul!F900:H902; turn it into plain cells" in done.stderr


@pytest.mark.parametrize(
    ("row", "remedy"), [(5, f"give an id: {IDS[0]}, {IDS[1]}"), (4, "give each an id of its own on Inputs")]
)
def test_a_name_that_two_have(plan: Path, row: int, remedy: str) -> None:
    """A name that two scenarios are shown by says nothing: their ids are asked for. Nor does an id that two have."""
    package = Package.read(plan)
    type_in(package, "Inputs", {f"F{row}": "Mine", f"G{row}": "Mine"})
    package.write(plan)
    done = run("scenario", "remove", plan, "mine")
    assert f"2 scenarios are called 'mine'; {remedy}" in done.stderr


@needs_libreoffice
@pytest.mark.slow
@pytest.mark.parametrize("gone", [0, 1])
def test_a_workbook_that_another_program_saved(plan: Path, tmp_path: Path, gone: int) -> None:
    """Of what LibreOffice saved a scenario goes too, and LibreOffice computes what is left to what the file says."""
    saved(plan, tmp_path)
    before = read_plan(plan)
    command("scenario", "remove", plan, IDS[gone])
    after = read_plan(plan)
    for quantity in (*before.tables["Matmul"], *before.headlines):
        now = next(row for row in (*after.tables["Matmul"], *after.headlines) if row.name == quantity.name)
        assert agree(now.value(IDS[2]), quantity.value(IDS[2])) or quantity.value(IDS[2]) == now.value(IDS[2])
    assert {each.kind for each in check(Package.read(plan)).found} <= {"failed_check", "override"}
    theirs = recalculated(plan, tmp_path)
    wrong = [
        cell for cell in (row.cells[IDS[2]].spot for row in after.tables["Matmul"])
        if isinstance(after.at(cell.sheet, cell.row, cell.column), float)
        and not agree(theirs[cell.sheet].get(cell.ref), after.at(cell.sheet, cell.row, cell.column))
    ]  # fmt: skip
    assert wrong == []

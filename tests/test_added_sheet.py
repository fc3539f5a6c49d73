"""A sheet of values put into an edited workbook: in place of the one before it, and of nothing else."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.styles import Border, Font, PatternFill, Side

from planner import progress
from planner.book.added_sheets import added
from planner.book.workbook import Book
from planner.check.run import check
from planner.workbook.added_sheet import FIRST_ROW, put
from planner.workbook.page import Live, Page
from planner.workbook.scenarios import plan_of
from planner.xlsx.opc import Package
from planner.xlsx.workbook_part import parse_sheets
from tests.commands import command
from tests.libreoffice import needs_libreoffice, saved
from tests.workbooks import CHIPS, MODELS, build_small, edit, few_rows, sheet_of

KIND = "Found"


@pytest.fixture(name="built", scope="module")
def fixture_built() -> bytes:
    """A small workbook, of which `plan` is a copy; its Comparison has few cases."""
    return build_small(plan_of((), ["tpu-v5e"], ["matmul"], None, (), few_rows(MODELS[:1], CHIPS)))


def found(page: Page, *values: float, live: str = "") -> None:
    """A table of some numbers with a chart; with `live` a formula behind it."""
    page.put(FIRST_ROW, 1, "Time", "plan_header_right")
    for row, value in enumerate(values, start=FIRST_ROW + 1):
        page.put(row, 1, value, "plan_formula", '0.0" ms"')
    if live:
        page.put(FIRST_ROW + 1, 2, Live(live), "plan_formula")
    chart = BarChart()
    chart.add_data(Reference(page.sheet, min_col=1, min_row=FIRST_ROW, max_row=FIRST_ROW + len(values)))
    page.sheet.add_chart(chart, "D5")
    page.colour("A6:A9", "A6>2", ink="FFB42318")


def write(path: Path, *values: float, live: str = "") -> str:
    """Put the sheet into a workbook on disk; returns its name."""
    package = Package.read(path)
    name = put(package, KIND, "Numbers of a test.", lambda page: found(page, *values, live=live))
    package.write(path)
    return name


def values(path: Path, sheet: str) -> list[object]:
    """The numbers below the table's head."""
    cells = parse_sheets(Package.read(path))[sheet]
    return [cell.value for row in range(FIRST_ROW + 1, 20) if (cell := cells.cell(f"A{row}")) is not None]


def untouched(before: Package, after: Package) -> list[str]:
    """The parts of a package that another one has otherwise or not at all."""
    return [name for name, data in before.parts.items() if after.parts.get(name) != data]


def test_a_number_that_a_program_saves_with_fewer_digits_is_no_edit(plan: Path) -> None:
    """openpyxl keeps 16 digits: half of the 17 that a double may have are rounded up to those, then up once more."""
    awkward = 1.2181072672066149
    assert f"{float(f'{awkward:.16g}'):.15g}" != f"{awkward:.15g}"  # rounded once and twice: not the same
    write(plan, awkward)
    edit(plan, lambda book: book.create_sheet("Mine"))
    assert write(plan, 1) == KIND
    assert values(plan, KIND) == [1]


def test_it_is_last_and_nothing_else_changes(plan: Path) -> None:
    """A new sheet stands behind all others with its chart, its numbers to 15 digits; only lists and formats change."""
    before = Package.read(plan)
    assert write(plan, 1.5, 0.1 + 0.2) == KIND
    after = Package.read(plan)
    assert list(after.sheets())[-1] == KIND
    assert values(plan, KIND) == [1.5, 0.3]
    changed = ["[Content_Types].xml", "xl/styles.xml", "xl/workbook.xml", "xl/_rels/workbook.xml.rels"]
    assert sorted(untouched(before, after)) == sorted(changed)
    (drawing,) = (each.target for each in after.relationships(after.sheets()[KIND]) if each.kind == "drawing")
    assert [each.kind for each in after.relationships(drawing)] == ["chart"]
    looks = sheet_of(plan, KIND)
    assert (looks["A6"].number_format, looks["A1"].style, looks["A5"].font.b) == ('0.0" ms"', "plan_title", True)


def test_check_has_nothing_to_say(plan: Path) -> None:
    """`planner check` finds no fault in a workbook with such a sheet, a live formula on it among them."""
    write(plan, 1.0, live="Inputs!F9")
    assert [each for each in check(Package.read(plan)).found if each.sheet == KIND] == []


def test_a_newer_one_stands_in_its_place(plan: Path) -> None:
    """It is replaced where it stands, under the name that its tab has now, and its chart's old part is gone."""
    write(plan, 1.0, 2.0, 3.0)

    def moved(book: openpyxl.Workbook) -> None:
        book[KIND].title = "My finds"
        book.move_sheet("My finds", -3)

    edit(plan, moved)
    package = Package.read(plan)
    names, parts = list(package.sheets()), set(package.parts)
    assert write(plan, 7.0) == "My finds"
    after = Package.read(plan)
    assert list(after.sheets()) == names
    assert set(after.parts) == parts
    assert values(plan, "My finds") == [7.0]
    assert [each for each in check(after).found if each.rule == 33] == []


@pytest.mark.parametrize("touch", ["number", "note", "row", "chart", "fill", "font", "border", "number format"])
def test_one_that_a_person_worked_on_is_theirs(plan: Path, touch: str) -> None:
    """With a number, note, row, chart or format put in it stays whole; the newer one stands beside it."""
    write(plan, 1.0, 2.0)

    def worked(book: openpyxl.Workbook) -> None:
        sheet = book[KIND]
        if touch == "number":
            sheet["H30"] = 5
        elif touch == "note":
            sheet["A6"].comment = Comment("why?", "me")
        elif touch == "fill":
            sheet["A7"].fill = PatternFill("solid", fgColor="FFFFFF00")
        elif touch == "font":
            sheet["A5"].font = Font(bold=True, color="FFFF0000")
        elif touch == "border":
            sheet["A7"].border = Border(bottom=Side("thick"))
        elif touch == "number format":
            sheet["A7"].number_format = "0.0000"
        elif touch == "chart":
            sheet.add_chart(BarChart(), "D30")
        else:
            sheet.insert_rows(1)

    edit(plan, worked)
    kept = parse_sheets(Package.read(plan))[KIND].xml
    assert write(plan, 7.0) == f"{KIND} 2"
    assert parse_sheets(Package.read(plan))[KIND].xml == kept
    assert write(plan, 8.0) == f"{KIND} 2"
    assert values(plan, f"{KIND} 2") == [8.0]


def test_a_persons_own_sheet_of_that_name_stays(plan: Path) -> None:
    """A sheet that is called so and isn't planner's is never replaced, however its name is written."""
    edit(plan, lambda book: book.create_sheet("FOUND").append(["Found", "mine"]))
    assert write(plan, 1.0) == f"{KIND} 2"
    assert parse_sheets(Package.read(plan))["FOUND"].cell("B1").value == "mine"  # type: ignore[union-attr]


def test_what_reads_it_is_computed(plan: Path) -> None:
    """A person's formula that reads the sheet has the newer number, and a live formula on the sheet its own."""
    write(plan, 1.0)
    edit(plan, lambda book: book.create_sheet("Mine").append([f"={KIND}!A6*2"]))
    write(plan, 21.0, live="A6+1")
    sheets = parse_sheets(Package.read(plan))
    assert sheets["Mine"].cell("A1").value == 42.0  # type: ignore[union-attr]
    assert sheets[KIND].cell("B6").value == 22.0  # type: ignore[union-attr]
    assert [each.is_as_written for each in added(Book(Package.read(plan)).sheets.values())] == [True]


def test_what_reads_a_line_that_moved_is_told(plan: Path) -> None:
    """A newer sheet may have other lines: a person's formula that reads one is named, and none that reads by a name."""

    def write_lines(*lines: str) -> None:
        package = Package.read(plan)
        put(
            package,
            KIND,
            "Lines.",
            lambda page: [page.put(6 + at, 1, each, "plan_text") for at, each in enumerate(lines)],
        )
        package.write(plan)

    progress.say_warnings()  # those of earlier tests
    write_lines("Step", "Idle")
    mine = [f"={KIND}!B6", f"={KIND}!B7", f'=VLOOKUP("Idle",{KIND}!A:B,2,0)']
    edit(plan, lambda book: book.create_sheet("Mine").append(mine))
    write_lines("Step", "Idle")
    assert not progress.warnings()
    write_lines("Step", "Spread", "Idle")
    assert progress.warnings() == [f"{KIND} is written anew: Mine!B1 may read other lines than before"]


@pytest.mark.slow
def test_an_update_leaves_it_as_it_is(tmp_path: Path) -> None:
    """`planner update` of an older workbook keeps the sheet, says what it is, and leads its formula on."""
    plan = tmp_path / "plan.xlsx"
    plan.write_bytes((Path(__file__).parent / "golden" / "edited.xlsx").read_bytes())
    write(plan, 1.0, 2.0, live="INDEX(Inputs!$F$4:$AC$4,1)")
    done = command("update", plan)
    assert f"Kept as they were, values of one moment: {KIND}\n" in done
    assert values(plan, KIND) == [1.0, 2.0]
    book = Book(Package.read(plan))
    assert [(each.kind, each.is_as_written) for each in added(book.sheets.values())] == [(KIND, True)]
    assert book.sheets[KIND].value(FIRST_ROW + 1, 2) == book.said("scenario_id", book.inputs.columns[0])
    assert write(plan, 3.0) == KIND


@needs_libreoffice
@pytest.mark.slow
def test_it_is_known_after_libreoffice_saved_it(plan: Path) -> None:
    """LibreOffice keeps the mark and every digit that counts: the sheet is replaced after it saved the workbook."""
    numbers = [1 / 3, 1e-9 / 7, 2e15 / 3, 123456.789, 0.1 + 0.2, -5.0]
    write(plan, *numbers, live="A6*2")
    saved(plan, plan.parent)
    (sheet,) = added(Book(Package.read(plan)).sheets.values())
    assert (sheet.kind, sheet.is_as_written) == (KIND, True)
    assert write(plan, 7.0) == KIND
    assert values(plan, KIND) == [7.0]
    saved(plan, plan.parent)
    edit(plan, lambda book: book[KIND].__setitem__("C9", "mine"))
    assert write(plan, 8.0) == f"{KIND} 2"

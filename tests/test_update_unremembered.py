"""Updates of workbooks whose sheets were copied, renamed or deleted, or which other programs saved."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest
from openpyxl.styles import PatternFill

from planner.update.update import update_file
from planner.workbook.memory import HEADING
from planner.xlsx.opc import Package
from tests.edits.programs import computed, needs_office
from tests.merges import FEW, HEAD, SMALL, TABLES, brought, fixture_built, fixture_small, is_as_built, planner  # noqa: F401
from tests.workbooks import row_of, save

pytestmark = pytest.mark.usefixtures("few_cases")


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
    product = HEAD + '.,Matmul,,include,matmul(),,\ncheck_rows,Rows,1,check,"IF(tokens>0,1,0)",,\n'
    own.write_text(product)
    sizes = [word for name in ("tokens", "d_in", "d_out") for word in ("--set", f"{name}=512")]
    planner("build", "-H", "tpu-v5p", "--template", own, *TABLES, *sizes, "-o", path)
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
    own.write_text(product.replace("Rows", "Rows are there"))
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

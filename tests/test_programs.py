"""Every spreadsheet program computes a workbook alike, and opens it: the values, and the form that programs want."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from planner.book.workbook import Book
from planner.recalc import edit, recalculate
from planner.update.update import update
from planner.workbook.page import LONGEST_TITLE
from planner.workbook.saving import mend
from planner.xlsx.cellvalue import CellError, is_number
from planner.xlsx.drawings import charts_of
from planner.xlsx.opc import Package
from planner.xlsx.references import reference
from planner.xlsx.workbook_part import parse_sheets
from planner.xlsx.xmltree import child, children, every, local_name
from tests.judges import PROGRAMS, Judge, alike, deviations
from tests.workbooks import built, small

GOLDEN = Path(__file__).parent / "golden"
LARGE = (
    ("llama3-70b", "qwen3-235b-a22b", "deepseek-v3", "gemma3-27b", "llama3-8b"),
    ("tpu-v5e", "h100-sxm", "tpu-v5p", "b200-sxm"),
)


def default() -> Package:
    """What `planner build` writes."""
    return Package.from_bytes(built()[1], "default.xlsx")


def large() -> Package:
    """Twenty scenarios, dense and of experts."""
    return Package.from_bytes(built(*LARGE)[1], "large.xlsx")


def edited() -> Package:
    """What an analyst made of an older default, updated."""
    package = Package.read(GOLDEN / "edited.xlsx")
    update(package)
    return package


def mended() -> Package:
    """The same with what an update mends of any workbook, and nothing new: it takes a tenth of the time."""
    package = Package.read(GOLDEN / "edited.xlsx")
    mend(package)
    recalculate(package)
    return package


def shown(package: Package, which: slice) -> list[Package]:
    """The workbook with each of some of its scenarios shown on Dashboard."""
    book, found = Book(package), []
    cell = f"D{book.dashboard.by_name['shown_scenario'].row}"
    for column in book.inputs.columns[which]:
        other = Package.from_bytes(package.to_bytes(), package.name)
        scenario = book.inputs.sheet.text(book.inputs.id_row, column)
        edit(other, parse_sheets(other), book.dashboard.sheet.name, {cell: scenario})
        found.append(other)
    return found


EVERY, LAST = (None,), (-1, None)  # scenarios, as a slice


def every_sheet() -> Package:
    """A small workbook with every sheet that the default one has."""
    templates = ("transformer", "training", "inference", "collectives")
    _, data = small(("llama3-70b",), ("tpu-v5e", "tpu-v5p"), ("n_chips=16", "workload=all"), templates)
    return Package.from_bytes(data, "every_sheet.xlsx")


@cache
def shown_of(workbook: Callable[[], Package], *which: int | None) -> list[Package]:
    """A workbook with each of some of its scenarios shown, made once for all programs."""
    return shown(workbook(), slice(*which))


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("workbook", [default, large, edited])
def test_a_program_computes_every_formula_alike(workbook, program: Judge, tmp_path: Path) -> None:
    """Every formula's value is that of the program within 1e-9, whichever scenario is shown."""
    packages = shown_of(workbook, *EVERY)
    assert len(packages) > 2
    for package, theirs in zip(packages, program(packages, tmp_path), strict=True):
        assert deviations(package, theirs) == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_computes_another_scenario_alike(program: Judge, tmp_path: Path) -> None:
    """So is it in a small workbook with every sheet and the last scenario shown, every day."""
    (package,) = shown_of(every_sheet, *LAST)
    (theirs,) = program([package], tmp_path)
    assert deviations(package, theirs) == []


def test_a_deviation_is_told() -> None:
    """A number that is off by more than 1e-9, a text for a number, and a number for N/A are none; any error is N/A."""
    assert alike(1.0, 1.0 + 1e-10)
    assert alike(CellError("#N/A"), "#N/A")
    assert alike(None, "")
    assert not alike(1.0, 1.0 + 1e-8)
    assert not alike("1", 1.0)
    assert not alike(CellError("#N/A"), 0.0)


OF_SHEETS = pytest.mark.parametrize("workbook", [every_sheet, pytest.param(default, marks=pytest.mark.slow)])


@OF_SHEETS
def test_one_row_is_told_its_row(workbook: Callable[[], Package]) -> None:
    """No formula reads INDEX(one row, place), which Gnumeric and HyperFormula take for the place's row."""
    one_row = re.compile(r"INDEX\(([\w!]*\$?[A-Z]+\$?(\d+):\$?[A-Z]+\$?\2),(?!1,)")
    formulas = [
        cell.formula for sheet in parse_sheets(workbook()).values() for cell in sheet.cells.values() if cell.formula
    ]
    assert [text for text in formulas if one_row.search(text)] == []
    assert one_row.search("INDEX(Inputs!$F$4:$AG$4,$D$5)")


@OF_SHEETS
def test_conditional_formats_read_their_own_sheet(workbook: Callable[[], Package]) -> None:
    """Google Sheets drops a conditional format that reads another."""
    package = workbook()
    formulas = [rule.text for part in package.sheets().values()
                for held in every(package.tree(part), "cfRule") for rule in children(held, "formula")]  # fmt: skip
    assert len(formulas) > 100
    assert not [text for text in formulas if "!" in text]


@OF_SHEETS
def test_excel_marks_nothing(workbook: Callable[[], Package]) -> None:
    """Cells that give #N/A, and texts of planner's that are numbers, are among the ignored errors of their sheet."""
    package = workbook()
    for name, sheet in parse_sheets(package).items():
        ignored = list(every(package.tree(package.sheets()[name]), "ignoredError"))
        texts = {ref for each in ignored if each.get("numberStoredAsText") for ref in cells_of(each)}
        assert any(each.get("evalError") == each.get("formula") == "1" for each in ignored), name
        typed = {ref: cell.value for ref, cell in sheet.cells.items() if not cell.kind and isinstance(cell.value, str)}
        numbers = {ref for ref, text in typed.items() if re.fullmatch(r"[0-9]*\.?[0-9]+", text)}
        assert numbers <= texts, name


def cells_of(ignored) -> list[str]:
    """The cells of an element's areas, each in one column."""
    found = []
    for area in ignored.get("sqref").split():
        first, _, last = area.partition(":")
        letters, start = re.fullmatch(r"([A-Z]+)(\d+)", first).groups()
        stop = re.search(r"\d+", last or first)[0]
        found += [f"{letters}{row}" for row in range(int(start), int(stop) + 1)]
    return found


def kept(package: Package) -> dict[tuple[str, int], list[object]]:
    """By chart and place what each reference keeps, and beside it what its cells hold."""
    sheets, found = parse_sheets(package), {}
    for part in charts_of(package):
        for at, drawn in enumerate(every(package.tree(part), "numRef", "strRef")):
            told = reference(child(drawn, "f").text)
            area = told.area
            cells = [sheets[told.sheet].row(row).get(column) for row in range(area.top, area.bottom + 1)
                     for column in range(area.left, area.right + 1)]  # fmt: skip
            wanted = {
                place: cell.value for place, cell in enumerate(cells) if cell is not None and is_drawn(cell.value)
            }
            texts = local_name(drawn) == "strRef"
            list_of = child(drawn, "strCache" if texts else "numCache")
            held = {int(point.get("idx")): child(point, "v").text for point in children(list_of, "pt")}
            assert int(child(list_of, "ptCount").get("val")) == len(cells)
            if texts:
                wanted = {place: f"{value:g}" if is_number(value) else value for place, value in wanted.items()}
            else:
                held = {place: float(text) for place, text in held.items()}
            found[part, at] = [held, wanted]
    return found


def is_drawn(value: object) -> bool:
    """Whether a chart draws a value or is told by it."""
    return is_number(value) or (isinstance(value, str) and value != "")


@OF_SHEETS
def test_charts_keep_what_they_draw(workbook: Callable[[], Package]) -> None:
    """Every reference of every chart keeps the values of its cells, but for #N/A; a phone shows them."""
    found = kept(workbook())
    assert len(found) > 50
    assert all(held == wanted for held, wanted in found.values())
    assert sum(bool(held) for held, _ in found.values()) > len(found) / 2


def test_charts_follow_an_edit() -> None:
    """Another scenario shown, its charts keep its values."""
    (after,) = shown_of(every_sheet, *LAST)
    found = kept(after)
    assert all(held == wanted for held, wanted in found.values())
    assert found != kept(every_sheet())


@pytest.mark.parametrize("workbook", [mended, pytest.param(edited, marks=pytest.mark.slow)])
def test_an_older_workbook_gets_the_form_that_programs_want(workbook: Callable[[], Package]) -> None:
    """After an update its charts keep values, its drawings have their prefix, its fonts the order of the schema."""
    package = workbook()
    assert all(held == wanted for held, wanted in kept(package).values())
    check_parts(package)


@OF_SHEETS
def test_programs_want_the_form_of_parts(workbook: Callable[[], Package]) -> None:
    """What exceljs, Gnumeric and Microsoft's validator stumble over is not there."""
    package = workbook()
    check_parts(package)
    (book,) = (package.tree(part) for part in [package.workbook_part()])
    titles = [name.text for name in every(book, "definedName") if name.get("name") == "_xlnm.Print_Titles"]
    assert [text for text in titles if "," in text] == ["'Comparison'!$B:$B,'Comparison'!$5:$5"]
    views = [view for part in package.sheets().values() for view in every(package.tree(part), "sheetView")]
    assert [view.get("tabSelected") for view in views] == ["1"] + [None] * (len(views) - 1)


def check_parts(package: Package) -> None:
    """Assert what drawings and fonts are to be like."""
    drawings = [part for part in package.parts if re.fullmatch(r"xl/drawings/drawing\d+\.xml", part)]
    assert drawings
    assert all(b"<xdr:wsDr" in package.parts[part] for part in drawings)
    order = ["b", "i", "strike", "u", "sz", "color", "name", "family", "scheme"]
    for font in every(package.tree("xl/styles.xml"), "font"):
        places = [order.index(local_name(each)) for each in font]
        assert places == sorted(places)


@OF_SHEETS
def test_titles_of_validations_are_whole(workbook: Callable[[], Package]) -> None:
    """The title of a message is a row's label, or its machine name where the label is longer than Excel takes."""
    package = workbook()
    book = Book(package)
    lines = book.inputs.lines
    said = {line.label for line in lines} | {line.name for line in lines} | {"Model", "Chip"}
    titles = {found.get("errorTitle") for found in every(package.tree(package.sheets()["Inputs"]), "dataValidation")}
    assert titles <= said
    assert any(len(line.label) > LONGEST_TITLE for line in lines)

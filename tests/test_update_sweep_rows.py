"""`planner update` where the axis of a sweep has other values than before: its cases are told by them."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from planner.update.update import update_file
from planner.xlsx.moves import SheetMoves, Track
from planner.xlsx.opc import Package
from planner.xlsx.references import references
from planner.xlsx.sheetedit import with_values
from planner.xlsx.workbook_part import parse_sheets
from planner.xlsx.xmltree import every
from tests.edits.marks import put_in
from tests.merges import TABLES, edit, planner
from tests.read_once import recalculate_once
from tests.swept_serving import SWEPT
from tests.workbooks import few_rows, sheet_of

pytestmark = pytest.mark.usefixtures("few_cases", "swept_serve")
MORE = few_rows(("llama3-8b", "gemma-7b"), ("tpu-v5p",))
AXIS = "n_chips"


def cases(path: Path) -> dict[float, int]:
    """The rows of the sweep over chips by their number."""
    sheet = sheet_of(path, "Sweep")
    column = [sheet.cell(row, 1).value for row in range(1, sheet.max_row + 1)]
    start = column.index(AXIS) + 1
    stop = next((at for at in range(start, len(column)) if column[at] is None), len(column))
    return {column[at]: at + 1 for at in range(start, stop)}


def drawn(path: Path) -> list[tuple[int, int]]:
    """The rows of the Sweep that each chart of the workbook draws, where it does."""
    package = Package.read(path)
    texts = [{each.text or "" for values in every(package.tree(part), "val", "yVal") for each in every(values, "f")}
             for part in package.parts if part.startswith("xl/charts/chart")]  # fmt: skip
    areas = [{each.area for text in found for each in references(text) if each.sheet == "Sweep"} for found in texts]
    return sorted((area.top, area.bottom) for found in areas for area in sorted(found)[:1])


def singles(path: Path) -> list[tuple[int, int]]:
    """The single cells of the Sweep that charts draw as a series: column and row."""
    package = Package.read(path)
    texts = (each.text or "" for part in package.parts if part.startswith("xl/charts/chart")
             for values in every(package.tree(part), "yVal") for each in every(values, "f"))  # fmt: skip
    found = (each for text in texts for each in references(text) if each.sheet == "Sweep" and not each.is_range)
    return sorted((each.area.left, each.area.top) for each in found)


def serve(folder: Path) -> Path:
    """The template's file."""
    path = folder / "serve.csv"
    path.write_text(SWEPT, encoding="utf-8")
    return path


@pytest.fixture(name="built", scope="module")
def fixture_built(tmp_path_factory: pytest.TempPathFactory, few_cases: None, swept_serve: None) -> bytes:
    """A workbook of serving on 64 chips."""
    path, own = tmp_path_factory.mktemp("sweep") / "plan.xlsx", serve(tmp_path_factory.getbasetemp())
    planner("build", "llama3-8b", "-H", "tpu-v5p", "--template", own, *TABLES, "--set", f"{AXIS}=64", "-o", path)
    return path.read_bytes()


def test_cases_are_told_by_their_values(plan: Path) -> None:
    """What reads a case follows its value, or is #REF! and said to be; a chart draws the whole table, and is no second.

    The axis has 16 to 256 chips, then 4 to 64: two are put in above, and two are gone.
    """
    before, charts = cases(plan), drawn(plan)
    assert list(before) == [16, 32, 64, 128, 256]
    book = openpyxl.load_workbook(plan)
    own = book.create_sheet("Own")
    own["A1"], own["A2"] = f"=Sweep!A{before[64]}", f"=Sweep!A{before[128]}"
    own["A3"] = f"=SUM(Sweep!A{before[16]}:A{before[64]})"
    book.save(plan)
    edit(plan, ("Inputs", AXIS, 6, 16))
    done, _ = update_file(plan, [str(serve(plan.parent))], MORE)
    now = cases(plan)
    assert list(now) == [4, 8, 16, 32, 64]
    said = [cell.value for cell in sheet_of(plan, "Own")["A"]]
    assert said == [f"=Sweep!A{now[64]}", "=Sweep!#REF!", f"=SUM(Sweep!A{now[16]}:A{now[64]})"]
    assert done.remarks == [f"Own!A2 read Sweep!A{before[128]}, which is no more"]
    assert {"Sweep: serve.n_chips 4", "Sweep: serve.n_chips 8"} <= set(done.new_rows)
    assert {"Sweep: serve.n_chips 128", "Sweep: serve.n_chips 256"} == set(done.gone_rows)
    assert drawn(plan) == charts
    assert (now[4], now[64]) in charts


def test_a_table_of_a_persons_values_stays(plan: Path) -> None:
    """Where a person typed other values, the axis doesn't follow the scenarios: no row is put in or taken out."""
    before, charts = cases(plan), drawn(plan)
    book = openpyxl.load_workbook(plan)
    for at, row in enumerate(before.values(), start=1):
        book["Sweep"].cell(row, 1).value = 100 * at
    book.save(plan)
    edit(plan, ("Inputs", AXIS, 6, 16))
    done, _ = update_file(plan, [str(serve(plan.parent))], MORE)
    assert cases(plan) == dict(zip((100, 200, 300, 400, 500), before.values(), strict=True))
    assert not [row for row in (*done.new_rows, *done.gone_rows, *done.kept_rows) if AXIS in row]
    assert {f"Sweep!A{row}" for row in before.values()} <= {text.partition(" ")[0] for text in done.typed}
    assert drawn(plan) == charts


def test_a_chart_with_a_series_for_each_case_draws_all_there_are(plan: Path) -> None:
    """Where another batch moves its axis on, they draw the cases that are there now, and the point beside the first."""
    edit(plan, ("Inputs", "batch", 6, 128))
    before = singles(plan)
    done, _ = update_file(plan, [str(serve(plan.parent))], MORE)
    assert any("serve.batch" in row for row in done.gone_rows)
    assert before
    assert singles(plan) == before
    assert not done.remarks


@pytest.mark.parametrize("at", [0, 2])
def test_blank_rows_among_the_cases_of_a_table_are_a_persons(plan: Path, at: int) -> None:
    """Two put in above the first case, or between two: every value stands beside them, and none is told as typed."""
    before = cases(plan)
    first = list(before.values())[at]
    package = Package.read(plan)
    put_in(package, SheetMoves("Sweep", Track({row: row + 2 for row in range(first, 1200)})))
    sheet = parse_sheets(package)["Sweep"]
    note = {f"C{first}": "look here", f"B{first + 1}": ""}
    package.replace(package.sheets()["Sweep"], with_values(sheet, note))
    recalculate_once(package)
    package.write(plan)
    done, _ = update_file(plan, [str(serve(plan.parent))], MORE)
    own = [row for row in done.own_rows if row.startswith("Sweep")]
    assert own == [f"Sweep row {first}", f"Sweep row {first + 1}"]
    assert not any("Sweep" in said for said in (*done.typed, *done.cleared, *done.formulas, *done.gone_rows))
    there = [row + 2 * (number >= at) for number, row in enumerate(before.values())]
    sheet_now = sheet_of(plan, "Sweep")
    assert [sheet_now.cell(row, 1).value for row in there] == list(before)

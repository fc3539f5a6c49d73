"""`planner record --remove`: a recorded run taken out of the table of runs, as a row deleted in a spreadsheet is."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from planner.compare.comparison_sheet import find
from planner.compare.runs_table import measured_cell, numbered
from planner.update.outcome import lines
from planner.update.update import update_file
from planner.xlsx.address import address
from planner.xlsx.opc import Package
from tests.commands import command, refused, untouched
from tests.libreoffice import converted, needs_libreoffice
from tests.recorded_runs import ID, SIZES, said_on_dashboard
from tests.workbooks import cached, edit, sheet_of, write_small

TIMES = (0.007, 0.008, 0.009, 0.0085)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small workbook with four recorded matmuls."""
    path = write_small(tmp_path_factory.mktemp("recorded") / "plan.xlsx", [], ["tpu-v5e"], ["matmul"], **SIZES)
    for time in TIMES:
        command("record", path, "--scenario", ID, "--time", f"{time}s")
    return path.read_bytes()


@pytest.fixture
def plan(tmp_path: Path, recorded: bytes) -> Path:
    """The same, to be edited."""
    path = tmp_path / "plan.xlsx"
    path.write_bytes(recorded)
    return path


def rows(path: Path) -> dict[int, float]:
    """What was measured, by row."""
    return {row: run.measured for row, run in numbered(find(Package.read(path)))}


def row_of(path: Path, time: float) -> int:
    """The row of the run that took so long."""
    return next(row for row, measured in rows(path).items() if measured == pytest.approx(time))


def test_a_run_whose_number_was_typed_over_is_removed(plan: Path) -> None:
    """A text over a measured number leaves no run to read; its row can be removed all the same."""
    row = row_of(plan, TIMES[1])
    cell = measured_cell(find(Package.read(plan)), row)
    edit(plan, lambda book: book["Comparison"].__setitem__(cell, "about 8 ms"))
    assert f"removed Comparison row {row}: its measured cell holds no number" in command(
        "record", plan, "--remove", row
    )
    assert list(rows(plan).values()) == pytest.approx([TIMES[0], *TIMES[2:]])


@pytest.mark.parametrize("gone", TIMES[::3])
def test_a_run_is_removed_and_the_others_stay(plan: Path, gone: float) -> None:
    """Those below move up, as they were, and are numbered anew; Dashboard tells the latest that is left; the file as it
    was is beside it, check finds nothing, and the next run joins the table.
    """
    before, was = plan.read_bytes(), rows(plan)
    row = row_of(plan, gone)
    done = command("record", plan, "--remove", row)
    assert f"removed Comparison row {row}: tpu-v5e: Matmul " in done
    assert plan.with_name("plan.bak.xlsx").read_bytes() == before
    left = [time for time in TIMES if time != gone]
    assert list(rows(plan)) == list(was)[:-1]
    assert list(rows(plan).values()) == pytest.approx(left)
    sheet = find(Package.read(plan))
    numbers = [find_number(plan, row) for row in sheet.run_rows]
    assert numbers == [1, 2, 3]
    (told,) = said_on_dashboard(plan, ID)
    assert told.startswith(f"Matmul {1e6 * left[-1]:,.0f} us, 3 runs; ")
    assert " clean by rules " in command("check", plan)
    updated, _ = update_file(plan)
    assert "formulas" not in " ".join(line for line in lines(updated) if "Dashboard" in line)
    command("record", plan, "--scenario", ID, "--time", "6ms")
    assert list(rows(plan).values()) == pytest.approx([*left, 0.006])


def find_number(path: Path, row: int) -> float:
    """The number that a run's row has in the column `run_number`."""
    grid = cached(path)["Comparison"]
    column = next(ref.rstrip("0123456789") for ref, value in grid.items() if value == "run_number")
    return float(str(grid[f"{column}{row}"]))


def test_all_runs_can_go(plan: Path, tmp_path: Path) -> None:
    """The last one too: none is recorded then. The table's titles go with it, and what is printed is as before the
    first; a cell of a person's beside them is named, and what is below moves up. A run can be recorded again.
    """
    before = write_small(tmp_path / "before.xlsx", [], ["tpu-v5e"], ["matmul"], **SIZES)
    was, title = sheet_of(before, "Comparison"), find(Package.read(plan)).runs_title_row
    edit(plan, lambda book: book["Comparison"].cell(title, 400, "ask Kim") and None)
    for _ in TIMES:
        said = command("record", plan, "--remove", next(iter(rows(plan))))
    assert f"Comparison!{address(title, 400)} went with it" in said
    assert said_on_dashboard(plan, ID) == ["none recorded"]
    now = sheet_of(plan, "Comparison")
    assert now.print_area == was.print_area
    assert [cell.coordinate for row in now.iter_rows(min_row=title) for cell in row if cell.value is not None] == []
    assert " clean by rules " in command("check", plan)
    command("record", plan, "--scenario", ID, "--time", "6ms")
    assert list(rows(plan).values()) == [0.006]


def test_titles_stay_above_what_is_no_run(plan: Path) -> None:
    """A remark of a person's in the table keeps it."""
    edit(plan, lambda book: book["Comparison"].cell(max(rows(plan)) + 1, 1, "ask Kim") and None)
    for _ in TIMES:
        command("record", plan, "--remove", next(iter(rows(plan))))
    assert find(Package.read(plan)).runs_header


@pytest.mark.parametrize(("words", "message"), [
    (("--remove", "7"), "row 7 holds no run of a scenario; runs are in rows "),
    (("--remove", "7", "--time", "1s"), "--remove takes no run to record; give the row alone: --remove 7"),
])  # fmt: skip
def test_what_is_no_run_is_not_removed(plan: Path, words: tuple[str, ...], message: str) -> None:
    """One line that names the rows with runs, and the file as it was."""
    with untouched(plan):
        assert message in refused("record", plan, *words)
    assert not plan.with_name("plan.bak.xlsx").exists()


def test_what_a_person_loses_is_said(plan: Path) -> None:
    """A cell beside the run goes with it, and a formula that read the run is #REF!: both are named; a formula that
    reads the one below goes on.
    """
    gone = row_of(plan, TIMES[1])
    book = openpyxl.load_workbook(plan)
    column = openpyxl.utils.get_column_letter(book["Comparison"].max_column + 2)
    book["Comparison"][f"{column}{gone}"] = "ask Kim"
    mine = book.create_sheet("Mine")
    mine["A1"], mine["A2"] = f"=Comparison!A{gone}", f"=Comparison!A{gone + 1}"
    book.save(plan)
    said = command("record", plan, "--remove", gone)
    assert f"Comparison!{column}{gone} went with it" in said
    assert f"Mine!A1 read Comparison!A{gone}, which is no more" in said
    mine = openpyxl.load_workbook(plan)["Mine"]
    assert (mine["A1"].value, mine["A2"].value) == ("=Comparison!#REF!", f"=Comparison!A{gone}")


@needs_libreoffice
def test_a_run_is_removed_after_another_program_saved(plan: Path) -> None:
    """LibreOffice writes formulas that are alike as shared ones: the first of them goes, the others stay."""
    (saved,) = converted([plan], plan.parent / "saved")
    command("record", saved, "--remove", row_of(saved, TIMES[0]))
    assert list(rows(saved).values()) == pytest.approx(TIMES[1:])
    assert [find_number(saved, row) for row in rows(saved)] == [1, 2, 3]

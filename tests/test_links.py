"""From a number on Dashboard to its formula, its inputs and their sources: each step is a link that leads there."""

from __future__ import annotations

import re
from pathlib import Path

import openpyxl
import pytest
from openpyxl.workbook import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from planner.catalog.checked_table import TABLES
from planner.catalog.databases import Databases
from planner.compare.runs_table import TITLE
from planner.measure.records import case_key
from planner.update.update import update_file
from planner.xlsx.moved_parts import insert_rows
from planner.xlsx.opc import Package
from tests.backfills import backfill, measurement
from tests.commands import command
from tests.workbooks import SheetsOf, write_small, write_small_plan

CALLED = re.compile(r"(?:override or )?(models|hardware|dtypes|\w+)\[(\w+)\](?:\.(\w+))?")
DATABASES = {table: table.capitalize() for table in TABLES.values()}
HEADER = 5  # of a database


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Workbook:
    """A workbook with every kind of sheet."""
    path: Path = tmp_path_factory.mktemp("links") / "plan.xlsx"
    templates = ["transformer", "training", "inference", "collectives"]
    write_small(path, ["llama3-70b"], ["tpu-v5e"], templates, n_chips=16, workload="all")
    return openpyxl.load_workbook(path)


def followed(book: Workbook | SheetsOf, sheet: Worksheet, cell: str) -> tuple[Worksheet, int, int]:
    """Where a cell's link leads: the sheet, the row and the column."""
    link = sheet[cell].hyperlink
    assert link is not None, f"{sheet.title}!{cell} has no link"
    name, _, place = link.location.partition("!")
    target = book[name][place]
    return book[name], target.row, target.column


def test_a_headline_leads_to_its_row(book: Workbook) -> None:
    """The link of each number and text on Dashboard that is another sheet's leads to the row that its formula reads.

    Every headline has one; what it divides by is the cell of a unit. A run's is told below.
    """
    board = book["Dashboard"]
    rows = [row for row in range(8, board.max_row + 1) if " row " in str(board[f"D{row}"].value)]
    assert len(rows) > 30
    called = {row: str(board[f"D{row}"].value).removeprefix("=") for row in range(8, board.max_row + 1)}
    named = {row: book["Inputs"][cell.rpartition("!")[2]] for row, cell in called.items() if cell.startswith("Inputs!")}
    units = {f"$D${row}" for row, cell in named.items() if str(book["Inputs"].cell(cell.row, 1).value)[:4] == "One "}
    divided = set()
    for row in rows:
        sheet, at, _ = followed(book, board, f"D{row}")
        if sheet.title == "Comparison":
            continue
        assert f"{sheet.title}!F{at}" in board[f"F{row}"].value
        assert board[f"D{row}"].value == f'="{sheet.title} row "&ROW({sheet.title}!A{at})'
        divided |= set(re.findall(r"/(\$D\$\d+)", board[f"F{row}"].value))
    assert divided
    assert divided <= units
    for name in ("decode_step_time_expected", "memory_bytes_per_chip"):
        assert any(board[f"C{row}"].value == name for row in rows)


def titles_of_runs(path: Path) -> list[object]:
    """What stands in the row to which the links of runs on Dashboard lead: they lead to one."""
    book = SheetsOf(path)
    board = book["Dashboard"]
    cells = [f"D{row}" for row in range(8, board.max_row + 1) if str(board[f"D{row}"].value)[:10] == "Comparison"]
    ((sheet, at),) = {followed(book, board, cell)[:2] for cell in cells}
    assert {board[cell].value for cell in cells} == {"Comparison, runs"}
    return [cell.value for cell in sheet[at] if cell.value]


@pytest.mark.parametrize("is_grown", [False, True])
def test_a_run_leads_to_the_table_that_the_first_one_brings(tmp_path: Path, is_grown: bool) -> None:
    """Before a run is recorded nothing stands in the row of the link, and afterwards the title of the table does.

    So it is where new cases came before the first run, and where they come after it: an update moves neither.
    """
    path = tmp_path / "plan.xlsx"
    databases = write_small_plan(path, [], ["tpu-v5e"], ["matmul"], tokens=64, d_in=4096, d_out=4096).databases
    if is_grown:
        grown(path, databases, 520, 528)
    assert not titles_of_runs(path)
    command("record", str(path), "--scenario", "tpu_v5e", "--time", "9ms")
    assert titles_of_runs(path) == [TITLE]
    grown(path, databases, 536)
    assert titles_of_runs(path) == [TITLE]


def grown(path: Path, databases: Databases, *sizes: int) -> None:
    """Measured matmuls of these sizes as new rows of Comparison, and the workbook updated."""
    done = backfill(path, *(measurement(case_key("matmul", {"tokens": 8, "d_in": 8, "d_out": each})) for each in sizes))
    assert f"{len(sizes)} appended" in done.output
    update_file(path, databases=databases)


def test_what_a_sheet_calls_up_leads_to_where_it_stands(book: Workbook) -> None:
    """Each row that is read from elsewhere links to the input, the constant, the sheet's row, or the database's column.

    There the source stands in the same row, or in a column of the database.
    """
    led = set()
    for name in ("Transformer", "Training", "Inference", "Collectives"):
        sheet = book[name]
        for row in range(9, sheet.max_row + 1):
            called = CALLED.fullmatch(str(sheet[f"D{row}"].value))
            if called is None:
                continue
            where, _, column = called.groups()
            target, at, across = followed(book, sheet, f"C{row}")
            assert target.title == DATABASES.get(where, where)
            if where in DATABASES:
                title = str(target.cell(HEADER, across).value)
                assert title == column or across == 1, f"{name}!C{row} leads to {title}"
                titles = [str(cell.value) for cell in target[HEADER]]
                assert where == "dtypes" or any(title.startswith("source") for title in titles)
            else:
                assert target[f"C{at}"].value == sheet[f"C{row}"].value
                assert target[f"E{at}"].value or target.title != "Inputs", f"{target.title}!E{at} has no source"
            led.add(where)
    assert led >= {"Inputs", "Transformer", "models", "hardware", "dtypes"}


def test_every_formula_reads_its_own_sheet(book: Workbook) -> None:
    """So a row's inputs are rows above it: no calculation reaches another sheet but through a row that links there."""
    for name in ("Transformer", "Training", "Inference", "Collectives"):
        sheet = book[name]
        for row in range(11, sheet.max_row + 1):
            formula, text = str(sheet[f"F{row}"].value), str(sheet[f"D{row}"].value)
            is_named = bool(sheet[f"C{row}"].value)  # not those that tell whether an override is typed
            if (
                is_named
                and formula.startswith("=")
                and not CALLED.fullmatch(text)
                and not text.startswith("override or")
            ):
                assert "!" not in formula, f"{name}!F{row}"


def test_the_cover_says_what_each_sheet_is(book: Workbook) -> None:
    """A link and a line for every sheet."""
    cover = book["Cover"]
    said = {cover[f"A{row}"].value: cover[f"B{row}"].value for row in range(1, cover.max_row + 1)}
    for name in book.sheetnames[1:]:
        assert said[name], name


LOCATION = re.compile(rb'(?<= location=")[^"]*')


def test_links_that_a_program_left_behind_are_named_and_led_right(tmp_path: Path) -> None:
    """Rows put in and a sheet's new name lead formulas along and no links: `check` has a note of these, `update` leads
    them right, and then there is nothing to update. Where a link of a person's leads is theirs to say.
    """
    path, own = tmp_path / "plan.xlsx", b'<hyperlink ref="K3" location="Nowhere!A1"/>'
    databases = write_small_plan(path, ["llama3-70b"], ["tpu-v5e"], ["transformer"]).databases
    package = Package.read(path)
    part = package.sheets()["Dashboard"]
    package.replace(part, package.parts[part].replace(b"<hyperlinks>", b"<hyperlinks>" + own))
    before = {part: LOCATION.findall(package.parts[part]) for part in package.sheets().values()}
    insert_rows(package, "Inputs", 12, 2)
    for part, xml in package.parts.items():
        renamed = xml.replace(b"Transformer!", b"Layers!").replace(b'name="Transformer"', b'name="Layers"')
        left = iter(before.get(part, ()))
        package.replace(part, LOCATION.sub(lambda _, left=left: next(left), renamed))  # type: ignore[misc]
    package.write(path)
    said = " ".join(command("check", path).split())
    assert re.search(r"Note: Cover!A\d+: the link to Transformer!A1 and \d\d+ more links lead to other cells", said)
    done, _ = update_file(path, databases=databases)
    assert {place.partition("!")[0] for place in done.links} == {"Cover", "Dashboard", "Layers"}
    book = SheetsOf(path)
    calls = {row: str(book["Layers"].cell(row, 4).value) for row in range(9, book["Layers"].max_row + 1)}
    inputs = [row for row, text in calls.items() if text.startswith("Inputs[")]
    assert inputs
    for row in inputs:
        target, at, _ = followed(book, book["Layers"], f"C{row}")
        assert calls[row] == f"Inputs[{target[f'C{at}'].value}]"
    assert book["Dashboard"]["K3"].hyperlink.location == "Nowhere!A1"
    assert not update_file(path, databases=databases)[0].is_needed
    assert "the link" not in command("check", path)

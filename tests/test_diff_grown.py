"""`planner diff` tells what was edited, and not what follows from sorted cases, a longer table or one run more."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from planner.book.workbook import Book
from planner.compare.comparison_sheet import find
from planner.compare.runs_table import numbered
from planner.xlsx.address import address
from planner.xlsx.moved_parts import insert_rows
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import with_values
from planner.xlsx.workbook_part import add_sheet, parse_sheets
from tests.backfills import backfill, keys, measurement
from tests.commands import run
from tests.recorded_runs import SIZES
from tests.test_diff_lesson import typed
from tests.workbooks import write_small
from tests.xlsx_samples import sheet

MODEL = """id,n_layers,d_model,d_ff,n_heads,n_kv_heads,head_dim,vocab,tied_embeddings,mlp_gated,source
a-sketch,2,256,1024,4,2,64,32000,true,true,Our own sketch
"""


@pytest.fixture(name="pair")
def fixture_pair(tmp_path: Path) -> tuple[Path, Path]:
    """A small workbook of a matmul on a chip, and a place for the same after an edit."""
    write_small(tmp_path / "old.xlsx", [], ["tpu-v5e"], ["matmul"], **SIZES)
    return tmp_path / "old.xlsx", tmp_path / "new.xlsx"


def planner(*words: object) -> str:
    """What the command prints; it went well, or found differences."""
    done = run(*words)
    assert done.exit_code in (0, 1), done.output
    return done.output


def told(pair: tuple[Path, Path]) -> dict[str, list[dict[str, str]]]:
    """What `diff --json` tells."""
    found: dict[str, list[dict[str, str]]] = json.loads(planner("diff", "--json", *pair))
    return found


def with_own(path: Path, formula: str) -> None:
    """Give a workbook a sheet of a person's with a formula."""
    package = Package.read(path)
    cells = f'<row r="1"><c r="A1"><f>{formula}</f><v>0</v></c></row>'
    part = package.sheets().get("Own") or add_sheet(package, "Own", sheet("").encode(), "Log")
    package.replace(part, sheet(cells).encode())
    package.write(path)


def swapped(package: Package, one: int, two: int) -> None:
    """Change places of two rows of Comparison, as sorting them does."""
    part = package.sheets()["Comparison"]
    xml = package.parts[part].decode()
    rows = [re.search(rf'<row r="{row}".*?</row>', xml, re.DOTALL) for row in (one, two)]
    first, second = (found[0] for found in rows if found)
    moved = [
        re.sub(rf"(?<=[A-Z]){old}\b", str(new), text).replace(f'<row r="{old}"', f'<row r="{new}"')
        for text, old, new in ((second, two, one), (first, one, two))
    ]
    package.replace(part, xml.replace(first, moved[0]).replace(second, moved[1]).encode())


def test_cases_were_sorted(pair: tuple[Path, Path]) -> None:
    """What reads all of them reads the same; what reads some of them has others now."""
    with_own(pair[0], "SUM(Comparison!HK6:HK7)")
    package = Package.read(pair[0])
    swapped(package, 6, 9)
    package.write(pair[1])
    found = told(pair)
    assert [change["cell"] for change in found["formulas"]] == ["Own!A1"]
    assert [key for key in ("structure", "inputs", "headlines", "cells") if found[key]] == []


def test_a_database_has_a_row_more(pair: tuple[Path, Path], tmp_path: Path) -> None:
    """What looks something up in it reads all of it, as before; what reads a part of it was edited."""
    write_small(pair[0], ["llama3-8b"], ["tpu-v5e"], ["transformer"])
    with_own(pair[0], "COUNTA(Models!A6:A7)")
    pair[1].write_bytes(pair[0].read_bytes())
    (tmp_path / "mine.csv").write_text(MODEL, encoding="utf-8")
    planner("update", pair[1], "--models", tmp_path / "mine.csv")
    with_own(pair[1], "COUNTA(Models!A6:A7)")
    found = told(pair)
    assert "a-sketch" in [change["name"] for change in found["structure"]]
    edited = [change["cell"] for change in found["formulas"]]
    assert edited == ["Own!A1"]  # of which there was but a part


def test_a_run_more(pair: tuple[Path, Path]) -> None:
    """The rows that say which runs are the latest are there before there is a run."""
    pair[1].write_bytes(pair[0].read_bytes())
    planner("record", pair[1], "--time", "9ms")
    assert [change for change in told(pair)["structure"] if change["sheet"] == "Dashboard"] == []


def runs(path: Path) -> list[int]:
    """The rows of the recorded runs."""
    return [row for row, _ in numbered(find(Package.read(path)))]


def test_a_run_that_went_is_all_that_changed(pair: tuple[Path, Path]) -> None:
    """Of three runs the first goes, and then the others: each diff tells of rows that went, by scenario, and of no
    column, formula or other cell.
    """
    for time in ("9ms", "10ms", "11ms"):
        planner("record", pair[0], "--time", time)
    pair[1].write_bytes(pair[0].read_bytes())
    for gone in range(1, 4):
        planner("record", pair[1], "--remove", runs(pair[1])[0])
        found = told(pair)
        changes = [(change["what"], change["how"]) for change in found["structure"]]
        titles = 3 if gone == 3 else 0  # the last run takes the titles of the table with it
        assert changes == [("row", "removed")] * (titles + gone)
        assert all(change["name"].startswith("tpu-v5e, run ") for change in found["structure"][titles:])
        assert [key for key in ("inputs", "formulas", "cells", "headlines", "checks") if found[key]] == []


def test_every_changed_cell_of_a_run_has_a_name(pair: tuple[Path, Path]) -> None:
    """A recorded number that was typed over is told with its scenario, its day and its column."""
    planner("record", pair[0], "--time", "9ms")
    pair[1].write_bytes(pair[0].read_bytes())
    sheet = find(Package.read(pair[1]))
    (row,) = sheet.run_rows
    column = next(at for at, cell in sheet.xml.row(sheet.runs_header).items() if cell.value == "run_measured")
    typed(pair[1], "Comparison", **{address(row, column): 12.5})
    found = told(pair)
    (change,) = found["inputs"]
    assert re.fullmatch(r"Comparison\[tpu-v5e, run .*\]\.run_measured", change["name"])
    assert (change["old"], change["new"], found["cells"]) == (9000.0, 12.5, [])  # in us


def test_cases_of_the_same_name_are_told_apart(pair: tuple[Path, Path]) -> None:
    """The same case on two chips has the chip in its name, and each measured time is a change of its own."""
    key = keys(pair[0])[0]
    backfill(pair[0], measurement(key), measurement(key, hardware_id="tpu-v2", device_kind="TPU v2"))
    pair[1].write_bytes(pair[0].read_bytes())
    backfill(pair[1], measurement(key, 2e-3), measurement(key, 3e-3, hardware_id="tpu-v2", device_kind="TPU v2"))
    times = [change for change in told(pair)["inputs"] if change["name"].endswith(".measured_time")]
    assert [(change["name"].split(" on ")[1], change["new"]) for change in times] == [
        ("tpu-v5e].measured_time", 2e-3),
        ("tpu-v2].measured_time", 3e-3),
    ]
    assert planner("diff", *pair).count("measured_time") == 2


def test_each_recorded_run_is_a_line_with_its_value(pair: tuple[Path, Path]) -> None:
    """Of four runs within a minute two are added, one goes and one is typed over: each is one line with what was
    measured, its time and the number before and after, and no other line is of them. Cells of runs of one name and
    minute have numbers.
    """
    write_small(pair[0], ["llama3-8b"], ["tpu-v5e"], ["inference"], n_chips=4)
    for time in ("9ms", "10ms"):
        planner("record", pair[0], "--time", time)
    pair[1].write_bytes(pair[0].read_bytes())
    planner("record", pair[1], "--time", "30ms", "--of", "tpot")
    planner("record", pair[1], "--tokens-per-second", "800")
    rows = runs(pair[1])
    sheet = find(Package.read(pair[1]))
    column = next(at for at, cell in sheet.xml.row(sheet.runs_header).items() if cell.value == "run_measured")
    typed(pair[1], "Comparison", **{address(rows[1], column): 12.5})
    planner("record", pair[1], "--remove", rows[0])
    said = planner("diff", *pair).partition("Recorded runs\n")
    lines = [re.sub(r"run 20\d\d-\d\d-\d\d \d\d:\d\d", "run DAY", line.strip()) for line in said[2].splitlines()]
    name = "llama3-8b on tpu-v5e, run DAY: "
    assert lines == [
        f"{name}Decode step  9.000 ms -> (none)",
        f"{name}Decode step  10.00 ms -> 12.50 ms",
        f"{name}Time per output token, with prefills  (none) -> 30.00 ms",
        f"{name}Output tokens a second  (none) -> 800 /s",
    ]
    assert said[0].splitlines()[2:] == ["", "No headline moved.", ""]
    found = told(pair)
    assert [run["old"] for run in found["runs"]] == [pytest.approx(0.009), pytest.approx(0.01), None, None]
    assert [run["new"] for run in found["runs"]] == [None, *map(pytest.approx, (0.0125, 0.03, 800.0))]
    names = [change["name"] for change in found["structure"] if change["how"] == "added"]
    assert len(names) == len(set(names)) == 2


def test_the_first_run_brings_no_lines_of_its_table(pair: tuple[Path, Path]) -> None:
    """The title and the header that come with it are no changes to tell, unless all are asked for."""
    pair[1].write_bytes(pair[0].read_bytes())
    planner("record", pair[1], "--time", "9ms")
    assert "row added" not in planner("diff", *pair)
    assert planner("diff", *pair, "--all").count("row added") == 4


def test_a_persons_row_among_planners_is_no_row_of_planners(pair: tuple[Path, Path]) -> None:
    """It stands where planner wrote another one, which is below it now: it is told, and not counted as planner's."""
    package = Package.read(pair[0])
    at = Book(package).checks.lines[0].row
    insert_rows(package, "Checks", at, 1)
    sheets = parse_sheets(package)
    package.replace(package.sheets()["Checks"], with_values(sheets["Checks"], {f"A{at}": "Ours", f"F{at}": 2.0}))
    package.write(pair[1])
    assert f"row added: Checks, row {at}: Ours" in planner("diff", *pair)
    (row,) = (change for change in told(pair)["structure"] if change["what"] == "row")
    assert (row["sheet"], row["at"], row["by_planner"]) == ("Checks", str(at), False)

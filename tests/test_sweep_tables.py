"""Tables of every combination, as numbers, in Parquet and in a workbook."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest

from planner.formulas import library
from planner.formulas.evaluation import evaluate
from planner.formulas.following import with_followers
from planner.formulas.lookups import facts
from planner.xlsx.opc import Package
from tests.commands import command
from tests.searches import COST, STEP


def test_a_sweep_gives_the_bits_of_each_single_plan_with_what_follows(tmp_path):
    """Each line of the CSV is to the last digit what `calc` computes, FSDP ways that follow the chips among it."""
    output = tmp_path / "table.csv"
    command(
        "sweep", "training", "-m", "llama3-8b", "-H", "h100-sxm", "tpu-v5p", "--over", "n_chips=8,12",
        "mesh_tensor=1,8", "remat=block,none", "--get", STEP, "mesh_fsdp", "memory_bytes_per_chip", "-o", str(output),
    )  # fmt: skip
    template = library.load("training")
    lines = list(csv.DictReader(output.open()))
    assert len(lines) == 2 * 2 * 2 * 2
    for line in lines:
        given = {"n_chips": float(line["n_chips"]), "mesh_tensor": float(line["mesh_tensor"]), "remat": line["remat"]}
        plan = evaluate(template, facts(template, "llama3-8b", line["hardware"]), with_followers(template, given))
        for name in (STEP, "mesh_fsdp", "memory_bytes_per_chip"):
            expected = plan.value(name)
            assert (line[name] == "N/A") if expected is None else float(line[name]) == expected, (line, name)


def test_a_table_in_parquet_and_in_a_workbook_holds_the_numbers_of_the_csv(tmp_path):
    """The three files of one sweep hold the same numbers, the workbook in the units of its titles, with a chart."""
    arrow = pytest.importorskip("pyarrow.parquet")
    from openpyxl import load_workbook

    args = [
        "sweep",
        "inference",
        "-m",
        "llama3-70b",
        "-H",
        "h100-sxm",
        "--over",
        "n_chips=8,16",
        "batch=1..4",
        "--get",
        COST,
    ]
    for ending in ("csv", "parquet", "xlsx"):
        command(*args, "-o", str(tmp_path / f"table.{ending}"))
    plain = [[float(cell) for cell in line] for line in list(csv.reader((tmp_path / "table.csv").open()))[1:]]
    table = arrow.read_table(tmp_path / "table.parquet")
    assert [list(line.values()) for line in table.to_pylist()] == plain
    assert table.schema.field(COST).metadata[b"unit"] == b"USD"
    book = load_workbook(tmp_path / "table.xlsx")
    sheet = book["Sweep"]
    assert [sheet["C4"].value, sheet["C5"].value] == ["Expected cost of a million tokens (USD)", COST]
    cells = [[cell.value for cell in row] for row in sheet.iter_rows(min_row=6, max_col=3)]
    assert np.allclose(cells, plain, rtol=1e-15, atol=0)
    assert len(book["Sweep"]._charts) == 1
    assumed = {row[3].value: row[1].value for row in book["Assumptions"].iter_rows() if row[3].value}
    assert assumed["context_len"] == 8192
    assert assumed["batch"] == "4 values"


def test_a_workbook_of_a_sweep_bears_the_time_that_it_is_given(tmp_path, monkeypatch):
    """Under SOURCE_DATE_EPOCH the file says that time and who made it, whenever it was written."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    path = tmp_path / "table.xlsx"
    command("sweep", "inference", "-m", "llama3-70b", "-H", "h100-sxm", "--over", "batch=1,2", "-o", str(path))
    package = Package.read(path)
    core = package.parts["docProps/core.xml"].decode()
    assert re.findall(r">(2[^<]*Z)<", core) == ["2023-11-14T22:13:20Z"] * 2
    assert ">planner " in core
    assert {info.date_time for info in package._infos.values()} == {(2023, 11, 14, 22, 13, 20)}

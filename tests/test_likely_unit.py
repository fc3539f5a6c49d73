"""Measured numbers 100 times or more off what is expected: the unit they were read in, and which is meant."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planner.compare.comparison_sheet import find
from planner.compare.likely_unit import doubt
from planner.compare.runs_table import read
from planner.xlsx.opc import Package
from tests.commands import command, invoked
from tests.recorded_runs import SIZES
from tests.workbooks import write_small


@pytest.mark.parametrize(
    ("text", "unit", "ratio", "said"),
    [
        ("25", "s", 1000.0, "25 was read as 25 s, 1,000 times what is expected: if it is in ms, write 25ms"),
        ("25ms", "s", 0.001, "25ms was read as 25 ms, 1/1,000 of what is expected: if it is in s, write 25s"),
        ("250", "s", 1.5e6, "250 was read as 250 s, 1,500,000 times what is expected: if it is in us, write 250us"),
        ("2 min", "s", 60000.0, "2 min was read as 2 min, 60,000 times what is expected: if it is in ms, write 2ms"),
        ("25e-9", "s", 1e-9, "25e-9 was read as 25e-9 s, 1/1,000,000,000 of what is expected: look at its unit"),
        ("3*8", "s", 1e3, "3*8 was read as a time, 1,000 times what is expected: look at its unit"),
        ("0.3%", "%", 0.008, "write per cent as 41%, or a part of 1 as 0.41"),
        (
            "25",
            "1/s",
            0.001,
            "tokens a second of all chips, 1/1,000 of what is expected: if it is in thousand/s, write 25k",
        ),
        ("0.44", "1/s", 1e-6, "1/1,000,000 of what is expected: if it is in million/s, write 0.44M"),
        ("440k", "1/s", 1e3, "1,000 times what is expected: if it is in 1/s, write 440"),
        ("25", "1/s", 1e-12, "1/1,000,000,000,000 of what is expected: look at its unit"),
        ("25", "s", 99.0, ""),
        ("25", "s", 0.011, ""),
        ("25", "s", None, ""),
    ],
)
def test_a_number_far_off_is_doubted(text: str, unit: str, ratio: float | None, said: str) -> None:
    """With the unit that was taken and how to write the one that fits what is expected; nearer ones are not."""
    found = doubt(text, unit, ratio)
    assert found.endswith(said) if said else not found


def test_a_recorded_run_in_a_wrong_unit_is_told(tmp_path: Path) -> None:
    """`record --time 25` of a step of some ms says that it was read in seconds and how to write ms, once, of a scenario
    and of a case; it is recorded all the same.
    """
    path = write_small(tmp_path / "plan.xlsx", ["llama3-8b"], ["tpu-v5e"], ["inference"], n_chips=4)
    said = command("record", path, "--scenario", "llama3_8b_on_tpu_v5e", "--time", "25")
    assert said.count("25 was read as 25 s, ") == said.count("if it is in ms, write 25ms") == 1
    assert [run.measured for run in read(find(Package.read(path)))] == [25.0]
    said = command("record", path, "--scenario", "llama3_8b_on_tpu_v5e", "--time", "25ms")
    assert "was read as" not in said
    said = command("record", path, "--case", "Matmul 1024 bf16", "--time", "12")
    assert "12 was read as 12 s, " in said
    assert "if it is in us, write 12us" in said


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A workbook that serves, with a run in its right unit."""
    path = tmp_path_factory.mktemp("recorded") / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5e"], ["inference"], n_chips=4)
    command("record", path, "--time", "25ms")
    return path.read_bytes()


def test_check_notes_no_run_in_its_right_unit(recorded: bytes, tmp_path: Path) -> None:
    """Nothing measured is noted of it."""
    path = tmp_path / "plan.xlsx"
    path.write_bytes(recorded)
    code, output = invoked("check", path)
    assert (code, "measured" in output) == (0, False)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("--time=25", "measured 25.0 s is "),
        ("--time=25us", "measured 25.0 us is 1/"),
        ("--tokens-per-second=0.4", "measured 0.400 is 1/"),
    ],
)
def test_check_notes_a_run_in_a_wrong_unit(recorded: bytes, tmp_path: Path, typed: str, said: str) -> None:
    """A recorded run 1,000 times or 1/1,000 of the plan is a note with its cell, both numbers and the likely one; the
    workbook is clean all the same.
    """
    path = tmp_path / "plan.xlsx"
    path.write_bytes(recorded)
    command("record", path, typed)
    code, output = invoked("check", path)
    text = " ".join(output.split())
    assert code == 0
    assert text.count(said) == 1
    assert re.search(r"Note: Comparison![A-Z]+[0-9]+: .* the expected [0-9.,]+( ms)?, likely a wrong unit: ", text)
    meant = {"--time=25": "25.0 ms", "--time=25us": "25.0 ms", "--tokens-per-second=0.4": "400"}[typed]
    assert f"likely a wrong unit: {meant}, perhaps?" in text


def test_check_notes_a_case_in_a_wrong_unit(tmp_path: Path) -> None:
    """So is the time of a case that was recorded in seconds where microseconds were meant."""
    path = write_small(tmp_path / "plan.xlsx", [], ["tpu-v5e"], ["matmul"], **SIZES)
    command("record", path, "--case", "Matmul 1024 bf16", "--time", "20us")
    assert "measured" not in invoked("check", path)[1]
    command("record", path, "--case", "Matmul 1024 bf16", "--time", "20")
    code, output = invoked("check", path)
    text = " ".join(output.split())
    assert code == 0
    assert re.search(r"Note: Comparison![A-Z]+[0-9]+: Matmul 1024 bf16: measured 20.0 s is ", text)
    assert "likely a wrong unit: 20.0 us, perhaps?" in text

"""planner fit: what no stack can be told from is refused in one line, and nothing is written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planner import data
from planner.measure.measurements_csv import write_measurements
from planner.measure.records import case_key
from tests.backfills import measurement
from tests.commands import invoked, refused
from tests.own_runs import CALIBRATION, CHIP, HEADER, matmuls


def test_without_runs_there_is_no_stack(tmp_path: Path) -> None:
    """A CSV whose runs are not to be fitted to gives no stack, and the shipped calibrations are as they were."""
    path = matmuls(tmp_path / "runs.csv", [1.2])
    text = path.read_text(encoding="utf-8").replace("source,model", "source,model,fit").replace(",lab,", ",lab,,0")
    path.write_text(text, encoding="utf-8")
    assert "none of 1 run can be fitted to" in refused("fit", path)
    assert not (tmp_path / "runs-calibrations.csv").exists()


@pytest.mark.parametrize("name", ["", "N/A", "=1"])
def test_a_name_that_nothing_could_read_back_is_refused(tmp_path: Path, name: str) -> None:
    """Before anything is fitted or written."""
    assert "can't be" in refused("fit", matmuls(tmp_path / "runs.csv", [1.2]), "--name", name)
    assert not (tmp_path / "runs-calibrations.csv").exists()


def test_a_calibration_that_no_file_has_is_told(tmp_path: Path) -> None:
    """Capitals don't count, as in a formula; a chip whose calibration is nowhere ends in one line."""
    runs, chips = matmuls(tmp_path / "runs.csv", [1.2, 1.3]), tmp_path / "chips.csv"
    shipped = (data.folder("hardware_db") / "accelerators.csv").read_text(encoding="utf-8")
    for calibration, code in (("H100", 0), ("mycal", 2)):
        chips.write_text(
            re.sub(r"(?m)^(h100-sxm,.*NVIDIA H100[^,]*,)h100,", rf"\1{calibration},", shipped), encoding="utf-8"
        )
        words = ["fit", runs, "--hardware-csv", chips, "--only", "-o", tmp_path / "mine.csv", "--force"]
        found, output = invoked(*words)
        assert (found, "there is no calibration 'mycal'" in output) == (code, code == 2), output


def test_measurements_of_a_chip_of_ones_own_ask_for_its_file(tmp_path: Path) -> None:
    """Of a chip that planner hardware add measured, without the CSV that has it."""
    key = case_key("matmul", {"tokens": 4096.0, "d_in": 4096.0, "d_out": 4096.0})
    write_measurements(tmp_path / "m.csv", [measurement(key, hardware_id="laptop")])
    said = refused("fit", tmp_path / "m.csv", "-o", tmp_path / "mine.csv")
    assert "row 1: no accelerator 'laptop'; --hardware-csv FILE reads chips of your own" in said


def test_measurements_of_no_chip_ask_for_one(tmp_path: Path) -> None:
    """Where none names a chip the option that does is named, and nobody is told to measure again."""
    key = case_key("matmul", {"tokens": 4096.0, "d_in": 4096.0, "d_out": 4096.0})
    write_measurements(tmp_path / "m.csv", [measurement(key, hardware_id="", device_kind="cpu")])
    assert refused("fit", tmp_path / "m.csv").strip().endswith("it names no chip; -H CHIP names one for all such")


def test_runs_that_are_all_far_off_give_no_stack(tmp_path: Path) -> None:
    """One run ten times off is not used, and a stack of no run is none: the command says why and writes nothing."""
    path = matmuls(tmp_path / "runs.csv", [30.0])
    assert re.search(r"far off what is expected$", refused("fit", path).partition(";")[0].strip())
    assert not (tmp_path / "runs-calibrations.csv").exists()


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("a,matmul,matmul,h100-sxm,tokens=1 d_in=2 d_out=3,expected_time,5,furlongs,lab,", "furlongs"),
        ("a,matmul,matmul,h100-sxm,tokens=1 d_in=2 d_out=3,expected_time,-5,us,lab,", "no measured number above 0"),
        ("a,matmul,matmul,h1000,tokens=1 d_in=2 d_out=3,expected_time,5,us,lab,", 'no accelerator "h1000"'),
        ("a,matmul,matmul,h100-sxm,token=1,expected_time,5,us,lab,", "token"),
        # a time that nothing takes, or no time at all; 4e7 s are longer than a year
        *(
            (f"a,matmul,matmul,{CHIP},tokens=1 d_in=2 d_out=3,expected_time,{number},s,lab,", wrong)
            for wrong, numbers in (
                ("no measured number above 0", ("-3", "nan", "0", "inf", "1e-320")),
                ("too large for s", ("4e7", "1e308")),
            )
            for number in numbers
        ),
    ],
)
def test_faults_are_told_by_line(tmp_path: Path, line: str, wrong: str) -> None:
    """A run that can't be is refused with file, line and reason, and nothing is written."""
    path = tmp_path / "runs.csv"
    path.write_text("\n".join([HEADER, line, ""]), encoding="utf-8")
    said = refused("fit", path)
    assert "line 2" in said
    assert wrong in said
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    """Neither a shipped stack nor a chip's calibration is overwritten."""
    path = matmuls(tmp_path / "runs.csv", [1.3] * 3)
    for name in ("tuned", CALIBRATION):
        assert "is a stack or a calibration already" in refused("fit", path, "--name", name)

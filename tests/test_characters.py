"""What is printed where not every character can be: signs that mean the same, and files that are UTF-8 all the same."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from planner.cli import LIKE_IT, plain
from planner.workbook.book import build
from planner.workbook.scenarios import plan_of
from tests.pages import environment
from tests.workbooks import CHIPS, MODELS, few_rows


def run(encoding: str, *words: str, cwd: Path) -> bytes:
    """The bytes that `planner` prints into a pipe of an encoding."""
    settings = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "planner", *words]
    return subprocess.run(
        command, cwd=cwd, env=os.environ | environment() | settings, stdout=subprocess.PIPE, check=True
    ).stdout


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("1.311 GB ≠ 2.684 GB, ≤ 3, ≥ 2", "1.311 GB <> 2.684 GB, <= 3, >= 2"),
        ("░░│█► 3 µs × 2 m² …", "--|#> 3 us x 2 m2 ..."),
        ("Zoë, Łukasz, 計画, \udc80", "Zoe, ?ukasz, ??, ?"),
    ],
)
def test_a_sign_is_said_by_one_that_means_the_same(text: str, means: str) -> None:
    """Signs become those that mean the same, letters lose their accents, and nothing is ever lost without a trace."""
    assert plain(text) == means


def test_what_an_encoding_has_stays_as_it_is() -> None:
    """Windows' code page 1252 has a micro sign, a multiplication sign and an ellipsis, and no sign for `at most`."""
    held = io.BytesIO()
    stream = io.TextIOWrapper(held, encoding="cp1252", errors=LIKE_IT)
    stream.write("3 µs × 2 … ≤ 4")
    stream.flush()
    assert held.getvalue().decode("cp1252") == "3 µs × 2 … <= 4"


def test_the_bars_of_a_sensitivity_keep_their_meaning(tmp_path: Path) -> None:
    """In a pipe of code page 1252 more and less are told apart, and no character is a question mark."""
    words = ("sensitivity", "matmul", "-H", "h100-sxm", "--set", "tokens=4096", "d_in=8192", "d_out=8192")
    shown = run("cp1252", *words, cwd=tmp_path).decode("cp1252")
    assert "- 1 % less  # 1 % more" in shown
    assert "?" not in shown


def test_scenarios_on_the_screen_are_utf_8_wherever_they_go(tmp_path: Path) -> None:
    """What `export-inputs -o -` prints is a CSV that `build` reads, of whatever encoding the pipe is."""
    (tmp_path / "mine.csv").write_text("scenario,name,hardware\na,ärger → 2×,h100-sxm\n", encoding="utf-8")
    plan = plan_of((), (), ["matmul"], tmp_path / "mine.csv", (), few_rows(MODELS[:1], CHIPS))
    (tmp_path / "plan.xlsx").write_bytes(build(plan))
    printed = run("cp1252", "export-inputs", "plan.xlsx", "-o", "-", cwd=tmp_path)
    assert "ärger → 2×" in printed.decode("utf-8")

"""Small workbooks in which runs are recorded, the runs in one, and what Dashboard says of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import Result

from planner.compare.comparison_sheet import find
from planner.compare.runs_table import RecordedRun, read
from planner.xlsx.opc import Package
from tests.commands import run
from tests.workbooks import cached, write_small

ID, SERVES = "tpu_v5e", "llama3_8b_on_tpu_v5e"
SIZES = {"tokens": 8192, "d_in": 8192, "d_out": 11264}  # 8 ms of tpu-v5e


@pytest.fixture(name="plan")
def fixture_plan(tmp_path: Path) -> Path:
    """The smallest workbook that plans a time: a matmul on a chip."""
    return write_small(tmp_path / "plan.xlsx", [], ["tpu-v5e"], ["matmul"], **SIZES)


@pytest.fixture(name="serves")
def fixture_serves(tmp_path: Path) -> Path:
    """A small workbook that serves a model on a chip."""
    return write_small(tmp_path / "serves.xlsx", ["llama3-8b"], ["tpu-v5e"], ["inference"], n_chips=4)


def record(path: Path, *more: str, scenario: str = ID) -> Result:
    """Record a run of a scenario."""
    return run("record", str(path), "--scenario", scenario, *more)


def runs(path: Path) -> list[RecordedRun]:
    """The runs in a workbook."""
    return read(find(Package.read(path)))


def said_on_dashboard(path: Path, scenario: str = SERVES) -> list[str]:
    """What Dashboard says of a scenario's latest run, of each workload that has a line for it, as the file has it."""
    board = cached(path)["Dashboard"]
    (column,) = (
        ref[:-1] for ref, value in board.items() if value == scenario and ref[:-1].isalpha() and ref[-1] == "4"
    )
    lines = (
        ref[1:] for ref, value in board.items() if ref[0] == "A" and str(value).lower().endswith("your latest run")
    )
    return [str(board.get(f"{column}{row}") or "") for row in lines]
